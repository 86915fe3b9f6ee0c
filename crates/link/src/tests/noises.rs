//! Delay noise against its distributions.

use super::*;
use crate::{ExponentialNoise, NoiseConfig, Rfc8868Noise, UniformNoise};
use paceline_units::param::{ParamSet, Value};

const MILLI: f64 = 1e6;

/// Departures of packets `gap` apart, in an unloaded link.
fn noisy(mut noise: NoiseConfig, reorder: bool, gap: u64) -> Vec<Departure<Packet>> {
    let mut config = unlimited(mbps(1000));
    config.delay = TimeDelta::from_millis(10).into();
    noise.set("reorder", Value::Flag(reorder)).expect("every noise has it");
    config.noise = vec![noise];
    let arrivals: Vec<Arrival> = (0..100_000).map(|index| (index * gap, 125)).collect();
    run(config, &arrivals, Ecn::NotEct, Time::MAX).departures
}

fn rfc8868() -> NoiseConfig {
    NoiseConfig::Rfc8868(Rfc8868Noise::default())
}

fn uniform(max: TimeDelta) -> NoiseConfig {
    NoiseConfig::Uniform(UniformNoise { max, ..UniformNoise::default() })
}

fn exponential(mean: TimeDelta, max: TimeDelta) -> NoiseConfig {
    NoiseConfig::Exponential(ExponentialNoise { mean, max, ..ExponentialNoise::default() })
}

fn noises(noise: NoiseConfig) -> Vec<f64> {
    noisy(noise, true, 2000).iter().map(|departure| departure.noise.as_nanos() as f64).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |max, &value| max.max(value))
}

#[test]
fn rfc8868_is_a_half_normal_of_at_most_three_deviations() {
    let noises = noises(rfc8868());
    // E|N| = std · sqrt(2 / pi); the clamp takes 0.03 % off.
    let expected = 5.0 * MILLI * (2.0 / std::f64::consts::PI).sqrt();
    assert!((mean(&noises) / expected - 1.0).abs() < 0.01, "{}", mean(&noises));
    assert_eq!(largest(&noises), 15.0 * MILLI);
}

#[test]
fn uniform_and_exponential_have_their_means_and_ends() {
    let uniform = noises(uniform(TimeDelta::from_millis(8)));
    assert!((mean(&uniform) / MILLI - 4.0).abs() < 0.04 && largest(&uniform) < 8.0 * MILLI);
    let (one, never) = (TimeDelta::from_millis(2), TimeDelta::MAX);
    let uncut = noises(exponential(one, never));
    assert!((mean(&uncut) / MILLI - 2.0).abs() < 0.04 && largest(&uncut) > 15.0 * MILLI);
    let cut = noises(exponential(one, one));
    // The mean of a cut exponential is mean · (1 - exp(-max / mean)).
    assert!((mean(&cut) / MILLI - 2.0 * (1.0 - (-1f64).exp())).abs() < 0.02 && largest(&cut) == 2.0 * MILLI);
}

#[test]
fn without_reordering_no_packet_overtakes() {
    let kept = noisy(rfc8868(), false, 1_000_000);
    assert!(kept.windows(2).all(|pair| pair[0].arrives <= pair[1].arrives));
    let free = noisy(rfc8868(), true, 1_000_000);
    let overtaken = free.windows(2).filter(|pair| pair[0].arrives > pair[1].arrives).count();
    assert!(overtaken > 10_000, "{overtaken}");
    // The same draws: keeping the order only ever adds.
    assert!(
        kept.iter().zip(&free).all(|(kept, free)| kept.departed == free.departed && kept.noise >= free.noise)
    );
}

#[test]
fn noise_out_of_range_is_refused() {
    let name =
        |noise: NoiseConfig| noise.check().map_err(|error| error.name).expect_err("it is out of range");
    let gaussian = |std, n_std| NoiseConfig::Rfc8868(Rfc8868Noise { std, n_std, ..Rfc8868Noise::default() });
    let (negative, one) = (TimeDelta::from_nanos(-1), TimeDelta::from_millis(1));
    assert_eq!(name(uniform(negative)), "max");
    assert_eq!(name(gaussian(negative, 3.0)), "std");
    assert_eq!(name(gaussian(one, f64::NAN)), "n_std");
    assert_eq!(name(exponential(negative, one)), "mean");
}
