//! The models against the RFC's text: what many frames have in common, the burst, the wait, and what is hostile.

use super::*;
use crate::{FrameRate, FrameTrace, Source, TraceFrame};
use proptest::prelude::*;

const FPS: FrameRate = FrameRate::per_second(30);
/// t0 in nanoseconds.
const T0: f64 = 1e9 / 30.0;

fn kbps(kbps: u64) -> Bitrate {
    Bitrate::from_kbps(kbps)
}

/// Rungs of 200 to 1000 kbit/s, whose frames are all alike but the first, which is five times as large.
fn flat_ladder() -> FrameLadder {
    let rung = |rate: u64| {
        let mean = (rate * 1_000 / 240) as u32;
        let frame = |index| TraceFrame { bytes: if index == 0 { 5 * mean } else { mean }, key: false };
        let frames: Vec<_> = (0..100).map(frame).collect();
        Rung { rate: kbps(rate), frames: FrameTrace::new(&frames).expect("frames") }
    };
    FrameLadder::new([200, 400, 600, 800, 1_000].map(rung).into()).expect("a ladder")
}

fn generated_ladder() -> FrameLadder {
    let rates = [200, 400, 600, 800, 1_000, 1_200, 1_500].map(kbps);
    FrameLadder::generated(1, 7_200, &rates, FPS, &FrameLadder::usual_sizes(7_200)).expect("a ladder")
}

fn source(kind: VideoModelKind, params: VideoModelParams) -> Source {
    let mut source = Source::Rfc8593(VideoModel::new(kind, params).expect("valid"));
    source.start(Time::ZERO);
    source
}

fn statistical() -> Source {
    source(VideoModelKind::Statistical, VideoModelParams::default())
}

/// Without deviations, so that sizes and times are known.
fn exact() -> VideoModelParams {
    VideoModelParams { scale_t: 0.0, scale_b: 0.0, ..VideoModelParams::default() }
}

/// The next `count` frames, each fetched when it is due.
fn frames(source: &mut Source, count: usize) -> Vec<Frame> {
    let next = |_| source.next_capture().map(|due| source.capture(due)).expect("running");
    (0..count).map(next).collect()
}

fn sizes(source: &mut Source, count: usize) -> Vec<u64> {
    frames(source, count).iter().map(|frame| frame.payload.as_u64()).collect()
}

/// The frames until `until`, with the target changed when each of `changes` (time in ms, kbit/s) is due.
fn steered(source: &mut Source, changes: &[(u64, u64)], until: u64) -> Vec<Frame> {
    let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
    let mut changes = changes.iter().peekable();
    let mut frames = Vec::new();
    while let Some(due) = source.next_capture().filter(|due| *due < at(until)) {
        while let Some((when, target)) = changes.next_if(|(when, _)| at(*when) <= due) {
            source.set_target(at(*when), kbps(*target));
        }
        frames.push(source.capture(due));
    }
    frames
}

fn intervals(frames: &[Frame]) -> Vec<f64> {
    frames.windows(2).map(|two| (two[1].captured - two[0].captured).as_nanos() as f64).collect()
}

/// Payload rate in bit/s from the first frame to the last, which does not count.
fn rate_of(frames: &[Frame]) -> f64 {
    let (last, others) = frames.split_last().expect("some");
    let total: Bytes = others.iter().map(|frame| frame.payload).sum();
    total.as_bits_f64() / (last.captured - frames[0].captured).as_secs_f64()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let (a, b) = (mean(one), mean(other));
    let sum = |f: &dyn Fn(f64, f64) -> f64| one.iter().zip(other).map(|(x, y)| f(x - a, y - b)).sum::<f64>();
    sum(&|x, y| x * y) / libm::sqrt(sum(&|x, _| x * x) * sum(&|_, y| y * y))
}

