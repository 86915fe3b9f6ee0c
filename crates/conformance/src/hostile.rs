//! Any bytes read as a sequence of contract operations with hostile values, against an independent model of the flight. The tests draw
//! the bytes from a seed; a fuzz target hands [`drive`] the bytes that libFuzzer gives.

use crate::bytes::Script;
use crate::finding::{self, Violation};
use crate::world::not_finite;
use paceline_cc::ccid::{
    AckPathReport, CcidReceiver, CcidReport, DropCode, DroppedPacket, LossInterval, LossIntervals,
    LossIntervalsReport,
};
use paceline_cc::{
    Allowance, Annotation, AnyReceiverHalf, Arrival, Assigned, Controller, Limits, Offered, Pacing,
    PacketResult, PacketsReport, ReceiverHalf, ReceiverReport, Recovery, Report, SendQueueState, SentPacket,
    Status, Steers, StreamId, TimeoutReason, Update, Verb,
};
use paceline_units::{Bitrate, Bytes, Ecn, RandomStream, Time, TimeDelta};
use std::collections::{BTreeMap, BTreeSet};

const STREAM: StreamId = StreamId(0);
/// A window of packets is shown as so many bytes for each.
const LARGEST: u64 = 1212;
const EXTREMES: [u64; 8] = [0, 1, 1 << 16, 1 << 32, i64::MAX as u64, 1 << 63, u64::MAX - 1, u64::MAX];

/// How a controller counts what is in flight: the independent model follows the same definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flight {
    /// From the newest sent down to the highest acknowledged, lost ones in (RFC 8298 section 4.1.2).
    ToHighestAcknowledged,
    /// Recovery of a transport that retransmits: sent adds, delivered and declared lost takes out (RFC 6675 section 4,
    /// pipe). When nothing is missing, nothing is in flight.
    Pipe,
    /// Sent adds; received takes out, three received later takes out, a timeout takes all out (RFC 4341 section 5).
    AckVector,
}

impl Flight {
    /// The count of a controller that steers this, with a receiver half or without.
    pub fn of(steers: Steers, has_half: bool) -> Flight {
        match steers {
            Steers::ByteStream => Flight::Pipe,
            Steers::Ccid(_) if !has_half => Flight::AckVector,
            Steers::Media | Steers::Datagrams | Steers::Unreported | Steers::Ccid(_) => {
                Flight::ToHighestAcknowledged
            }
        }
    }
}

/// Runs `bytes` against a controller of one stream, and answers how many operations they were.
///
/// # Errors
/// The promise of the contract that was broken. A panic is a broken promise too.
pub fn drive(
    controller: &mut dyn Controller,
    flight: Flight,
    slack: Bytes,
    bytes: &[u8],
) -> Result<usize, Violation> {
    play(controller, flight, true, bytes, |state, controller, update| state.check(controller, slack, update))
}

/// The same of a controller of any number of streams, whose parameters are far from those that the independent model knows:
/// what it shows stays finite, and no timeout is due again at once.
///
/// # Errors
/// The promise of the contract that was broken. A panic is a broken promise too.
pub fn survive(controller: &mut dyn Controller, flight: Flight, bytes: &[u8]) -> Result<usize, Violation> {
    play(controller, flight, false, bytes, |state, controller, _| state.check_values(controller))
}

/// The bytes of a seed: up to 900, which are some 30 operations.
pub fn bytes_of(seed: u64) -> Vec<u8> {
    let mut random = RandomStream::new(seed, "operations");
    let many = random.next_u64() % 900;
    (0..many).map(|_| random.next_u64() as u8).collect()
}

/// Names of the operations, by the byte that chooses one.
const NAMES: [&str; 16] = [
    "a packet sent",
    "a packet sent",
    "a packet sent",
    "a packet sent",
    "a packet sent after a gap in the numbers",
    "a packet sent out of order, of no stream or far ahead",
    "a report",
    "a report",
    "a report",
    "the last report again",
    "a report on packets never sent",
    "media offered or the state of the send queue",
    "limits or an assignment",
    "a timeout",
    "an event of recovery",
    "a report of another kind",
];

