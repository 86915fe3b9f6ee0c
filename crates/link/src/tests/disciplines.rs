//! Properties of every discipline, whatever arrives.

use super::arrivals::{arrivals, config, vary};
use super::*;
use paceline_units::param::{ParamSet, Value};
use proptest::prelude::*;

/// A queue of any kind with any values of its parameters that are not absurd.
fn queue() -> impl Strategy<Value = QueueConfig> {
    // Of the tests' own disciplines one marks what it should not.
    let kinds: Vec<_> = QueueConfig::KINDS.iter().copied().filter(|&kind| kind != "aging").collect();
    let kinds = prop::sample::select(kinds);
    let limit = prop_oneof![
        3 => (1u64..60).prop_map(QueueLimit::Packets),
        2 => (1500u64..60_000).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
        1 => Just(QueueLimit::Unlimited),
    ];
    let values = prop::collection::vec((any::<prop::sample::Index>(), 0.0f64..1.0), 0..16);
    (kinds, limit, values).prop_map(|(kind, limit, values)| {
        let mut config = QueueConfig::of(kind).expect("there is one");
        config.set_limit(limit);
        if let (QueueConfig::Pie(pie), true) = (&mut config, values.len() % 4 > 0) {
            // The arrivals are too short for its usual patience.
            pie.max_burst = TimeDelta::ZERO;
            pie.qdelay_ref = TimeDelta::from_millis(1);
            pie.beta = 100.0;
        }
        vary(&mut config, &values, |config| config.check_at(Bitrate::MAX).is_ok());
        config
    })
}

/// Disciplines that have parameters beside their limit and its scale, without the tests' own.
fn managed() -> impl Iterator<Item = &'static str> {
    let has_some = |kind: &&str| QueueConfig::of(kind).is_some_and(|config| config.specs().len() > 1);
    QueueConfig::KINDS.iter().copied().filter(|&kind| kind != "aging").filter(has_some)
}

const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

/// The observations of a run, and its counters on the way.
#[derive(PartialEq, Debug)]
struct Shown {
    offered: Vec<Offered>,
    departures: Vec<Departure<Packet>>,
    discarded: Vec<(Time, Packet)>,
    samples: Vec<(LinkCounters, Service)>,
}