/// Section 5.3: DELTA_t and DELTA_B are independent Laplace variables of mean 0 and their scale. The mean of the absolute
/// values of Laplace is the scale; the cut at 1 takes 0.0013 off.
#[test]
fn steady_state_is_that_of_section_5_3() {
    for target in [300, 1_000, 1_500] {
        let mut source = statistical();
        source.set_target(Time::ZERO, kbps(target));
        let frames = frames(&mut source, 200_009).split_off(8);
        let b0 = target as f64 * 1e3 / 240.0;
        let delta_t: Vec<f64> = intervals(&frames).iter().map(|t| (t - T0) / T0).collect();
        let delta_b: Vec<f64> = frames[1..].iter().map(|frame| (frame.payload.as_f64() - b0) / b0).collect();
        for (what, delta) in [("t", &delta_t), ("B", &delta_b)] {
            let absolute: Vec<f64> = delta.iter().map(|x| x.abs()).collect();
            assert!(mean(delta).abs() < 0.0015, "{what} at {target}: mean {}", mean(delta));
            let scale = mean(&absolute);
            assert!((0.1475..0.1502).contains(&scale), "{what} at {target}: scale {scale}");
            // Laplace, not normal: the fourth moment is 6 variances squared, less what the cut takes, not 3.
            let moment = |n: i32| mean(&delta.iter().map(|x| x.powi(n)).collect::<Vec<_>>());
            let kurtosis = moment(4) / moment(2) / moment(2);
            assert!((5.0..6.0).contains(&kurtosis), "{what} at {target}: kurtosis {kurtosis}");
            let next = correlation(&delta[1..], &delta[..delta.len() - 1]);
            assert!(next.abs() < 0.01, "{what} at {target}: correlation of neighbours {next}");
        }
        let both = correlation(&delta_t, &delta_b);
        assert!(both.abs() < 0.01, "correlation of interval and size {both}");
        let ratio = rate_of(&frames) / (target as f64 * 1e3);
        assert!((0.997..1.003).contains(&ratio), "{target}: {ratio}");
    }
}

#[test]
fn the_target_is_clipped_to_the_range_of_the_content() {
    for (asked, expected) in [(0, 150e3), (20, 150e3), (700, 700e3), (9_000, 1.5e6)] {
        let mut source = statistical();
        source.set_target(Time::ZERO, kbps(asked));
        let ratio = rate_of(&frames(&mut source, 50_000)) / expected;
        assert!((0.99..1.01).contains(&ratio), "{asked}: {ratio}");
    }
}

/// Section 5.2, from 500 kbit/s (B0 = 2083 B) to 1 Mbit/s: K_B, then seven frames that pay it back.
#[test]
fn a_change_makes_a_burst_whose_average_is_the_target() {
    let mut source = source(VideoModelKind::Statistical, exact());
    source.set_target(Time::ZERO, kbps(500));
    assert_eq!(sizes(&mut source, 30)[8..], [2_083; 22]);
    source.set_target(Time::from_nanos(1), kbps(1_000));
    let after = frames(&mut source, 12);
    let sizes: Vec<_> = after.iter().map(|frame| frame.payload.as_u64()).collect();
    assert_eq!(sizes[0], 13_500);
    assert!(sizes[1..8].iter().all(|size| (2_833..=2_834).contains(size)), "{sizes:?}");
    assert_eq!(sizes[..8].iter().sum::<u64>(), 33_333);
    assert_eq!(sizes[8..], [4_167; 4]);
    assert!(after.iter().all(|frame| !frame.key));
}

/// Section 7: "whether the rate change exceeds 10%".
#[test]
fn a_small_change_makes_no_burst() {
    for (change, expected) in [(1_099, 4_579), (1_100, 4_583), (1_101, 13_500), (900, 3_750), (899, 13_500)] {
        let mut source = source(VideoModelKind::Statistical, exact());
        frames(&mut source, 30);
        source.set_target(Time::ZERO, kbps(change));
        assert_eq!(sizes(&mut source, 1), [expected], "{change} kbit/s");
    }
    let any = VideoModelParams { transient_change: 0.0, ..exact() };
    let mut source = source(VideoModelKind::Statistical, any);
    frames(&mut source, 30);
    source.set_target(Time::ZERO, kbps(999));
    assert_eq!(sizes(&mut source, 1), [13_500]);
}

/// Section 5.1: followed at 1 s, the next time not before 1.2 s, and then the last one asked for. K_d = 1, so that tau_v
/// alone decides.
#[test]
fn changes_within_tau_v_wait_and_the_last_one_counts() {
    let params = VideoModelParams { k_d: 1, ..exact() };
    let mut source = source(VideoModelKind::Statistical, params);
    let changes = [(1_000, 600), (1_010, 900), (1_100, 700), (1_150, 800), (1_300, 400)];
    let rates: Vec<_> = steered(&mut source, &changes, 2_000)
        .iter()
        .map(|frame| {
            (frame.captured.as_nanos() / 1_000_000, (frame.payload.as_u64() * 240 + 50_000) / 100_000 * 100)
        })
        .collect();
    let mut seen = rates.clone();
    seen.dedup_by_key(|(_, rate)| *rate);
    assert_eq!(seen, [(0, 1_000), (1_000, 600), (1_200, 800), (1_400, 400)]);
}

