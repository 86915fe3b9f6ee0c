//! The other closed loop: a greedy sender whose transport finds and repairs losses, and acknowledges each packet.

use crate::finding::Violation;
use crate::link::{Link, LinkConfig, Packet};
use crate::world::{End, Record, SAMPLE};
use crate::{LARGEST, Subject};
use paceline_cc::{
    Allowance, Controller, Offered, Pacing, PacketResult, PacketsReport, Recovery, Report, SendQueueState,
    SentPacket, Status, StreamId, Update,
};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::collections::{BTreeSet, VecDeque};

const STREAM: StreamId = StreamId(0);
const LEAST_TIMEOUT: TimeDelta = TimeDelta::from_millis(400);
const DUPLICATES: usize = 3;
/// Packets that its interface takes in a step: 194 Mbit/s.
const INTERFACE: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    InFlight,
    Lost,
    Delivered,
}

/// A segment, and its last transmission: the how-manieth of all, and when.
#[derive(Clone, Copy)]
struct Segment {
    state: State,
    order: u64,
    at: Time,
}

/// A sender and its receiver.
pub(crate) struct Flow {
    controller: Box<dyn Controller>,
    ecn: Ecn,
    tells_arrivals: bool,
    size: Bytes,
    start: Time,
    started: bool,
    segments: Vec<Segment>,
    /// Transmissions in order, those that are done still among them.
    transmissions: VecDeque<(u64, usize)>,
    sent: u64,
    lost: BTreeSet<usize>,
    first_missing: usize,
    /// The newest transmissions that were delivered: what left before the third is lost if it is missing.
    newest: [u64; DUPLICATES],
    recovery_end: Option<usize>,
    pipe: u64,
    last_progress: Time,
    timeout: TimeDelta,
    allowance: Allowance,
    pacing: Pacing,
    next_send: Time,
    /// Arrivals on their way back: when they are there, segment, transmission, arrival, mark.
    back: VecDeque<(Time, usize, u64, Time, Ecn)>,
    state: Vec<Option<f64>>,
    next_sample: Time,
    record: Record,
}

impl Flow {
    pub(crate) fn new(subject: &Subject, start: Time) -> Flow {
        let controller = subject.controller();
        Flow {
            state: vec![None; controller.state_variables().len()],
            controller,
            ecn: subject.ecn(),
            tells_arrivals: subject.tells_arrivals,
            size: LARGEST,
            start,
            started: false,
            segments: Vec::new(),
            transmissions: VecDeque::new(),
            sent: 0,
            lost: BTreeSet::new(),
            first_missing: 0,
            newest: [0; DUPLICATES],
            recovery_end: None,
            pipe: 0,
            last_progress: start,
            timeout: TimeDelta::from_secs(1),
            allowance: Allowance::Unlimited,
            pacing: Pacing::Off,
            next_send: Time::ZERO,
            back: VecDeque::new(),
            next_sample: start,
            record: Record::default(),
        }
    }

    fn offer(&mut self, now: Time) {
        self.started = true;
        let offered = Offered { stream: STREAM, bytes: self.size, frame_end: true };
        let queue = SendQueueState { bytes: self.size, packets: 1, ..SendQueueState::default() };
        let update = self.controller.on_offered(now, &offered, &queue);
        self.apply(now, update);
    }

    fn apply(&mut self, now: Time, update: Update) {
        self.record.judge_answer(now, &update);
        self.allowance = update.allowance.unwrap_or(self.allowance);
        self.pacing = update.pacing.unwrap_or(self.pacing);
        let window = self.controller.snapshot().window.unwrap_or_default();
        if self.record.windows.last().is_none_or(|last| *last != window) {
            self.record.windows.push(window);
        }
    }

    fn tell(&mut self, now: Time, recovery: Recovery) {
        let update = self.controller.on_recovery(now, recovery);
        self.apply(now, update);
        self.record.recoveries += u64::from(matches!(recovery, Recovery::Entered { .. }));
        self.record.timeouts += u64::from(recovery == Recovery::TimedOut);
    }

