//! Policers, damage, and losses and noises that change.

use super::drive::{Log, drive, packet, steady};
use super::*;
use crate::{
    BernoulliConfig, FactorChanges, FactorOverTime, LossConfig, NoiseConfig, PolicerAction, PolicerConfig,
    RatioChanges, RatioOverTime, UniformNoise,
};
use alloc::boxed::Box;

fn policer(mbps: u64, burst: u64, action: PolicerAction) -> LinkConfig {
    let policer = PolicerConfig { rate: Bitrate::from_mbps(mbps), burst: Bytes::new(burst), action };
    LinkConfig { policer: Some(policer), ..unlimited(self::mbps(100)) }
}

fn ratios(steps: &[(i64, f64)]) -> RatioOverTime {
    let steps = steps.iter().map(|&(at, ratio)| (TimeDelta::from_millis(at), ratio)).collect();
    RatioOverTime::Changes(Box::new(RatioChanges { steps, ..RatioChanges::default() }))
}

/// Packets of 1000 B at 10 Mbit/s for a second.
fn stream(config: LinkConfig, ecn: Ecn) -> Log {
    drive(config, steady(0, ecn, 1000, 10.0, 0, 1000), millis(5_000))
}

/// Of 1250 packets in a second those of the burst pass, and as many as 4 Mbit/s are: 20 and 500.
#[test]
fn a_policer_lets_its_rate_and_a_burst_pass() {
    let log = stream(policer(4, 20_000, PolicerAction::Drop), Ecn::NotEct);
    let LinkCounters { offered, dropped, policed, departed, lost, .. } = log.counters;
    assert_eq!((offered, lost, dropped), (1250, 0, policed));
    assert!((519..=520).contains(&departed), "{departed}");
    // As fast as the bucket fills, everything passes.
    assert_eq!(stream(policer(10, 1_000, PolicerAction::Drop), Ecn::NotEct).counters.policed, 0);
    // A packet larger than the bucket never does.
    assert_eq!(stream(policer(10, 999, PolicerAction::Drop), Ecn::NotEct).counters.policed, 1250);
    // After a silence there is a burst again, no longer than the first.
    let twice = [0, 10_000].map(|from| steady(0, Ecn::NotEct, 1000, 1000.0, from, from + 1));
    let log = drive(policer(1, 5_000, PolicerAction::Drop), twice.into_iter().flatten(), millis(20_000));
    assert_eq!(log.counters.departed, 10);
}

#[test]
fn a_policer_marks_what_can_be_marked() {
    let log = stream(policer(4, 20_000, PolicerAction::Mark), Ecn::Ect1);
    let marked = log.departures.iter().filter(|departure| departure.packet.ecn.is_ce()).count() as u64;
    assert_eq!((log.counters.dropped, log.counters.policed, log.departures.len()), (0, marked, 1250));
    assert!((730..=731).contains(&marked), "{marked}");
    let log = stream(policer(4, 20_000, PolicerAction::Mark), Ecn::NotEct);
    assert_eq!(log.counters.dropped, log.counters.policed);
}

#[test]
fn damaged_packets_take_their_time_and_are_counted_as_they_leave() {
    let config = LinkConfig { corrupt: ratios(&[(0, 0.0), (500, 0.5)]), ..unlimited(mbps(20)) };
    let log = stream(config.clone(), Ecn::NotEct);
    let damaged = |from, to| {
        let there = log.departures.iter().filter(|one| (millis(from)..millis(to)).contains(&one.departed));
        there.filter(|one| one.arrival == crate::Arrival::Damaged).count() as u64
    };
    assert_eq!((damaged(0, 500), log.counters.departed), (0, 1250));
    assert!((280..350).contains(&damaged(500, 5_000)), "{}", damaged(500, 5_000));
    assert_eq!(log.counters.corrupted, damaged(500, 5_000));
    // Drop-tail tells of departures that lie ahead: they do not count yet.
    let early = drive(config, steady(0, Ecn::NotEct, 1000, 80.0, 400, 500), millis(520));
    let counted = early
        .departures
        .iter()
        .filter(|one| one.arrival == crate::Arrival::Damaged && one.departed <= millis(520))
        .count();
    assert_eq!(early.counters.corrupted, counted as u64);
    assert!(counted > 5, "{counted}");
}

#[test]
fn losses_change_over_time() {
    let ratio = ratios(&[(0, 0.0), (300, 1.0), (600, 0.0)]);
    let config =
        LinkConfig { loss: Some(LossConfig::Bernoulli(BernoulliConfig { ratio })), ..unlimited(mbps(20)) };
    let log = stream(config, Ecn::NotEct);
    // 1250 packets a second, of which those of 300 ms are lost.
    assert_eq!((log.counters.lost, log.departures.len()), (375, 875));
}

#[test]
fn noise_grows_with_its_factor() {
    let uniform = UniformNoise { max: TimeDelta::from_millis(10), ..UniformNoise::default() };
    let with = |scale| {
        let noise = NoiseConfig::Uniform(UniformNoise { scale, ..uniform.clone() });
        let config = LinkConfig { noise: vec![noise], ..unlimited(mbps(1000)) };
        let arrivals = (0..1000).map(|n| (n * 20_000_000, packet(n, 0, 1, Ecn::NotEct)));
        let log = drive(config, arrivals, Time::MAX);
        log.departures.iter().map(|one| one.noise.as_millis_f64()).collect::<Vec<_>>()
    };
    let usual = with(1.0.into());
    let points = vec![(TimeDelta::ZERO, 0.0), (TimeDelta::from_secs(20), 2.0)];
    let ramp = FactorOverTime::Changes(Box::new(FactorChanges { ramp: points, ..FactorChanges::default() }));
    for (n, (usual, ramped)) in usual.iter().zip(with(ramp)).enumerate() {
        let factor = n as f64 / 500.0;
        assert!((ramped - usual * factor).abs() < 1e-4, "packet {n}: {ramped} and {usual}");
    }
}
