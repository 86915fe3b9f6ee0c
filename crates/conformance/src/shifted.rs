//! A controller whose clock has another zero than the world's.

use paceline_cc::{
    Annotation, Assigned, CeResponse, Controller, Limits, Offered, PacketResult, PacketsReport,
    ReceiverReport, Recovery, Report, SendQueueState, SentPacket, Snapshot, StateVariable, Status, StreamId,
    TimeoutReason, Update, Verb,
};
use paceline_units::{Bitrate, CongestionHeader, Time, TimeDelta};

/// All times are so much later to it.
pub(crate) struct Shifted {
    pub(crate) inner: Box<dyn Controller>,
    pub(crate) by: TimeDelta,
}

impl Shifted {
    fn report(&self, packet: &PacketResult) -> PacketResult {
        let status = match packet.status {
            Status::Received { arrived, ecn } => {
                Status::Received { arrived: arrived.map(|at| at + self.by), ecn }
            }
            Status::Missing => Status::Missing,
        };
        PacketResult { sent: packet.sent + self.by, status, ..*packet }
    }
}

impl Controller for Shifted {
    fn on_offered(&mut self, now: Time, offered: &Offered, queue: &SendQueueState) -> Update {
        self.inner.on_offered(now + self.by, offered, queue)
    }

    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        self.inner.on_sent(now + self.by, packet)
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        let now = now + self.by;
        match *report {
            Report::Packets(report) => {
                let packets: Vec<_> = report.packets.iter().map(|packet| self.report(packet)).collect();
                self.inner.on_report(now, &Report::Packets(PacketsReport { packets: &packets, ..report }))
            }
            Report::Receiver(ReceiverReport::Tfrc { loss_event_rate, receive_rate, newest_sent, delay }) => {
                let newest_sent = newest_sent.map(|sent| sent + self.by);
                let report = ReceiverReport::Tfrc { loss_event_rate, receive_rate, newest_sent, delay };
                self.inner.on_report(now, &Report::Receiver(report))
            }
            report => self.inner.on_report(now, &report),
        }
    }

    fn on_recovery(&mut self, now: Time, recovery: Recovery) -> Update {
        self.inner.on_recovery(now + self.by, recovery)
    }

    fn on_send_queue(&mut self, now: Time, queue: &SendQueueState) -> Update {
        self.inner.on_send_queue(now + self.by, queue)
    }

    fn on_limits(&mut self, now: Time, limits: &Limits) -> Update {
        self.inner.on_limits(now + self.by, limits)
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

    fn rules_recovery(&self) -> bool {
        self.inner.rules_recovery()
    }

    fn media_drain(&self) -> Option<TimeDelta> {
        self.inner.media_drain()
    }

    fn on_rates_exchanged(&mut self) {
        self.inner.on_rates_exchanged();
    }

    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        self.inner.assign(now + self.by, assigned)
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        // A timeout before the world's zero is due at once.
        self.inner
            .next_timeout()
            .map(|(due, why)| (Time::ZERO + due.saturating_since(Time::ZERO + self.by), why))
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        self.inner.on_timeout(now + self.by)
    }

    fn annotation(&self, now: Time, stream: StreamId) -> Option<Annotation> {
        self.inner.annotation(now + self.by, stream)
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
