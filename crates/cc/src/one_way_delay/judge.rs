//! Random paths whose clocks are known judge the estimate of clocks: they have queues, noise and losses both ways, routes that
//! change, packets and reports that are late, few reports, few frames and pauses. The faults that count are a step that was none, a step
//! that was not found within two seconds, and a skew that is off by more than 50 ppm after a minute.
//!
//! `cargo test -p paceline-cc --lib one_way_delay::judge -- --include-ignored --nocapture` prints a table by kind of path.

use super::OneWayDelay;
extern crate std;

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use paceline_units::{RandomStream, Time, TimeDelta};

/// A path's peculiarity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Plain,
    LateReports,
    LatePackets,
    /// Both ways become longer, or shorter, by amounts of their own.
    Handovers,
    /// One way becomes longer or shorter.
    OneWayRoutes,
    /// Reports each 100 or 400 ms.
    SlowReports,
    /// Five frames a second.
    FewFrames,
    /// Nothing is sent for 20 s.
    Pauses,
    /// The same, and the clock is set then, if it is set.
    SetInPause,
}

const KINDS: [Kind; 9] = [
    Kind::Plain,
    Kind::LateReports,
    Kind::LatePackets,
    Kind::Handovers,
    Kind::OneWayRoutes,
    Kind::SlowReports,
    Kind::FewFrames,
    Kind::Pauses,
    Kind::SetInPause,
];

const SECONDS: f64 = 80.0;
/// From then on skews are judged, and what they may be off by, in ppm.
const KNOWN: f64 = 60.0;
const SKEW_OFF: f64 = 50.0;
/// Within so many seconds a step must be found.
const FOUND: f64 = 2.0;

/// A queue as a fluid: it grows and shrinks with the load.
#[derive(Clone, Debug)]
struct Queue {
    shape: Shape,
    limit: f64,
    at: f64,
    level: f64,
    load: f64,
    until: f64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Shape {
    None,
    Sawtooth,
    Random,
    Standing(f64),
    Bursts,
}

impl Queue {
    fn new(random: &mut RandomStream, none: f64) -> Queue {
        let shape = if random.chance(none) {
            Shape::None
        } else {
            match random.next_u64() % 4 {
                0 => Shape::Sawtooth,
                1 => Shape::Random,
                2 => Shape::Standing(between(random, 0.005, 0.15)),
                _ => Shape::Bursts,
            }
        };
        let limit = between(random, 0.03, 0.3);
        Queue { shape, limit, at: 0.0, level: 0.0, load: 0.5, until: 0.0 }
    }

    fn turn(&mut self, random: &mut RandomStream) {
        let (load, lasts) = match self.shape {
            Shape::None => (0.5, 1e9),
            Shape::Sawtooth if self.load < 1.0 => {
                (1.0 + between(random, 0.01, 0.4), between(random, 0.5, 5.0))
            }
            Shape::Sawtooth => (between(random, 0.5, 0.95), between(random, 0.2, 2.0)),
            Shape::Random => (between(random, 0.3, 1.6), random.exponential(0.7)),
            Shape::Standing(level) => (1.0 + (level - self.level) * 2.0 + 0.1 * random.normal(), 0.1),
            Shape::Bursts => {
                self.level += between(random, 0.005, 0.08);
                (between(random, 0.2, 0.9), random.exponential(2.0))
            }
        };
        (self.load, self.until) = (load, self.until + lasts);
    }

    fn pass(&mut self, to: f64) {
        self.level = (self.level + (self.load - 1.0) * (to - self.at)).clamp(0.0, self.limit);
        self.at = to;
    }

    /// Seconds that what comes at `at` waits; not before what came last.
    fn wait(&mut self, random: &mut RandomStream, at: f64) -> f64 {
        while self.until <= at {
            self.pass(self.until.max(self.at));
            self.turn(random);
        }
        self.pass(at.max(self.at));
        self.level
    }
}

/// One way through the network.
#[derive(Clone, Debug)]
struct Way {
    /// From when on it lasts how long, and how long nothing passes then.
    routes: Vec<(f64, f64, f64)>,
    queue: Queue,
    noise: f64,
    is_heavy: bool,
    /// The part that is late, and by how much at most.
    late: (f64, f64),
    in_order: bool,
    last: f64,
}

impl Way {
    /// When what leaves at `at` arrives. Called in order of leaving.
    fn arrival(&mut self, random: &mut RandomStream, at: f64) -> f64 {
        let (from, lasts, gap) =
            self.routes.iter().rev().find(|(from, ..)| *from <= at).copied().unwrap_or(self.routes[0]);
        let leaves = at.max(from + gap);
        let waits = self.queue.wait(random, leaves);
        let noise =
            if self.is_heavy { random.exponential(self.noise / 2.0) } else { self.noise * random.uniform() };
        let late = if random.chance(self.late.0) { self.late.1 * random.uniform() } else { 0.0 };
        let arrives = leaves + lasts + waits + noise;
        let arrives = if self.in_order { arrives.max(self.last + 1e-5) } else { arrives };
        self.last = arrives;
        arrives + late
    }
}

fn between(random: &mut RandomStream, least: f64, most: f64) -> f64 {
    least + (most - least) * random.uniform()
}

/// When a report is written: after so many packets or a tenth of a second, at a frame's end, or each so many seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Rule {
    Packets(usize),
    Frame,
    Every(f64),
}

