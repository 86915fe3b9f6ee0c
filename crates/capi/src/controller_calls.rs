//! The functions of a controller.

use crate::arguments::{expect_room, null, read, read_controller, sized, write};
use crate::controller::{ControllerSession, read_message, read_result, state_of};
use crate::failure::{self, Failure, answer};
use crate::handles::{destroy, keep};
use crate::{
    PACELINE_NEVER, PACELINE_UNKNOWN, PacelineAnnotation, PacelineController, PacelineDiscard,
    PacelineHandle, PacelineMessage, PacelineProbe, PacelineQueue, PacelineRecovery, PacelineResult,
    PacelineSent, PacelineState, PacelineStatus,
};
use paceline_cc::{
    Annotation, AnyController, Controller, Limits, Offered, Recovery, Report, SendQueueState, SentPacket,
    StreamId,
};
use paceline_ends::{CoupledSession, Told};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use std::ffi::c_char;
use std::slice;

/// Longest list of packets in one report; more is taken for a wrong size.
const MOST_PACKETS: usize = 1 << 20;

fn with<R>(
    number: PacelineController,
    call: impl FnOnce(&mut ControllerSession) -> Result<R, Failure>,
) -> Result<R, Failure> {
    crate::handles::with(number, |session: &mut CoupledSession| session.with(call))
}

/// Tells a controller of an event, and its group of the consequence.
fn tell(
    number: PacelineController,
    now_ns: u64,
    told: Told,
    call: impl FnOnce(&mut ControllerSession, Time),
) -> Result<(), Failure> {
    let now = Time::from_nanos(now_ns);
    crate::handles::with(number, |session: &mut CoupledSession| {
        session.tell(now, told, |session| call(session, now));
        session.share(now);
        Ok(())
    })
}

/// Creates a controller and writes its number to `controller`.
///
/// `kind` and `profile` are names of `paceline list controllers`; NULL for `kind` is tempo, for `profile` the kind's usual one. `settings` are
/// parameters of the controller and of its flow (largest_packet, l4s, priorities, initial_window, max_window), one a line or
/// parted by semicolons: `target_bitrate_max = 5Mbps; largest_packet = 1212B`. NULL: none. Controllers that have a receiver half
/// (tfrc, ccid3) go by its messages: see paceline_half_create.
///
/// # Safety
/// The texts are NULL or end with a zero, and `controller` has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_create(
    kind: *const c_char,
    profile: *const c_char,
    settings: *const c_char,
    controller: *mut PacelineController,
) -> PacelineStatus {
    answer(|| {
        if controller.is_null() {
            return Err(null("controller"));
        }
        // SAFETY: the caller's promises.
        let (kind, profile, settings) = unsafe { read_controller(kind, profile, settings) }?;
        let made = CoupledSession::new(AnyController::configured(kind, profile, settings)?);
        // SAFETY: the caller's promise.
        unsafe { write("controller", controller, keep(made)?) }
    })
}

/// Destroys a controller, a receiver half, a group, a sender or a receiver. Its number is never given again. A controller that is destroyed
/// leaves its group; of a group that is destroyed the members go on by themselves.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_destroy(handle: PacelineHandle) -> PacelineStatus {
    answer(|| destroy(handle))
}

/// The value found and the one expected when a call of this thread failed last; valid until it fails again. Never NULL.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_last_error() -> *const c_char {
    failure::last()
}

fn queue_state(queue: &PacelineQueue) -> SendQueueState {
    SendQueueState {
        stream: StreamId(queue.stream),
        bytes: Bytes::new(queue.bytes),
        packets: queue.packets,
        oldest: (queue.oldest_ns >= 0).then(|| TimeDelta::from_nanos(queue.oldest_ns)),
        newest_frame: Bytes::new(queue.newest_frame),
        greedy: false,
    }
}

