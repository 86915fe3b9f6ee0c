//! Types at the boundary: plain structs, whose size each call is told.

/// Outcome of a call: PACELINE_STATUS_OK, or why not.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacelineStatus {
    /// It was done.
    Ok = 0,
    /// A pointer that must not be null is.
    NullPointer = -1,
    /// The size of a struct is not the one that this library knows, or there are too many of them.
    WrongSize = -2,
    /// A name, a parameter or a text is wrong.
    Invalid = -3,
    /// There is no such controller, receiver half, group, sender or receiver: it was destroyed, never created, or is of another kind.
    NoHandle = -4,
    /// The library failed; what it was called for is gone. Please report it.
    Failed = -5,
}

/// Handle of a created object: a number that is never given twice; 0 is none.
pub type PacelineHandle = u64;
/// A controller.
pub type PacelineController = PacelineHandle;
/// The half of a controller that is with the receiver.
pub type PacelineHalf = PacelineHandle;
/// A group of controllers that share.
pub type PacelineGroup = PacelineHandle;
/// A sender of media in RTP.
pub type PacelineSender = PacelineHandle;
/// A receiver of media in RTP.
pub type PacelineReceiver = PacelineHandle;

/// A time that never comes, and a size or a count without limit.
pub const PACELINE_NEVER: u64 = u64::MAX;
/// A time that is not known.
pub const PACELINE_UNKNOWN: i64 = -1;

/// A packet that was handed to the network.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineSent {
    /// Sequence number in its stream, extended so that it never wraps.
    pub sequence: u64,
    /// Bytes on the link, transport header in.
    pub size: u64,
    /// Stream of the packet, from 0.
    pub stream: u8,
    /// 1 if nothing more waits to be sent: the application limits the sender.
    pub app_limited: u8,
    /// 1 if the packet belongs to the probe `probe`.
    pub is_probe: u8,
    /// Number of the probe, of paceline_take_probe.
    pub probe: u64,
}

/// A receiver's word on one packet.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineResult {
    /// Sequence number in its stream, extended so that it never wraps.
    pub sequence: u64,
    /// Bytes on the link, as they were sent.
    pub size: u64,
    /// When the packet was sent, by the sender's clock.
    pub sent_ns: u64,
    /// When the packet arrived, by the receiver's clock (any zero, same rate); PACELINE_UNKNOWN if it did not say.
    pub arrived_ns: i64,
    /// Stream of the packet, from 0.
    pub stream: u8,
    /// 1 if the packet had arrived when the report was written. Whether it is lost is for the controller to say.
    pub received: u8,
    /// ECN field on arrival: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
}

/// Packets and bytes in the send queue of a stream.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineQueue {
    /// Bytes on the link of all that waits.
    pub bytes: u64,
    /// Packets that wait.
    pub packets: u64,
    /// Wait of the oldest packet; PACELINE_UNKNOWN if the queue is empty.
    pub oldest_ns: i64,
    /// Bytes on the link of what waits of the newest frame.
    pub newest_frame: u64,
    /// Stream of the queue, from 0.
    pub stream: u8,
}

/// The answers of a controller in force, and the figures that all controllers share.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineState {
    /// Bytes that may be sent now; PACELINE_NEVER: no limit.
    pub allowed_bytes: u64,
    /// Packets that may be sent now; PACELINE_NEVER: no limit.
    pub allowed_packets: u64,
    /// The gap after a packet is its size over this rate; 0: packets are not spaced by a rate.
    pub pacing_bps: u64,
    /// The gap after a packet, whatever its size; 0: packets are not spaced by a time.
    pub pacing_gap_ns: u64,
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
    /// Packets leave at once while what left before takes less than so long at pacing_bps; 0: one by one.
    pub pacing_burst_ns: u64,
    /// Stream whose packet goes next; -1: by priority and credit.
    pub next_stream: i32,
}

/// Packets to drop from a send queue. Tell paceline_on_send_queue when it is done.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineDiscard {
    /// Frames that waited longer are dropped; PACELINE_UNKNOWN: all are.
    pub older_than_ns: i64,
    /// Stream of the queue.
    pub stream: u8,
    /// Whether the encoder should make a key frame next.
    pub key_frame: bool,
}

/// A burst that explores whether the path carries more. It leaves at its own rate, whatever allowance and pacing say.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineProbe {
    /// Number of the probe, for paceline_on_sent.
    pub id: u64,
    /// Rate of the burst.
    pub bps: u64,
    /// Bytes that are sent: media first, padding for the rest.
    pub bytes: u64,
}

/// Events in the recovery of a transport that retransmits.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacelineRecovery {
    /// Loss was detected and recovery began; `bytes` are declared lost.
    Entered = 0,
    /// More was declared lost while recovery lasts.
    Lost = 1,
    /// `bytes` that were declared lost, and not sent again, turned up.
    Found = 2,
    /// Everything outstanding at entry is acknowledged.
    Left = 3,
    /// The retransmission timer expired.
    TimedOut = 4,
    /// The last reduction was not caused by a loss.
    Spurious = 5,
    /// Opening the connection took a retransmission.
    SynLost = 6,
}

/// Annotation that a controller puts on a packet for its receiver half.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineAnnotation {
    /// The sender's round-trip time (tfrc); PACELINE_UNKNOWN: it puts none on the packet.
    pub rtt_ns: i64,
    /// Window counter of 4 bits (ccid3); -1: it puts none on the packet.
    pub counter: i32,
}

/// A packet that arrived, for a receiver half.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineArrival {
    /// Sequence number in its stream, extended so that it never wraps.
    pub sequence: u64,
    /// Bytes on the link, transport header in.
    pub size: u64,
    /// When it was sent, by the sender's clock: packets carry it, since messages repeat it.
    pub sent_ns: u64,
    /// The controller's annotation of the packet.
    pub annotation: PacelineAnnotation,
    /// Stream of the packet, from 0.
    pub stream: u8,
    /// ECN field on arrival: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
}

/// A controller's share in its group.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineShare {
    /// Sum of the rates of the group (RFC 8699: S_CR). This and the next three are 0 while the controller does not share.
    pub sum_bps: u64,
    /// Rate that the group gave the controller last (RFC 8699: FSE_R).
    pub rate_bps: u64,
    /// Rate that the application could use (RFC 8699: DR); PACELINE_NEVER: any.
    pub desired_bps: u64,
    /// Weight of the controller's part (RFC 8699: P).
    pub priority: f64,
    /// Assignments to it since the group knows it.
    pub assignments: u64,
    /// 1 if it shares; 0 while nothing comes back to it, and of one that steers a window before its first round trip.
    pub shares: u8,
}

/// A receiver half's message to its controller (RFC 5348 section 3.2.2).
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct PacelineMessage {
    /// Loss event rate, 0 to 1.
    pub loss_event_rate: f64,
    /// Rate at which data arrived since the last message.
    pub receive_bps: u64,
    /// Send time of the newest packet that arrived, by the sender's clock; PACELINE_UNKNOWN: then the message says nothing.
    pub newest_sent_ns: i64,
    /// Time from the arrival of that packet to this message.
    pub delay_ns: u64,
}
