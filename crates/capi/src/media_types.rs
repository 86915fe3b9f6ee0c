//! Types at the boundary of the RTP endpoint: plain structs, whose size each call is told.

/// A packet of media as the application made it.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineMedia {
    /// The frame that it belongs to, as the application counts; discards repeat it.
    pub frame: u64,
    /// RTP timestamp: when the frame was captured, in ticks of the stream's clock. Of a whole packet its own counts.
    pub timestamp: u32,
    /// Stream of the packet.
    pub stream: u8,
    /// 1 if it is the last packet of its frame.
    pub frame_end: u8,
    /// 1 if the bytes are a whole RTP packet, whose header extension, contributing sources, payload type, timestamp and marker are
    /// kept, and whose number, SSRC and padding are not; 0 if they are a payload.
    pub whole: u8,
    /// Payload type, 0 to 63 or 96 to 127. Of a whole packet its own counts.
    pub payload_type: u8,
    /// Marker bit, 0 or 1. Of a whole packet its own counts.
    pub marker: u8,
}

/// Kinds of datagrams, by content.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacelineContent {
    /// There is no datagram.
    Nothing = 0,
    /// RTP: media, or padding alone.
    Rtp = 1,
    /// RTCP.
    Rtcp = 2,
}

/// A datagram that leaves now.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineDatagram {
    /// Extended sequence number of an RTP packet; the low 16 bits are on the wire.
    pub sequence: u64,
    /// Bytes that were written into the caller's buffer; 0 if nothing leaves now.
    pub length: u32,
    /// Content of the datagram: one of PacelineContent.
    pub content: u32,
    /// Stream of an RTP packet.
    pub stream: u8,
    /// The ECN field to send it with: 0 Not-ECT, 1 ECT(1), 2 ECT(0).
    pub ecn: u8,
}

/// Kinds of events of a media sender or receiver.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacelineEventKind {
    /// No event is waiting.
    None = 0,
    /// A packet will not be sent: `stream`, `frame`, `offset` of its payload in that of its frame, and `reason`.
    Discarded = 1,
    /// The next frame of `stream` should be a key frame: the receiver asked (PLI, FIR), or too much was discarded.
    KeyFrame = 2,
    /// The participant with SSRC `from` ended (BYE). A receiver expects its stream no more.
    Ended = 3,
    /// Another source has SSRC `from`: `stream`, or the receiver, has SSRC `to` from now on (RFC 3550 section 8.2).
    SsrcChanged = 4,
    /// A circuit breaker ended the call (RFC 8083), for `reason`.
    Broken = 5,
}

/// Why a packet is not sent.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacelineDiscardReason {
    /// It waited for longer than the controller allows.
    TooOld = 0,
    /// Its stream was removed, or was never there.
    Removed = 1,
    /// As many packets waited as may.
    QueueFull = 2,
    /// It is larger than the path takes.
    TooLarge = 3,
    /// It has neither payload nor header extension.
    Empty = 4,
    /// Its header extension has none of the forms of RFC 8285, so that no transport-wide number can be put into it.
    Extension = 5,
    /// The sender was stopped.
    Stopped = 6,
}

/// Which circuit breaker ended a call.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacelineBreaker {
    /// No report came for three reporting intervals (RFC 8083 section 4.1).
    NoReports = 0,
    /// Reports told of no arrival (section 4.2).
    NoMedia = 1,
    /// Ten times the rate of TCP was sent at this loss and round trip (section 4.3).
    Congestion = 2,
}

/// An event of a media sender or receiver. Fields that its kind does not name are 0.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineEvent {
    /// Frame of a discarded packet.
    pub frame: u64,
    /// Where its payload begins in that of its frame, in bytes, as far as it was pushed.
    pub offset: u64,
    /// One of PacelineEventKind, which says what of the rest means something.
    pub kind: u32,
    /// One of PacelineDiscardReason or PacelineBreaker.
    pub reason: u32,
    /// SSRC that ended, or that was until now.
    pub from: u32,
    /// SSRC from now on.
    pub to: u32,
    /// Stream that it is about.
    pub stream: u8,
}

