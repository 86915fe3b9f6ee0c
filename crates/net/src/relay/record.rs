//! What the relay writes down of the flow that passes through it.

use super::parcel::Parcel;
use crate::choice::ChosenFlow;
use crate::figures::{Seen, output};
use crate::ssrc::Ssrcs;
use crate::{NetCounters, NetOutput};
use paceline_cc::StreamId;
use paceline_scenario::recorder::{FlowRecorder, LinkRecorder, ReceivedPacket, Tick, Ticker};
use paceline_scenario::summary::Distribution;
use paceline_transport::Elsewhere;
use paceline_units::{Bytes, Time, TimeDelta};
use paceline_wire::rtp;

/// Records a flow between its ends.
pub(super) struct RelayRecord<'a> {
    flow: ChosenFlow<'a>,
    recorder: FlowRecorder,
    /// The recorder wants a receiver to look at; the real one is elsewhere.
    ticker: Ticker,
    ssrcs: Ssrcs,
    packets: u64,
}

impl<'a> RelayRecord<'a> {
    pub fn new(flow: ChosenFlow<'a>, ssrcs: Ssrcs) -> RelayRecord<'a> {
        let recorder = FlowRecorder::new(flow.scenario, flow.spec);
        RelayRecord {
            flow,
            ticker: Ticker::of(flow.scenario, &recorder.window()),
            recorder,
            ssrcs,
            packets: 0,
        }
    }

    pub fn next_tick(&self) -> Option<Time> {
        self.ticker.next()
    }

    /// A packet came from the sender.
    pub fn entered(&mut self, now: Time, parcel: &Parcel) {
        self.recorder.sent(now, StreamId(0), parcel.size, TimeDelta::ZERO);
    }

    /// A packet is at the far end at `at`.
    pub fn passed(&mut self, at: Time, parcel: &Parcel) {
        self.packets += 1;
        let header = rtp::decode(&parcel.bytes).ok();
        let stream = header.and_then(|view| self.ssrcs.stream(view.header.ssrc)).unwrap_or(StreamId(0));
        self.recorder.received(&ReceivedPacket {
            now: at,
            stream,
            size: parcel.size,
            payload: Bytes::ZERO,
            sent: parcel.entered,
            wait: parcel.wait,
            noise: parcel.noise,
            ecn: parcel.ecn,
            duplicate: false,
        });
    }

    /// A packet was dropped or lost at `at`.
    pub fn lost(&mut self, at: Time) {
        self.recorder.lost(at, StreamId(0), at);
    }

    /// Does what is due at `now`.
    pub fn tick(&mut self, now: Time, progress: &dyn Fn(Time)) {
        while let Some(tick) = self.ticker.due(now) {
            match tick {
                Tick::Begin(_) => self.recorder.begin_receiver(&Elsewhere),
                Tick::Sample(at) => {
                    self.recorder.sample_receiver(at);
                    progress(at);
                }
                Tick::End(at) => self.recorder.end_receiver(at, &Elsewhere),
            }
        }
    }

    /// The run ended at `now`.
    pub fn finish(mut self, now: Time, links: &[LinkRecorder], counters: NetCounters) -> NetOutput {
        if self.ticker.cut() {
            self.recorder.end_receiver(now, &Elsewhere);
        }
        let seen = Seen { ran: now, packets: self.packets, counters };
        output(self.flow, self.recorder, links, seen, &[], |figures| {
            figures.goodput_mbps = None;
            figures.one_way_delay_ms = Distribution::default();
            figures.delay_variation_ms = Distribution::default();
            figures.jitter_ms = Distribution::default();
            figures.send_queue_delay_ms = Distribution::default();
        })
    }
}
