//! Whether packets with ECN arrive, and as they left (RFC 6679 sections 7.2.1 and 7.4).

use crate::seen::Seen;
use paceline_cc::{PacketResult, Status, StreamId};
use paceline_ends::{EcnFault, EcnState};
use paceline_units::{Ecn, Time, TimeDelta};

/// Of so many packets one is a probe: "a small fraction".
const PROBE_OF: u64 = 8;
/// Probes that arrived as they left, until every packet leaves so.
const ENOUGH: u64 = 2;
/// "It should have received multiple (>3) ECT-marked RTP packets".
const FEW: u64 = 4;
/// All probes are marked: no queue marks so many single packets (ours).
const ALL_MARKED: u64 = 10;
/// Probes after which there is a verdict in any case (ours).
const MOST_PROBES: u64 = 40;
/// Packets that are judged together while all leave with ECN (ours).
const WINDOW: u64 = 50;
/// For so long all packets are marked until that is suspected (ours).
const ALL_MARKED_FOR: TimeDelta = TimeDelta::from_secs(5);
/// For so long beyond two round trips no report comes until that is suspected (ours).
const SILENCE: TimeDelta = TimeDelta::from_secs(1);
/// For so long nothing was to be sent: the last report before is not waited for (ours).
const PAUSE: TimeDelta = TimeDelta::from_secs(10);
/// ECN that failed is tried again after so long, and twice as long each time (section 7.4.1, "periodically retry").
const RETRY: TimeDelta = TimeDelta::from_secs(30);
/// After so many failures of what was capable before, it is not tried again (section 7.4.1, "disabling").
const MOST_FAILURES: u32 = 3;

/// Counts by reports of packets that left in a phase.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// With ECN: reported on, and arrived.
    covered: u64,
    received: u64,
    /// Of these as they left, with CE, and with another field.
    kept: u64,
    marked: u64,
    cleared: u64,
    /// Without ECN: reported on, and arrived.
    plain_covered: u64,
    plain_received: u64,
}

impl Tally {
    /// The part of packets that were lost, with ECN and without.
    fn lost(&self) -> (f64, f64) {
        let part = |covered: u64, received: u64| match covered {
            0 => 0.0,
            _ => 1.0 - (received as f64 / covered as f64).min(1.0),
        };
        (part(self.covered, self.received), part(self.plain_covered, self.plain_received))
    }

    /// Whether most of what arrived had another field.
    fn is_cleared(&self) -> bool {
        self.cleared * 2 > self.received
    }

    /// Whether packets are lost, most of them, and others are not.
    fn is_dropped(&self) -> bool {
        let (lost, plain) = self.lost();
        lost > 0.5 && plain < lost / 2.0
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    Probing,
    Capable,
    /// Suspected for the part that was lost; nothing was, or nothing is known, if marks or silence are suspected.
    Suspected(f64),
    /// Failed for this reason; packets are not marked until then.
    Failed(EcnFault, Time),
}

/// Of one stream: the packets that left with ECN, and those that were reported on and as received.
#[derive(Clone, Debug)]
struct StreamMarks {
    capable: Seen,
    covered: Seen,
    received: Seen,
}

/// The check of one path.
#[derive(Clone, Debug)]
pub(super) struct PathCheck {
    wanted: Ecn,
    phase: Phase,
    since: Time,
    /// Packets that left in this phase.
    sent: u64,
    tally: Tally,
    streams: Vec<StreamMarks>,
    /// Since when all packets have been marked.
    all_marked: Option<Time>,
    /// Since when packets wait for a report, and when the last left.
    waiting: Option<Time>,
    last_sent: Time,
    /// Shortest round trip of the last report.
    round_trip: TimeDelta,
    /// Losses that are not due to ECN are not suspected again before that.
    trusted_until: Time,
    /// Whether it was capable once, and how often it failed thereafter; how often it failed in a row.
    was_capable: bool,
    falls: u32,
    in_a_row: u32,
    capable: u64,
    failures: u64,
}

impl PathCheck {
    /// Of a flow whose packets are to leave so.
    pub(super) fn new(wanted: Ecn, probe: bool) -> PathCheck {
        PathCheck {
            wanted,
            phase: if probe { Phase::Probing } else { Phase::Capable },
            since: Time::ZERO,
            sent: 0,
            tally: Tally::default(),
            streams: Vec::new(),
            all_marked: None,
            waiting: None,
            last_sent: Time::ZERO,
            round_trip: TimeDelta::ZERO,
            trusted_until: Time::ZERO,
            was_capable: !probe,
            falls: 0,
            in_a_row: 0,
            capable: 0,
            failures: 0,
        }
    }

    pub(super) fn wanted(&self) -> Ecn {
        self.wanted
    }

    pub(super) fn capable(&self) -> u64 {
        self.capable
    }

    pub(super) fn failures(&self) -> u64 {
        self.failures
    }

    pub(super) fn state(&self) -> EcnState {
        match self.phase {
            Phase::Probing => EcnState::Probing,
            Phase::Capable => EcnState::Capable,
            Phase::Suspected(_) => EcnState::Suspected,
            Phase::Failed(fault, _) => EcnState::Failed(fault),
        }
    }

