//! The calls of the application: send, receive, close.

use super::receive::Delivered;
use super::{Connection, Event, Queued, State};
use crate::ccids::Ccids;
use crate::feature::{FeatureId, Rule};
use crate::mtu::TooBig;
use crate::negotiation::Location;
use core::fmt;
use paceline_cc::ccid::DropCode;
use paceline_cc::{
    Assigned, Controller, Discard, Limits, Offered, ReceiverRequest, SendQueueState, StreamId, Update,
};
use paceline_units::{Bitrate, Bytes, Time};
use paceline_wire::dccp::{Packet, PacketType, Payload, SequenceNumber};

/// Why a datagram was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendError {
    /// The datagram is larger than path and congestion control allow (RFC 4340 section 14).
    TooLarge {
        /// Size of the datagram.
        found: Bytes,
        /// Largest size that is allowed.
        max: Bytes,
    },
    /// The send queue is full.
    QueueFull {
        /// Most datagrams that may wait.
        max: usize,
    },
    /// The connection ends or has ended.
    Closed,
    /// The other application no longer listens (RFC 4340 section 11.7.2).
    NotListening,
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::TooLarge { found, max } => {
                write!(f, "datagram: found {} bytes, expected at most {}", found.as_u64(), max.as_u64())
            }
            SendError::QueueFull { max } => write!(f, "send queue: found {max} datagrams, expected fewer"),
            SendError::Closed => f.write_str("connection: found it closing or closed, expected it open"),
            SendError::NotListening => {
                f.write_str("peer: its application does not listen any more (drop code 1)")
            }
        }
    }
}

impl core::error::Error for SendError {}

impl<F: Ccids> Connection<F> {
    /// Queues a datagram; one of no bytes is one too. It leaves when congestion control allows.
    ///
    /// # Errors
    /// The datagram is too large, the send queue is full, the connection ends, or the other end reads no more.
    pub fn send(&mut self, now: Time, payload: Payload) -> Result<(), SendError> {
        let bytes = self.on_link(&payload);
        self.enqueue(now, payload, 1, self.max_datagram())?;
        self.offer(now, bytes);
        Ok(())
    }

    /// Queues `count` datagrams of at most `max` ([`Connection::max_datagram`]), one or more, of which congestion control hears
    /// later. Answers how many there was room for, one or more.
    pub(crate) fn enqueue(
        &mut self,
        now: Time,
        payload: Payload,
        count: usize,
        max: Bytes,
    ) -> Result<usize, SendError> {
        if self.close_requested
            || matches!(self.state, State::CloseReq | State::Closing | State::Closed | State::TimeWait)
        {
            return Err(SendError::Closed);
        }
        if !self.listeners.is_peer_listening() {
            return Err(SendError::NotListening);
        }
        let found = Bytes::new(payload.len() as u64);
        if found > max {
            return Err(SendError::TooLarge { found, max });
        }
        if self.queue.len() >= self.config.send_queue {
            return Err(SendError::QueueFull { max: self.config.send_queue });
        }
        let count = count.min(self.config.send_queue - self.queue.len());
        let bytes = self.on_link_all(&payload, count);
        self.queue.push(Queued { payload, since: now, count }, bytes);
        Ok(count)
    }

    /// The next event, the oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Closes once everything that waits has left: the server by CloseReq, or by Close if it holds TIMEWAIT.
    pub fn close(&mut self, now: Time) {
        if matches!(self.state, State::Request) {
            self.abort(now);
        }
        self.close_requested = self.state != State::Closed;
    }

    /// The application reads no more: what arrives is reported with drop code 1 (RFC 4340 section 11.7.2).
    pub fn stop_listening(&mut self) {
        self.listeners.stop_own();
    }

    /// The application does not keep up, or does again: acknowledgements say so (RFC 4340 section 11.6).
    pub fn set_slow(&mut self, slow: bool) {
        self.listeners.set_own_slow(slow);
    }

    /// Whether the other end said within a round trip that it does not keep up.
    pub fn is_peer_slow(&self, now: Time) -> bool {
        self.listeners.is_peer_slow(now)
    }

    /// The largest datagram that [`Connection::send`] takes (MPS, RFC 4340 section 14).
    pub fn max_datagram(&self) -> Bytes {
        let short = self.sends_short();
        let checksum = if self.config.data_checksum { 6 } else { 0 };
        let ndp = if self.features.is_on(Location::Local, FeatureId::SendNdpCount) { 8 } else { 0 };
        let header = PacketType::Data.fixed_header(short) + usize::next_multiple_of(checksum + ndp, 4);
        let path = Bytes::new(self.path.mtu) - Bytes::new(header as u64);
        self.config.ccmps.map_or(path, |ccmps| ccmps.min(path))
    }