fn play(
    controller: &mut dyn Controller,
    flight: Flight,
    counts: bool,
    bytes: &[u8],
    mut check: impl FnMut(&mut State, &dyn Controller, &Update) -> Result<(), Violation>,
) -> Result<usize, Violation> {
    let mut script = Script { bytes, at: 0 };
    let mut operations = 0;
    let mut state = State {
        now: Time::from_nanos(1_000_000_000),
        next: 0,
        sent: BTreeMap::new(),
        largest: 0,
        acknowledged: 0,
        flight,
        counts,
        pipe: Pipe::default(),
        ack_vector: AckVector::default(),
        exact: true,
        last: Vec::new(),
        doing: "",
        values: vec![None; controller.state_variables().len()],
    };
    while script.at < bytes.len() {
        let update = state.operation(controller, &mut script);
        let verdict = update.and_then(|update| check(&mut state, controller, &update));
        verdict.map_err(|violation| {
            let found = format!("{}, after operation {operations}: {}", violation.found, state.doing);
            Violation { found, ..violation }
        })?;
        operations += 1;
    }
    Ok(operations)
}

/// A receiver half under test: `impl Half for Mine {}` is all that one needs which belongs to no DCCP connection.
pub trait Half: ReceiverHalf {
    /// The same half as that of a CCID, if it is one.
    fn ccid(&mut self) -> Option<&mut dyn CcidReceiver> {
        None
    }
}

impl Half for AnyReceiverHalf {
    fn ccid(&mut self) -> Option<&mut dyn CcidReceiver> {
        if let AnyReceiverHalf::Ccid3(half) = self { Some(half) } else { None }
    }
}

/// Runs `bytes` as arrivals against a receiver half.
///
/// # Errors
/// The promise of the contract that was broken. A panic is a broken promise too.
pub fn drive_half(half: &mut dyn Half, bytes: &[u8]) -> Result<(), Violation> {
    let (mut script, mut now, mut next) = (Script { bytes, at: 0 }, Time::from_nanos(1_000_000_000), 0u64);
    while script.at < bytes.len() {
        now += match script.byte() {
            0 => script.span(),
            1 => -script.span(),
            micros => TimeDelta::from_micros(i64::from(micros) * 40),
        };
        finding::pass(now);
        let sequence = match script.byte() {
            0 => script.any(),
            late @ 1..=40 => next.saturating_sub(u64::from(late)),
            gap @ 41..=80 => next.saturating_add(u64::from(gap) - 40),
            _ => next,
        };
        next = next.max(sequence.saturating_add(1));
        let annotation = match script.byte() {
            0 => None,
            1 => Some(Annotation::Rtt(script.span())),
            2..=120 => Some(Annotation::Counter(script.byte())),
            millis => Some(Annotation::Rtt(TimeDelta::from_millis(i64::from(millis)))),
        };
        let stream = StreamId(if script.byte() < 240 { 0 } else { script.byte() % 4 });
        let sent = (script.byte() > 3).then(|| now - TimeDelta::from_millis(20));
        let (size, ecn) = (Bytes::new(script.any()), Ecn::from_bits(script.byte() / 80));
        let has_data = script.byte() <= 230;
        if !has_data && half.ccid().is_some_and(|half| half.on_non_data(now, sequence)) {
            check_report(half, now)?;
            continue;
        }
        let at_once = half.on_arrival(now, &Arrival { stream, sequence, size, sent, ecn, annotation });
        if at_once || half.next_timeout().is_some_and(|due| due <= now) {
            check_report(half, now)?;
        }
    }
    Ok(())
}

fn check_report(half: &mut dyn Half, now: Time) -> Result<(), Violation> {
    let report = half.report(now);
    half.ccid().map_or(Ok(()), |half| check_intervals(now, &half.loss_intervals()))?;
    if let Some(ReceiverReport::Tfrc { loss_event_rate, delay, .. }) = report
        && (!(0.0..=1.0).contains(&loss_event_rate) || delay.is_negative())
    {
        let expected = "a loss event rate from 0 to 1 and a delay that is not negative";
        return Err(Violation::new(now, expected, format!("{report:?}")));
    }
    match half.next_timeout() {
        Some(due) if due <= now && due != Time::MAX => {
            Err(Violation::new(now, "the next report later", "another is due at once"))
        }
        _ => Ok(()),
    }
}

