//! A network for one association: a delay each way, and what a test drops, doubles or holds back by number.

use paceline_cc::sctp::{Params, Sctp};
use paceline_cc::{Controller, FlowSetup, StreamId};
use paceline_ends::{PathFacts, ReceivingEnd, SendingEnd};
use paceline_media::{Bulk, BulkParams, Cbr, CbrParams, DisplayedFrame, FrameRate, Source};
use paceline_sctp::{Backward, Forward, Sack, SctpConfig, SctpReceiver, SctpSender, StreamConfig};
use paceline_units::{Bitrate, Bytes, Ecn, RandomStream, Time, TimeDelta};
use std::collections::BTreeMap;

pub fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

pub fn at(millis: i64) -> Time {
    Time::ZERO + ms(millis)
}

/// The network's treatment of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Arrives,
    Dropped,
    Doubled,
    /// The packet arrives this much later than the others.
    Late(TimeDelta),
}

pub type Rule<P> = Box<dyn FnMut(u64, &P) -> Action>;

/// Messages of 1000 B are full chunks.
pub fn config() -> SctpConfig {
    SctpConfig { packet_size: Bytes::new(1048), hb_jitter: 0.0, ..SctpConfig::default() }
}

/// A file of so many bytes, or one that never ends.
pub fn bulk(length: Option<u64>) -> StreamConfig {
    let params =
        BulkParams { depth: Bytes::new(4000), chunk: Bytes::new(4000), length: length.map(Bytes::new) };
    StreamConfig { source: Source::Bulk(Bulk::new(params)), priority: 1.0 }
}

/// Messages of so many bytes, 50 in a second.
pub fn messages(bytes: u64) -> StreamConfig {
    let rate = Bitrate::from_bps(bytes * 8 * 50);
    let params = CbrParams { rate, fps: FrameRate::new(50, 1), adaptive: false };
    StreamConfig { source: Source::Cbr(Cbr::new(params)), priority: 1.0 }
}

pub struct Net {
    pub sender: SctpSender<Sctp>,
    pub receiver: SctpReceiver,
    pub now: Time,
    pub delay: TimeDelta,
    pub data_rule: Rule<Forward>,
    pub back_rule: Rule<Backward>,
    /// When packets left, and which.
    pub sent: Vec<(Time, Forward)>,
    pub back: Vec<(Time, Backward)>,
    /// New payload that arrived.
    pub received: u64,
    pub displayed: Vec<(Time, StreamId, DisplayedFrame)>,
    /// Whether the controller's flight is to be the scoreboard's.
    pub counts: bool,
    forward: BTreeMap<(Time, u64), Forward>,
    backward: BTreeMap<(Time, u64), Backward>,
    order: u64,
}

impl Net {
    pub fn new(config: &SctpConfig, streams: Vec<StreamConfig>) -> Net {
        let controller = Sctp::new(&Params::default(), &FlowSetup::new(config.packet_size));
        let frames: Vec<_> = streams.iter().map(|stream| !matches!(stream.source, Source::Bulk(_))).collect();
        Net {
            sender: SctpSender::new(controller, config, streams, RandomStream::new(1, "beats")),
            receiver: SctpReceiver::new(config, frames),
            now: Time::ZERO,
            delay: ms(50),
            data_rule: Box::new(|_, _| Action::Arrives),
            back_rule: Box::new(|_, _| Action::Arrives),
            sent: Vec::new(),
            back: Vec::new(),
            received: 0,
            displayed: Vec::new(),
            counts: true,
            forward: BTreeMap::new(),
            backward: BTreeMap::new(),
            order: 0,
        }
    }

    pub fn started(mut self) -> Net {
        self.sender.start(self.now);
        self.flush();
        self
    }

