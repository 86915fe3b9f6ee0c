//! What the sender writes down of itself and of what the reports say.

use super::sent::Delivered;
use crate::choice::{ChosenFlow, Over};
use crate::figures::{Seen, output};
use crate::{NetCounters, NetOutput};
use paceline_cc::StreamId;
use paceline_media::PlayoutCounters;
use paceline_metrics::{Facts, FlowRecorder, ReceivedPacket, Tick, Ticker};
use paceline_transport::SendingEnd;
use paceline_units::{Bytes, Time, TimeDelta};

/// Records a flow from its sender's side.
pub(super) struct SenderRecord<'a> {
    flow: ChosenFlow<'a>,
    recorder: FlowRecorder,
    ticker: Ticker,
    delivered: u64,
    last_queued: TimeDelta,
}

impl<'a> SenderRecord<'a> {
    pub fn new(flow: ChosenFlow<'a>) -> SenderRecord<'a> {
        let recorder = flow.scenario.flow_recorder(flow.spec, facts(&flow));
        SenderRecord { flow, ticker: recorder.ticker(), recorder, delivered: 0, last_queued: TimeDelta::ZERO }
    }

    /// What is to be done next, and when.
    pub fn pending(&self) -> Option<Tick> {
        self.ticker.pending()
    }

    /// A packet of `size` bytes (header in) left that had waited for `queued`.
    pub fn sent(&mut self, now: Time, stream: StreamId, size: Bytes, queued: TimeDelta) {
        self.recorder.sent(now, stream, size + self.flow.parts.overhead, queued);
    }

    /// The controller was told something.
    pub fn observe(&mut self, now: Time, endpoint: &impl SendingEnd) {
        self.recorder.reported(now, endpoint.controller());
    }

    /// A report that arrived `now` says that a packet was received.
    pub fn delivered(&mut self, now: Time, packet: &Delivered) {
        self.delivered += 1;
        self.last_queued = packet.queued.unwrap_or(self.last_queued);
        self.recorder.received(&ReceivedPacket {
            now,
            stream: packet.stream,
            size: packet.size + self.flow.parts.overhead,
            payload: packet.payload,
            sent: packet.sent,
            wait: self.last_queued,
            noise: TimeDelta::ZERO,
            ecn: packet.ecn,
            duplicate: false,
        });
    }

    pub fn lost(&mut self, now: Time, stream: StreamId, sent: Time) {
        self.recorder.lost(now, stream, sent);
    }

    /// Does the next thing that is due at `now`.
    pub fn tick(&mut self, now: Time, endpoint: &impl SendingEnd, progress: &dyn Fn(Time)) {
        match self.ticker.due(now) {
            Some(Tick::Begin(at)) => {
                self.recorder.begin_sender(at, endpoint);
                self.recorder.begin_receiver(PlayoutCounters::default());
            }
            Some(Tick::Sample(at)) => {
                self.recorder.sample_sender(at, endpoint);
                self.recorder.sample_receiver(at);
                progress(at);
            }
            Some(Tick::End(at)) => self.end(at, endpoint),
            None => {}
        }
    }

    fn end(&mut self, at: Time, endpoint: &impl SendingEnd) {
        self.recorder.end_sender(at, endpoint);
        self.recorder.end_receiver(at, PlayoutCounters::default());
    }

    /// The run ended at `now`.
    pub fn finish(
        mut self,
        now: Time,
        endpoint: &impl SendingEnd,
        counters: NetCounters,
        warnings: Vec<String>,
    ) -> NetOutput {
        if self.ticker.cut() {
            self.end(now, endpoint);
        }
        let seen = Seen { ran: now, packets: self.delivered, counters };
        NetOutput { warnings, ..output(self.flow, self.recorder, &[], seen) }
    }
}

/// What the reports of the flow's transport tell its sender.
fn facts(flow: &ChosenFlow<'_>) -> Facts {
    match flow.over {
        Over::Rtp(_) => Facts::RTP_SENDER,
        Over::Dccp(dccp) if dccp.has_ack_vectors() => Facts::ACK_VECTOR_SENDER,
        Over::Dccp(_) => Facts::SENDER_ALONE,
    }
}
