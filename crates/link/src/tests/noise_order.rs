//! Noise never reorders packets unless it is asked to: any noises in turn, from 64 kbit/s to 10 Gbit/s.

use super::arrivals::any_of;
use super::drive::{drive, packet};
use super::*;
use crate::NoiseConfig;
use paceline_units::param::{ParamSet, Value};
use proptest::prelude::*;

fn noises(reorder: bool) -> impl Strategy<Value = Vec<NoiseConfig>> {
    prop::collection::vec(any_of::<NoiseConfig>(), 1..4).prop_map(move |mut noises| {
        for noise in &mut noises {
            noise.set("reorder", Value::Flag(reorder)).expect("every noise has it");
        }
        noises
    })
}

/// Rates evenly over their logarithm, in bit/s.
fn rate() -> impl Strategy<Value = u64> {
    (64e3f64.ln()..10e9f64.ln()).prop_map(|log| log.exp() as u64)
}

/// Packets with gaps of up to three times what a full one takes: now a queue, now none.
fn departures(rate: u64, noises: Vec<NoiseConfig>, sizes: &[(u64, f64)]) -> Vec<Departure<Packet>> {
    let mut config = unlimited(RateProcess::Constant(Bitrate::from_bps(rate)));
    (config.delay, config.noise) = (TimeDelta::from_millis(10).into(), noises);
    let mut at = 0.0;
    let arrivals: Vec<_> = (0u64..)
        .zip(sizes)
        .map(|(number, &(size, gap))| {
            at += gap * 12_000e9 / rate as f64;
            (at as u64, packet(number, 0, size, Ecn::NotEct))
        })
        .collect();
    drive(config, arrivals, Time::MAX).departures
}

fn is_ordered(departures: &[Departure<Packet>]) -> bool {
    departures
        .windows(2)
        .all(|pair| pair[0].packet.id < pair[1].packet.id && pair[0].arrives <= pair[1].arrives)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_noise_reorders_unasked(
        rate in rate(),
        noises in noises(false),
        sizes in prop::collection::vec((40u64..1500, 0.0f64..3.0), 2..150),
    ) {
        let found = departures(rate, noises, &sizes);
        prop_assert!(is_ordered(&found));
        let least = TimeDelta::from_millis(10);
        prop_assert!(found.iter().all(|one| one.noise >= TimeDelta::ZERO && one.arrives >= one.departed + least));
    }
}

/// Asked to, every distribution does: the property above would see it.
#[test]
fn noise_that_may_reorder_does() {
    let sizes = [(100, 0.01); 400];
    for kind in ["rfc8868", "uniform", "exponential", "gamma", "lognormal", "pareto"] {
        let mut noise = NoiseConfig::of(kind).expect("a kind");
        for name in ["mean", "std", "max"] {
            // A kind has some of these.
            let _ = noise.set(name, Value::Time(TimeDelta::from_millis(30)));
        }
        noise.set("reorder", Value::Flag(true)).expect("every noise has it");
        assert!(!is_ordered(&departures(10_000_000, vec![noise], &sizes)), "{kind}");
    }
}
