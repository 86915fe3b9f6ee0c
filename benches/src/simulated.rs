//! Simulated packets per second of processor time, on fixed scenarios, beside ns-2's.

use crate::peers::Peers;
use crate::{RUNS, processor_time};
use paceline_scenario::{Loaded, Loader, Origin, load};
use paceline_sim::{BUILD, Pace, Simulation};
use paceline_units::TimeDelta;
use serde::Serialize;
use std::collections::BTreeMap;

/// Yardstick of a scenario's speed: packets per second of processor time in the same run of the bench, on the same
/// machine, since machines differ by half.
#[derive(Clone, Copy)]
enum Beside {
    /// This scenario in ns-2.
    Ns2(&'static str),
    /// Another scenario here.
    Ours(&'static str),
}

/// How many times as fast a scenario is wanted.
#[derive(Clone, Copy)]
struct Wanted {
    beside: Beside,
    /// At least.
    floor: f64,
    /// Multiple of the yardstick that the design aims at.
    aim: f64,
}

/// A scenario that a benchmark simulates.
pub struct Bench {
    pub name: &'static str,
    wanted: Option<Wanted>,
    text: String,
}

const SOURCE: &str = r#"source = { kind = "trace-encoder", generator = "frames", fps = 50 }"#;

/// The controller of the calls that are compared with ns-2.
const SCREAM: &str = r#"kind = "scream", profile = "reference-2022""#;

/// One call over a link of `mbps`.
fn call(controller: &str, mbps: u32, ecn: &str, packets: u32, seconds: u32) -> String {
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
controller = {{ {controller}, target_bitrate_max = "{mbps}Mbps" }}
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

const NEWRENO_3_HOPS: Beside = Beside::Ns2("newreno-3-hops");
const OUR_NEWRENO: Beside = Beside::Ours("newreno-3-hops");

fn wanted(beside: Beside, floor: f64, aim: f64) -> Option<Wanted> {
    Some(Wanted { beside, floor, aim })
}

/// The flows of every transport over several hops, and many at once.
fn rivals() -> Vec<Bench> {
    let droptail = "{ packets = 100 }";
    let cbr = "transport = \"udp\"\nsource = { kind = \"cbr\", rate = \"50Mbps\" }\npacket_size = \"1000B\"";
    let bench = |name, wanted, text| Bench { name, wanted, text };
    vec![
        bench("newreno-3-hops", wanted(NEWRENO_3_HOPS, 6.0, 10.0), three_hops(droptail, NEWRENO)),
        bench("ccid2-3-hops", wanted(OUR_NEWRENO, 0.6, 0.8), three_hops(droptail, CCID2)),
        bench("ccid3-3-hops", wanted(OUR_NEWRENO, 0.8, 1.0), three_hops(droptail, CCID3)),
        bench(
            "newreno-3-codel",
            wanted(NEWRENO_3_HOPS, 4.0, 6.0),
            three_hops("{ kind = \"codel\" }", NEWRENO),
        ),
        bench("cbr-3-hops", wanted(Beside::Ns2("cbr-3-hops"), 10.0, 18.0), three_hops(droptail, cbr)),
        bench("flows-1", None, many(1, 10_000)),
        bench("flows-1000", None, many(1000, 10_000)),
    ]
}

/// All scenarios.
pub fn benches() -> Vec<Bench> {
    let mut all = Vec::new();
    for mbps in [20, 100] {
        for (ecn, label) in [("off", "L4S off"), ("l4s", "L4S on")] {
            for (packets, (floor, aim)) in [(16, (12.0, 20.0)), (1, (8.0, 12.0))] {
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
                let wanted = if mbps == 100 { wanted(NEWRENO_3_HOPS, floor, aim) } else { None };
                all.push(Bench { name, wanted, text: call(SCREAM, mbps, ecn, packets, seconds) });
            }
        }
    }
    for (name, controller) in
        [("call-100-tempo", r#"kind = "tempo""#), ("call-100-robust", r#"kind = "scream""#)]
    {
        all.push(Bench { name, wanted: None, text: call(controller, 100, "off", 16, 500) });
    }
    all.push(Bench {
        name: "hundred-calls",
        wanted: wanted(NEWRENO_3_HOPS, 5.0, 8.0),
        text: hundred_calls(60),
    });
    all.extend(rivals());
    all
}

/// A scenario's measurements.
#[derive(Serialize)]
pub struct Line {
    scenario: &'static str,
    /// Packets that arrived.
    packets: u64,
    /// Seconds of processor time that the fastest run took.
    seconds: f64,
    packets_per_second: f64,
    /// Which build was measured.
    build: &'static str,
    /// Its yardstick, how many times as fast it is, and wanted to be; absent where it is compared with nothing, or
    /// that could not run.
    #[serde(flatten)]
    compared: Option<Compared>,
}

#[derive(Serialize)]
struct Compared {
    beside: String,
    times: f64,
    floor: f64,
    aim: f64,
}

/// Runs these scenarios, and prints a line for each as it is done.
pub fn run(benches: &[Bench]) -> Vec<Line> {
    println!(
        "{:<18}{:>12}{:>12}{:>10}{:>8}{:>8}{:>8}   beside",
        "scenario", "packets", "Mpackets/s", "loop s", "times", "floor", "aim"
    );
    let mut peers = Peers::default();
    let mut ours = BTreeMap::new();
    benches.iter().map(|bench| line(bench, &mut peers, &mut ours)).collect()
}

/// Measures a scenario. `ours` has the packets per second of what was measured here before.
fn line(bench: &Bench, peers: &mut Peers, ours: &mut BTreeMap<&'static str, f64>) -> Line {
    let (packets, seconds) = measure(bench);
    let packets_per_second = packets as f64 / seconds;
    ours.insert(bench.name, packets_per_second);
    let compared = bench.wanted.and_then(|Wanted { beside, floor, aim }| {
        let (beside, theirs) = match beside {
            Beside::Ns2(scenario) => (format!("{scenario} in ns-2"), peers.ns2(scenario)?),
            Beside::Ours(scenario) => {
                (format!("{scenario} here"), *ours.entry(scenario).or_insert_with(|| speed(scenario)))
            }
        };
        Some(Compared { beside, times: packets_per_second / theirs, floor, aim })
    });
    let millions = packets_per_second / 1e6;
    print!("{:<18}{packets:>12}{millions:>12.2}{seconds:>10.3}", bench.name);
    match &compared {
        Some(Compared { beside, times, floor, aim }) => println!("{times:>8.2}{floor:>8}{aim:>8}   {beside}"),
        None => println!(),
    }
    peers.print(bench.name, packets_per_second);
    Line { scenario: bench.name, packets, seconds, packets_per_second, build: BUILD, compared }
}

/// Packets per second of processor time of a scenario that was not asked for.
fn speed(scenario: &str) -> f64 {
    let (packets, seconds) = named(scenario).map_or((0, 1.0), |bench| measure(&bench));
    packets as f64 / seconds
}

/// The scenario called `name`.
pub fn named(name: &str) -> Option<Bench> {
    benches().into_iter().find(|bench| bench.name == name)
}

/// Simulates the first `seconds` of a scenario: how many packets arrived.
pub fn once(bench: &Bench, seconds: u32) -> u64 {
    let mut simulation = prepared(bench);
    simulation.advance(TimeDelta::from_secs(seconds.into()));
    simulation.packets()
}

/// A scenario before anything happened.
pub fn prepared(bench: &Bench) -> Simulation {
    simulation(&load_bench(bench))
}

/// Simulates a scenario to its end.
pub fn complete(simulation: &mut Simulation) {
    while !simulation.advance(TimeDelta::from_secs(10)) {}
}

fn load_bench(bench: &Bench) -> Loaded {
    let origin = Origin { text: &bench.text, file: bench.name, sets: &[] };
    load(&origin, &Loader::default()).unwrap_or_else(|error| panic!("{}: {error}", bench.name))
}

fn simulation(loaded: &Loaded) -> Simulation {
    Simulation::new(loaded, Pace::Windowed).expect("load has checked the links")
}

/// Packets that arrive, and seconds of processor time of the fastest run.
fn measure(bench: &Bench) -> (u64, f64) {
    let loaded = load_bench(bench);
    let (mut packets, mut seconds) = (0, f64::INFINITY);
    for _ in 0..RUNS {
        let mut simulation = simulation(&loaded);
        let start = processor_time();
        complete(&mut simulation);
        seconds = seconds.min(processor_time() - start);
        packets = simulation.packets();
        // The figures are made, so that nothing of the run is optimised away.
        let utilisation = simulation.finish().summary.links["bottleneck"].utilisation;
        assert!(utilisation.is_some_and(|used| used > 0.1), "{}: utilisation {utilisation:?}", bench.name);
    }
    (packets, seconds)
}
