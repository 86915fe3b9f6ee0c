//! Random links and arrivals for the property tests.

use super::*;
use crate::{
    DelayChanges, DelayOverTime, DropTailConfig, DuplicateConfig, FactorChanges, FactorOverTime,
    PolicerAction, PolicerConfig, ShaperConfig, Trace,
};
use paceline_units::param::{self, Kind, Kinds, ParamSet, Spec, Value};
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

/// One of a family, of any kind with any values of its parameters that are not absurd.
pub(super) fn any_of<K: Kinds + std::fmt::Debug>() -> impl Strategy<Value = K> {
    let values = prop::collection::vec((any::<prop::sample::Index>(), 0.0f64..1.0), 4..12);
    (prop::sample::select(K::KINDS), values).prop_map(|(kind, values)| {
        let mut config = K::of(kind).expect("there is one");
        vary(&mut config, &values, |config| config.check().is_ok());
        config
    })
}

/// Sets parameters of `params`, each to the given part of its usual range, as far as that is `sound`.
pub(super) fn vary<P: ParamSet>(
    params: &mut P,
    values: &[(prop::sample::Index, f64)],
    sound: impl Fn(&P) -> bool,
) {
    let specs = params.specs();
    for (index, part) in values.iter().filter(|_| !specs.is_empty()) {
        let (before, spec) = (params.clone(), index.get(specs));
        let value = value(spec, *part);
        assert_eq!(params.set(spec.name, value), Ok(()));
        if !sound(params) {
            *params = before;
        }
    }
}

/// A value of a parameter: any of its range, up to what is usual.
fn value(spec: &Spec, part: f64) -> Value {
    let up_to = |usual: f64| spec.range.0 + part * (spec.range.1.min(usual) - spec.range.0);
    match spec.kind {
        Kind::Time => Value::Time(TimeDelta::from_secs_f64(up_to(0.05)).max(TimeDelta::from_micros(1))),
        Kind::Size => Value::Size(Bytes::new(up_to(20_000.0) as u64)),
        Kind::Ratio => Value::Ratio(up_to(10.0)),
        Kind::Count => Value::Count(up_to(2000.0) as u64),
        Kind::Flag => Value::Flag(part > 0.5),
        Kind::Name(names) => Value::Name(names[(part * names.len() as f64) as usize]),
        Kind::List(of) => {
            Value::List([0.3, 0.6, 1.0].map(|more| value(&Spec { kind: *of, ..*spec }, part * more)).into())
        }
        Kind::Or(one, _) => {
            let [first, then] = [part, part / 2.0].map(|part| value(&Spec { kind: *one, ..*spec }, part));
            let point = |millis, value| Value::List(vec![Value::Time(TimeDelta::from_millis(millis)), value]);
            match (part * 10.0) as u64 % 2 {
                0 => first,
                _ => param::table([("steps", Value::List(vec![point(0, first), point(50, then)]))]),
            }
        }
        other => panic!("{}: no values of {other:?} yet", spec.name),
    }
}

/// A policer that drops: packets that one marks do not count as the link's.
fn policer() -> impl Strategy<Value = PolicerConfig> {
    (1_000u64..50_000_000, 1u64..100_000).prop_map(|(rate, burst)| PolicerConfig {
        rate: Bitrate::from_bps(rate),
        burst: Bytes::new(burst),
        action: PolicerAction::Drop,
    })
}

/// A shaper with a limit of any kind.
fn shaper() -> impl Strategy<Value = ShaperConfig> {
    (10_000u64..200_000_000, 1u64..100_000, 0u8..3, 1u64..60).prop_map(|(rate, burst, kind, most)| {
        ShaperConfig {
            rate: Bitrate::from_bps(rate),
            burst: Bytes::new(burst),
            limit: (kind == 0).then(|| TimeDelta::from_millis(most as i64)),
            packets: (kind == 1).then_some(most),
            bytes: (kind == 2).then(|| Bytes::new(most * 1000)),
        }
    })
}

/// Copies at once or later.
fn duplicate() -> impl Strategy<Value = DuplicateConfig> {
    (0.0f64..1.0, prop::option::of(0i64..50_000_000)).prop_map(|(ratio, delay)| DuplicateConfig {
        ratio: ratio.into(),
        delay: TimeDelta::from_nanos(delay.unwrap_or(0)),
    })
}

/// A delay that lasts, or changes at once or evenly.
fn delay() -> impl Strategy<Value = DelayOverTime> {
    let nanos = || 0i64..50_000_000;
    (nanos(), nanos(), 1i64..100_000_000, 0..4).prop_map(|(first, then, at, kind)| {
        let [first, then, at] = [first, then, at].map(TimeDelta::from_nanos);
        let points = vec![(TimeDelta::ZERO, first), (at, then)];
        let changes = match kind {
            0 => DelayChanges { steps: points, ..DelayChanges::default() },
            1 => DelayChanges { ramp: points, ..DelayChanges::default() },
            _ => return first.into(),
        };
        DelayOverTime::Changes(alloc::boxed::Box::new(changes))
    })
}

/// Drop-tail with a limit that lasts, or is multiplied by a factor that changes.
fn droptail() -> impl Strategy<Value = QueueConfig> {
    (limit(), 0.0f64..2.0, 1i64..100_000_000, 0..6).prop_map(|(limit, then, at, kind)| {
        let points = vec![(TimeDelta::ZERO, 1.0), (TimeDelta::from_nanos(at), then)];
        let changes = match kind {
            0 => FactorChanges { steps: points, ..FactorChanges::default() },
            1 => FactorChanges { ramp: points, ..FactorChanges::default() },
            _ => return QueueConfig::droptail(limit),
        };
        let scale = Some(FactorOverTime::Changes(alloc::boxed::Box::new(changes)));
        QueueConfig::DropTail(DropTailConfig { limit, scale })
    })
}

/// A valid drop-tail link of any kind.
pub(super) fn config() -> impl Strategy<Value = LinkConfig> {
    let downs = prop::collection::vec((0u64..100_000_000, 1u64..20_000_000), 0..4);
    let parts = (
        process(),
        droptail(),
        prop::option::of(any_of()),
        prop::option::of(any_of()),
        prop::collection::vec(any_of(), 0..4),
        prop::option::of(policer()),
        prop::option::of(shaper()),
        (prop::option::weighted(0.3, 0.0f64..0.5), prop::option::weighted(0.3, duplicate())),
    );
    (parts, downs, delay(), any::<bool>(), 0u64..60).prop_map(
        |(
            (rate, queue, mark, loss, noise, policer, shaper, (corrupt, duplicate)),
            downs,
            delay,
            overtake,
            overhead,
        )| {
            let down = downs
                .into_iter()
                .map(|(from, length)| (Time::from_nanos(from), Time::from_nanos(from + length)));
            LinkConfig {
                rate,
                delay,
                overtake,
                queue,
                mark,
                loss,
                policer,
                shaper,
                duplicate,
                corrupt: corrupt.unwrap_or_default().into(),
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
