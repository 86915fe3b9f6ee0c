//! The functions of a sender of media in RTP.

use crate::arguments::{
    expect_buffer, expect_room, fill, null, read, read_bytes, read_controller, read_settings, write,
};
use crate::controller_calls::limits;
use crate::failure::{Failure, answer};
use crate::handles::{Kept, keep, with};
use crate::{
    PACELINE_NEVER, PACELINE_UNKNOWN, PacelineBreaker, PacelineContent, PacelineDatagram,
    PacelineDiscardReason, PacelineEvent, PacelineEventKind, PacelineHeard, PacelineMedia, PacelineSender,
    PacelineSenderStatistics, PacelineStatus,
};
use paceline_cc::{AnyController, Controller, StreamId};
use paceline_endpoint::{
    BufferPool, DiscardReason, DiscardedPacket, MediaPacket, MediaSender, PacketBuffer, SenderEvent,
    SentDatagram, StreamError,
};
use paceline_ends::SendingEnd;
use paceline_rtp::Broken;
use paceline_rtp::rtcp::RtcpEvent;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::ffi::c_char;

/// The largest datagram that a receiver or a sender writes as RTCP.
pub(crate) const LARGEST_RTCP: usize = 1200;

/// A sender, and the buffers of what it sends.
pub(crate) struct SenderEnd {
    sender: MediaSender<AnyController, PacketBuffer>,
    pool: BufferPool,
    /// The datagram that leaves.
    datagram: Vec<u8>,
    /// Of the RTP packets that leave.
    largest: usize,
}

impl Kept for SenderEnd {
    const NAME: &'static str = "sender";
}

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Failure {
        Failure(PacelineStatus::Invalid, error.to_string())
    }
}

/// Creates a sender without streams under a controller, and writes its number to `sender`.
///
/// `kind` and `profile` are as for paceline_create. `settings` are parameters of the controller, of its flow and of the sender, which
/// docs/endpoint-settings.md lists: `format = twcc; reduced_size = true; repair = true; largest_packet = 1200B`. Give `seed` a number
/// of the system's random source.
///
/// # Safety
/// The texts are NULL or end with a zero, and `sender` has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_sender_create(
    kind: *const c_char,
    profile: *const c_char,
    settings: *const c_char,
    sender: *mut PacelineSender,
) -> PacelineStatus {
    answer(|| {
        if sender.is_null() {
            return Err(null("sender"));
        }
        // SAFETY: the caller's promises.
        let (kind, profile, settings) = unsafe { read_controller(kind, profile, settings) }?;
        let made = MediaSender::configured(kind, profile, settings)?;
        let largest = made.largest_packet().as_u64() as usize;
        let end = SenderEnd {
            sender: made,
            pool: BufferPool::default(),
            datagram: Vec::with_capacity(largest.max(LARGEST_RTCP)),
            largest: largest.max(LARGEST_RTCP),
        };
        // SAFETY: the caller's promise.
        unsafe { write("sender", sender, keep(end)?) }
    })
}

/// A stream joins. `settings`, which docs/endpoint-settings.md lists, say its SSRC and more: `ssrc = 500; priority = 2; rtx_ssrc = 501`.
/// Its identifier is written to `stream`.
///
/// # Safety
/// `settings` is NULL or ends with a zero, and `stream` is NULL or has room for a byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_sender_add_stream(
    sender: PacelineSender,
    now_ns: u64,
    settings: *const c_char,
    stream: *mut u8,
) -> PacelineStatus {
    answer(|| {
        if stream.is_null() {
            return Err(null("stream"));
        }
        // SAFETY: the caller's promise.
        let settings = unsafe { read_settings(settings) }?;
        let id = with(sender, |end: &mut SenderEnd| {
            Ok(end.sender.add_configured(Time::from_nanos(now_ns), settings)?)
        })?;
        // SAFETY: the caller's promise.
        unsafe { write("stream", stream, id.0) }
    })
}

/// Tells the sender something, at a time.
fn tell<E: Into<Failure>>(
    sender: PacelineSender,
    now_ns: u64,
    call: impl FnOnce(&mut MediaSender<AnyController, PacketBuffer>, Time) -> Result<(), E>,
) -> PacelineStatus {
    answer(|| {
        with(sender, |end: &mut SenderEnd| {
            call(&mut end.sender, Time::from_nanos(now_ns)).map_err(Into::into)
        })
    })
}

