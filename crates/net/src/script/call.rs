//! Both ends of a session as their drivers run them, in virtual time and with a path of two queues, and what must be true at
//! any time.

use super::bytes::Script;
use crate::choice::ChosenFlow;
use crate::clock::Moment;
use crate::output::NetCounters;
use crate::receiver::codec::{ReceivingCodec, SessionPacket};
use crate::receiver::session::{Session, SessionParts};
use crate::relay::RelayFilter;
use crate::sender::codec::SendingCodec;
use crate::socket::Datagram;
use crate::transports::rtp::{RtpReceivingCodec, RtpSendingCodec};
use crate::transports::{Filter, Over};
use paceline_cc::{AnyController, Controller, Limits, Status, StreamId};
use paceline_ends::SendingEnd;
use paceline_rtp::Ssrcs;
use paceline_rtp::{CircuitBreakers, EcnChecks, FeedbackConfig, RtpSender};
use paceline_scenario::transports::SendingWorld;
use paceline_scenario::{Loaded, Loader, Origin, load};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use paceline_wire::{FeedbackFormat, rtp};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::OnceLock;

/// Of the first stream; a multiple of 256, so that each of several tells the others.
pub(super) const SSRC: u32 = 0x100;
/// Ports of the two ends; those of others follow.
pub(super) const SENDER: u16 = 1;
const RECEIVER: u16 = 2;
/// Most datagrams that are under way, each way; others are lost.
const UNDER_WAY: usize = 1024;
/// Most events that happen at one time.
const ENDLESS: usize = 20_000;
/// No report is larger.
const LARGEST_REPORT: usize = 1200;
/// Silence after which a peer that was heard twice may be displaced.
const SILENCE: TimeDelta = TimeDelta::from_secs(1);
/// Nor by the same sender from another address.
const MOVED: TimeDelta = TimeDelta::from_millis(200);
/// Media that waited longer may seem to come from the future to a receiver whose first packet was as late: where it has a gap,
/// a packet is refused.
const FRESH: TimeDelta = TimeDelta::from_secs(1);
const CONTROLLERS: [&str; 5] = [
    "{ kind = \"scream\", profile = \"rfc8298\" }",
    "{ kind = \"scream\", profile = \"robust\" }",
    "{ kind = \"gcc\", profile = \"libwebrtc\" }",
    "\"urcp\"",
    "\"um\"",
];
/// Flows whose packets can be marked: so many of the controllers, with either kind of marks, and with one stream or two.
const MARKED: usize = 2 * 4;
/// Flows whose packets cannot be marked: each controller with either format of reports, and with one stream or two.
const UNMARKED: usize = CONTROLLERS.len() * 4;
/// Number of flows. A script's first byte, modulo this, says which it is.
pub const FLOWS: usize = UNMARKED + MARKED;

/// Where clocks and numbers of a session begin.
#[derive(Clone, Copy)]
pub(super) struct Beginnings {
    /// Time of the receiver's machine at the sender's zero, and its reports at that of its session.
    clock: TimeDelta,
    /// Sequence numbers of the streams.
    numbers: [u16; 2],
    /// The number that all streams share.
    shared: u16,
    /// The RTP timestamp of the sender's zero.
    timestamp: u32,
}

impl Beginnings {
    /// One byte says what the next ones give; the rest is such that numbers wrap soon.
    pub fn read(script: &mut Script<'_>) -> Beginnings {
        let given = script.byte();
        let mut of = |bit: u8, other: u32| if given >> bit & 1 == 1 { script.word() } else { other };
        let (clock, numbers, timestamp) = (of(0, 0), of(1, 65_300 << 16 | 65_300), of(2, 0));
        // A prime number of nanoseconds, so that the clock lies anyhow to all that ticks; up to 2.3 years.
        let clock = TimeDelta::from_nanos(i64::from(clock) * 16_777_259);
        let [first, second] = [numbers as u16, (numbers >> 16) as u16];
        let shared = if given & 8 == 0 { first } else { first ^ second.swap_bytes() };
        Beginnings { clock: TimeDelta::from_secs(1000) + clock, numbers: [first, second], shared, timestamp }
    }
}

