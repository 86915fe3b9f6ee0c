//! Any bytes are what happens to a connection: what arrives, when, how often and in which order, and segments that nobody
//! sent; against an independent model of what was sent, acknowledged and received.
//!
//! It needs only the module and the crates below, so that the fuzz target `tcp_segments` takes this very file in
//! by its path.

#[path = "../../../units/tests/script/mod.rs"]
mod bytes;

use bytes::Script;
use paceline_cc::FlowSetup;
use paceline_cc::{Controller, bbr, bbr3, cubic, dctcp, ledbat, prague, reno, vegas};
use paceline_ends::SendingEnd;
use paceline_ends::{PathFacts, ReceivingEnd, Transmit};
use paceline_media::{Bulk, BulkParams, Cbr, CbrParams, Source};
use paceline_tcp::{
    Congestion, EcnEcho, EcnSupport, Flags, RecoveryKind, SackBlocks, Segment, TcpConfig, TcpReceiver,
    TcpSender, stamp,
};
use paceline_units::{Bytes, CongestionHeader, Ecn, Feedback, Time, TimeDelta};
use std::collections::VecDeque;

/// Far more packets than any window here: a sender that sends as many at one time never stops.
const ENDLESS: usize = 10_000;
/// Most segments that are under way, each way; others are lost.
const UNDER_WAY: usize = 4096;

/// Runs `bytes` against a connection. The first bytes choose its parameters; if its highest bit says that nobody is
/// hostile, everything that was sent arrives in the end.
///
/// # Errors
/// Says which promise was broken. A panic is a broken promise too.
pub fn drive(bytes: &[u8]) -> Result<(), String> {
    let mut script = Script { bytes, at: 0 };
    let choice = script.byte();
    let config = config(choice, &mut script);
    let setup = FlowSetup {
        largest_packet: config.packet_size,
        initial_window: config.initial_window,
        max_window: config.max_window,
        l4s: config.ect == Ecn::Ect1,
        ..FlowSetup::new(Bytes::ZERO)
    };
    let hostile = choice & 0x80 != 0;
    match choice % 6 {
        0 => run(reno::Reno::new(&reno::Params::default(), &setup), &config, hostile, script),
        1 => run(cubic::Cubic::new(&cubic::Params::default(), &setup), &config, hostile, script),
        2 if choice & 0x20 != 0 => {
            run(prague::Prague::new(&prague::Params::default(), &setup), &config, hostile, script)
        }
        2 => run(dctcp::Dctcp::new(&dctcp::Params::default(), &setup), &config, hostile, script),
        3 => run(vegas::Vegas::new(&vegas::Params::default(), &setup), &config, hostile, script),
        4 => run(ledbat::Ledbat::new(&ledbat::Params::default(), &setup), &config, hostile, script),
        _ if choice & 0x40 != 0 => {
            run(bbr3::Bbr3::new(&bbr3::Params::default(), &setup), &config, hostile, script)
        }
        _ => run(bbr::Bbr::new(&bbr::Params::default(), &setup), &config, hostile, script),
    }
}

fn run<C: Controller>(
    controller: C,
    config: &TcpConfig,
    hostile: bool,
    mut script: Script<'_>,
) -> Result<(), String> {
    let mut pair = Pair::new(controller, config, hostile, &mut script);
    pair.sender.start(pair.now);
    pair.settle()?;
    while script.at < script.bytes.len() {
        pair.operation(&mut script)?;
        pair.settle()?;
    }
    if hostile { Ok(()) } else { pair.finish() }
}

