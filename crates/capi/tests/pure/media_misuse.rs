//! An error of a caller of the RTP endpoint in C gives an error code and a text, and changes nothing else.
#![allow(unsafe_code, reason = "it calls as C does")]

use PacelineStatus::{Invalid, NoHandle, NullPointer, Ok, WrongSize};
use paceline::*;
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

fn text(text: &str) -> CString {
    CString::new(text).expect("no zero")
}

fn said() -> String {
    // SAFETY: the library answers a text that ends with a zero.
    unsafe { CStr::from_ptr(paceline_last_error()) }.to_str().expect("UTF-8").into()
}

#[track_caller]
fn fails(status: PacelineStatus, expected: PacelineStatus, text: &str) {
    assert_eq!(status, expected, "{}", said());
    assert!(said().contains(text), "{}", said());
}

fn sender(settings: &str) -> (PacelineStatus, PacelineSender) {
    let (kind, settings, mut sender) = (text("scream"), text(settings), 0);
    // SAFETY: texts that end with a zero, and room for a number.
    let status = unsafe { paceline_sender_create(kind.as_ptr(), null(), settings.as_ptr(), &raw mut sender) };
    (status, sender)
}

fn receiver(settings: &str) -> (PacelineStatus, PacelineReceiver) {
    let (settings, mut receiver) = (text(settings), 0);
    // SAFETY: a text that ends with a zero, and room for a number.
    let status = unsafe { paceline_receiver_create(settings.as_ptr(), &raw mut receiver) };
    (status, receiver)
}

fn add(sender: PacelineSender, settings: &str) -> (PacelineStatus, u8) {
    let (settings, mut stream) = (text(settings), 255);
    // SAFETY: a text that ends with a zero, and room for a byte.
    let status = unsafe { paceline_sender_add_stream(sender, 0, settings.as_ptr(), &raw mut stream) };
    (status, stream)
}

fn expect(receiver: PacelineReceiver, settings: &str) -> PacelineStatus {
    let settings = text(settings);
    // SAFETY: a text that ends with a zero.
    unsafe { paceline_receiver_add_stream(receiver, settings.as_ptr()) }
}

fn figures(sender: PacelineSender) -> String {
    let mut figures = PacelineSenderStatistics::default();
    // SAFETY: room for the struct.
    let status = unsafe { paceline_sender_statistics(sender, &raw mut figures, size_of_val(&figures)) };
    assert_eq!(status, Ok, "{}", said());
    format!("{figures:?}")
}

#[test]
fn settings_of_ends_and_streams_are_checked() {
    fails(
        sender("pace = 1").0,
        Invalid,
        "pace: found an unknown parameter, expected a parameter that docs/endpoint-settings.md or ",
    );
    fails(sender("format = remb").0, Invalid, "format: found remb, expected one of \"rfc8888\", \"twcc\"");
    fails(sender("priorities = [1]").0, Invalid, "priorities: found [1]");
    fails(sender("largest_packet = 12B").0, Invalid, "largest_packet: found 12B, expected at least");
    fails(receiver("time = soon").0, Invalid, "time: found soon, expected a time");
    let (status, own) = sender("ecn = l4s; reduced_size = true; cname = \"me\"");
    assert_eq!(status, Ok, "{}", said());
    fails(add(own, "").0, Invalid, "ssrc: found none, expected the SSRC of the stream");
    fails(add(own, "ssrc = 5000000000").0, Invalid, "ssrc: found 5000000000, expected a whole number");
    fails(add(own, "ssrc = 1; rtx_ssrc = 2").0, Invalid, "without use_repair");
    fails(add(own, "ssrc = 1; payload_type = 72").0, Invalid, "payload_type: found 72, expected one from 0");
    assert_eq!(add(own, "ssrc = 1").0, Ok, "what was refused has left");
    fails(add(own, "ssrc = 1").0, Invalid, "ssrc: found 1, expected one that no other");
    let (_, other) = receiver("");
    fails(expect(other, "rtx_ssrc = 4"), Invalid, "ssrc: found none");
    assert_eq!(expect(other, "ssrc = 4"), Ok);
    fails(expect(other, "ssrc = 4"), Invalid, "ssrc: found 4, expected SSRCs that no other stream has");
}

