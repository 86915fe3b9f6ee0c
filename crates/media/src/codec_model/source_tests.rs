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

/// Rate of the sizes over 2 Mbit/s.
fn over_target(sizes: &[u64]) -> f64 {
    sizes.iter().sum::<u64>() as f64 * 8.0 * 30.0 / sizes.len() as f64 / 2e6
}

#[test]
fn the_long_run_rate_is_the_target() {
    let sizes = sizes(20_000, CodecModelParams::default(), |_| false);
    assert!((over_target(&sizes) - 1.0).abs() < 0.01, "{}", over_target(&sizes));
    // 0.85 and 0.45 of a buffer of 12.5 kB; the frame's share of the rate is 8333 B.
    assert_eq!((sizes[0], sizes[1]), (10_625, 8333));
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
    let params =
        CodecModelParams { sigma: 0.0, buffer: Bytes::new(100_000), ..CodecModelParams::default() };
    let rare = sizes(2000, params, |frame| frame % 100 == 50);
    assert_eq!((rare[149], rare[150]), (8333, 25_000));
    assert!((3000..4500).contains(&rare[151]) && rare[156] > 7000, "{:?}", &rare[150..160]);
    for every in [100, 8, 3, 1] {
        let sizes = sizes(2000, params, |frame| frame >= 50 && frame % every == 0);
        assert!((over_target(&sizes[50..]) - 1.0).abs() < 0.02, "{every}: {}", over_target(&sizes[50..]));
    }
    // No key frame takes more than most of the buffer.
    let most = sizes(200, CodecModelParams::default(), |frame| frame == 100)[100];
    assert_eq!(most, 11_250);
}