impl Script<'_> {
    fn bit(&mut self) -> bool {
        self.byte() & 1 != 0
    }

    /// Any number, and often one at an edge or so many `steps` from `near`.
    fn number(&mut self, near: u32, step: u32) -> u32 {
        match self.byte() % 8 {
            0 => self.word(),
            1 => [0, 1, u32::MAX, 1 << 31][usize::from(self.byte() % 4)],
            2 => near.wrapping_add(u32::from(self.byte())).wrapping_sub(128),
            3 => near.wrapping_add((1 << 31) - 2 + u32::from(self.byte() % 4)),
            _ => near.wrapping_add((i32::from(self.byte()) - 64).wrapping_mul(step as i32) as u32),
        }
    }
}

fn config(choice: u8, script: &mut Script<'_>) -> TcpConfig {
    use RecoveryKind::{NewReno, RackTlp, Reno, Sack, Tahoe};
    let switches = script.byte();
    let sizes = script.byte();
    let packet_size = Bytes::new([1000, 1500, 41, 576][usize::from(sizes % 4)]);
    TcpConfig {
        packet_size,
        recovery: if choice & 0x40 != 0 {
            RackTlp
        } else {
            [Sack, NewReno, Reno, Tahoe][usize::from(switches % 4)]
        },
        handshake: switches & 4 != 0,
        limited_transmit: switches & 8 == 0,
        timestamps: choice & 1 != 0,
        prr: switches & 16 == 0,
        impatient: switches & 32 == 0,
        one_sample: switches & 64 != 0,
        ect: match switches & 128 {
            0 => Ecn::NotEct,
            _ if choice & 0x20 != 0 => Ecn::Ect1,
            _ => Ecn::Ect0,
        },
        ecn_echo: match sizes & 4 {
            _ if choice & 0x20 != 0 => EcnEcho::Accurate,
            0 => EcnEcho::Rfc3168,
            _ => EcnEcho::Exact,
        },
        receiver_ecn: match choice >> 3 & 3 {
            0 => EcnSupport::Classic,
            1 => EcnSupport::None,
            _ => EcnSupport::Accurate,
        },
        clock: TimeDelta::from_millis(if sizes & 8 != 0 { 10 } else { 0 }),
        ack_every: 1 + u32::from(sizes >> 4 & 3),
        duplicate_acks: 3 - u32::from(sizes >> 6).min(2),
        // The laws may come to any window after leaps of days, so that there is always a limit.
        max_window: Some(match script.byte() {
            segments @ 1..128 => Bytes::new(packet_size.as_u64() * u64::from(segments)),
            _ => Bytes::new(packet_size.as_u64() * 2000),
        }),
        initial_sequence: script.number(0, 1000),
        min_rto: TimeDelta::from_millis(1 + i64::from(script.byte()) * 4),
        ..TcpConfig::default()
    }
}

/// A segment that is not acknowledged whole: offset behind it, size on the link, and whether it was sent again.
struct Outstanding {
    end: u64,
    size: Bytes,
    again: bool,
}

/// Both ends, what is under way between them, and what must be true.
struct Pair<C> {
    config: TcpConfig,
    sender: TcpSender<C>,
    receiver: TcpReceiver,
    now: Time,
    forward: Vec<(Segment, Ecn)>,
    back: Vec<Segment>,
    hostile: bool,
    /// How much the source writes in all, if it ends of itself.
    length: Option<u64>,
    /// The source writes by itself, so that time cannot leap.
    writes: bool,
    /// Offset behind everything that was sent, and behind all that the sender knows to have arrived.
    sent: u64,
    acked: u64,
    /// The segments between the two, and the last that may be acknowledged in part.
    outstanding: VecDeque<Outstanding>,
    /// The largest window that the sender was told of.
    window: u64,
    /// Acknowledgements that the sender was handed.
    acks: u64,
    reset: bool,
    arrived: Pieces,
    fin: Option<u64>,
    /// Number acknowledged before the last segment arrived.
    held: u32,
    /// The newest timestamp that the receiver was handed.
    newest_stamp: u32,
    /// Segments sent again beyond the window, at this point in time.
    forced: u32,
    /// How many acknowledgements had come when a probe left beyond the window.
    probed_at: Option<u64>,
}

