//! The controller around a mind.

use crate::answer::{Answer, Checked};
use crate::declared::{Description, Hears, interned, specs};
use crate::fault::{Failure, Fault, raise};
use paceline_cc::guest::{Guest, GuestController, GuestParams};
use paceline_cc::{
    Allowance, Assigned, CeResponse, Controller, DetectorConfig, FlowSetup, Limits, LossDetector, Offered,
    Pacing, PacketsReport, Probe, Recovery, Report, SendQueueState, SentPacket, Snapshot, Status, Steers,
    StreamChange, StreamId, TimeoutReason, Update, Verb,
};
use paceline_units::param::{ProfileHelp, Spec, Value};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use std::fmt;
use std::sync::Arc;

/// A parameter and its value, as a mind is told it.
pub type Setting = (&'static str, Value);

/// The decisions of a congestion controller, in any language.
///
/// Each call tells the time of the run, and is answered before the run goes on.
pub trait Mind: Send + Sync {
    /// The first media is there, and nothing is sent yet.
    ///
    /// # Errors
    /// If there is no answer, as with every call.
    fn start(&mut self, now: Time) -> Result<Answer, Failure>;

    /// A packet was handed to the network.
    ///
    /// # Errors
    /// As with [`Mind::start`].
    fn sent(&mut self, now: Time, packet: &SentPacket) -> Result<Answer, Failure>;

    /// The receiver reported on packets.
    ///
    /// # Errors
    /// As with [`Mind::start`].
    fn report(&mut self, now: Time, report: &PacketsReport<'_>) -> Result<Answer, Failure>;

    /// The time is here that an answer named.
    ///
    /// # Errors
    /// As with [`Mind::start`].
    fn timeout(&mut self, now: Time) -> Result<Answer, Failure>;

    /// A transport that retransmits says what it found: name of the event, and bytes.
    ///
    /// # Errors
    /// As with [`Mind::start`].
    fn recovery(&mut self, now: Time, event: &'static str, bytes: Bytes) -> Result<Answer, Failure>;

    /// Coupling has replaced the target or the window.
    ///
    /// # Errors
    /// As with [`Mind::start`].
    fn assigned(&mut self, now: Time, assigned: Assigned) -> Result<Answer, Failure>;
}

/// Makes a mind for each flow.
pub trait MindMaker: Send + Sync {
    /// A mind that has seen nothing, with these parameters.
    ///
    /// # Errors
    /// If there is none to be had.
    fn make(&self, settings: &[Setting], setup: &FlowSetup) -> Result<Box<dyn Mind>, Failure>;
}

/// A kind of controller of these minds.
pub fn guest(description: &Description, maker: impl MindMaker + 'static) -> Arc<dyn Guest> {
    let (specs, values) = specs(&description.parameters);
    Arc::new(Outsider {
        kind: interned(&description.kind),
        help: interned(&description.help),
        version: description.version.clone(),
        steers: description.steers,
        hears: description.hears,
        specs,
        values,
        maker: Arc::new(maker),
    })
}

struct Outsider {
    kind: &'static str,
    help: &'static str,
    version: String,
    steers: Steers,
    hears: Hears,
    specs: &'static [Spec],
    values: Vec<Option<Value>>,
    maker: Arc<dyn MindMaker>,
}

impl fmt::Debug for Outsider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.kind)
    }
}

impl Guest for Outsider {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn help(&self) -> &'static str {
        self.help
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn steers(&self) -> Steers {
        self.steers
    }

    fn specs(&self) -> &'static [Spec] {
        self.specs
    }

    fn profiles(&self) -> &'static [ProfileHelp] {
        &[("default", "the values that the controller declares")]
    }

    fn values(&self, profile: &str) -> Option<Vec<Option<Value>>> {
        (profile == "default").then(|| self.values.clone())
    }

    fn controller(&self, params: &GuestParams, setup: &FlowSetup) -> GuestController {
        let settings = params.values().filter_map(|(name, value)| Some((name, value?.clone())));
        let recipe = Recipe {
            kind: self.kind,
            hears: self.hears,
            retransmits: self.steers == Steers::ByteStream,
            probes: self.steers == Steers::Media,
            settings: settings.collect(),
            setup: setup.clone(),
            maker: self.maker.clone(),
        };
        GuestController::new(MindController::new(Arc::new(recipe)))
    }
}

