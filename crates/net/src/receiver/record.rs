//! What the receiver writes down of what reached it.

use crate::choice::ChosenFlow;
use crate::figures::{Seen, output};
use crate::{NetCounters, NetOutput};
use paceline_cc::StreamId;
use paceline_media::{DisplayedFrame, PlayoutCounters};
use paceline_metrics::{Facts, FlowRecorder, ReceivedPacket, Tick, Ticker};
use paceline_units::Time;

/// Records a flow from its receiver's side.
pub(super) struct ReceiverRecord<'a> {
    flow: ChosenFlow<'a>,
    recorder: FlowRecorder,
    ticker: Ticker,
    packets: u64,
}

impl<'a> ReceiverRecord<'a> {
    /// A record of a session whose sender does or does not share this machine's clock.
    pub fn new(flow: ChosenFlow<'a>, shared_clock: bool) -> ReceiverRecord<'a> {
        let facts = if shared_clock { Facts::RECEIVER.and(Facts::CLOCKS) } else { Facts::RECEIVER };
        let recorder = flow.scenario.flow_recorder(flow.spec, facts);
        let ticker = recorder.ticker();
        ReceiverRecord { flow, recorder, ticker, packets: 0 }
    }

    pub fn next_tick(&self) -> Option<Time> {
        self.ticker.next()
    }

    /// A packet arrived.
    pub fn received(&mut self, packet: ReceivedPacket) {
        self.packets += 1;
        let size = packet.size + self.flow.parts.overhead;
        self.recorder.received(&ReceivedPacket { size, ..packet });
    }

    /// A packet is lost that was sent at about `sent`.
    pub fn lost(&mut self, now: Time, stream: StreamId, sent: Time) {
        self.recorder.lost(now, stream, sent);
    }

    pub fn displayed(&mut self, frame: &DisplayedFrame) {
        self.recorder.displayed(frame);
    }

    /// Does what is due at `now`.
    pub fn tick(&mut self, now: Time, playout: PlayoutCounters, progress: &dyn Fn(Time)) {
        while let Some(tick) = self.ticker.due(now) {
            match tick {
                Tick::Begin(_) => self.recorder.begin_receiver(playout),
                Tick::Sample(at) => {
                    self.recorder.sample_receiver(at);
                    progress(at);
                }
                Tick::End(at) => self.recorder.end_receiver(at, playout),
            }
        }
    }

    /// The output of a run in which nothing arrived.
    pub fn nothing(self, counters: NetCounters) -> NetOutput {
        self.finish(Time::ZERO, PlayoutCounters::default(), counters)
    }

    /// The run ended at `now`.
    pub fn finish(mut self, now: Time, playout: PlayoutCounters, counters: NetCounters) -> NetOutput {
        if self.ticker.cut() {
            self.recorder.end_receiver(now, playout);
        }
        output(self.flow, self.recorder, &[], Seen { ran: now, packets: self.packets, counters })
    }
}
