//! Clocks that are skewed and stepped, under queues and noise.

use super::*;
use alloc::vec::Vec;

/// Milliseconds, as a fraction.
type Ms = f64;

/// A path whose receiver's clock gains `ppm`, and was put forward by so much at a time.
struct Path {
    ppm: f64,
    step: Option<(f64, Ms)>,
}

impl Path {
    fn shown(&self, real: f64) -> Time {
        let stepped = self.step.filter(|(at, _)| real >= *at).map_or(0.0, |(_, step)| step * 1e-3);
        // 1/1024 s, as RFC 8888 has it, by a clock with a zero of its own.
        let shown = 500.0 + real * (1.0 + self.ppm * 1e-6) + stepped;
        Time::from_secs_f64(libm::floor(shown * 1024.0) / 1024.0)
    }

    /// Feeds a packet every 20 ms; `queue` and `back` say what each direction adds to 30 ms in ms. Answers the error of the
    /// delay over its minimum in ms, at its largest after `from` seconds, and what was learned.
    fn run(
        &self,
        seconds: f64,
        from: f64,
        queue: impl Fn(f64) -> Ms,
        back: impl Fn(f64) -> Ms,
    ) -> (Ms, OneWayDelay) {
        let (mut delays, mut worst) = (OneWayDelay::new(true), 0.0);
        let mut at = 1.0;
        while at < seconds {
            let real = at + (30.0 + queue(at)) * 1e-3;
            let now = Time::from_secs_f64(real + (30.0 + back(real)) * 1e-3);
            let delay = delays.on_arrival(now, Time::from_secs_f64(at), self.shown(real));
            let least = delays.minimum().expect("a packet");
            let found = (delay - least).as_millis_f64();
            if at >= from {
                worst = f64::max(worst, (found - queue(at)).abs());
            }
            at += 0.02;
        }
        (worst, delays)
    }
}

/// Even noise from 0 to `most`, without a memory.
fn noise(at: f64, most: Ms) -> Ms {
    let bits = (at * 1e6) as u64;
    let mixed = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1u64 << 24) as f64 * most
}

#[test]
fn a_skew_is_found_and_taken_out() {
    for ppm in [-200.0, -20.0, 0.0, 20.0, 200.0] {
        let path = Path { ppm, step: None };
        let (worst, delays) = path.run(900.0, 30.0, |at| noise(at, 10.0), |at| noise(at + 0.5, 10.0));
        assert!((delays.skew_ppm() - ppm).abs() < 5.0, "{ppm}: {}", delays.skew_ppm());
        // A step of the clock, and what the envelope lacks.
        assert!(worst < 5.0, "{ppm} ppm: {worst} ms");
        assert_eq!(delays.steps(), 0);
    }
}

#[test]
fn without_compensation_a_skew_adds_up() {
    let mut delays = OneWayDelay::new(false);
    let mut last = TimeDelta::ZERO;
    for second in 1..=900u64 {
        let sent = Time::from_nanos(second * 1_000_000_000);
        let arrived = sent + TimeDelta::from_micros(second as i64 * 200);
        last = delays.on_arrival(arrived, sent, arrived);
    }
    let found = (last - delays.minimum().expect("a packet")).as_millis_f64();
    assert!((found - 0.2 * 899.0).abs() < 1e-6, "{found} ms");
}

#[test]
fn a_queue_that_grows_or_drains_is_no_skew() {
    // 300 ppm for minutes: slower than any congestion, and still a queue since the way back does not show it.
    for slope in [0.3, -0.3] {
        let path = Path { ppm: 0.0, step: None };
        let queue = |at: f64| if slope > 0.0 { slope * at } else { slope * (at - 200.0) };
        let (_, delays) = path.run(200.0, 0.0, queue, |_| 0.0);
        assert!(delays.skew_ppm().abs() < 5.0, "{slope} ms/s: {} ppm", delays.skew_ppm());
        // The same on the way back.
        let (_, delays) = path.run(200.0, 0.0, |_| 0.0, queue);
        assert!(delays.skew_ppm().abs() < 5.0, "{slope} ms/s on the way back: {} ppm", delays.skew_ppm());
    }
}

#[test]
fn a_skew_is_found_under_load() {
    // A queue that comes and goes within 20 s, and delay noise.
    let queue = |at: f64| noise(at, 20.0) + f64::max(0.0, 80.0 * libm::sin(at / 3.2));
    for ppm in [200.0, 50.0] {
        let (worst, delays) = Path { ppm, step: None }.run(600.0, 60.0, queue, |at| noise(at, 5.0));
        assert!((delays.skew_ppm() - ppm).abs() < 15.0, "{ppm}: {}", delays.skew_ppm());
        assert!(worst < 6.0, "{ppm} ppm: {worst} ms");
    }
}

#[test]
fn a_step_of_the_clock_is_no_queue() {
    for step in [100.0, -100.0, 30.0, -3000.0, 3000.0] {
        for ppm in [0.0, 100.0] {
            let path = Path { ppm, step: Some((60.0, step)) };
            let (worst, delays) = path.run(120.0, 61.5, |at| noise(at, 10.0), |at| noise(at + 0.5, 10.0));
            assert_eq!(delays.steps(), 1, "{step} ms, {ppm} ppm");
            assert!(worst < 6.0, "{step} ms, {ppm} ppm: {worst} ms");
            assert!((delays.skew_ppm() - ppm).abs() < 15.0, "{step} ms: {}", delays.skew_ppm());
        }
    }
}