/// A path, the receiver's clock, and what is sent.
#[derive(Clone, Debug)]
struct Path {
    kind: Kind,
    ppm: f64,
    tick: f64,
    /// When the clock is put forward, and by how many seconds.
    step: Option<(f64, f64)>,
    /// Seconds between frames, and packets of each.
    frames: (f64, usize),
    rule: Rule,
    pauses: Vec<(f64, f64)>,
    loss: f64,
    forward: Way,
    backward: Way,
}

impl Path {
    fn new(seed: u64, steps: bool) -> (Path, RandomStream) {
        let mut stream = RandomStream::new(seed, "path");
        let random = &mut stream;
        let kind = KINDS[(seed % KINDS.len() as u64) as usize];
        let way = |random: &mut RandomStream, none: f64| Way {
            routes: vec![(0.0, between(random, 0.005, 0.1), 0.0)],
            queue: Queue::new(random, none),
            noise: if random.chance(0.3) { 0.0 } else { between(random, 0.0, 0.015) },
            is_heavy: random.chance(0.5),
            late: (0.0, 0.0),
            in_order: true,
            last: 0.0,
        };
        let (forward, backward) = (way(random, 0.4), way(random, 0.7));
        let ppm = if random.chance(0.5) { 0.0 } else { between(random, -100.0, 100.0) };
        let frames = (
            1.0 / [15.0, 25.0, 30.0, 50.0, 60.0][(random.next_u64() % 5) as usize],
            1 + (random.next_u64() % 4) as usize,
        );
        let rule = match random.next_u64() % 4 {
            0 => Rule::Packets(1 + (random.next_u64() % 16) as usize),
            1 => Rule::Every(between(random, 0.02, 0.1)),
            _ => Rule::Frame,
        };
        let tick = if random.chance(0.5) { 1.0 / 1024.0 } else { 1e-6 };
        let loss = if random.chance(0.5) { 0.0 } else { between(random, 0.0, 0.03) };
        let mut path =
            Path { kind, ppm, tick, step: None, frames, rule, pauses: Vec::new(), loss, forward, backward };
        path.specialise(random);
        if steps {
            let size = libm::exp(between(random, libm::log(0.05), libm::log(5.0)));
            let size = if random.chance(0.5) { size } else { -size };
            let at = if kind == Kind::SetInPause {
                let (from, to) = path.pauses[0];
                between(random, from + 0.5, to)
            } else {
                between(random, 8.0, 70.0)
            };
            path.step = Some((at, size));
        }
        (path, stream)
    }

    fn specialise(&mut self, random: &mut RandomStream) {
        match self.kind {
            Kind::Plain => {}
            Kind::LateReports => {
                self.backward.in_order = false;
                self.backward.late = (between(random, 0.02, 0.5), between(random, 0.02, 0.4));
            }
            Kind::LatePackets => {
                self.forward.in_order = false;
                self.forward.late = (between(random, 0.02, 0.3), between(random, 0.02, 0.2));
            }
            Kind::Handovers | Kind::OneWayRoutes => self.change_routes(random),
            Kind::SlowReports => self.rule = Rule::Every(if random.chance(0.5) { 0.1 } else { 0.4 }),
            Kind::FewFrames => {
                self.frames = (0.2, self.frames.1);
                if random.chance(0.3) {
                    self.rule = Rule::Every(if random.chance(0.5) { 0.1 } else { 0.4 });
                }
            }
            Kind::Pauses | Kind::SetInPause => {
                let from = between(random, 10.0, 40.0);
                self.pauses = vec![(from, from + 20.0)];
            }
        }
    }

