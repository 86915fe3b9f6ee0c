//! The utility, the trials, and the steps along the gradient.

use super::*;
use crate::window::drive::{Flow, SIZE, close, lost};
use crate::{Controller, FlowSetup, Recovery};
use alloc::vec::Vec;
use paceline_units::{Bytes, Ecn};

const MS: i64 = 1_000_000;

fn flow(params: &Params) -> Flow<VivaceLaw> {
    Flow::new(Vivace::new(params, &FlowSetup::new(Bytes::new(SIZE))))
}

fn at(nanos: i64) -> Time {
    Time::ZERO + TimeDelta::from_nanos(nanos)
}

/// An interval of 100 packets at a rate, from any time on, with losses among its first packets and a round trip of 100 ms that grows by a slope.
fn interval(rate: f64, losses: u64, slope: f64) -> Interval {
    let mut interval = Interval::new(rate);
    let gap = (SIZE as f64 * 8e3 / rate) as i64;
    let start = 77 * MS;
    for n in 0..100 {
        assert!(!interval.is_full(at(start + n * gap)));
        interval.on_sent(at(start + n * gap), SIZE, false, || 100);
        if n as u64 >= losses {
            interval.on_delivered();
            let grown = TimeDelta::from_secs_f64(0.1 + slope * (n * gap) as f64 * 1e-9);
            interval.on_round_trip(at(start + n * gap), grown);
        } else {
            interval.on_lost();
        }
    }
    assert!(interval.is_full(at(start + 100 * gap)));
    interval
}

/// A law of 20 Mbit/s around which trials are known: the law afterwards.
fn judged(params: &Params, phase: Phase, trials: &[Interval]) -> VivaceLaw {
    let mut flow = flow(params);
    flow.sender.parts().1.round_trip.sample(TimeDelta::from_millis(100));
    let (law, window) = flow.sender.parts();
    (law.phase, law.rate, law.planned, law.at) = (phase, 20.0, trials.len(), trials.len());
    law.trials[..trials.len()].copy_from_slice(trials);
    law.judge(window);
    law.clone()
}

/// Trials of 19 and 21 Mbit/s with losses and slopes of each, once or twice.
fn pairs(count: usize, low: (u64, f64), high: (u64, f64)) -> Vec<Interval> {
    let pair = [interval(21.0, high.0, high.1), interval(19.0, low.0, low.1)];
    pair.iter().cycle().take(2 * count).copied().collect()
}

#[test]
fn the_utility_is_the_rate_less_the_growth_of_the_round_trip_and_less_losses() {
    let params = Params::default();
    let rate = interval(20.0, 0, 0.0);
    close(rate.left_at(), 20.0);
    close(rate.utility(&params, 0.0, 0.0), libm::pow(20.0, 0.9));
    close(rate.utility(&params, 0.0, 0.1), libm::pow(20.0, 0.9) - 900.0 * 20.0 * 0.1);
    close(rate.utility(&params, 0.0, -0.1), libm::pow(20.0, 0.9) + 900.0 * 20.0 * 0.1);
    close(rate.utility(&params, 0.1, 0.0), libm::pow(20.0, 0.9) - 11.35 * 20.0 * 0.1);
    // Up to 3 % of losses weigh 1.
    close(rate.utility(&params, 0.03, 0.0), libm::pow(20.0, 0.9) - 20.0 * 0.03);
    close(rate.utility(&params, 0.031, 0.0), libm::pow(20.0, 0.9) - 11.35 * 20.0 * 0.031);
    close(rate.utility(&Params::formula(), 0.03, 0.0), libm::pow(20.0, 0.9) - 11.35 * 20.0 * 0.03);
}

#[test]
fn slopes_count_in_steps_of_two_hundredths_towards_nothing() {
    let rate = interval(20.0, 0, 0.0);
    let penalty = |slope: f64| {
        (rate.utility(&Params::default(), 0.0, 0.0) - rate.utility(&Params::default(), 0.0, slope))
            / (900.0 * 20.0)
    };
    for (slope, counted) in [(0.019, 0.0), (-0.019, 0.0), (0.021, 0.02), (0.059, 0.04), (-0.05, -0.04)] {
        assert!((penalty(slope) - counted).abs() < 1e-9, "{slope}: {}", penalty(slope));
    }
}