/// Figures of a sender.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineSenderStatistics {
    /// Packets that were pushed.
    pub pushed: u64,
    /// Packets of media that left, retransmissions out.
    pub sent: u64,
    /// Packets that were discarded.
    pub discarded: u64,
    /// Packets that were sent again.
    pub resent: u64,
    /// RTCP packets that were read.
    pub rtcp_received: u64,
    /// RTCP that is none, or contradicts itself.
    pub rtcp_malformed: u64,
    /// RTCP about streams that the sender does not have, as of another session: nothing is done with it.
    pub rtcp_unknown_ssrc: u64,
    /// Reported packets that were never sent, or too long ago.
    pub unknown_reports: u64,
    /// Sum of the target bitrates of all streams, headers in; 0: the controller sets none.
    pub target_bps: u64,
    /// Congestion window in bytes on the link; PACELINE_NEVER: the controller has none.
    pub window: u64,
    /// Bytes in flight as the controller counts them; PACELINE_NEVER: it does not.
    pub in_flight: u64,
    /// Smoothed round-trip time; PACELINE_UNKNOWN before it is measured.
    pub srtt_ns: i64,
    /// Queue delay as the controller estimates it; PACELINE_UNKNOWN where it does not.
    pub queue_delay_ns: i64,
}

/// A stream's reception by the receiver's regular reports (RFC 3550 section 6.4).
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineHeard {
    /// When the last report came; PACELINE_UNKNOWN before the first.
    pub at_ns: i64,
    /// Fraction of packets lost since the report before, 0 to 1.
    pub fraction_lost: f64,
    /// Packets expected less packets received.
    pub cumulative_lost: i64,
    /// Interarrival jitter, in nanoseconds (RFC 3550 section 6.4.1).
    pub jitter_ns: i64,
    /// Round-trip time; PACELINE_UNKNOWN where no report has told one.
    pub round_trip_ns: i64,
}

/// A datagram that came, as the receiver read it.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelinePacket {
    /// Sequence number of the packet, extended so that it does not wrap; of a retransmission that of what it restores.
    pub number: u64,
    /// SSRC of the stream.
    pub ssrc: u32,
    /// RTP timestamp.
    pub timestamp: u32,
    /// Where the payload begins in the caller's datagram.
    pub payload_offset: u32,
    /// Bytes of the payload; 0 of padding alone.
    pub payload_length: u32,
    /// 1 if the datagram is a packet of an expected stream; 0 if there is nothing to deliver, and the rest means nothing.
    pub delivered: u8,
    /// 1 if the packet is here for the first time; 0 if it is a duplicate.
    pub first: u8,
    /// 1 if it was restored by a retransmission.
    pub repaired: u8,
    /// Payload type, 0 to 127 (RFC 3550 section 5.1).
    pub payload_type: u8,
    /// Marker bit, 0 or 1 (RFC 3550 section 5.1).
    pub marker: u8,
}

/// Figures of a receiver.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineReceiverStatistics {
    /// RTP packets of expected streams, retransmissions, padding and duplicates in.
    pub packets: u64,
    /// Bytes of these, headers in.
    pub bytes: u64,
    /// Datagrams that are neither RTP nor RTCP, and RTCP that contradicts itself.
    pub malformed: u64,
    /// Packets of, and RTCP about, streams that are not expected. Transport-wide reports tell of these packets all the same.
    pub unknown_ssrc: u64,
    /// Packets that no report tells of.
    pub unreported: u64,
    /// Reports on packets that were written.
    pub reports: u64,
    /// Packets that were asked for again, each time that they were.
    pub asked: u64,
    /// Packets that retransmissions restored.
    pub restored: u64,
    /// Packets that are missing, and that nobody asks for any more.
    pub gave_up: u64,
}