    fn change_routes(&mut self, random: &mut RandomStream) {
        self.forward.in_order = random.chance(0.5);
        self.backward.in_order = random.chance(0.5);
        if random.chance(0.3) {
            self.rule = Rule::Every(0.1);
        }
        let changes = 1 + random.next_u64() % 3;
        for _ in 0..changes {
            let at = between(random, 5.0, 75.0);
            let longer = random.chance(0.5);
            let gap = if random.chance(0.5) { 0.0 } else { between(random, 0.0, 0.3) };
            let only = if self.kind == Kind::OneWayRoutes { random.next_u64() % 2 } else { 2 };
            let by = between(random, 0.01, 0.15);
            for (n, way) in [&mut self.forward, &mut self.backward].into_iter().enumerate() {
                way.routes.sort_by(|a, b| a.0.total_cmp(&b.0));
                if only != 2 && only != n as u64 {
                    continue;
                }
                let before =
                    way.routes.iter().rev().find(|(from, ..)| *from <= at).map_or(0.05, |route| route.1);
                let by = by * between(random, 0.5, 1.5);
                let lasts = if longer { before + by } else { (before - by).max(before * 0.2).max(0.002) };
                way.routes.push((at + between(random, 0.0, 0.02), lasts, gap));
            }
        }
        for way in [&mut self.forward, &mut self.backward] {
            way.routes.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
    }

    fn shown(&self, real: f64) -> Time {
        let stepped = self.step.filter(|(at, _)| real >= *at).map_or(0.0, |(_, step)| step);
        let shown = 500.0 + real * (1.0 + self.ppm * 1e-6) + stepped;
        Time::from_secs_f64(libm::floor(shown / self.tick) * self.tick)
    }

    /// When each packet that arrives was sent and arrived, in order of arrival, and whether it ends a frame.
    fn packets(&mut self, random: &mut RandomStream) -> Vec<(f64, f64, bool)> {
        let (interval, packets) = self.frames;
        let (mut arrivals, mut at) = (Vec::new(), 0.1);
        while at < SECONDS {
            let pauses = self.pauses.iter().any(|(from, to)| (*from..*to).contains(&at));
            for n in 0..if pauses { 0 } else { packets } {
                let sent = at + n as f64 * 0.002;
                let arrived = self.forward.arrival(random, sent);
                if !random.chance(self.loss) {
                    arrivals.push((sent, arrived, n + 1 == packets));
                }
            }
            at += interval * between(random, 0.95, 1.05);
        }
        arrivals.sort_by(|a, b| a.1.total_cmp(&b.1));
        arrivals
    }

    /// Reports in order of their coming: when, and which packets.
    fn reports(&mut self, random: &mut RandomStream) -> Vec<(f64, Vec<(f64, f64)>)> {
        let arrivals = self.packets(random);
        let (mut reports, mut open) = (Vec::new(), Vec::<(f64, f64)>::new());
        let mut due = 0.0;
        let write =
            |path: &mut Path, random: &mut RandomStream, at, open: &mut Vec<_>, reports: &mut Vec<_>| {
                let comes = path.backward.arrival(random, at);
                let mut packets: Vec<(f64, f64)> = core::mem::take(open);
                packets.sort_by(|a, b| a.0.total_cmp(&b.0));
                if !random.chance(path.loss) {
                    reports.push((comes, packets));
                }
            };
        for (sent, arrived, ends) in arrivals {
            if let Rule::Every(every) = self.rule {
                if arrived >= due && !open.is_empty() {
                    write(self, random, due, &mut open, &mut reports);
                }
                while due <= arrived {
                    due += every;
                }
            }
            if let (Rule::Packets(_), Some(first)) = (self.rule, open.first().map(|first| first.1 + 0.1))
                && arrived > first
            {
                write(self, random, first, &mut open, &mut reports);
            }
            open.push((sent, arrived));
            let full = match self.rule {
                Rule::Packets(most) => open.len() >= most,
                Rule::Frame => ends || open.len() >= 16,
                Rule::Every(_) => false,
            };
            if full {
                write(self, random, arrived, &mut open, &mut reports);
            }
        }
        reports.sort_by(|a: &(f64, Vec<_>), b| a.0.total_cmp(&b.0));
        reports
    }
}

/// The estimate of one path's clocks.
#[derive(Clone, Copy, Debug, Default)]
struct Verdict {
    /// Whether a step was sure that was none.
    is_false: bool,
    /// Whether a step that was none was taken out for a while.
    doubted: bool,
    /// Whether the step was taken out, within a tenth and 10 ms, two seconds after it, and at the end.
    found: bool,
    kept: bool,
    /// How far the skew was off at worst, in ppm.
    skew_error: f64,
}

fn judge(seed: u64, steps: bool) -> Verdict {
    let (mut path, mut random) = Path::new(seed, steps);
    let reports = path.reports(&mut random);
    let (mut delays, mut verdict) = (OneWayDelay::new(true), Verdict::default());
    let (at, size) = path.step.unwrap_or((f64::MAX, 0.0));
    // A step in a pause is judged two seconds after it.
    let idle: f64 =
        path.pauses.iter().map(|(from, to)| if *from <= at { (to - at).max(0.0) } else { 0.0 }).sum();
    let mut found = None;
    for (now, packets) in &reports {
        for (sent, arrived) in packets {
            let [now, sent] = [*now, *sent].map(Time::from_secs_f64);
            let _ = delays.on_arrival(now, sent, path.shown(*arrived));
        }
        let is_right = (delays.stepped().as_secs_f64() - size).abs() < 0.01 + 0.1 * size.abs();
        if *now >= at + idle + FOUND {
            found.get_or_insert(is_right);
        }
        verdict.kept = is_right;
        verdict.doubted |= *now < at && delays.stepped() != TimeDelta::ZERO;
        if *now > KNOWN {
            verdict.skew_error = verdict.skew_error.max((delays.skew_ppm() - path.ppm).abs());
        }
    }
    verdict.found = found.unwrap_or(false);
    verdict.is_false = delays.steps() > u64::from(steps);
    verdict
}

/// How many paths without and with a step had what.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    paths: u64,
    false_steps: u64,
    doubted: u64,
    skew_off: u64,
    /// Of the paths with a step.
    found: u64,
    kept: u64,
    second_steps: u64,
}