#[test]
fn null_pointers_wrong_sizes_and_values_are_refused() {
    let ((_, own), (_, other)) = (sender(""), receiver(""));
    assert_eq!((add(own, "ssrc = 1").0, expect(other, "ssrc = 1")), (Ok, Ok));
    let before = figures(own);
    let media = PacelineMedia { payload_type: 72, ..PacelineMedia::default() };
    let whole = PacelineMedia { whole: 1, ..media };
    let (mut leaves, mut packet, mut buffer) =
        (PacelineDatagram::default(), PacelinePacket::default(), [0_u8; 2000]);
    let (bytes, room) = ([1_u8; 30], buffer.as_mut_ptr());
    let (size, datagram) = (size_of_val(&media), size_of_val(&leaves));
    // SAFETY: null, or pointers of the true size; those with a wrong size are not read.
    unsafe {
        fails(paceline_sender_create(null(), null(), null(), null_mut()), NullPointer, "sender");
        fails(paceline_receiver_create(null(), null_mut()), NullPointer, "receiver");
        fails(paceline_half_create(null(), null(), null(), null_mut()), NullPointer, "half");
        fails(paceline_sender_add_stream(own, 0, null(), null_mut()), NullPointer, "stream");
        let odd = [0xff_u8, 0];
        fails(paceline_receiver_add_stream(other, odd.as_ptr().cast()), Invalid, "expected UTF-8");
        fails(paceline_sender_push(own, 0, null(), size, bytes.as_ptr(), 30), NullPointer, "media");
        fails(
            paceline_sender_push(own, 0, &raw const media, size - 1, bytes.as_ptr(), 30),
            WrongSize,
            "media",
        );
        fails(paceline_sender_push(own, 0, &raw const media, size, null(), 30), NullPointer, "bytes");
        fails(
            paceline_sender_push(own, 0, &raw const media, size, bytes.as_ptr(), usize::MAX),
            WrongSize,
            "at most",
        );
        fails(
            paceline_sender_push(own, 0, &raw const media, size, bytes.as_ptr(), 30),
            Invalid,
            "payload type",
        );
        fails(paceline_sender_push(own, 0, &raw const whole, size, bytes.as_ptr(), 30), Invalid, "media: ");
        fails(
            paceline_sender_poll(own, 0, null_mut(), 2000, &raw mut leaves, datagram),
            NullPointer,
            "buffer",
        );
        fails(
            paceline_sender_poll(own, 0, room, 1211, &raw mut leaves, datagram),
            WrongSize,
            "at least 1212 B",
        );
        fails(paceline_sender_poll(own, 0, room, 2000, null_mut(), datagram), NullPointer, "datagram");
        fails(paceline_sender_poll(own, 0, room, 2000, &raw mut leaves, 3), WrongSize, "size of datagram");
        fails(paceline_receiver_poll(other, 0, room, 1199, &raw mut leaves, datagram), WrongSize, "capacity");
        fails(paceline_sender_receive(own, 0, null(), 1, 0), NullPointer, "bytes");
        let received =
            |bytes, length, size, packet| paceline_receiver_receive(other, 0, bytes, length, 0, packet, size);
        let whole_size = size_of_val(&packet);
        fails(received(null(), 1, whole_size, &raw mut packet), NullPointer, "bytes");
        fails(received(bytes.as_ptr(), 30, 1, &raw mut packet), WrongSize, "size of packet");
        fails(received(bytes.as_ptr(), 30, whole_size, null_mut()), NullPointer, "packet");
        fails(paceline_sender_target(own, 0, null_mut()), NullPointer, "bps");
        fails(paceline_sender_target(own, 9, &raw mut leaves.sequence), Invalid, "stream: found 9");
        fails(paceline_sender_poll_event(own, null_mut(), 0), WrongSize, "size of event");
        fails(
            paceline_receiver_poll_event(other, null_mut(), size_of::<PacelineEvent>()),
            NullPointer,
            "event",
        );
        fails(paceline_sender_heard(own, 0, null_mut(), size_of::<PacelineHeard>()), NullPointer, "heard");
        fails(paceline_sender_next_timeout(own, null_mut()), NullPointer, "due_ns");
        fails(paceline_receiver_next_timeout(other, null_mut()), NullPointer, "due_ns");
        fails(paceline_receiver_statistics(other, null_mut(), 0), WrongSize, "size of statistics");
    }
    fails(
        paceline_sender_remove_stream(own, 0, 7),
        Invalid,
        "stream: found 7, expected one that the flow has",
    );
    fails(
        paceline_sender_set_priority(own, 0, 0, f64::NAN),
        Invalid,
        "priority: found one out of range, expected a number",
    );
    fails(paceline_sender_set_limits(own, 0, 0, 2, 1), Invalid, "min_bps: found 2");
    fails(paceline_receiver_ask_for_picture(other, 0, 8, 0), Invalid, "ssrc: found 8, expected that of");
    fails(paceline_receiver_remove_stream(other, 8), Invalid, "ssrc: found 8");
    assert_eq!(figures(own), before, "nothing of it reached the sender");
}

