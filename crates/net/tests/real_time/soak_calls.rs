//! Calls in one process whose links fail and come back: each goes on after each failure, memory stays as it is and no descriptor is
//! lost. A short one is a test, the program `soak` makes it as long as one likes.

use paceline_net::{Control, LiveOptions, LiveOutput, Progress, live};
use paceline_scenario::{Loaded, Loader, Origin, load};
use paceline_units::{Time, TimeDelta};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Calls at the same time: as many controllers and formats of reports, some of them twice, since each call draws anew.
const CALLS: usize = 10;
const KINDS: [(&str, &str); 4] =
    [("scream", "rfc8888"), ("gcc", "twcc"), ("scream", "twcc"), ("gcc", "rfc8888")];
/// Failures of each link, evenly spread. Each lasts a tenth of the time until the next, 5 s at most: a circuit breaker ends what hears nothing
/// for 15 s.
const OUTAGES: i64 = 5;
const LONGEST_OUTAGE: TimeDelta = TimeDelta::from_secs(5);
/// Rows of a time series.
const ROWS: i64 = 120;
/// Memory that the process may take more at the end than halfway: 30 threads, each with a few rows more. A sender remembers its last 65,536
/// packets once one was lost, which takes a quarter of an hour to fill at these rates.
const GROWTH: u64 = 4 << 20;
/// A call goes on that has this part of the rate that it had before the first failure, in the last half of the time until the next one:
/// where that begins after half a minute, and where it begins sooner. GCC grows by 8 % in a second from where a failure left it.
const GOES_ON: f64 = 0.25;
const GOES_ON_SOON: f64 = 0.02;

/// The time from one failure of a link to the next, and from the last one to the end at least.
fn apart(span: TimeDelta) -> TimeDelta {
    span / (OUTAGES + 2)
}

/// When the link of a call fails: from, to. The calls fail one after the other, not all at once.
fn outages(place: usize, span: TimeDelta) -> Vec<(TimeDelta, TimeDelta)> {
    let apart = apart(span);
    let length = (apart / 10).min(LONGEST_OUTAGE);
    let shift = apart * place as i64 / (2 * CALLS as i64);
    (1..=OUTAGES).map(|n| (apart * n + shift, apart * n + shift + length)).collect()
}

fn call(place: usize, span: TimeDelta) -> Loaded {
    let (controller, format) = KINDS[place % KINDS.len()];
    let down: Vec<_> = outages(place, span)
        .iter()
        .map(|(from, to)| format!("[\"{}ns\", \"{}ns\"]", from.as_nanos(), to.as_nanos()))
        .collect();
    let (down, nanos, row) = (down.join(", "), span.as_nanos(), (span / ROWS).as_nanos());
    // 0.6 to 3 Mbit/s: more than a link at its lowest takes, so that queues fill and packets are dropped as well.
    let (low, high) = (600 + 40 * place, 1_200 + 200 * place);
    let text = format!(
        "duration = \"{nanos}ns\"\nsample = \"{row}ns\"\nseed = {seed}\n[links.l]\ndelay = \"20ms\"\n\
         rate = {{ steps = [[\"0s\", \"{high}kbps\"], [\"{half}ns\", \"{low}kbps\"], [\"{most}ns\", \"{high}kbps\"]] }}\n\
         queue = {{ limit = \"200ms\" }}\ndown = [{down}]\n[flows.f]\npath = [\"l\"]\n\
         controller = {{ kind = \"{controller}\", target_bitrate_max = \"3Mbps\" }}\n\
         source = {{ kind = \"trace-encoder\", generator = \"frames\", fps = 25 }}\n\
         feedback = {{ format = \"{format}\" }}\n",
        seed = place + 1,
        half = nanos / 2,
        most = nanos / 4 * 3,
    );
    load(&Origin { text: &text, file: "soak.toml", sets: &[] }, &Loader::default()).expect("a sound scenario")
}

/// Memory of this process in bytes, and its open descriptors.
fn taken() -> (u64, usize) {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("memory");
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    (kilobytes << 10, std::fs::read_dir("/proc/self/fd").expect("/proc").count())
}

/// The mean rate of a call at its receiver over the rows that lie between two times.
fn rate(output: &LiveOutput, from: TimeDelta, to: TimeDelta) -> f64 {
    let flows = &output.receiver.flows;
    let (Some(times), Some(rates)) = (flows.float("time_s"), flows.float("throughput_mbps")) else {
        return 0.0;
    };
    let between = from.as_secs_f64()..=to.as_secs_f64();
    let rows = (0..flows.rows()).filter(|row| times.value(*row).is_some_and(|time| between.contains(&time)));
    let rates: Vec<f64> = rows.map(|row| rates.value(row).unwrap_or(0.0)).collect();
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

/// Faults that a soak found.
#[derive(Debug)]
pub enum Broken {
    /// A call went on too slowly after a failure of its link, which a machine that is late makes it do.
    TooSlow(String),
    /// A call ended or brought nothing, memory grew, or descriptors were lost.
    Ended(String),
}

impl std::fmt::Display for Broken {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Broken::TooSlow(said) | Broken::Ended(said)) = self;
        out.write_str(said)
    }
}

