use super::*;

/// Sizes of frames at 2 Mbit/s, a key frame asked for before each of which `asked` says so.
fn sizes(count: u64, params: CodecModelParams, asked: impl Fn(u64) -> bool) -> Vec<u64> {
    let mut source = CodecModel::new(params, 1);
    source.start(Time::ZERO);
    source.set_target(Time::ZERO, Bitrate::from_mbps(2));
    let frame = |number| {
        if asked(number) {
            source.request_key_frame(Time::ZERO);
        }
        source.capture(Time::MAX).map(|frame| frame.payload.as_u64())
    };
    (0..count).filter_map(frame).collect()
}

/// Rate of the sizes over what an encoder makes of 2 Mbit/s.
fn over_target(sizes: &[u64]) -> f64 {
    sizes.iter().sum::<u64>() as f64 * 8.0 * 30.0 / sizes.len() as f64 / 2e6 / USED
}

#[test]
fn the_long_run_rate_is_the_target() {
    let sizes = sizes(20_000, CodecModelParams::default(), |_| false);
    assert!((over_target(&sizes) - 1.0).abs() < 0.01, "{}", over_target(&sizes));
    // 0.85 and 0.45 of a buffer of 12.5 kB; the frame's share of the rate is 8083 B.
    assert_eq!((sizes[0], sizes[1]), (10_625, 8083));
}

#[test]
fn the_first_frames_take_the_buffer_whatever_the_target() {
    let params = CodecModelParams { buffer: Bytes::new(100_000), ..CodecModelParams::default() };
    let sizes = sizes(4, params, |_| false);
    assert_eq!(sizes[..3], [85_000, 45_000, 45_000]);
    assert!((5000..12_000).contains(&sizes[3]), "{sizes:?}");
}

#[test]
fn what_key_frames_take_too_much_the_frames_after_them_save() {
    let params = CodecModelParams {
        sigma: 0.0,
        refresh_scale: 1.0,
        key_scale: 3.0,
        buffer: Bytes::new(100_000),
        ..CodecModelParams::default()
    };
    let rare = sizes(2000, params, |frame| frame % 100 == 50);
    assert_eq!((rare[149], rare[150]), (8083, 24_250));
    assert!((3000..4500).contains(&rare[151]) && rare[156] > 7000, "{:?}", &rare[150..160]);
    for every in [100, 8, 3, 1] {
        let sizes = sizes(2000, params, |frame| frame >= 50 && frame % every == 0);
        assert!((over_target(&sizes[50..]) - 1.0).abs() < 0.02, "{every}: {}", over_target(&sizes[50..]));
    }
    // No key frame takes more than the buffer, or than half of one that holds five frames of 8333 B.
    for (buffer, scale, most) in [(12_500, 3.0, 12_500), (42_000, 3.0, 21_000), (42_000, 2.0, 16_167)] {
        let buffer = Bytes::new(buffer);
        let found =
            sizes(200, CodecModelParams { buffer, key_scale: scale, ..params }, |frame| frame == 100)[100];
        assert_eq!(found, most);
    }
    // With 0.64 bit per pixel, of which the key frames of a small picture take less.
    let fall = sizes(200, CodecModelParams { key_fall: 0.5, ..params }, |frame| frame == 100)[100];
    assert!((fall as f64 / 8083.0 - 3.0 / 6.38f64.sqrt()).abs() < 0.01, "{fall}");
}

#[test]
fn frames_are_larger_while_a_refresh_crosses_the_picture() {
    // 22 columns every 60 frames, of which the first begins 60 frames after the key frame; of 0.02 bit per pixel at 2 Mbit/s.
    let quality = QualityParams { height: 9200, ..QualityParams::default() };
    let params = CodecModelParams { sigma: 0.0, refresh_scale: 1.3, quality, ..CodecModelParams::default() };
    let few = sizes(600, params, |_| false);
    assert_eq!((few[59], few[60], few[81], few[82]), (8083, 10_508, 10_508, 6679));
    assert!((over_target(&few[60..600]) - 1.0).abs() < 0.001, "{}", over_target(&few[60..600]));
    // With many bits per pixel the rate control evens it out.
    let many = sizes(600, CodecModelParams { quality: QualityParams::default(), ..params }, |_| false);
    assert!(many[60] < 8600 && many[82] > 7700, "{} {}", many[60], many[82]);
}

#[test]
fn frames_vary_more_with_fewer_bits_per_pixel() {
    let spread = |height: u64| {
        let quality = QualityParams { height, ..QualityParams::default() };
        let params = CodecModelParams { quality, refresh_scale: 1.0, ..CodecModelParams::default() };
        let sizes = sizes(4000, params, |_| false);
        let logarithms: Vec<f64> = sizes[100..].iter().map(|&size| (size as f64).ln()).collect();
        let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
        (logarithms.iter().map(|one| (one - mean) * (one - mean)).sum::<f64>() / logarithms.len() as f64)
            .sqrt()
    };
    // 0.32 bit per pixel, and 0.64.
    let (few, many) = (spread(576), spread(288));
    assert!((few / many - 2f64.sqrt()).abs() < 0.05, "{few} {many}");
}
