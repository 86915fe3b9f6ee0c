//! Calls that go on for long: no packet is lost or refused, and memory stays as it is. Short ones are a test, the program
//! `long_run` makes them as long as one likes.

#[path = "../../../units/tests/counting/mod.rs"]
mod counting;

use paceline_metrics::FlowSummary;
use paceline_net::{
    Control, NetCounters, NetOutput, Progress, ReceiveOptions, Receiver, Relay, RelayOptions, SendOptions,
    Sender, parse_address,
};
use paceline_scenario::{Loaded, Loader, Origin, load};
use paceline_sim::{Pace, Simulation};
use paceline_units::{Time, TimeDelta};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// Bytes by which the memory of one thread may grow from a tenth of a run on to its end. The rows of 90 samples take some of it,
/// and a ring that meets its largest flight; a byte for each packet of an hour is more.
const GROWTH: i64 = 128 << 10;
/// Pictures per second, of one packet or two.
const FPS: i64 = 25;

/// A call of each format of reports. Sequence numbers, RTP timestamps and the times of reports wrap within 6 s.
pub const CALLS: [(&str, &str); 2] = [
    ("scream", r#"format = "rfc8888", start = "65530s""#),
    ("gcc", r#"format = "twcc", start = "1000000s", clock_steps = [["0s", "73735.824s"]]"#),
];

/// Media that a link of 10 Mbit/s takes without loss.
fn call((controller, feedback): (&str, &str), span: TimeDelta) -> Loaded {
    let (nanos, sample) = (span.as_nanos(), span.as_nanos() / 100);
    let text = format!(
        "duration = \"{nanos}ns\"\nsample = \"{sample}ns\"\n[links.l]\nrate = \"10Mbps\"\ndelay = \"10ms\"\n\
         queue = {{ limit = \"300ms\" }}\n[flows.f]\npath = [\"l\"]\n\
         controller = {{ kind = \"{controller}\", target_bitrate_start = \"300kbps\", target_bitrate_max = \"400kbps\" }}\n\
         source = {{ kind = \"trace-encoder\", generator = \"frames\", fps = {FPS} }}\n\
         rtp = {{ first_sequence = 65500, first_timestamp = 4294500000 }}\nfeedback = {{ {feedback} }}\n"
    );
    load(&Origin { text: &text, file: "long.toml", sets: &[] }, &Loader::default()).expect("a sound scenario")
}

/// Watches the memory of the thread that tells it how far the run is.
struct Memory {
    from: Time,
    first: OnceLock<i64>,
    last: AtomicI64,
}

impl Memory {
    fn of(span: TimeDelta) -> Memory {
        Memory { from: Time::ZERO + span / 10, first: OnceLock::new(), last: AtomicI64::new(0) }
    }

    fn look(&self, now: Time) {
        let live = counting::live();
        if now >= self.from {
            self.first.get_or_init(|| live);
        }
        self.last.store(live, Ordering::Relaxed);
    }

    /// By how much it has grown.
    fn judge(&self, whose: &str) -> Result<i64, String> {
        let first = self
            .first
            .get()
            .ok_or_else(|| format!("{whose}: the run was over before a tenth of its time"))?;
        let grown = self.last.load(Ordering::Relaxed) - first;
        if grown <= GROWTH {
            Ok(grown)
        } else {
            Err(format!("{whose}: memory grew by {grown} B, from {first} B"))
        }
    }
}

/// Checks the properties of the figures of either end.
fn sound(whose: &str, figures: &FlowSummary) -> Result<(), String> {
    match figures.loss_ratio {
        Some(0.0) => Ok(()),
        lost => Err(format!("{whose}: lost {lost:?} of the packets, expected none")),
    }
}

/// Checks their properties where the machine is not late.
fn complete(whose: &str, figures: &FlowSummary, span: TimeDelta) -> Result<(), String> {
    let (sent, least) = (figures.packets_sent, (span.as_secs_f64() * FPS as f64 * 0.97) as u64);
    if sent.is_none_or(|sent| sent < least) {
        return Err(format!("{whose}: sent {sent:?} packets, expected {least} or more"));
    }
    match figures.frames.displayed {
        Some(shown) if shown < least => {
            Err(format!("{whose}: showed {shown} frames, expected {least} or more"))
        }
        _ => Ok(()),
    }
}

fn only(flows: impl IntoIterator<Item = FlowSummary>) -> FlowSummary {
    flows.into_iter().next().expect("a flow")
}

/// Simulates a call; says what came of it.
///
/// # Errors
/// Says what was lost, or which memory grew.
pub fn simulate(which: (&str, &str), span: TimeDelta) -> Result<String, String> {
    let (loaded, memory) = (call(which, span), Memory::of(span));
    let mut simulation = Simulation::new(&loaded, Pace::Windowed).expect("a simulation");
    let mut now = Time::ZERO;
    while !simulation.advance(span / 100) {
        now += span / 100;
        memory.look(now);
    }
    let grown = memory.judge("simulator")?;
    let figures = only(simulation.finish().summary.flows.into_values());
    sound("simulator", &figures)?;
    complete("simulator", &figures, span)?;
    Ok(format!(
        "simulated: {} packets, none lost; memory grew by {grown} B",
        figures.packets_sent.unwrap_or(0)
    ))
}

/// The output of an end that ran in its own thread, and by how much its memory grew.
fn ended(
    whose: &str,
    span: TimeDelta,
    run: impl FnOnce(&(dyn Fn(Progress<'_>) + Sync)) -> Result<NetOutput, paceline_net::NetError>,
) -> Result<(NetOutput, i64), String> {
    let memory = Memory::of(span);
    let output = run(&|told| told.reached().into_iter().for_each(|now| memory.look(now)))
        .map_err(|error| format!("{whose}: {error}"))?;
    let grown = memory.judge(whose)?;
    none_refused(whose, &output.counters)?;
    Ok((output, grown))
}

fn none_refused(whose: &str, counters: &NetCounters) -> Result<(), String> {
    let odd = [
        ("unsendable", counters.unsendable),
        ("malformed", counters.malformed),
        ("unknown_peers", counters.unknown_peers),
        ("unknown_ssrc", counters.unknown_ssrc),
        ("out_of_sequence", counters.out_of_sequence),
        ("out_of_time", counters.out_of_time),
        ("resynchronised", counters.resynchronised),
        ("duplicates", counters.duplicates),
        ("unknown_reports", counters.unknown_reports),
        ("impossible_times", counters.impossible_times),
    ];
    match odd.iter().find(|(_, count)| *count > 0) {
        Some((name, count)) => Err(format!("{whose}: {name} = {count}, expected 0")),
        None => Ok(()),
    }
}

/// Runs a call through sender, relay and receiver over loopback; says what came of it, or which media is missing, as where the
/// machine was late.
///
/// # Errors
/// Says what was lost or refused, whose memory grew, or what went wrong.
pub fn over_loopback(which: (&str, &str), span: TimeDelta) -> Result<Result<String, String>, String> {
    let loaded = &call(which, span);
    let said = |error: paceline_net::NetError| error.to_string();
    let anywhere = parse_address("localhost:0").map_err(said)?;
    let receiver = Receiver::bind(loaded, &ReceiveOptions::on(anywhere)).map_err(said)?;
    let target = receiver.address().map_err(said)?;
    let relay = Relay::bind(loaded, &RelayOptions::between(anywhere, target)).map_err(said)?;
    let middle = relay.address().map_err(said)?;
    let sender = Sender::bind(loaded, &SendOptions::to(middle)).map_err(said)?;
    let stop = &AtomicBool::new(false);
    let [sent, relayed, received] = std::thread::scope(|scope| {
        let relay =
            scope.spawn(move || ended("relay", span, |progress| relay.run(&Control { stop, progress })));
        let receiver = scope
            .spawn(move || ended("receiver", span, |progress| receiver.run(&Control { stop, progress })));
        let sent = ended("sender", span, |progress| sender.run(&Control { stop, progress }));
        stop.store(sent.is_err(), Ordering::Relaxed);
        [sent, relay.join().expect("no panic"), receiver.join().expect("no panic")]
    });
    let ((sent, one), (_, two), (received, three)) = (sent?, relayed?, received?);
    let ends = [("sender", &sent), ("receiver", &received)];
    let ends = ends.map(|(whose, output)| (whose, only(output.summary.flows.values().cloned())));
    ends.iter().try_for_each(|(whose, figures)| sound(whose, figures))?;
    let packets = received.summary.packets.unwrap_or(0);
    Ok(ends.iter().try_for_each(|(whose, figures)| complete(whose, figures, span)).map(|()| {
        format!("over loopback: {packets} packets, none lost or refused; memory grew by {one}, {two} and {three} B")
    }))
}