impl<C: Controller> Pair<C> {
    fn new(controller: C, config: &TcpConfig, hostile: bool, script: &mut Script<'_>) -> Pair<C> {
        let kind = script.byte();
        let length = (kind % 4 == 1).then(|| u64::from(script.byte()) * config.mss() + u64::from(kind));
        let source = match kind % 4 {
            0 | 1 => {
                let payload = Bytes::new(config.mss());
                let params =
                    BulkParams { length: length.map(Bytes::new), ..BulkParams::for_payload(payload) };
                Source::Bulk(Bulk::new(params))
            }
            _ => Source::Cbr(Cbr::new(CbrParams::default())),
        };
        Pair {
            config: *config,
            sender: TcpSender::new(controller, config, source, 0),
            receiver: TcpReceiver::new(config, 0),
            now: Time::from_nanos(1_000_000_000),
            forward: Vec::new(),
            back: Vec::new(),
            hostile,
            length,
            writes: kind % 4 > 1,
            sent: 0,
            acked: 0,
            outstanding: VecDeque::new(),
            window: config.receive_window(),
            acks: 0,
            reset: false,
            arrived: Pieces::default(),
            fin: None,
            held: 0,
            newest_stamp: 0,
            forced: 0,
            probed_at: None,
        }
    }

    fn operation(&mut self, script: &mut Script<'_>) -> Result<(), String> {
        let code = script.byte();
        let which = usize::from(code >> 4) | usize::from(code & 0x80);
        match code % 16 {
            0 | 1 => self.arrives(0, true, false),
            2 => self.arrives(which, true, false),
            3 => self.arrives(which, false, false),
            4 => self.arrives(which, true, true),
            5 => {
                lose(&mut self.forward, which);
                Ok(())
            }
            6 => {
                lose(&mut self.back, which);
                Ok(())
            }
            7 | 8 => self.acknowledged(which, true),
            9 => self.acknowledged(which, false),
            10 => {
                let due = self.due();
                self.now = self.now.max(due.unwrap_or(self.now));
                Ok(())
            }
            11 => {
                self.pass(script);
                Ok(())
            }
            12 | 13 if self.hostile => {
                let segment = self.invented(script, self.acked);
                self.hand_to_sender(&segment)
            }
            14 if self.hostile => {
                let mut segment = self.invented(script, self.arrived.first());
                (segment.sequence, segment.acknowledgment) = (segment.acknowledgment, segment.sequence);
                self.hand_to_receiver(&segment, Ecn::from_bits(code >> 4))
            }
            15 => {
                self.command(script);
                Ok(())
            }
            _ => self.acknowledged(0, true),
        }
    }

    /// A segment of those under way reaches the receiver, and stays under way unless it is `taken`.
    fn arrives(&mut self, which: usize, taken: bool, marked: bool) -> Result<(), String> {
        let Some((segment, ecn)) = choose(&mut self.forward, which, taken) else { return Ok(()) };
        let ecn = if marked && ecn != Ecn::NotEct { Ecn::Ce } else { ecn };
        self.hand_to_receiver(&segment, ecn)
    }

    fn acknowledged(&mut self, which: usize, taken: bool) -> Result<(), String> {
        let Some(segment) = choose(&mut self.back, which, taken) else { return Ok(()) };
        self.hand_to_sender(&segment)
    }

    fn pass(&mut self, script: &mut Script<'_>) {
        let exponent = u32::from(script.byte()) % if self.writes { 33 } else { 50 };
        self.now += TimeDelta::from_nanos((1 << exponent) + i64::from(script.byte()));
    }

    fn command(&mut self, script: &mut Script<'_>) {
        match script.byte() {
            0 => self.sender.pause(self.now),
            1 => self.sender.resume(self.now),
            2 => {
                self.sender.stop(self.now);
                self.length = None;
            }
            3 => self.sender.start(self.now),
            _ => {}
        }
    }

