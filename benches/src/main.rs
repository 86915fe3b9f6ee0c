//! Simulated packets per second and core, on fixed scenarios. `make bench` runs it; no test depends on it.
//!
//! `cargo run --release -p paceline-benches [--json FILE] [NAME]...` runs what is named; without names all scenarios
//! (`simulated`), one of them on two threads (`threads`), the instructions of a sender (`sender`), real sockets on loopback (`loopback`), coupled groups (`coupling`), a
//! link's noise (`noise`) and the reading of reports (`feedback-parse`). FILE receives what was measured of scenarios. Time is
//! the processor's, not the wall's, and the fastest of three runs counts, so that others on the machine count little. Scenarios that ns-2
//! and ns-3 can simulate, too, are run there as well if they are installed (`peers`), as often; ns-3, which takes long, once.
//!
//! `--once NAME SECONDS` simulates the first seconds of one scenario, without a clock, and prints how many packets arrived:
//! for callgrind and perf.

mod coupling;
mod feedback;
mod loopback;
mod noise;
mod peers;
mod sender;
mod simulated;
mod threads;

use paceline_sim::BUILD;
use rustix::time::{ClockId, clock_gettime};
use std::process::ExitCode;

/// Measurements beside scenarios, by name.
const OTHERS: [(&str, fn()); 6] = [
    ("threads", threads::print),
    ("sender", sender::print),
    ("coupling", coupling::print),
    ("noise", noise::print),
    ("feedback-parse", feedback::print),
    ("loopback", loopback::print),
];

fn main() -> ExitCode {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, per_report, packets] = &names[..]
        && flag == "--sender"
        && let (Ok(per_report), Ok(packets)) = (per_report.parse(), packets.parse())
    {
        sender::run(per_report, packets);
        return ExitCode::SUCCESS;
    }
    if let [flag, name, seconds] = &names[..]
        && flag == "--once"
        && let (Some(bench), Ok(seconds)) = (simulated::named(name), seconds.parse())
    {
        println!("{} packets", simulated::once(&bench, seconds));
        return ExitCode::SUCCESS;
    }
    let json = match names.iter().position(|name| name == "--json") {
        Some(place) if place + 1 < names.len() => names.drain(place..place + 2).nth(1),
        _ => None,
    };
    let mut benches = simulated::benches();
    let known: Vec<&str> =
        benches.iter().map(|bench| bench.name).chain(OTHERS.iter().map(|(name, _)| *name)).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        eprintln!("found {name:?}, expected --json FILE, or some of: {}", known.join(", "));
        return ExitCode::from(2);
    }
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    benches.retain(|bench| is_wanted(bench.name));
    println!("{BUILD}");
    let lines = if benches.is_empty() { Vec::new() } else { simulated::run(&benches) };
    OTHERS.iter().filter(|(name, _)| is_wanted(name)).for_each(|(_, print)| print());
    match json.map(|file| write_json(&file, &lines)) {
        Some(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

fn write_json(file: &str, lines: &[simulated::Line]) -> Result<(), String> {
    let text = serde_json::to_string_pretty(lines).map_err(|error| error.to_string())?;
    std::fs::write(file, text + "\n").map_err(|error| format!("{file}: {error}"))
}

/// Seconds that this process has had of a processor.
#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The fastest of these runs counts: what else runs on the machine only ever takes time.
const RUNS: usize = 3;