/// A stream leaves: what waits of it is discarded, and it says goodbye.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_sender_remove_stream(
    sender: PacelineSender,
    now_ns: u64,
    stream: u8,
) -> PacelineStatus {
    tell(sender, now_ns, |sender, now| sender.remove_stream(now, StreamId(stream)))
}

/// The weight of a stream's share is this from now on, 0.001 to 1000.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_sender_set_priority(
    sender: PacelineSender,
    now_ns: u64,
    stream: u8,
    priority: f64,
) -> PacelineStatus {
    tell(sender, now_ns, |sender, now| sender.set_priority(now, StreamId(stream), priority))
}

/// The application allows a stream targets from `min_bps` to `max_bps`.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_sender_set_limits(
    sender: PacelineSender,
    now_ns: u64,
    stream: u8,
    min_bps: u64,
    max_bps: u64,
) -> PacelineStatus {
    tell(sender, now_ns, |sender, now| {
        let limits = limits(stream, (min_bps, max_bps))?;
        sender.set_limits(now, &limits).map_err(Failure::from)
    })
}

/// A stream's packets have another SSRC from now on.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_sender_set_ssrc(
    sender: PacelineSender,
    now_ns: u64,
    stream: u8,
    ssrc: u32,
) -> PacelineStatus {
    tell(sender, now_ns, |sender, now| sender.set_ssrc(now, StreamId(stream), ssrc))
}

/// Begins to send.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_sender_start(sender: PacelineSender, now_ns: u64) -> PacelineStatus {
    tell(sender, now_ns, |sender, now| {
        sender.start(now);
        Ok::<(), Failure>(())
    })
}

/// Ends: what waits is discarded, and the streams say goodbye with the next datagrams.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_sender_stop(sender: PacelineSender, now_ns: u64) -> PacelineStatus {
    tell(sender, now_ns, |sender, now| {
        sender.stop(now);
        Ok::<(), Failure>(())
    })
}

/// Takes a packet of media into the send queue of its stream: `length` bytes, which are copied. A packet that cannot be sent is an event
/// PACELINE_EVENT_KIND_DISCARDED.
///
/// # Safety
/// `media` is NULL or points to a struct of `media_size` bytes, and `bytes` is NULL or points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_sender_push(
    sender: PacelineSender,
    now_ns: u64,
    media: *const PacelineMedia,
    media_size: usize,
    bytes: *const u8,
    length: usize,
) -> PacelineStatus {
    answer(|| {
        // SAFETY: the caller's promises.
        let (media, bytes) =
            unsafe { (read("media", media, media_size)?, read_bytes("bytes", bytes, length)?) };
        with(sender, |end: &mut SenderEnd| {
            let buffer = end.pool.fill(bytes);
            let made = match media.whole {
                0 => {
                    let header = (media.payload_type, media.timestamp, media.marker != 0);
                    MediaPacket::payload(media.frame, header, buffer)
                }
                _ => MediaPacket::whole(media.frame, buffer),
            };
            let mut packet =
                made.map_err(|error| Failure(PacelineStatus::Invalid, format!("media: {error}")))?;
            packet.ends_frame = media.frame_end != 0;
            end.sender.offer(Time::from_nanos(now_ns), StreamId(media.stream), packet);
            Ok(())
        })
    })
}

/// Does what is due, writes the next datagram that leaves now into `buffer`, and what it is to `datagram`. Call until its length is
/// 0. `buffer` has room for the largest packet, and for 1200 bytes.
///
/// # Safety
/// `buffer` is NULL or has room for `capacity` bytes, and `datagram` is NULL or has room for `datagram_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_sender_poll(
    sender: PacelineSender,
    now_ns: u64,
    buffer: *mut u8,
    capacity: usize,
    datagram: *mut PacelineDatagram,
    datagram_size: usize,
) -> PacelineStatus {
    answer(|| {
        expect_room("datagram", datagram, datagram_size)?;
        let shown = with(sender, |end: &mut SenderEnd| {
            expect_buffer(buffer, capacity, end.largest)?;
            end.datagram.clear();
            let sent = end.sender.poll_datagram(Time::from_nanos(now_ns), &mut end.datagram);
            // SAFETY: the caller's promise.
            unsafe { fill(buffer, capacity, &end.datagram) }?;
            Ok(end.leaves(sent))
        })?;
        // SAFETY: the caller's promise.
        unsafe { write("datagram", datagram, shown) }
    })
}

