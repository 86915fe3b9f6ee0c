//! The sending end: packets that are offered leave under the controller's window and pacing, or come back with the reason.

mod discarded;
mod driving;
mod repair;
#[cfg(test)]
mod repair_tests;
mod rtcp;
#[cfg(test)]
mod rtcp_tests;
mod sent;
mod stream;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod transport_wide_tests;

pub use discarded::{DiscardCounters, DiscardReason, DiscardedPacket};
pub use driving::{SenderEvent, SentDatagram};
pub use repair::RepairConfig;
pub use sent::MediaTransmit;
pub use stream::MediaStreamConfig;

use crate::error::StreamError;
use crate::packet::MediaPacket;
use discarded::Discards;
use paceline_cc::{Controller, FlowSetup, Limits, StreamId};
use paceline_ends::{Reason, SendingEnd};
use paceline_media::Frame;
use paceline_rtp::{
    CircuitBreakers, EcnChecks, RTP_HEADER, RtpFeedback, RtpSender, SenderConfig, SenderCounters,
};
use paceline_units::{Bitrate, Bytes, Ecn, RandomStream, Time};
use paceline_wire::twcc;
use repair::Repairs;
use rtcp::MediaRtcp;
use stream::MediaStream;

/// Counts of a media sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MediaCounters {
    /// Packets that were offered.
    pub offered: u64,
    /// Packets of media that left.
    pub sent: u64,
    /// Packets that were discarded.
    pub discarded: DiscardCounters,
    /// Packets whose RTP timestamp is before that of the packet offered before them on their stream, as with frames that are
    /// sent in another order than they are shown.
    pub timestamps_back: u64,
}

/// Sends ready-made media under a controller.
#[derive(Clone, Debug)]
pub struct MediaSender<C, P> {
    end: RtpSender<C>,
    streams: Vec<MediaStream<P>>,
    discards: Discards<P>,
    counters: MediaCounters,
    /// Identifier of the header extension's element with the transport-wide number, where packets carry one.
    element: Option<u8>,
    /// Its part in RTCP, where it has one.
    rtcp: Option<Box<MediaRtcp>>,
    /// Packets kept for retransmission.
    repairs: Option<Box<Repairs<P>>>,
    /// Whether [`MediaSender::poll_event`] has told that a circuit breaker ended the call.
    broken_told: bool,
    /// Whether it was stopped, and did not start again.
    stopped: bool,
}

impl<C: Controller, P: AsRef<[u8]>> MediaSender<C, P> {
    /// A sender without streams, whose packets are at most header and payload of `config` long. The controller is one for a
    /// flow of which it will be told each stream. Where packets are to leave with ECN, the path is probed for it first
    /// ([`MediaSender::check_ecn`] says otherwise).
    pub fn new(controller: C, config: &SenderConfig) -> MediaSender<C, P> {
        let max_payload = config.header + config.max_payload - RTP_HEADER;
        let config = SenderConfig { header: RTP_HEADER, max_payload, ..*config };
        let mut end = RtpSender::new(controller, &config, Vec::new());
        end.check_ecn(EcnChecks::Probe);
        MediaSender {
            end,
            streams: Vec::new(),
            discards: Discards::default(),
            counters: MediaCounters::default(),
            element: None,
            rtcp: None,
            repairs: None,
            broken_told: false,
            stopped: false,
        }
    }

    /// The endpoint that sends: its counters, controller and figures.
    pub fn end(&self) -> &RtpSender<C> {
        &self.end
    }

    /// Counts of packets so far.
    pub fn counters(&self) -> MediaCounters {
        MediaCounters { discarded: self.discards.counters(), ..self.counters }
    }

    /// Counts of the endpoint that sends: reports that changed nothing among them.
    pub fn sender_counters(&self) -> SenderCounters {
        self.end.counters()
    }

    /// Ends the call where RFC 8083 wants that ([`RtpSender::guard`]); streams say goodbye then. Before anything is sent.
    pub fn guard(&mut self, by: CircuitBreakers) {
        self.end.guard(by);
    }

    /// Checks that the path carries ECN in this way ([`RtpSender::check_ecn`]). Before anything is sent.
    pub fn check_ecn(&mut self, how: EcnChecks) {
        self.end.check_ecn(how);
    }