#[test]
fn an_interval_measures_its_rate_losses_and_slope() {
    for (rate, losses, slope) in [(20.0, 0, 0.05), (1.0, 7, -0.3), (900.0, 50, 2.0)] {
        let interval = interval(rate, losses, slope);
        close(interval.left_at(), rate);
        close(interval.loss(), losses as f64 / 100.0);
        close(interval.slope(), slope);
    }
    assert_eq!(Interval::default().slope(), 0.0, "without round trips");
}

#[test]
fn packets_that_are_never_told_of_are_missing_after_a_round_trip() {
    let mut interval = Interval::new(8.0);
    (0..10).for_each(|n| interval.on_sent(at(n * MS), SIZE, false, || 10));
    (0..8).for_each(|_| interval.on_delivered());
    assert!(interval.is_full(at(10 * MS)));
    let rtt = TimeDelta::from_millis(100);
    assert!(!interval.is_known(at(109 * MS), rtt) && interval.is_known(at(110 * MS), rtt));
    close(interval.loss(), 0.2);
    (0..2).for_each(|_| interval.on_lost());
    assert!(interval.is_known(at(10 * MS), rtt));
}

#[test]
fn the_start_doubles_while_the_utility_grows_and_then_probes_half() {
    let grown = judged(&Params::default(), Phase::Starting, &[interval(20.0, 0, 0.0)]);
    assert_eq!((grown.phase, grown.rate, grown.planned), (Phase::Starting, 40.0, 1));
    // Slopes below a fifth and 50 losses are nothing to it.
    let tolerant = judged(&Params::default(), Phase::Starting, &[interval(20.0, 49, 0.19)]);
    assert_eq!((tolerant.rate, tolerant.start_losses), (40.0, 1));
    let over = judged(&Params::default(), Phase::Starting, &[interval(20.0, 0, 0.21)]);
    assert_eq!((over.phase, over.rate, over.planned), (Phase::Probing, 10.0, 4));
    // Once its losses are used up they count, and small slopes do.
    for (params, losses, slope) in [(10, 49, 0.0), (0, 0, 0.03)]
        .map(|(start_losses, losses, slope)| (Params { start_losses, ..Params::default() }, losses, slope))
    {
        let over = judged(&params, Phase::Starting, &[interval(20.0, losses, slope)]);
        assert_eq!((over.phase, over.rate), (Phase::Probing, 10.0), "{losses}, {slope}");
    }
}

#[test]
fn trials_are_a_twentieth_above_and_below_in_any_order() {
    let mut flow = flow(&Params::default());
    let (law, window) = flow.sender.parts();
    let mut orders = alloc::collections::BTreeSet::new();
    for _ in 0..64 {
        law.probe(window, 20.0);
        let rates: Vec<f64> = law.trials.iter().map(|trial| trial.rate).collect();
        for pair in rates.chunks(2) {
            close(pair[0].min(pair[1]), 19.0);
            close(pair[0].max(pair[1]), 21.0);
        }
        orders.insert((rates[0] > 20.0, rates[2] > 20.0));
        assert_eq!(law.planned, 4);
    }
    assert_eq!(orders.len(), 4);
}

#[test]
fn the_rate_follows_the_gradient_where_pairs_agree() {
    let gradient = (libm::pow(21.0, 0.9) - libm::pow(19.0, 0.9)) / 2.0;
    let up = judged(&Params::default(), Phase::Probing, &pairs(2, (0, 0.0), (0, 0.0)));
    close(up.rate, 20.0 + gradient);
    assert_eq!((up.phase, up.planned), (Phase::Probing, 4), "no direction yet");
    // A queue that the higher rate builds: a twentieth of the rate is the bound.
    close(judged(&Params::default(), Phase::Probing, &pairs(2, (0, 0.0), (0, 0.05))).rate, 19.0);
    let without =
        judged(&Params { b: 0.0, ..Params::default() }, Phase::Probing, &pairs(2, (0, 0.0), (0, 0.05)));
    close(without.rate, 20.0 + gradient);
    // Losses in proportion at both rates take 11.35 times their ratio of the gradient.
    let lossy = judged(&Params::default(), Phase::Probing, &pairs(2, (12, 0.0), (12, 0.0)));
    close(lossy.rate, 20.0 + gradient - 11.35 * 0.12);
}

