//! The functions of a receiver of media in RTP.

use crate::arguments::{expect_buffer, expect_room, fill, null, read_bytes, read_settings, write};
use crate::failure::{Failure, answer};
use crate::handles::{Kept, keep, with};
use crate::sender::LARGEST_RTCP;
use crate::{
    PACELINE_NEVER, PacelineContent, PacelineDatagram, PacelineEvent, PacelineEventKind, PacelinePacket,
    PacelineReceiver, PacelineReceiverStatistics, PacelineStatus,
};
use paceline_endpoint::MediaReceiver;
use paceline_rtp::rtcp::{Came, Picture, ReceiverEvent};
use paceline_units::{Ecn, Time};
use std::ffi::c_char;

/// A receiver.
pub(crate) struct ReceiverEnd {
    receiver: MediaReceiver,
    /// The datagram that leaves.
    datagram: Vec<u8>,
}

impl Kept for ReceiverEnd {
    const NAME: &'static str = "receiver";
}

/// Creates a receiver that expects no stream yet, and writes its number to `receiver`.
///
/// `settings`, which docs/endpoint-settings.md lists, are parameters of the receiver, of its reports on packets and of its RTCP:
/// `format = twcc; reduced_size = true`. Give `seed` a number of the system's random source.
///
/// # Safety
/// `settings` is NULL or ends with a zero, and `receiver` has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_receiver_create(
    settings: *const c_char,
    receiver: *mut PacelineReceiver,
) -> PacelineStatus {
    answer(|| {
        if receiver.is_null() {
            return Err(null("receiver"));
        }
        // SAFETY: the caller's promise.
        let made = MediaReceiver::configured(unsafe { read_settings(settings) }?)?;
        let end = ReceiverEnd { receiver: made, datagram: Vec::with_capacity(LARGEST_RTCP) };
        // SAFETY: the caller's promise.
        unsafe { write("receiver", receiver, keep(end)?) }
    })
}

/// A stream is expected. `settings`, which docs/endpoint-settings.md lists, say its SSRC and more: `ssrc = 500; rtx_ssrc = 501`.
///
/// # Safety
/// `settings` is NULL or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_receiver_add_stream(
    receiver: PacelineReceiver,
    settings: *const c_char,
) -> PacelineStatus {
    answer(|| {
        // SAFETY: the caller's promise.
        let settings = unsafe { read_settings(settings) }?;
        with(receiver, |end: &mut ReceiverEnd| {
            end.receiver.add_configured(settings)?;
            Ok(())
        })
    })
}

fn expected(known: bool, ssrc: u32) -> Result<(), Failure> {
    let unknown = || {
        let text = format!("ssrc: found {ssrc}, expected that of a stream that was added");
        Failure(PacelineStatus::Invalid, text)
    };
    known.then_some(()).ok_or_else(unknown)
}

/// A stream is expected no more, nor its retransmissions.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_receiver_remove_stream(receiver: PacelineReceiver, ssrc: u32) -> PacelineStatus {
    answer(|| with(receiver, |end: &mut ReceiverEnd| expected(end.receiver.remove_stream(ssrc), ssrc)))
}

/// A datagram came from the sender, with this ECN field: RTP or RTCP. Writes to `packet` what is to be delivered of it; the payload
/// is where it was, in `bytes`. A datagram that cannot be read is counted, and changes nothing.
///
/// # Safety
/// `bytes` is NULL or points to `length` bytes, and `packet` is NULL or has room for `packet_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_receiver_receive(
    receiver: PacelineReceiver,
    now_ns: u64,
    bytes: *const u8,
    length: usize,
    ecn: u8,
    packet: *mut PacelinePacket,
    packet_size: usize,
) -> PacelineStatus {
    answer(|| {
        expect_room("packet", packet, packet_size)?;
        // SAFETY: the caller's promise.
        let bytes = unsafe { read_bytes("bytes", bytes, length) }?;
        let shown = with(receiver, |end: &mut ReceiverEnd| {
            let came = end.receiver.receive(Time::from_nanos(now_ns), bytes, Ecn::from_bits(ecn));
            Ok(came.map_or(PacelinePacket::default(), |came| delivered(&came, bytes)))
        })?;
        // SAFETY: the caller's promise.
        unsafe { write("packet", packet, shown) }
    })
}

fn delivered(came: &Came<'_>, datagram: &[u8]) -> PacelinePacket {
    let (header, payload) = (came.packet.header, came.packet.payload);
    let offset = (payload.as_ptr() as usize).saturating_sub(datagram.as_ptr() as usize);
    PacelinePacket {
        number: came.number,
        ssrc: header.ssrc,
        timestamp: header.timestamp,
        payload_offset: if payload.is_empty() { 0 } else { offset as u32 },
        payload_length: payload.len() as u32,
        delivered: 1,
        first: came.first.into(),
        repaired: came.repaired.into(),
        payload_type: header.payload_type,
        marker: header.marker.into(),
    }
}

