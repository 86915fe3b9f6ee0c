//! Delay noise against its distributions.

use super::*;
use crate::{NoiseConfig, NoiseKind};

const MILLI: f64 = 1e6;

/// Departures of packets `gap` apart, in an unloaded link.
fn noisy(kind: NoiseKind, reorder: bool, gap: u64) -> Vec<Departure<Packet>> {
    let mut config = unlimited(mbps(1000));
    config.delay = TimeDelta::from_millis(10);
    config.noise = Some(NoiseConfig { kind, reorder });
    let arrivals: Vec<Arrival> = (0..100_000).map(|index| (index * gap, 125)).collect();
    run(config, &arrivals, Ecn::NotEct, Time::MAX).departures
}

fn noises(kind: NoiseKind) -> Vec<f64> {
    noisy(kind, true, 2000).iter().map(|departure| departure.noise.as_nanos() as f64).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |max, &value| max.max(value))
}

#[test]
fn rfc8868_is_a_half_normal_of_at_most_three_deviations() {
    let noises = noises(NoiseKind::rfc8868());
    // E|N| = std · sqrt(2 / pi); the clamp takes 0.03 % off.
    let expected = 5.0 * MILLI * (2.0 / std::f64::consts::PI).sqrt();
    assert!((mean(&noises) / expected - 1.0).abs() < 0.01, "{}", mean(&noises));
    assert_eq!(largest(&noises), 15.0 * MILLI);
}

#[test]
fn uniform_and_exponential_have_their_means_and_ends() {
    let uniform = noises(NoiseKind::Uniform { max: TimeDelta::from_millis(8) });
    assert!((mean(&uniform) / MILLI - 4.0).abs() < 0.04 && largest(&uniform) < 8.0 * MILLI);
    let (one, never) = (TimeDelta::from_millis(2), TimeDelta::MAX);
    let exponential = noises(NoiseKind::Exponential { mean: one, max: never });
    assert!((mean(&exponential) / MILLI - 2.0).abs() < 0.04 && largest(&exponential) > 15.0 * MILLI);
    let cut = noises(NoiseKind::Exponential { mean: one, max: one });
    // The mean of a cut exponential is mean · (1 - exp(-max / mean)).
    assert!((mean(&cut) / MILLI - 2.0 * (1.0 - (-1f64).exp())).abs() < 0.02 && largest(&cut) == 2.0 * MILLI);
}

#[test]
fn without_reordering_no_packet_overtakes() {
    let kept = noisy(NoiseKind::rfc8868(), false, 1_000_000);
    assert!(kept.windows(2).all(|pair| pair[0].arrives <= pair[1].arrives));
    let free = noisy(NoiseKind::rfc8868(), true, 1_000_000);
    let overtaken = free.windows(2).filter(|pair| pair[0].arrives > pair[1].arrives).count();
    assert!(overtaken > 10_000, "{overtaken}");
    // The same draws: keeping the order only ever adds.
    assert!(
        kept.iter().zip(&free).all(|(kept, free)| kept.departed == free.departed && kept.noise >= free.noise)
    );
}

#[test]
fn noise_out_of_range_is_refused() {
    let key = |kind: NoiseKind| NoiseConfig::new(kind).validate().map_err(|error| error.key);
    let (negative, one) = (TimeDelta::from_nanos(-1), TimeDelta::from_millis(1));
    assert_eq!(key(NoiseKind::Uniform { max: negative }), Err("noise.max"));
    assert_eq!(key(NoiseKind::Rfc8868 { std: negative, n_std: 3.0 }), Err("noise.std"));
    assert_eq!(key(NoiseKind::Rfc8868 { std: one, n_std: f64::NAN }), Err("noise.n_std"));
    assert_eq!(key(NoiseKind::Exponential { mean: negative, max: one }), Err("noise.mean"));
}
