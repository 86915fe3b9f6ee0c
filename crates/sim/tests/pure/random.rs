//! Random worlds: what the simulator's property tests share.

use paceline_cc::{ControllerParams, Steers};
use paceline_scenario::{Loaded, Loader, Origin, load};
use proptest::prelude::*;
use proptest::sample::select;

/// One of the texts, with a number from the range for `#`.
fn text(
    texts: &'static [&'static str],
    numbers: std::ops::Range<u64>,
) -> impl Strategy<Value = String> + Clone {
    (select(texts), numbers).prop_map(|(text, number)| text.replace('#', &number.to_string()))
}

/// A delay as a scenario says it: a time or a table.
fn a_delay(delays: &'static [&'static str]) -> impl Strategy<Value = String> {
    text(delays, 1..40).prop_map(|delay| if delay.starts_with('{') { delay } else { format!("\"{delay}\"") })
}

fn a_link(delays: &'static [&'static str]) -> impl Strategy<Value = String> {
    let rate = text(
        &[
            "\"#00kbps\"",
            "\"#Mbps\"",
            "{ steps = [[\"0s\", \"#00kbps\"], [\"0.4s\", \"0bps\"], [\"0.6s\", \"9Mbps\"]] }",
            "{ generator = \"mmwave\", scale = 0.0#, interval = \"20ms\" }",
        ],
        2..40,
    );
    let delay = a_delay(delays);
    let queue = text(
        &[
            "packets = #",
            "bytes = \"#kB\"",
            "limit = \"#ms\"",
            "packets = 100000",
            "packets = #, scale = { steps = [[\"0s\", 1], [\"0.3s\", 0.2], [\"0.6s\", 2]] }",
            "kind = \"red\", packets = #",
            "kind = \"codel\", interval = \"20ms\", target = \"1ms\"",
            "kind = \"fq-codel\", packets = #, flows = 4, target = \"1ms\", interval = \"20ms\"",
            "kind = \"pie\", qdelay_ref = \"2ms\", max_burst = \"#ms\"",
            "kind = \"pie\", qdelay_ref = \"2ms\", max_burst = \"0s\", estimate = \"dequeue-rate\", derandomize = false",
            "kind = \"dualpi2\", bytes = \"#kB\"",
            "kind = \"dualpi2\", target = \"#ms\", scheduler = \"ts-fifo\", limit = \"1#0ms\"",
        ],
        3..80,
    );
    let mark = text(
        &[
            "",
            "mark = { kind = \"step\", at = \"#ms\" }",
            "mark = { kind = \"ramp\", low = \"#us\", high = \"9ms\" }",
            "mark = { kind = \"classic\", at = \"#ms\", for = \"50ms\" }",
        ],
        1..20,
    );
    let loss = text(
        &[
            "",
            "",
            "loss = { kind = \"bernoulli\", ratio = 0.0# }",
            "loss = { kind = \"bernoulli\", ratio = { steps = [[\"0s\", 0], [\"0.2s\", 0.#]], every = \"0.3s\" } }\ncorrupt = 0.0#",
            "policer = { rate = \"#00kbps\", burst = \"9kB\" }",
            "policer = { rate = \"#Mbps\", burst = \"9kB\", action = \"mark\" }\ncorrupt = 0.0#",
            "loss = { kind = \"gilbert-elliott\", p = 0.0#, r = 0.4 }",
            "shaper = { rate = \"#Mbps\", burst = \"#kB\", packets = 2# }",
            "shaper = { rate = \"9Mbps\", burst = \"9kB\", limit = \"#0ms\" }\nloss = { kind = \"bernoulli\", ratio = 0.0# }",
            "shaper = { rate = \"2Mbps\", burst = \"1#00B\", bytes = \"#0kB\" }\npolicer = { rate = \"#Mbps\", burst = \"9kB\" }",
        ],
        1..5,
    );
    let noise = text(
        &[
            "",
            "",
            "noise = { kind = \"rfc8868\", std = \"#ms\" }",
            "noise = { kind = \"exponential\", mean = \"#ms\", reorder = true }",
            "noise = [{ kind = \"grant\", period = \"#ms\", miss = 0.5 }, { kind = \"lognormal\", mean = \"#ms\", std = \"3ms\", reorder = true }]",
            "noise = [{ kind = \"retransmission\", p = 0.5, round = \"#ms\", retries = 2, bad = \"#0ms\", good = \"50ms\" }, { kind = \"spikes\", every = \"100ms\", length = \"#ms\" }]",
            "noise = { kind = \"contention\", scale = { ramp = [[\"0s\", 0], [\"0.5s\", 2]] }, busy = \"#ms\", idle = \"2ms\", collision = 0.3, retries = 1 }",
            "noise = { kind = \"uniform\", max = \"#ms\", reorder = true }",
        ],
        1..9,
    );
    let down = text(
        &[
            "",
            "overtake = true",
            "down = [[\"0.#s\", \"0.9s\"]]",
            "overhead = \"#B\"",
            "duplicate = { ratio = 0.#, delay = \"#ms\" }",
            "duplicate = { ratio = 0.# }",
        ],
        1..9,
    );
    (rate, delay, queue, mark, loss, noise, down).prop_map(|(rate, delay, queue, mark, loss, noise, down)| {
        format!("rate = {rate}\ndelay = {delay}\nqueue = {{ {queue} }}\n{mark}\n{loss}\n{noise}\n{down}\n")
    })
}

