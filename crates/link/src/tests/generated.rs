//! The generators against their parameters.

use super::*;
use crate::generate::{MmwaveParams, PRESETS, RateState, StatesParams, mmwave, states};

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
        mmwave(1, TimeDelta::from_secs(1), &params).expect_err("refused").to_string()
    };
    assert_eq!(
        refused(|params| params.interval = TimeDelta::ZERO),
        "found \"interval = 0s\", expected a time of 1ms or more"
    );
    assert_eq!(
        refused(|params| params.outage_ratio = f64::NAN),
        "found \"outage_ratio = NaN\", expected a number from 0 to 1"
    );
    assert_eq!(
        refused(|params| params.rate_max = Bitrate::MAX),
        "found \"rate_max = inf\", expected a rate of 1kbps or more"
    );
    assert_eq!(
        refused(|params| params.los.dwell = TimeDelta::ZERO),
        "found \"los.dwell = 0s\", expected a time of 1ms or more"
    );
    assert!(mmwave(1, TimeDelta::ZERO, &MmwaveParams::default()).is_err());
    assert!(mmwave(1, TimeDelta::MAX, &MmwaveParams::default()).is_err());
}

fn state(name: &str, mbps: &[u64], dwell_s: f64, dwell_shape: f64, next: &[f64]) -> RateState {
    RateState {
        name: name.into(),
        rates: mbps.iter().map(|&mbps| Bitrate::from_mbps(mbps)).collect(),
        correlation: TimeDelta::from_secs(2),
        dwell: TimeDelta::from_secs_f64(dwell_s),
        dwell_shape,
        next: next.to_vec(),
    }
}

/// Three states whose rates do not overlap, the middle one with many short and long stays.
fn three_states() -> StatesParams {
    let states = vec![
        state("low", &[0, 90], 4.0, 1.0, &[0.0, 3.0, 1.0]),
        state("middle", &[100, 150, 190], 6.0, 0.6, &[1.0, 0.0, 1.0]),
        state("high", &[200, 210, 400], 10.0, 2.0, &[0.0, 1.0, 0.0]),
    ];
    StatesParams { states, ramps: false, interval: TimeDelta::from_millis(100) }
}

fn drawn(params: &StatesParams, seed: u64, length: TimeDelta) -> Vec<f64> {
    let trace = states(seed, length, params).expect("a trace");
    let step = params.interval.as_nanos();
    let repeated = |&(duration, rate): &(TimeDelta, Bitrate)| {
        std::iter::repeat_n(rate.as_mbps_f64(), (duration.as_nanos() / step) as usize)
    };
    trace.segments().iter().flat_map(repeated).collect()
}

/// Runs of one state, as (state, values).
fn stays(values: &[f64], bounds: &[f64]) -> Vec<(usize, Vec<f64>)> {
    let of = |value: &f64| bounds.iter().filter(|&bound| value >= bound).count();
    values.chunk_by(|a, b| of(a) == of(b)).map(|run| (of(&run[0]), run.to_vec())).collect()
}

#[test]
fn states_depend_on_their_seed_only_and_a_longer_trace_begins_with_the_shorter() {
    for ramps in [false, true] {
        let params = StatesParams { ramps, ..three_states() };
        let minute = TimeDelta::from_secs(60);
        assert_eq!(drawn(&params, 1, minute), drawn(&params, 1, minute));
        assert_ne!(drawn(&params, 1, minute), drawn(&params, 2, minute));
        assert_eq!(drawn(&params, 1, minute), drawn(&params, 1, minute * 2)[..600]);
    }
}

#[test]
fn states_last_follow_each_other_and_are_distributed_as_their_parameters_say() {
    let values = drawn(&three_states(), 3, HOUR);
    let stays = stays(&values, &[95.0, 195.0]);
    let lengths = |state: usize| -> Vec<f64> {
        stays.iter().filter(|(found, _)| *found == state).map(|(_, run)| run.len() as f64 * 0.1).collect()
    };
    // Rounded up to 0.1 s: half of that on top. A Weibull time of shape k has the variation sqrt(G(1+2/k)/G(1+1/k)^2 - 1).
    for (number, dwell, variation) in [(0, 4.05, 1.0), (1, 6.05, 1.758), (2, 10.05, 0.523)] {
        let found = lengths(number);
        assert!((mean(&found) / dwell - 1.0).abs() < 0.06, "{number}: {}", mean(&found));
        let ratio = std(&found) / mean(&found) / variation;
        assert!((ratio - 1.0).abs() < 0.1, "{number}: {ratio}");
    }
    let after = |from: usize, to: usize| {
        let moves: Vec<_> = stays.windows(2).filter(|pair| pair[0].0 == from).collect();
        moves.iter().filter(|pair| pair[1].0 == to).count() as f64 / moves.len() as f64
    };
    assert!((after(0, 1) - 0.75).abs() < 0.03 && (after(1, 2) - 0.5).abs() < 0.03, "{}", after(0, 1));
    assert_eq!(after(2, 1), 1.0);
    let mut high: Vec<f64> = values.iter().copied().filter(|&value| value > 195.0).collect();
    high.sort_by(f64::total_cmp);
    let quantile = |part: f64| high[(part * high.len() as f64) as usize];
    assert!((quantile(0.25) - 205.0).abs() < 1.0 && (quantile(0.5) - 210.0).abs() < 6.0, "{}", quantile(0.5));
    assert!((quantile(0.75) - 305.0).abs() < 12.0, "{}", quantile(0.75));
}

