//! A flow of media or bulk data over a connection: the client sends it, the server receives it. Media is RTP, a packet in
//! each datagram (RFC 5762 section 4.1), and is played out; bulk data has no frames.

use super::{Ccids, Connection, DccpConfig, Ended, Event, State};
use paceline_cc::{Assigned, Controller, Limits, StreamId, Verb};
use paceline_ends::OfferedRate;
use paceline_ends::{
    Follows, FrameCounters, Next, PathFacts, Reason, Received, ReceivingEnd, SendingEnd, Transmit,
};
use paceline_media::{
    ArrivedPacket, DisplayedFrame, Frame, IncompleteFrame, Playout, PlayoutConfig, PlayoutCounters, Source,
};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use paceline_wire::dccp::{Packet, Payload, Ports, ResetCode, RtpDatagram, SequenceNumber, ServiceCode};

/// The ports of a flow's client, as on the packets it sends.
pub const FLOW_PORTS: Ports = Ports { source: 5001, destination: 5004 };
/// No two flows share a simulated path's ports, and nobody guesses there: any number will do.
const ISS: [u64; 2] = [1 << 20, 1 << 30];

/// The payload of a flow over DCCP: media or bulk data.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Source of the data.
    pub source: Source,
    /// The most of it in a datagram, RTP header out.
    pub max_payload: Bytes,
    /// The RTP header of each datagram of media, 255 B at most; bulk data has none.
    pub rtp_header: Bytes,
    /// When the oldest that waits to be sent is older, all that waits is discarded, and a key frame asked for; none: it
    /// waits.
    pub discard_age: Option<TimeDelta>,
}

/// Sends what a source gives over a connection that it opens.
pub struct DccpSender<F: Ccids> {
    connection: Connection<F>,
    ended: Option<Ended>,
    /// When it ended, if nobody here had asked for that.
    failed: Option<Time>,
    stopped: bool,
    /// To look at while the connection has none.
    idle: F::Sender,
    carried: Carried,
    /// The number of the next RTP packet.
    next_rtp: u64,
    newest_frame: Bytes,
    captured: u64,
    /// Frames that the queue did not take whole.
    refused: u64,
    target: Option<Bitrate>,
    /// The rate of a source of media: bulk data has none of its own.
    offered: OfferedRate,
}

impl<F: Ccids> DccpSender<F> {
    /// A sender that has not started. `idle` is a controller that has seen nothing.
    pub fn new(
        config: &DccpConfig,
        ccids: F,
        service: ServiceCode,
        idle: F::Sender,
        carried: Carried,
    ) -> DccpSender<F> {
        let iss = SequenceNumber::new(ISS[0]);
        let mut connection = Connection::new(config, ccids, false, FLOW_PORTS, service, iss);
        connection.greedy = matches!(carried.source, Source::Bulk(_));
        DccpSender {
            connection,
            ended: None,
            failed: None,
            stopped: false,
            idle,
            carried: Carried { max_payload: carried.max_payload.max(Bytes::new(1)), ..carried },
            next_rtp: 0,
            newest_frame: Bytes::ZERO,
            captured: 0,
            refused: 0,
            target: None,
            offered: OfferedRate::default(),
        }
    }

    /// The first number of the connection, where somebody could guess it (RFC 4340 section 7.2); before
    /// [`DccpSender::start`].
    pub fn set_initial_number(&mut self, iss: SequenceNumber) {
        self.connection.set_initial_number(iss);
    }

    /// The connection, to look at; CLOSED before [`DccpSender::start`].
    pub fn connection(&self) -> &Connection<F> {
        &self.connection
    }

    /// Why the connection is over, if it is.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// A router, or this machine, says that a packet of ours was too large for a link, which takes `next_hop` bytes of
    /// DCCP packet, 0 if that is not known (RFC 4340 section 14.1).
    pub fn on_too_big(&mut self, now: Time, sequence: SequenceNumber, next_hop: Bytes) {
        self.connection.on_too_big(now, Some(sequence), next_hop);
    }

    /// Ends the connection at once, with a Reset.
    pub fn abort(&mut self, now: Time) {
        self.stopped = true;
        self.connection.abort(now);
        self.take_events(now);
    }

    /// Nobody here reads what comes back but the end.
    fn take_events(&mut self, now: Time) {
        while let Some(event) = self.connection.poll_event() {
            if let Event::Closed(ended) = event {
                self.ended.get_or_insert(ended);
                self.failed = self.failed.or((!self.stopped).then_some(now));
            }
        }
    }