/// The ingredients of a controller that has seen nothing.
struct Recipe {
    kind: &'static str,
    hears: Hears,
    /// Whether the transport retransmits, and tells what left the flight.
    retransmits: bool,
    /// Whether the transport sends probes: RTP alone does.
    probes: bool,
    settings: Vec<Setting>,
    setup: FlowSetup,
    maker: Arc<dyn MindMaker>,
}

/// Reports that stay away for so long, or four round trips, leave nothing in flight.
const STALLED: TimeDelta = TimeDelta::from_secs(1);
const STALLED_ROUND_TRIPS: i64 = 4;
/// Wake-ups at one time after which a mind is taken to ask for no later one: the run would stand still.
const WOKEN_AT_ONCE: u32 = 1000;

/// A mind with the bookkeeping around it.
struct MindController {
    recipe: Arc<Recipe>,
    /// There from the first call on.
    mind: Option<Box<dyn Mind>>,
    /// The mind's, whatever the application allows.
    wanted: Option<Bitrate>,
    target: Option<Bitrate>,
    window: Option<Bytes>,
    timeout: Option<Time>,
    /// Number of the last probe.
    probe: u64,
    /// Time of the last wake-up, and how many there were at it.
    woken: (Time, u32),
    /// The application's limits of each stream, by its number.
    limits: Vec<Limits>,
    flight: Flight,
    srtt: Option<TimeDelta>,
    /// Since when a report is waited for.
    since: Time,
}

/// Bytes sent of which nothing was heard yet.
enum Flight {
    /// By stream; a packet leaves with the report of it, or of one behind it.
    Reported(Vec<LossDetector>),
    /// As the transport's scoreboard has it.
    Told(u64),
}

const DETECTOR: DetectorConfig = DetectorConfig {
    packet_threshold: Some(3),
    reorder_window: TimeDelta::ZERO,
    reorder_window_max: TimeDelta::ZERO,
    unreported_is_lost: false,
};

impl Flight {
    fn bytes(&self) -> Bytes {
        match self {
            Flight::Reported(streams) => {
                streams.iter().map(LossDetector::in_flight).fold(Bytes::ZERO, |a, b| a + b)
            }
            Flight::Told(bytes) => Bytes::new(*bytes),
        }
    }

    fn on_sent(&mut self, now: Time, packet: &SentPacket) {
        match self {
            Flight::Reported(streams) => {
                let id = usize::from(packet.stream.0);
                while streams.len() <= id {
                    streams.push(LossDetector::new(DETECTOR));
                }
                streams[id].on_sent(now, packet.sequence, packet.size);
            }
            Flight::Told(bytes) => *bytes += packet.size.as_u64(),
        }
    }

    fn on_report(&mut self, now: Time, report: &PacketsReport<'_>) {
        match self {
            Flight::Reported(streams) => {
                for (id, stream) in streams.iter_mut().enumerate() {
                    let _ = stream.on_report(now, report.of_stream(id));
                }
            }
            Flight::Told(bytes) => {
                let arrived = report.packets.iter().filter(|packet| packet.status != Status::Missing);
                *bytes = arrived.fold(*bytes, |bytes, packet| bytes.saturating_sub(packet.size.as_u64()));
            }
        }
    }

    fn forget(&mut self) {
        match self {
            Flight::Reported(streams) => streams.iter_mut().for_each(LossDetector::forget),
            Flight::Told(bytes) => *bytes = 0,
        }
    }

    fn forget_stream(&mut self, stream: StreamId) {
        if let Flight::Reported(streams) = self
            && let Some(detector) = streams.get_mut(usize::from(stream.0))
        {
            detector.forget();
        }
    }
}

impl fmt::Debug for MindController {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.recipe.kind)
    }
}

/// A copy before the first call is another controller of the same recipe. Nobody can copy a mind.
impl Clone for MindController {
    fn clone(&self) -> MindController {
        debug_assert!(self.mind.is_none(), "a controller that was called is not copied");
        MindController::new(self.recipe.clone())
    }
}

impl MindController {
    fn new(recipe: Arc<Recipe>) -> MindController {
        let streams = (0..recipe.setup.priorities.len()).map(|id| StreamId(id as u8));
        let flight = if recipe.retransmits { Flight::Told(0) } else { Flight::Reported(Vec::new()) };
        MindController {
            recipe,
            mind: None,
            wanted: None,
            target: None,
            window: None,
            timeout: None,
            probe: 0,
            woken: (Time::ZERO, 0),
            limits: streams.map(Limits::none).collect(),
            flight,
            srtt: None,
            since: Time::ZERO,
        }
    }

