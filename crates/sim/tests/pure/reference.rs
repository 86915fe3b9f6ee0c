//! The profile `reference-2022` against what was measured on the program that it follows.
//!
//! The set-up is that of the steady-state table: an encoder trace at 50 fps, the round trip split in halves, a queue
//! without end, a report for every packet. The trace is not part of the repository: set `PACELINE_DATA`, or the tests say
//! that they saw nothing.

use crate::world::{column, flow, link, loaded, simulated};
use paceline_scenario::Loader;
use paceline_sim::{Outcome, Pace};
use paceline_units::TimeDelta;
use std::path::PathBuf;

/// Where the real data is, if it is.
fn loader() -> Option<Loader> {
    let folder = std::env::var_os("PACELINE_DATA").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: PACELINE_DATA is not set, nothing was compared with the reference");
    }
    folder.map(|folder| Loader::new("", vec![folder]))
}

/// The link, what is beside its rate, and what differs from the set-up.
struct Run<'a> {
    rate: &'a str,
    rtt_ms: u32,
    l4s: bool,
    sets: &'a [(&'a str, &'a str)],
}

impl Run<'_> {
    /// None without data.
    fn outcome(&self) -> Option<Outcome> {
        let mark = "mark = { kind = \"ramp\", low = \"2ms\", high = \"10ms\" }";
        let (mark, ecn) = if self.l4s { (mark, "l4s") } else { ("", "off") };
        let half = self.rtt_ms / 2;
        let text = format!(
            "duration = \"100s\"\nwarmup = \"20s\"\nsample = \"100ms\"\n\
             [links.l]\nrate = {}\ndelay = \"{half}ms\"\nqueue = {{ packets = 1000000 }}\n{mark}\n\
             [flows.f]\nsource = {{ kind = \"trace-encoder\", file = \"video_scream/trace_key.txt\", fps = 50 }}\n\
             path = [\"l\"]\necn = \"{ecn}\"\nfeedback = {{ packets = 1 }}\n\
             [flows.f.controller]\nkind = \"scream\"\nprofile = \"reference-2022\"\n\
             target_bitrate_min = \"300kbps\"\ntarget_bitrate_start = \"1Mbps\"\ntarget_bitrate_max = \"100Mbps\"\n",
            self.rate
        );
        let world = loaded(&text, self.sets, &loader()?);
        Some(simulated(&world, Pace::Windowed, TimeDelta::from_secs(100)))
    }

    /// Utilisation in percent, and mean and 95th percentile of the queue delay in ms.
    fn steady(&self) -> Option<(f64, f64, f64)> {
        let outcome = self.outcome()?;
        let (used, delay) = (link(&outcome, "l").utilisation, flow(&outcome, "f").queue_delay_ms);
        let figures = (used? * 100.0, delay.mean?, delay.p95?);
        eprintln!("{} {} ms l4s={} {:?}: {figures:.2?}", self.rate, self.rtt_ms, self.l4s, self.sets);
        Some(figures)
    }
}

/// Utilisation within 2 points, mean within 15 %, 95th percentile within 20 %.
fn compare(rate: &str, rtt_ms: u32, l4s: bool, measured: (f64, f64, f64)) {
    let Some((used, mean, p95)) = (Run { rate, rtt_ms, l4s, sets: &[] }).steady() else { return };
    let fits = (used - measured.0).abs() <= 2.0
        && (mean - measured.1).abs() <= 0.15 * measured.1
        && (p95 - measured.2).abs() <= 0.20 * measured.2;
    assert!(fits, "{rate}, {rtt_ms} ms: ({used:.2}, {mean:.2}, {p95:.2}), measured {measured:?}");
}

#[test]
fn the_table_at_20_ms_without_l4s() {
    compare("\"5Mbps\"", 20, false, (99.2, 15.9, 35.9));
    compare("\"20Mbps\"", 20, false, (99.5, 14.7, 31.3));
}