    /// A router says that a packet of ours is too large for the next link, which takes packets of `next_hop` bytes IP
    /// header out, 0 if it does not say (RFC 4340 section 14.1). `sequence` is the number in the packet it returned.
    pub fn on_too_big(&mut self, now: Time, sequence: Option<SequenceNumber>, next_hop: Bytes) -> TooBig {
        let ours = sequence.is_some_and(|sequence| {
            let number = self.sequences.of_sent(sequence);
            self.sequences.gss() >= 0 && self.sent.sent_at(number).is_some()
        });
        if !ours {
            self.counters.ignored += 1;
            return TooBig::NotOurs;
        }
        let verdict = self.path.on_too_big(now, next_hop.as_u64());
        if verdict == TooBig::Lowered {
            let max = self.discard_too_large(now);
            self.events.notice(Event::MaxDatagram(max));
        }
        verdict
    }

    /// A packet queued when larger datagrams were taken must not leave unfragmentable (section 14.2). Answers the largest.
    pub(super) fn discard_too_large(&mut self, now: Time) -> Bytes {
        let max = self.max_datagram();
        self.keep_queued(now, |queued| queued.payload.len() as u64 <= max.as_u64());
        max
    }

    /// The application wants the path's size found anew; false if it was a moment ago (RFC 4340 section 14.1).
    pub fn restart_path_discovery(&mut self, now: Time) -> bool {
        self.path.restart(now)
    }

    /// Says a new value of a non-negotiable feature of ours: Sequence Window or Ack Ratio. Others, and values that they
    /// cannot have, are ignored.
    pub fn announce(&mut self, feature: FeatureId, value: u64) {
        self.features.announce(feature, value);
    }

    /// Asks for a server-priority feature, the best value first.
    pub fn prefer(&mut self, location: Location, feature: FeatureId, preferences: &[u8]) {
        if feature.rule() == Rule::ServerPriority {
            self.features.prefer(location, feature, preferences, false);
        }
    }

    /// The application had no use for a datagram that was delivered: the other end hears why. An earlier word on a packet is never taken
    /// back (RFC 4340 section 11.7).
    pub fn report_dropped(&mut self, sequence: SequenceNumber, code: DropCode) {
        let number = self.sequences.of_received(sequence);
        self.received.set_dropped(number, code);
    }

    /// The application changed what it allows: congestion control hears of it, now or when the handshake is over.
    pub fn set_limits(&mut self, now: Time, limits: &Limits) {
        self.limits = Some(*limits);
        self.steer(now, |sender| sender.on_limits(now, limits));
    }

    /// Coupling replaces what congestion control steers by.
    pub fn assign(&mut self, now: Time, assigned: Assigned) {
        self.steer(now, |sender| sender.assign(now, assigned));
    }

    /// Bitrate of the media by congestion control, headers in; absent where it sets no rate.
    pub fn target_bitrate(&self) -> Option<Bitrate> {
        self.sender.as_ref()?.snapshot().target
    }

    /// Datagrams that wait to be sent.
    pub fn queued(&self) -> usize {
        self.queue.len()
    }

    /// Bytes that wait to be sent, headers in.
    pub fn queued_bytes(&self) -> Bytes {
        self.queue.bytes()
    }

    /// When the datagram at the head of the queue began to wait.
    pub fn oldest_queued(&self) -> Option<Time> {
        self.queue.front().map(|queued| queued.since)
    }

    /// Nothing that waits is to be sent any more; answers how many datagrams that are.
    pub fn discard_queue(&mut self, now: Time) -> u64 {
        self.keep_queued(now, |_| false)
    }

    /// Discards what waits and is not worth keeping, and tells congestion control.
    pub(super) fn keep_queued(&mut self, now: Time, worth: impl Fn(&Queued) -> bool) -> u64 {
        let (before, frames) = (self.queue.len(), &mut self.counters.discarded_frames);
        self.queue.retain(|queued| {
            let kept = worth(queued);
            let begins_frame = matches!(&queued.payload, Payload::Rtp(rtp) if rtp.first == Some(true));
            *frames += if begins_frame && !kept { queued.count as u64 } else { 0 };
            kept
        });
        let discarded = (before - self.queue.len()) as u64;
        if discarded > 0 {
            self.counters.discarded += discarded;
            self.count_queue();
            self.tell_queue(now);
        }
        discarded
    }

    /// The datagram at the head is the next RTP packet: its number is given when it leaves, so that nothing that is
    /// discarded leaves a gap.
    pub(crate) fn number_head(&mut self, sequence: u64) {
        if let Some(Queued { payload: Payload::Rtp(rtp), .. }) = self.queue.front_mut() {
            rtp.sequence = sequence;
        }
    }

    /// Size on the link of a packet of this connection.
    #[inline]
    pub fn size_of(&self, packet: &Packet) -> Bytes {
        self.counted_size(packet.header_len(), packet.short, packet.payload.len())
    }