    /// Runs until `end`.
    pub fn run(&mut self, end: Time) {
        let mut events = 0;
        while let Some(next) = self.next().filter(|next| *next <= end) {
            events += 1;
            assert!(
                events < 100_000,
                "an end that never rests: {:?} {:?} {:?} {:?}",
                self.now,
                self.sender.next_timeout(),
                self.sender.in_flight(),
                self.sender.controller().snapshot()
            );
            self.now = self.now.max(next);
            while let Some(entry) = self.forward.first_entry().filter(|entry| entry.key().0 <= next) {
                let packet = entry.remove();
                let arrival = self.receiver.receive(self.now, packet, Ecn::NotEct, PathFacts::default());
                self.received += arrival.payload.as_u64();
                while let Some((stream, frame)) = self.receiver.poll_displayed() {
                    self.displayed.push((self.now, stream, frame));
                }
                self.answer();
            }
            while let Some(entry) = self.backward.first_entry().filter(|entry| entry.key().0 <= next) {
                let packet = entry.remove();
                self.tell(packet);
            }
            if self.sender.next_timeout().is_some_and(|(due, _)| due <= self.now) {
                self.sender.handle_timeout(self.now);
            }
            if self.receiver.next_timeout().is_some_and(|(due, _)| due <= self.now) {
                self.receiver.handle_timeout(self.now);
            }
            self.flush();
        }
        self.now = self.now.max(end);
    }

    /// The sender hears something, and sends what it may.
    pub fn tell(&mut self, packet: Backward) {
        if let Some(used) = self.sender.receive(self.now, packet, Ecn::NotEct) {
            self.receiver.recycle(used);
        }
        self.flush();
    }

    pub fn tell_sack(&mut self, cumulative: u32, gaps: &[(u16, u16)]) {
        self.tell(Backward::Sack(Sack { cumulative, a_rwnd: 1 << 30, gaps: gaps.to_vec(), duplicates: 0 }));
    }

    fn next(&self) -> Option<Time> {
        let ends = [self.sender.next_timeout(), self.receiver.next_timeout()];
        let ends = ends.into_iter().flatten().map(|(due, _)| due);
        let first = |key: Option<&(Time, u64)>| key.map(|(at, _)| *at);
        let ways = [first(self.forward.keys().next()), first(self.backward.keys().next())];
        ends.chain(ways.into_iter().flatten()).min()
    }

    fn flush(&mut self) {
        let mut packets = 0;
        while let Some(out) = self.sender.poll_transmit(self.now) {
            packets += 1;
            assert!(packets < 300_000, "an end that never stops");
            let number = self.sent.len() as u64;
            self.sent.push((self.now, out.packet.clone()));
            let action = (self.data_rule)(number, &out.packet);
            for at in arrivals(self.now + self.delay, action) {
                self.order += 1;
                self.forward.insert((at, self.order), out.packet.clone());
            }
        }
        self.answer();
        if self.counts {
            let told = self.sender.controller().snapshot().in_flight;
            assert_eq!(told, Some(self.sender.in_flight()), "the controller's flight at {:?}", self.now);
        }
    }

    fn answer(&mut self) {
        while let Some(out) = self.receiver.poll_transmit(self.now) {
            let number = self.back.len() as u64;
            self.back.push((self.now, out.packet.clone()));
            let action = (self.back_rule)(number, &out.packet);
            for at in arrivals(self.now + self.delay, action) {
                self.order += 1;
                self.backward.insert((at, self.order), out.packet.clone());
            }
        }
    }

    /// The window in packets of 1048 B.
    pub fn window(&self) -> f64 {
        self.sender.controller().snapshot().window.expect("one").as_f64() / 1048.0
    }

    /// When the chunks with this number left.
    pub fn times_of(&self, tsn: u32) -> Vec<Time> {
        let is = |packet: &Forward| matches!(packet, Forward::Data(chunk) if chunk.tsn == tsn);
        self.sent.iter().filter(|(_, packet)| is(packet)).map(|(at, _)| *at).collect()
    }

    /// Drops the first copy of chunks with these numbers.
    pub fn dropping(mut self, tsns: &[u32]) -> Net {
        let mut left = tsns.to_vec();
        self.data_rule = Box::new(move |_, packet| {
            let Forward::Data(chunk) = packet else { return Action::Arrives };
            match left.iter().position(|tsn| *tsn == chunk.tsn) {
                Some(place) => {
                    left.remove(place);
                    Action::Dropped
                }
                None => Action::Arrives,
            }
        });
        self
    }
}

fn arrivals(at: Time, action: Action) -> Vec<Time> {
    match action {
        Action::Arrives => vec![at],
        Action::Dropped => vec![],
        Action::Doubled => vec![at, at],
        Action::Late(more) => vec![at + more],
    }
}