fn scenario(kind: usize) -> Loaded {
    let (place, controllers, formats) = if kind < UNMARKED {
        (kind, CONTROLLERS.len(), ["feedback = { format = \"rfc8888\" }", "feedback = { format = \"twcc\" }"])
    } else {
        (kind - UNMARKED, MARKED / 4, ["ecn = \"classic\"", "ecn = \"l4s\""])
    };
    let controller = CONTROLLERS[place % controllers];
    let format = formats[place / controllers % 2];
    let source = "source = { kind = \"cbr\", rate = \"1Mbps\", adaptive = true, fps = 30 }";
    let media = match place / controllers / 2 {
        0 => format!("{source}\n"),
        _ => format!("[flows.f.streams.one]\n{source}\n[flows.f.streams.two]\n{source}\n"),
    };
    let text = format!(
        "duration = \"1000s\"\nsample = \"10s\"\n[links.l]\nrate = \"10Mbps\"\nqueue = {{ packets = 100 }}\n[flows.f]\n\
         path = [\"l\"]\ncontroller = {controller}\n{format}\n{media}"
    );
    load(&Origin { text: &text, file: "script.toml", sets: &[] }, &Loader::default()).expect("a scenario")
}

/// The one flow of its kind. Scenarios are read once for all scripts.
fn flow(kind: usize) -> ChosenFlow<'static> {
    static SCENARIOS: OnceLock<Vec<Loaded>> = OnceLock::new();
    let scenarios = SCENARIOS.get_or_init(|| (0..FLOWS).map(scenario).collect());
    ChosenFlow::of(&scenarios[kind % FLOWS], None).expect("the only flow")
}