/// Each change counts for tau_v in the statistical model, also one without a burst.
#[test]
fn a_small_change_makes_the_next_one_wait() {
    let mut source = source(VideoModelKind::Statistical, exact());
    let frames = steered(&mut source, &[(1_000, 950), (1_050, 900)], 2_000);
    let last =
        |bytes| frames.iter().rfind(|frame| frame.payload == Bytes::new(bytes)).expect("some").captured;
    assert_eq!(last(3_958).as_nanos() / 1_000_000, 1_166);
    assert_eq!(frames.last().map(|frame| frame.payload), Some(Bytes::new(3_750)));
}

/// A target that was taken back within tau_v is no change.
#[test]
fn what_was_taken_back_meanwhile_never_happened() {
    let mut source = source(VideoModelKind::Statistical, VideoModelParams { k_d: 1, ..exact() });
    let frames = steered(&mut source, &[(1_000, 600), (1_050, 1_400), (1_150, 600)], 3_000);
    assert!(frames.iter().all(|frame| frame.payload <= Bytes::new(4_167)), "never 1.4 Mbit/s");
}

/// The RFC's tau_v is 6 frames and its K_d is 8: the encoder waits for both.
#[test]
fn a_burst_is_not_cut_short_by_the_next_change() {
    let mut source = source(VideoModelKind::Statistical, exact());
    let frames = steered(&mut source, &[(1_000, 700), (1_050, 1_400)], 2_000);
    let bursts: Vec<_> = frames.iter().filter(|frame| frame.payload == Bytes::new(13_500)).collect();
    let times: Vec<_> = bursts.iter().map(|frame| frame.captured.as_nanos() / 1_000_000).collect();
    assert_eq!(times, [0, 1_000, 1_266]);
}

#[test]
fn a_key_frame_is_a_burst_and_the_first_frame_is_one() {
    for kind in [VideoModelKind::Statistical, VideoModelKind::Hybrid(flat_ladder())] {
        let mut source = source(kind, exact());
        let first = frames(&mut source, 50);
        assert_eq!((first[0].key, first[0].payload), (true, Bytes::new(13_500)));
        assert!(first[1..].iter().all(|frame| !frame.key));
        source.request_key_frame(Time::ZERO);
        source.request_key_frame(Time::ZERO);
        let next = frames(&mut source, 9);
        assert_eq!(next.iter().map(|frame| frame.key).collect::<Vec<_>>()[..3], [true, false, false]);
        let total: Bytes = next[..8].iter().map(|frame| frame.payload).sum();
        assert_eq!((next[0].payload.as_u64(), total.as_u64()), (13_500, 33_333));
    }
}

/// Section 6.2: no wait, no burst, no deviation; the ladder's first frame at the start and on demand only.
#[test]
fn the_trace_driven_model_follows_at_once_on_an_even_grid() {
    let mut source = source(VideoModelKind::Trace(flat_ladder()), VideoModelParams::default());
    let first = frames(&mut source, 300);
    assert!(intervals(&first).iter().all(|t| (t - T0).abs() <= 1.0));
    assert_eq!((first[0].key, first[0].payload.as_u64()), (true, 5 * 4_166));
    assert!(first[1..].iter().all(|frame| (frame.key, frame.payload.as_u64()) == (false, 4_166)));
    for (target, expected) in [(500, 2_083), (300, 1_250), (200, 833), (100, 417), (2, 10), (1_500, 6_249)] {
        source.set_target(Time::ZERO, kbps(target));
        let found = sizes(&mut source, 1)[0];
        // R_min and R_max hold here, too: these are figure 2's.
        let expected = if target < 150 { 625 } else { expected };
        assert!(found.abs_diff(expected) <= 1, "{target}: {found}, not {expected}");
    }
    source.set_target(Time::ZERO, kbps(1_000));
    source.request_key_frame(Time::ZERO);
    let key = frames(&mut source, 2);
    assert_eq!((key[0].key, key[0].payload.as_u64()), (true, 5 * 4_166));
    assert_eq!((key[1].key, key[1].payload.as_u64()), (false, 4_166));
}

