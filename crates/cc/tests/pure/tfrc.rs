//! Both halves of TFRC over a path: the rate goes where the equation says, up and down as RFC 5348 has it, and nothing
//! that arrives breaks the receiver.

use crate::contract::path::{Datagrams, LOSS_PATTERNS, Path, Run, SIZE, equation, ms};
use paceline_cc::FlowSetup;
use paceline_cc::tfrc::{Params, Tfrc, TfrcReceiver};
use paceline_cc::{Annotation, Arrival, Assigned, ReceiverHalf, ReceiverReport, StreamId, TimeoutReason};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use proptest::prelude::*;

fn halves(params: &Params) -> (Tfrc, TfrcReceiver) {
    (Tfrc::new(params, &FlowSetup::new(SIZE)), TfrcReceiver::new(params))
}

fn with(params: &Params, path: Path, drive: impl FnOnce(&mut Run<'_>)) -> (Tfrc, TfrcReceiver) {
    let (mut sender, mut receiver) = halves(params);
    let mut near = Datagrams::default();
    let mut run = Run::new(&mut sender, &mut near, path);
    run.far = Some(&mut receiver);
    drive(&mut run);
    (sender, receiver)
}

/// X, of which an encoder is told a part.
fn mbps(run: &Run<'_>) -> f64 {
    let Some(Assigned::Rate(rate)) = run.controller.share() else { panic!("a rate") };
    rate.as_mbps_f64()
}

#[test]
fn on_a_fixed_loss_pattern_the_rate_is_the_equation_s() {
    for (drops, p) in LOSS_PATTERNS {
        let mut sent = (0, 0);
        let path = Path { drops, ..Path::clean(TimeDelta::from_millis(50)) };
        let (_, receiver) = with(&Params::default(), path, |run| {
            run.until(ms(100_000));
            sent.0 = run.sent;
            run.until(ms(200_000));
            sent.1 = run.sent;
        });
        let found = (sent.1 - sent.0) as f64 * SIZE.as_bits_f64() / 100.0 / 1e6;
        let ratio = found / equation(0.1, p);
        assert!((0.95..1.05).contains(&ratio), "p {p}: {found} Mbit/s, x{ratio:.3}");
        assert!((0.9..1.1).contains(&(receiver.loss_event_rate() / p)), "{}", receiver.loss_event_rate());
    }
}

#[test]
fn slow_start_doubles_from_the_initial_window_until_the_first_loss() {
    let mut rates = Vec::new();
    with(&Params::default(), Path::clean(TimeDelta::from_millis(50)), |run| {
        for at in [150, 350, 550, 750, 950] {
            run.until(ms(at));
            rates.push(mbps(run));
        }
    });
    assert!((rates[0] - 0.32).abs() < 1e-9, "W_init/R: {rates:?}");
    assert!(rates.windows(2).all(|pair| (1.9..=4.01).contains(&(pair[1] / pair[0]))), "{rates:?}");
    // The rate of arrival is measured over a round trip and heard half a round trip later: it allows a doubling in every second.
    assert!((9.0..=41.0).contains(&rates[4]), "{rates:?}");
}

#[test]
fn a_bottleneck_is_filled_after_slow_start() {
    let path = Path {
        bottleneck: Some(Bitrate::from_mbps(2)),
        drops: |n| n % 3000 == 2999,
        ..Path::clean(TimeDelta::from_millis(20))
    };
    let mut sent = (0, 0);
    with(&Params::default(), path, |run| {
        run.until(ms(60_000));
        sent.0 = run.sent;
        run.until(ms(120_000));
        sent.1 = run.sent;
    });
    let found = (sent.1 - sent.0) as f64 * SIZE.as_bits_f64() / 60.0 / 1e6;
    assert!((1.5..=2.2).contains(&found), "{found} Mbit/s");
}

#[test]
fn without_feedback_the_timer_halves_the_rate_again_and_again_and_it_comes_back() {
    let path = Path {
        drops: |n| n % 100 == 99,
        silence: Some((ms(60_000), ms(62_000))),
        ..Path::clean(TimeDelta::from_millis(50))
    };
    with(&Params::default(), path, |run| {
        run.until(ms(60_000));
        let before = mbps(run);
        assert!(run.wake_ups.is_empty(), "feedback holds the timer back: {:?}", run.wake_ups);
        run.until(ms(62_000));
        let (after, halvings) = (mbps(run), run.wake_ups.len());
        assert!(run.wake_ups.iter().all(|(_, reason)| *reason == TimeoutReason::NoFeedback));
        assert!((3..=5).contains(&halvings), "every 400 ms: {halvings}");
        let part = after / before * f64::from(1 << halvings);
        // The first expiry may find X_recv as the limit, which cuts a little less or more than half.
        assert!((0.8..=1.25).contains(&part), "{before} to {after} in {halvings}");
        run.until(ms(70_000));
        assert!((0.8..=1.25).contains(&(mbps(run) / before)), "{} after the silence", mbps(run));
    });
}

#[test]
fn a_lost_packet_that_comes_late_costs_nothing_in_the_end() {
    let (_, mut receiver) = halves(&Params::default());
    let mut reported = Vec::new();
    let arrive = |receiver: &mut TfrcReceiver, n: u64, at: u64| {
        let annotation = Some(Annotation::Rtt(TimeDelta::from_millis(100)));
        let sent = Some(ms(n * 10));
        let arrival =
            Arrival { stream: StreamId(0), sequence: n, size: SIZE, sent, ecn: Ecn::Ect0, annotation };
        let now = ms(at);
        if (receiver.on_arrival(now, &arrival) || receiver.next_timeout().is_some_and(|due| due <= now))
            && let Some(ReceiverReport::Tfrc { loss_event_rate, .. }) = receiver.report(now)
        {
            reported.push(loss_event_rate);
        }
    };
    let mut hear = arrive;
    (0..100).filter(|n| *n != 50).for_each(|n| hear(&mut receiver, n, n * 10 + 50));
    hear(&mut receiver, 50, 1100);
    (100..120).for_each(|n| hear(&mut receiver, n, n * 10 + 150));
    assert!(reported.iter().any(|p| *p > 0.0), "the loss was told");
    assert_eq!(reported.last(), Some(&0.0), "and taken back");
}

/// An arrival of anything.
fn any_arrival() -> impl Strategy<Value = (i64, Arrival)> {
    let sequence = prop_oneof![8 => 0u64..200, 1 => any::<u64>(), 1 => (u64::MAX - 5)..=u64::MAX];
    let rtt = prop_oneof![3 => 1i64..1_000_000_000, 1 => any::<i64>()];
    let step = prop_oneof![9 => 0i64..100_000_000, 1 => any::<i64>()];
    let (streams, size, sent) = (0u8..3, any::<u64>(), proptest::option::of(any::<u64>()));
    (streams, sequence, size, sent, 0u8..4, proptest::option::of(rtt), step).prop_map(
        |(stream, sequence, size, sent, ecn, rtt, step)| {
            let arrival = Arrival {
                stream: StreamId(stream),
                sequence,
                size: Bytes::new(size),
                sent: sent.map(Time::from_nanos),
                ecn: Ecn::from_bits(ecn),
                annotation: rtt.map(|rtt| Annotation::Rtt(TimeDelta::from_nanos(rtt))),
            };
            (step, arrival)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_arrives_breaks_the_receiver(arrivals in prop::collection::vec(any_arrival(), 0..300), ndupack in 1u64..5) {
        let mut receiver = TfrcReceiver::new(&Params { ndupack, ..Params::default() });
        let mut now = ms(1000);
        for (step, arrival) in arrivals {
            now += TimeDelta::from_nanos(step);
            if receiver.on_arrival(now, &arrival) {
                if let Some(ReceiverReport::Tfrc { loss_event_rate, delay, .. }) = receiver.report(now) {
                    prop_assert!((0.0..=1.0).contains(&loss_event_rate), "{}", loss_event_rate);
                    prop_assert!(!delay.is_negative());
                }
                prop_assert!(receiver.next_timeout().is_none_or(|due| due > now || due == Time::MAX));
            }
            let p = receiver.loss_event_rate();
            prop_assert!((0.0..=1.0).contains(&p), "{}", p);
        }
    }

    /// Taking back what was lost leaves the same as never losing it: the events are those of the packets still missing.
    #[test]
    fn what_turns_up_leaves_no_trace(lost in prop::collection::btree_set(10u64..900, 0..40), back in prop::collection::vec(any::<bool>(), 40)) {
        let returned: Vec<u64> = lost.iter().zip(&back).filter(|(_, back)| **back).map(|(n, _)| *n).collect();
        let params = Params { history_discounting: false, n: 40, ..Params::default() };
        let hear = |missing: &dyn Fn(u64) -> bool, late: &[u64]| {
            let mut receiver = TfrcReceiver::new(&params);
            for n in (0..1000).filter(|n| !missing(*n)).chain(late.iter().copied()) {
                let annotation = Some(Annotation::Rtt(TimeDelta::from_millis(100)));
                let sent = Some(ms(n * 10));
                let arrival = Arrival { stream: StreamId(0), sequence: n, size: SIZE, sent, ecn: Ecn::Ect0, annotation };
                let now = ms(n * 10).max(ms(if late.contains(&n) { 10_000 } else { 0 }));
                if receiver.on_arrival(now, &arrival) {
                    let _ = receiver.report(now);
                }
            }
            receiver.loss_event_rate()
        };
        let found = hear(&|n| lost.contains(&n), &returned);
        let never = hear(&|n| lost.contains(&n) && !returned.contains(&n), &[]);
        // The first interval is not counted anew, and it is that of the first loss.
        prop_assert_eq!(found == 0.0, never == 0.0);
        if never > 0.0 && lost.iter().next() == lost.iter().find(|n| !returned.contains(n)) {
            prop_assert!((found / never - 1.0).abs() < 1e-9, "{} {}", found, never);
        }
    }
}
