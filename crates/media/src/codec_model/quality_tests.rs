use super::*;
use crate::FrameDelayParts;

fn shown(number: u64, bytes: u64, late: bool) -> DisplayedFrame {
    let captured = Time::from_nanos(number * 33_333_333);
    let parts = FrameDelayParts {
        send_queue: None,
        link_queue: None,
        path: TimeDelta::ZERO,
        dejitter: TimeDelta::ZERO,
    };
    let (bytes, key) = (Bytes::new(bytes), Some(number == 0));
    DisplayedFrame { captured, displayed: captured, bytes, key, packets: 4, in_time: 0, late, parts }
}

/// A frame of 1267 B of which so many packets came in time, late, never in between, and never behind.
fn incomplete(number: u64, [in_time, late, gaps]: [u64; 3], behind: Option<u64>) -> IncompleteFrame {
    let packets = in_time + late + gaps + behind.unwrap_or(0);
    let bytes = Bytes::new(1267 * (in_time + late) / packets.max(1));
    let captured = Time::from_nanos(number * 33_333_333);
    IncompleteFrame { captured, key: Some(false), bytes, in_time, late, gaps, behind }
}

/// A judge to whom each frame's own bits are all that count.
fn judge() -> QualityModel {
    judge_with(1.0)
}

/// A judge with round parameters, so that a preset can be fitted anew.
fn judge_with(own_share: f64) -> QualityModel {
    let params = QualityParams {
        psnr: 40.47,
        slope: 2.96,
        curvature: -0.29,
        own_share,
        kept_scale: 1.0,
        freeze_psnr: 36.18,
        freeze_slope: 2.45,
        freeze_least: 23.8,
        unseen_psnr: 16.3,
        concealed_psnr: 37.1,
        ..QualityParams::default()
    };
    QualityModel::new(params, FrameRate::per_second(30))
}

#[test]
fn psnr_is_the_parabola_of_the_doublings() {
    let model = judge();
    // 352 x 288 pixels: 0.1 bit each are 1267 B.
    assert!((model.coded(Bytes::new(1267)) - 40.47).abs() < 0.01);
    assert!((model.coded(Bytes::new(2534)) - (40.47 + 2.96 - 0.29)).abs() < 0.01);
    assert!((model.coded(Bytes::new(5069)) - (40.47 + 2.0 * 2.96 - 4.0 * 0.29)).abs() < 0.01);
    assert_eq!(model.coded(Bytes::ZERO), model.coded(Bytes::new(1)));
}

#[test]
fn missed_frames_freeze_and_their_damage_heals() {
    let mut model = judge();
    let whole = model.on_displayed(&shown(0, 1267, false));
    assert_eq!((whole.frames, (whole.psnr * 10.0) as u64), (1, 404));
    let after = model.on_displayed(&shown(3, 1267, false));
    assert_eq!(after.frames, 3);
    // Two frames frozen, of 34.8 and 32.9 dB with the error of the coding, and the third damaged as the second.
    assert!((after.psnr - 34.8 - 2.0 * 32.9).abs() < 0.2, "{after:?}");
    let mut psnr = 0.0;
    for number in 4..90 {
        let next = model.on_displayed(&shown(number, 1267, false)).psnr;
        assert!(next >= psnr, "heals");
        psnr = next;
    }
    assert!(psnr > 40.0, "{psnr}");
}

#[test]
fn of_a_frame_that_lacks_a_packet_its_part_is_concealed() {
    let lacking = |frame: Option<IncompleteFrame>| {
        let mut model = judge();
        model.on_displayed(&shown(0, 1267, false));
        let mut judged = frame.map_or(Judged::default(), |frame| model.on_incomplete(&frame));
        judged += model.on_displayed(&shown(2, 1267, false));
        judged
    };
    // One of four packets: a quarter of the error of 37.1 dB is that of 43.1 dB, upon the coding's of 40.5 dB.
    let (one, frozen) = (lacking(Some(incomplete(1, [3, 0, 0], Some(1)))), lacking(None));
    assert_eq!((one.frames, frozen.frames), (2, 2));
    assert!((one.psnr - 38.6 - 38.6).abs() < 0.2, "{one:?}");
    assert!(frozen.psnr < one.psnr - 5.0, "{frozen:?}");
    let psnr = |in_time, late, gaps, behind| lacking(Some(incomplete(1, [in_time, late, gaps], behind))).psnr;
    assert!((psnr(3, 0, 1, None) - one.psnr).abs() < 0.1, "wherever it is");
    assert!((psnr(3, 1, 0, None) - one.psnr).abs() < 0.1, "or late");
    assert!(psnr(1, 0, 0, Some(3)) < one.psnr);
    assert_eq!(psnr(0, 4, 0, None), frozen.psnr, "nothing in time is nothing");
    // A frame whose end never came lacks a packet at least.
    assert!(psnr(9, 0, 0, Some(0)) < one.psnr + 3.0);
}

#[test]
fn rows_that_lack_again_and_again_leave_the_others_whole() {
    let mut model = judge();
    model.on_displayed(&shown(0, 1267, false));
    for number in 1..200 {
        model.on_incomplete(&incomplete(number, [3, 1, 0], None));
    }
    // The lowest quarter is as it would be if nothing came: 23.8 dB.
    let expected = psnr_of(error_of(40.47) + error_of(23.8) / 4.0);
    let found = psnr_of(model.error());
    assert!((found - expected).abs() < 0.3, "{found} {expected}");
}