    fn may_send(&self, now: Time) -> bool {
        let allowed = match self.allowance {
            Allowance::Unlimited => true,
            Allowance::Bytes(bytes) => self.size <= bytes,
            Allowance::Packets(packets) => packets > 0,
        };
        // A controller that broke its promise is heard no further: it might send without end.
        allowed && now >= self.next_send && self.record.beyond.is_none()
    }

    fn send(&mut self, now: Time, id: usize, link: &mut Link) {
        let sequence = self.lost.pop_first().unwrap_or(self.segments.len());
        self.sent += 1;
        let segment = Segment { state: State::InFlight, order: self.sent, at: now };
        match self.segments.get_mut(sequence) {
            Some(known) => *known = segment,
            None => self.segments.push(segment),
        }
        if self.pipe == 0 {
            self.last_progress = now;
        }
        self.transmissions.push_back((self.sent, sequence));
        self.pipe += self.size.as_u64();
        self.check_window(now);
        let gap = match self.pacing {
            Pacing::Off => TimeDelta::ZERO,
            Pacing::Rate(rate) | Pacing::Burst { rate, .. } => rate.time_for(self.size),
            Pacing::Gap(gap) => gap,
        };
        self.next_send = self.next_send.max(now - crate::world::STEP) + gap;
        self.record.leaves(now, self.size);
        link.offer(now, id, sequence as u64 | self.sent << 32, self.size);
        let sequence = sequence as u64;
        let packet =
            SentPacket { stream: STREAM, sequence, size: self.size, probe: None, app_limited: false };
        let update = self.controller.on_sent(now, &packet);
        self.apply(now, update);
    }

    fn check_window(&mut self, now: Time) {
        let Some(window) = self.controller.snapshot().window else { return };
        if self.pipe > window.as_u64() && self.record.beyond.is_none() {
            let expected = format!("at most {} B in flight: the window", window.as_u64());
            self.record.beyond = Some(Violation::new(now, expected, format!("{} B", self.pipe)));
        }
    }

    /// The controller's count is the scoreboard's.
    fn check_count(&mut self, now: Time) {
        let counted = self.controller.snapshot().in_flight;
        let Some(counted) = counted.filter(|counted| counted.as_u64() != self.pipe) else { return };
        if self.record.miscounted.is_none() {
            let expected = format!("{} B counted as in flight", self.pipe);
            self.record.miscounted = Some(Violation::new(now, expected, format!("{} B", counted.as_u64())));
        }
    }

    fn acknowledge(&mut self, now: Time, sequence: usize, order: u64, arrived: Time, ecn: Ecn) {
        let segment = self.segments[sequence];
        if segment.state == State::Delivered {
            return;
        }
        self.last_progress = now;
        self.timeout = (now.saturating_since(segment.at) * 3).max(LEAST_TIMEOUT);
        if segment.state == State::Lost {
            self.lost.remove(&sequence);
            self.pipe += self.size.as_u64();
            self.tell(now, Recovery::Found { found: self.size });
        }
        self.segments[sequence].state = State::Delivered;
        self.pipe -= self.size.as_u64();
        while self.segments.get(self.first_missing).is_some_and(|next| next.state == State::Delivered) {
            self.first_missing += 1;
        }
        let arrived = self.tells_arrivals.then_some(arrived);
        let status = Status::Received { arrived, ecn };
        let packets = [PacketResult {
            stream: STREAM,
            sequence: sequence as u64,
            size: self.size,
            sent: segment.at,
            status,
        }];
        let report =
            PacketsReport { packets: &packets, clock_step: TimeDelta::from_nanos(1), ambiguous: false };
        let update = self.controller.on_report(now, &Report::Packets(report));
        self.apply(now, update);
        self.judge(now, order);
        self.check_count(now);
    }

