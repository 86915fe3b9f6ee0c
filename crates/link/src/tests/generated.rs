//! The generators against their parameters.

use super::*;
use crate::generate::{MmwaveParams, mmwave};

const HOUR: TimeDelta = TimeDelta::from_secs(10 * 3600);

fn values(seed: u64, length: TimeDelta, params: &MmwaveParams) -> Vec<f64> {
    let trace = mmwave(seed, length, params).expect("a trace");
    let step = params.interval.as_nanos();
    let repeated = |&(duration, rate): &(TimeDelta, Bitrate)| {
        std::iter::repeat_n(rate.as_mbps_f64(), (duration.as_nanos() / step) as usize)
    };
    trace.segments().iter().flat_map(repeated).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn std(values: &[f64]) -> f64 {
    let mean = mean(values);
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

#[test]
fn mmwave_depends_on_its_seed_only_and_a_longer_one_begins_with_the_shorter() {
    let params = MmwaveParams::default();
    let minute = TimeDelta::from_secs(60);
    assert_eq!(values(1, minute, &params), values(1, minute, &params));
    assert_ne!(values(1, minute, &params), values(2, minute, &params));
    assert_eq!(values(1, minute, &params), values(1, minute * 2, &params)[..600]);
    let odd = mmwave(1, TimeDelta::from_millis(1001), &params).expect("a trace");
    assert_eq!(odd.length(), TimeDelta::from_millis(1100));
}

#[test]
fn each_state_has_its_moments() {
    // One state at a time: the other one's dwell is too short to be seen.
    let mut params = MmwaveParams { rate_max: Bitrate::from_mbps(100_000), ..MmwaveParams::default() };
    params.outage_ratio = 0.0;
    params.los.dwell = TimeDelta::from_secs(1_000_000);
    let los = values(4, HOUR, &params);
    assert!((mean(&los) / 1200.0 - 1.0).abs() < 0.02 && (std(&los) / 300.0 - 1.0).abs() < 0.03);
    // AR(1) with a time constant of 1 s, seen over 100 ms.
    let (centre, variance) = (mean(&los), std(&los).powi(2));
    let lagged = los.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum::<f64>();
    let correlation = lagged / (los.len() - 1) as f64 / variance;
    assert!((correlation - (-0.1f64).exp()).abs() < 0.01, "{correlation}");
    params.los.dwell = TimeDelta::from_millis(1);
    params.blocked.dwell = TimeDelta::from_secs(1_000_000);
    let blocked = values(4, HOUR, &params);
    assert!((mean(&blocked) / 80.0 - 1.0).abs() < 0.03 && (std(&blocked) / 60.0 - 1.0).abs() < 0.06);
}

#[test]
fn the_states_share_the_time_as_their_dwells() {
    // The rates of the two states do not overlap.
    let mut params = MmwaveParams { outage_ratio: 0.25, ..MmwaveParams::default() };
    params.los.std = Bitrate::from_mbps(10);
    params.blocked.std = Bitrate::from_mbps(5);
    let values = values(9, HOUR, &params);
    let share = |from: f64, to: f64| {
        values.iter().filter(|&&value| (from..=to).contains(&value)).count() as f64 / values.len() as f64
    };
    assert!((share(500.0, 2000.0) - 8.0 / 11.0).abs() < 0.02, "{}", share(500.0, 2000.0));
    assert!((share(0.0, 0.0) - 0.25 * 3.0 / 11.0).abs() < 0.01, "{}", share(0.0, 0.0));
    let falls = values.windows(2).filter(|pair| pair[0] > 500.0 && pair[1] < 500.0).count() as f64;
    let expected = HOUR.as_secs_f64() / 11.0;
    assert!((falls / expected - 1.0).abs() < 0.06, "{falls} blockages, expected {expected}");
}

#[test]
fn a_parameter_out_of_range_is_refused() {
    let refused = |change: fn(&mut MmwaveParams)| {
        let mut params = MmwaveParams::default();
        change(&mut params);
        mmwave(1, TimeDelta::from_secs(1), &params).expect_err("refused").expected
    };
    assert_eq!(refused(|params| params.interval = TimeDelta::ZERO), "interval of at least 0.001 s");
    assert_eq!(refused(|params| params.outage_ratio = f64::NAN), "outage_ratio from 0 to 1");
    assert_eq!(refused(|params| params.rate_max = Bitrate::MAX), "rate_max from 1 kbit/s to 1 Pbit/s");
    assert_eq!(refused(|params| params.los.dwell = TimeDelta::ZERO), "dwell of at least 0.001 s");
    assert!(mmwave(1, TimeDelta::ZERO, &MmwaveParams::default()).is_err());
    assert!(mmwave(1, TimeDelta::MAX, &MmwaveParams::default()).is_err());
}