#[test]
fn pairs_that_contradict_each_other_leave_the_rate_and_one_pair_decides() {
    let mut trials = pairs(2, (0, 0.0), (0, 0.05));
    trials[2..].copy_from_slice(&pairs(1, (0, 0.05), (0, 0.0)));
    let law = judged(&Params::default(), Phase::Probing, &trials);
    assert_eq!((law.rate, law.phase, law.planned), (20.0, Phase::Probing, 2));
}

#[test]
fn losses_of_a_hundredth_count_for_all_trials_alike() {
    // One in a hundred at the higher rate alone: half of that for each trial.
    let law = judged(&Params::default(), Phase::Probing, &pairs(2, (0, 0.0), (1, 0.0)));
    let free = (libm::pow(21.0, 0.9) - libm::pow(19.0, 0.9)) / 2.0;
    close(law.rate, 20.0 + free - 0.005);
    let apart = judged(
        &Params { even_loss: 0.0, ..Params::default() },
        Phase::Probing,
        &pairs(2, (0, 0.0), (1, 0.0)),
    );
    close(apart.rate, 20.0 + free - 0.21 / 2.0);
}

#[test]
fn growth_by_more_than_a_tenth_goes_on_without_pairs_until_it_does_not_pay() {
    let params = Params { omega: 0.2, theta: 10.0, ..Params::default() };
    let law = judged(&params, Phase::Probing, &pairs(1, (0, 0.0), (0, 0.0)));
    assert_eq!((law.phase, law.planned), (Phase::Moving, 1));
    close(law.rate, 24.0);
    for (slope, phase) in [(0.0, Phase::Moving), (0.1, Phase::Probing)] {
        let mut law = law.clone();
        let mut flow = flow(&params);
        law.trials[0] = interval(24.0, 0, slope);
        law.at = 1;
        law.judge(flow.sender.parts().1);
        assert_eq!(law.phase, phase, "slope {slope}");
        assert_eq!(law.rate > 24.0, slope == 0.0, "{}", law.rate);
    }
}

#[test]
fn the_bound_of_changes_grows_while_it_binds_and_a_turn_resets_it() {
    let (params, mut step) = (Params::default(), Step::default());
    let changes: Vec<f64> = (0..4).map(|_| step.change(&params, -900.0, 100.0)).collect();
    changes.iter().zip([-5.0, -11.0, -17.0, -23.0]).for_each(|(found, expected)| close(*found, expected));
    close(step.change(&params, 900.0, 100.0), 5.0);
    close(step.change(&params, 900.0, 100.0), 5.0);
    close(step.change(&params, 900.0, 100.0), 11.0);
}

#[test]
fn changes_in_one_direction_are_amplified_after_the_turns_are_paid() {
    let params = Params { omega: 1.0, ..Params::default() };
    let mut step = Step::default();
    let factors = |step: &mut Step, count: usize| -> Vec<f64> {
        (0..count).map(|_| step.change(&params, 1.0, 1e6)).collect()
    };
    assert_eq!(factors(&mut step, 8), [1.0, 1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0]);
    assert_eq!(factors(&mut step, 12)[5..10], [18.0, 20.0, 22.0, 26.0, 30.0]);
    // Each turn takes a change of the next direction from the count, two at most.
    let _ = step.change(&params, -1.0, 1e6);
    assert_eq!((step.swing, step.confidence, step.trend), (1, 0.0, false));
    for _ in 0..3 {
        let _ = step.change(&params, 1.0, 1e6);
        let _ = step.change(&params, -1.0, 1e6);
    }
    assert_eq!(step.swing, 2);
    assert_eq!((0..4).map(|_| -step.change(&params, -1.0, 1e6)).collect::<Vec<_>>(), [1.0, 1.0, 1.0, 2.0]);
    // A change is half a Mbit/s at least, within its bound.
    close(Step::default().change(&params, 0.01, 1e6), 0.5);
    close(Step::default().change(&Params::default(), 0.01, 2.0), 0.1);
}

