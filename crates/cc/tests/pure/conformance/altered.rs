//! A controller with a fault built in: what a check guards is switched off, and the check must notice.

use paceline_cc::{
    Allowance, Annotation, Arrival, Assigned, CeResponse, Controller, Limits, Offered, PacketResult,
    PacketsReport, ReceiverReport, Recovery, Report, SendQueueState, SentPacket, Snapshot, StateVariable,
    Status, StreamId, TimeoutReason, Update, Verb,
};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use std::sync::atomic::{AtomicU64, Ordering};

/// A fault that is built into a controller on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code, reason = "not every program of the suite uses every fault")]
pub enum Alteration {
    None,
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
    /// Sizes depend on how often any controller was asked before.
    Moody,
    /// Stops at the largest sequence number.
    Fragile,
    /// Takes reports of packets never sent for deliveries of the newest.
    Credulous,
    /// Every report allocates, as this wrapper does whatever it alters.
    Wasteful,
}

static ASKED: AtomicU64 = AtomicU64::new(0);

/// An arrival as the other half of an altered controller hears of it.
pub fn arrival(alteration: Alteration, arrival: Arrival) -> Arrival {
    match alteration {
        Alteration::DeafToCe => Arrival { ecn: Ecn::Ect0, ..arrival },
        _ => arrival,
    }
}

/// See [`Alteration`].
pub struct Altered {
    inner: Box<dyn Controller>,
    alteration: Alteration,
    newest: u64,
    /// Whether it measures round trips itself, and hears of losses from its transport.
    retransmits: bool,
}

impl Altered {
    pub fn new(inner: Box<dyn Controller>, alteration: Alteration, retransmits: bool) -> Altered {
        Altered { inner, alteration, newest: 0, retransmits }
    }

    /// When an acknowledgement appears to come: to the deaf, a round trip of the empty path after the sending.
    fn heard_at(&self, now: Time, packets: &[PacketResult]) -> Time {
        let deaf = matches!(self.alteration, Alteration::DeafToDelay | Alteration::Greedy);
        let newest = packets.iter().map(|packet| packet.sent).max().filter(|_| deaf && self.retransmits);
        newest.map_or(now, |sent| now.min(sent + TimeDelta::from_millis(41)))
    }

    /// The rest of the transport's verdicts: to the deaf, bytes and no reason to reduce.
    fn heard_of(&self, recovery: Recovery) -> Option<Recovery> {
        let deaf = matches!(self.alteration, Alteration::DeafToLoss | Alteration::Greedy);
        match recovery {
            Recovery::Entered { lost } if deaf => Some(Recovery::Lost { lost }),
            Recovery::TimedOut if deaf => {
                let lost = self.inner.snapshot().in_flight.unwrap_or_default();
                Some(Recovery::Lost { lost })
            }
            Recovery::TimedOut if self.alteration == Alteration::Sleepless => None,
            other => Some(other),
        }
    }

    fn heard(&self, packet: &PacketResult) -> PacketResult {
        let quick = Some(packet.sent + TimeDelta::from_millis(20));
        let deaf = self.alteration == Alteration::Greedy;
        let sequence = match self.alteration {
            Alteration::Credulous => packet.sequence.min(self.newest),
            _ => packet.sequence,
        };
        let status = match (self.alteration, packet.status) {
            (Alteration::DeafToLoss | Alteration::Greedy, Status::Missing) => {
                Status::Received { arrived: quick, ecn: Ecn::Ect0 }
            }
            (Alteration::DeafToCe, Status::Received { arrived, .. }) => {
                Status::Received { arrived, ecn: Ecn::Ect0 }
            }
            (Alteration::DeafToDelay | Alteration::Greedy, Status::Received { ecn, .. }) => {
                Status::Received { arrived: quick, ecn: if deaf { Ecn::Ect0 } else { ecn } }
            }
            (Alteration::Fragile, _) => {
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
                if matches!(self.alteration, Alteration::DeafToLoss | Alteration::Greedy) =>
            {
                let loss_event_rate = 0.0;
                Report::Receiver(ReceiverReport::Tfrc { loss_event_rate, receive_rate, newest_sent, delay })
            }
            report => report,
        }
    }

    fn answer(&self, mut update: Update) -> Update {
        if self.alteration == Alteration::Generous {
            update.allowance = update.allowance.map(|allowance| match allowance {
                Allowance::Bytes(bytes) => Allowance::Bytes(bytes + Bytes::new(6060)),
                Allowance::Packets(packets) => Allowance::Packets(packets + 5),
                Allowance::Unlimited => Allowance::Unlimited,
            });
        }
        update
    }
}

impl Controller for Altered {
    fn on_offered(&mut self, now: Time, offered: &Offered, queue: &SendQueueState) -> Update {
        let update = self.inner.on_offered(now, offered, queue);
        self.answer(update)
    }

    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        self.newest = packet.sequence;
        let mut packet = *packet;
        if self.alteration == Alteration::Moody {
            packet.size += Bytes::new(u64::from(ASKED.fetch_add(1, Ordering::Relaxed).is_multiple_of(1009)));
        }
        let update = self.inner.on_sent(now, &packet);
        self.answer(update)
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let Report::Packets(report) = report else {
            let report = self.misheard(report);
            return self.inner.on_report(now, &report);
        };
        let packets: Vec<PacketResult> = report.packets.iter().map(|packet| self.heard(packet)).collect();
        let report =
            PacketsReport { packets: &packets, clock_step: report.clock_step, ambiguous: report.ambiguous };
        let now = self.heard_at(now, &packets);
        let update = self.inner.on_report(now, &Report::Packets(report));
        self.answer(update)
    }

    fn on_recovery(&mut self, now: Time, recovery: Recovery) -> Update {
        match self.heard_of(recovery) {
            Some(recovery) => {
                let update = self.inner.on_recovery(now, recovery);
                self.answer(update)
            }
            None => Update::none(),
        }
    }

    fn on_send_queue(&mut self, now: Time, queue: &SendQueueState) -> Update {
        let update = self.inner.on_send_queue(now, queue);
        self.answer(update)
    }

    fn on_limits(&mut self, now: Time, limits: &Limits) -> Update {
        self.inner.on_limits(now, limits)
    }

    fn verbs(&self) -> &'static [Verb] {
        self.inner.verbs()
    }

    fn ce_response(&self) -> CeResponse {
        self.inner.ce_response()
    }

    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        let update = self.inner.assign(now, assigned);
        self.answer(update)
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        if self.alteration == Alteration::Sleepless { None } else { self.inner.next_timeout() }
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        let update = self.inner.on_timeout(now);
        self.answer(update)
    }

    fn annotation(&self, now: Time, stream: StreamId) -> Option<Annotation> {
        self.inner.annotation(now, stream)
    }

    fn target_bitrate(&self, stream: StreamId) -> Option<Bitrate> {
        self.inner.target_bitrate(stream)
    }

    fn snapshot(&self) -> Snapshot {
        self.inner.snapshot()
    }

    fn state_variables(&self) -> &'static [StateVariable] {
        self.inner.state_variables()
    }

    fn state(&self, values: &mut [Option<f64>]) {
        self.inner.state(values);
    }
}