    /// Declares lost what three later transmissions overtook.
    fn judge(&mut self, now: Time, order: u64) {
        if order > self.newest[0] {
            self.newest[0] = order;
            self.newest.sort_unstable();
        }
        let mut lost = 0;
        while let Some(&(sent, sequence)) =
            self.transmissions.front().filter(|(sent, _)| *sent < self.newest[0])
        {
            self.transmissions.pop_front();
            let segment = &mut self.segments[sequence];
            if segment.state == State::InFlight && segment.order == sent {
                segment.state = State::Lost;
                self.lost.insert(sequence);
                lost += self.size.as_u64();
            }
        }
        self.pipe -= lost;
        let lost = Bytes::new(lost);
        match (lost > Bytes::ZERO, self.recovery_end) {
            (true, None) => {
                self.recovery_end = Some(self.segments.len());
                self.tell(now, Recovery::Entered { lost });
            }
            (true, Some(_)) => self.tell(now, Recovery::Lost { lost }),
            (false, Some(end)) if self.first_missing >= end => {
                self.recovery_end = None;
                self.tell(now, Recovery::Left);
            }
            (false, _) => {}
        }
    }

    fn check_timer(&mut self, now: Time) {
        let silent = now.saturating_since(self.last_progress);
        if self.first_missing == self.segments.len() || silent < self.timeout {
            return;
        }
        for (_, sequence) in std::mem::take(&mut self.transmissions) {
            if self.segments[sequence].state == State::InFlight {
                self.segments[sequence].state = State::Lost;
                self.lost.insert(sequence);
            }
        }
        (self.pipe, self.recovery_end, self.last_progress) = (0, None, now);
        self.timeout = (self.timeout * 2).min(TimeDelta::from_secs(60));
        self.tell(now, Recovery::TimedOut);
        self.check_count(now);
    }

    fn wake(&mut self, now: Time) {
        if self.controller.next_timeout().is_some_and(|(due, _)| due <= now) {
            let update = self.controller.on_timeout(now);
            self.apply(now, update);
        }
    }
}

impl End for Flow {
    fn receive(&mut self, now: Time, packet: &Packet, config: &LinkConfig) {
        let ecn = if packet.marked { Ecn::Ce } else { self.ecn };
        self.record.arrivals.push((now, packet.size, packet.wait));
        if !config.is_out(now) {
            let (sequence, order) = (packet.sequence & 0xffff_ffff, packet.sequence >> 32);
            self.back.push_back((now + config.delay, sequence as usize, order, packet.arrives, ecn));
        }
    }

    fn step(&mut self, now: Time, id: usize, link: &mut Link, _config: &LinkConfig) {
        if now < self.start {
            return;
        }
        if !self.started {
            self.offer(now);
        }
        while self.back.front().is_some_and(|(due, ..)| *due <= now) {
            let Some((_, sequence, order, arrived, ecn)) = self.back.pop_front() else { return };
            self.acknowledge(now, sequence, order, arrived, ecn);
            self.record.see(now, &*self.controller, &mut self.state);
        }
        self.check_timer(now);
        self.wake(now);
        for _ in 0..INTERFACE {
            if self.may_send(now) {
                self.send(now, id, link);
            }
        }
        self.record.observe(now, &self.controller.snapshot(), &self.state);
        self.next_sample = Time::from_nanos((now.as_nanos() / SAMPLE + 1) * SAMPLE);
    }

    fn next_step(&self) -> Time {
        let acknowledgement = self.back.front().map(|(due, ..)| *due);
        let is_out = self.first_missing < self.segments.len();
        let timer = is_out.then(|| self.last_progress + self.timeout);
        let timeout = self.controller.next_timeout().map(|(due, _)| due);
        let send = self.may_send(Time::MAX).then_some(self.next_send);
        let due = [acknowledgement, timer, timeout, send].into_iter().flatten();
        due.fold(self.next_sample, Time::min).max(self.start)
    }

    fn finish(self: Box<Self>) -> Record {
        self.record
    }
}