#[test]
fn a_number_is_of_one_kind_until_it_is_destroyed() {
    let ((_, own), (_, other)) = (sender(""), receiver(""));
    fails(
        paceline_receiver_leave(own),
        NoHandle,
        &format!("receiver: found {own}, which is a sender, expected a receiver"),
    );
    fails(paceline_sender_start(other, 0), NoHandle, "which is a receiver, expected a sender");
    fails(paceline_on_timeout(own, 0), NoHandle, "expected a controller");
    let mut due = 0;
    // SAFETY: room for a time.
    fails(unsafe { paceline_half_next_timeout(own, &raw mut due) }, NoHandle, "expected a receiver half");
    assert_eq!(paceline_destroy(own), Ok);
    fails(paceline_sender_start(own, 0), NoHandle, "expected one that was created and not destroyed");
    fails(paceline_destroy(own), NoHandle, "handle: found");
    assert_eq!(paceline_receiver_leave(other), Ok);
}

#[test]
fn messages_of_a_receiver_half_are_checked() {
    let (kind, scream, mut number) = (text("tfrc"), text("scream"), 0);
    // SAFETY: texts that end with a zero, room for a number, and structs of the true size.
    unsafe {
        fails(
            paceline_half_create(scream.as_ptr(), null(), null(), &raw mut number),
            Invalid,
            "controller: found scream, expected tfrc or ccid3",
        );
        assert_eq!(paceline_create(kind.as_ptr(), null(), null(), &raw mut number), Ok);
        let size = size_of::<PacelineMessage>();
        fails(paceline_on_message(number, 0, null(), size), NullPointer, "message");
        for loss_event_rate in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let message = PacelineMessage { loss_event_rate, ..PacelineMessage::default() };
            fails(
                paceline_on_message(number, 0, &raw const message, size),
                Invalid,
                "loss_event_rate: found",
            );
        }
    }
}