/// They fit into an option, and all but the oldest have a lossy part and no more data than packets.
fn check_intervals(now: Time, told: &LossIntervals<'_>) -> Result<(), Violation> {
    let fits = |length: u32, most: u32| length <= most;
    let newer = told.intervals.len().saturating_sub(1);
    let wrong = told.intervals.iter().enumerate().find(|(n, interval)| {
        let &&LossInterval { lossless_length, loss_length, data_length } = interval;
        let lengths = fits(lossless_length, LossInterval::LONGEST)
            && fits(loss_length, LossInterval::LONGEST_LOSS)
            && fits(data_length, LossInterval::LONGEST);
        let full = loss_length > 0 && data_length > 0 && u64::from(data_length) <= interval.sequence_length();
        !lengths || (*n < newer && !full)
    });
    let expected = "loss intervals that fit into an option";
    match wrong {
        Some((n, interval)) => Err(Violation::new(now, expected, format!("interval {n} is {interval:?}"))),
        None if told.skip_length > 3 || told.intervals.len() > LossInterval::MOST => {
            Err(Violation::new(now, expected, format!("{told:?}")))
        }
        None => Ok(()),
    }
}

impl Script<'_> {
    fn small(&mut self, below: u64) -> u64 {
        (u64::from(self.byte()) << 8 | u64::from(self.byte())) % below
    }

    /// Mostly ordinary numbers, now and then an extreme one.
    fn any(&mut self) -> u64 {
        match self.byte() {
            extreme @ 0..=63 => EXTREMES[usize::from(extreme) % EXTREMES.len()],
            _ => self.small(1 << 16),
        }
    }

    /// A size of our own side, where no more than a memory holds can be offered or sent.
    fn size(&mut self) -> Bytes {
        Bytes::new(self.any().min(1 << 44))
    }

    fn span(&mut self) -> TimeDelta {
        TimeDelta::from_nanos(self.any() as i64)
    }
}

/// [`Flight::Pipe`], counted from what is told.
#[derive(Default)]
struct Pipe {
    /// Sizes of what is missing.
    missing: BTreeMap<u64, u64>,
    /// Everything below was delivered, or left out.
    first: u64,
    next: u64,
    bytes: u64,
}

impl Pipe {
    fn sent(&mut self, sequence: u64, size: u64) {
        if sequence < self.first {
            return;
        }
        self.missing.insert(sequence, size);
        self.next = self.next.max(sequence + 1);
        self.first = self.missing.first_key_value().map_or(0, |(first, _)| *first);
        self.bytes = self.bytes.saturating_add(size);
    }

    fn delivered(&mut self, sequence: u64) {
        let Some(size) = self.missing.remove(&sequence) else { return };
        self.bytes = self.bytes.saturating_sub(size);
        match self.missing.first_key_value() {
            Some((first, _)) => self.first = *first,
            None => (self.first, self.bytes) = (self.next, 0),
        }
    }

    fn told(&mut self, recovery: Recovery) {
        match recovery {
            Recovery::Entered { lost } | Recovery::Lost { lost } => {
                self.bytes = self.bytes.saturating_sub(lost.as_u64());
            }
            Recovery::Found { .. } if self.missing.is_empty() => {}
            Recovery::Found { found } => self.bytes = self.bytes.saturating_add(found.as_u64()),
            Recovery::TimedOut => self.bytes = 0,
            Recovery::Left | Recovery::Spurious | Recovery::SynLost => {}
        }
    }
}

/// [`Flight::AckVector`], counted from what is told.
#[derive(Default)]
pub(crate) struct AckVector {
    /// Sizes of what is outstanding.
    outstanding: BTreeMap<u64, u64>,
    /// Their sum.
    bytes: u64,
    received: BTreeSet<u64>,
    next: u64,
}

impl AckVector {
    pub(crate) fn sent(&mut self, sequence: u64, size: u64) {
        if sequence >= self.next {
            self.outstanding.insert(sequence, size);
            self.bytes += size;
            self.next = sequence + 1;
        }
    }