fn a_source() -> impl Strategy<Value = String> + Clone {
    text(
        &[
            "{ kind = \"bulk\" }",
            "{ kind = \"bulk\", length = \"#0kB\" }",
            "{ kind = \"cbr\", rate = \"#00kbps\", fps = 29.97, adaptive = true }",
            "{ kind = \"trace-encoder\", generator = { kind = \"frames\", count = 50 }, fps = # }",
            "{ kind = \"trace-encoder\", generator = { kind = \"frames\", count = 200 } }",
            "{ kind = \"rfc8593\", model = \"statistical\", fps = #, r_max = \"9Mbps\", tau_v = \"#ms\" }",
            "{ kind = \"rfc8593\", model = \"hybrid\", generator = { kind = \"frames\", count = 200 }, scale_t = 0.# }",
        ],
        5..100,
    )
}

fn a_flow() -> impl Strategy<Value = String> {
    let controller = text(
        &[
            "\"scream\"",
            "{ kind = \"scream\", profile = \"reference-2022\" }",
            "{ kind = \"scream\", profile = \"reference-2022\", target_bitrate_max = \"#00kbps\" }",
            "{ kind = \"fixed\", rate = \"#00kbps\" }",
        ],
        3..90,
    );
    let feedback = text(
        &[
            "",
            "feedback = { packets = 1 }",
            "feedback = { packets = 40, time = \"#ms\", marker = false }",
            "feedback = { packets = #, overlap = #, clock = \"1/#00s\" }",
        ],
        1..60,
    );
    let times = text(
        &[
            "",
            "",
            "start = \"0.0#s\"",
            "start = \"0.2s\"\nstop = \"0.7#s\"",
            "return_delay = \"#us\"",
            "pause = [[\"0.1s\", \"0.3#s\"], [\"0.6s\", \"0.9s\"]]",
            "count = 3\nstart_within = \"#ms\"",
        ],
        0..50,
    );
    let rest = text(
        &["", "overhead = \"#B\"", "playout = { kind = \"fixed\", delay = \"#ms\" }", "record = true"],
        1..90,
    );
    let ecn = select(vec!["off", "classic", "l4s", "l4s"]);
    let media = prop_oneof![
        3 => a_source().prop_map(|source| (format!("source = {source}\n"), String::new())),
        1 => (a_source(), a_source()).prop_map(|(one, two)| (
            String::new(),
            format!("[NAME.streams.one]\nsource = {one}\n[NAME.streams.two]\nsource = {two}\npriority = 3\n"),
        )),
    ];
    let datagrams = (text(&["#00kbps", "#0kbps"], 1..90), select(vec!["", "fps = 50"])).prop_map(|(rate, fps)| {
        format!("transport = \"udp\"\nsource = {{ kind = \"cbr\", rate = \"{rate}\", {fps} }}\nPATHS\npause = [[\"0.2s\", \"0.4s\"]]\n")
    });
    let media = (controller, feedback, times, rest, ecn, media).prop_map(
        |(controller, feedback, times, rest, ecn, (source, streams))| {
            format!(
                "controller = {controller}\necn = \"{ecn}\"\nPATHS\n{source}{feedback}\n{times}\n{rest}\n{streams}"
            )
        },
    );
    let byte_stream = |params: &ControllerParams| params.steers() == Steers::ByteStream;
    let kinds =
        ControllerParams::all().map(|(params, _)| params).filter(byte_stream).map(|params| params.kind());
    let mut laws: Vec<_> = kinds.map(|kind| format!("\"{kind}\"")).collect();
    laws.dedup();
    laws.push("{ kind = \"newreno\", profile = \"ns2\" }".into());
    let law = select(laws);
    let tcp = text(
        &[
            "",
            "tcp = { ack_every = 1 }",
            "tcp = { recovery = \"rack-tlp\" }",
            "tcp = { handshake = false, max_window = # }",
            "stop = \"0.#s\"",
            "pause = [[\"0.2s\", \"0.5s\"]]",
        ],
        3..9,
    );
    let ecn = select(vec!["off", "classic", "l4s"]);
    let fetched = text(
        &[
            "{ kind = \"short-transfers\", parallel = 3, idle = \"#ms\" }",
            "{ kind = \"short-transfers\", parallel = 7, size_min = \"1B\", size_max = \"#kB\", idle = \"1ms\", begin = \"off\" }",
            "{ kind = \"short-transfers\", parallel = 1, size_min = \"#B\", idle = \"0s\", idle_kind = \"fixed\" }",
            "{ kind = \"tmix\", generator = { kind = \"web\", load = \"#00kbps\", rtt_min = \"#ms\" }, scale = 0.9 }",
            "{ kind = \"tmix\", generator = { kind = \"web\", load = \"#00kbps\" }, rtt = \"added\", sending = \"initiator\" }",
        ],
        1..90,
    );
    let sent = prop_oneof![2 => a_source(), 1 => fetched];
    let connections = (law, tcp, ecn, sent).prop_map(|(law, tcp, ecn, source)| {
        // BBR version 1, Copa and Vivace ignore marks.
        let ecn = if matches!(law.as_str(), "\"bbr\"" | "\"copa\"" | "\"vivace\"") { "off" } else { ecn };
        if law == "\"sctp\"" {
            // It has no connections that come and go.
            let carried = !source.contains("short-transfers") && !source.contains("tmix");
            let source = if carried { source } else { "{ kind = \"bulk\" }".into() };
            let rest = if tcp.contains("tcp =") {
                "sctp = { order = \"none\", lifetime = \"300ms\" }".into()
            } else {
                tcp
            };
            return format!("controller = {law}\nsource = {source}\nPATHS\n{rest}\n");
        }
        format!("controller = {law}\necn = \"{ecn}\"\nsource = {source}\nPATHS\n{tcp}\n")
    });
    prop_oneof![4 => media, 1 => datagrams, 3 => connections]
}

