//! Properties of the small types every controller speaks: updates, sets of streams, parameters by name.

use paceline_cc::params::{ParamError, ParamKind, ParamSet, ParamValue};
use paceline_cc::scream::{PROFILES, Params};
use paceline_cc::{
    Allowance, Discard, Pacing, Probe, ReceiverRequest, StreamId, StreamSet, TargetChange, Update,
};
use paceline_units::{Bitrate, Bytes, TimeDelta};
use proptest::option;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn set() -> impl Strategy<Value = StreamSet> {
    prop::collection::vec(any::<u8>(), 0..6)
        .prop_map(|streams| streams.into_iter().map(StreamId).fold(StreamSet::default(), StreamSet::with))
}

fn target() -> impl Strategy<Value = TargetChange> {
    prop_oneof![
        Just(TargetChange::None),
        any::<u64>().prop_map(|rate| TargetChange::Total(Bitrate::from_bps(rate))),
        set().prop_map(TargetChange::Streams),
    ]
}

fn update() -> impl Strategy<Value = Update> {
    let allowance = option::of(prop_oneof![
        Just(Allowance::Unlimited),
        any::<u64>().prop_map(|bytes| Allowance::Bytes(Bytes::new(bytes))),
        any::<u64>().prop_map(Allowance::Packets),
    ]);
    let pacing = option::of(prop_oneof![
        Just(Pacing::Off),
        any::<u64>().prop_map(|rate| Pacing::Rate(Bitrate::from_bps(rate))),
        any::<i64>().prop_map(|gap| Pacing::Gap(TimeDelta::from_nanos(gap))),
    ]);
    let stream = || any::<u8>().prop_map(StreamId);
    let discard = option::of((stream(), any::<bool>()).prop_map(|(stream, key_frame)| Discard {
        stream,
        older_than: None,
        key_frame,
    }));
    let probe = option::of(any::<u64>().prop_map(|id| Probe { id, rate: Bitrate::MAX, bytes: Bytes::MAX }));
    let receiver = option::of(any::<u16>().prop_map(ReceiverRequest::PacketsPerReport));
    (allowance, pacing, target(), option::of(stream()), discard, probe, receiver).prop_map(
        |(allowance, pacing, target, next_stream, discard, probe, receiver)| Update {
            allowance,
            pacing,
            target,
            next_stream,
            discard,
            probe,
            receiver,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn saying_nothing_before_or_after_changes_no_answer(update in update()) {
        prop_assert_eq!(update.then(Update::none()), update);
        prop_assert_eq!(Update::none().then(update), update);
    }

    #[test]
    fn answers_join_in_any_grouping(a in update(), b in update(), c in update(), total in any::<bool>()) {
        // A controller speaks of the total or of streams.
        let one_kind = |update: Update| match update.target {
            TargetChange::Total(_) if !total => Update { target: TargetChange::None, ..update },
            TargetChange::Streams(_) if total => Update { target: TargetChange::None, ..update },
            _ => update,
        };
        let (a, b, c) = (one_kind(a), one_kind(b), one_kind(c));
        prop_assert_eq!(a.then(b).then(c), a.then(b.then(c)));
    }

    #[test]
    fn where_both_speak_the_later_holds_and_no_stream_is_forgotten(a in update(), b in update()) {
        let both = a.then(b);
        prop_assert_eq!(both.allowance, b.allowance.or(a.allowance));
        prop_assert_eq!(both.pacing, b.pacing.or(a.pacing));
        prop_assert_eq!(both.next_stream, b.next_stream.or(a.next_stream));
        prop_assert_eq!(both.discard, b.discard.or(a.discard));
        prop_assert_eq!(both.probe, b.probe.or(a.probe));
        prop_assert_eq!(both.receiver, b.receiver.or(a.receiver));
        match (a.target, b.target, both.target) {
            (TargetChange::Streams(one), TargetChange::Streams(other), TargetChange::Streams(both)) => {
                for stream in (0..=u8::MAX).map(StreamId) {
                    prop_assert_eq!(both.contains(stream), one.contains(stream) || other.contains(stream));
                }
            }
            (before, TargetChange::None, both) => prop_assert_eq!(both, before),
            (_, later, both) => prop_assert_eq!(both, later),
        }
    }

    #[test]
    fn a_set_holds_what_was_put_in_up_to_its_capacity(streams in prop::collection::vec(any::<u8>(), 0..100)) {
        let set = streams.iter().copied().map(StreamId).fold(StreamSet::default(), StreamSet::with);
        let model: BTreeSet<u8> = streams.into_iter().filter(|stream| *stream < StreamSet::CAPACITY).collect();
        for stream in 0..=u8::MAX {
            prop_assert_eq!(set.contains(StreamId(stream)), model.contains(&stream));
        }
    }

    /// Whatever is set can be read back, and nothing else has changed; what is refused changes nothing.
    #[test]
    fn every_parameter_reads_back_what_was_set(part in 0.0f64..=1.0, outside in any::<bool>(), profile in 0..PROFILES.len()) {
        let before = Params::profile(PROFILES[profile].0).expect("a known profile");
        for spec in before.specs() {
            let (low, high) = (spec.range.0, spec.range.1.min(1e12));
            let wanted = if outside { spec.range.0 - 1.0 - part } else { low + part * (high - low) };
            let Some(value) = value(spec.kind, wanted) else { continue };
            let mut params = before.clone();
            let fits = (spec.range.0..=spec.range.1).contains(&value.as_f64());
            match params.set(spec.name, value) {
                Ok(()) => {
                    prop_assert!(fits, "{} took {value:?}", spec.name);
                    prop_assert_eq!(params.value(spec.name), Some(value), "{}", spec.name);
                }
                Err(error) => {
                    prop_assert!(!fits, "{} refused {value:?}", spec.name);
                    prop_assert_eq!(error, ParamError::Range { range: spec.range });
                }
            }
            let others = before.specs().iter().filter(|other| other.name != spec.name || !fits);
            for other in others {
                prop_assert_eq!(params.value(other.name), before.value(other.name), "{} changed {}", spec.name, other.name);
            }
        }
    }
}

/// A value of a kind from its number in base units; absent where the kind cannot hold it.
fn value(kind: ParamKind, number: f64) -> Option<ParamValue> {
    let whole = (number >= 0.0).then_some(number as u64);
    Some(match kind {
        ParamKind::Time => ParamValue::Time(TimeDelta::from_secs_f64(number)),
        ParamKind::Rate => ParamValue::Rate(Bitrate::from_bps(whole?)),
        ParamKind::Ramp => ParamValue::Ramp(Bitrate::from_bps(whole?)),
        ParamKind::Bytes => ParamValue::Bytes(Bytes::new(whole?)),
        ParamKind::Ratio => ParamValue::Ratio(number),
        ParamKind::Count => ParamValue::Count(whole?),
        ParamKind::Flag => ParamValue::Flag(number >= 0.5),
    })
}

#[test]
fn names_are_unique_and_every_parameter_says_where_it_comes_from() {
    let specs = Params::all();
    let names: BTreeSet<_> = specs.iter().map(|spec| spec.name).collect();
    assert_eq!(names.len(), specs.len());
    for spec in specs {
        assert!(!spec.source.is_empty() && !spec.help.is_empty(), "{}", spec.name);
        assert!(spec.range.0 <= spec.range.1, "{}", spec.name);
    }
}