#[test]
fn more_than_half_lost_halves_the_rate_or_leaves_what_arrived() {
    let law = judged(&Params::default(), Phase::Starting, &[interval(20.0, 51, 0.0)]);
    assert_eq!(law.phase, Phase::Probing);
    close(law.rate, 9.8);
    let all = judged(&Params::default(), Phase::Probing, &pairs(2, (100, 0.0), (100, 0.0)));
    close(all.rate, 10.0);
}

#[test]
fn an_interval_is_a_round_trip_long_and_ten_packets_at_least() {
    for (rate, rtt_ms, packets) in [(20.0, 100, 250), (0.1, 100, 10), (20.0, 1, 10), (1000.0, 100, 3000)] {
        let mut flow = flow(&Params::default());
        flow.sender.parts().1.round_trip.sample(TimeDelta::from_millis(rtt_ms));
        let (law, window) = flow.sender.parts();
        law.phase = Phase::Starting;
        law.set_rate(window, rate);
        let mut sent = 0;
        while flow.sender.parts().0.at == 0 {
            flow.now += TimeDelta::from_micros(1);
            flow.send(1);
            sent += 1;
        }
        assert_eq!(sent - 1, packets, "{rate} Mbit/s, {rtt_ms} ms");
    }
}

#[test]
fn a_window_is_twice_the_rate_in_a_round_trip_and_four_packets_at_least() {
    let mut flow = flow(&Params::default());
    for (rate, packets) in [(8.0, 200.0), (0.001, 4.0)] {
        for _ in 0..20 {
            let (law, window) = flow.sender.parts();
            law.set_rate(window, rate);
            flow.now += TimeDelta::from_millis(100);
            let all = flow.first()..flow.next;
            flow.ack(all, Ecn::NotEct);
            flow.fill();
        }
        let srtt = flow.sender.parts().1.round_trip.seconds() / 0.1;
        assert!((flow.cwnd() - (packets * srtt).max(4.0)).abs() < 1.0, "{rate}: {}", flow.cwnd());
    }
}

#[test]
fn an_application_that_sends_less_leaves_the_rate() {
    let mut limited = interval(21.0, 0, 0.0);
    limited.on_sent(at(0), SIZE, true, || 100);
    limited.on_delivered();
    let law = judged(&Params::default(), Phase::Probing, &[limited, interval(19.0, 0, 0.0)]);
    assert_eq!((law.rate, law.phase), (20.0, Phase::Probing));
}

#[test]
fn a_timeout_halves_the_rate_and_leaves_a_packet() {
    let mut flow = flow(&Params::default());
    flow.fill();
    let before = flow.sender.parts().0.rate;
    flow.tell(Recovery::TimedOut);
    let (law, window) = flow.sender.parts();
    assert_eq!((law.rate, law.phase, window.packets()), (before / 2.0, Phase::Probing, 1.0));
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!(flow.sender.parts().0.rate, before / 2.0, "recovery says nothing");
}

#[test]
fn the_first_rate_is_the_first_window_in_a_round_trip_at_most() {
    for (rtt_ms, mbps) in [(10, 1.6), (1000, 0.08)] {
        let mut flow = flow(&Params::default());
        let _ = flow.sender.on_opened(flow.now, TimeDelta::from_millis(rtt_ms));
        let (law, window) = flow.sender.parts();
        close(law.pacing_rate(window).expect("a pace").as_bps_f64(), mbps * 1e6);
        flow.send(1);
        close(flow.sender.parts().0.rate, mbps);
    }
}

#[test]
fn trials_go_on_around_an_assigned_rate_that_is_near() {
    let mut flow = flow(&Params::default());
    flow.sender.parts().1.round_trip.sample(TimeDelta::from_millis(100));
    let (law, window) = flow.sender.parts();
    law.probe(window, 20.0);
    let first = law.first;
    for (mbps, goes_on) in [(20.9, true), (10.0, false)] {
        let (law, window) = flow.sender.parts();
        law.on_assigned(window, Assigned::Rate(Bitrate::from_bps_f64(mbps * 1e6)));
        close(law.rate, mbps);
        assert_eq!(law.first == first, goes_on);
    }
}