    /// Cuts a frame into datagrams; what the queue does not take is discarded with the rest of its frame. False then.
    fn offer(&mut self, now: Time, frame: &Frame) -> bool {
        let (mut queued, waiting) = (Bytes::ZERO, self.connection.queued_bytes());
        let (mut left, mut whole) = (frame.payload.as_u64(), true);
        let bulk = matches!(self.carried.source, Source::Bulk(_));
        self.captured += 1;
        // The path may take less than the flow asks for, never nothing: an empty datagram would fill no frame.
        let header = self.carried.rtp_header.min(Bytes::new(u8::MAX.into()));
        let max = self.connection.max_datagram();
        let room = max - if bulk { Bytes::ZERO } else { header };
        let most = self.carried.max_payload.min(room).as_u64().max(1);
        while left > 0 {
            let first = Some(left == frame.payload.as_u64());
            let payload = left.min(most);
            // Packets of bulk data are alike, but for the last.
            let count = if bulk { left / payload } else { 1 };
            left -= payload * count;
            let media = u32::try_from(payload).unwrap_or(u32::MAX);
            let datagram = match bulk {
                true => Payload::dummy(media, frame.captured),
                false => Payload::Rtp(RtpDatagram {
                    sequence: 0,
                    captured: frame.captured,
                    media,
                    header: header.as_u64() as u8,
                    first,
                    marker: left == 0,
                    key: Some(frame.key),
                }),
            };
            let taken = self.connection.enqueue(now, datagram.clone(), count as usize, max).unwrap_or(0);
            queued += self.connection.on_link_all(&datagram, taken);
            if taken < count as usize {
                self.refused += u64::from(first == Some(true));
                whole = false;
                break;
            }
        }
        self.connection.offer(now, queued);
        if !bulk {
            let _ = self.offered.on_offered(now, queued, waiting);
        }
        self.newest_frame = queued;
        whole
    }

    /// A packet that is too old is not worth sending; decoders need a key frame then.
    fn discard_old(&mut self, now: Time) {
        let (Some(age), Some(since)) = (self.carried.discard_age, self.connection.oldest_queued()) else {
            return;
        };
        // Without the rest of the queue too, what comes next would be as late.
        if now.saturating_since(since) > age {
            self.connection.discard_queue(now);
            self.carried.source.request_key_frame(now);
        }
    }

    /// Keeps the queue of an endless source filled.
    fn refill(&mut self, now: Time) {
        if !matches!(self.carried.source, Source::Bulk(_)) {
            return;
        }
        while matches!(self.connection.state(), State::Request | State::PartOpen | State::Open) {
            let payload = Bytes::new(self.connection.queued() as u64 * self.carried.max_payload.as_u64());
            let Some(frame) = self.carried.source.refill(now, payload) else { break };
            if !self.offer(now, &frame) {
                break;
            }
        }
    }

    fn within_limits(&self, target: Bitrate) -> Bitrate {
        self.connection.limits.map_or(target, |limits| limits.clamp(target))
    }

    /// An encoder follows the target.
    fn follow(&mut self, now: Time) {
        if matches!(self.carried.source, Source::Bulk(_)) {
            return;
        }
        if self.connection.take_key_frame_request() {
            self.carried.source.request_key_frame(now);
        }
        let target = self.connection.target_bitrate().map(|target| self.within_limits(target));
        if let Some(rate) = target.filter(|_| target != self.target) {
            self.carried.source.set_target(now, rate);
            self.target = target;
        }
    }
}

impl<F: Ccids> SendingEnd for DccpSender<F> {
    type Controller = F::Sender;
    type Data = Packet;
    type Returning = Packet;
    const EXECUTES: &'static [Verb] = &[Verb::Discard, Verb::PacketsPerReport, Verb::CounterAnnotation];

    /// Opens the connection, if that has not happened, and starts the source.
    fn start(&mut self, now: Time) {
        self.connection.open(now);
        if let Some(limits) = self.connection.limits {
            self.connection.set_limits(now, &limits);
        }
        self.carried.source.start(now);
        self.refill(now);
    }

    /// Ends the source, discards what waits, and closes.
    fn stop(&mut self, now: Time) {
        self.stopped = true;
        self.carried.source.stop();
        self.connection.discard_queue(now);
        self.connection.close(now);
        self.take_events(now);
    }

    fn pause(&mut self, _now: Time) {
        self.carried.source.pause();
    }

    fn resume(&mut self, now: Time) {
        self.carried.source.resume(now);
        self.refill(now);
    }

    /// It is one stream, which is there as long as the flow.
    fn set_presence(&mut self, _now: Time, _stream: StreamId, _there: bool) {}

    fn set_limits(&mut self, now: Time, limits: &Limits) {
        self.connection.set_limits(now, limits);
        self.follow(now);
    }