    /// Size on the link of a packet with this header and so much payload.
    #[inline]
    pub(super) fn counted_size(&self, header: usize, short: bool, payload: usize) -> Bytes {
        let (counted, beyond) = match self.config.counted_header {
            Some(counted) if payload == 0 => (counted, header - PacketType::Data.fixed_header(short)),
            Some(counted) => (counted, payload),
            None => (Bytes::ZERO, header + payload),
        };
        counted + Bytes::new(beyond as u64)
    }

    /// Size on the link of a datagram without options.
    #[inline]
    pub(super) fn on_link(&self, payload: &Payload) -> Bytes {
        let header = || Bytes::new(PacketType::Data.fixed_header(self.sends_short()) as u64);
        self.config.counted_header.unwrap_or_else(header) + Bytes::new(payload.len() as u64)
    }

    /// Size on the link of so many such datagrams.
    #[inline]
    pub(crate) fn on_link_all(&self, payload: &Payload, count: usize) -> Bytes {
        Bytes::new(self.on_link(payload).as_u64() * count as u64)
    }

    pub(super) fn count_queue(&mut self) {
        self.queue.count(self.on_link(&Payload::EMPTY));
    }

    fn queue_state(&self, now: Time) -> SendQueueState {
        SendQueueState {
            stream: StreamId(0),
            bytes: self.queue.bytes(),
            packets: self.queue.len() as u64,
            oldest: self.queue.front().map(|queued| now.saturating_since(queued.since)),
            newest_frame: self.queue.newest_frame(),
            greedy: self.greedy,
        }
    }

    /// Congestion control hears of a frame that was queued.
    pub(crate) fn offer(&mut self, now: Time, bytes: Bytes) {
        self.queue.note_offered(bytes);
        let queue = self.queue_state(now);
        let offered = Offered { stream: StreamId(0), bytes, frame_end: true };
        self.steer(now, |sender| sender.on_offered(now, &offered, &queue));
    }

    pub(super) fn tell_queue(&mut self, now: Time) {
        let queue = self.queue_state(now);
        self.steer(now, |sender| sender.on_send_queue(now, &queue));
    }

    /// Congestion control, if it is there, hears of something, and what it answers is executed.
    #[inline(always)]
    pub(super) fn steer(&mut self, now: Time, hear: impl FnOnce(&mut F::Sender) -> Update) {
        if let Some(sender) = &mut self.sender {
            let update = hear(sender);
            self.apply(now, update);
        }
    }

    /// Executes what congestion control answered.
    #[inline(always)]
    pub(super) fn apply(&mut self, now: Time, update: Update) {
        // The target is asked for ([`Connection::target_bitrate`]), and there is one stream to choose. Probes are refused
        // before: a sender's `EXECUTES` leaves them out.
        let Update { allowance, pacing, target: _, next_stream: _, discard, probe: _, receiver } = update;
        if let Some(allowance) = allowance {
            self.allowance = allowance;
        }
        if let Some(pacing) = pacing {
            self.pacer.set(pacing);
        }
        if let Some(request) = receiver {
            self.ask_receiver(request);
        }
        if let Some(discard) = discard {
            self.discard(now, discard);
        }
    }

    #[cold]
    fn ask_receiver(&mut self, request: ReceiverRequest) {
        match request {
            ReceiverRequest::PacketsPerReport(ratio) => {
                self.features.announce(FeatureId::AckRatio, ratio.max(1).into());
            }
            // Refused before, too: DCCP has no feature for it.
            ReceiverRequest::ReportInterval(_) => {}
        }
    }

    #[cold]
    fn discard(&mut self, now: Time, Discard { stream: _, older_than, key_frame }: Discard) {
        self.key_frame_wanted |= key_frame;
        self.keep_queued(now, |queued| {
            older_than.is_some_and(|limit| now.saturating_since(queued.since) <= limit)
        });
    }

    /// Whether a discard asked for a key frame since the last call.
    pub fn take_key_frame_request(&mut self) -> bool {
        core::mem::take(&mut self.key_frame_wanted)
    }

    /// Data arrived: whether it is for the application, or why not.
    #[inline(always)]
    pub(super) fn deliver(&mut self, corrupt: bool) -> Result<Delivered, DropCode> {
        if !self.listeners.is_own_listening() {
            return Err(DropCode::NotListening);
        }
        if corrupt && !self.config.deliver_corrupt {
            return Err(DropCode::Corrupt);
        }
        if self.events.datagrams() >= self.config.receive_queue {
            return Err(DropCode::ReceiveBuffer);
        }
        self.counters.delivered += 1;
        Ok(Delivered { corrupt })
    }

    /// The application has not taken what was delivered: it waits among the events.
    pub(super) fn keep_delivered(
        &mut self,
        sequence: SequenceNumber,
        payload: Payload,
        delivered: Delivered,
    ) {
        self.events.push(Event::Received { sequence, payload, corrupt: delivered.corrupt });
    }
}