/// Offers `arrivals`; `fine` as an engine that goes from event to event and keeps the packets whose departure is known at
/// once, else from arrival to arrival.
fn shown(config: &LinkConfig, arrivals: &[Arrival], end: Time, fine: bool) -> Shown {
    let mut link = Link::new(config.clone(), 5, "any").expect("a valid link");
    let (mut departures, mut shown) = (Vec::new(), (Vec::new(), Vec::new(), Vec::new()));
    for (id, &(time, size)) in arrivals.iter().enumerate() {
        let now = Time::from_nanos(time);
        while let Some(next) = link.next_event().filter(|next| fine && *next < now) {
            link.advance(next + TimeDelta::from_nanos(1), &mut |departure| departures.push(departure));
        }
        if id % 3 == 0 {
            link.settle(now);
            shown.2.push((link.counters(), link.service(now)));
        }
        let mut packet = Packet { id: id as u64, size, ecn: ECN[(id / 3) % 4] };
        let planned = match fine {
            true if link.is_plain() => link.plan_plain(now, &mut packet),
            true => link.plan(now, &mut packet),
            false => Planned::Undecided,
        };
        shown.0.push(match planned {
            Planned::Departs(plan) => {
                departures.push(plan.of(packet));
                Offered::Accepted
            }
            Planned::Stays => Offered::Accepted,
            Planned::Dropped => Offered::Dropped,
            Planned::Lost => Offered::Lost,
            Planned::Undecided => link.offer(now, packet, &mut |departure| departures.push(departure)),
        });
        while fine && let Some(dropped) = link.take_dropped() {
            shown.1.push(dropped);
        }
    }
    link.advance(end, &mut |departure| departures.push(departure));
    // A figure given as soon as everything before a time is settled holds when that time is.
    let early = link.service(end);
    link.settle(end);
    let service = link.service(end);
    assert!(early.served >= service.served && early.capacity == service.capacity, "{early:?} {service:?}");
    shown.2.push((link.counters(), service));
    link.advance(end + TimeDelta::from_nanos(1), &mut |departure| departures.push(departure));
    shown.1.extend(std::iter::from_fn(|| link.take_dropped()));
    Shown { offered: shown.0, departures, discarded: shown.1, samples: shown.2 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn packets_are_conserved_and_counted(
        queue in queue(), config in config(), arrivals in arrivals(), more in 0u64..200_000_000,
    ) {
        let config = LinkConfig { queue, ..config };
        let end = Time::from_nanos(arrivals.last().map_or(0, |last| last.0) + more);
        if Link::<Packet>::new(config.clone(), 1, "any").is_err() {
            // A limit in time at a nominal rate of nothing.
            return Ok(());
        }
        let shown = shown(&config, &arrivals, end, false);
        for (counters, _) in &shown.samples {
            prop_assert!(is_conserved(counters), "{:?}", counters);
        }
        for pair in shown.samples.windows(2) {
            let used = pair[1].1.utilisation_since(&pair[0].1);
            prop_assert!(pair[1].1.served >= pair[0].1.served && used.is_none_or(|used| used <= 1.0), "{:?}", used);
        }
        let (last, service) = shown.samples.last().expect("one at the end");
        prop_assert!(service.served >= u128::from(last.departed_bytes.as_u64()) * 8_000_000_000);
        let under_way = last.in_service * crate::config::MAX_PACKET + last.departed_bytes.as_u64();
        prop_assert!(service.served <= u128::from(under_way) * 8_000_000_000);
        let count = |kind| shown.offered.iter().filter(|&&offered| offered == kind).count() as u64;
        prop_assert_eq!(last.lost, count(Offered::Lost));
        prop_assert_eq!(last.dropped, count(Offered::Dropped) + shown.discarded.len() as u64);
        prop_assert_eq!(last.offered, shown.offered.len() as u64);
        let gone = || shown.departures.iter().filter(|departure| departure.departed <= end);
        prop_assert_eq!(last.departed, gone().count() as u64);
        let marked = gone().filter(|departure| {
            departure.packet.ecn.is_ce() && ECN[(departure.packet.id as usize / 3) % 4] != Ecn::Ce
        });
        prop_assert_eq!(last.marked, marked.count() as u64);
        let mut left: Vec<u64> = shown.departures.iter().map(|departure| departure.packet.id).collect();
        left.extend(shown.discarded.iter().map(|(_, packet)| packet.id));
        let all = left.len();
        left.sort_unstable();
        left.dedup();
        prop_assert_eq!(left.len(), all, "nothing leaves twice");
        for departure in &shown.departures {
            let marked_not_ect = departure.packet.ecn.is_ce() && ECN[(departure.packet.id as usize / 3) % 4] == Ecn::NotEct;
            prop_assert!(!marked_not_ect && !departure.wait.is_negative());
        }
    }

    #[test]
    fn the_pace_of_the_caller_changes_nothing(queue in queue(), config in config(), arrivals in arrivals()) {
        let config = LinkConfig { queue, ..config };
        let end = Time::from_nanos(arrivals.last().map_or(0, |last| last.0) + 50_000_000);
        if Link::<Packet>::new(config.clone(), 1, "any").is_ok() {
            prop_assert_eq!(shown(&config, &arrivals, end, true), shown(&config, &arrivals, end, false));
        }
    }

    #[test]
    fn no_calls_panic(
        queue in queue(), calls in prop::collection::vec((0u8..6, any::<u64>(), any::<u64>()), 0..100),
    ) {
        let config = LinkConfig::new(mbps(8), TimeDelta::ZERO, queue);
        let Ok(mut link) = Link::new(config, 7, "any") else { return Ok(()) };
        let mut sink = |_| {};
        for (call, time, size) in calls {
            let time = Time::from_nanos(if time % 8 == 0 { time } else { time % 1_000_000_000 });
            match call {
                0..=2 => drop(link.offer(time, Packet { id: size, size: size % 3000, ecn: ECN[(size % 4) as usize] }, &mut sink)),
                3 => drop(link.offer(time, Packet { id: size, size, ecn: Ecn::Ect1 }, &mut sink)),
                4 => link.advance(time, &mut sink),
                _ => link.settle(time),
            }
            let _ = (link.next_event(), link.take_dropped());
            prop_assert!(is_conserved(&link.counters()));
        }
    }
}

#[test]
fn random_queues_are_worth_testing() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut seen = std::collections::BTreeMap::new();
    for _ in 0..4000 {
        let queue = queue().new_tree(&mut runner).expect("generates").current();
        let kind = queue.kind();
        let changed = QueueConfig::of(kind).is_some_and(|usual| {
            queue.specs().iter().any(|spec| usual.value(spec.name) != queue.value(spec.name))
        });
        let arrivals = arrivals().new_tree(&mut runner).expect("generates").current();
        let config = LinkConfig::new(mbps(4), TimeDelta::ZERO, queue);
        let shown = shown(&config, &arrivals, Time::from_nanos(1_000_000_000), false);
        let last = *shown.samples.last().expect("one");
        let entry = seen.entry(kind).or_insert([0u64; 4]);
        entry[0] += u64::from(changed);
        entry[1] += last.0.departed;
        entry[2] += last.0.marked;
        entry[3] += last.0.dropped;
    }
    for kind in managed() {
        let [changed, departed, marked, dropped] = seen[kind];
        // The routers of XCP and RCP write into headers and mark nothing.
        println!("{kind}: {:?}", seen[kind]);
        let marks = marked > 10 || ["xcp", "rcp"].contains(&kind);
        assert!(changed > 20 && departed > 1000 && marks && dropped > 10, "{kind}: {:?}", seen[kind]);
    }
}