    fn assign(&mut self, now: Time, assigned: Assigned) {
        self.connection.assign(now, assigned);
        self.follow(now);
    }

    fn failure(&self) -> Option<(Time, &'static str)> {
        let (at, Ended { reason, by_peer }) = (self.failed?, self.ended?);
        Some(match (by_peer, reason.code) {
            (false, ResetCode::ABORTED) => {
                (at, "the other end has answered nothing for too long (RFC 4340 section 8.1)")
            }
            (_, code) => (at, code.name()),
        })
    }

    fn desired(&self) -> Option<Bitrate> {
        let limits = self.connection.limits.unwrap_or(Limits::none(StreamId(0)));
        self.offered.desired(&self.carried.source, self.target.is_some(), &limits)
    }

    fn next_timeout(&self) -> Option<(Time, Reason)> {
        let own = self.connection.next_timeout();
        match self.carried.source.next_capture() {
            Some(due) if own.is_none_or(|(own, _)| due <= own) => Some((due, Reason::Capture)),
            _ => own,
        }
    }

    fn next(&self, until: Time) -> Next {
        match self.next_timeout() {
            Some((due, Reason::Pacing)) if due < until => Next::Paced(due),
            next => Next::Due(next.map_or(Time::MAX, |(due, _)| due)),
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if matches!(self.next_timeout(), Some((_, Reason::Pacing))) {
            return;
        }
        while self.carried.source.next_capture().is_some_and(|due| due <= now) {
            let frame = self.carried.source.capture(now);
            self.offer(now, &frame);
        }
        self.connection.handle_timeout(now);
        self.take_events(now);
        self.follow(now);
    }

    #[inline(always)]
    fn receive(&mut self, now: Time, packet: Packet, ecn: Ecn) -> Option<Packet> {
        self.connection.take_packet(now, &packet, ecn);
        self.take_events(now);
        self.follow(now);
        None
    }

    #[inline(always)]
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Packet>> {
        self.refill(now);
        self.discard_old(now);
        if matches!(self.carried.source, Source::Bulk(_)) {
            return self.connection.poll_transmit(now);
        }
        self.connection.number_head(self.next_rtp);
        let out = self.connection.poll_transmit(now);
        let media = out.as_ref().is_some_and(|out| matches!(out.packet.payload, Payload::Rtp(_)));
        self.next_rtp += u64::from(media);
        out
    }

    fn controller(&self) -> &F::Sender {
        self.connection.sender().unwrap_or(&self.idle)
    }

    fn frames(&self) -> FrameCounters {
        let discarded = self.connection.counters().discarded_frames;
        FrameCounters { captured: self.captured, discarded: self.refused + discarded }
    }

    fn target(&self, _stream: StreamId) -> Option<Bitrate> {
        self.controller().snapshot().target.map(|target| self.within_limits(target))
    }

    fn send_queue_bytes(&self, _stream: StreamId) -> Bytes {
        self.connection.queued_bytes()
    }

    fn send_queue_age(&self, now: Time, _stream: StreamId) -> TimeDelta {
        self.connection.oldest_queued().map_or(TimeDelta::ZERO, |since| now.saturating_since(since))
    }

    fn newest_frame(&self, _stream: StreamId) -> Option<Bytes> {
        (!matches!(self.carried.source, Source::Bulk(_))).then_some(self.newest_frame)
    }
}

/// Accepts the connection of a [`DccpSender`] and takes what arrives.
pub struct DccpReceiver<F: Ccids> {
    connection: Option<Connection<F>>,
    config: DccpConfig,
    ccids: F,
    playout: Playout,
}

impl<F: Ccids + Clone> DccpReceiver<F> {
    /// A receiver that listens.
    pub fn new(config: DccpConfig, ccids: F, playout: PlayoutConfig) -> DccpReceiver<F> {
        DccpReceiver { connection: None, config, ccids, playout: Playout::new(playout) }
    }

    /// The first packet opens the connection. A connection is large: made elsewhere, its place on the stack would be touched for
    /// each packet.
    #[cold]
    #[inline(never)]
    fn accept(&mut self, now: Time, request: &Packet, ecn: Ecn, facts: PathFacts) -> Received {
        let iss = SequenceNumber::new(ISS[1]);
        self.connection =
            Connection::accept(now, &self.config, self.ccids.clone(), request.clone(), ecn, iss);
        let mut received = Received::default();
        while let Some(event) = self.connection.as_mut().and_then(Connection::poll_event) {
            if let Event::Received { payload, .. } = event {
                received.payload += self.play(now, &payload, facts);
            }
        }
        received
    }