impl Count {
    fn of(seed: u64) -> Count {
        let (without, with) = (judge(seed, false), judge(seed, true));
        Count {
            paths: 1,
            false_steps: without.is_false.into(),
            doubted: without.doubted.into(),
            skew_off: (without.skew_error > SKEW_OFF).into(),
            found: with.found.into(),
            kept: with.kept.into(),
            second_steps: with.is_false.into(),
        }
    }

    fn add(&mut self, more: &Count) {
        self.paths += more.paths;
        self.false_steps += more.false_steps;
        self.doubted += more.doubted;
        self.skew_off += more.skew_off;
        self.found += more.found;
        self.kept += more.kept;
        self.second_steps += more.second_steps;
    }

    fn print(&self, kind: &str) {
        let part = |count: u64| 100.0 * count as f64 / self.paths as f64;
        std::println!(
            "{kind:13} {:5} paths: {} with a step that was none ({:.1} % for a while), skew off {:.1} %; with a step: {:.1} % found \
             in {FOUND} s, {:.1} % kept, {} with a second one",
            self.paths,
            self.false_steps,
            part(self.doubted),
            part(self.skew_off),
            part(self.found),
            part(self.kept),
            self.second_steps
        );
    }
}

fn judge_all(seeds: Range<u64>) -> Count {
    let mut all = Count::default();
    for (n, kind) in KINDS.iter().enumerate() {
        let mut count = Count::default();
        let of_kind = seeds.clone().filter(|seed| seed % KINDS.len() as u64 == n as u64);
        of_kind.for_each(|seed| count.add(&Count::of(seed)));
        count.print(&alloc::format!("{kind:?}"));
        all.add(&count);
    }
    all.print("all");
    all
}

#[test]
fn a_few_hundred_paths() {
    let all = judge_all(0..450);
    assert_eq!(
        (all.false_steps, all.second_steps),
        (1, 0),
        "of one path whose ways change one by one: {all:?}"
    );
    assert!(all.found >= 420 && all.kept >= 405 && all.skew_off <= 12 && all.doubted <= 40, "{all:?}");
}

/// The rule before, that believed a single packet, had steps that were none on 1,057 of these, and skews that were off on 1,004; it found
/// 9,216.
#[test]
#[ignore = "ten thousand paths: five minutes, by hand"]
fn ten_thousand_paths() {
    let all = judge_all(0..10_000);
    assert!(all.false_steps <= 3 && all.second_steps <= 5 && all.doubted <= 790, "{all:?}");
    assert!(all.found >= 9_500 && all.kept >= 9_260 && all.skew_off <= 240, "{all:?}");
}

/// No constant of the rule was chosen by these, nor by the five thousand that they are a fifth of.
#[test]
#[ignore = "long: make test-all"]
fn a_thousand_other_paths() {
    let all = judge_all(30_000..31_000);
    assert!(all.false_steps <= 1 && all.second_steps <= 1 && all.doubted <= 90, "{all:?}");
    assert!(all.found >= 940 && all.kept >= 920 && all.skew_off <= 27, "{all:?}");
}

#[test]
#[ignore = "five thousand paths: two minutes, by hand"]
fn five_thousand_other_paths() {
    let all = judge_all(30_000..35_000);
    assert!(all.false_steps <= 5 && all.second_steps <= 5 && all.doubted <= 420, "{all:?}");
    assert!(all.found >= 4_700 && all.kept >= 4_600 && all.skew_off <= 135, "{all:?}");
}
