//! Both halves of TFRC over a path: the rate goes where the equation says, and down when feedback stays away.

use super::path::{Datagrams, Drops, LOSS_PATTERNS, Path, Run, SIZE, ms};
use super::tfrc_receiver::TfrcReceiver;
use super::tfrc_sender::{TfrcSender, throughput};
use paceline_cc::TimeoutReason;
use paceline_units::{Time, TimeDelta};

/// The rate in bytes per second averaged over the second half of a run.
fn settled(drops: Drops, until: u64) -> f64 {
    let (mut sender, mut near, mut far) =
        (TfrcSender::default(), Datagrams::default(), TfrcReceiver::default());
    let mut run = Run::new(&mut sender, &mut near, Path { drops, ..Path::clean(TimeDelta::from_millis(50)) });
    run.far = Some(&mut far);
    run.until(ms(until / 2));
    let before = run.sent;
    run.until(ms(until));
    (run.sent - before) as f64 * SIZE.as_f64() / (until as f64 / 2e3)
}

#[test]
fn on_a_fixed_loss_pattern_the_rate_goes_where_the_equation_says() {
    // The patterns that lose one packet at a time.
    for (drops, p) in LOSS_PATTERNS.into_iter().take(3) {
        let (found, expected) = (settled(drops, 200_000), throughput(SIZE, 0.1, p));
        assert!((0.95..1.05).contains(&(found / expected)), "p {p}: {found} B/s, expected {expected}");
    }
}

#[test]
fn without_loss_the_rate_doubles_every_round_trip() {
    let (mut sender, mut near, mut far) =
        (TfrcSender::default(), Datagrams::default(), TfrcReceiver::default());
    let mut run = Run::new(&mut sender, &mut near, Path::clean(TimeDelta::from_millis(50)));
    run.far = Some(&mut far);
    run.until(ms(1050));
    let rate = run.controller.snapshot().target.expect("a rate").as_mbps_f64();
    // W_init of 4000 B per 100 ms after the first round trip; then at most eight doublings.
    assert!((4.0..=82.0).contains(&rate), "{rate} Mbit/s");
}

#[test]
fn without_feedback_the_timer_halves_the_rate_again_and_again() {
    let silence = Some((ms(60_000), Time::MAX));
    let (mut sender, mut near, mut far) =
        (TfrcSender::default(), Datagrams::default(), TfrcReceiver::default());
    let drops = |n: u64| n % 100 == 99;
    let path = Path { drops, silence, ..Path::clean(TimeDelta::from_millis(50)) };
    let mut run = Run::new(&mut sender, &mut near, path);
    run.far = Some(&mut far);
    run.until(ms(60_000));
    let before = run.controller.snapshot().target.expect("a rate").as_bps_f64();
    assert!(run.wake_ups.is_empty(), "feedback holds the timer back: {:?}", run.wake_ups);
    run.until(ms(62_000));
    let (after, halvings) =
        (run.controller.snapshot().target.expect("a rate").as_bps_f64(), run.wake_ups.len());
    assert!(run.wake_ups.iter().all(|(_, reason)| *reason == TimeoutReason::NoFeedback));
    assert!((3..=5).contains(&halvings), "every 400 ms: {halvings}");
    assert!((after / before * f64::from(1 << halvings) - 1.0).abs() < 0.01, "{before} to {after}");
}
