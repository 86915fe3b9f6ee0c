//! Random links and arrivals for the property tests.

use super::*;
use crate::{LossConfig, MarkConfig, NoiseConfig, NoiseKind, Trace};
use proptest::prelude::*;

/// Rates from crawling to absurd, with zeros.
fn rate() -> impl Strategy<Value = Bitrate> {
    prop_oneof![
        1 => Just(0u64),
        2 => 1u64..1000,
        6 => 100_000u64..1_000_000_000,
        2 => 1_000_000_000u64..1_000_000_000_000_000,
    ]
    .prop_map(Bitrate::from_bps)
}

/// Constant, steps, traces.
pub(super) fn process() -> impl Strategy<Value = RateProcess> {
    let steps =
        (rate(), prop::collection::vec((1u64..20_000_000, rate()), 0..6)).prop_map(|(first, more)| {
            let mut steps = vec![(Time::ZERO, first)];
            for (gap, rate) in more {
                let last = steps.last().map_or(Time::ZERO, |step| step.0);
                steps.push((last + TimeDelta::from_nanos(gap as i64), rate));
            }
            RateProcess::Steps(steps)
        });
    let segments = prop::collection::vec((1i64..5_000_000, rate()), 1..12);
    let trace = (segments, 0i64..30_000_000, 0.25f64..1.0, any::<bool>()).prop_map(
        |(segments, offset, scale, repeat)| {
            let segments = segments.into_iter().map(|(nanos, rate)| (TimeDelta::from_nanos(nanos), rate));
            // Something is served, so that the trace is one.
            let something = [(TimeDelta::from_micros(100), Bitrate::from_mbps(1))];
            let trace = Trace::from_segments(segments.chain(something)).expect("a trace");
            let offset = if repeat { offset } else { offset % trace.length().as_nanos() };
            RateProcess::Trace { trace, offset: TimeDelta::from_nanos(offset), scale, repeat }
        },
    );
    prop_oneof![rate().prop_map(RateProcess::Constant), steps, trace]
}

pub(super) fn limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (0i64..50_000_000).prop_map(|nanos| QueueLimit::Time(TimeDelta::from_nanos(nanos))),
        (0u64..50).prop_map(QueueLimit::Packets),
        (0u64..60_000).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
        Just(QueueLimit::Unlimited),
    ]
}

fn mark() -> impl Strategy<Value = MarkConfig> {
    (0u8..3, 0i64..2_000_000, 0i64..5_000_000).prop_map(|(kind, at, more)| {
        let (at, more) = (TimeDelta::from_nanos(at), TimeDelta::from_nanos(more));
        match kind {
            0 => MarkConfig::Step { at },
            1 => MarkConfig::Ramp { low: at, high: at + more },
            _ => MarkConfig::Classic { at, lasting: more },
        }
    })
}

fn loss() -> impl Strategy<Value = LossConfig> {
    prop_oneof![
        (0.0f64..=1.0).prop_map(|ratio| LossConfig::Bernoulli { ratio }),
        (0.0f64..=1.0, 0.0f64..=1.0).prop_map(|(p, r)| LossConfig::gilbert(p, r)),
    ]
}

fn noise() -> impl Strategy<Value = NoiseConfig> {
    (0u8..3, 0i64..10_000_000, any::<bool>()).prop_map(|(kind, nanos, reorder)| {
        let span = TimeDelta::from_nanos(nanos);
        let kind = match kind {
            0 => NoiseKind::Rfc8868 { std: span, n_std: 3.0 },
            1 => NoiseKind::Uniform { max: span },
            _ => NoiseKind::Exponential { mean: span, max: TimeDelta::MAX },
        };
        NoiseConfig { kind, reorder }
    })
}

/// A valid drop-tail link of any kind.
pub(super) fn config() -> impl Strategy<Value = LinkConfig> {
    let downs = prop::collection::vec((0u64..100_000_000, 1u64..20_000_000), 0..4);
    let parts =
        (process(), limit(), prop::option::of(mark()), prop::option::of(loss()), prop::option::of(noise()));
    (parts, downs, 0i64..50_000_000, 0u64..60).prop_map(
        |((rate, limit, mark, loss, noise), downs, delay, overhead)| {
            let down = downs
                .into_iter()
                .map(|(from, length)| (Time::from_nanos(from), Time::from_nanos(from + length)));
            LinkConfig {
                rate,
                delay: TimeDelta::from_nanos(delay),
                queue: QueueConfig::DropTail { limit },
                mark,
                loss,
                noise,
                down: down.collect(),
                overhead: Bytes::new(overhead),
            }
        },
    )
}

/// Bursts and gaps, sizes of real packets and some extremes, times on a coarse grid now and then so that they tie.
pub(super) fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![3 => Just(0u64), 3 => 0u64..1000, 3 => 0u64..2_000_000, 2 => (0u64..40).prop_map(|n| n * 100_000)];
    let size = prop_oneof![3 => Just(1212u64), 3 => 40u64..1500, 1 => 0u64..3, 1 => Just(1250u64), 1 => 0u64..200_000];
    prop::collection::vec((gap, size), 0..200).prop_map(|steps| {
        let mut now = 0;
        steps
            .into_iter()
            .map(|(gap, size)| {
                now += gap;
                (now, size)
            })
            .collect()
    })
}
