//! Numbers that wrap, in seconds, over loopback: runs that begin just before the wrap. `pure/wraps.rs` has the same ones simulated.

use crate::call::wrapping::{
    Beginning, REFERENCE_TIMES, REPORT_TIMESTAMPS, RTP_TIMESTAMPS, SEQUENCE_NUMBERS, TRANSPORT_WIDE_NUMBERS,
};
use crate::call::{flow, loaded};
use crate::ends::{Ends, run};
use crate::lateness::judge_on_time;

fn passes(beginning: &Beginning) {
    judge_on_time(
        || nothing_is_lost(beginning),
        |ends| {
            let (sent, received) = (flow(&ends.sender), flow(&ends.receiver));
            assert!(sent.packets_sent > Some(100), "{sent:?}");
            assert!(received.frames.displayed >= Some(65), "{:?}", received.frames);
            assert!(sent.queue_delay_ms.max.is_some_and(|most| most < 1000.0), "{:?}", sent.queue_delay_ms);
        },
    );
}

/// Nothing is lost, refused or begun anew.
fn nothing_is_lost(beginning: &Beginning) -> Ends {
    let ends = run(&beginning.call(), |_, _, _| ());
    let (sent, received) = (flow(&ends.sender), flow(&ends.receiver));
    assert!(sent.packets_sent > Some(36), "numbers have wrapped: {sent:?}");
    for figures in [sent, received] {
        assert_eq!(figures.loss_ratio, Some(0.0), "{figures:?}");
    }
    for counters in [ends.sender.counters, ends.receiver.counters] {
        let odd = [
            counters.out_of_sequence,
            counters.out_of_time,
            counters.resynchronised,
            counters.impossible_times,
            counters.unknown_reports,
            counters.unknown_ssrc,
            counters.malformed,
        ];
        assert_eq!(odd, [0; 7], "{counters:?}");
    }
    ends
}

#[test]
fn sequence_numbers_wrap() {
    passes(&SEQUENCE_NUMBERS);
}

#[test]
fn transport_wide_numbers_wrap() {
    passes(&TRANSPORT_WIDE_NUMBERS);
}

#[test]
fn rtp_timestamps_wrap() {
    RTP_TIMESTAMPS.iter().for_each(passes);
}

#[test]
fn report_timestamps_wrap() {
    passes(&REPORT_TIMESTAMPS);
}

#[test]
fn reference_times_wrap() {
    passes(&REFERENCE_TIMES);
}

/// Nobody says where the numbers of two streams begin, and they are told apart.
#[test]
fn several_streams_of_random_numbers_are_told_apart() {
    let loaded = loaded(
        "duration = \"500ms\"\n[links.l]\nrate = \"10Mbps\"\nqueue = { packets = 100 }\n[flows.f]\npath = [\"l\"]\n\
         controller = \"scream\"\n[flows.f.streams.camera]\nsource = { kind = \"cbr\", rate = \"300kbps\", fps = 50 }\n\
         [flows.f.streams.slides]\nsource = { kind = \"cbr\", rate = \"300kbps\", fps = 50 }\n",
    );
    let told_apart = || {
        let ends = run(&loaded, |_, _, _| ());
        assert_eq!((ends.receiver.counters.unknown_ssrc, flow(&ends.receiver).loss_ratio), (0, Some(0.0)));
        ends
    };
    judge_on_time(told_apart, |ends| {
        let frames = flow(&ends.receiver).frames;
        assert!(frames.displayed >= Some(40), "{frames:?}");
    });
}