/// Section 7: frames of the ladder with intervals of section 5.3, and K_d frames of section 5.2 after a substantial change,
/// which alone makes the encoder wait.
#[test]
fn the_hybrid_model_has_bursts_and_the_ladder() {
    let params = VideoModelParams { scale_t: 0.15, ..exact() };
    let mut source = source(VideoModelKind::Hybrid(flat_ladder()), params);
    let steady = frames(&mut source, 50_000).split_off(8);
    assert!(steady.iter().all(|frame| frame.payload.as_u64() == 4_166), "the ladder's, without deviations");
    let deviations: Vec<f64> = intervals(&steady).iter().map(|t| ((t - T0) / T0).abs()).collect();
    assert!((0.145..0.153).contains(&mean(&deviations)), "{}", mean(&deviations));
    // Small changes are followed from frame to frame.
    for target in [950, 900, 850] {
        source.set_target(Time::ZERO, kbps(target));
        assert!(sizes(&mut source, 1)[0].abs_diff(target * 1_000 / 240) <= 1);
    }
    // A substantial one bursts, and the next waits until it is over.
    source.set_target(Time::ZERO, kbps(400));
    let burst = sizes(&mut source, 1)[0];
    source.set_target(Time::ZERO, kbps(800));
    let rest = sizes(&mut source, 7);
    let total = burst + rest.iter().sum::<u64>();
    assert!(burst > 12_000 && total.abs_diff(8 * 400_000 / 240) <= 1, "{burst} then {rest:?}");
    assert_eq!(sizes(&mut source, 1)[0], 13_500, "800 kbit/s from here on");
}

#[test]
fn the_same_seed_makes_the_same_frames() {
    let made = |seed: u64, kind: fn() -> VideoModelKind| {
        frames(&mut source(kind(), VideoModelParams { seed: Some(seed), ..VideoModelParams::default() }), 200)
    };
    let kinds: [fn() -> VideoModelKind; 2] =
        [|| VideoModelKind::Statistical, || VideoModelKind::Hybrid(flat_ladder())];
    for kind in kinds {
        assert_eq!(made(7, kind), made(7, kind));
        assert_ne!(made(7, kind), made(8, kind));
    }
}

/// The controller's targets change no draw.
#[test]
fn frame_times_do_not_depend_on_targets() {
    let times = |changes: &[(u64, u64)]| {
        steered(&mut statistical(), changes, 20_000).iter().map(|frame| frame.captured).collect::<Vec<_>>()
    };
    assert_eq!(times(&[]), times(&[(500, 300), (2_000, 1_500), (9_000, 150)]));
}

#[test]
fn a_pause_moves_the_frames_and_keeps_the_count() {
    let mut source = statistical();
    assert_eq!(frames(&mut source, 3)[2].id, 2);
    source.pause();
    assert_eq!(source.next_capture(), None);
    assert_eq!(source.capture(Time::ZERO).payload, Bytes::ZERO);
    let later = Time::from_nanos(5_000_000_000);
    source.resume(later);
    let frame = source.capture(later + TimeDelta::from_millis(40));
    assert_eq!((frame.id, frame.captured), (3, later), "a frame fetched late keeps its time");
    assert!(source.next_capture().is_some_and(|due| due > later));
}