/// Whether a call went on after each failure of its link; says how fast.
fn went_on(place: usize, span: TimeDelta, output: &LiveOutput) -> Result<String, Broken> {
    let (outages, apart) = (outages(place, span), apart(span));
    // The last half of the time until the next failure, and as much after the last one.
    let after: Vec<_> =
        outages.iter().map(|(from, _)| rate(output, *from + apart / 2, *from + apart)).collect();
    let first = outages[0].0;
    let before = rate(output, first - apart / 2, first);
    let said = format!("call {place}: {before:.2} Mbit/s, after failures {after:.2?}");
    let stands = output.sender.counters.circuit_breakers == 0 && before > 0.0;
    let stands = stands && after.iter().all(|rate| *rate > 0.0);
    let part = if apart / 2 >= TimeDelta::from_secs(30) { GOES_ON } else { GOES_ON_SOON };
    let broken = format!("{said}: {:?}", output.sender.warnings);
    match (stands, after.iter().all(|rate| *rate >= part * before)) {
        (true, true) => Ok(said),
        (true, false) => Err(Broken::TooSlow(broken)),
        (false, _) => Err(Broken::Ended(broken)),
    }
}

/// A watcher's measurements of the process: memory halfway and at the end, and the most and fewest descriptors.
#[derive(Clone, Copy, Debug)]
struct Watched {
    begin: u64,
    end: u64,
    descriptors: (usize, usize),
}

/// Watches from halfway on, as `reached` says, until just before its end.
fn watch(span: TimeDelta, reached: &AtomicU64, over: &AtomicBool) -> Option<Watched> {
    let nanos = span.as_nanos() as u64;
    let mut watched: Option<Watched> = None;
    while !over.load(Ordering::Relaxed) && reached.load(Ordering::Relaxed) < nanos / 50 * 49 {
        if reached.load(Ordering::Relaxed) >= nanos / 2 {
            let (memory, open) = taken();
            let seen =
                watched.get_or_insert(Watched { begin: memory, end: memory, descriptors: (open, open) });
            seen.end = memory;
            seen.descriptors = (seen.descriptors.0.min(open), seen.descriptors.1.max(open));
        }
        std::thread::sleep(Duration::from_nanos(nanos / 200).min(Duration::from_secs(1)));
    }
    watched
}

/// Runs all calls; says what came of it.
///
/// # Errors
/// Says which call did not go on, by how much memory grew, or how many descriptors were lost.
pub fn soak(span: TimeDelta) -> Result<String, Broken> {
    let (stop, reached, over) = (&AtomicBool::new(false), &AtomicU64::new(0), &AtomicBool::new(false));
    let progress = |told: Progress<'_>| {
        reached.fetch_max(told.reached().map_or(0, Time::as_nanos), Ordering::Relaxed);
    };
    let (_, before) = taken();
    let (outputs, watched) = std::thread::scope(|threads| {
        let calls: [_; CALLS] = std::array::from_fn(|place| {
            threads.spawn(move || {
                live(&call(place, span), &LiveOptions::default(), &Control { stop, progress: &progress })
            })
        });
        let watcher = threads.spawn(|| watch(span, reached, over));
        let outputs = calls.map(|call| call.join().expect("no panic"));
        over.store(true, Ordering::Relaxed);
        (outputs, watcher.join().expect("no panic"))
    });
    let (_, after) = taken();
    let mut said = Vec::new();
    let (mut ended, mut slow) = (false, false);
    for (place, output) in outputs.into_iter().enumerate() {
        let output = output.map_err(|error| Broken::Ended(format!("call {place}: {error}")))?;
        let went_on = went_on(place, span, &output);
        ended |= matches!(went_on, Err(Broken::Ended(_)));
        slow |= matches!(went_on, Err(Broken::TooSlow(_)));
        said.push(went_on.unwrap_or_else(|broken| format!("DID NOT GO ON: {broken}")));
    }
    let short = || Broken::Ended("the run was over before half of its time".into());
    let Watched { begin, end, descriptors } = watched.ok_or_else(short)?;
    said.push(format!("memory {begin} to {end} B; descriptors {before}, meanwhile {descriptors:?}, {after}"));
    let summary = said.join("\n");
    if ended {
        return Err(Broken::Ended(format!("a call ended\n{summary}")));
    }
    if end.saturating_sub(begin) > GROWTH {
        return Err(Broken::Ended(format!("memory grew by more than {GROWTH} B\n{summary}")));
    }
    // Reading the folder of descriptors takes one each time.
    if after != before || descriptors.0 != descriptors.1 {
        return Err(Broken::Ended(format!("descriptors were lost\n{summary}")));
    }
    if slow {
        return Err(Broken::TooSlow(format!("a call went on too slowly\n{summary}")));
    }
    Ok(summary)
}
