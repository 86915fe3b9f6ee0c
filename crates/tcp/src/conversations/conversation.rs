//! One end of one connection: what its side says, and what it hears.

use super::script::Script;
use super::{ConversationsConfig, Schedule};
use crate::{Flags, Segment, TCP_HEADER, TcpConfig, TcpReceiver, TcpSender};
use paceline_cc::{Controller, Limits};
use paceline_ends::{PathFacts, Reason, ReceivingEnd, SendingEnd, Transfer, Transmit};
use paceline_media::Source;
use paceline_media::vectors::{ConnectionVector, Side};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::collections::VecDeque;

/// A unit that is not acknowledged whole.
#[derive(Clone, Copy, Debug)]
struct Underway {
    /// Offset behind its last byte.
    end: u64,
    transfer: Transfer,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub(super) struct Conversation<C> {
    /// Place of its vector among the vectors.
    pub(super) vector: usize,
    /// How long its packets wait at this end.
    pub(super) delay: TimeDelta,
    /// Round trip between the sides when the path is empty.
    rtt: TimeDelta,
    pub(super) sender: TcpSender<C>,
    receiver: TcpReceiver,
    script: Script,
    /// Whether what this side says waits for the handshake that the other side begins.
    accepts: bool,
    /// Payload handed over so far.
    written: u64,
    /// Payload that each side will have said when the connection is over: this one, the other one.
    whole: [u64; 2],
    underway: VecDeque<Underway>,
}

/// Configuration of the direction of a connection in which `speaks` sends: the initiator's SYN opens both directions. Segments are no
/// larger than the vector's, and windows are the vector's.
fn config_of(config: &TcpConfig, vector: &ConnectionVector, speaks: Side, sequence: u32) -> TcpConfig {
    let largest = vector.mss.map_or(config.packet_size, |mss| mss[speaks.index()] + TCP_HEADER);
    let config = TcpConfig { packet_size: config.packet_size.min(largest), ..*config };
    // Whole segments, as receivers grant them; at least one.
    let window = vector.windows[speaks.other().index()].as_u64();
    let segments = (window / config.mss()).max(1);
    let window = Bytes::new(segments.saturating_mul(config.packet_size.as_u64()));
    TcpConfig {
        max_window: Some(config.max_window.map_or(window, |most| most.min(window))),
        handshake: config.handshake && speaks == Side::Initiator,
        initial_sequence: config.initial_sequence.wrapping_add(sequence),
        ..config
    }
}

impl<C: Controller> Conversation<C> {
    /// The end of `side`, before anything happened. `place` numbers the connection, and sequence numbers begin at
    /// `sequence`.
    pub(super) fn new(
        controller: C,
        tcp: &TcpConfig,
        config: &ConversationsConfig,
        (vector, side): (usize, Side),
        (place, sequence): (usize, u32),
    ) -> Conversation<C> {
        let of = &config.vectors[vector];
        let number = |speaks: Side| (2 * place + speaks.index()) as u16;
        let [speaks, hears] = [side, side.other()];
        let sending = config_of(tcp, of, speaks, sequence);
        let receiving = config_of(tcp, of, hears, sequence);
        Conversation {
            vector,
            delay: config.access_delay(of.rtt),
            rtt: config.whole_rtt(of.rtt),
            sender: TcpSender::new(controller, &sending, Source::External, number(speaks)),
            receiver: TcpReceiver::new(&receiving, number(hears)),
            script: Script::new(side, &of.units),
            accepts: tcp.handshake && side == Side::Acceptor,
            written: 0,
            whole: [of.payload(speaks).as_u64(), of.payload(hears).as_u64()],
            underway: VecDeque::new(),
        }
    }

    /// The connection begins.
    pub(super) fn begin(
        &mut self,
        now: Time,
        limits: Option<&Limits>,
        of: &ConnectionVector,
        plan: &Schedule,
    ) {
        if let Some(limits) = limits {
            self.sender.set_limits(now, limits);
        }
        self.sender.start(now);
        if !self.accepts {
            self.script.begin(now);
        }
        self.script.look(now, 0, &of.units, plan);
    }

    /// When the end wants something, and why.
    #[inline]
    pub(super) fn next_timeout(&self) -> Option<(Time, Reason)> {
        let script = self.script.due().map(|due| (due, Reason::Capture));
        let ends = [self.sender.next_timeout(), self.receiver.next_timeout(), script];
        ends.into_iter().flatten().min_by_key(|(due, _)| *due)
    }

    /// Hands over what is due, and runs timers. Answers the number of units that were handed over.
    pub(super) fn handle_timeout(&mut self, now: Time, of: &ConnectionVector, plan: &Schedule) -> u64 {
        self.sender.handle_timeout(now);
        let mut units = 0;
        while let Some((size, last)) = self.script.take(now, &of.units) {
            units += 1;
            self.written += size.as_u64();
            let transfer = Transfer { begun: now, completed: Time::MAX, size };
            self.underway.push_back(Underway { end: self.written, transfer });
            self.sender.write(now, size, last);
            self.script.look(now, self.receiver.readable(), &of.units, plan);
        }
        units
    }

    /// Something of the other side arrived: answers the payload that was not there before.
    pub(super) fn hear(
        &mut self,
        now: Time,
        (segment, ecn, facts): (Segment, Ecn, PathFacts),
        of: &ConnectionVector,
        plan: &Schedule,
    ) -> Bytes {
        let payload = self.receiver.receive(now, segment, ecn, facts).payload;
        if self.accepts && !self.script.has_begun() && segment.flags.has(Flags::SYN) {
            // The handshake is over when the SYN-ACK has been answered.
            self.script.begin(now + self.rtt);
        }
        self.script.look(now, self.receiver.readable(), &of.units, plan);
        payload
    }

    /// The other side acknowledged something: what it has whole now goes to `completed`.
    pub(super) fn acknowledged(
        &mut self,
        now: Time,
        segment: Segment,
        ecn: Ecn,
        completed: &mut VecDeque<Transfer>,
    ) {
        let _ = self.sender.receive(now, segment, ecn);
        let arrived = self.sender.acknowledged_offset();
        while let Some(unit) = self.underway.front().filter(|unit| unit.end <= arrived) {
            completed.push_back(Transfer { completed: now, ..unit.transfer });
            self.underway.pop_front();
        }
    }

    /// The next segment that leaves: data first, then what is to be said of the other side's.
    #[inline]
    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Segment>> {
        self.sender.poll_transmit(now).or_else(|| self.receiver.poll_transmit(now))
    }

    /// The flow is over: the side says nothing more, drops what it has not sent and waits for nothing but acknowledgements.
    pub(super) fn stop(&mut self, now: Time, of: &ConnectionVector) {
        self.script.end(&of.units);
        self.sender.stop(now);
        self.whole = [self.written.min(self.whole[0]), 0];
    }

    /// Whether everything was said, acknowledged and heard.
    pub(super) fn is_over(&self, of: &ConnectionVector) -> bool {
        let said = self.whole[0] == 0 || self.sender.is_over();
        said && self.script.is_over(&of.units) && self.receiver.readable() >= self.whole[1]
    }

    /// Segments that the receiver ignored.
    pub(super) fn ignored(&self) -> u64 {
        self.receiver.ignored()
    }
}
