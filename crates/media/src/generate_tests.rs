//! Statistics of drawn frame sizes, against their parameters and the recordings that they were fitted to.

use super::*;

/// Mean, coefficient of variation, correlation of neighbours.
fn moments(trace: &FrameTrace) -> (f64, f64, f64) {
    let sizes: Vec<f64> = trace.frames().iter().map(|frame| f64::from(frame.bytes)).collect();
    let mean = sizes.iter().sum::<f64>() / sizes.len() as f64;
    let moment = |lag: usize| {
        let pairs = sizes.iter().zip(&sizes[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / (sizes.len() - lag) as f64
    };
    (mean, libm::sqrt(moment(0)) / mean, moment(1) / moment(0))
}

#[test]
fn the_defaults_resemble_the_trace_of_the_scream_studies() {
    let trace = frame_sizes(1, 100_000, &FrameSizeParams::default()).expect("valid");
    let (mean, variation, correlation) = moments(&trace);
    assert!((25_600.0..26_200.0).contains(&mean), "{mean}");
    assert!((0.24..0.28).contains(&variation), "{variation}");
    assert!((-0.25..-0.08).contains(&correlation), "{correlation}");
    let keys: Vec<_> = trace.frames().iter().filter(|frame| frame.key).collect();
    assert_eq!(keys.len(), 834);
    let key_mean = keys.iter().map(|frame| f64::from(frame.bytes)).sum::<f64>() / keys.len() as f64;
    assert!((58_000.0..67_000.0).contains(&key_mean), "{key_mean}");
    assert!(trace.frames().iter().all(|frame| (1_200..=69_000).contains(&frame.bytes)));
}

#[test]
fn correlation_and_mean_follow_their_parameters() {
    for correlation in [-0.6, 0.0, 0.9] {
        let params = FrameSizeParams {
            mean: Bytes::new(8_000),
            correlation,
            key_interval: 0,
            scene_change: 0.0,
            ..FrameSizeParams::default()
        };
        let (mean, variation, found) = moments(&frame_sizes(3, 100_000, &params).expect("valid"));
        assert!((7_900.0..8_100.0).contains(&mean), "{mean}");
        assert!((0.18..0.205).contains(&variation), "{variation}");
        assert!((found - correlation).abs() < 0.03, "{found}");
    }
}

#[test]
fn quantiles_take_the_place_of_the_lognormal_and_two_correlations_make_ar2() {
    let params = FrameSizeParams {
        mean: Bytes::new(10_000),
        correlation: -0.4,
        correlation2: Some(0.3),
        sizes: vec![1.0, 2.0, 5.0],
        key_interval: 0,
        scene_change: 0.0,
        max: Bytes::new(1_000_000),
        ..FrameSizeParams::default()
    };
    let trace = frame_sizes(4, 200_000, &params).expect("valid");
    let (mean, _, first) = moments(&trace);
    assert!((9_950.0..10_050.0).contains(&mean), "{mean}");
    // In the unit of `sizes`, whose mean is 2.5: half of the frames from 1 to 2, half from 2 to 5.
    let mut sizes: Vec<f64> = trace.frames().iter().map(|frame| f64::from(frame.bytes) / 4_000.0).collect();
    let second = {
        let pairs = sizes.iter().zip(&sizes[2..]).map(|(a, b)| (a - 2.5) * (b - 2.5));
        let variance = sizes.iter().map(|size| (size - 2.5) * (size - 2.5)).sum::<f64>();
        pairs.sum::<f64>() / variance
    };
    sizes.sort_by(f64::total_cmp);
    for (part, size) in [(0.0, 1.0), (0.25, 1.5), (0.5, 2.0), (0.75, 3.5), (1.0, 5.0)] {
        let found = sizes[(part * 199_999.0) as usize];
        assert!((found - size).abs() < 0.03, "{part}: {found}");
    }
    // The rest of a normal correlation after a distribution that is not normal.
    assert!((-0.40..-0.32).contains(&first) && (0.24..0.30).contains(&second), "{first} {second}");
}

#[test]
fn key_frames_vary_by_themselves_and_have_frames_behind_them() {
    let params = FrameSizeParams {
        mean: Bytes::new(10_000),
        sizes: vec![0.9, 1.1],
        key_interval: 50,
        key_scale: 4.0,
        key_sigma: Some(0.05),
        after_key: vec![0.5, 0.7],
        scene_change: 0.0,
        min: Bytes::new(1),
        ..FrameSizeParams::default()
    };
    let trace = frame_sizes(5, 500_000, &params).expect("valid");
    assert!((9_970.0..10_030.0).contains(&moments(&trace).0), "{}", moments(&trace).0);
    let at = |place: usize| -> Vec<f64> {
        trace.frames()[place..].iter().step_by(50).map(|frame| f64::from(frame.bytes)).collect()
    };
    let mean = |sizes: &[f64]| sizes.iter().sum::<f64>() / sizes.len() as f64;
    let usual = mean(&at(20));
    for (place, factor) in [(0, 4.0), (1, 0.5), (2, 0.7), (3, 1.0), (49, 1.0)] {
        let found = mean(&at(place)) / usual;
        assert!((found / factor - 1.0).abs() < 0.01, "{place}: {found}");
    }
    let logs: Vec<f64> = at(0).iter().map(|&size| libm::log(size)).collect();
    let spread = logs.iter().map(|log| (log - mean(&logs)).powi(2)).sum::<f64>() / logs.len() as f64;
    assert!((libm::sqrt(spread) - 0.05).abs() < 0.003, "{}", libm::sqrt(spread));
}

/// Figures of `trace_key.txt`: over the mean of all frames, the 10 %, 50 % and 90 % quantiles of delta frames, the mean
/// key frame and the three frames behind it; and the correlation of neighbours.
#[test]
fn the_preset_has_the_statistics_of_its_recording() {
    let preset = FRAME_PRESETS.iter().find(|preset| preset.name == "trace-key").expect("is there");
    assert!(!preset.origin.is_empty());
    let trace = frame_sizes(1, 240_000, &preset.params()).expect("valid");
    let (mean, _, correlation) = moments(&trace);
    assert!((25_600.0..26_200.0).contains(&mean), "{mean}");
    assert!((-0.40..-0.26).contains(&correlation), "{correlation}");
    let mut deltas: Vec<f64> =
        trace.frames().iter().filter(|frame| !frame.key).map(|f| f.bytes.into()).collect();
    deltas.sort_by(f64::total_cmp);
    for (part, size) in [(0.1, 0.772), (0.5, 0.964), (0.9, 1.223)] {
        let found = deltas[(part * deltas.len() as f64) as usize] / mean;
        assert!((found - size).abs() < 0.03, "{part}: {found}");
    }
    for (place, size) in [(0, 2.534), (1, 0.55), (2, 0.45), (3, 0.60)] {
        let sizes = trace.frames()[place..].iter().step_by(120).map(|frame| f64::from(frame.bytes));
        let found = sizes.sum::<f64>() / 2_000.0 / mean;
        assert!((found - size).abs() < 0.05, "{place}: {found}");
    }
}

#[test]
fn the_seed_alone_decides_and_a_longer_trace_starts_with_the_shorter() {
    let sizes = |seed, count| frame_sizes(seed, count, &FrameSizeParams::default()).expect("valid");
    assert_eq!(sizes(1, 50).frames(), &sizes(1, 500).frames()[..50]);
    assert_ne!(sizes(1, 50), sizes(2, 50));
    assert_eq!(sizes(1, 0).frames().len(), 1);
}

#[test]
fn values_out_of_range_are_named() {
    let default = FrameSizeParams::default;
    let cases = [
        (FrameSizeParams { mean: Bytes::ZERO, ..default() }, "mean"),
        (FrameSizeParams { sigma: f64::NAN, ..default() }, "sigma"),
        (FrameSizeParams { correlation: 1.0, ..default() }, "correlation"),
        (FrameSizeParams { scene_change: 1.1, ..default() }, "scene_change"),
        (FrameSizeParams { correlation2: Some(-0.9), ..default() }, "correlation2"),
        (FrameSizeParams { correlation2: Some(1.0), ..default() }, "correlation2"),
        (FrameSizeParams { sizes: vec![2.0, 1.0], ..default() }, "sizes"),
        (FrameSizeParams { sizes: vec![f64::NAN], ..default() }, "sizes"),
        (FrameSizeParams { sizes: vec![0.0, 0.0], ..default() }, "sizes"),
        (FrameSizeParams { key_sigma: Some(-0.1), ..default() }, "key_sigma"),
        (FrameSizeParams { after_key: vec![1.0, -1.0], ..default() }, "after_key"),
        (FrameSizeParams { after_key: vec![1.0; 101], ..default() }, "after_key"),
        (FrameSizeParams { min: Bytes::ZERO, ..default() }, "min"),
        (FrameSizeParams { max: Bytes::new(5), ..default() }, "max"),
    ];
    for (params, name) in cases {
        assert_eq!(frame_sizes(1, 10, &params).expect_err(name).name, name);
    }
}
