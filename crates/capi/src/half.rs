//! The functions of a receiver half: what controllers that go by messages of their own have with the receiver.

use crate::arguments::{expect_room, null, read, read_controller, write};
use crate::failure::answer;
use crate::handles::{Kept, keep, with};
use crate::{
    PACELINE_NEVER, PACELINE_UNKNOWN, PacelineAnnotation, PacelineArrival, PacelineHalf, PacelineMessage,
    PacelineStatus,
};
use paceline_cc::{Annotation, AnyReceiverHalf, Arrival, ReceiverHalf, ReceiverReport, StreamId};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::ffi::c_char;

/// The receiver half of a controller.
pub(crate) struct HalfSession(AnyReceiverHalf);

impl Kept for HalfSession {
    const NAME: &'static str = "receiver half";
}

/// Creates the receiver half of a controller that has one (tfrc, ccid3), and writes its number to `half`. The arguments are those of
/// paceline_create, the same as at the sender. Packets must carry the time of sending and what paceline_annotation says.
///
/// # Safety
/// The texts are NULL or end with a zero, and `half` has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_half_create(
    kind: *const c_char,
    profile: *const c_char,
    settings: *const c_char,
    half: *mut PacelineHalf,
) -> PacelineStatus {
    answer(|| {
        if half.is_null() {
            return Err(null("half"));
        }
        // SAFETY: the caller's promises.
        let (kind, profile, settings) = unsafe { read_controller(kind, profile, settings) }?;
        let made = HalfSession(AnyReceiverHalf::configured(kind, profile, settings)?);
        // SAFETY: the caller's promise.
        unsafe { write("half", half, keep(made)?) }
    })
}

fn read_annotation(put: PacelineAnnotation) -> Option<Annotation> {
    match (put.rtt_ns, u8::try_from(put.counter)) {
        (rtt, _) if rtt >= 0 => Some(Annotation::Rtt(TimeDelta::from_nanos(rtt))),
        (_, Ok(counter)) => Some(Annotation::Counter(counter & 15)),
        _ => None,
    }
}

/// A packet arrived. Writes 1 to `report_now` if paceline_half_report is to be called at once.
///
/// # Safety
/// `arrival` is NULL or points to a struct of `arrival_size` bytes, and `report_now` is NULL or has room for a byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_half_on_arrival(
    half: PacelineHalf,
    now_ns: u64,
    arrival: *const PacelineArrival,
    arrival_size: usize,
    report_now: *mut u8,
) -> PacelineStatus {
    answer(|| {
        // SAFETY: the caller's promise.
        let packet = unsafe { read("arrival", arrival, arrival_size) }?;
        if report_now.is_null() {
            return Err(null("report_now"));
        }
        let arrival = Arrival {
            stream: StreamId(packet.stream),
            sequence: packet.sequence,
            size: Bytes::new(packet.size),
            sent: Some(Time::from_nanos(packet.sent_ns)),
            ecn: Ecn::from_bits(packet.ecn),
            annotation: read_annotation(packet.annotation),
        };
        let now = Time::from_nanos(now_ns);
        let at_once = with(half, |half: &mut HalfSession| Ok(half.0.on_arrival(now, &arrival)))?;
        // SAFETY: the caller's promise.
        unsafe { write("report_now", report_now, u8::from(at_once)) }
    })
}

/// Writes when paceline_half_report is due if nothing arrives; PACELINE_NEVER if it is not. Ask again after every call.
///
/// # Safety
/// `due_ns` is NULL or has room for a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_half_next_timeout(half: PacelineHalf, due_ns: *mut u64) -> PacelineStatus {
    answer(|| {
        let next = with(half, |half: &mut HalfSession| Ok(half.0.next_timeout()))?;
        // SAFETY: the caller's promise.
        unsafe { write("due_ns", due_ns, next.map_or(PACELINE_NEVER, Time::as_nanos)) }
    })
}

/// Writes 1 to `taken` and the message for the controller to `message`, or 0 if there is nothing to say.
///
/// # Safety
/// `message` is NULL or has room for `message_size` bytes, and `taken` is NULL or has room for a byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_half_report(
    half: PacelineHalf,
    now_ns: u64,
    message: *mut PacelineMessage,
    message_size: usize,
    taken: *mut u8,
) -> PacelineStatus {
    answer(|| {
        expect_room("message", message, message_size)?;
        if taken.is_null() {
            return Err(null("taken"));
        }
        let now = Time::from_nanos(now_ns);
        let report = with(half, |half: &mut HalfSession| Ok(half.0.report(now)))?;
        let shown = match report {
            Some(ReceiverReport::Tfrc { loss_event_rate, receive_rate, newest_sent, delay }) => {
                let newest_sent_ns = newest_sent.and_then(|sent| i64::try_from(sent.as_nanos()).ok());
                Some(PacelineMessage {
                    loss_event_rate,
                    receive_bps: receive_rate.as_bps(),
                    newest_sent_ns: newest_sent_ns.unwrap_or(PACELINE_UNKNOWN),
                    delay_ns: delay.as_nanos().max(0) as u64,
                })
            }
            // No registered half says a maximum bitrate.
            Some(ReceiverReport::Remb { .. }) | None => None,
        };
        // SAFETY: the caller's promises.
        unsafe {
            write("message", message, shown.unwrap_or_default())?;
            write("taken", taken, u8::from(shown.is_some()))
        }
    })
}
