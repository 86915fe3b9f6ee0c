//! Properties that no sequence of calls may break.

use super::*;
use proptest::prelude::*;

/// As RFC 8699 section 5.3.1 prints it, by a snapshot of each round.
fn as_printed(sum: f64, flows: &[(f64, f64)]) -> Vec<f64> {
    let mut rates = vec![0.0; flows.len()];
    let (mut left, mut open): (f64, Vec<usize>) = (sum, (0..flows.len()).collect());
    while !open.is_empty() {
        let priorities: f64 = open.iter().map(|&flow| flows[flow].0).sum();
        let share = |flow: usize| left * flows[flow].0 / priorities;
        let (sated, unsated): (Vec<_>, Vec<_>) = open.iter().partition(|&&flow| share(flow) >= flows[flow].1);
        if sated.is_empty() {
            unsated.iter().for_each(|&flow| rates[flow] = share(flow));
            break;
        }
        for &flow in &sated {
            rates[flow] = flows[flow].1;
            left -= flows[flow].1;
        }
        open = unsated;
    }
    rates
}

fn any_update() -> impl Strategy<Value = FlowUpdate> {
    let assigned = || {
        prop_oneof![
            any::<u64>().prop_map(|bps| Assigned::Rate(Bitrate::from_bps(bps))),
            proptest::sample::select(&[0, u64::MAX]).prop_map(|bps| Assigned::Rate(Bitrate::from_bps(bps))),
            (0u64..20_000_000).prop_map(|bps| Assigned::Rate(Bitrate::from_bps(bps))),
            any::<u64>().prop_map(|bytes| Assigned::Window(Bytes::new(bytes))),
        ]
    };
    (
        0u32..6,
        assigned(),
        proptest::option::of(assigned()),
        any::<Option<u64>>(),
        any::<Option<i64>>(),
        1e-6..1e6,
    )
        .prop_map(|(flow, own, taken, desired, rtt, weight)| FlowUpdate {
            flow: FlowId(flow),
            own,
            taken,
            desired: desired.map(Bitrate::from_bps),
            rtt: rtt.map(TimeDelta::from_nanos),
            priority: Priority::new(weight).expect("a priority"),
        })
}

/// The call of this number with what it tells: of 0 a flow joins, of 1 it leaves, of any other it updates.
fn take(group: &mut AnyCoupling, now: Time, call: u8, told: &FlowUpdate) {
    match call {
        0 => group.join(now, told),
        1 => group.leave(now, told.flow),
        _ => group.update(now, told),
    };
}

