//! Equation 6 on a fluid link.

use super::*;
use paceline_units::Time;

const STEP: f64 = 0.001;

fn run(capacity: f64, noise: f64, seconds: f64) -> (f64, f64) {
    let mut law = UmLaw::new(&Params::default());
    let (mut rate, mut queue) = (capacity, 0.0);
    law.set_rate(rate);
    let (steps, mut delay) = ((seconds / STEP) as u64, 0.0);
    for step in 0..steps {
        queue = f64::max(queue + (rate - capacity) / capacity * STEP, 0.0);
        rate = law.on_sample(&Sample {
            now: Time::from_secs_f64(step as f64 * STEP),
            elapsed: STEP,
            rate,
            delta: noise + queue,
            fell: 0.0,
            bits: rate * STEP,
            marked: false,
            lost: 0.0,
            rtt_min: 0.05,
            ceiling: f64::MAX,
            clock_step: 0.0,
        });
        delay += if step >= steps / 2 { noise + queue } else { 0.0 };
    }
    (rate, delay * 2.0 / steps as f64)
}

#[test]
fn the_operating_delay_is_k0_over_the_rate() {
    for (capacity, expected) in [(1e6, 0.016), (2e6, 0.008)] {
        let (rate, delay) = run(capacity, 0.0, 2000.0);
        assert!((rate / capacity - 1.0).abs() < 0.02, "{rate}");
        assert!((delay / expected - 1.0).abs() < 0.02, "{} ms at {capacity}", delay * 1e3);
    }
}

#[test]
fn noise_takes_what_it_does_not_saturate() {
    // 16000 bit over 40 ms.
    let (rate, _) = run(1e6, 0.04, 2000.0);
    assert!((rate / 400e3 - 1.0).abs() < 1e-3, "{rate}");
}

#[test]
fn without_congestion_a_second_brings_9_6_kbps() {
    let mut law = UmLaw::new(&Params::default());
    law.set_rate(1e5);
    let now = Time::ZERO;
    let rate = law.on_sample(&Sample {
        now,
        elapsed: 1.0,
        rate: 1e5,
        delta: 0.0,
        fell: 0.0,
        bits: 1e4,
        marked: false,
        lost: 0.0,
        rtt_min: 0.05,
        ceiling: 1e9,
        clock_step: 0.0,
    });
    assert_eq!(rate, 109_600.0);
}