#[test]
fn values_out_of_range_are_named() {
    let default = VideoModelParams::default;
    let cases = [
        (VideoModelParams { tau_v: TimeDelta::from_millis(-1), ..default() }, "tau_v"),
        (VideoModelParams { tau_v: TimeDelta::MAX, ..default() }, "tau_v"),
        (VideoModelParams { k_d: 0, ..default() }, "k_d"),
        (VideoModelParams { k_d: u32::MAX, ..default() }, "k_d"),
        (VideoModelParams { k_b: Bytes::ZERO, ..default() }, "k_b"),
        (VideoModelParams { k_b: Bytes::MAX, ..default() }, "k_b"),
        (VideoModelParams { scale_t: -0.1, ..default() }, "scale_t"),
        (VideoModelParams { scale_t: f64::NAN, ..default() }, "scale_t"),
        (VideoModelParams { scale_b: 1.1, ..default() }, "scale_b"),
        (VideoModelParams { scale_b: f64::INFINITY, ..default() }, "scale_b"),
        (VideoModelParams { r_min: Some(kbps(2_000)), ..default() }, "r_max"),
        (VideoModelParams { r_min: None, r_max: Some(Bitrate::ZERO), ..default() }, "r_max"),
        (VideoModelParams { transient_change: f64::NAN, ..default() }, "transient_change"),
        (VideoModelParams { fs_min: Bytes::ZERO, ..default() }, "fs_min"),
        (VideoModelParams { fs_max: Bytes::new(9), ..default() }, "fs_max"),
        (VideoModelParams { fs_max: Bytes::MAX, ..default() }, "fs_max"),
        (VideoModelParams { skip_frames: 100, ..default() }, "skip_frames"),
    ];
    for (params, name) in cases {
        let error = VideoModel::new(VideoModelKind::Hybrid(flat_ladder()), params).expect_err(name);
        assert_eq!(error.name, name);
        assert!(error.to_string().starts_with(&format!("{name}: found ")), "{error}");
    }
}

fn kind() -> impl Strategy<Value = VideoModelKind> {
    prop_oneof![
        Just(VideoModelKind::Statistical),
        Just(VideoModelKind::Trace(generated_ladder())),
        Just(VideoModelKind::Hybrid(generated_ladder())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// In steady state, for each target within the limits and whatever the deviations' scales.
    #[test]
    fn the_long_run_rate_is_the_target(
        kind in kind(), target in 150u64..=1_500, scale_t in 0.0f64..=1.0, scale_b in 0.0f64..=1.0, seed: u64,
    ) {
        let params = VideoModelParams { scale_t, scale_b, seed: Some(seed), ..VideoModelParams::default() };
        let mut source = source(kind, params);
        source.set_target(Time::ZERO, kbps(target));
        // Whole turns of the ladder after what is played once.
        let frames = frames(&mut source, 20 + 6 * 7_180 + 1).split_off(20);
        let ratio = rate_of(&frames) / (target as f64 * 1e3);
        // Four standard deviations of both means at the widest, 0.54 / sqrt(43080), and 0.2 % of a drawn ladder's own.
        prop_assert!((0.98..1.02).contains(&ratio), "{}", ratio);
    }

    /// Whatever is asked for, whenever: time moves on, sizes are within bounds, tau_v holds.
    #[test]
    fn hostile_targets_stay_within_bounds(
        kind in kind(),
        asks in prop::collection::vec((prop_oneof![Just(0), Just(u64::MAX), 0u64..20_000_000], any::<bool>()), 1..300),
        tau_v in 0i64..1_000, k_d in 1u32..20, k_b in 1u64..100_000, scale_t in 0.0f64..=1.0, scale_b in 0.0f64..=1.0,
    ) {
        let tau_v = TimeDelta::from_millis(tau_v);
        let params = VideoModelParams {
            tau_v, k_d, k_b: Bytes::new(k_b), scale_t, scale_b, ..VideoModelParams::default()
        };
        let is_statistical = kind == VideoModelKind::Statistical;
        let mut model = VideoModel::new(kind, params).expect("valid");
        model.start(Time::ZERO);
        // A frame has at most twice the mean, a burst's first at most K_B or the mean, a ladder's what fs_max says.
        let largest = k_b.max(2 * 6_250 + 1).max(if is_statistical { 0 } else { 1_000_000 });
        let mut before = None;
        let mut changed: Option<Time> = None;
        for (target, wants_key) in asks {
            let due = model.next_capture().expect("running");
            prop_assert!(before.is_none_or(|before| before < due));
            before = Some(due);
            model.set_target(due, Bitrate::from_bps(target));
            if wants_key {
                model.request_key_frame(due);
            }
            let was = model.target();
            let frame = model.capture(due).expect("running");
            prop_assert_eq!(frame.captured, due);
            prop_assert!((1..=largest).contains(&frame.payload.as_u64()), "{:?}", frame.payload);
            prop_assert!(frame.key || !wants_key);
            let (r_min, r_max) = params.limits();
            prop_assert!((r_min..=r_max).contains(&model.target()));
            if is_statistical && model.target() != was && frame.id > 0 {
                if let Some(at) = changed {
                    prop_assert!(due - at >= tau_v, "{:?} after a change", due - at);
                }
                changed = Some(due);
            }
        }
    }
}