    fn begin(&self) -> u32 {
        self.config.initial_sequence.wrapping_add(1)
    }

    /// A segment that nobody sent, about the byte at `near`.
    fn invented(&self, script: &mut Script<'_>, near: u64) -> Segment {
        let step = self.config.mss() as u32;
        let near = self.begin().wrapping_add(near as u32);
        let acknowledgment = script.number(near, step);
        let flags = match script.byte() {
            odd @ 0..32 => Flags(u16::from(odd << 3 | odd >> 2)),
            plain => Flags::ACK.and(Flags::of_ace(plain.into())),
        };
        let mut sack = SackBlocks::none();
        for _ in 0..script.byte() % 5 {
            let begin = script.number(near, step);
            sack.push(begin, script.number(begin, step));
        }
        Segment {
            connection: u16::from(script.byte() == 255),
            flags,
            sequence: if script.bit() { self.begin() } else { script.number(self.begin(), 1) },
            acknowledgment,
            window: match script.byte() {
                0 => 0,
                1 => script.word(),
                2 => step,
                _ => self.config.receive_window() as u32,
            },
            payload: match script.byte() % 8 {
                0 => script.number(0, step),
                1..4 => step,
                _ => 0,
            },
            timestamp: match script.byte() {
                byte @ 0..64 => script.number(stamp(self.now), u32::from(byte)),
                _ => stamp(self.now),
            },
            sack,
            congestion: match script.byte() {
                0 => Congestion::Feedback(f32::from_bits(script.word())),
                1 => Congestion::Header(CongestionHeader {
                    rtt: f32::from_bits(script.word()),
                    spacing: f32::from_bits(script.word()),
                    feedback: f32::from_bits(script.word()),
                    kind: if script.byte() < 128 { Feedback::Change } else { Feedback::Rate },
                }),
                _ => Congestion::None,
            },
        }
    }

    fn hand_to_sender(&mut self, segment: &Segment) -> Result<(), String> {
        let ignored = self.sender.counters().ignored;
        self.sender.receive(self.now, *segment, Ecn::NotEct);
        self.acks += 1;
        if self.sender.counters().ignored > ignored {
            return Ok(());
        }
        self.window = self.window.max(u64::from(segment.window));
        self.reset |= segment.flags.has(Flags::RST);
        // Data that the sender may take for acknowledged was sent; behind it a FIN may count.
        let acked =
            u64::from(segment.acknowledgment.wrapping_sub(self.begin().wrapping_add(self.acked as u32)));
        if !self.reset && acked < 1 << 31 && segment.flags.has(Flags::ACK) {
            if self.acked + acked > self.sent + 1 {
                return Err(format!("took {segment:?}, sent {}", self.sent));
            }
            self.acked = (self.acked + acked).min(self.sent);
            let whole = self.outstanding.partition_point(|segment| segment.end <= self.acked);
            self.outstanding.drain(..whole);
        }
        Ok(())
    }