#[test]
fn a_departure_is_announced_when_service_begins_and_counted_when_it_is_over() {
    for kind in managed() {
        // 1000 B take 1 ms at 8 Mbit/s.
        let queue = QueueConfig::of(kind).expect("there is one");
        let mut link =
            Link::new(LinkConfig::new(mbps(8), millis(5) - Time::ZERO, queue), 1, "l").expect(kind);
        let mut announced = Vec::new();
        for id in 0..2 {
            let packet = Packet { id, size: 1000, ecn: Ecn::NotEct };
            let mut sink =
                |departure: Departure<Packet>| announced.push((departure.packet.id, departure.arrives));
            assert_eq!(link.offer(Time::ZERO, packet, &mut sink), Offered::Accepted, "{kind}");
        }
        assert_eq!(announced, [(0, millis(6))], "{kind}: the second waits");
        assert_eq!((link.counters().departed, link.next_event()), (0, Some(millis(1))), "{kind}");
        let mut sink =
            |departure: Departure<Packet>| announced.push((departure.packet.id, departure.arrives));
        link.advance(millis(1), &mut sink);
        link.advance(millis(1) + TimeDelta::from_nanos(1), &mut sink);
        assert_eq!(announced[1..], [(1, millis(7))], "{kind}");
        assert_eq!((link.counters().departed, link.counters().in_service), (1, 1), "{kind}");
    }
}

#[test]
fn names_of_parameters_are_found_and_others_are_not() {
    for kind in managed() {
        let mut config = QueueConfig::of(kind).expect("there is one");
        assert_eq!((config.kind(), config.check_at(Bitrate::MAX)), (kind, Ok(())));
        assert!(!config.help().is_empty() && !config.specs().is_empty());
        for spec in config.specs() {
            let value = config.value(spec.name);
            assert!(value.is_some() || !spec.without.is_empty(), "{kind}: {}", spec.name);
            assert!(value.is_none_or(|value| config.set(spec.name, value).is_ok()), "{}", spec.name);
            assert!(!spec.source.is_empty(), "{kind}: {}", spec.name);
        }
        assert!(config.set("nothing", Value::Flag(true)).is_err());
        config.set_limit(QueueLimit::Packets(0));
        let error = config.check_at(Bitrate::MAX).expect_err("nothing could wait");
        assert_eq!((error.name.as_str(), error.found.as_str()), ("packets", "0"));
    }
    assert_eq!(QueueConfig::of("fifth"), None);
}

#[test]
fn values_out_of_range_are_refused_with_their_range() {
    for (kind, name, value, expected) in [
        ("red", "max_p", Value::Ratio(1.5), "a number from 0 to 1"),
        ("codel", "interval", Value::Time(TimeDelta::ZERO), "a time from 1ns to 1000s"),
        ("pie", "alpha", Value::Ratio(f64::NAN), "a number from 0 to 1000000"),
        ("fq-codel", "flows", Value::Count(70_000), "a whole number from 1 to 65536"),
        ("dualpi2", "p_lmax", Value::Ratio(0.0), "a number from 0.001 to 1"),
    ] {
        let mut config = QueueConfig::of(kind).expect("there is one");
        let error = config.set(name, value).expect_err(kind);
        assert_eq!((error.name.as_str(), &*error.expected), (name, expected));
        assert_eq!(QueueConfig::of(kind), Some(config));
    }
    // Errors of values set in code are found by the link.
    let config = QueueConfig::Red(crate::RedConfig { max_p: 1.5, ..crate::RedConfig::default() });
    let error =
        Link::<Packet>::new(LinkConfig::new(mbps(1), TimeDelta::ZERO, config), 1, "any").expect_err("max_p");
    assert_eq!(error.to_string(), "queue.max_p: found 1.5, expected a number from 0 to 1");
}
