//! A controller with a fault built in: what a check guards is switched off, and the check must notice.

use paceline_cc::{
    Allowance, Annotation, Arrival, Assigned, CeResponse, Controller, Limits, Offered, Pacing, PacketResult,
    PacketsReport, ReceiverReport, Recovery, Report, SendQueueState, SentPacket, Snapshot, StateVariable,
    Status, StreamId, TargetChange, TimeoutReason, Update, Verb,
};
use paceline_units::{Bitrate, Bytes, CongestionHeader, Ecn, Time, TimeDelta};
use std::sync::atomic::{AtomicU64, Ordering};

/// A fault that is built into a controller on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Missing packets appear to have arrived.
    DeafToLoss,
    /// Marks are rubbed out.
    DeafToCe,
    /// The delay appears constant.
    DeafToDelay,
    /// Everything arrived, unmarked, without delay.
    Greedy,
    /// Five packets more than allowed.
    Generous,
    /// No timeout is ever due.
    Sleepless,
    /// Allows everything while no report comes.
    Restless,
    /// Sizes depend on how often any controller was asked before.
    Moody,
    /// Stops at the largest sequence number.
    Fragile,
    /// Takes reports of packets never sent for deliveries of the newest.
    Credulous,
    /// Paces at the highest rate there is.
    Absurd,
    /// Shows another round-trip time where the clock counts from long ago.
    Calendar,
    /// Every report allocates, as this wrapper does whatever it alters.
    Wasteful,
}

/// No report for this long is silence: with an empty queue reports come each 20 ms.
const SILENCE: TimeDelta = TimeDelta::from_millis(50);
/// The time that a clock shows whose zero was in another age: 34 years.
const LONG_AGO: Time = Time::from_nanos((1 << 30) * 1_000_000_000);

static ASKED: AtomicU64 = AtomicU64::new(0);

/// An arrival as the other half of an altered controller hears of it.
pub(crate) fn arrival(fault: Option<Fault>, arrival: Arrival) -> Arrival {
    match fault {
        Some(Fault::DeafToCe) => Arrival { ecn: Ecn::Ect0, ..arrival },
        _ => arrival,
    }
}

/// See [`Fault`].
pub(crate) struct Altered {
    inner: Box<dyn Controller>,
    fault: Fault,
    newest: u64,
    /// Its clock when it was last told of a packet.
    now: Time,
    /// Its clock at the last report.
    heard: Time,
    /// Whether it measures round trips itself, and hears of losses from its transport.
    retransmits: bool,
}

impl Altered {
    pub(crate) fn new(inner: Box<dyn Controller>, fault: Fault, retransmits: bool) -> Altered {
        Altered { inner, fault, newest: 0, now: Time::ZERO, heard: Time::ZERO, retransmits }
    }

    /// When an acknowledgement appears to come: to the deaf, a round trip of the empty path after the sending.
    fn heard_at(&self, now: Time, packets: &[PacketResult]) -> Time {
        let deaf = matches!(self.fault, Fault::DeafToDelay | Fault::Greedy);
        let newest = packets.iter().map(|packet| packet.sent).max().filter(|_| deaf && self.retransmits);
        newest.map_or(now, |sent| now.min(sent + TimeDelta::from_millis(41)))
    }

    /// The rest of the transport's verdicts: to the deaf, bytes and no reason to reduce.
    fn heard_of(&self, recovery: Recovery) -> Option<Recovery> {
        let deaf = matches!(self.fault, Fault::DeafToLoss | Fault::Greedy);
        match recovery {
            Recovery::Entered { lost } if deaf => Some(Recovery::Lost { lost }),
            Recovery::TimedOut if deaf => {
                let lost = self.inner.snapshot().in_flight.unwrap_or_default();
                Some(Recovery::Lost { lost })
            }
            Recovery::TimedOut if self.fault == Fault::Sleepless => None,
            other => Some(other),
        }
    }

    fn heard(&self, packet: &PacketResult) -> PacketResult {
        let quick = Some(packet.sent + TimeDelta::from_millis(20));
        let deaf = self.fault == Fault::Greedy;
        let sequence = match self.fault {
            Fault::Credulous => packet.sequence.min(self.newest),
            _ => packet.sequence,
        };
        let status = match (self.fault, packet.status) {
            (Fault::DeafToLoss | Fault::Greedy, Status::Missing) => {
                Status::Received { arrived: quick, ecn: Ecn::Ect0 }
            }
            (Fault::DeafToCe, Status::Received { arrived, .. }) => {
                Status::Received { arrived, ecn: Ecn::Ect0 }
            }
            (Fault::DeafToDelay | Fault::Greedy, Status::Received { ecn, .. }) => {
                Status::Received { arrived: quick, ecn: if deaf { Ecn::Ect0 } else { ecn } }
            }
            (Fault::Fragile, _) => {
                assert!(packet.sequence < u64::MAX, "a fault built in");
                packet.status
            }
            (_, status) => status,
        };
        PacketResult { sequence, status, ..*packet }
    }

