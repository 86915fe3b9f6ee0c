//! Simulated packets per second and core, on fixed scenarios. `make bench` runs it; no test depends on it.
//!
//! `cargo run --release -p paceline-benches [NAME]...` runs the named scenarios; without names all of them, counts
//! the instructions of a sender, and measures real sockets on loopback (`loopback`), coupled groups (`coupling`), a
//! link's noise (`noise`) and the reading of reports (`feedback-parse`). Time is the processor's, not the
//! wall's, and the fastest of three runs counts, so that others on the machine count little. What ns-2 and ns-3 can
//! simulate, too, is run there as well if they are installed (`peers`), as often; ns-3, which takes long, once.

mod coupling;
mod feedback;
mod loopback;
mod noise;
mod peers;
mod sender;

use paceline_scenario::{Loader, Origin, load};
use paceline_sim::{Pace, Simulation};
use paceline_units::TimeDelta;
use rustix::time::{ClockId, clock_gettime};

/// What a benchmark simulates.
struct Bench {
    name: &'static str,
    /// What the issue and the design ask for, in million packets per second: floor and aim.
    wanted: Option<(f64, f64)>,
    text: String,
}

const SOURCE: &str = r#"source = { kind = "trace-encoder", generator = "frames", fps = 50 }"#;

/// One call over a link of `mbps`.
fn call(mbps: u32, ecn: &str, packets: u32, seconds: u32) -> String {
    let mark = if ecn == "l4s" { "mark = { kind = \"ramp\", low = \"2ms\", high = \"10ms\" }" } else { "" };
    format!(
        r#"
duration = "{seconds}s"
[links.bottleneck]
rate = "{mbps}Mbps"
delay = "10ms"
queue = {{ kind = "droptail", limit = "1s" }}
{mark}
[flows.call]
transport = "rtp"
controller = {{ kind = "scream", profile = "reference-2022", target_bitrate_max = "{mbps}Mbps" }}
{SOURCE}
ecn = "{ecn}"
path = ["bottleneck"]
feedback = {{ packets = {packets}, time = "40ms" }}
"#
    )
}

/// A hundred calls that share 1 Gbit/s.
fn hundred_calls(seconds: u32) -> String {
    let mut text = format!(
        "duration = \"{seconds}s\"\n[links.bottleneck]\nrate = \"1Gbps\"\ndelay = \"10ms\"\n\
         queue = {{ kind = \"droptail\", limit = \"1s\" }}\n"
    );
    for flow in 0..100 {
        text.push_str(&format!(
            "[flows.call{flow:02}]\ntransport = \"rtp\"\n\
             controller = {{ kind = \"scream\", profile = \"reference-2022\", target_bitrate_max = \"20Mbps\" }}\n\
             {SOURCE}\npath = [\"bottleneck\"]\nstart = \"{}ms\"\n",
            flow * 37
        ));
    }
    text
}

/// Three hops of 100 Mbit/s there and three back, 20 ms for a round trip, each with `queue`, and one flow.
fn three_hops(queue: &str, flow: &str) -> String {
    let mut text = String::from("duration = \"100s\"\n");
    for link in ["hop1", "hop2", "bottleneck", "back1", "back2", "back3"] {
        let delay = if link.ends_with('3') || link == "bottleneck" { "4ms" } else { "3ms" };
        text.push_str(&format!("[links.{link}]\nrate = \"100Mbps\"\ndelay = \"{delay}\"\nqueue = {queue}\n"));
    }
    text.push_str(&format!(
        "[flows.flow]\n{flow}\npath = [\"hop1\", \"hop2\", \"bottleneck\"]\nreturn_path = [\"back1\", \"back2\", \"back3\"]\n"
    ));
    text
}

const NEWRENO: &str = "transport = \"tcp\"\ncontroller = \"newreno\"\ntcp = { ack_every = 1 }\n\
                       source = { kind = \"bulk\" }";

/// The same over DCCP: datagrams as large, acknowledged as the CCID says.
const CCID2: &str = "transport = \"dccp\"\ncontroller = \"ccid2\"\nsource = { kind = \"bulk\" }";
const CCID3: &str = "transport = \"dccp\"\ncontroller = \"ccid3\"\nsource = { kind = \"bulk\" }";

/// `flows` TCP flows that share 10 Gbit/s for 10 s; one flow gets as much as one of a thousand.
fn many(flows: u32, mbps: u32) -> String {
    let mut text = format!(
        "duration = \"10s\"\nsample = \"1s\"\n[links.bottleneck]\nrate = \"{mbps}Mbps\"\ndelay = \"10ms\"\n\
         queue = {{ kind = \"droptail\", limit = \"20ms\" }}\n"
    );
    for flow in 0..flows {
        text.push_str(&format!(
            "[flows.flow{flow:04}]\n{NEWRENO}\npath = [\"bottleneck\"]\nstart = \"{flow}ms\"\n"
        ));
    }
    text
}