    /// The application got this payload; answers how much it is, RTP header out.
    fn play(&mut self, now: Time, payload: &Payload, facts: PathFacts) -> Bytes {
        let Payload::Rtp(rtp) = payload else { return Bytes::new(payload.len() as u64) };
        self.playout.on_packet(now, &arrived(rtp, facts));
        Bytes::new(u64::from(rtp.media))
    }

    /// The connection, to look at; none before a Request arrived.
    pub fn connection(&self) -> Option<&Connection<F>> {
        self.connection.as_ref()
    }
}

impl<F: Ccids + Clone> ReceivingEnd for DccpReceiver<F> {
    type Data = Packet;
    type Returning = Packet;

    fn next_timeout(&self) -> Option<(Time, Reason)> {
        let own = self.connection.as_ref().and_then(Connection::next_timeout);
        match self.playout.next_timeout() {
            Some(due) if own.is_none_or(|(own, _)| due < own) => Some((due, Reason::Playout)),
            _ => own,
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.playout.handle_timeout(now);
        if let Some(connection) = &mut self.connection {
            connection.handle_timeout(now);
        }
    }

    /// Answers the payload that the application got, RTP headers out.
    #[inline(always)]
    fn receive(&mut self, now: Time, packet: Packet, ecn: Ecn, facts: PathFacts) -> Received {
        let Some(connection) = &mut self.connection else { return self.accept(now, &packet, ecn, facts) };
        // RTP may be shown now, or move the time of a frame.
        let bulk = !matches!(packet.payload, Payload::Rtp(_));
        let delivered = connection.take_packet(now, &packet, ecn).is_some();
        while connection.poll_event().is_some() {}
        let (rest, ack) = (connection.rest_due(), connection.ack_due());
        let payload = if delivered { self.play(now, &packet.payload, facts) } else { Bytes::ZERO };
        let playout = self.playout.next_timeout().unwrap_or(Time::MAX);
        let follows = match rest.map(|due| due.min(playout)) {
            Some(due) if bulk && due > now => {
                if ack <= now {
                    Follows::Answer(due)
                } else {
                    Follows::Timeout(due.min(ack))
                }
            }
            _ => Follows::Unknown,
        };
        Received { stream: StreamId(0), payload, follows }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Packet>> {
        self.connection.as_mut()?.poll_transmit(now)
    }

    fn answer(&mut self, now: Time) -> Option<Transmit<Packet>> {
        Some(self.connection.as_mut()?.emit_acknowledgment(now))
    }

    fn poll_displayed(&mut self) -> Option<(StreamId, DisplayedFrame)> {
        Some((StreamId(0), self.playout.poll()?))
    }

    fn poll_given_up(&mut self) -> Option<(StreamId, IncompleteFrame)> {
        Some((StreamId(0), self.playout.poll_given_up()?))
    }

    fn waiting(&self, tell: &mut dyn FnMut(StreamId, &IncompleteFrame)) {
        self.playout.waiting().for_each(|frame| tell(StreamId(0), &frame));
    }

    fn playout(&self) -> PlayoutCounters {
        *self.playout.counters()
    }
}

/// The packet as playout knows it.
fn arrived(rtp: &RtpDatagram, facts: PathFacts) -> ArrivedPacket {
    ArrivedPacket {
        sequence: rtp.sequence,
        captured: rtp.captured,
        payload: Bytes::new(u64::from(rtp.media)),
        first: rtp.first,
        marker: rtp.marker,
        key: rtp.key,
        sent: facts.sent,
        wait: facts.wait,
    }
}

/// Packets that a handshake and its negotiation take at most.
const LONGEST_HANDSHAKE: usize = 64;

/// Both ends as they are after a handshake that took no time: as if the connection had been there at `now`.
pub fn open_pair<F: Ccids + Clone>(
    now: Time,
    mut sender: DccpSender<F>,
    mut receiver: DccpReceiver<F>,
) -> (DccpSender<F>, DccpReceiver<F>) {
    let client = &mut sender.connection;
    client.open(now);
    for _ in 0..LONGEST_HANDSHAKE {
        let there = client.poll_transmit(now);
        let back = receiver.poll_transmit(now);
        if there.is_none() && back.is_none() {
            break;
        }
        if let Some(Transmit { packet, ecn, .. }) = there {
            receiver.receive(now, packet, ecn, PathFacts::default());
        }
        if let Some(Transmit { packet, ecn, .. }) = back {
            client.on_packet(now, packet, ecn);
        }
    }
    while client.poll_event().is_some() {}
    // No round trip was measured.
    client.srtt = None;
    if let Some(server) = &mut receiver.connection {
        server.srtt = None;
    }
    (sender, receiver)
}