proptest! {
    #[test]
    fn shares_are_those_of_the_printed_loop(
        flows in proptest::collection::vec((0.01f64..100.0, prop_oneof![Just(1e9), 0.1f64..20.0]), 1..20),
    ) {
        let mut group = group("active", "rfc8699");
        for (flow, &(weight, wish)) in flows.iter().enumerate() {
            group.join(ms(0), &weighing(weight, wishing(wish, update(flow as u32, 3.0))));
        }
        let last = flows.len() - 1;
        group.update(ms(1), &weighing(flows[last].0, wishing(flows[last].1, update(last as u32, 3.0))));
        let expected = as_printed(3.0 * flows.len() as f64, &flows);
        for (found, expected) in rates(&group).iter().zip(&expected) {
            prop_assert!((found - expected).abs() < 2e-6 * expected.max(1.0), "{found} instead of {expected}");
        }
    }

    #[test]
    fn no_calls_panic_or_give_more_than_the_sum(
        kind in proptest::sample::select(CouplingParams::KINDS),
        calls in proptest::collection::vec((0u8..8, any_update(), 0u64..1000), 0..60),
    ) {
        let mut group = AnyCoupling::new(&CouplingParams::of(kind).expect("known"));
        let mut now = Time::ZERO;
        for (call, told, step) in calls {
            now += TimeDelta::from_millis(step as i64);
            take(&mut group, now, call, &told);
            let all: f64 = group.members().iter().map(|member| member.rate().as_bps_f64()).sum();
            let sum = group.sum().as_bps_f64();
            prop_assert!(sum.is_finite() && sum <= 1e12 * 70.0, "{sum}");
            // The next update shares with a flow that joins, and after one that leaves.
            if kind != "passive" && call > 1 {
                prop_assert!(all <= sum * (1.0 + 1e-9) + 1.0, "{all} of {sum}");
            }
        }
    }

    #[test]
    fn equal_flows_get_the_same_to_a_bit(owns in proptest::collection::vec((0u32..10, 0.0f64..50.0), 1..50)) {
        let mut group = group("conservative", "rfc8699");
        (0..10).for_each(|flow| { group.join(ms(0), &update(flow, 1.0)); });
        for (flow, own) in owns {
            let given = group.update(ms(0), &update(flow, own));
            prop_assert!(given.iter().all(|line| line.assigned == given[0].assigned));
        }
    }

    /// A sum grows by what a controller adds to what it was given, and by what a flow starts with; outside the time for which
    /// it is held, a reduction takes from it what the controller gave up, or more. Rates are within the sum.
    #[test]
    fn the_sum_is_never_more_than_the_controllers_allow(
        kind in proptest::sample::select(&["active", "conservative", "etcp", "efcm"]),
        calls in proptest::collection::vec((0u8..10, 0u32..5, 0.0f64..20.0, 0.1f64..10.0, any::<bool>()), 1..80),
        held in any::<bool>(),
    ) {
        let mut group = AnyCoupling::new(&CouplingParams::of(kind).expect("known"));
        for (at, (call, flow, own, weight, limited)) in calls.into_iter().enumerate() {
            // Two round trips and more apart nothing is held.
            let now = ms(if held { 10 } else { 300 } * at as u64);
            let rtt = Some(TimeDelta::from_millis(100));
            let told = FlowUpdate { rtt, ..weighing(weight, update(flow, own)) };
            let told = if limited { wishing(1.0, told) } else { told };
            let given = group.members().iter().find(|member| member.flow == told.flow);
            let given = given.map(|member| member.rate().as_mbps_f64());
            let before = group.sum().as_mbps_f64();
            take(&mut group, now, call, &told);
            let allowed = match (call, given) {
                (1, _) => 0.0,
                (0, None) => own,
                (_, None) => 0.0,
                (_, Some(given)) if held => (own - given).max(0.0),
                (_, Some(given)) => own - given,
            };
            let (sum, all) = (group.sum().as_mbps_f64(), rates(&group).iter().sum::<f64>());
            // Rates are whole bit/s.
            let near = 1e-5;
            prop_assert!(sum <= (before + allowed).max(0.0) + near, "{kind}: {sum} after {before} and {allowed}");
            prop_assert!(all <= sum + near, "{kind}: {all} of {sum} Mbit/s");
        }
    }

    /// Whatever has been told before, even that all controllers went down to nothing: flows whose controllers add again get it.
    #[test]
    fn no_flow_stalls(
        kind in proptest::sample::select(CouplingParams::KINDS),
        calls in proptest::collection::vec((0u8..8, any_update(), 0u64..1000), 0..60),
    ) {
        let mut group = AnyCoupling::new(&CouplingParams::of(kind).expect("known"));
        let mut now = Time::ZERO;
        for (call, told, step) in calls {
            now += TimeDelta::from_millis(step as i64);
            // A round trip is measured by the sender's own clock.
            let rtt = told.rtt.map(|rtt| TimeDelta::from_nanos(rtt.as_nanos() % 10_000_000_000));
            let told = FlowUpdate { rtt, ..told };
            take(&mut group, now, call, &told);
        }
        let told = |flow, own| FlowUpdate { rtt: Some(TimeDelta::from_millis(100)), ..update(flow, own) };
        for (flow, own) in (0..6).map(|flow| (flow, 1.0)).chain((0..6).map(|flow| (flow, 0.0))) {
            now += TimeDelta::from_secs(60);
            group.join(now, &told(flow, own));
        }
        for flow in (0..6).cycle().take(24) {
            now += TimeDelta::from_secs(60);
            let rate = group.members().iter().find(|member| member.flow == FlowId(flow)).map(Member::rate);
            group.join(now, &told(flow, rate.map_or(0.0, |rate| rate.as_mbps_f64()) + 1.0));
        }
        prop_assert!(rates(&group).iter().all(|rate| *rate >= 0.1), "{kind}: {:?}", rates(&group));
    }
}
