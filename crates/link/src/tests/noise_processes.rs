//! Distributions and processes of delay noise against arithmetic. The bounds are four standard errors of the sample, rounded up.

use super::*;
use crate::NoiseConfig;
use paceline_units::param::{ParamSet, Value};

const MILLI: f64 = 1e6;

fn time(millis: f64) -> Value {
    Value::Time(TimeDelta::from_nanos((millis * MILLI) as i64))
}

fn noise(kind: &str, values: &[(&str, Value)]) -> NoiseConfig {
    let mut noise = NoiseConfig::of(kind).expect("a kind");
    for (name, value) in values {
        noise.set(name, value.clone()).expect("a parameter in its range");
    }
    assert_eq!(noise.check(), Ok(()));
    noise
}

/// A link that does nothing but this noise; 10 ms away.
fn link_with(noises: Vec<NoiseConfig>) -> LinkConfig {
    let mut config = unlimited(RateProcess::Constant(Bitrate::from_bps(1_000_000_000_000)));
    (config.delay, config.noise) = (TimeDelta::from_millis(10).into(), noises);
    config
}

/// The fate of packets `gap` milliseconds apart, which may overtake each other.
fn outcome(mut config: NoiseConfig, packets: u64, gap: f64) -> Outcome {
    config.set("reorder", Value::Flag(true)).expect("every noise has it");
    let arrivals: Vec<Arrival> =
        (0..packets).map(|index| ((index as f64 * gap * MILLI) as u64, 125)).collect();
    run(link_with(vec![config]), &arrivals, Ecn::NotEct, Time::MAX)
}

/// The noise of such packets in milliseconds.
fn delays(config: NoiseConfig, packets: u64, gap: f64) -> Vec<f64> {
    outcome(config, packets, gap).departures.iter().map(|departure| departure.noise.as_millis_f64()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let centre = mean(values);
    (values.iter().map(|value| (value - centre) * (value - centre)).sum::<f64>() / values.len() as f64).sqrt()
}

fn above(values: &[f64], bound: f64) -> f64 {
    values.iter().filter(|&&value| value > bound).count() as f64 / values.len() as f64
}

/// The correlation of values with those one place later.
fn autocorrelation(values: &[f64]) -> f64 {
    let (centre, variance) = (mean(values), deviation(values).powi(2));
    let products: Vec<f64> = values.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).collect();
    mean(&products) / variance
}

#[track_caller]
fn near(found: f64, expected: f64, bound: f64) {
    assert!((found - expected).abs() <= bound, "{found}, expected {expected} within {bound}");
}

#[test]
fn lognormal_and_gamma_have_their_means_and_deviations() {
    let lognormal = delays(noise("lognormal", &[("mean", time(20.0)), ("std", time(10.0))]), 200_000, 1.0);
    near(mean(&lognormal), 20.0, 0.1);
    near(deviation(&lognormal), 10.0, 0.2);
    for shape in [1.0, 4.0, 100.0] {
        let config = noise("gamma", &[("mean", time(5.0)), ("shape", Value::Ratio(shape))]);
        let gamma = delays(config, 200_000, 1.0);
        near(mean(&gamma), 5.0, 0.05);
        near(deviation(&gamma), 5.0 / shape.sqrt(), 0.05);
    }
    // With a shape of 1 it is exponential.
    let config = noise("gamma", &[("mean", time(5.0)), ("shape", Value::Ratio(1.0))]);
    near(above(&delays(config, 200_000, 1.0), 10.0), (-2.0f64).exp(), 0.004);
}

#[test]
fn pareto_falls_by_its_power_and_is_cut() {
    let config = noise("pareto", &[("mean", time(10.0)), ("shape", Value::Ratio(3.0))]);
    let pareto = delays(config.clone(), 400_000, 1.0);
    near(mean(&pareto), 10.0, 0.15);
    // P(X > x) = (1 + x / scale)^-shape with a scale of mean · (shape - 1).
    for bound in [5.0, 20.0, 100.0] {
        near(above(&pareto, bound), (1.0 + bound / 20.0f64).powi(-3), 0.004);
    }
    let mut cut = config;
    cut.set("max", time(30.0)).expect("a time");
    assert_eq!(delays(cut, 50_000, 1.0).into_iter().fold(0.0, f64::max), 30.0);
}

