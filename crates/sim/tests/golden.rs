//! Golden traces, second by second, to three digits: what every controller does under every profile on one link, and what
//! SCReAM, TFRC, CCID 2, CCID 3 and RAP do on a few more.
//!
//! They hold what is on purpose and what is not. A commit that changes one says why; `INSTA_UPDATE=always cargo test
//! -p paceline-sim --test golden` writes them anew. They are a program of their own since `make test-all` runs them in the release build,
//! too: both builds give the same bits.

#[allow(dead_code, reason = "shared with the other tests")]
#[path = "pure/world.rs"]
mod world;

use paceline_cc::{AnyController, CeResponse, Controller, ControllerParams, FlowSetup, Steers};
use paceline_units::Bytes;
use world::{column, run};

const CONSTANT: &str = "rate = \"20Mbps\"\nqueue = { limit = \"300ms\" }";
const STEPS: &str = "rate = { steps = [[\"0s\", \"20Mbps\"], [\"10s\", \"5Mbps\"], [\"20s\", \"20Mbps\"]] }\nqueue = { packets = 10000 }";
const LOSSY_L4S: &str = "rate = \"20Mbps\"\nqueue = { limit = \"300ms\" }\nloss = { kind = \"bernoulli\", ratio = 0.0005 }\n\
                         mark = { kind = \"ramp\", low = \"2ms\", high = \"10ms\" }";

/// Columns that are kept, under the names of the time series.
const COLUMNS: [&str; 6] =
    ["time_s", "target_bitrate_mbps", "throughput_mbps", "cwnd_bytes", "srtt_ms", "queue_delay_ms"];

/// By its defaults this profile would need longer than the trace to fill the link: it starts nearer.
const RFC8298: &str = "\"scream\", profile = \"rfc8298\", target_bitrate_start = \"15Mbps\"";
const REFERENCE_2022: &str = "\"scream\", profile = \"reference-2022\"";
const RFC5348: &str = "\"tfrc\", profile = \"rfc5348\"";
const RFC4341: &str = "\"ccid2\", profile = \"rfc4341\"";
const RFC4342: &str = "\"ccid3\", profile = \"rfc4342\"";
const RAP1999: &str = "\"rap\", profile = \"rap1999\"";

fn trace(controller: &str, link: &str, ecn: &str) -> String {
    trace_of(controller, link, ecn, "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }")
}

fn trace_of(controller: &str, link: &str, ecn: &str, source: &str) -> String {
    let outcome = run(&format!(
        "duration = \"30s\"\nsample = \"1s\"\nseed = 11\n[links.l]\ndelay = \"10ms\"\n{link}\n\
         [flows.f]\nsource = {source}\npath = [\"l\"]\ncontroller = {{ kind = {controller} }}\necn = \"{ecn}\"\n"
    ));
    let columns = COLUMNS.map(|name| column(&outcome.flows, "flow", "f", name));
    let row =
        |row: usize| columns.each_ref().map(|column| format!("{:>9}", three_digits(column[row]))).concat();
    let head = ["time", "target", "rate", "cwnd", "srtt", "queue"].map(|name| format!("{name:>9}")).concat();
    std::iter::once(head).chain((0..outcome.flows.rows()).map(row)).collect::<Vec<_>>().join("\n")
}

/// Three digits that count: so much is the same on every machine.
fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(f64::NAN)
}

/// Everything that is registered, each kind under each of its profiles, on a link that loses and marks.
#[test]
fn every_controller_under_every_profile() {
    for (params, profile) in ControllerParams::all() {
        let source = match params.steers() {
            Steers::ByteStream => "{ kind = \"bulk\" }",
            Steers::Unreported => "{ kind = \"cbr\", rate = \"2Mbps\" }",
            Steers::Media | Steers::Datagrams | Steers::Ccid(_) => {
                "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }"
            }
        };
        let controller = format!("\"{}\", profile = \"{profile}\"", params.kind());
        let name = format!("{}_{profile}", params.kind());
        let answers =
            AnyController::new(&params, &FlowSetup::new(Bytes::new(1500))).expect("valid").ce_response();
        let ecn = if answers == CeResponse::Ignored { "off" } else { "classic" };
        insta::assert_snapshot!(name, trace_of(&controller, LOSSY_L4S, ecn, source));
    }
}

#[test]
fn xcp_over_its_router() {
    let link = "rate = \"20Mbps\"\nqueue = { kind = \"xcp\" }";
    insta::assert_snapshot!(trace_of("\"xcp\"", link, "off", "{ kind = \"bulk\" }"));
}

#[test]
fn rcp_over_its_router() {
    let link = "rate = \"20Mbps\"\nqueue = { kind = \"rcp\" }";
    insta::assert_snapshot!(trace_of("\"rcp\"", link, "off", "{ kind = \"bulk\" }"));
}

macro_rules! golden {
    ($($name:ident: $controller:ident, $link:ident, $ecn:literal;)*) => {
        $( #[test] fn $name() { insta::assert_snapshot!(trace($controller, $link, $ecn)); } )*
    };
}

golden! {
    rfc8298_at_20_mbps: RFC8298, CONSTANT, "off";
    rfc8298_from_20_to_5_and_back: RFC8298, STEPS, "off";
    rfc8298_with_losses_and_l4s: RFC8298, LOSSY_L4S, "l4s";
    reference_2022_at_20_mbps: REFERENCE_2022, CONSTANT, "off";
    reference_2022_from_20_to_5_and_back: REFERENCE_2022, STEPS, "off";
    reference_2022_with_losses_and_l4s: REFERENCE_2022, LOSSY_L4S, "l4s";
    rfc5348_at_20_mbps: RFC5348, CONSTANT, "off";
    rfc5348_from_20_to_5_and_back: RFC5348, STEPS, "off";
    rfc4341_at_20_mbps: RFC4341, CONSTANT, "off";
    rfc4341_with_losses: RFC4341, LOSSY_L4S, "off";
    rfc4342_at_20_mbps: RFC4342, CONSTANT, "off";
    rfc4342_from_20_to_5_and_back: RFC4342, STEPS, "off";
    rap1999_at_20_mbps: RAP1999, CONSTANT, "off";
    rap1999_with_losses: RAP1999, LOSSY_L4S, "off";
}