/// `bytes` of media entered the send queue, whose state afterwards is `queue`; `frame_end` is not 0 if a frame is now
/// complete in it. Media is offered before anything is sent.
///
/// # Safety
/// `queue` is NULL or points to a struct of `queue_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_on_offered(
    controller: PacelineController,
    now_ns: u64,
    bytes: u64,
    frame_end: u8,
    queue: *const PacelineQueue,
    queue_size: usize,
) -> PacelineStatus {
    answer(|| {
        // SAFETY: the caller's promise.
        let queue = queue_state(&unsafe { read("queue", queue, queue_size) }?);
        let offered = Offered { stream: queue.stream, bytes: Bytes::new(bytes), frame_end: frame_end != 0 };
        tell(controller, now_ns, Told::Other, |session, now| {
            session.tell(|controller| controller.on_offered(now, &offered, &queue));
        })
    })
}

/// The state of a send queue: told before paceline_on_timeout, and after a discard.
///
/// # Safety
/// `queue` is NULL or points to a struct of `queue_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_on_send_queue(
    controller: PacelineController,
    now_ns: u64,
    queue: *const PacelineQueue,
    queue_size: usize,
) -> PacelineStatus {
    answer(|| {
        // SAFETY: the caller's promise.
        let queue = queue_state(&unsafe { read("queue", queue, queue_size) }?);
        tell(controller, now_ns, Told::Other, |session, now| {
            session.tell(|controller| controller.on_send_queue(now, &queue));
        })
    })
}

/// A packet was handed to the network.
///
/// # Safety
/// `packet` is NULL or points to a struct of `packet_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_on_sent(
    controller: PacelineController,
    now_ns: u64,
    packet: *const PacelineSent,
    packet_size: usize,
) -> PacelineStatus {
    answer(|| {
        // SAFETY: the caller's promise.
        let packet = unsafe { read("packet", packet, packet_size) }?;
        let sent = SentPacket {
            stream: StreamId(packet.stream),
            sequence: packet.sequence,
            size: Bytes::new(packet.size),
            probe: (packet.is_probe != 0).then_some(packet.probe),
            app_limited: packet.app_limited != 0,
        };
        tell(controller, now_ns, Told::Sent, |session, now| {
            session.tell(|controller| controller.on_sent(now, &sent));
        })
    })
}

/// The receiver reported on `count` packets, each a struct of `packet_size` bytes, in order of sequence within a stream and
/// only of packets that were sent. `clock_step_ns` is the step of the receiver's clock: 976563 for RFC 8888, 250000 for TWCC.
///
/// # Safety
/// `packets` is NULL or points to `count` structs of `packet_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_on_feedback(
    controller: PacelineController,
    now_ns: u64,
    packets: *const PacelineResult,
    count: usize,
    packet_size: usize,
    clock_step_ns: u64,
) -> PacelineStatus {
    answer(|| {
        sized::<PacelineResult>("packet", packet_size)?;
        if count > MOST_PACKETS {
            let text = format!("count: found {count} packets, expected at most {MOST_PACKETS}");
            return Err(Failure(PacelineStatus::WrongSize, text));
        }
        let packets = match (packets.is_null(), packets.is_aligned(), count) {
            (_, _, 0) => &[],
            (true, ..) => return Err(null("packets")),
            (_, false, _) => {
                let text = "packets: found an odd address, expected structs as C aligns them";
                return Err(Failure(PacelineStatus::WrongSize, text.into()));
            }
            // SAFETY: neither null nor odd, and the caller's promise.
            _ => unsafe { slice::from_raw_parts(packets, count) },
        };
        let clock_step = TimeDelta::from_nanos(i64::try_from(clock_step_ns).unwrap_or(i64::MAX));
        tell(controller, now_ns, Told::Heard, |session, now| {
            session.on_packets(now, packets.iter().map(read_result), clock_step);
        })
    })
}

