//! Once warm, frames and packets go from the source through the queue to the display without allocating.

use paceline_media::{
    AdaptiveParams, ArrivedPacket, FrameLadder, FrameRate, FrameSizeParams, Playout, PlayoutConfig,
    SendQueue, Source, TraceEncoder, TraceEncoderParams, VideoModel, VideoModelKind, VideoModelParams,
    frame_sizes,
};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// Sends `frames` frames with a queue of up to 20 of them, every 97th packet lost; answers how many were displayed.
fn run(
    source: &mut Source,
    queue: &mut SendQueue,
    playout: &mut Playout,
    frames: u64,
    next: &mut u64,
) -> u64 {
    let mut displayed = 0;
    for count in 0..frames {
        let Some(now) = source.next_capture() else { return displayed };
        queue.push(now, &source.capture(now));
        playout.handle_timeout(now);
        if count % 20 == 19 {
            let _ = queue.discard_older_than(now, TimeDelta::from_millis(390));
            while let Some(packet) = queue.pop(now) {
                let (sequence, sent) = (*next, Some(now));
                *next += 1;
                let (captured, payload, first, marker) =
                    (packet.captured, packet.payload, Some(packet.first), packet.marker);
                let key = Some(packet.key);
                let arrived =
                    ArrivedPacket { sequence, captured, payload, first, marker, key, sent, wait: None };
                if sequence % 97 != 0 {
                    playout.on_packet(now + TimeDelta::from_millis(5), &arrived);
                }
            }
        }
        displayed += core::iter::from_fn(|| playout.poll()).count() as u64;
        while playout.poll_given_up().is_some() {}
    }
    displayed
}

fn encoder() -> Source {
    let trace = frame_sizes(1, 500, &FrameSizeParams::default()).expect("defaults");
    Source::TraceEncoder(TraceEncoder::new(trace, TraceEncoderParams::default()).expect("defaults"))
}

/// As fast as the encoder, so that as many frames wait.
fn hybrid() -> Source {
    let params = VideoModelParams {
        fps: FrameRate::per_second(50),
        r_max: Some(Bitrate::from_mbps(10)),
        ..VideoModelParams::default()
    };
    let rates = [1, 20].map(Bitrate::from_mbps);
    let ladder = FrameLadder::generated(1, 500, &rates, params.fps, &FrameLadder::usual_sizes(500));
    let kind = VideoModelKind::Hybrid(ladder.expect("a ladder"));
    Source::Rfc8593(VideoModel::new(kind, params).expect("in range"))
}

#[test]
fn nothing_is_allocated_once_warm() {
    let adaptive = PlayoutConfig::Adaptive(AdaptiveParams::default());
    for config in [PlayoutConfig::IMMEDIATE, PlayoutConfig::fixed(TimeDelta::from_millis(700)), adaptive] {
        for mut source in [encoder(), hybrid()] {
            source.start(Time::ZERO);
            source.set_target(Time::ZERO, Bitrate::from_mbps(10));
            let mut queue = SendQueue::new(Bytes::new(1200), Bytes::new(12));
            let mut playout = Playout::new(config);
            let mut next = 0;
            run(&mut source, &mut queue, &mut playout, 1_000, &mut next);
            let before = crate::counting::allocations();
            let displayed = run(&mut source, &mut queue, &mut playout, 5_000, &mut next);
            assert_eq!(crate::counting::allocations(), before, "{config:?}");
            assert!((3_000..5_000).contains(&displayed), "{config:?}: {displayed}");
        }
    }
}