    /// The message of a receiver half, as one hears it who does not want to hear of losses.
    fn misheard<'r>(&self, report: &Report<'r>) -> Report<'r> {
        match *report {
            Report::Receiver(ReceiverReport::Tfrc { receive_rate, newest_sent, delay, .. })
                if matches!(self.fault, Fault::DeafToLoss | Fault::Greedy) =>
            {
                let loss_event_rate = 0.0;
                Report::Receiver(ReceiverReport::Tfrc { loss_event_rate, receive_rate, newest_sent, delay })
            }
            report => report,
        }
    }

    fn answer(&self, now: Time, mut update: Update) -> Update {
        if self.fault == Fault::Generous {
            update.allowance = update.allowance.map(|allowance| match allowance {
                Allowance::Bytes(bytes) => Allowance::Bytes(bytes + Bytes::new(6060)),
                Allowance::Packets(packets) => Allowance::Packets(packets + 5),
                Allowance::Unlimited => Allowance::Unlimited,
            });
        }
        if self.fault == Fault::Restless && now.saturating_since(self.heard) > SILENCE {
            let (allowance, pacing) = (Some(Allowance::Unlimited), Some(Pacing::Off));
            update = Update { allowance, pacing, target: TargetChange::None, discard: None, ..update };
        }
        if self.fault == Fault::Absurd {
            update.pacing = Some(Pacing::Rate(Bitrate::MAX));
        }
        update
    }
}

impl Controller for Altered {
    fn on_offered(&mut self, now: Time, offered: &Offered, queue: &SendQueueState) -> Update {
        let update = self.inner.on_offered(now, offered, queue);
        self.answer(now, update)
    }

    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        (self.newest, self.now) = (packet.sequence, now);
        let mut packet = *packet;
        if self.fault == Fault::Moody {
            packet.size += Bytes::new(u64::from(ASKED.fetch_add(1, Ordering::Relaxed).is_multiple_of(1009)));
        }
        let update = self.inner.on_sent(now, &packet);
        self.answer(now, update)
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        self.heard = now;
        let Report::Packets(report) = report else {
            let report = self.misheard(report);
            return self.inner.on_report(now, &report);
        };
        let packets: Vec<PacketResult> = report.packets.iter().map(|packet| self.heard(packet)).collect();
        let report =
            PacketsReport { packets: &packets, clock_step: report.clock_step, ambiguous: report.ambiguous };
        let now = self.heard_at(now, &packets);
        let update = self.inner.on_report(now, &Report::Packets(report));
        self.answer(now, update)
    }

    fn on_recovery(&mut self, now: Time, recovery: Recovery) -> Update {
        match self.heard_of(recovery) {
            Some(recovery) => {
                let update = self.inner.on_recovery(now, recovery);
                self.answer(now, update)
            }
            None => Update::none(),
        }
    }

    fn on_send_queue(&mut self, now: Time, queue: &SendQueueState) -> Update {
        let update = self.inner.on_send_queue(now, queue);
        self.answer(now, update)
    }

    fn on_limits(&mut self, now: Time, limits: &Limits) -> Update {
        self.inner.on_limits(now, limits)
    }

    fn verbs(&self) -> &'static [Verb] {
        self.inner.verbs()
    }

    fn congestion_header(&self) -> Option<CongestionHeader> {
        self.inner.congestion_header()
    }

    fn ce_response(&self) -> CeResponse {
        self.inner.ce_response()
    }

    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        let update = self.inner.assign(now, assigned);
        self.answer(now, update)
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        if self.fault == Fault::Sleepless { None } else { self.inner.next_timeout() }
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        let update = self.inner.on_timeout(now);
        self.answer(now, update)
    }

    fn annotation(&self, now: Time, stream: StreamId) -> Option<Annotation> {
        self.inner.annotation(now, stream)
    }

    fn target_bitrate(&self, stream: StreamId) -> Option<Bitrate> {
        self.inner.target_bitrate(stream)
    }

    fn snapshot(&self) -> Snapshot {
        let snapshot = self.inner.snapshot();
        if self.fault == Fault::Calendar && self.now > LONG_AGO {
            return Snapshot { srtt: Some(TimeDelta::MAX), ..snapshot };
        }
        snapshot
    }

    fn state_variables(&self) -> &'static [StateVariable] {
        self.inner.state_variables()
    }

    fn state(&self, values: &mut [Option<f64>]) {
        self.inner.state(values);
    }
}