/// An event in the recovery of a transport that retransmits: one of PacelineRecovery, and the bytes that it speaks of.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_on_recovery(
    controller: PacelineController,
    now_ns: u64,
    recovery: i32,
    bytes: u64,
) -> PacelineStatus {
    use PacelineRecovery as Event;
    let bytes = Bytes::new(bytes);
    let all = [
        (Event::Entered, Recovery::Entered { lost: bytes }),
        (Event::Lost, Recovery::Lost { lost: bytes }),
        (Event::Found, Recovery::Found { found: bytes }),
        (Event::Left, Recovery::Left),
        (Event::TimedOut, Recovery::TimedOut),
        (Event::Spurious, Recovery::Spurious),
        (Event::SynLost, Recovery::SynLost),
    ];
    answer(|| {
        let (_, recovery) =
            all.into_iter().find(|(event, _)| *event as i32 == recovery).ok_or_else(|| {
                let text = format!("recovery: found {recovery}, expected one of enum PacelineRecovery");
                Failure(PacelineStatus::Invalid, text)
            })?;
        tell(controller, now_ns, Told::Other, |session, now| {
            session.tell(|controller| controller.on_recovery(now, recovery));
        })
    })
}

/// Limits of a stream's target.
pub(crate) fn limits(stream: u8, (min_bps, max_bps): (u64, u64)) -> Result<Limits, Failure> {
    if min_bps > max_bps {
        let text = format!("min_bps: found {min_bps}, expected at most max_bps, which is {max_bps}");
        return Err(Failure(PacelineStatus::Invalid, text));
    }
    let (min, max) = (Bitrate::from_bps(min_bps), Bitrate::from_bps(max_bps));
    Ok(Limits { stream: StreamId(stream), min, max })
}

/// The application allows a stream targets from `min_bps` to `max_bps`.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_set_limits(
    controller: PacelineController,
    now_ns: u64,
    stream: u8,
    min_bps: u64,
    max_bps: u64,
) -> PacelineStatus {
    answer(|| {
        let limits = limits(stream, (min_bps, max_bps))?;
        tell(controller, now_ns, Told::Other, |session, now| {
            session.tell(|controller| controller.on_limits(now, &limits));
        })
    })
}

/// Writes when paceline_on_timeout is due; PACELINE_NEVER if it is not. Ask again after every call.
///
/// # Safety
/// `due_ns` is NULL or has room for a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_next_timeout(
    controller: PacelineController,
    due_ns: *mut u64,
) -> PacelineStatus {
    answer(|| {
        let next = with(controller, |session| Ok(session.controller.next_timeout()))?;
        // SAFETY: the caller's promise.
        unsafe { write("due_ns", due_ns, next.map_or(PACELINE_NEVER, |(due, _why)| due.as_nanos())) }
    })
}

/// The timeout is due.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_on_timeout(controller: PacelineController, now_ns: u64) -> PacelineStatus {
    answer(|| {
        tell(controller, now_ns, Told::Timeout, |session, now| {
            session.tell(|controller| controller.on_timeout(now));
        })
    })
}

/// Writes what holds now.
///
/// # Safety
/// `state` is NULL or has room for `state_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_state(
    controller: PacelineController,
    state: *mut PacelineState,
    state_size: usize,
) -> PacelineStatus {
    answer(|| {
        sized::<PacelineState>("state", state_size)?;
        let now = with(controller, |session| Ok(state_of(session)))?;
        // SAFETY: the caller's promise.
        unsafe { write("state", state, now) }
    })
}

/// Writes the target bitrate of a stream, headers in; 0 where the controller sets none.
///
/// # Safety
/// `bps` is NULL or has room for a rate.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_target(
    controller: PacelineController,
    stream: u8,
    bps: *mut u64,
) -> PacelineStatus {
    answer(|| {
        let target = with(controller, |session| Ok(session.controller.target_bitrate(StreamId(stream))))?;
        // SAFETY: the caller's promise.
        unsafe { write("bps", bps, target.unwrap_or_default().as_bps()) }
    })
}