/// Which links a flow takes, there and back; of links that do not exist nothing is said.
const PATHS: [(&str, &str); 7] =
    [("a", ""), ("a b", ""), ("b a", "c"), ("a b c", ""), ("c", "a"), ("a c", "a c"), ("b", "b")];

fn paths(flow: &str, index: usize, links: usize) -> String {
    let known = |path: &str| -> Vec<String> {
        let there = path.split_whitespace().filter(|name| ["a", "b", "c"][..links].contains(name));
        there.map(|name| format!("\"{name}\"")).collect()
    };
    let (there, mut back) = (known(PATHS[index].0), known(PATHS[index].1));
    if flow.contains("return_delay") {
        back.clear();
    }
    let there = if there.is_empty() { vec!["\"a\"".into()] } else { there };
    format!("path = [{}]\nreturn_path = [{}]", there.join(", "), back.join(", "))
}

/// Delays of links: as they are, so short that windows are no longer than a packet, none at all, and those that change.
const DELAYS: [&[&str]; 4] = [
    &["0s", "#ns", "#us", "#ms", "#ms"],
    &["0s", "#ns", "#us"],
    &["0s"],
    &[
        "#ms",
        "{ steps = [[\"0s\", \"#ms\"], [\"0.3s\", \"1ms\"], [\"0.7s\", \"9ms\"]] }",
        "{ ramp = [[\"0s\", \"9ms\"], [\"0.5s\", \"#us\"], [\"0.8s\", \"#ms\"]] }",
    ],
];