#[test]
fn ramps_begin_and_end_a_stay_on_the_side_of_its_neighbours() {
    let mut params = three_states();
    // Evenly distributed, so that a value says where in the distribution it is.
    params.states[1].rates = [100, 190].map(Bitrate::from_mbps).to_vec();
    let jump = |params: &StatesParams| {
        let values = drawn(params, 5, HOUR);
        let jumps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        let stays = stays(&values, &[95.0, 195.0]);
        let of_middle = stays.windows(3).filter(|three| three[1].0 == 1 && three[1].1.len() > 1);
        let outside = of_middle.filter(|three| {
            let (first, last) = (three[1].1[0], three[1].1[three[1].1.len() - 1]);
            (three[0].0 > 1) != (first > 145.0) || (three[2].0 > 1) != (last > 145.0)
        });
        (mean(&jumps), outside.count())
    };
    let (free, wrong_sides) = jump(&params);
    assert!(wrong_sides > 1000, "{wrong_sides}");
    let (bent, none) = jump(&StatesParams { ramps: true, ..params });
    assert_eq!(none, 0);
    assert!(bent < 0.95 * free, "{bent} {free}");
}

type Change = fn(&mut StatesParams);

#[test]
fn a_state_out_of_range_is_refused() {
    let refused = |change: Change| {
        let mut params = three_states();
        change(&mut params);
        states(1, TimeDelta::from_secs(1), &params).expect_err("refused").to_string()
    };
    let cases: [(Change, &str); 9] = [
        (|params| params.states.truncate(1), "found \"1 states\", expected from 2 to 1001 states"),
        (|params| params.interval = TimeDelta::ZERO, "interval of at least 0.001 s"),
        (|params| params.states[0].rates.clear(), "found \"0 rates\", expected from 1 to 1001 rates"),
        (
            |params| params.states[1].rates.reverse(),
            "found \"190 Mbit/s before 150\", expected rates that do not fall",
        ),
        (|params| params.states[2].dwell = TimeDelta::ZERO, "dwell of at least 0.001 s"),
        (|params| params.states[2].dwell_shape = f64::NAN, "dwell_shape from 0.1 to 10"),
        (|params| params.states[1].next = vec![0.0, 1.0, 0.0], "a weight from 0 to 1e9 for each other state"),
        (|params| params.states[1].next = vec![1.0], "a weight from 0 to 1e9 for each other state"),
        (
            |params| params.states.iter_mut().for_each(|state| state.rates = vec![Bitrate::ZERO]),
            "found \"only rates of 0\", expected some rate above 0",
        ),
    ];
    for (change, message) in cases {
        assert!(refused(change).contains(message), "{} is not {message}", refused(change));
    }
    assert!(states(1, TimeDelta::ZERO, &three_states()).is_err());
    assert!(states(1, TimeDelta::MAX, &three_states()).is_err());
}

/// Mean and share of the time below 20, from 20 to 165 and from 700 Mbit/s of the runs that each preset was fitted to.
#[test]
fn presets_have_the_statistics_of_their_recordings() {
    let recorded = [
        ("lumos5g-walking", 537.4, [0.095, 0.311, 0.340]),
        ("lumos5g-driving", 280.2, [0.154, 0.558, 0.158]),
    ];
    for (preset, (name, recorded_mean, shares)) in PRESETS.iter().zip(recorded) {
        assert_eq!(preset.name, name);
        assert!(!preset.origin.is_empty());
        let values = drawn(&preset.params(), 1, HOUR * 10);
        let found_mean = mean(&values);
        assert!((found_mean / recorded_mean - 1.0).abs() < 0.15, "{name}: {found_mean}");
        let ranges = [(0.0, 20.0), (20.0, 165.0), (700.0, 1e9)];
        for ((low, high), share) in ranges.into_iter().zip(shares) {
            let inside = values.iter().filter(|&&value| (low..high).contains(&value)).count();
            let found = inside as f64 / values.len() as f64;
            assert!((found - share).abs() < 0.05, "{name} from {low}: {found}");
        }
    }
}