    fn hand_to_receiver(&mut self, segment: &Segment, ecn: Ecn) -> Result<(), String> {
        let ignored = self.receiver.ignored();
        let first = self.arrived.first();
        self.held = self.begin().wrapping_add((first + u64::from(self.fin == Some(first))) as u32);
        let duplicates = self.receiver.duplicates();
        let payload = self.receiver.receive(self.now, *segment, ecn, PathFacts::default()).payload;
        let duplicate = self.receiver.duplicates() > duplicates;
        if !self.hostile && self.receiver.ignored() > ignored && segment.payload > 0 {
            let missing = segment.sequence.wrapping_add(segment.payload).wrapping_sub(self.begin());
            // RFC 7323 section 5.3: a late segment from before a retransmission that arrived is not let in.
            let old = (segment.timestamp.wrapping_sub(self.newest_stamp) as i32) < 0;
            if !old && missing.wrapping_sub(first as u32) as i32 > 0 {
                return Err(format!("of what was sent this was ignored, with {first} received: {segment:?}"));
            }
        }
        self.newest_stamp = self.newest_stamp.max(segment.timestamp);
        if payload == Bytes::ZERO && !duplicate {
            // Nothing of it is there; the FIN of a segment without payload may be.
            if segment.flags.has(Flags::FIN) && self.receiver.ignored() == ignored && segment.payload == 0 {
                self.note_fin(segment, first);
            }
            return Ok(());
        }
        let ahead = segment.sequence.wrapping_sub(self.begin()).wrapping_sub(first as u32) as i32;
        let Some(offset) = first.checked_add_signed(i64::from(ahead)) else {
            return Err(format!("took {segment:?}, before the beginning"));
        };
        let end = offset + u64::from(segment.payload);
        if end > first + self.config.receive_window() {
            return Err(format!("took {offset}..{end} beyond the window of {first}"));
        }
        self.note_fin(segment, first);
        let new = self.arrived.add(offset, end);
        if payload.as_u64() != new || duplicate != (new == 0) {
            return Err(format!(
                "{offset}..{end} has {new} new bytes, said {payload:?}, duplicate: {duplicate}"
            ));
        }
        if !self.hostile && end > self.sent {
            return Err(format!("received {end}, sent {}", self.sent));
        }
        Ok(())
    }

    fn note_fin(&mut self, segment: &Segment, first: u64) {
        let ahead = segment.sequence.wrapping_sub(self.begin()).wrapping_sub(first as u32) as i32;
        let other = segment.flags.0 & (Flags::SYN.0 | Flags::RST.0) != 0;
        if segment.flags.has(Flags::FIN) && !other && self.fin.is_none() {
            self.fin = first.checked_add_signed(i64::from(ahead)).map(|at| at + u64::from(segment.payload));
        }
    }

    /// When either end wants to be woken.
    fn due(&self) -> Option<Time> {
        let next = [self.sender.next_timeout(), self.receiver.next_timeout()];
        next.into_iter().flatten().map(|(due, _)| due).min()
    }

    /// A driver's steps until nothing is due: timers, segments, acknowledgements.
    fn settle(&mut self) -> Result<(), String> {
        if self.sender.next_timeout().is_some_and(|(due, _)| due <= self.now) {
            self.sender.handle_timeout(self.now);
        }
        self.transmit()?;
        let mut acks = 0;
        while let Some(Transmit { packet: ack, .. }) = self.receiver.poll_transmit(self.now) {
            acks += 1;
            if acks > 2 {
                return Err("acknowledges without end".into());
            }
            self.check_ack(&ack)?;
            if self.back.len() < UNDER_WAY {
                self.back.push(ack);
            }
        }
        let due = self.due().filter(|due| *due <= self.now);
        if due.is_some() {
            return Err(format!("still due at {due:?}, now {:?}: a driver would never sleep", self.now));
        }
        // Blocks of an unknown peer take back what they told; the window holds even so, which `check_window` sees.
        let told_lies = self.hostile && self.config.recovery.is_selective();
        let (counted, in_flight) = (self.sender.controller().snapshot().in_flight, self.sender.in_flight());
        if !told_lies && counted.is_some_and(|counted| counted != in_flight) {
            return Err(format!("the controller counts {counted:?} in flight, the connection {in_flight:?}"));
        }
        let most = self.most_in_flight();
        if in_flight > most {
            return Err(format!("{in_flight:?} in flight, of what was sent {most:?} at most"));
        }
        Ok(())
    }

    /// Each segment that is outstanding is in flight once, and once more if selective acknowledgements let it leave again
    /// before it was lost (RFC 6675 section 4, SetPipe).
    fn most_in_flight(&self) -> Bytes {
        let selective = self.config.recovery == RecoveryKind::Sack;
        let times = |segment: &Outstanding| if selective && segment.again { 2 } else { 1 };
        self.outstanding.iter().map(|segment| Bytes::new(segment.size.as_u64() * times(segment))).sum()
    }

