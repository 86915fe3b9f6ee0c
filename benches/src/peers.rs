//! The same scenarios in ns-2 and ns-3, where these are installed: what they simulate per second of processor time.
//!
//! The scenarios are in `benches/peers`, a script for `ns` and a program that is built against ns-3's libraries when the
//! bench runs. Both print how many packets arrived and how long their event loop had a processor; starting is not
//! counted, there as here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Scenarios that both programs can simulate.
const SCENARIOS: [&str; 2] = ["newreno-3-hops", "cbr-3-hops"];

const NS3_MODULES: [&str; 6] = [
    "ns3-applications",
    "ns3-core",
    "ns3-internet",
    "ns3-network",
    "ns3-point-to-point",
    "ns3-traffic-control",
];

/// Speeds of ns-2 and ns-3, each scenario run once for the whole bench.
#[derive(Default)]
pub struct Peers {
    ns2: BTreeMap<&'static str, Result<(u64, f64), String>>,
}

impl Peers {
    /// Packets per second of processor time of `scenario` in ns-2; absent, and said the first time, where it cannot run.
    pub fn ns2(&mut self, scenario: &'static str) -> Option<f64> {
        let run = self
            .ns2
            .entry(scenario)
            .or_insert_with(|| ns2(scenario).inspect_err(|why| eprintln!("ns-2: {why}")));
        run.as_ref().ok().map(|(packets, seconds)| *packets as f64 / seconds)
    }

    /// Prints a line for each peer that can simulate `scenario`, beside `ours`: packets per second here.
    pub fn print(&mut self, scenario: &'static str, ours: f64) {
        if !SCENARIOS.contains(&scenario) {
            return;
        }
        self.ns2(scenario);
        let in_ns2 = self.ns2.get(scenario).cloned().unwrap_or_else(|| Err("unknown".into()));
        for (peer, run) in [("ns-2", in_ns2), ("ns-3", ns3(scenario))] {
            let peer = format!("  in {peer}");
            match run {
                Ok((packets, seconds)) => {
                    let rate = packets as f64 / seconds;
                    let (millions, ratio) = (rate / 1e6, ours / rate);
                    println!(
                        "{peer:<18}{packets:>12}{millions:>12.2}{seconds:>10.3}   {ratio:.1} times as fast here"
                    );
                }
                Err(why) => println!("{peer:<18}not run: {why}"),
            }
        }
    }
}

fn ns2(scenario: &str) -> Result<(u64, f64), String> {
    let ns = installed("ns", "ns2")?;
    let script = folder().join(scenario).with_extension("tcl");
    let mut fastest = measured(Command::new(&ns).arg(&script))?;
    for _ in 1..crate::RUNS {
        let again = measured(Command::new(&ns).arg(&script))?;
        fastest.1 = fastest.1.min(again.1);
    }
    Ok(fastest)
}

fn ns3(scenario: &str) -> Result<(u64, f64), String> {
    measured(Command::new(built_for_ns3()?).arg(scenario))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// Where `program` is, of Debian's `package`.
fn installed(program: &str, package: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
    found.ok_or_else(|| format!("{program} is missing (apt install {package})"))
}

/// The program for ns-3, beside this one.
fn built_for_ns3() -> Result<PathBuf, String> {
    let pkg_config = installed("pkg-config", "pkg-config")?;
    let compiler = installed("c++", "g++")?;
    // Only search paths and names: what else Debian's files list (libgsl.so) comes with no package of its own here.
    let flags = ["--cflags", "--libs-only-L", "--libs-only-l"];
    let output = Command::new(pkg_config).args(flags).args(NS3_MODULES).output();
    let Some(flags) = output.ok().filter(|output| output.status.success()).map(|output| output.stdout) else {
        return Err("its libraries are missing (apt install libns3-dev)".into());
    };
    let flags = String::from_utf8_lossy(&flags).replace(';', " ");
    let program =
        std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("ns3-three-hops");
    let source = folder().join("ns3-three-hops.cc");
    // The libraries come last, for linkers that look into them for what they miss by then.
    answer(
        Command::new(compiler)
            .args(["-std=c++17", "-O2", "-o"])
            .arg(&program)
            .arg(source)
            .args(flags.split_whitespace()),
    )?;
    Ok(program)
}

/// Numbers that a peer printed: packets, and seconds of processor time.
fn measured(command: &mut Command) -> Result<(u64, f64), String> {
    let text = answer(command)?;
    let found = text.split_once(' ').and_then(|(packets, seconds)| {
        let (packets, seconds) = (packets.parse().ok()?, seconds.trim().parse().ok()?);
        (packets > 0 && seconds > 0.0).then_some((packets, seconds))
    });
    found.ok_or_else(|| format!("it printed {:?}, expected packets and seconds", text.trim()))
}

/// Output of a program that succeeds; else the last thing that it complained of.
fn answer(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name}: {}: {}", output.status, complaint.lines().last().unwrap_or("no word")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