#[test]
fn measured_noise_is_distributed_as_measured() {
    let quantiles = [0.0, 1.0, 1.5, 4.0, 30.0];
    let list = Value::List(quantiles.map(time).into());
    let distribution = |value: f64| {
        let index = quantiles.windows(2).position(|pair| value < pair[1]).unwrap_or(3);
        (index as f64 + (value - quantiles[index]) / (quantiles[index + 1] - quantiles[index])) / 4.0
    };
    for correlation in [0.0, 20.0] {
        let config = noise("empirical", &[("quantiles", list.clone()), ("correlation", time(correlation))]);
        // The gap is 10 correlation times, so that the sample's values are independent.
        let mut values = delays(config, 100_000, 200.0);
        values.sort_by(f64::total_cmp);
        let count = values.len() as f64;
        let distance = values.iter().enumerate().map(|(place, &value)| {
            let expected = distribution(value);
            (expected - place as f64 / count).abs().max((expected - (place + 1) as f64 / count).abs())
        });
        // Kolmogorov and Smirnov: 1.95 / sqrt(n) is exceeded in 1 of 1000 samples.
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.95 / count.sqrt(), "{distance}");
    }
    let always = noise("empirical", &[("quantiles", Value::List(vec![time(7.0)]))]);
    assert!(delays(always, 100, 1.0).iter().all(|&delay| delay == 7.0));
}

#[test]
fn correlated_noise_forgets_at_the_rate_that_is_asked_for() {
    for correlation in [0.0, 5.0, 50.0] {
        let values = [("mean", time(20.0)), ("std", time(5.0)), ("correlation", time(correlation))];
        let scores: Vec<f64> =
            delays(noise("lognormal", &values), 400_000, 5.0).iter().map(|x| x.ln()).collect();
        let expected = if correlation == 0.0 { 0.0 } else { (-5.0 / correlation).exp() };
        near(autocorrelation(&scores), expected, 0.01);
        near(scores.iter().sum::<f64>() / 400_000.0, 20f64.ln() - 0.5 * (1.0 + 1.0 / 16.0f64).ln(), 0.01);
    }
}

#[test]
fn retransmission_costs_rounds_and_loses_the_rest() {
    for (p, retries) in [(0.1f64, 7), (0.5, 2), (0.9, 3)] {
        let values = [("p", Value::Ratio(p)), ("round", time(8.0)), ("retries", Value::Count(retries))];
        let outcome = outcome(noise("retransmission", &values), 200_000, 1.0);
        let tries = retries as i32 + 1;
        let residual = p.powi(tries);
        near(outcome.counters.lost as f64 / 200_000.0, residual, 0.005);
        let delays: Vec<f64> =
            outcome.departures.iter().map(|departure| departure.noise.as_millis_f64()).collect();
        // A geometric count of failures, given that one of the tries succeeds.
        let failures = p / (1.0 - p) - f64::from(tries) * residual / (1.0 - residual);
        near(mean(&delays), 8.0 * failures, 0.15);
        assert!(delays.iter().all(|delay| delay % 8.0 == 0.0 && *delay <= 8.0 * retries as f64));
    }
    for (p, lost) in [(0.0, 0), (1.0, 1000)] {
        let values = [("p", Value::Ratio(p)), ("round", time(8.0))];
        assert_eq!(outcome(noise("retransmission", &values), 1000, 1.0).counters.lost, lost);
    }
}

/// Fades of 50 ms every 200 ms in which 3 of 4 tries fail, none otherwise.
fn fading(retries: u64) -> NoiseConfig {
    let values = [
        ("p", Value::Ratio(0.0)),
        ("round", time(10.0)),
        ("retries", Value::Count(retries)),
        ("bad", time(50.0)),
        ("good", time(150.0)),
        ("p_bad", Value::Ratio(0.75)),
    ];
    noise("retransmission", &values)
}