#[test]
fn a_late_frame_counts_as_missed_and_nothing_counts_twice() {
    let mut model = judge();
    model.on_displayed(&shown(0, 1267, false));
    assert_eq!(model.on_displayed(&shown(1, 1267, true)), Judged::default());
    assert_eq!(model.on_displayed(&shown(0, 1267, false)), Judged::default());
    assert_eq!(model.on_displayed(&shown(2, 1267, false)).frames, 2);
    assert_eq!(model.on_displayed(&shown(1 << 33, 1267, false)).frames, 1);
}

/// PSNR of each of these frames, all of `bytes`.
fn psnr_of_frames(model: &mut QualityModel, numbers: core::ops::Range<u64>, bytes: u64) -> Vec<f64> {
    numbers.map(|number| model.on_displayed(&shown(number, bytes, false)).psnr).collect()
}

#[test]
fn a_key_frame_begins_anew_and_the_frames_after_it_add_to_it() {
    let mut model = judge_with(0.1);
    let psnr = psnr_of_frames(&mut model, 0..100, 1267);
    // A tenth of its bits counts; what it lacks of the others' quality the frames after it make up for.
    assert!((psnr[0] - model.coded(Bytes::new(127))).abs() < 0.05, "{psnr:?}");
    assert!(psnr.is_sorted() && psnr[20] > psnr[0] + 5.0, "{psnr:?}");
    assert!((psnr[99] - model.coded(Bytes::new(1267))).abs() < 0.01, "{psnr:?}");
    let small = model.on_displayed(&shown(100, 127, false)).psnr;
    assert!(small > psnr[99] - 1.0, "one small frame takes little: {small}");
}

#[test]
fn a_key_frame_mends_what_is_damaged_whole_or_in_part() {
    let after = |key: Option<bool>, keys: u64| {
        let mut model = judge();
        model.on_displayed(&shown(0, 1267, false));
        model.on_incomplete(&IncompleteFrame { key: Some(keys > 0), ..incomplete(9, [3, 0, 0], Some(1)) });
        model.on_displayed(&DisplayedFrame { key, ..shown(10, 1267, false) });
        model.on_displayed(&shown(11, 1267, false)).psnr
    };
    let (not_mended, whole, in_part) = (after(Some(false), 0), after(Some(true), 0), after(Some(false), 1));
    assert!((whole - 40.47).abs() < 0.01, "{whole}");
    assert!(not_mended + 1.0 < in_part && in_part < whole, "{not_mended} {in_part}");
}

#[test]
fn before_the_first_frame_nothing_of_the_clip_is_seen() {
    let mut model = judge();
    model.begin(Time::ZERO);
    // Frames 0 to 9 never come: without a key frame the picture comes with the refresh.
    let first = model.on_displayed(&shown(10, 1267, false));
    assert_eq!(first.frames, 11);
    assert!((first.psnr / 11.0 - 16.3).abs() < 0.1, "{first:?}");
    let later = psnr_of_frames(&mut model, 11..120, 1267);
    assert!(later[20] < 17.0 && later[108] > 40.0, "{later:?}");
    let mut whole = judge();
    whole.begin(Time::ZERO);
    assert!(whole.on_displayed(&shown(0, 1267, false)).psnr > 40.0);
}

#[test]
fn the_last_picture_stays_until_the_end() {
    let mut model = judge();
    model.begin(Time::ZERO);
    psnr_of_frames(&mut model, 0..30, 1267);
    let rest = model.finish(Time::from_nanos(40 * 33_333_333));
    assert_eq!(rest.frames, 10);
    assert!(rest.psnr / 10.0 < 35.0, "{rest:?}");
    assert_eq!(model.finish(Time::from_nanos(40 * 33_333_333)), Judged::default(), "they count once");
    let mut nothing = judge();
    nothing.begin(Time::ZERO);
    let black = nothing.finish(Time::from_nanos(30 * 33_333_333));
    assert_eq!(black.frames, 30);
    assert!((black.mean().unwrap_or(0.0) - 16.3).abs() < 0.01, "{black:?}");
}

#[test]
fn of_a_late_frame_the_packets_in_time_are_decoded() {
    let after = |in_time| {
        let mut model = judge();
        model.on_displayed(&shown(0, 1267, false));
        let mut judged = model.on_displayed(&DisplayedFrame { in_time, ..shown(1, 1267, true) });
        judged += model.on_displayed(&shown(2, 1267, false));
        assert_eq!(judged.frames, 2);
        judged.psnr
    };
    assert!(after(3) > after(0) + 5.0, "{} {}", after(3), after(0));
}

#[test]
fn a_picture_that_stays_falls_no_further_than_any_other_of_the_clip() {
    let model = judge();
    assert!(model.frozen(8) > model.frozen(16));
    assert_eq!((model.frozen(1000), model.frozen(100_000)), (23.8, 23.8));
}

#[test]
fn a_still_picture_gains_until_the_refresh_begins_and_falls_then() {
    let kept = |kept_scale: f64| {
        let params = QualityParams { kept_scale, ..judge_with(0.1).params };
        let mut model = QualityModel::new(params, FrameRate::per_second(30));
        psnr_of_frames(&mut model, 0..120, 1267)
    };
    let (still, moving) = (kept(2.0), kept(1.0));
    assert_eq!(still[0], moving[0], "a key frame has its own bits");
    assert!(still[..60].is_sorted() && still[59] > moving[59] + 2.3, "{}", still[59]);
    // The refresh of a picture that was never whole before begins with frame 60.
    assert!(still[60] < still[59] && still[119] < moving[119] + 0.1, "{} {}", still[60], still[119]);
}
