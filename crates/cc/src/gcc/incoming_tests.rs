use super::*;
use paceline_units::param::Profiles;

fn at(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

fn arrived(incoming: &mut Incoming, sent: u64, arrived: u64, size: u64) {
    let packet = Arrived { arrived: at(arrived), sent: at(sent), size: Bytes::new(size) };
    match incoming {
        Incoming::Window(window) => window.on_arrival(packet),
        Incoming::Robust(robust) => robust.on_arrivals([packet].into_iter()),
    }
}

fn rate(incoming: &Incoming) -> f64 {
    incoming.rate().map_or(0.0, |rate| rate.as_bps_f64() / 1e3)
}

fn estimator(profile: &str) -> Incoming {
    Incoming::new(&Params::profile(profile).expect("a profile"))
}

#[test]
fn a_steady_stream_has_its_rate() {
    for profile in ["draft", "libwebrtc"] {
        let mut incoming = estimator(profile);
        assert_eq!(incoming.rate(), None);
        // 1000 B every 10 ms: 800 kbit/s.
        (0..200).for_each(|n| arrived(&mut incoming, n * 10_000, 50_000 + n * 10_000, 1000));
        assert!((rate(&incoming) - 800.0).abs() < 20.0, "{profile}: {}", rate(&incoming));
    }
}

/// libwebrtc's unit tests of the robust estimator, as numbers: 1000 B a packet at 100 kB/s; the rate is known from the tenth
/// packet on, a slow arrival or a slow sending alone is the rate, and a pause of 200 ms is left out.
#[test]
fn the_robust_rate_is_the_lower_of_two_without_the_longest_pause() {
    let mut incoming = estimator("libwebrtc");
    (0..9).for_each(|n| arrived(&mut incoming, n * 10_000, n * 10_000, 1000));
    assert_eq!(incoming.rate(), None);
    arrived(&mut incoming, 90_000, 90_000, 1000);
    assert_eq!(rate(&incoming), 800.0);
    (10..30).for_each(|n| arrived(&mut incoming, n * 10_000, 200_000 + n * 10_000, 1000));
    assert!((rate(&incoming) - 800.0).abs() < 1.0, "{}", rate(&incoming));
    let (mut slow_arrival, mut slow_sending) = (estimator("libwebrtc"), estimator("libwebrtc"));
    (0..50).for_each(|n| arrived(&mut slow_arrival, n * 10_000, n * 20_000, 1000));
    (0..50).for_each(|n| arrived(&mut slow_sending, n * 20_000, 2_000_000 + n * 10_000, 1000));
    assert_eq!((rate(&slow_arrival), rate(&slow_sending)), (400.0, 400.0));
}

#[test]
fn a_clock_that_is_set_back_begins_anew() {
    let mut robust = estimator("libwebrtc");
    (0..50).for_each(|n| arrived(&mut robust, n * 10_000, 5_000_000 + n * 10_000, 1000));
    arrived(&mut robust, 500_000, 500_000, 1000);
    assert_eq!(robust.rate(), None);
    let mut window = estimator("draft");
    (0..100).for_each(|n| arrived(&mut window, 0, 5_000_000 + n * 10_000, 1000));
    (0..100).for_each(|n| arrived(&mut window, 0, 1_000_000 + n * 10_000, 500));
    assert!((rate(&window) - 400.0).abs() < 10.0, "{}", rate(&window));
}

#[test]
fn a_pause_counts_in_the_window() {
    let mut window = estimator("draft");
    (0..100).for_each(|n| arrived(&mut window, 0, n * 10_000, 1000));
    arrived(&mut window, 0, 3_000_000, 1000);
    arrived(&mut window, 0, 3_010_000, 1000);
    assert!(rate(&window) < 30.0, "{}", rate(&window));
}