#[test]
fn failures_and_losses_come_in_the_same_fades() {
    // With a hundred repeats a packet of a fade is delayed in 3 of 4 cases.
    let delayed: Vec<f64> =
        delays(fading(100), 400_000, 10.0).iter().map(|delay| f64::from(u8::from(*delay > 0.0))).collect();
    near(mean(&delayed), 0.25 * 0.75, 0.01);
    // In a fade with 1/4, and the correlation of that falls by both rates: exp(-10 / 50 - 10 / 150).
    let state = 0.25 * 0.75 * (-10.0 / 50.0 - 10.0 / 150.0f64).exp();
    let variance = mean(&delayed) * (1.0 - mean(&delayed));
    near(autocorrelation(&delayed), 0.75 * 0.75 * state / variance, 0.015);
    // With none, a packet of a fade is lost in 3 of 4 cases.
    let lossy = outcome(fading(0), 400_000, 10.0);
    near(lossy.counters.lost as f64 / 400_000.0, 0.25 * 0.75, 0.01);
    assert!(lossy.departures.iter().all(|departure| departure.noise == TimeDelta::ZERO));
    // With one repeat a packet of a fade that is not lost is delayed with 3/7; a packet 1 ms before a loss is in the same
    // fade but for 2 % of the cases. In fades of its own it would be delayed with 1/4 · 3/7.
    let some = outcome(fading(1), 400_000, 1.0);
    let delayed = |id: u64| {
        let place = some.departures.binary_search_by_key(&id, |departure| departure.packet.id).ok()?;
        Some(f64::from(u8::from(some.departures[place].noise > TimeDelta::ZERO)))
    };
    let is_lost = |id: usize| some.offered[id] == Offered::Lost;
    let beside: Vec<f64> =
        (1..400_000).filter(|&id| is_lost(id)).filter_map(|id| delayed(id as u64 - 1)).collect();
    near(mean(&beside), 0.41, 0.02);
}

#[test]
fn grants_come_in_frames_and_take_along_who_waits() {
    for (miss, gap) in [(0.0, 97.3), (0.6, 97.3)] {
        let config = noise("grant", &[("period", time(5.0)), ("miss", Value::Ratio(miss))]);
        let values = delays(config.clone(), 100_000, gap);
        near(mean(&values), 2.5 + 5.0 * miss / (1.0 - miss), 0.1);
        let first = outcome(config, 1000, gap).departures;
        let phase = |departure: &Departure<Packet>| departure.arrives.as_nanos() % 5_000_000;
        assert!(first.iter().all(|departure| phase(departure) == phase(&first[0])));
    }
    // Ten packets in a frame: whoever waits goes with the first one's grant.
    let config = noise("grant", &[("period", time(5.0)), ("miss", Value::Ratio(0.6))]);
    let arrivals: Vec<Arrival> = (0..10_000).map(|index| (index * 500_000, 125)).collect();
    let together = run(link_with(vec![config]), &arrivals, Ecn::NotEct, Time::MAX).departures;
    let grants = together.windows(2).filter(|pair| pair[0].arrives != pair[1].arrives).count() + 1;
    // A cycle is a wait of one frame and of 1.5 more in the mean.
    near(grants as f64, 5000.0 / 12.5, 60.0);
    let spread = noise("grant", &[("period", time(5.0)), ("jitter", time(2.0))]);
    near(mean(&delays(spread, 100_000, 97.3)), 2.5 + 1.0, 0.05);
}

#[test]
fn contention_is_the_rest_of_a_busy_time_and_a_backoff() {
    let quiet = [("busy", time(0.0)), ("idle", time(10.0)), ("collision", Value::Ratio(0.0))];
    // Uniform over 0 to 31 slots of 20 us.
    let backoff = delays(noise("contention", &quiet), 100_000, 1.0);
    near(mean(&backoff), 31.0 * 0.02 / 2.0, 0.003);
    assert!(backoff.iter().all(|delay| *delay <= 0.62));
    let busy = [("busy", time(30.0)), ("idle", time(10.0)), ("slot", time(0.0))];
    let waits = delays(noise("contention", &busy), 100_000, 500.0);
    near(mean(&waits), 0.75 * 30.0, 0.4);
    near(above(&waits, 30.0), 0.75 * (-1.0f64).exp(), 0.006);
    let held: Vec<f64> = delays(noise("contention", &busy), 400_000, 5.0)
        .iter()
        .map(|wait| f64::from(u8::from(*wait > 0.0)))
        .collect();
    near(autocorrelation(&held), (-5.0 / 30.0 - 5.0 / 10.0f64).exp(), 0.015);
}