    /// The codepoint of the packet of a stream with this number, which has waited since `queued`.
    pub(super) fn codepoint(&mut self, now: Time, queued: Time, (stream, sequence): (StreamId, u64)) -> Ecn {
        // Nothing was to be sent meanwhile.
        if queued.saturating_since(std::mem::replace(&mut self.last_sent, now)) > PAUSE {
            self.waiting = None;
        }
        let waited = now.saturating_since(*self.waiting.get_or_insert(now));
        match self.phase {
            Phase::Failed(_, retry) if now >= retry => self.enter(now, Phase::Probing),
            Phase::Capable if waited > SILENCE + self.round_trip * 2 => {
                self.enter(now, Phase::Suspected(0.0));
            }
            _ => {}
        }
        let capable = match self.phase {
            Phase::Capable => true,
            // Not the first: it is of a picture that all others need.
            Phase::Probing => self.sent % PROBE_OF == PROBE_OF / 2,
            Phase::Suspected(_) | Phase::Failed(..) => false,
        };
        self.sent += 1;
        if !capable {
            return Ecn::NotEct;
        }
        self.capable += 1;
        self.stream(stream).capable.insert(sequence);
        self.wanted
    }

    fn stream(&mut self, stream: StreamId) -> &mut StreamMarks {
        let id = usize::from(stream.0);
        if self.streams.len() <= id {
            let new = StreamMarks { capable: Seen::new(), covered: Seen::new(), received: Seen::new() };
            self.streams.resize(id + 1, new);
        }
        &mut self.streams[id]
    }

    fn enter(&mut self, now: Time, phase: Phase) {
        (self.phase, self.since, self.sent) = (phase, now, 0);
        (self.tally, self.all_marked, self.waiting) = (Tally::default(), None, Some(now));
    }

    fn fail(&mut self, now: Time, fault: EcnFault) {
        self.failures += 1;
        self.falls += u32::from(self.was_capable);
        let wait = RETRY * (1 << self.in_a_row.min(4));
        self.in_a_row += 1;
        let retry = if self.falls >= MOST_FAILURES { Time::MAX } else { now + wait };
        self.enter(now, Phase::Failed(fault, retry));
    }

    /// The receiver reported.
    pub(super) fn on_report(&mut self, now: Time, results: &[PacketResult]) {
        let mut newest = None;
        for packet in results {
            self.count(packet);
            if packet.status != Status::Missing {
                newest = newest.max(Some(packet.sent));
            }
        }
        if let Some(newest) = newest {
            self.round_trip = now.saturating_since(newest);
        }
        self.waiting = None;
        match self.phase {
            Phase::Probing => self.judge_probes(now),
            Phase::Capable => self.judge_use(now),
            Phase::Suspected(lost) => self.judge_suspicion(now, lost),
            Phase::Failed(..) => {}
        }
    }

    /// Counts a packet that left in this phase, once.
    fn count(&mut self, packet: &PacketResult) {
        let (since, wanted) = (self.since, self.wanted);
        let stream = self.stream(packet.stream);
        let capable = stream.capable.contains(packet.sequence);
        let covered = stream.covered.insert(packet.sequence);
        let received = match packet.status {
            Status::Missing => None,
            Status::Received { ecn, .. } => stream.received.insert(packet.sequence).then_some(ecn),
        };
        if packet.sent < since {
            return;
        }
        let tally = &mut self.tally;
        if !capable {
            tally.plain_covered += u64::from(covered);
            tally.plain_received += u64::from(received.is_some());
            return;
        }
        tally.covered += u64::from(covered);
        tally.received += u64::from(received.is_some());
        match received {
            Some(Ecn::Ce) => tally.marked += 1,
            Some(ecn) if ecn == wanted => tally.kept += 1,
            Some(_) => tally.cleared += 1,
            None => {}
        }
    }

    /// Section 7.2.1, "Determination of ECN Support", of one receiver.
    fn judge_probes(&mut self, now: Time) {
        let tally = self.tally;
        if tally.kept >= ENOUGH && tally.cleared == 0 {
            (self.was_capable, self.in_a_row) = (true, 0);
            self.enter(now, Phase::Capable);
        } else if tally.covered >= FEW && tally.received >= ENOUGH && tally.is_cleared() {
            self.fail(now, EcnFault::Cleared);
        } else if tally.covered >= FEW && tally.received == 0 && tally.is_dropped() {
            self.fail(now, EcnFault::Dropped);
        } else if tally.marked >= ALL_MARKED && tally.marked == tally.received {
            self.fail(now, EcnFault::AllMarked);
        } else if tally.covered >= MOST_PROBES {
            let fault = if tally.cleared > 0 { EcnFault::Cleared } else { EcnFault::Dropped };
            self.fail(now, fault);
        }
    }

    /// Section 7.4.2, of what came since the last judgement.
    fn judge_use(&mut self, now: Time) {
        let tally = self.tally;
        if tally.covered < WINDOW {
            return;
        }
        let (lost, _) = tally.lost();
        let all_marked = tally.marked > 0 && tally.marked == tally.received;
        let since = *self.all_marked.get_or_insert(now);
        if !all_marked {
            self.all_marked = None;
        }
        if tally.received > 0 && tally.is_cleared() {
            self.fail(now, EcnFault::Cleared);
        } else if lost > 0.5 && now >= self.trusted_until {
            self.enter(now, Phase::Suspected(lost));
        } else if all_marked && now.saturating_since(since) >= ALL_MARKED_FOR {
            self.enter(now, Phase::Suspected(0.0));
        } else {
            self.tally = Tally::default();
        }
    }

    /// Section 7.4.1: if losses end without ECN, it begins anew with probes.
    fn judge_suspicion(&mut self, now: Time, lost: f64) {
        if self.tally.plain_covered < WINDOW {
            return;
        }
        let (_, plain) = self.tally.lost();
        if lost > 0.0 && plain >= lost / 2.0 {
            self.trusted_until = now + RETRY;
            self.enter(now, Phase::Capable);
        } else {
            self.enter(now, Phase::Probing);
        }
    }
}
