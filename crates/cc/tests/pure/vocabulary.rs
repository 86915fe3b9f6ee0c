//! Properties of the small types every controller speaks: updates, sets of streams, parameters by name.

use paceline_cc::{
    Allowance, ControllerParams, CouplingParams, Discard, Pacing, Probe, ReceiverRequest, StreamId,
    StreamSet, TargetChange, Update,
};
use paceline_units::param::{Kind, ParamSet, Value};
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
        any::<[u64; 3]>().prop_map(|[rate, mean, at_once]| Pacing::Burst {
            rate: Bitrate::from_bps(rate),
            mean: Bitrate::from_bps(mean),
            at_once: TimeDelta::from_nanos((at_once >> 1) as i64),
        }),
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

    /// Whatever is set can be read back, and nothing else has changed; what is refused changes nothing. Of all controllers.
    #[test]
    fn every_parameter_reads_back_what_was_set(part in 0.0f64..=1.0, outside in any::<bool>()) {
        for (before, profile) in ControllerParams::all() {
            for spec in before.specs() {
                let (low, high) = (spec.range.0.max(0.0), spec.range.1.min(1e12));
                let wanted = if outside { spec.range.0 - 1.0 - part } else { low + part * (high - low) };
                let Some(value) = value(spec.kind, wanted) else { continue };
                let mut params = before.clone();
                let name = format!("{} {profile} {}", before.kind(), spec.name);
                let fits = value.number().is_none_or(|number| (spec.range.0..=spec.range.1).contains(&number));
                match params.set(spec.name, value.clone()) {
                    Ok(()) => {
                        prop_assert!(fits, "{name} took {value:?}");
                        prop_assert_eq!(params.value(spec.name), Some(value), "{}", name);
                    }
                    Err(error) => {
                        prop_assert!(!fits, "{name} refused {value:?}");
                        prop_assert_eq!((error.name, error.expected.into_owned()), (spec.name.to_string(), spec.expected()));
                    }
                }
                let others = before.specs().iter().filter(|other| other.name != spec.name || !fits);
                for other in others {
                    prop_assert_eq!(params.value(other.name), before.value(other.name), "{} changed {}", name, other.name);
                }
            }
        }
    }
}

/// A value of a kind from its number in base units; absent where the kind cannot hold it.
fn value(kind: Kind, number: f64) -> Option<Value> {
    let whole = (number >= 0.0).then_some(number as u64);
    Some(match kind {
        Kind::Time => Value::Time(TimeDelta::from_secs_f64(number)),
        Kind::Ratio => Value::Ratio(number),
        Kind::Flag => Value::Flag(number >= 0.5),
        Kind::Name(names) => Value::Name(names[whole? as usize % names.len()]),
        kind => kind.of_base(whole?),
    })
}

#[test]
fn names_are_unique_and_every_parameter_says_where_it_comes_from() {
    for (params, profile) in ControllerParams::all() {
        let name = format!("{} {profile}", params.kind());
        let specs = params.specs();
        let names: BTreeSet<_> = specs.iter().map(|spec| spec.name).collect();
        assert_eq!(names.len(), specs.len(), "{name}");
        for spec in specs {
            assert!(!spec.source.is_empty() && !spec.help.is_empty(), "{name}: {}", spec.name);
            assert!(spec.range.0 <= spec.range.1, "{name}: {}", spec.name);
            // A parameter without a default says what happens without one.
            assert!(params.value(spec.name).is_some() || !spec.without.is_empty(), "{name}: {}", spec.name);
        }
    }
}

#[test]
fn every_profile_lies_within_the_ranges_and_fits_itself() {
    assert!(ControllerParams::all().count() > ControllerParams::KINDS.len());
    for (params, profile) in ControllerParams::all() {
        params.check().unwrap_or_else(|error| panic!("{} {profile}: {error}", params.kind()));
        assert!(ControllerParams::with_profile(params.kind(), Some("cpp-v1")).is_none());
        let (usual, _) = ControllerParams::with_profile(params.kind(), None).expect("it is there");
        assert_eq!(ControllerParams::of(params.kind()), Some(usual), "{}", params.kind());
    }
    assert!(ControllerParams::with_profile("skream", None).is_none());
    for (params, profile) in CouplingParams::all() {
        params.check().unwrap_or_else(|error| panic!("{} {profile}: {error}", params.kind()));
    }
}

#[test]
fn an_allowance_admits_as_many_packets_as_fit() {
    let size = Bytes::new(1000);
    for (allowance, packets) in [
        (Allowance::Unlimited, u64::MAX),
        (Allowance::Bytes(Bytes::new(999)), 0),
        (Allowance::Bytes(Bytes::new(2999)), 2),
        (Allowance::Packets(0), 0),
        (Allowance::Packets(3), 3),
    ] {
        assert_eq!((allowance.packets(size), allowance.admits(size)), (packets, packets > 0));
    }
}