pub(super) fn address(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

/// A sender as receivers know it: its address and its SSRC, of several streams that of the first.
type Peer = (SocketAddr, Ssrcs);

/// Packets, and their size together.
#[derive(Default)]
pub(super) struct Outstanding {
    packets: BTreeMap<(StreamId, u64), Bytes>,
    size: Bytes,
}

impl Outstanding {
    fn insert(&mut self, packet: (StreamId, u64), size: Bytes) {
        self.size += size - self.packets.insert(packet, size).unwrap_or(Bytes::ZERO);
    }

    fn remove(&mut self, packet: (StreamId, u64)) {
        self.size -= self.packets.remove(&packet).unwrap_or(Bytes::ZERO);
    }

    pub fn contains(&self, packet: (StreamId, u64)) -> bool {
        self.packets.contains_key(&packet)
    }
}

/// A sender, a receiver, perhaps a relay between them, and the packets under way.
pub(super) struct Call {
    pub now: Time,
    receivers_zero: TimeDelta,
    pub sender: RtpSender<AnyController>,
    pub sending: RtpSendingCodec<AnyController>,
    pub format: FeedbackFormat,
    relay: Option<Filter>,
    receiving: RtpReceivingCodec,
    session: Option<Session<'static>>,
    flow: ChosenFlow<'static>,
    config: SessionParts<'static>,
    /// To the receiver, and to the sender.
    pub ways: [VecDeque<(Vec<u8>, Ecn)>; 2],
    /// Of sender, relay and receiver.
    counters: [NetCounters; 3],
    pub limits: Vec<Limits>,
    /// Numbers of the streams' next packets, and the next that all share.
    pub next: (Vec<u64>, u16),
    /// The packets that no report has said to have arrived.
    pub outstanding: Outstanding,
    /// The peer that the receiver listens to, how often it has heard it, and when.
    heard: Option<(Peer, usize, Time)>,
    /// The packets of each stream that were sent since somebody asked last: their numbers, and whether their media was fresh.
    pub sent: BTreeMap<StreamId, Vec<(u64, bool)>>,
}

impl Call {
    /// Nothing has been sent.
    pub fn new(kind: usize, relayed: bool, begin: Beginnings) -> Call {
        let flow = flow(kind);
        let Over::Rtp(parts) = flow.over else { unreachable!("the scenarios are of RTP") };
        let (streams, format) = (parts.streams.len(), parts.feedback.format);
        let numbers = &begin.numbers[..streams];
        let guards = (CircuitBreakers::Timeouts, EcnChecks::Off);
        let world = SendingWorld { guards, ..SendingWorld::plain(numbers) };
        let mut sender = parts.sending_end(flow.parts.controller.clone(), &world);
        if parts.is_transport_wide() {
            sender.number_transport_wide(begin.shared);
        }
        // The path is as fast as anything, so that what the application allows is what limits the rate.
        let (min, max) = (Bitrate::from_kbps(10), Bitrate::from_kbps(500));
        let limits = |stream| Limits { stream: StreamId(stream as u8), min, max };
        Call {
            now: Time::ZERO,
            receivers_zero: begin.clock,
            sender,
            sending: RtpSendingCodec::new(
                (Ssrcs::new(SSRC, streams), begin.timestamp),
                streams,
                format,
                false,
            ),
            format,
            relay: relayed.then(|| flow.over.filter(None)),
            receiving: RtpReceivingCodec::new(parts, None),
            session: None,
            flow,
            config: SessionParts {
                feedback: FeedbackConfig { start: begin.clock, ..parts.feedback.clone() },
                ..parts.receiving(None, false)
            },
            ways: [VecDeque::new(), VecDeque::new()],
            counters: [NetCounters::default(); 3],
            limits: (0..streams).map(limits).collect(),
            next: (numbers.iter().map(|first| u64::from(*first)).collect(), begin.shared),
            outstanding: Outstanding::default(),
            heard: None,
            sent: BTreeMap::new(),
        }
    }

    pub fn start(&mut self) -> Result<(), String> {
        for limits in &self.limits {
            self.sender.set_limits(self.now, limits);
        }
        self.sender.start(self.now);
        self.settle()
    }

    /// Whether a circuit breaker has ended the flow.
    pub fn is_over(&self) -> bool {
        self.sender.broken().is_some()
    }

    fn moment(&self) -> Moment {
        Moment::from_nanos((self.now + self.receivers_zero).as_nanos())
    }

    /// Everything that both ends want to send goes under way.
    pub fn settle(&mut self) -> Result<(), String> {
        for count in 0.. {
            let Some(transmit) = self.sender.poll_transmit(self.now) else { break };
            if count == ENDLESS {
                return Err("the sender never stops sending".into());
            }
            let (stream, number) = (transmit.packet.stream, transmit.packet.sequence);
            let expected = &mut self.next.0[usize::from(stream.0)];
            if number != *expected {
                return Err(format!("sent {number} of {stream:?}, expected {expected}"));
            }
            *expected += 1;
            if self.format.is_transport_wide() {
                self.next.1 = transmit.packet.transport.wrapping_add(1);
            }
            self.outstanding.insert((stream, number), transmit.size);
            let fresh = self.now.saturating_since(transmit.packet.captured) <= FRESH;
            self.sent.entry(stream).or_default().push((number, fresh));
            let mut bytes = Vec::new();
            self.sending.encode(self.now, &transmit.packet, &mut bytes);
            self.put(0, bytes, transmit.ecn);
        }
        self.report()?;
        self.check()
    }

    /// The receiver does what is due; its reports go under way, if they go to the sender.
    fn report(&mut self) -> Result<(), String> {
        let moment = self.moment();
        if let Some(session) = &mut self.session {
            let now = session.clock.time_of(moment);
            session.handle_timeout(now, |report| self.receiving.report(report));
        }
        let mut bytes = Vec::new();
        while let Some(to) = self.receiving.poll_transmit(self.now, &mut bytes) {
            if bytes.len() > LARGEST_REPORT {
                return Err(format!("a report of {} bytes", bytes.len()));
            }
            let bytes = core::mem::take(&mut bytes);
            if to == address(SENDER) {
                self.put(1, bytes, Ecn::NotEct);
            }
        }
        Ok(())
    }

    fn put(&mut self, way: usize, bytes: Vec<u8>, ecn: Ecn) {
        if self.ways[way].len() < UNDER_WAY {
            self.ways[way].push_back((bytes, ecn));
        }
    }

    /// Checks the properties that hold at any time.
    fn check(&self) -> Result<(), String> {
        let outstanding = self.outstanding.size;
        let snapshot = self.sender.controller().snapshot();
        if let Some(flight) = snapshot.in_flight.filter(|flight| *flight > outstanding) {
            return Err(format!("{flight:?} in flight, {outstanding:?} not known to have arrived"));
        }
        for limits in &self.limits {
            let target = self.sender.target(limits.stream).ok_or("the stream is gone")?;
            if limits.clamp(target) != target {
                return Err(format!("the encoder is told {target:?}, outside of {limits:?}"));
            }
        }
        Ok(())
    }

    /// Time passes, and both ends do what is due at its own time.
    pub fn pass(&mut self, span: TimeDelta) -> Result<(), String> {
        let until = self.now + span;
        let mut same = 0;
        loop {
            let sender = self.sender.next_timeout().map(|(due, _)| due);
            let receiver = self.session.as_ref().map(|session| session.next());
            let receiver = receiver.map(|due| Time::from_nanos(due.as_nanos()) - self.receivers_zero);
            let next = sender.into_iter().chain(receiver).min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            same = if next > self.now { 0 } else { same + 1 };
            if same > ENDLESS {
                return Err(format!("time stands still at {:?}: {sender:?}, {receiver:?}", self.now));
            }
            self.now = self.now.max(next);
            self.sender.handle_timeout(self.now);
            let moment = self.moment();
            if let Some(session) = &mut self.session {
                session.tick(session.clock.time_of(moment), &|_| ());
            }
            self.settle()?;
        }
        self.now = until;
        Ok(())
    }

    /// A datagram under way arrives, and stays under way if it comes `again`. False if there is none.
    pub fn deliver(&mut self, way: usize, at: usize, again: bool) -> Result<bool, String> {
        let Some(at) = at.checked_rem(self.ways[way].len()) else { return Ok(false) };
        let found = if again { self.ways[way].get(at).cloned() } else { self.ways[way].remove(at) };
        let Some((bytes, ecn)) = found else { return Ok(false) };
        self.arrive(way, if way == 0 { SENDER } else { RECEIVER }, &bytes, ecn)?;
        Ok(true)
    }

    pub fn deliver_all(&mut self, way: usize) -> Result<(), String> {
        while self.deliver(way, 0, false)? {}
        Ok(())
    }

    /// A datagram from `port` comes to the other end, unless the relay refuses it.
    pub fn arrive(&mut self, way: usize, port: u16, bytes: &[u8], ecn: Ecn) -> Result<(), String> {
        let moment = self.moment();
        let datagram = Datagram { bytes, from: address(port), ecn, arrived: moment, read: moment };
        if let Some(relay) = &mut self.relay {
            let passes = match way {
                0 => {
                    let passes = relay.admit(self.now, &datagram, &mut self.counters[1]).is_some();
                    while let Some(held) = self.relay.as_mut().and_then(Filter::poll_held) {
                        let admitted = |relay: &mut Filter| {
                            relay.admit(self.now, &held.datagram(), &mut self.counters[1])
                        };
                        if self.relay.as_mut().and_then(admitted).is_some() {
                            self.take_all(&held.datagram())?;
                        }
                    }
                    passes
                }
                _ => {
                    relay.is_answer(bytes) && relay.target(bytes).is_some_and(|(to, _)| to == address(SENDER))
                }
            };
            if !passes {
                return Ok(());
            }
        }
        if way == 0 { self.take_all(&datagram) } else { self.hear(&datagram) }
    }

    /// The receiver takes a datagram, and those that it had held, as its driver does.
    fn take_all(&mut self, datagram: &Datagram<'_>) -> Result<(), String> {
        self.take(datagram)?;
        while let Some(held) = self.receiving.poll_held() {
            self.take(&held.datagram())?;
        }
        Ok(())
    }

    fn take(&mut self, datagram: &Datagram<'_>) -> Result<(), String> {
        let Call { now, receiving, session, flow, config, counters, heard, .. } = self;
        let (now, mut displaced) = (*now, None);
        let ssrc = rtp::decode(datagram.bytes).map_or(0, |view| view.header.ssrc);
        let from = (datagram.from, Ssrcs::with(ssrc, config.streams));
        let mut refused = NetCounters::default();
        receiving.receive(now, datagram, &mut counters[2], |packet: SessionPacket<'_>| {
            if packet.is_of_session() {
                let (peer, times, last) = heard.unwrap_or((from, 0, now));
                let same = peer == from;
                let silence = if peer.1 == from.1 && !packet.begins { MOVED } else { SILENCE };
                if !same && times > 1 && now.saturating_since(last) < silence {
                    displaced = Some((peer, last));
                }
                *heard = Some((from, if same { times + 1 } else { 1 }, now));
            }
            let begins = packet.begins || session.is_none();
            if let Some(data) = packet.data.filter(|_| begins && packet.is_of_session()) {
                *session = Some(Session::open(*flow, config.clone(), data.payload, datagram));
            }
            if let Some(session) = session {
                session.take(datagram, &packet, &mut refused);
            }
        });
        if let Some((peer, last)) = displaced {
            return Err(format!("{peer:?}, heard at {last:?}, gives way to {from:?} at {now:?}"));
        }
        self.report()
    }

    /// The sender reads what comes from its receiver's address, and notes what is new of its packets.
    fn hear(&mut self, datagram: &Datagram<'_>) -> Result<(), String> {
        let Call { now, sender, sending, counters, outstanding, .. } = self;
        let mut unsent = None;
        sending.receive(*now, datagram, sender, &mut counters[0], |told| {
            let packet = (told.stream, told.number);
            if told.number >= self.next.0[usize::from(told.stream.0)] {
                unsent = Some(packet);
            }
            if told.status != Status::Missing {
                outstanding.remove(packet);
            }
        });
        unsent.map_or(Ok(()), |packet| Err(format!("believed a report on {packet:?}, which was not sent")))
    }
}