/// Which flows share an exchange.
const COUPLINGS: [&str; 7] = [
    "",
    "",
    "",
    "[coupling.all]\nkind = \"active\"\nflows = [\"*\"]\n",
    "[coupling.all]\nkind = \"passive\"\nflows = [\"*\"]\n",
    "[coupling.some]\nkind = \"conservative\"\nflows = [\"f0\", \"f2\"]\n",
    "[coupling.some]\nkind = \"active\"\nflows = [\"f1\", \"f3\"]\n",
];

/// A world of up to three links and four flows, of any kind that there is. Flows share an exchange where they can.
pub fn a_world() -> impl Strategy<Value = String> {
    let links = select(DELAYS.to_vec()).prop_flat_map(|delays| prop::collection::vec(a_link(delays), 1..=3));
    let flows = prop::collection::vec((a_flow(), 0..PATHS.len()), 1..=4);
    let times = (select(vec!["1s", "1.3s", "2.2s"]), select(vec!["50ms", "7ms", "300ms"]));
    (links, flows, 0u64..1000, times, select(COUPLINGS.to_vec())).prop_map(
        |(links, flows, seed, (duration, sample), coupling)| {
            let mut text = format!(
                "duration = \"{duration}\"\nseed = {seed}\nsample = \"{sample}\"\nwarmup = \"0.1s\"\n"
            );
            for (name, link) in ["a", "b", "c"].iter().zip(&links) {
                text += &format!("[links.{name}]\n{link}");
            }
            for (number, (flow, path)) in flows.iter().enumerate() {
                let flow = flow.replace("PATHS", &paths(flow, *path, links.len()));
                text += &format!("[flows.f{number}]\n{}", flow.replace("NAME", &format!("flows.f{number}")));
            }
            let coupled = format!("{text}{coupling}");
            if read(&coupled).is_ok() { coupled } else { text }
        },
    )
}

/// A world of many flows of which few have much to do, over up to three links.
pub fn a_quiet_world() -> impl Strategy<Value = String> {
    let delays = select(DELAYS.to_vec());
    let links = delays.prop_flat_map(|delays| prop::collection::vec((a_delay(delays), 1u32..500), 1..=3));
    let flow = text(
        &[
            "transport = \"udp\"\nsource = { kind = \"cbr\", rate = \"#kbps\" }",
            "controller = \"newreno\"\nsource = { kind = \"bulk\", length = \"#kB\" }",
            "controller = \"newreno\"\nsource = { kind = \"bulk\", length = \"900kB\" }\nstart = \"0.0#s\"",
            "controller = \"cubic\"\nsource = { kind = \"short-transfers\", size_min = \"1B\", size_max = \"9kB\", idle = \"1s\" }\ntcp = { min_rto = \"9ms\" }",
            "controller = { kind = \"scream\", target_bitrate_max = \"4#0kbps\" }\nsource = { kind = \"cbr\", rate = \"1Mbps\", fps = 25, adaptive = true }",
            "controller = { kind = \"fixed\", rate = \"#00kbps\" }\nsource = { kind = \"bulk\" }\nstart = \"0.6s\"",
            "controller = \"ccid3\"\nsource = { kind = \"cbr\", rate = \"#kbps\", fps = 1 }",
        ],
        3..90,
    );
    let flows = prop::collection::vec((flow, 0..PATHS.len(), 1u32..60), 1..=5);
    (links, flows, select(vec!["1s", "8s", "30s"])).prop_map(|(links, flows, duration)| {
        let mut text = format!("duration = \"{duration}\"\nsample = \"1s\"\n");
        for (name, (delay, mbps)) in ["a", "b", "c"].iter().zip(&links) {
            text += &format!(
                "[links.{name}]\nrate = \"{mbps}Mbps\"\ndelay = {delay}\nqueue = {{ packets = 90 }}\n"
            );
        }
        for (number, (flow, path, count)) in flows.iter().enumerate() {
            let paths = paths(flow, *path, links.len());
            text += &format!("[flows.f{number}]\n{flow}\n{paths}\ncount = {count}\n");
        }
        text
    })
}

fn read(text: &str) -> Result<Loaded, String> {
    let origin = Origin { text, file: "random.toml", sets: &[] };
    load(&origin, &Loader::default()).map_err(|error| error.to_string())
}