/// Writes the next datagram that goes back to the sender now into `buffer`, and what it is to `datagram`. Call until its length is 0.
/// `buffer` has room for 1200 bytes.
///
/// # Safety
/// `buffer` is NULL or has room for `capacity` bytes, and `datagram` is NULL or has room for `datagram_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_receiver_poll(
    receiver: PacelineReceiver,
    now_ns: u64,
    buffer: *mut u8,
    capacity: usize,
    datagram: *mut PacelineDatagram,
    datagram_size: usize,
) -> PacelineStatus {
    answer(|| {
        expect_room("datagram", datagram, datagram_size)?;
        expect_buffer(buffer, capacity, LARGEST_RTCP)?;
        let shown = with(receiver, |end: &mut ReceiverEnd| {
            end.datagram.clear();
            let any = end.receiver.poll_transmit(Time::from_nanos(now_ns), &mut end.datagram);
            // SAFETY: the caller's promise.
            unsafe { fill(buffer, capacity, &end.datagram) }?;
            let content = if any { PacelineContent::Rtcp } else { PacelineContent::Nothing } as u32;
            Ok(PacelineDatagram { length: end.datagram.len() as u32, content, ..Default::default() })
        })?;
        // SAFETY: the caller's promise.
        unsafe { write("datagram", datagram, shown) }
    })
}

/// Writes when paceline_receiver_poll is to be called; PACELINE_NEVER if not until something comes. Ask again after every call. It
/// may be in the past: then at once.
///
/// # Safety
/// `due_ns` is NULL or has room for a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_receiver_next_timeout(
    receiver: PacelineReceiver,
    due_ns: *mut u64,
) -> PacelineStatus {
    answer(|| {
        let next = with(receiver, |end: &mut ReceiverEnd| Ok(end.receiver.next_timeout()))?;
        // SAFETY: the caller's promise.
        unsafe { write("due_ns", due_ns, next.map_or(PACELINE_NEVER, |(due, _why)| due.as_nanos())) }
    })
}

/// Asks for a picture of a stream with the next datagram: one that mends what was lost (PLI), or if `full` is not 0 one that needs no
/// other (FIR). Less than 300 ms after the last request nothing is done.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_receiver_ask_for_picture(
    receiver: PacelineReceiver,
    now_ns: u64,
    ssrc: u32,
    full: u8,
) -> PacelineStatus {
    let picture = if full == 0 { Picture::Lost } else { Picture::Full };
    answer(|| {
        with(receiver, |end: &mut ReceiverEnd| {
            expected(end.receiver.reception(ssrc).is_some(), ssrc)?;
            end.receiver.ask_for_picture(Time::from_nanos(now_ns), ssrc, picture);
            Ok(())
        })
    })
}

/// Ends: the receiver says goodbye with its next datagram, and reports no more.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_receiver_leave(receiver: PacelineReceiver) -> PacelineStatus {
    answer(|| {
        with(receiver, |end: &mut ReceiverEnd| {
            end.receiver.leave();
            Ok(())
        })
    })
}

/// Writes what happened; PACELINE_EVENT_KIND_NONE if nothing more did. Call until then.
///
/// # Safety
/// `event` is NULL or has room for `event_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_receiver_poll_event(
    receiver: PacelineReceiver,
    event: *mut PacelineEvent,
    event_size: usize,
) -> PacelineStatus {
    answer(|| {
        expect_room("event", event, event_size)?;
        let told = with(receiver, |end: &mut ReceiverEnd| Ok(end.receiver.poll_event()))?;
        let none = PacelineEvent::default();
        let shown = match told {
            None => none,
            Some(ReceiverEvent::Ended { ssrc }) => {
                PacelineEvent { kind: PacelineEventKind::Ended as u32, from: ssrc, ..none }
            }
            Some(ReceiverEvent::SsrcChanged { from, to }) => {
                PacelineEvent { kind: PacelineEventKind::SsrcChanged as u32, from, to, ..none }
            }
        };
        // SAFETY: the caller's promise.
        unsafe { write("event", event, shown) }
    })
}

/// Writes the figures of a receiver.
///
/// # Safety
/// `statistics` is NULL or has room for `statistics_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_receiver_statistics(
    receiver: PacelineReceiver,
    statistics: *mut PacelineReceiverStatistics,
    statistics_size: usize,
) -> PacelineStatus {
    answer(|| {
        expect_room("statistics", statistics, statistics_size)?;
        let (counters, rtcp) = with(receiver, |end: &mut ReceiverEnd| {
            Ok((end.receiver.counters(), end.receiver.rtcp_counters()))
        })?;
        let shown = PacelineReceiverStatistics {
            packets: counters.packets,
            bytes: counters.bytes,
            malformed: counters.malformed + rtcp.malformed,
            unknown_ssrc: rtcp.unknown_ssrc,
            unreported: counters.unreported,
            reports: counters.reports,
            asked: rtcp.asked,
            restored: rtcp.restored,
            gave_up: rtcp.gave_up,
        };
        // SAFETY: the caller's promise.
        unsafe { write("statistics", statistics, shown) }
    })
}
