//! Loss models against their parameters.

use super::*;
use crate::{GilbertElliottConfig, LossConfig};
use paceline_units::param::ParamSet;

/// Which of `packets` are lost.
fn lost(loss: LossConfig, packets: u64, name: &str) -> Vec<bool> {
    let mut config = unlimited(mbps(1000));
    config.loss = Some(loss);
    let mut link = Link::new(config, 3, name).expect("a valid link");
    (0..packets)
        .map(|id| {
            let packet = Packet { id, size: 100, ecn: Ecn::NotEct };
            link.offer(Time::from_nanos(id * 1_000_000), packet, &mut |_| {}) == Offered::Lost
        })
        .collect()
}

fn ratio(lost: &[bool]) -> f64 {
    lost.iter().filter(|&&lost| lost).count() as f64 / lost.len() as f64
}

#[test]
fn bernoulli_loses_its_ratio() {
    let found = ratio(&lost(LossConfig::bernoulli(0.01), 400_000, "a"));
    assert!((found / 0.01 - 1.0).abs() < 0.05, "{found}");
    assert_eq!(ratio(&lost(LossConfig::bernoulli(0.0), 1000, "a")), 0.0);
    assert_eq!(ratio(&lost(LossConfig::bernoulli(1.0), 1000, "a")), 1.0);
}

#[test]
fn gilbert_elliott_has_its_ratio_and_burst_lengths() {
    let (p, r) = (0.01, 0.2);
    let lost = lost(LossConfig::gilbert(p, r), 1_000_000, "a");
    let (found, expected) = (ratio(&lost), p / (p + r));
    assert!((found / expected - 1.0).abs() < 0.05, "{found}, expected {expected}");
    let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
    let length = found * lost.len() as f64 / bursts;
    assert!((length * r - 1.0).abs() < 0.05, "bursts of {length} packets, expected {}", 1.0 / r);
    // Geometric: a burst goes on with probability 1 - r.
    let ones = lost.windows(3).filter(|three| !three[0] && three[1] && !three[2]).count() as f64;
    assert!((ones / bursts / r - 1.0).abs() < 0.05, "{ones} of {bursts} bursts are one packet long");
}

#[test]
fn gilbert_elliott_loses_in_both_states() {
    let model = LossConfig::GilbertElliott(GilbertElliottConfig {
        p: 0.1,
        r: 0.3,
        loss_good: 0.02,
        loss_bad: 0.5.into(),
    });
    let (found, expected) = (ratio(&lost(model, 1_000_000, "a")), 0.75 * 0.02 + 0.25 * 0.5);
    assert!((found / expected - 1.0).abs() < 0.02, "{found}, expected {expected}");
}

#[test]
fn each_link_has_its_own_losses_and_always_the_same() {
    let half = LossConfig::bernoulli(0.5);
    assert_eq!(lost(half.clone(), 200, "a"), lost(half.clone(), 200, "a"));
    assert_ne!(lost(half.clone(), 200, "a"), lost(half, 200, "b"));
}

#[test]
fn what_is_lost_never_reaches_the_queue() {
    let mut config = unlimited(mbps(10));
    config.loss = Some(LossConfig::bernoulli(0.3));
    let outcome = run(config, &[(0, 1250); 1000], Ecn::NotEct, millis(2000));
    assert_eq!(outcome.counters.offered, 1000);
    assert_eq!(outcome.counters.departed + outcome.counters.lost, outcome.counters.offered);
    assert_eq!(outcome.departures.last().map(|last| last.departed), Some(millis(outcome.counters.departed)));
}

#[test]
fn a_loss_out_of_range_is_refused() {
    let name = |loss: LossConfig| loss.check().map_err(|error| error.name).expect_err("it is out of range");
    assert_eq!(name(LossConfig::bernoulli(1.1)), "ratio");
    assert_eq!(name(LossConfig::bernoulli(f64::NAN)), "ratio");
    assert_eq!(name(LossConfig::gilbert(-0.1, 0.0)), "p");
    assert_eq!(name(LossConfig::gilbert(0.0, 2.0)), "r");
}