    fn transmit(&mut self) -> Result<(), String> {
        self.forced = 0;
        for _ in 0..ENDLESS {
            let window = self.sender.controller().snapshot().window;
            let before = self.sender.counters().retransmissions;
            let Some(out) = self.sender.poll_transmit(self.now) else { return Ok(()) };
            let again = self.sender.counters().retransmissions > before;
            if self.reset {
                return Err(format!("sent {out:?} after a reset"));
            }
            self.check_sent(&out, again, window)?;
            if self.forward.len() < UNDER_WAY {
                self.forward.push((out.packet, out.ecn));
            }
        }
        Err("sends without end".into())
    }

    fn check_sent(
        &mut self,
        out: &Transmit<Segment>,
        again: bool,
        window: Option<Bytes>,
    ) -> Result<(), String> {
        let segment = &out.packet;
        if segment.flags.has(Flags::SYN) {
            let first = segment.sequence == self.config.initial_sequence && self.sent == 0;
            return first.then_some(()).ok_or_else(|| format!("SYN in the middle: {out:?}"));
        }
        let offset = self.sent.checked_add_signed(i64::from(
            segment.sequence.wrapping_sub(self.begin()).wrapping_sub(self.sent as u32) as i32,
        ));
        let payload = u64::from(segment.payload);
        let Some(offset) = offset.filter(|_| payload > 0 && payload <= self.config.mss()) else {
            return Err(format!("sent {out:?}"));
        };
        if again {
            let known = offset + payload <= self.acked || offset + payload > self.sent;
            if known {
                return Err(format!("sent {offset} again for nothing"));
            }
            let place = self.outstanding.partition_point(|segment| segment.end <= offset);
            self.outstanding[place].again = true;
            // The first lost segment of a recovery leaves whatever the window says.
            let beyond = self.check_window(window);
            self.forced += u32::from(beyond.is_err());
            return if self.forced > 1 { beyond } else { Ok(()) };
        }
        if offset != self.sent {
            return Err(format!("new data at {offset}, expected at {}", self.sent));
        }
        self.sent += payload;
        self.outstanding.push_back(Outstanding { end: self.sent, size: segment.size(), again: false });
        if self.length.is_some_and(|length| self.sent > length) {
            return Err(format!("sent {} of {:?}", self.sent, self.length));
        }
        if self.sent - self.acked > self.window {
            return Err(format!(
                "sent {} beyond {}, window {}",
                self.sent - self.acked,
                self.acked,
                self.window
            ));
        }
        match self.check_window(window) {
            Err(_) if self.config.recovery == RecoveryKind::RackTlp && self.probed_at != Some(self.acks) => {
                // RFC 8985 section 7.3: one probe beyond the window, until something is heard of it.
                self.probed_at = Some(self.acks);
                Ok(())
            }
            judged => judged,
        }
    }

    /// With selective acknowledgements what is in flight never grows beyond the controller's window; PRR leaves it in
    /// proportion to what arrives, and without either each acknowledgement may let a segment more go.
    fn check_window(&self, window: Option<Bytes>) -> Result<(), String> {
        let more = match (self.config.recovery, self.config.prr) {
            (RecoveryKind::Sack | RecoveryKind::RackTlp, true) => return Ok(()),
            (RecoveryKind::Sack | RecoveryKind::RackTlp, false) => 0,
            _ => self.acks + u64::from(self.config.duplicate_acks),
        };
        let in_flight = self.sender.in_flight();
        match window {
            Some(window) if in_flight > window + Bytes::new(self.config.packet_size.as_u64() * more) => {
                Err(format!("{in_flight:?} in flight, the window is {window:?}"))
            }
            _ => Ok(()),
        }
    }

