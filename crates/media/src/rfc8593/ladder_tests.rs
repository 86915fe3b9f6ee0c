//! Frame sizes between and beyond the rungs of a ladder.

use super::*;
use crate::TraceFrame;
use proptest::prelude::*;

/// kbit/s and sizes.
type Rungs<'a> = &'a [(u64, &'a [u32])];

fn frames(sizes: &[u32]) -> FrameTrace {
    let frames: Vec<_> = sizes.iter().map(|&bytes| TraceFrame { bytes, key: false }).collect();
    FrameTrace::new(&frames).expect("not empty")
}

fn ladder(rungs: Rungs<'_>) -> Result<FrameLadder, LadderError> {
    let rung =
        |&(kbps, sizes): &(u64, &[u32])| Rung { rate: Bitrate::from_kbps(kbps), frames: frames(sizes) };
    FrameLadder::new(rungs.iter().map(rung).collect())
}

fn player(rungs: Rungs<'_>, skip: u64) -> Player {
    let limits = (Bytes::new(10), Bytes::new(1_000_000));
    Player::new(ladder(rungs).expect("a ladder"), skip, limits).expect("fewer than there are")
}

fn played(player: &mut Player, kbps: f64, count: usize) -> Vec<u64> {
    (0..count).map(|_| player.next(kbps * 1e3).0.as_u64()).collect()
}

/// Section 6.2.1 by hand, with steps of different length.
#[test]
fn sizes_are_interpolated_inside_and_scaled_outside() {
    let rungs: [(u64, &[u32]); 3] = [(200, &[1_000]), (400, &[3_000]), (1_000, &[4_000])];
    let mut player = player(&rungs, 0);
    let cases = [
        (200.0, 1_000), // a) at the lower end
        (250.0, 1_500), // a) 3000 x 1/4 + 1000 x 3/4
        (400.0, 3_000),
        (850.0, 3_750),   // a) 4000 x 3/4 + 3000 x 1/4
        (1_000.0, 4_000), // c) w = 1
        (1_500.0, 6_000), // c) w = 1.5
        (100.0, 500),     // b) w = 0.5
        (0.0, 10),        // b) fs_min
        (1e6, 1_000_000), // c) fs_max
    ];
    for (kbps, expected) in cases {
        assert_eq!(played(&mut player, kbps, 1), [expected], "{kbps} kbit/s");
    }
}

#[test]
fn the_first_frames_are_played_once() {
    let rungs: [(u64, &[u32]); 2] = [(100, &[900, 20, 30, 40, 50]), (200, &[900, 20, 30, 40, 50])];
    let mut player = player(&rungs, 2);
    assert_eq!(player.next(100e3), (Bytes::new(900), true));
    assert_eq!(player.next(100e3), (Bytes::new(20), false));
    assert_eq!(played(&mut player, 100.0, 7), [30, 40, 50, 30, 40, 50, 30]);
    player.rewind();
    assert_eq!(player.next(100e3), (Bytes::new(900), true));
    // SkipFrames = 0: the I frame comes periodically.
    let mut player = self::player(&rungs, 0);
    assert_eq!(played(&mut player, 100.0, 11), [900, 20, 30, 40, 50, 900, 20, 30, 40, 50, 900]);
    // All but the last frame are skipped.
    let mut player = self::player(&rungs, 4);
    assert_eq!(played(&mut player, 100.0, 7), [900, 20, 30, 40, 50, 50, 50]);
}

#[test]
fn what_is_no_ladder_is_said() {
    let cases: [(Rungs<'_>, &str); 5] = [
        (&[], "found 0 rungs, expected from 2 to 64 rungs"),
        (&[(100, &[1])], "found 1 rungs, expected from 2 to 64 rungs"),
        (&[(0, &[1]), (100, &[1])], "rung 0: found 0 bit/s, expected a rate above 0 bit/s, the one before"),
        (
            &[(200, &[1]), (200, &[1])],
            "rung 1: found 200000 bit/s, expected a rate above 200000 bit/s, the one before",
        ),
        (&[(100, &[1]), (200, &[1, 2])], "rung 1: found 2 frames, expected 1 frames, as in the first rung"),
    ];
    for (rungs, message) in cases {
        assert_eq!(ladder(rungs).expect_err(message).to_string(), message);
    }
    let two = ladder(&[(100, &[1]), (200, &[1])]).expect("a ladder");
    for skip in [1, u64::MAX] {
        let error = Player::new(two.clone(), skip, (Bytes::new(10), Bytes::new(20))).expect_err("one frame");
        assert_eq!(error.name, "skip_frames");
    }
}

#[test]
fn rungs_that_are_generated_make_their_rates_and_go_together() {
    let rates = [200, 400, 1_500].map(Bitrate::from_kbps);
    let fps = FrameRate::per_second(30);
    let sizes = FrameLadder::usual_sizes(7_200);
    let ladder = FrameLadder::generated(3, 7_200, &rates, fps, &sizes).expect("valid");
    for rung in ladder.rungs() {
        let ratio = rung.frames.mean_rate(fps).as_bps_f64() / rung.rate.as_bps_f64();
        assert!((0.99..1.01).contains(&ratio), "{:?}: {ratio}", rung.rate);
    }
    let [low, high] = [0, 1].map(|rung| ladder.rungs()[rung].frames.frames());
    assert!(low.iter().zip(high).all(|(low, high)| high.bytes.abs_diff(2 * low.bytes) <= 8));
    assert!(low[0].key && low[1..].iter().all(|frame| !frame.key));
    let error = FrameLadder::generated(3, 10, &rates[..1], fps, &sizes).expect_err("one rate");
    assert_eq!(error.name, "rates");
    for rates in [[1, 2], [1_000_000_000_000, 2_000_000_000_000]].map(|pair| pair.map(Bitrate::from_bps)) {
        assert_eq!(FrameLadder::generated(3, 10, &rates, fps, &sizes).expect_err("odd frames").name, "rates");
    }
    let odd = FrameSizeParams { sigma: -1.0, ..sizes };
    assert_eq!(FrameLadder::generated(3, 10, &rates, fps, &odd).expect_err("negative").name, "sigma");
}

proptest! {
    #[test]
    fn what_is_played_is_within_its_limits(
        sizes in prop::collection::vec((0u32..5_000_000, 1u32..5_000_000), 1..40),
        rates in prop::collection::vec(0.0f64..1e9, 1..80),
        skip in 0u64..40,
    ) {
        let (low, high): (Vec<_>, Vec<_>) = sizes.iter().copied().unzip();
        prop_assume!(low.iter().any(|&size| size > 0) && skip < low.len() as u64);
        let mut player = player(&[(300, &low), (3_000, &high)], skip);
        for rate in rates {
            let (bytes, _) = player.next(rate);
            prop_assert!((10..=1_000_000).contains(&bytes.as_u64()), "{:?}", bytes);
        }
    }
}