/// Contradictions between parameters of a controller are found: each is set so that it breaks one rule.
#[test]
fn contradictions_are_found() {
    let ms = |millis| Value::Time(TimeDelta::from_millis(millis));
    let cases = [
        ("scream", vec![("qdelay_target_hi", ms(50))], "qdelay_target_hi"),
        ("scream", vec![("target_bitrate_max", Value::Rate(Bitrate::from_kbps(500)))], "target_bitrate_max"),
        ("scream", vec![("target_bitrate_min", Value::Rate(Bitrate::from_mbps(2)))], "target_bitrate_start"),
        ("scream", vec![("reorder_window_max", ms(1))], "reorder_window_max"),
        ("rap", vec![("ipg_min", ms(900)), ("ipg_max", ms(100))], "ipg_max"),
        ("ccid2", vec![("ack_ratio", Value::Count(1)), ("ack_ratio_min", Value::Count(2))], "ack_ratio"),
        (
            "ccid2",
            vec![("ack_ratio_always", Value::Count(1)), ("ack_ratio_min", Value::Count(2))],
            "ack_ratio_always",
        ),
        ("ccid3", vec![("n", Value::Count(28))], "n"),
        ("vegas", vec![("alpha", Value::Ratio(5.0))], "beta"),
        ("ledbat", vec![("gain_down", Value::Ratio(0.5))], "gain_down"),
    ];
    for (kind, sets, name) in cases {
        let mut params = ControllerParams::of(kind).expect(kind);
        for (name, value) in sets {
            params.set(name, value).expect(name);
        }
        assert_eq!(params.check().map_err(|error| error.name), Err(name.to_string()), "{kind}");
    }
}

#[test]
fn what_ccid3_has_of_tfrc_and_of_its_own_is_one_list() {
    let mut params = ControllerParams::of("ccid3").expect("it is there");
    for name in ["feedback_per_rtt", "nothing"] {
        let error = params.set(name, Value::Count(1)).expect_err(name);
        assert!(error.expected.contains("t_mbi") && error.expected.contains("counter_steps"), "{error}");
        assert!(!error.expected.contains("feedback_per_rtt") && params.value(name).is_none());
    }
}

/// Every parameter of every profile, written and read again, makes the same controller; and what is wrong is said by name.
#[test]
fn a_controller_is_configured_by_text_alone() {
    use paceline_cc::{AnyController, ControllerParams, FlowSetup};
    use paceline_units::param::ParamSet;
    for (params, profile) in ControllerParams::all() {
        let values =
            params.specs().iter().filter_map(|spec| Some((spec.name, params.value(spec.name)?.to_string())));
        let texts: Vec<_> = values.collect();
        let settings = texts.iter().map(|(name, text)| (*name, text.as_str()));
        // An absent value has no text: only the profile says so.
        let made = AnyController::configured(params.kind(), Some(profile), settings).expect(profile);
        let expected = AnyController::new(&params, &FlowSetup::default()).expect(profile);
        assert_eq!(format!("{made:?}"), format!("{expected:?}"), "{} {profile}", params.kind());
    }
    let wrong = |kind, profile, settings: &[(&str, &str)], message: &str| {
        let error = AnyController::configured(kind, profile, settings.iter().copied()).expect_err(message);
        assert!(error.to_string().starts_with(message), "{error}");
    };
    wrong("skream", None, &[], "controller: found skream, expected one of scream, scream-v2, tfrc");
    wrong("scream", Some("rfc"), &[], "profile: found rfc, expected one of robust, ");
    wrong(
        "fixed",
        None,
        &[("pace", "1")],
        "pace: found an unknown parameter, expected one of the parameters rate, media_part, largest",
    );
    wrong("fixed", None, &[("rate", "1")], "rate: found 1, expected a rate from 1kbps to 1000Gbps");
    wrong(
        "fixed",
        None,
        &[("priorities", "[]")],
        "priorities: found [], expected one for each stream, such as [1]",
    );
    wrong(
        "fixed",
        None,
        &[("priorities", "[1, x]")],
        "priorities: found [1, x], expected a list: a number from 0.001",
    );
    wrong(
        "fixed",
        None,
        &[("largest_packet", "-5B")],
        "largest_packet: found -5B, expected a size from 1B to",
    );
    let limits = [("target_bitrate_max", "200kbps"), ("target_bitrate_min", "100kbps")];
    AnyController::configured("scream", None, limits).expect("the first target follows the limits");
    let all = [("priorities", "[2, 1]"), ("l4s", "true"), ("largest_packet", "1000B"), ("max_window", "inf")];
    AnyController::configured("reno", None, all).expect("every word of the set-up");
}