impl SenderEnd {
    /// A datagram that leaves; its buffer is used again.
    fn leaves(&mut self, sent: Option<SentDatagram<PacketBuffer>>) -> PacelineDatagram {
        let length = self.datagram.len() as u32;
        match sent {
            None => PacelineDatagram::default(),
            Some(SentDatagram::Rtcp) => {
                PacelineDatagram { length, content: PacelineContent::Rtcp as u32, ..Default::default() }
            }
            Some(SentDatagram::Rtp(sent)) => {
                let (sequence, stream, ecn) = (sent.sequence, sent.stream.0, sent.ecn as u8);
                if let Some(buffer) = sent.into_buffer() {
                    self.pool.take_back(buffer);
                }
                PacelineDatagram { sequence, length, content: PacelineContent::Rtp as u32, stream, ecn }
            }
        }
    }

    fn event(&mut self, event: SenderEvent<PacketBuffer>) -> PacelineEvent {
        let none = PacelineEvent::default();
        match event {
            SenderEvent::Discarded(discarded) => {
                let DiscardedPacket { stream, frame, offset, reason, packet } = discarded;
                self.pool.take_back(packet.into_buffer());
                let (kind, reason) = (PacelineEventKind::Discarded as u32, discard_reason(reason) as u32);
                PacelineEvent { frame, offset, kind, reason, stream: stream.0, ..none }
            }
            SenderEvent::KeyFrame(stream) => {
                PacelineEvent { kind: PacelineEventKind::KeyFrame as u32, stream: stream.0, ..none }
            }
            SenderEvent::Session(RtcpEvent::Ended { ssrc }) => {
                PacelineEvent { kind: PacelineEventKind::Ended as u32, from: ssrc, ..none }
            }
            SenderEvent::Session(RtcpEvent::SsrcChanged { stream, from, to }) => {
                let kind = PacelineEventKind::SsrcChanged as u32;
                PacelineEvent { kind, stream: stream.0, from, to, ..none }
            }
            SenderEvent::Broken(broken) => {
                let reason = match broken {
                    Broken::NoReports => PacelineBreaker::NoReports,
                    Broken::NoMedia => PacelineBreaker::NoMedia,
                    Broken::Congestion => PacelineBreaker::Congestion,
                } as u32;
                PacelineEvent { kind: PacelineEventKind::Broken as u32, reason, ..none }
            }
        }
    }
}

fn discard_reason(reason: DiscardReason) -> PacelineDiscardReason {
    match reason {
        DiscardReason::TooOld => PacelineDiscardReason::TooOld,
        DiscardReason::Removed => PacelineDiscardReason::Removed,
        DiscardReason::QueueFull => PacelineDiscardReason::QueueFull,
        DiscardReason::TooLarge => PacelineDiscardReason::TooLarge,
        DiscardReason::Empty => PacelineDiscardReason::Empty,
        DiscardReason::Extension => PacelineDiscardReason::Extension,
        DiscardReason::Stopped => PacelineDiscardReason::Stopped,
    }
}

/// Writes when paceline_sender_poll is to be called; PACELINE_NEVER if not until something happens. Ask again after every call. It
/// may be in the past: then at once.
///
/// # Safety
/// `due_ns` is NULL or has room for a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_sender_next_timeout(
    sender: PacelineSender,
    due_ns: *mut u64,
) -> PacelineStatus {
    answer(|| {
        let next = with(sender, |end: &mut SenderEnd| Ok(end.sender.next_timeout()))?;
        // SAFETY: the caller's promise.
        unsafe { write("due_ns", due_ns, next.map_or(PACELINE_NEVER, |(due, _why)| due.as_nanos())) }
    })
}

/// A datagram came from the receiver, with this ECN field: RTCP. A datagram that cannot be read is counted, and changes nothing.
///
/// # Safety
/// `bytes` is NULL or points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_sender_receive(
    sender: PacelineSender,
    now_ns: u64,
    bytes: *const u8,
    length: usize,
    ecn: u8,
) -> PacelineStatus {
    answer(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { read_bytes("bytes", bytes, length) }?;
        with(sender, |end: &mut SenderEnd| {
            end.sender.receive_rtcp(Time::from_nanos(now_ns), bytes, Ecn::from_bits(ecn));
            Ok(())
        })
    })
}