    fn check_ack(&self, ack: &Segment) -> Result<(), String> {
        if ack.flags.has(Flags::SYN) {
            return Ok(());
        }
        let first = self.arrived.first();
        let fin = u64::from(self.fin == Some(first));
        let expected = self.begin().wrapping_add((first + fin) as u32);
        // Data held back when the mark changed is acknowledged as it was (RFC 8257 section 3.2).
        let held = self.config.ecn_echo == EcnEcho::Exact && ack.acknowledgment == self.held;
        if !held && ack.acknowledgment != expected || ack.payload != 0 {
            return Err(format!("{ack:?} acknowledges, expected {expected}"));
        }
        for (place, (begin, end)) in ack.sack.iter().enumerate() {
            let ahead = |number: u32| {
                let ahead = number.wrapping_sub(self.begin()).wrapping_sub(first as u32) as i32;
                first.checked_add_signed(i64::from(ahead)).unwrap_or(u64::MAX)
            };
            let (begin, end) = (ahead(begin), ahead(end));
            let there = begin < end && self.arrived.has(begin, end);
            if !there || place > 0 && begin <= first {
                return Err(format!("block {begin}..{end} of {:?}, first missing {first}", self.arrived.0));
            }
        }
        Ok(())
    }

    /// The network is well again: everything that was sent arrives, and is known to have.
    fn finish(&mut self) -> Result<(), String> {
        match self.length {
            Some(_) => self.sender.resume(self.now),
            None => self.sender.stop(self.now),
        }
        self.sender.start(self.now);
        self.settle()?;
        for _ in 0..100 * ENDLESS {
            let whole =
                self.length.is_none_or(|length| length == self.sent) && self.arrived.first() == self.sent;
            if whole && self.sender.completed_at().is_some() {
                return Ok(());
            }
            if self.forward.is_empty() && self.back.is_empty() {
                let due = self.due();
                let Some(due) = due else { break };
                self.now = due;
            } else {
                self.now += TimeDelta::from_millis(1);
                self.arrives(0, true, false)?;
                self.settle()?;
                self.acknowledged(0, true)?;
            }
            self.settle()?;
        }
        Err(format!(
            "stuck: sent {}, acknowledged {}, received {}, of {:?}, {:?}",
            self.sent,
            self.acked,
            self.arrived.first(),
            self.length,
            self.sender.counters()
        ))
    }
}

fn choose<T: Copy>(under_way: &mut Vec<T>, which: usize, taken: bool) -> Option<T> {
    let place = which % under_way.len().max(1);
    let found = under_way.get(place).copied()?;
    if taken {
        under_way.remove(place);
    }
    Some(found)
}

fn lose<T: Copy>(under_way: &mut Vec<T>, which: usize) {
    choose(under_way, which, true);
}

/// The parts of a stream that are there: pieces in order, apart from each other.
#[derive(Default, Debug)]
struct Pieces(Vec<(u64, u64)>);

impl Pieces {
    /// The first byte that is missing.
    fn first(&self) -> u64 {
        self.0.first().filter(|(begin, _)| *begin == 0).map_or(0, |(_, end)| *end)
    }

    fn has(&self, begin: u64, end: u64) -> bool {
        self.0.iter().any(|(from, to)| *from <= begin && end <= *to)
    }

    /// Adds a piece; answers how many of its bytes are new.
    fn add(&mut self, begin: u64, end: u64) -> u64 {
        let total = |pieces: &[(u64, u64)]| pieces.iter().map(|(from, to)| to - from).sum::<u64>();
        let before = total(&self.0);
        let (mut begin, mut end) = (begin, end);
        self.0.retain(|(from, to)| {
            let apart = *to < begin || end < *from;
            if !apart {
                (begin, end) = (begin.min(*from), end.max(*to));
            }
            apart
        });
        let place = self.0.partition_point(|(from, _)| *from < begin);
        self.0.insert(place, (begin, end));
        total(&self.0) - before
    }
}