#[test]
fn after_a_long_silence_the_state_is_drawn_anew() {
    // 40 ms of busy and idle: more than 10,000 turns lie between two packets.
    let busy = [("busy", time(30.0)), ("idle", time(10.0)), ("slot", time(0.0))];
    let waits = delays(noise("contention", &busy), 2_000, 1e6);
    near(mean(&waits), 0.75 * 30.0, 2.6);
    near(above(&waits, 0.0), 0.75, 0.04);
}

#[test]
fn a_collision_doubles_the_window_and_costs_airtime() {
    let values = [
        ("busy", time(0.0)),
        ("idle", time(10.0)),
        ("collision", Value::Ratio(0.5)),
        ("retries", Value::Count(2)),
        ("airtime", time(1.0)),
    ];
    let outcome = outcome(noise("contention", &values), 200_000, 1.0);
    near(outcome.counters.lost as f64 / 200_000.0, 0.125, 0.004);
    let delays: Vec<f64> =
        outcome.departures.iter().map(|departure| departure.noise.as_millis_f64()).collect();
    // 0, 1 and 2 collisions with 4/7, 2/7 and 1/7; windows of 31, 63 and 127 slots.
    let backoff = 0.01 * (31.0 + 63.0 * 3.0 / 7.0 + 127.0 / 7.0);
    near(mean(&delays), 4.0 / 7.0 + backoff, 0.01);
}

#[test]
fn a_stall_holds_everything_and_lets_it_go_together() {
    let constant = Value::Name("constant");
    let values = [("every", time(1000.0)), ("length", time(200.0)), ("shape", constant)];
    let outcome = outcome(noise("spikes", &values), 2_000_000, 1.0);
    let delays: Vec<f64> =
        outcome.departures.iter().map(|departure| departure.noise.as_millis_f64()).collect();
    // In a stall with 1/6, and there uniform up to its length: L² / 2 / (every + L).
    near(mean(&delays), 200.0 * 200.0 / 2.0 / 1200.0, 1.5);
    near(above(&delays, 0.0), 200.0 / 1200.0, 0.015);
    assert!(delays.iter().all(|delay| *delay <= 200.0));
    let held: Vec<_> =
        outcome.departures.iter().filter(|departure| departure.noise > TimeDelta::ZERO).collect();
    let ends = held.windows(2).filter(|pair| pair[0].arrives != pair[1].arrives).count();
    assert!((1500..1850).contains(&ends), "{ends} stalls in 2000 s");
    let values = [("every", time(1000.0)), ("length", time(200.0)), ("max", time(300.0))];
    assert!(self::delays(noise("spikes", &values), 500_000, 1.0).iter().all(|delay| *delay <= 300.0));
}

#[test]
fn noises_add_up_in_turn_and_each_draws_from_its_own_stream() {
    let always = |millis| noise("empirical", &[("quantiles", Value::List(vec![time(millis)]))]);
    let both = run(link_with(vec![always(3.0), always(4.0)]), &[(0, 125)], Ecn::NotEct, Time::MAX);
    assert_eq!(both.departures[0].noise, TimeDelta::from_millis(7));
    let exponential = noise("exponential", &[("mean", time(2.0))]);
    let arrivals: Vec<Arrival> = (0..1000).map(|index| (index * 1_000_000_000, 125)).collect();
    let noises = |config: Vec<NoiseConfig>| -> Vec<f64> {
        let departures = run(link_with(config), &arrivals, Ecn::NotEct, Time::MAX).departures;
        departures.iter().map(|departure| departure.noise.as_millis_f64()).collect()
    };
    let (one, two) = (noises(vec![exponential.clone()]), noises(vec![exponential.clone(), exponential]));
    let second: Vec<f64> = one.iter().zip(&two).map(|(one, two)| two - one).collect();
    assert!(second.iter().all(|delay| *delay >= 0.0) && second != one);
    near(mean(&second), 2.0, 0.3);
}