#[test]
fn the_table_at_20_ms_with_l4s() {
    compare("\"5Mbps\"", 20, true, (87.6, 1.41, 4.0));
    compare("\"20Mbps\"", 20, true, (84.9, 1.07, 3.2));
}

#[test]
fn other_rates_at_20_ms() {
    compare("\"2Mbps\"", 20, false, (98.96, 13.5, 32.6));
    compare("\"10Mbps\"", 20, false, (99.34, 16.7, 37.7));
    compare("\"50Mbps\"", 20, false, (99.51, 12.9, 29.1));
}

#[test]
fn longer_round_trips() {
    compare("\"5Mbps\"", 100, false, (98.70, 18.0, 45.3));
    compare("\"20Mbps\"", 100, false, (99.21, 15.4, 36.6));
}

/// The end of the first window of 1 s, in steps of 0.1 s from `from`, in which 90 % of `link_mbps` arrived.
fn reaches_90_percent(outcome: &Outcome, link_mbps: f64, from: f64) -> Option<f64> {
    let (times, rates) = (
        column(&outcome.flows, "flow", "f", "time_s"),
        column(&outcome.flows, "flow", "f", "throughput_mbps"),
    );
    let full = |rates: &[f64]| rates.iter().sum::<f64>() >= 9.0 * link_mbps;
    let mut windows = times.windows(10).zip(rates.windows(10));
    // A window from `from` on: its first interval ends 0.1 s later.
    windows.find(|(times, rates)| times[0] > from + 0.05 && full(rates)).map(|(times, _)| times[9])
}

#[test]
fn start_up_takes_as_long() {
    for (rate, mbps, measured) in [("\"5Mbps\"", 5.0, 4.3), ("\"20Mbps\"", 20.0, 7.6)] {
        let run = Run { rate, rtt_ms: 20, l4s: false, sets: &[] };
        let Some(outcome) = run.outcome() else { return };
        let reached = reaches_90_percent(&outcome, mbps, 0.0).expect("it fills the link");
        eprintln!("{rate}: 90 % after {reached:.1} s");
        assert!(
            (reached - measured).abs() <= 0.15 * measured,
            "{rate}: {reached:.1} s, measured {measured} s"
        );
    }
}

#[test]
fn a_step_to_a_quarter_and_back() {
    let rate = "{ steps = [[\"0s\", \"20Mbps\"], [\"40s\", \"5Mbps\"], [\"70s\", \"20Mbps\"]] }";
    let Some(outcome) = (Run { rate, rtt_ms: 20, l4s: false, sets: &[] }).outcome() else { return };
    let peak = flow(&outcome, "f").queue_delay_ms.max.expect("packets arrived");
    let back = reaches_90_percent(&outcome, 20.0, 70.0).expect("it fills the link again") - 70.0;
    eprintln!("peak {peak:.0} ms, back after {back:.1} s");
    assert!((peak - 287.0).abs() <= 0.15 * 287.0, "peak {peak} ms, measured 282-292");
    assert!((3.8..=5.8).contains(&back), "back at 90 % after {back:.1} s, measured 4.0-5.5");
}

/// Each of these rules weighs what it weighed in the reference: switched off, the mean leaves the band of the table.
#[test]
fn single_rules_weigh_what_they_weighed() {
    for (name, value, band) in [
        ("t_resume_fast_increase", "\"5s\"", 6.5..=9.0),
        ("target_rate_scale_weight", "0", 16.0..=20.5),
        ("pacing_head_room", "1.5", 15.0..=19.0),
    ] {
        let path = format!("flows.f.controller.{name}");
        let run = Run { rate: "\"20Mbps\"", rtt_ms: 20, l4s: false, sets: &[(&path, value)] };
        let Some((_, mean, _)) = run.steady() else { return };
        assert!(band.contains(&mean), "{name} = {value}: mean {mean:.2} ms, measured within {band:?}");
    }
}