/// Takes the discard that the controller asks for: writes 1 to `taken` and what it is to `discard`, or 0 if there is none.
///
/// # Safety
/// The pointers are NULL or have room for what they point to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_take_discard(
    controller: PacelineController,
    discard: *mut PacelineDiscard,
    taken: *mut u8,
) -> PacelineStatus {
    answer(|| {
        if discard.is_null() || taken.is_null() {
            return Err(null("discard or taken"));
        }
        let asked = with(controller, |session| Ok(session.answers.discard.take()))?;
        let shown = asked.map_or_else(PacelineDiscard::default, |discard| PacelineDiscard {
            older_than_ns: discard.older_than.map_or(PACELINE_UNKNOWN, TimeDelta::as_nanos),
            stream: discard.stream.0,
            key_frame: discard.key_frame,
        });
        // SAFETY: the caller's promises.
        unsafe { write("discard", discard, shown).and(write("taken", taken, u8::from(asked.is_some()))) }
    })
}

/// Takes the probe that the controller asks for: writes 1 to `taken` and what it is to `probe`, or 0 if there is none.
///
/// # Safety
/// The pointers are NULL or have room for what they point to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_take_probe(
    controller: PacelineController,
    probe: *mut PacelineProbe,
    taken: *mut u8,
) -> PacelineStatus {
    answer(|| {
        if probe.is_null() || taken.is_null() {
            return Err(null("probe or taken"));
        }
        let asked = with(controller, |session| Ok(session.answers.probe.take()))?;
        let shown = asked.map_or_else(PacelineProbe::default, |probe| PacelineProbe {
            id: probe.id,
            bps: probe.rate.as_bps(),
            bytes: probe.bytes.as_u64(),
        });
        // SAFETY: the caller's promises.
        unsafe { write("probe", probe, shown).and(write("taken", taken, u8::from(asked.is_some()))) }
    })
}

/// Writes what the controller puts on the packet of a stream that leaves now, for its receiver half.
///
/// # Safety
/// `annotation` is NULL or has room for `annotation_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_annotation(
    controller: PacelineController,
    now_ns: u64,
    stream: u8,
    annotation: *mut PacelineAnnotation,
    annotation_size: usize,
) -> PacelineStatus {
    answer(|| {
        expect_room("annotation", annotation, annotation_size)?;
        let now = Time::from_nanos(now_ns);
        let put = with(controller, |session| Ok(session.controller.annotation(now, StreamId(stream))))?;
        let none = PacelineAnnotation { rtt_ns: PACELINE_UNKNOWN, counter: -1 };
        let put = match put {
            None => none,
            Some(Annotation::Rtt(rtt)) => PacelineAnnotation { rtt_ns: rtt.as_nanos(), ..none },
            Some(Annotation::Counter(value)) => PacelineAnnotation { counter: value.into(), ..none },
        };
        // SAFETY: the caller's promise.
        unsafe { write("annotation", annotation, put) }
    })
}

/// The controller's receiver half sent this message.
///
/// # Safety
/// `message` is NULL or points to a struct of `message_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_on_message(
    controller: PacelineController,
    now_ns: u64,
    message: *const PacelineMessage,
    message_size: usize,
) -> PacelineStatus {
    answer(|| {
        // SAFETY: the caller's promise.
        let message = unsafe { read("message", message, message_size) }?;
        if !(0.0..=1.0).contains(&message.loss_event_rate) {
            let found = message.loss_event_rate;
            let text = format!("loss_event_rate: found {found}, expected a number from 0 to 1");
            return Err(Failure(PacelineStatus::Invalid, text));
        }
        let report = Report::Receiver(read_message(&message));
        tell(controller, now_ns, Told::Heard, |session, now| {
            session.tell(|controller| controller.on_report(now, &report));
        })
    })
}
