//! Packets that are planned in runs against packets offered one by one: each departure and counter is the same.

use super::arrivals::{arrivals, process};
use super::*;
use proptest::prelude::*;

/// Packets of one size, in nanoseconds from one to the next, and how many.
#[derive(Clone, Copy, Debug)]
struct Burst {
    first: u64,
    size: u64,
    gap: u64,
    count: u64,
}

fn bursts() -> impl Strategy<Value = Vec<Burst>> {
    let gap = prop_oneof![Just(0u64), 0u64..100_000, Just(96_960), 90_000u64..300_000, 0u64..10_000_000];
    let more = prop::collection::vec((gap, 1u64..40), 200);
    (arrivals(), more).prop_map(|(arrivals, more)| {
        let mut after = 0;
        let bursts = arrivals.into_iter().zip(more).map(|((first, size), (gap, count))| {
            let first = first + after;
            after += gap * (count - 1);
            Burst { first, size, gap, count }
        });
        bursts.collect()
    })
}

/// The departures, the counters and the services after each burst, and how many packets passed in runs.
type Shown = (Vec<Departure<Packet>>, Vec<(LinkCounters, Service)>, u64);

fn shown(config: &LinkConfig, bursts: &[Burst], in_runs: bool) -> Shown {
    let mut link = Link::new(config.clone(), 1, "any").expect("a valid link");
    let (mut departures, mut samples, mut runs) = (Vec::new(), Vec::new(), 0);
    for (id, &Burst { first, size, gap, count }) in bursts.iter().enumerate() {
        let packet = Packet { id: id as u64, size, ecn: Ecn::NotEct };
        let (first, gap) = (Time::from_nanos(first), TimeDelta::from_nanos(gap as i64));
        let plan = if in_runs { link.plan_run(first, gap, count, &packet) } else { None };
        for place in 0..count as i64 {
            if let Some(plan) = plan {
                let first = plan.of(packet);
                let (departed, arrives) = (first.departed + gap * place, first.arrives + gap * place);
                departures.push(Departure { departed, arrives, ..first });
                runs += 1;
            } else {
                link.offer(first + gap * place, packet, &mut |departure| departures.push(departure));
            }
        }
        let last = first + gap * (count as i64 - 1);
        if id % 3 == 0 {
            link.settle(last);
            samples.push((link.counters(), link.service(last)));
        }
    }
    let end = Time::from_nanos(u64::MAX / 2);
    link.settle(end);
    samples.push((link.counters(), link.service(end)));
    (departures, samples, runs)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_run_is_planned_as_its_packets_are(rate in process(), bursts in bursts(), delay in 0i64..50_000_000) {
        let limit = QueueLimit::Packets(30);
        let config = LinkConfig { delay: TimeDelta::from_nanos(delay).into(), ..limited(rate, limit) };
        let (departures, samples, _) = shown(&config, &bursts, true);
        let (singly, samples_singly, _) = shown(&config, &bursts, false);
        prop_assert_eq!(departures, singly);
        prop_assert_eq!(samples, samples_singly);
    }
}

#[test]
fn a_run_passes_an_idle_link_and_no_other() {
    let run = |gap, count| Burst { first: 0, size: 1250, gap, count };
    let passed = |bursts: &[Burst]| shown(&unlimited(mbps(100)), bursts, true).2;
    assert_eq!(passed(&[run(100_000, 40)]), 40);
    assert_eq!(passed(&[run(99_999, 40)]), 0, "the second waits");
    assert_eq!(passed(&[run(0, 1), Burst { first: 99_999, ..run(100_000, 40) }]), 1, "the first waits");
    assert_eq!(passed(&[run(0, 1), Burst { first: 100_000, ..run(100_000, 40) }]), 41);
    let steps =
        RateProcess::Steps(vec![(Time::ZERO, Bitrate::from_mbps(100)), (millis(3), Bitrate::from_mbps(200))]);
    let across = shown(&unlimited(steps), &[run(100_000, 40)], true).2;
    assert_eq!(across, 0, "the rate changes on the way");
}