    /// Makes the mind, if there is none yet, and takes its first answer.
    fn begin(&mut self, now: Time) -> Update {
        if self.mind.is_some() {
            return Update::none();
        }
        let Recipe { settings, setup, maker, .. } = &*self.recipe;
        self.mind =
            Some(maker.make(settings, setup).unwrap_or_else(|failure| self.fail(now, "made", failure)));
        self.ask(now, "start", |mind| mind.start(now))
    }

    /// Calls the mind, which is made before its first call; the changes that its answer makes, and what its window leaves.
    fn call(
        &mut self,
        now: Time,
        call: &'static str,
        tell: impl FnOnce(&mut dyn Mind) -> Result<Answer, Failure>,
    ) -> Update {
        let begun = self.begin(now);
        begun.then(self.ask(now, call, tell))
    }

    fn ask(
        &mut self,
        now: Time,
        call: &'static str,
        tell: impl FnOnce(&mut dyn Mind) -> Result<Answer, Failure>,
    ) -> Update {
        let Some(mind) = &mut self.mind else { return Update::none() };
        let answer = tell(&mut **mind).and_then(|answer| answer.checked().map_err(Failure::new));
        let checked = answer.unwrap_or_else(|failure| self.fail(now, call, failure));
        if !self.recipe.hears.timeout && matches!(checked.timeout, Some(Some(_))) {
            let text = "next_timeout_s: found a time, expected none: the controller does not hear timeout";
            self.fail(now, call, Failure::new(text));
        }
        if checked.probe.is_some() && !self.recipe.probes {
            let text = "probe: found one, expected none: only a controller that steers media probes";
            self.fail(now, call, Failure::new(text));
        }
        self.take(checked)
    }

    fn fail(&self, now: Time, call: &'static str, failure: Failure) -> ! {
        raise(Fault { kind: self.recipe.kind.into(), at: now, call, failure })
    }

    /// Takes what an answer says.
    fn take(&mut self, checked: Checked) -> Update {
        let Checked { target, pacing, window, timeout, probe } = checked;
        if let Some(timeout) = timeout {
            self.timeout = timeout;
        }
        if let Some(window) = window {
            self.window = window;
        }
        let pacing = pacing.map(|pacing| pacing.map_or(Pacing::Off, Pacing::Rate));
        let probe = probe.map(|(rate, bytes)| {
            self.probe += 1;
            Probe { id: self.probe, rate, bytes }
        });
        let update = Update { pacing, probe, ..self.allowed(window.is_some()) };
        match target {
            Some(target) => update.then(self.aim(target)),
            None => update,
        }
    }

    /// The part of the window that is free.
    fn allowed(&self, changed: bool) -> Update {
        match self.window {
            Some(window) => Update::allow(window.saturating_sub(self.flight.bytes())),
            None if changed => Update { allowance: Some(Allowance::Unlimited), ..Update::none() },
            None => Update::none(),
        }
    }

    /// The mind's target, or the one next to it that the application allows.
    fn aim(&mut self, wanted: Bitrate) -> Update {
        let sum = |of: fn(&Limits) -> Bitrate| {
            Bitrate::from_bps_f64(self.limits.iter().map(|limits| of(limits).as_bps_f64()).sum())
        };
        let target = wanted.max(sum(|limits| limits.min)).min(sum(|limits| limits.max));
        (self.wanted, self.target) = (Some(wanted), Some(target));
        Update::none().with_target(target)
    }

    fn stalled(&self) -> Option<Time> {
        let waits = self.window.is_some() && !self.recipe.retransmits && self.flight.bytes() > Bytes::ZERO;
        let span = self.srtt.map_or(STALLED, |srtt| STALLED.max(srtt * STALLED_ROUND_TRIPS));
        waits.then_some(self.since + span)
    }
}