/// The flows of every transport over several hops, and many at once.
fn rivals() -> Vec<Bench> {
    let droptail = "{ packets = 100 }";
    let cbr = "transport = \"udp\"\nsource = { kind = \"cbr\", rate = \"50Mbps\" }\npacket_size = \"1000B\"";
    let bench = |name, wanted, text| Bench { name, wanted, text };
    vec![
        bench("newreno-3-hops", Some((5.0, 10.0)), three_hops(droptail, NEWRENO)),
        bench("ccid2-3-hops", Some((2.5, 5.0)), three_hops(droptail, CCID2)),
        bench("ccid3-3-hops", Some((2.5, 5.0)), three_hops(droptail, CCID3)),
        bench("newreno-3-codel", Some((6.0, 6.0)), three_hops("{ kind = \"codel\" }", NEWRENO)),
        bench("cbr-3-hops", Some((30.0, 30.0)), three_hops(droptail, cbr)),
        bench("flows-1", None, many(1, 10_000)),
        bench("flows-1000", None, many(1000, 10_000)),
    ]
}

fn benches() -> Vec<Bench> {
    let mut all = Vec::new();
    for mbps in [20, 100] {
        for (ecn, label) in [("off", "L4S off"), ("l4s", "L4S on")] {
            for (packets, wanted) in [(16, (10.0, 20.0)), (1, (6.0, 12.0))] {
                let name = match (mbps, label, packets) {
                    (20, "L4S off", 16) => "call-20-off-16",
                    (20, "L4S off", _) => "call-20-off-1",
                    (20, _, 16) => "call-20-l4s-16",
                    (20, ..) => "call-20-l4s-1",
                    (_, "L4S off", 16) => "call-100-off-16",
                    (_, "L4S off", _) => "call-100-off-1",
                    (_, _, 16) => "call-100-l4s-16",
                    _ => "call-100-l4s-1",
                };
                // About five million packets each: long enough to time, whatever the rate.
                let seconds = if mbps == 20 { 2000 } else { 500 };
                let wanted = (mbps == 100).then_some(wanted);
                all.push(Bench { name, wanted, text: call(mbps, ecn, packets, seconds) });
            }
        }
    }
    all.push(Bench { name: "hundred-calls", wanted: Some((5.0, 10.0)), text: hundred_calls(60) });
    all.extend(rivals());
    all
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, per_report, packets] = &names[..]
        && flag == "--sender"
        && let (Ok(per_report), Ok(packets)) = (per_report.parse(), packets.parse())
    {
        return sender::run(per_report, packets);
    }
    println!("{:<18}{:>12}{:>12}{:>10}   wanted (floor, aim)", "scenario", "packets", "Mpackets/s", "loop s");
    for bench in
        benches().iter().filter(|bench| names.is_empty() || names.iter().any(|name| name == bench.name))
    {
        run(bench);
    }
    if names.is_empty() {
        sender::print();
    }
    if names.is_empty() || names.iter().any(|name| name == "coupling") {
        coupling::print();
    }
    if names.is_empty() || names.iter().any(|name| name == "noise") {
        noise::print();
    }
    if names.is_empty() || names.iter().any(|name| name == "feedback-parse") {
        feedback::print();
    }
    if names.is_empty() || names.iter().any(|name| name == "loopback") {
        loopback::print();
    }
}

/// Seconds that this process has had of a processor.
#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The fastest of these runs counts: what else runs on the machine only ever takes time.
const RUNS: usize = 3;

fn run(bench: &Bench) {
    let origin = Origin { text: &bench.text, file: bench.name, sets: &[] };
    let loaded = load(&origin, &Loader::default()).unwrap_or_else(|error| panic!("{}: {error}", bench.name));
    let (mut packets, mut seconds) = (0, f64::INFINITY);
    for _ in 0..RUNS {
        let mut simulation = Simulation::new(&loaded, Pace::Windowed).expect("load has checked the links");
        let start = processor_time();
        while !simulation.advance(TimeDelta::from_secs(10)) {}
        seconds = seconds.min(processor_time() - start);
        packets = simulation.packets();
        // The figures are made, so that nothing of the run is optimised away.
        let utilisation = simulation.finish().summary.links["bottleneck"].utilisation;
        assert!(utilisation.is_some_and(|used| used > 0.1), "{}: utilisation {utilisation:?}", bench.name);
    }
    let wanted = bench.wanted.map_or(String::new(), |(floor, aim)| format!("{floor}, {aim}"));
    let rate = packets as f64 / seconds / 1e6;
    println!("{:<18}{packets:>12}{rate:>12.2}{seconds:>10.3}   {wanted}", bench.name);
    peers::print(bench.name, packets as f64 / seconds);
}