    /// Numbers the packets of each stream from `first` on (RFC 3550 section 5.1: a random number). Before a stream is added.
    pub fn number_from(&mut self, first: u16) {
        self.end.number_from(first);
    }

    /// Draws where the numbers of each stream begin, those of retransmissions too. Before a stream is added.
    pub fn draw_numbers(&mut self, draws: RandomStream) {
        self.end.draw_numbers(draws);
    }

    /// Numbers the packets of all streams together, from `first` on, in an element of their header extension with this
    /// identifier, 1 to 14: for receivers that report so ([`paceline_wire::twcc`]). Before a stream is added.
    pub fn number_transport_wide(&mut self, first: u16, element: u8) {
        self.end.number_transport_wide(first);
        self.end.lengthen_header(Bytes::new(twcc::EXTENSION as u64));
        self.element = Some(element.clamp(1, 14));
    }

    /// A stream joins.
    ///
    /// # Errors
    /// Of 64 streams, of an SSRC that another has, or a priority that is no weight.
    pub fn add_stream(&mut self, now: Time, config: &MediaStreamConfig) -> Result<StreamId, StreamError> {
        if !FlowSetup::PRIORITIES.contains(&config.priority) {
            return Err(StreamError::Priority);
        }
        self.expect_free(config.ssrc, None)?;
        let id = self.end.add_stream(now, config.stream()).ok_or_else(|| self.no_room())?;
        self.place(id, MediaStream::new(*config));
        self.find_discarded(DiscardReason::TooOld);
        Ok(id)
    }

    /// Why the endpoint took no stream.
    fn no_room(&self) -> StreamError {
        if self.end.broken().is_some() { StreamError::Broken } else { StreamError::TooMany }
    }

    /// A stream of the endpoint is this.
    fn place(&mut self, id: StreamId, stream: MediaStream<P>) {
        if let Some(rtcp) = &mut self.rtcp {
            rtcp.session.join(id.0.into(), stream.ssrc(), stream.clock_rate());
        }
        match self.streams.get_mut(usize::from(id.0)) {
            Some(place) => *place = stream,
            None => self.streams.push(stream),
        }
    }

    /// A stream leaves: what waits of it is discarded. Packets in flight are still reported on
    /// ([`RtpSender::remove_stream`]).
    ///
    /// # Errors
    /// A stream that is not there.
    pub fn remove_stream(&mut self, now: Time, id: StreamId) -> Result<(), StreamError> {
        let _ = self.end.remove_stream(now, id).ok_or(StreamError::Unknown(id))?;
        if let Some(rtcp) = &mut self.rtcp {
            rtcp.session.leave(now, id.0.into());
        }
        self.find_discarded(DiscardReason::Removed);
        let repair = self.repairs.as_ref().and_then(|repairs| repairs.of(id));
        if let Some(repairs) = &mut self.repairs {
            repairs.forget_stream(id);
        }
        if let Some(repair) = repair {
            self.remove_stream(now, repair)?;
        }
        Ok(())
    }

    /// The weight of a stream is this from now on.
    ///
    /// # Errors
    /// A stream that is not there, or what is no weight.
    pub fn set_priority(&mut self, now: Time, id: StreamId, priority: f64) -> Result<(), StreamError> {
        self.expect_present(id)?;
        let changed = self.end.set_priority(now, id, priority);
        self.find_discarded(DiscardReason::TooOld);
        changed.then_some(()).ok_or(StreamError::Priority)
    }

    /// The limits of a stream's target are these from now on.
    ///
    /// # Errors
    /// A stream that is not there.
    pub fn set_limits(&mut self, now: Time, limits: &Limits) -> Result<(), StreamError> {
        self.expect_present(limits.stream)?;
        self.end.set_limits(now, limits);
        self.find_discarded(DiscardReason::TooOld);
        Ok(())
    }