impl Controller for MindController {
    fn on_offered(&mut self, now: Time, _offered: &Offered, _queue: &SendQueueState) -> Update {
        self.begin(now)
    }

    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        if self.flight.bytes() == Bytes::ZERO {
            self.since = now;
        }
        self.flight.on_sent(now, packet);
        if self.recipe.hears.sent {
            return self.call(now, "sent", |mind| mind.sent(now, packet));
        }
        self.begin(now).then(self.allowed(false))
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let Report::Packets(report) = report else { return Update::none() };
        self.flight.on_report(now, report);
        self.since = now;
        let arrived = report.packets.iter().filter(|packet| packet.status != Status::Missing);
        if let Some(newest) = arrived.map(|packet| packet.sent).max().filter(|_| !report.ambiguous) {
            let rtt = now.saturating_since(newest);
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt + (rtt - srtt) / 8));
        }
        self.call(now, "report", |mind| mind.report(now, report))
    }

    fn on_recovery(&mut self, now: Time, recovery: Recovery) -> Update {
        let (event, bytes) = match recovery {
            Recovery::Entered { lost } => ("entered", lost),
            Recovery::Lost { lost } => ("lost", lost),
            Recovery::Found { found } => ("found", found),
            Recovery::Left => ("left", Bytes::ZERO),
            Recovery::TimedOut => ("timed_out", Bytes::ZERO),
            Recovery::Spurious => ("spurious", Bytes::ZERO),
            Recovery::SynLost => ("syn_lost", Bytes::ZERO),
        };
        if let Flight::Told(flight) = &mut self.flight {
            *flight = match recovery {
                Recovery::Entered { .. } | Recovery::Lost { .. } => flight.saturating_sub(bytes.as_u64()),
                Recovery::Found { .. } => flight.saturating_add(bytes.as_u64()),
                Recovery::TimedOut => 0,
                Recovery::Left | Recovery::Spurious | Recovery::SynLost => *flight,
            };
        }
        if self.recipe.hears.recovery {
            return self.call(now, "recovery", |mind| mind.recovery(now, event, bytes));
        }
        self.allowed(false)
    }

    fn on_limits(&mut self, _now: Time, limits: &Limits) -> Update {
        let id = usize::from(limits.stream.0);
        while self.limits.len() <= id {
            self.limits.push(Limits::none(StreamId(self.limits.len() as u8)));
        }
        self.limits[id] = *limits;
        self.wanted.map_or(Update::none(), |wanted| self.aim(wanted))
    }

    fn on_stream(&mut self, _now: Time, stream: StreamId, change: StreamChange) -> Update {
        if matches!(change, StreamChange::Gone) {
            self.flight.forget_stream(stream);
            if let Some(limits) = self.limits.get_mut(usize::from(stream.0)) {
                *limits = Limits { max: Bitrate::ZERO, ..Limits::none(stream) };
            }
        }
        self.allowed(false)
    }

    /// Overwrites the target or the window until the mind answers with another.
    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        let update = match assigned {
            Assigned::Rate(rate) => self.aim(rate).then(Update::none().with_pacing_rate(rate)),
            Assigned::Window(window) => {
                self.window = Some(window);
                self.allowed(true)
            }
        };
        if self.recipe.hears.assigned && self.mind.is_some() {
            return update.then(self.call(now, "assigned", |mind| mind.assigned(now, assigned)));
        }
        update
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        let own = self.timeout.map(|due| (due, TimeoutReason::Estimate));
        let stalled = self.stalled().map(|due| (due, TimeoutReason::Stalled));
        [own, stalled].into_iter().flatten().min_by_key(|(due, _)| *due)
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        let mut update = Update::none();
        if self.stalled().is_some_and(|due| due <= now) {
            self.flight.forget();
            update = self.allowed(false);
        }
        if self.timeout.is_some_and(|due| due <= now) {
            self.timeout = None;
            self.woken = (now, if self.woken.0 == now { self.woken.1 + 1 } else { 1 });
            if self.woken.1 > WOKEN_AT_ONCE {
                let text = format!(
                    "next_timeout_s: found {WOKEN_AT_ONCE} times that had passed, expected a later one"
                );
                self.fail(now, "timeout", Failure::new(text));
            }
            update = update.then(self.call(now, "timeout", |mind| mind.timeout(now)));
        }
        update
    }

    fn verbs(&self) -> &'static [Verb] {
        if self.recipe.probes { &[Verb::Probe] } else { &[] }
    }

    fn ce_response(&self) -> CeResponse {
        CeResponse::Reduces
    }

    fn share(&self) -> Option<Assigned> {
        self.target.map(Assigned::Rate).or(self.window.map(Assigned::Window))
    }

    fn target_bitrate(&self, stream: StreamId) -> Option<Bitrate> {
        self.target.filter(|_| stream == StreamId(0))
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            window: self.window,
            in_flight: Some(self.flight.bytes()),
            srtt: self.srtt,
            queue_delay: None,
            target: self.target,
        }
    }
}

#[cfg(test)]
#[path = "controller_tests.rs"]
mod tests;