#[test]
fn a_clock_that_is_put_back_by_less_than_what_waits_is_seen() {
    let path = Path { ppm: 0.0, step: Some((60.0, -50.0)) };
    let (worst, delays) = path.run(65.0, 60.1, |at| if at > 10.0 { 60.0 } else { 0.0 }, |_| 0.0);
    assert_eq!(delays.steps(), 1);
    assert!(worst < 2.0, "{worst} ms");
}

/// Two packets of one report that changed their order on the way look like a step.
#[test]
fn reordering_is_no_step() {
    let mut delays = OneWayDelay::new(true);
    for n in 0..1000u64 {
        let sent = Time::from_nanos(n * 20_000_000);
        let now = sent + TimeDelta::from_millis(200);
        for (after, delay) in [(0, if n % 7 == 0 { 130 } else { 30 }), (1, 30)] {
            let sent = sent + TimeDelta::from_millis(after);
            let _ = delays.on_arrival(now, sent, sent + TimeDelta::from_millis(delay));
        }
    }
    assert_eq!(delays.steps(), 0);
}

/// Clocks that agree, read to 1/1024 s, under queues that come, go and stand: not a nanosecond is taken out.
#[test]
fn an_exact_clock_is_left_alone() {
    let path = Path { ppm: 0.0, step: None };
    let standing = |at: f64| if at < 10.0 { 0.0 } else { 40.0 + noise(at, 30.0) };
    let sawtooth = |at: f64| at * 7.0 % 90.0;
    for queue in [&standing as &dyn Fn(f64) -> Ms, &sawtooth] {
        for back in [0.0, 40.0] {
            let (_, delays) = path.run(600.0, 0.0, queue, |at| noise(at, back));
            assert_eq!((delays.skew_ppm(), delays.steps()), (0.0, 0));
        }
    }
}

#[test]
fn a_tilt_corrects_what_was_answered_before() {
    let path = Path { ppm: 200.0, step: None };
    let (mut delays, mut kept, mut worst) = (OneWayDelay::new(true), Vec::new(), 0.0);
    for n in 1..4000u64 {
        let sent = Time::from_nanos(n * 20_000_000);
        let real = sent.as_secs_f64() + 0.03;
        let delay = delays.on_arrival(Time::from_secs_f64(real + 0.03), sent, path.shown(real));
        if let Some(tilt) = delays.take_tilt() {
            kept.iter_mut().for_each(|(sent, delay)| *delay = tilt.correct(*sent, *delay));
        }
        kept.push((sent, delay));
    }
    for (_, delay) in kept {
        worst = f64::max(worst, delay.as_millis_f64().abs());
    }
    // 80 s at 200 ppm are 16 ms.
    assert!(delays.skew_ppm() > 190.0 && worst < 1.5, "{worst} ms");
}

#[test]
fn a_queue_and_another_route_are_no_steps() {
    let jump = |jump: Ms| move |at: f64| if at >= 60.0 { jump } else { 0.0 };
    let path = Path { ppm: 0.0, step: None };
    // A burst of other traffic, or a longer route.
    let (_, delays) = path.run(70.0, 0.0, jump(100.0), |_| 0.0);
    assert_eq!(delays.steps(), 0);
    // A shorter route back, or forward.
    for back in [jump(-25.0), jump(100.0)] {
        let (_, delays) = path.run(70.0, 0.0, |at| noise(at, 5.0), back);
        assert_eq!(delays.steps(), 0);
    }
    let (_, delays) = path.run(70.0, 0.0, jump(-25.0), |at| noise(at, 5.0));
    assert_eq!(delays.steps(), 0);
}

#[test]
fn what_is_forgotten_no_longer_counts() {
    let path = Path { ppm: 0.0, step: None };
    let (_, mut delays) = path.run(100.0, 0.0, |at| if at < 50.0 { 0.0 } else { 40.0 }, |_| 0.0);
    let before = delays.minimum().expect("a packet");
    let since = delays.minimum_since(Time::from_secs_f64(60.0)).expect("packets");
    assert!(((since - before).as_millis_f64() - 40.0).abs() < 1.5, "{since:?} {before:?}");
    delays.forget_before(Time::from_secs_f64(60.0));
    assert_eq!(delays.minimum(), Some(since));
}

#[test]
fn no_clock_does_harm() {
    let extremes = [Time::ZERO, Time::from_nanos(1), Time::from_secs_f64(1e9), Time::MAX];
    for compensates in [false, true] {
        let mut delays = OneWayDelay::new(compensates);
        for now in extremes {
            for sent in extremes {
                for arrived in extremes {
                    delays.on_arrival(now, sent, arrived);
                    assert!(delays.skew_ppm().abs() <= 500.0);
                }
            }
        }
    }
}

#[test]
fn the_measure_changes_only_once_no_arrival_is_told_for_long() {
    let (mut measure, at) = (DelayMeasure::NEW, Time::from_secs_f64);
    assert_eq!(measure.end(at(1.0), None), Some((at(1.0), true)), "round trips");
    assert_eq!(measure.end(at(1.1), None), Some((at(1.1), false)));
    assert_eq!(measure.end(at(1.2), Some(at(9.0))), Some((at(9.0), true)), "one way");
    assert_eq!(measure.end(at(1.3), None), None);
    assert_eq!(measure.end(at(3.1), Some(at(9.2))), Some((at(9.2), false)));
    assert_eq!(measure.end(at(5.0), None), None);
    assert_eq!(measure.end(at(5.1), None), Some((at(5.1), true)));
}