    /// The stream's packets have another SSRC from now on: what RFC 3550 section 8.2 asks for when another source has it too.
    ///
    /// # Errors
    /// A stream that is not there, or an SSRC that another stream has.
    pub fn set_ssrc(&mut self, now: Time, id: StreamId, ssrc: u32) -> Result<(), StreamError> {
        self.expect_present(id)?;
        self.expect_free(ssrc, Some(id))?;
        self.streams[usize::from(id.0)].set_ssrc(ssrc);
        if let Some(rtcp) = &mut self.rtcp {
            rtcp.session.rename(now, id.0.into(), ssrc);
        }
        Ok(())
    }

    /// SSRC of a stream that is there.
    pub fn ssrc(&self, id: StreamId) -> Option<u32> {
        self.streams.get(usize::from(id.0)).filter(|_| self.end.has_stream(id)).map(MediaStream::ssrc)
    }

    fn expect_present(&self, id: StreamId) -> Result<(), StreamError> {
        if self.end.has_stream(id) { Ok(()) } else { Err(StreamError::Unknown(id)) }
    }

    /// Checks that no stream but `own` has this SSRC.
    fn expect_free(&self, ssrc: u32, own: Option<StreamId>) -> Result<(), StreamError> {
        let ids = (0..self.streams.len()).map(|id| StreamId(id as u8)).filter(|id| Some(*id) != own);
        let mut taken = ids.filter_map(|id| self.ssrc(id));
        if taken.any(|other| other == ssrc) { Err(StreamError::SsrcTaken(ssrc)) } else { Ok(()) }
    }

    /// Begins to send.
    pub fn start(&mut self, now: Time) {
        self.end.start(now);
        let again = core::mem::take(&mut self.stopped) && self.end.broken().is_none();
        if let Some(rtcp) = &mut self.rtcp {
            rtcp.session.start(now);
            for (id, stream) in self.streams.iter().enumerate() {
                if again && self.end.has_stream(StreamId(id as u8)) {
                    rtcp.session.join(id, stream.ssrc(), stream.clock_rate());
                }
            }
        }
        self.find_discarded(DiscardReason::TooOld);
    }

    /// Ends: what waits or comes is discarded, and the streams say goodbye, so that a receiver has to be told of them again if they start
    /// again.
    pub fn stop(&mut self, now: Time) {
        self.end.stop(now);
        self.stopped = true;
        self.say_goodbye(now);
        self.find_discarded(DiscardReason::Stopped);
    }

    /// Takes a packet into the send queue of its stream. A packet that cannot be sent comes back by [`MediaSender::poll_discarded`].
    pub fn offer(&mut self, now: Time, id: StreamId, mut packet: MediaPacket<P>) {
        packet.osn = None;
        self.counters.offered += 1;
        let present = self.end.has_stream(id);
        let Some(stream) = self.streams.get_mut(usize::from(id.0)).filter(|_| present) else {
            self.discards.push(id, (packet, 0), DiscardReason::Removed);
            return;
        };
        let (offset, back) = stream.on_offered(&packet);
        self.counters.timestamps_back += u64::from(back);
        let refused = if self.stopped || self.end.broken().is_some() {
            Some(DiscardReason::Stopped)
        } else {
            stream.is_full().then_some(DiscardReason::QueueFull)
        };
        if let Some(reason) = refused {
            self.discards.push(id, (packet, offset), reason);
            return;
        }
        let Some(size) = packet.size_with(self.element) else {
            self.discards.push(id, (packet, offset), DiscardReason::Extension);
            return;
        };
        let size = Bytes::new(size as u64).saturating_sub(self.end.header());
        let frame = Frame { id: packet.frame, captured: now, payload: size, key: false };
        let ends = packet.ends_frame;
        stream.push((packet, offset));
        if !self.end.offer_packet(now, id, &frame, ends) {
            let reason = if size == Bytes::ZERO { DiscardReason::Empty } else { DiscardReason::TooLarge };
            if let Some(packet) = self.streams[usize::from(id.0)].take_back() {
                self.discards.push(id, packet, reason);
            }
            return;
        }
        self.find_discarded(DiscardReason::TooOld);
    }