/// Writes the bitrate that the encoder of a stream is to make, headers in.
///
/// # Safety
/// `bps` is NULL or has room for a rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_sender_target(
    sender: PacelineSender,
    stream: u8,
    bps: *mut u64,
) -> PacelineStatus {
    answer(|| {
        let id = StreamId(stream);
        let target = with(sender, |end: &mut SenderEnd| {
            end.sender.target(id).ok_or_else(|| Failure::from(StreamError::Unknown(id)))
        })?;
        // SAFETY: the caller's promise.
        unsafe { write("bps", bps, target.as_bps()) }
    })
}

/// Writes what happened; PACELINE_EVENT_KIND_NONE if nothing more did. Call until then.
///
/// # Safety
/// `event` is NULL or has room for `event_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_sender_poll_event(
    sender: PacelineSender,
    event: *mut PacelineEvent,
    event_size: usize,
) -> PacelineStatus {
    answer(|| {
        expect_room("event", event, event_size)?;
        let shown = with(sender, |end: &mut SenderEnd| {
            let told = end.sender.poll_event();
            Ok(told.map_or(PacelineEvent::default(), |told| end.event(told)))
        })?;
        // SAFETY: the caller's promise.
        unsafe { write("event", event, shown) }
    })
}

/// Writes the figures of a sender.
///
/// # Safety
/// `statistics` is NULL or has room for `statistics_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_sender_statistics(
    sender: PacelineSender,
    statistics: *mut PacelineSenderStatistics,
    statistics_size: usize,
) -> PacelineStatus {
    answer(|| {
        expect_room("statistics", statistics, statistics_size)?;
        let shown = with(sender, |end: &mut SenderEnd| Ok(figures(&end.sender)))?;
        // SAFETY: the caller's promise.
        unsafe { write("statistics", statistics, shown) }
    })
}

fn figures(sender: &MediaSender<AnyController, PacketBuffer>) -> PacelineSenderStatistics {
    let (counters, rtcp) = (sender.counters(), sender.rtcp_counters());
    let snapshot = sender.end().controller().snapshot();
    let span = |span: Option<TimeDelta>| span.map_or(PACELINE_UNKNOWN, TimeDelta::as_nanos);
    let size = |bytes: Option<Bytes>| bytes.map_or(PACELINE_NEVER, Bytes::as_u64);
    PacelineSenderStatistics {
        pushed: counters.offered,
        sent: counters.sent,
        discarded: counters.discarded.total(),
        resent: sender.repair_counters().resent,
        rtcp_received: rtcp.received,
        rtcp_malformed: rtcp.malformed,
        rtcp_unknown_ssrc: rtcp.unknown_ssrc,
        unknown_reports: sender.sender_counters().unknown_reports,
        target_bps: snapshot.target.unwrap_or_default().as_bps(),
        window: size(snapshot.window),
        in_flight: size(snapshot.in_flight),
        srtt_ns: span(snapshot.srtt),
        queue_delay_ns: span(snapshot.queue_delay),
    }
}

/// Writes what the receiver's regular reports said last of a stream.
///
/// # Safety
/// `heard` is NULL or has room for `heard_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_sender_heard(
    sender: PacelineSender,
    stream: u8,
    heard: *mut PacelineHeard,
    heard_size: usize,
) -> PacelineStatus {
    answer(|| {
        expect_room("heard", heard, heard_size)?;
        let told = with(sender, |end: &mut SenderEnd| Ok(end.sender.heard(StreamId(stream))))?;
        let none = PacelineHeard {
            at_ns: PACELINE_UNKNOWN,
            round_trip_ns: PACELINE_UNKNOWN,
            ..PacelineHeard::default()
        };
        let shown = told.map_or(none, |told| PacelineHeard {
            at_ns: i64::try_from(told.at.as_nanos()).unwrap_or(i64::MAX),
            fraction_lost: told.fraction_lost,
            cumulative_lost: told.cumulative_lost.into(),
            jitter_ns: told.jitter.as_nanos(),
            round_trip_ns: told.round_trip.map_or(PACELINE_UNKNOWN, TimeDelta::as_nanos),
        });
        // SAFETY: the caller's promise.
        unsafe { write("heard", heard, shown) }
    })
}