    pub(crate) fn reported(&mut self, packets: &[PacketResult]) {
        for packet in packets.iter().filter(|packet| packet.status != Status::Missing) {
            self.bytes -= self.outstanding.remove(&packet.sequence).unwrap_or(0);
            self.received.insert(packet.sequence);
        }
        let Some(&third) = self.received.iter().rev().nth(2) else { return };
        while let Some(overtaken) = self.outstanding.first_entry().filter(|entry| *entry.key() < third) {
            self.bytes -= overtaken.remove();
        }
    }

    pub(crate) fn timed_out(&mut self) {
        self.outstanding.clear();
        self.bytes = 0;
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

struct State {
    now: Time,
    next: u64,
    /// Size and send time of every packet sent.
    sent: BTreeMap<u64, (u64, Time)>,
    /// Largest of the sizes.
    largest: u64,
    /// Everything below is out of the flight.
    acknowledged: u64,
    flight: Flight,
    /// Whether there is one stream only, so that packets and reports of others are of none, and the flight is counted.
    counts: bool,
    pipe: Pipe,
    ack_vector: AckVector,
    /// False once a gap was so wide that a controller may forget what was before.
    exact: bool,
    last: Vec<PacketResult>,
    /// The operation that comes, by name.
    doing: &'static str,
    values: Vec<Option<f64>>,
}

impl State {
    fn operation(
        &mut self,
        controller: &mut dyn Controller,
        script: &mut Script<'_>,
    ) -> Result<Update, Violation> {
        self.pass_time(script);
        let choice = script.byte() % 16;
        self.doing = NAMES[usize::from(choice)];
        Ok(match choice {
            0..=3 => self.send(controller, script, 0),
            4 => {
                let gap = script.small(300);
                self.send(controller, script, gap)
            }
            5 => self.send_far_ahead(controller, script),
            6..=8 => self.report(controller, script),
            9 => self.repeat(controller),
            10 => return self.report_nonsense(controller, script),
            11 => self.queue(controller, script),
            12 => self.limits_and_assignments(controller, script),
            13 => return self.time_out(controller, script),
            14 => {
                let recovery = recovery(script);
                self.pipe.told(recovery);
                controller.on_recovery(self.now, recovery)
            }
            _ => self.other_report(controller, script),
        })
    }

    /// Routers' answers, a receiver half's message, loss intervals, or what an end host says of drops and acknowledgements.
    fn other_report(&mut self, controller: &mut dyn Controller, script: &mut Script<'_>) -> Update {
        let kind = script.byte();
        if kind < 32 {
            let feedback = (kind > 3).then(|| f64::from_bits(script.any()));
            return controller.on_report(self.now, &Report::Congestion(feedback));
        }
        if kind < 160 {
            return controller.on_report(self.now, &Report::Receiver(receiver(script)));
        }
        let sequence = |script: &mut Script<'_>| self.next.saturating_sub(script.any());
        let dropped: Vec<DroppedPacket> = (0..script.small(6))
            .map(|_| (sequence(script), script.byte()))
            // After code 1 nothing is sent any more: rare.
            .map(|(sequence, byte)| {
                (sequence, if byte == 200 { 1 } else { [0, 2, 3, 7][usize::from(byte % 4)] })
            })
            .map(|(sequence, bits)| DroppedPacket { sequence, code: DropCode::from_bits(bits) })
            .collect();
        let mut length = || script.any() as u32;
        let interval =
            |()| LossInterval { lossless_length: length(), loss_length: length(), data_length: length() };
        let intervals: Vec<LossInterval> = [(); 40].map(interval)[..usize::from(kind % 41)].to_vec();
        let report = match kind % 4 {
            0 => Report::Ccid(CcidReport::DataDropped(&dropped)),
            1 => Report::Ccid(CcidReport::SlowReceiver),
            2 => {
                Report::Ccid(CcidReport::AckPath(AckPathReport { lost: script.any(), marked: script.any() }))
            }
            _ => Report::Ccid(CcidReport::LossIntervals(LossIntervalsReport {
                intervals: &intervals,
                receive_rate: Bitrate::from_bps(script.any()),
                newest_sent: Time::from_nanos(script.any()),
                elapsed: script.span(),
            })),
        };
        controller.on_report(self.now, &report)
    }

    fn pass_time(&mut self, script: &mut Script<'_>) {
        let step = match script.byte() {
            0 => -script.span(),
            1 => script.span(),
            2 => TimeDelta::from_secs(script.small(100) as i64),
            micros => TimeDelta::from_micros(i64::from(micros) * 40),
        };
        self.now += step;
        finding::pass(self.now);
    }

    fn send(&mut self, controller: &mut dyn Controller, script: &mut Script<'_>, gap: u64) -> Update {
        let Some(sequence) = self.next.checked_add(gap).filter(|next| *next < u64::MAX) else {
            return Update::none();
        };
        let size = script.small(2000) + u64::from(script.byte() == 0) * 60_000;
        // 200 is nearer than any memory ends: beyond, what was before may be forgotten.
        self.exact &= gap < 200;
        self.next = sequence + 1;
        self.sent.insert(sequence, (size, self.now));
        self.largest = self.largest.max(size);
        if self.counts {
            self.pipe.sent(sequence, size);
            self.ack_vector.sent(sequence, size);
        }
        let (size, app_limited) = (Bytes::new(size), script.byte().is_multiple_of(2));
        let probe = (script.byte() == 7).then_some(u64::MAX);
        controller.on_sent(self.now, &SentPacket { stream: STREAM, sequence, size, probe, app_limited })
    }

    fn send_far_ahead(&mut self, controller: &mut dyn Controller, script: &mut Script<'_>) -> Update {
        if !script.byte().is_multiple_of(4) {
            // An old number, or a stream that does not exist: no part of the flight, but of a retransmitting one's.
            let (stream, sequence) = match script.byte() % 2 {
                0 if self.next > 0 => (STREAM, script.any() % self.next),
                _ => (StreamId(script.byte() | 1), script.any()),
            };
            let (size, app_limited) = (Bytes::new(script.small(1200)), false);
            if stream == STREAM && self.counts {
                self.pipe.sent(sequence, size.as_u64());
            }
            return controller
                .on_sent(self.now, &SentPacket { stream, sequence, size, probe: None, app_limited });
        }
        let gap = script.any();
        self.send(controller, script, gap)
    }

    fn report(&mut self, controller: &mut dyn Controller, script: &mut Script<'_>) -> Update {
        let recent: Vec<u64> = self.sent.keys().rev().take(64).copied().collect();
        let count = script.small(24) as usize;
        self.last.clear();
        for _ in 0..count.min(recent.len()) {
            let sequence = recent[script.small(recent.len() as u64) as usize];
            let (size, sent) = self.sent[&sequence];
            let status = status(script, sent);
            self.last.push(PacketResult { stream: STREAM, sequence, size: Bytes::new(size), sent, status });
        }
        if !script.byte().is_multiple_of(4) {
            self.last.sort_by_key(|packet| packet.sequence);
        }
        self.tell(controller)
    }

    fn repeat(&mut self, controller: &mut dyn Controller) -> Update {
        self.tell(controller)
    }

    fn tell(&mut self, controller: &mut dyn Controller) -> Update {
        let received = self.last.iter().filter(|packet| packet.status != Status::Missing);
        let highest = received.map(|packet| packet.sequence + 1).max().unwrap_or(0);
        self.acknowledged = self.acknowledged.max(highest);
        if self.counts {
            for packet in self.last.iter().filter(|packet| packet.status != Status::Missing) {
                self.pipe.delivered(packet.sequence);
            }
            self.ack_vector.reported(&self.last);
        }
        let report =
            PacketsReport { packets: &self.last, clock_step: TimeDelta::from_micros(977), ambiguous: false };
        controller.on_report(self.now, &Report::Packets(report))
    }

    /// Feedback on packets never sent, of this stream or of one there is not, changes nothing that is in flight.
    fn report_nonsense(
        &mut self,
        controller: &mut dyn Controller,
        script: &mut Script<'_>,
    ) -> Result<Update, Violation> {
        let before = controller.snapshot().in_flight;
        let packet = |script: &mut Script<'_>, next: u64| {
            let (stream, sequence) = match script.byte() % 2 {
                0 => (STREAM, next.saturating_add(script.any())),
                _ => (StreamId(script.byte() | 1), next.saturating_sub(script.any() % 16)),
            };
            let (size, sent) = (Bytes::new(script.any()), Time::from_nanos(script.any()));
            PacketResult { stream, sequence, size, sent, status: status(script, Time::from_nanos(77)) }
        };
        let packets: Vec<_> = (0..script.small(8)).map(|_| packet(script, self.next)).collect();
        let report = PacketsReport { packets: &packets, clock_step: script.span(), ambiguous: false };
        let update = controller.on_report(self.now, &Report::Packets(report));
        let after = controller.snapshot().in_flight;
        if before == after || !self.counts {
            return Ok(update);
        }
        let shown =
            |bytes: Option<Bytes>| bytes.map_or("none".into(), |bytes| format!("{} B", bytes.as_u64()));
        let expected = format!("{} in flight still, after a report on packets never sent", shown(before));
        Err(self.broken(expected, shown(after)))
    }

    fn queue(&mut self, controller: &mut dyn Controller, script: &mut Script<'_>) -> Update {
        let stream = StreamId(if script.byte() < 200 { 0 } else { script.byte() });
        let queue = SendQueueState {
            stream,
            bytes: script.size(),
            packets: script.any(),
            oldest: script.byte().is_multiple_of(2).then(|| script.span()),
            newest_frame: script.size(),
            greedy: false,
        };
        if script.byte().is_multiple_of(2) {
            return controller.on_send_queue(self.now, &queue);
        }
        let offered = Offered { stream, bytes: script.size(), frame_end: !script.byte().is_multiple_of(4) };
        controller.on_offered(self.now, &offered, &queue)
    }

    fn limits_and_assignments(&mut self, controller: &mut dyn Controller, script: &mut Script<'_>) -> Update {
        match script.byte() % 3 {
            0 => controller.assign(self.now, Assigned::Rate(Bitrate::from_bps(script.any()))),
            1 => controller.assign(self.now, Assigned::Window(Bytes::new(script.any()))),
            _ => {
                let (min, max) = (Bitrate::from_bps(script.any()), Bitrate::from_bps(script.any()));
                controller.on_limits(self.now, &Limits { stream: StreamId(script.byte() % 3), min, max })
            }
        }
    }

    /// A due timeout is served at its time, and the next is later: nobody spins.
    fn time_out(
        &mut self,
        controller: &mut dyn Controller,
        script: &mut Script<'_>,
    ) -> Result<Update, Violation> {
        let Some((due, reason)) = controller.next_timeout() else {
            return Ok(controller.on_timeout(self.now));
        };
        if script.byte().is_multiple_of(2) && self.now < due {
            return Ok(controller.on_timeout(self.now));
        }
        self.now = self.now.max(due);
        if reason == TimeoutReason::Stalled {
            self.acknowledged = self.next;
            self.ack_vector.timed_out();
        }
        let update = controller.on_timeout(self.now);
        match controller.next_timeout() {
            Some((next, _)) if next <= self.now && next != Time::MAX => {
                finding::pass(self.now);
                Err(self.broken("the next timeout later", format!("{reason:?} is due again at once")))
            }
            _ => Ok(update),
        }
    }

    fn check(&mut self, controller: &dyn Controller, slack: Bytes, update: &Update) -> Result<(), Violation> {
        let said = [Verb::Discard, Verb::Probe, Verb::PacketsPerReport, Verb::ReportInterval];
        if let Some(verb) = said.iter().find(|verb| verb.is_in(update) && !controller.verbs().contains(verb))
        {
            return Err(self.broken("requests that `verbs` names", verb.name()));
        }
        let snapshot = controller.snapshot();
        let flight = match self.flight {
            Flight::ToHighestAcknowledged => {
                self.sent.range(self.acknowledged..).map(|(_, (size, _))| size).sum()
            }
            Flight::Pipe => self.pipe.bytes,
            Flight::AckVector => self.ack_vector.bytes(),
        };
        if let Some(counted) = snapshot.in_flight.filter(|counted| self.exact && counted.as_u64() != flight) {
            return Err(self.broken(format!("{flight} B in flight"), format!("{} B", counted.as_u64())));
        }
        if let (Some(Allowance::Packets(allowed)), Some(window)) = (update.allowance, snapshot.window) {
            let most = (window.as_u64() / LARGEST).saturating_sub(self.ack_vector.outstanding.len() as u64);
            if self.exact && allowed > most {
                let expected = format!("at most {most} packets allowed: the window leaves no more");
                return Err(self.broken(expected, allowed.to_string()));
            }
        }
        if let (Some(Allowance::Bytes(allowed)), Some(window)) = (update.allowance, snapshot.window) {
            // A controller that learns the packet size may take it from the largest packet.
            let most = window + slack.max(Bytes::new(self.largest)) - snapshot.in_flight.unwrap_or_default();
            if allowed > most {
                let expected = format!("at most {} B allowed: the window leaves no more", most.as_u64());
                return Err(self.broken(expected, format!("{} B", allowed.as_u64())));
            }
        }
        if let (Some(Allowance::Unlimited), Some(window)) = (update.allowance, snapshot.window) {
            let expected = format!("an allowance of what a window of {} B leaves", window.as_u64());
            return Err(self.broken(expected, "no limit"));
        }
        match update.pacing {
            Some(
                Pacing::Rate(Bitrate::ZERO)
                | Pacing::Burst { rate: Bitrate::ZERO, .. }
                | Pacing::Burst { mean: Bitrate::ZERO, .. },
            ) => return Err(self.broken("a pace above 0 bit/s", "0 bit/s")),
            Some(Pacing::Gap(gap)) if gap.is_negative() || gap > TimeDelta::from_secs(60) => {
                return Err(self.broken("a gap of 0 s to 60 s", format!("{} s", gap.as_secs_f64())));
            }
            _ => {}
        }
        self.check_values(controller)
    }

    fn check_values(&mut self, controller: &dyn Controller) -> Result<(), Violation> {
        controller.state(&mut self.values);
        match not_finite(controller, &self.values) {
            Some(found) => Err(self.broken("finite numbers", found)),
            None => Ok(()),
        }
    }

    fn broken(&self, expected: impl Into<String>, found: impl Into<String>) -> Violation {
        Violation::new(self.now, expected, found)
    }
}

/// Missing, without arrival, ordinary, drifting by 100 ppm, before it was sent, or at an extreme time.
fn status(script: &mut Script<'_>, sent: Time) -> Status {
    let ecn = Ecn::from_bits(script.byte());
    let late = TimeDelta::from_micros(script.small(60_000) as i64);
    let drift = TimeDelta::from_nanos((sent.as_nanos() / 10_000) as i64);
    let arrived = match script.byte() % 10 {
        0 => return Status::Missing,
        1 => None,
        2 => Some(sent - late),
        3 => Some(Time::from_nanos(script.any())),
        4 => Some(sent + late + drift),
        5 => Some(sent + late - drift),
        _ => Some(sent + late),
    };
    Status::Received { arrived, ecn }
}

fn recovery(script: &mut Script<'_>) -> Recovery {
    let bytes = Bytes::new(script.any());
    match script.byte() % 7 {
        0 => Recovery::Entered { lost: bytes },
        1 => Recovery::Lost { lost: bytes },
        2 => Recovery::Found { found: bytes },
        3 => Recovery::Left,
        4 => Recovery::TimedOut,
        5 => Recovery::SynLost,
        _ => Recovery::Spurious,
    }
}

fn receiver(script: &mut Script<'_>) -> ReceiverReport {
    let loss_event_rate = match script.byte() {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => -1.0,
        _ => f64::from(script.byte()) / 255.0,
    };
    let rate = Bitrate::from_bps(script.any());
    match script.byte() % 3 {
        0 => ReceiverReport::Remb { bitrate: rate },
        _ => ReceiverReport::Tfrc {
            loss_event_rate,
            receive_rate: rate,
            newest_sent: (script.byte() > 3).then(|| Time::from_nanos(script.any())),
            delay: script.span(),
        },
    }
}