/// Calls with arguments drawn at random, of which many are wrong: an answer to each, and the library goes on.
#[test]
fn thousands_of_random_calls_are_answered() {
    let ((_, own), (_, other)) = (sender("repair = true; seed = 3"), receiver("seed = 3"));
    assert_eq!(add(own, "ssrc = 1; rtx_ssrc = 2").0, Ok);
    assert_eq!(expect(other, "ssrc = 1; rtx_ssrc = 2"), Ok);
    assert_eq!(paceline_sender_start(own, 0), Ok);
    let (mut draws, mut now) = (0x1234_5678_u64, 0_u64);
    let mut draw = |most: u64| {
        draws = draws.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (draws >> 33) % most
    };
    let (mut buffer, mut leaves, mut packet, mut event) =
        ([0_u8; 2000], PacelineDatagram::default(), PacelinePacket::default(), PacelineEvent::default());
    let mut failed = 0;
    for _ in 0..20_000 {
        now = if draw(50) == 0 { draw(u64::MAX) } else { now + draw(5_000_000) };
        let stream = draw(4) as u8;
        let media = PacelineMedia {
            frame: draw(9),
            timestamp: draw(1 << 33) as u32,
            stream,
            frame_end: draw(2) as u8,
            whole: draw(3) as u8,
            payload_type: draw(256) as u8,
            marker: draw(2) as u8,
        };
        let length = draw(1400) as usize;
        // SAFETY: structs of the true size, and a buffer that is longer than what is said of it.
        let status = unsafe {
            match draw(9) {
                0 | 1 => paceline_sender_push(
                    own,
                    now,
                    &raw const media,
                    size_of_val(&media),
                    buffer.as_ptr(),
                    length,
                ),
                2 | 3 => paceline_sender_poll(
                    own,
                    now,
                    buffer.as_mut_ptr(),
                    2000,
                    &raw mut leaves,
                    size_of_val(&leaves),
                ),
                4 => paceline_sender_receive(own, now, buffer.as_ptr(), length, draw(256) as u8),
                5 => paceline_receiver_receive(
                    other,
                    now,
                    buffer.as_ptr(),
                    length.max(leaves.length as usize),
                    0,
                    &raw mut packet,
                    size_of_val(&packet),
                ),
                6 => paceline_receiver_poll(
                    other,
                    now,
                    buffer.as_mut_ptr(),
                    2000,
                    &raw mut leaves,
                    size_of_val(&leaves),
                ),
                7 => match draw(5) {
                    0 => paceline_sender_remove_stream(own, now, stream),
                    1 => add(own, &format!("ssrc = {}", draw(4))).0,
                    2 => paceline_sender_set_priority(own, now, stream, draw(3) as f64 - 1.0),
                    3 => paceline_sender_set_limits(own, now, stream, draw(1 << 30), draw(1 << 30)),
                    _ => paceline_sender_set_ssrc(own, now, stream, draw(5) as u32),
                },
                _ => paceline_sender_poll_event(own, &raw mut event, size_of_val(&event)),
            }
        };
        if draw(3) == 0 {
            let place = draw(1400) as usize;
            buffer[place] = draw(256) as u8;
        }
        assert_ne!(status, PacelineStatus::Failed, "{}", said());
        failed += u64::from(status != Ok);
    }
    assert!((1000..15_000).contains(&failed), "{failed} calls of 20,000 were refused");
    assert_eq!((paceline_destroy(own), paceline_destroy(other)), (Ok, Ok));
}

/// Threads with senders of their own, and one that all of them use.
#[test]
#[allow(clippy::disallowed_methods, reason = "callers in C have threads")]
fn different_threads_may_use_different_numbers_and_the_same() {
    let (status, shared) = sender("");
    assert_eq!((status, add(shared, "ssrc = 1").0), (Ok, Ok));
    let run = move || {
        let mut due = 0;
        for now in 0..500 {
            let (status, own) = sender("");
            assert_eq!(status, Ok, "{}", said());
            assert_eq!(add(own, "ssrc = 1").0, Ok, "{}", said());
            assert_eq!(paceline_sender_set_priority(shared, now, 0, 2.0), Ok);
            // SAFETY: room for a time.
            assert_eq!(unsafe { paceline_sender_next_timeout(shared, &raw mut due) }, Ok);
            assert_eq!(paceline_destroy(own), Ok);
            fails(paceline_destroy(own), NoHandle, &format!("found {own}"));
        }
    };
    let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(run)).collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no call panics"));
    assert_eq!(paceline_destroy(shared), Ok);
}