    /// The next packet that leaves at `now`. Call until there is none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<MediaTransmit<P>> {
        let sent = self.end.poll_transmit(now)?;
        let (packet, id) = (sent.packet, usize::from(sent.stream.0));
        let stream = self.streams.get_mut(id)?;
        let media = if packet.is_padding() { None } else { stream.pop() };
        if let Some(media) = &media {
            self.counters.sent += u64::from(media.osn.is_none());
            if let Some(repairs) = &mut self.repairs {
                repairs.on_sent(now, id, (packet.sequence, sent.size), media);
            }
        }
        if let Some(rtcp) = &mut self.rtcp {
            let octets = media.as_ref().map_or(0, |media| media.payload_bytes().len());
            rtcp.session.on_sent(id, media.as_ref().map(|media| (media.timestamp, sent.queued)), octets);
        }
        let (ssrc, idle) = (stream.ssrc(), stream.idle());
        self.find_discarded(DiscardReason::TooOld);
        Some(MediaTransmit {
            stream: sent.stream,
            ssrc,
            sequence: packet.sequence,
            media,
            padding: packet.padding,
            size: sent.size,
            ecn: sent.ecn,
            queued: sent.queued,
            idle,
            transport: self.element.map(|_| packet.transport),
            element: self.element,
        })
    }

    /// A packet that was discarded, and why. Call until there is none.
    pub fn poll_discarded(&mut self) -> Option<DiscardedPacket<P>> {
        self.discards.poll()
    }

    /// Takes feedback of the receiver. Answers it if its memory can be used again.
    pub fn receive(&mut self, now: Time, feedback: RtpFeedback, ecn: Ecn) -> Option<RtpFeedback> {
        let used = self.end.receive(now, feedback, ecn);
        self.find_ended(now);
        used
    }

    /// When to call [`MediaSender::handle_timeout`], [`MediaSender::poll_transmit`] and [`MediaSender::poll_rtcp`], and why.
    #[inline]
    pub fn next_timeout(&self) -> Option<(Time, Reason)> {
        let next = self.end.next_timeout();
        let Some(due) = self.rtcp.as_ref().and_then(|rtcp| rtcp.session.next_timeout()) else { return next };
        Some(next.filter(|next| next.0 <= due).unwrap_or((due, Reason::Report)))
    }

    /// Does what is due at `now`, packets apart.
    pub fn handle_timeout(&mut self, now: Time) {
        self.end.handle_timeout(now);
        self.find_ended(now);
    }

    /// Finds the discarded packets, also because a circuit breaker ended the call: then the streams say goodbye (RFC 3550 section
    /// 6.6).
    fn find_ended(&mut self, now: Time) {
        let broken = self.end.broken().is_some();
        if broken {
            self.say_goodbye(now);
        }
        self.find_discarded(if broken { DiscardReason::Stopped } else { DiscardReason::TooOld });
    }

    fn say_goodbye(&mut self, now: Time) {
        if let Some(rtcp) = &mut self.rtcp {
            (0..self.streams.len()).for_each(|id| rtcp.session.leave(now, id));
        }
    }

    /// Bitrate that the stream's encoder is to make.
    pub fn target(&self, id: StreamId) -> Option<Bitrate> {
        self.end.target(id).filter(|_| self.end.has_stream(id))
    }

    /// Whether a discard asked for a key frame since the last call.
    pub fn take_key_frame_request(&mut self, id: StreamId) -> bool {
        let repair = self.repairs.as_ref().and_then(|repairs| repairs.of(id));
        let lost = repair.is_some_and(|repair| self.end.take_key_frame_request(repair));
        self.end.take_key_frame_request(id) || lost
    }

    /// Finds the packets that the endpoint discarded from the front of its queues since the last call.
    #[inline]
    fn find_discarded(&mut self, reason: DiscardReason) {
        if self.discards.follow(self.end.counters().discarded.packets) {
            self.take_discarded(reason);
        }
    }

    fn take_discarded(&mut self, reason: DiscardReason) {
        for id in 0..self.streams.len() {
            let waiting = self.end.waiting(StreamId(id as u8));
            while let Some(packet) = self.streams[id].take_discarded(waiting) {
                match &mut self.repairs {
                    // A copy, which nobody offered.
                    Some(repairs) if packet.0.osn.is_some() => repairs.counters.discarded += 1,
                    _ => self.discards.push(StreamId(id as u8), packet, reason),
                }
            }
        }
    }
}
