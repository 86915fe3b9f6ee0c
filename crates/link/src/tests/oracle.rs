//! Predicted drop-tail against real departures, and what must hold for any link.

use super::arrivals::{arrivals, config};
use super::*;
use crate::DelayOverTime;
use paceline_units::param::{ParamSet, Value};
use proptest::prelude::*;

/// The same link with departures as events.
fn with_real_departures(mut config: LinkConfig) -> LinkConfig {
    if let QueueConfig::DropTail(crate::DropTailConfig { limit, scale }) = config.queue {
        config.queue = QueueConfig::Fifo(fifo::FifoConfig { limit, scale });
    }
    config
}

/// Offers with the events driven as an engine would: up to each arrival, with samples in between.
fn run_stepwise(
    config: LinkConfig,
    arrivals: &[Arrival],
    end: Time,
) -> (Outcome, Vec<(LinkCounters, Service)>) {
    let mut link = Link::new(config, 1, "test").expect("a valid link");
    let (mut departures, mut offered, mut samples) = (Vec::new(), Vec::new(), Vec::new());
    for (id, &(time, size)) in arrivals.iter().enumerate() {
        let now = Time::from_nanos(time);
        while let Some(next) = link.next_event().filter(|next| *next < now) {
            link.advance(next + TimeDelta::from_nanos(1), &mut |departure| departures.push(departure));
        }
        if id % 3 == 0 {
            link.settle(now);
            samples.push((link.counters(), link.service(now)));
        }
        let packet = Packet { id: id as u64, size, ecn: Ecn::Ect1 };
        offered.push(link.offer(now, packet, &mut |departure| departures.push(departure)));
    }
    link.settle(end);
    let counters = link.counters();
    samples.push((counters, link.service(end)));
    link.advance(Time::MAX, &mut |departure| departures.push(departure));
    let discarded = std::iter::from_fn(|| link.take_dropped()).collect();
    (Outcome { offered, departures, discarded, counters }, samples)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn predicted_drop_tail_is_drop_tail_to_the_bit(config in config(), arrivals in arrivals(), more in 0u64..100_000_000) {
        let end = Time::from_nanos(arrivals.last().map_or(0, |last| last.0) + more);
        let (predicted, samples) = run_stepwise(config.clone(), &arrivals, end);
        let (real, real_samples) = run_stepwise(with_real_departures(config), &arrivals, end);
        prop_assert_eq!(predicted, real);
        for pair in samples.windows(2) {
            let [(_, before), (_, now)] = pair else { continue };
            let used = now.utilisation_since(before);
            prop_assert!(now.served >= before.served && used.is_none_or(|used| used <= 1.0), "{:?}", used);
        }
        prop_assert_eq!(samples, real_samples);
    }

    #[test]
    fn counters_agree_with_what_was_seen(config in config(), arrivals in arrivals(), more in 0u64..100_000_000) {
        let end = Time::from_nanos(arrivals.last().map_or(0, |last| last.0) + more);
        let outcome = run(config, &arrivals, Ecn::Ect1, end);
        let counters = outcome.counters;
        prop_assert!(is_conserved(&counters));
        let count = |kind| outcome.offered.iter().filter(|&&offered| offered == kind).count() as u64;
        prop_assert_eq!(counters.lost, count(Offered::Lost));
        prop_assert_eq!(counters.dropped, count(Offered::Dropped) + outcome.discarded.len() as u64);
        prop_assert_eq!(counters.offered, arrivals.len() as u64);
        let gone = || outcome.departures.iter().filter(|departure| departure.departed <= end);
        prop_assert_eq!(counters.departed, gone().count() as u64);
        prop_assert_eq!(counters.marked, gone().filter(|departure| departure.packet.ecn.is_ce()).count() as u64);
    }

    #[test]
    fn departures_are_in_order_and_arrive_after_the_delay(config in config(), arrivals in arrivals()) {
        let noise_keeps_order = config.noise.iter().all(|noise| noise.value("reorder") == Some(Value::Flag(false)));
        let constant = if let DelayOverTime::Constant(delay) = config.delay { Some(delay) } else { None };
        let keeps_order = noise_keeps_order && !(config.overtake && constant.is_none());
        let least = Link::<Packet>::new(config.clone(), 1, "test").expect("a valid link").delay();
        let outcome = run(config, &arrivals, Ecn::Ect0, Time::MAX);
        for departure in &outcome.departures {
            let propagation = departure.arrives - departure.departed - departure.noise;
            prop_assert!(propagation >= least && constant.is_none_or(|delay| propagation == delay));
            prop_assert!(!departure.noise.is_negative() && !departure.wait.is_negative());
            prop_assert!(departure.departed.as_nanos() >= arrivals[departure.packet.id as usize].0);
        }
        for pair in outcome.departures.windows(2) {
            prop_assert!(pair[0].departed <= pair[1].departed && pair[0].packet.id < pair[1].packet.id);
            prop_assert!(!keeps_order || pair[0].arrives <= pair[1].arrives);
        }
    }

    #[test]
    fn no_sequence_of_calls_panics(
        config in config(), real in any::<bool>(),
        calls in prop::collection::vec((0u8..6, any::<u64>(), any::<u64>()), 0..100),
    ) {
        let config = if real { with_real_departures(config) } else { config };
        let mut link = Link::new(config, 7, "any").expect("a valid link");
        let mut sink = |_| {};
        for (call, time, size) in calls {
            // Times run backwards, too, and near both ends.
            let time = Time::from_nanos(if time % 4 == 0 { time } else { time % 1_000_000_000 });
            match call {
                0 | 1 => drop(link.offer(time, Packet { id: 0, size: size % 3000, ecn: Ecn::Ect1 }, &mut sink)),
                2 => drop(link.offer(time, Packet { id: 0, size, ecn: Ecn::Ce }, &mut sink)),
                3 => link.advance(time, &mut sink),
                4 => link.settle(time),
                _ => link.reset_max(),
            }
            let _ = (link.counters(), link.next_event(), link.rate_at(time), link.service(time));
            prop_assert!(is_conserved(&link.counters()));
        }
    }
}
