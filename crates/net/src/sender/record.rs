//! What the sender writes down of itself and of what the reports say.

use super::sent::Delivered;
use crate::choice::ChosenFlow;
use crate::figures::{Seen, output};
use crate::{NetCounters, NetOutput};
use paceline_cc::StreamId;
use paceline_scenario::recorder::{FlowRecorder, ReceivedPacket, Tick, Ticker};
use paceline_scenario::registry::AnyController;
use paceline_scenario::summary::Distribution;
use paceline_transport::Elsewhere;
use paceline_transport::rtp::{Outgoing, RTP_HEADER, RtpSender};
use paceline_units::{Time, TimeDelta};

type Endpoint = RtpSender<AnyController>;

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
        let recorder = FlowRecorder::new(flow.scenario, flow.spec);
        SenderRecord {
            flow,
            ticker: Ticker::of(flow.scenario, &recorder.window()),
            recorder,
            delivered: 0,
            last_queued: TimeDelta::ZERO,
        }
    }

    /// What is to be done next, and when.
    pub fn pending(&self) -> Option<Tick> {
        self.ticker.pending()
    }

    pub fn sent(&mut self, now: Time, outgoing: &Outgoing) {
        let packet = &outgoing.packet;
        let size = packet.size() + self.flow.parts.overhead;
        self.recorder.sent(now, packet.stream, size, now - outgoing.queued);
    }

    /// The controller was told something.
    pub fn observe(&mut self, now: Time, endpoint: &Endpoint) {
        self.recorder.reported(now, endpoint.controller());
    }

    /// A report that arrived `now` says that a packet was received.
    pub fn delivered(&mut self, now: Time, packet: &Delivered) {
        self.delivered += 1;
        self.last_queued = packet.queued.unwrap_or(self.last_queued);
        self.recorder.received(&ReceivedPacket {
            now,
            stream: packet.stream,
            size: packet.payload + RTP_HEADER + self.flow.parts.overhead,
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
    pub fn tick(&mut self, now: Time, endpoint: &Endpoint, progress: &dyn Fn(Time)) {
        match self.ticker.due(now) {
            Some(Tick::Begin(at)) => {
                self.recorder.begin_sender(at, endpoint);
                self.recorder.begin_receiver(&Elsewhere);
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

    fn end(&mut self, at: Time, endpoint: &Endpoint) {
        self.recorder.end_sender(at, endpoint);
        self.recorder.end_receiver(at, &Elsewhere);
    }

    /// The run ended at `now`.
    pub fn finish(
        mut self,
        now: Time,
        endpoint: &Endpoint,
        counters: NetCounters,
        warnings: Vec<String>,
    ) -> NetOutput {
        if self.ticker.cut() {
            self.end(now, endpoint);
        }
        let seen = Seen { ran: now, packets: self.delivered, counters };
        let output = output(self.flow, self.recorder, &[], seen, &[], |figures| {
            figures.one_way_delay_ms = Distribution::default();
            figures.delay_variation_ms = Distribution::default();
            figures.jitter_ms = Distribution::default();
            figures.delay_noise_ms = Distribution::default();
        });
        NetOutput { warnings, ..output }
    }
}
