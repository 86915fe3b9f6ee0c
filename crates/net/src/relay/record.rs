//! What the relay writes down of the flow that passes through it.

use super::packet::RelayedPacket;
use crate::choice::ChosenFlow;
use crate::figures::{Seen, output};
use crate::{NetCounters, NetOutput};
use paceline_cc::StreamId;
use paceline_media::PlayoutCounters;
use paceline_metrics::{Facts, FlowRecorder, LinkRecorder, ReceivedPacket, Tick, Ticker};
use paceline_units::{Bytes, Time, TimeDelta};

/// Records a flow between its ends.
pub(super) struct RelayRecord<'a> {
    flow: ChosenFlow<'a>,
    recorder: FlowRecorder,
    ticker: Ticker,
    packets: u64,
}

impl<'a> RelayRecord<'a> {
    pub fn new(flow: ChosenFlow<'a>) -> RelayRecord<'a> {
        let recorder = flow.scenario.flow_recorder(flow.spec, Facts::RELAY);
        RelayRecord { flow, ticker: recorder.ticker(), recorder, packets: 0 }
    }

    pub fn next_tick(&self) -> Option<Time> {
        self.ticker.next()
    }

    /// A packet came from the sender.
    pub fn entered(&mut self, now: Time, packet: &RelayedPacket) {
        if let Some(stream) = packet.data {
            self.recorder.sent(now, stream, packet.size, TimeDelta::ZERO);
        }
    }

    /// A packet is at the far end at `at`.
    pub fn passed(&mut self, at: Time, packet: &RelayedPacket) {
        let Some(stream) = packet.data else { return };
        self.packets += 1;
        self.recorder.received(&ReceivedPacket {
            now: at,
            stream,
            size: packet.size,
            payload: Bytes::ZERO,
            sent: packet.entered,
            wait: packet.wait,
            noise: packet.noise,
            ecn: packet.ecn,
            duplicate: false,
        });
    }

    /// A data packet was dropped or lost at `at`.
    pub fn lost(&mut self, at: Time, stream: StreamId) {
        self.recorder.lost(at, stream, at);
    }

    /// Does what is due at `now`.
    pub fn tick(&mut self, now: Time, progress: &dyn Fn(Time)) {
        while let Some(tick) = self.ticker.due(now) {
            match tick {
                Tick::Begin(_) => self.recorder.begin_receiver(PlayoutCounters::default()),
                Tick::Sample(at) => {
                    self.recorder.sample_receiver(at);
                    progress(at);
                }
                Tick::End(at) => self.recorder.end_receiver(at, PlayoutCounters::default()),
            }
        }
    }

    /// The run ended at `now`.
    pub fn finish(mut self, now: Time, links: &[LinkRecorder], counters: NetCounters) -> NetOutput {
        if self.ticker.cut() {
            self.recorder.end_receiver(now, PlayoutCounters::default());
        }
        let seen = Seen { ran: now, packets: self.packets, counters };
        output(self.flow, self.recorder, links, seen)
    }
}
