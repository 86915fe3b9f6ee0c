//! Table I and equation 19 on a fluid link: a queue that fills and drains as rates say, and constant delay noise.

use super::*;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use libm::sqrt;
use paceline_units::{Time, TimeDelta};

const C: f64 = 1e6;
const DELTA_MIN: f64 = 0.01;
const STEP: f64 = 0.001;
const RTT: f64 = 0.02;

fn params(r_max: f64, delta_min: f64) -> Params {
    Params {
        r_max: Bitrate::from_bps_f64(r_max),
        delta_min: TimeDelta::from_secs_f64(delta_min),
        ..Params::default()
    }
}

fn law(params: &Params, rate: f64) -> UrcpLaw {
    let mut law = UrcpLaw::new(params);
    law.set_rate(rate);
    law
}

fn sample(now: f64, rate: f64, delta: f64) -> Sample {
    Sample {
        now: Time::from_secs_f64(now),
        elapsed: STEP,
        rate,
        delta,
        fell: 0.0,
        bits: rate * STEP,
        marked: false,
        lost: 0.0,
        rtt_min: RTT,
        ceiling: 100.0 * C,
        clock_step: 0.0,
    }
}

/// Runs laws over a fluid link with this noise for so many seconds; answers their rates and the delay at the end, as means
/// over the last tenth.
fn run(laws: &mut [UrcpLaw], noise: f64, seconds: f64) -> (Vec<f64>, f64) {
    let mut rates: Vec<f64> = laws.iter().map(|law| law.delay.rate).collect();
    let (mut queue, mut means, mut delay, mut counted) = (0.0, vec![0.0; laws.len()], 0.0, 0.0);
    let steps = (seconds / STEP) as u64;
    for step in 0..steps {
        let now = step as f64 * STEP;
        queue = f64::max(queue + (rates.iter().sum::<f64>() - C) / C * STEP, 0.0);
        for (law, rate) in laws.iter_mut().zip(&mut rates) {
            // Arrivals are departures: no more than the link carries.
            let sample = Sample { bits: rate.min(C) * STEP, ..sample(now, *rate, noise + queue) };
            *rate = law.on_sample(&sample);
        }
        if step >= steps / 10 * 9 {
            means.iter_mut().zip(&rates).for_each(|(mean, rate)| *mean += rate);
            delay += noise + queue;
            counted += 1.0;
        }
    }
    means.iter_mut().for_each(|mean| *mean /= counted);
    (means, delay / counted)
}

#[test]
fn the_operating_delay_is_equation_19s_over_the_part_of_capacity() {
    for (ratio, expected) in [(1.0, 1.0), (2.0, 3.071), (4.0, 6.0), (10.0, 11.811)] {
        let mut laws = [law(&params(C * ratio, DELTA_MIN), C)];
        let (rates, delay) = run(&mut laws, DELTA_MIN, 300.0);
        assert!((rates[0] / C - 1.0).abs() < 1e-3, "R_MAX/R = {ratio}: rate {}", rates[0]);
        assert!((delay / DELTA_MIN / expected - 1.0).abs() < 2e-3, "R_MAX/R = {ratio}: {} ms", delay * 1e3);
    }
}

#[test]
fn half_the_noise_leaves_694_thousandths_of_the_capacity() {
    for (part, expected) in [(2.0, 0.6944), (1.0, 1.0), (4.0, 1.0 / 2.56)] {
        let mut laws = [law(&params(C, DELTA_MIN), C)];
        let (rates, delay) = run(&mut laws, DELTA_MIN * part, 300.0);
        let by_equation = 1.0 / ((part * 0.2 + 0.8) * (part * 0.2 + 0.8));
        assert!((by_equation - expected).abs() < 1e-3, "{by_equation}");
        assert!((rates[0] / C - expected).abs() < 1e-3, "noise x {part}: {}", rates[0] / C);
        assert!((delay - DELTA_MIN * part).abs() < 1e-4, "no queue");
    }
}

#[test]
fn without_congestion_a_tenth_of_the_capacity_grows_by_its_31_6th_in_a_round_trip() {
    let mut law = law(&params(C, DELTA_MIN), C / 10.0);
    let rate = law.on_sample(&Sample { elapsed: RTT, ..sample(0.0, C / 10.0, 0.0) });
    assert!((C / (rate - C / 10.0) - 100.0 / sqrt(10.0)).abs() < 1e-9, "{rate}");
    assert!((law.delay.k0 - C / 10.0 * DELTA_MIN * sqrt(10.0)).abs() < 1e-6, "equation 16");
}

#[test]
fn two_flows_that_know_the_same_converge_to_equal_shares() {
    let params = params(C, DELTA_MIN);
    let mut laws = [law(&params, 0.9 * C), law(&params, 0.1 * C)];
    let (rates, delay) = run(&mut laws, DELTA_MIN, 400.0);
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.01, "{rates:?}");
    assert!((delay / DELTA_MIN / 3.071 - 1.0).abs() < 0.02, "two flows: {delay}");
}

#[test]
fn estimates_move_one_way_only() {
    let mut flow = law(&params(C / 2.0, 2.0 * DELTA_MIN), C / 2.0);
    run(core::slice::from_mut(&mut flow), DELTA_MIN, 1500.0);
    // Of Table III: 10 ms to 8 ms where 5 ms are right, since the link is always full.
    assert!(flow.delay.min < 1.3 * DELTA_MIN, "too much noise heals: {}", flow.delay.min);
    assert!(flow.r_max > 0.6 * C, "too little capacity heals: {}", flow.r_max);
    let mut flow = law(&params(2.0 * C, DELTA_MIN), C);
    run(core::slice::from_mut(&mut flow), 2.0 * DELTA_MIN, 100.0);
    assert_eq!((flow.r_max, flow.delay.min), (2.0 * C, DELTA_MIN), "the others do not");
}

#[test]
fn losses_beyond_the_inherent_ones_limit_the_rate() {
    // A buffer too small for any delay: what exceeds the capacity is lost.
    let mut flow = law(&params(C, DELTA_MIN), 1.5 * C);
    let mut rate = 1.5 * C;
    for step in 0..200_000 {
        let lost = f64::max(rate - C, 0.0) / rate;
        let arrived = Sample { bits: rate.min(C) * STEP, ..sample(f64::from(step) * STEP, rate, 0.0) };
        rate = flow.on_sample(&Sample { lost: lost / (1.0 - lost), ..arrived });
    }
    let lost = 1.0 - C / rate;
    assert!((0.005..0.04).contains(&lost), "{lost} of the packets is lost");
    assert!(flow.delay.rate > rate, "the delay says nothing");
}

#[test]
fn no_sample_makes_a_rate_that_is_none() {
    let extremes = [0.0, 1e-300, 1e-9, 1.0, 1e9, 1e300, f64::MAX];
    let mut flow = law(&Params::default(), 1e4);
    for (n, rate) in extremes.into_iter().enumerate() {
        for delta in extremes {
            for elapsed in [0.0, 0.5] {
                let hostile = Sample { elapsed, bits: rate, ..sample(n as f64, rate, delta) };
                let rate = flow.on_sample(&hostile);
                assert!(rate >= 0.0, "{rate}");
            }
        }
    }
}

/// A path of 1 Mbit/s with noise, and a sender over it.
struct Path {
    profile: &'static str,
    /// Propagation in seconds at a time.
    propagation: fn(f64) -> f64,
    /// Bit/s that the application has to send at a time.
    demand: fn(f64) -> f64,
    /// Packets of a report.
    packets: usize,
    /// Whether a report tells when a packet arrived.
    told: fn(u64) -> bool,
}

/// Where a flow stood: its rate over the last tenth of the run, and the delay above the propagation there, in seconds.
#[derive(Debug)]
struct End {
    rate: f64,
    delay: f64,
}

/// Runs a sender over a path for so many seconds.
fn over(path: &Path, seconds: f64) -> End {
    use crate::{Controller, FlowSetup, PacketResult, PacketsReport, Report, SentPacket, Status, StreamId};
    use alloc::collections::VecDeque;
    use paceline_units::param::Profiles;
    use paceline_units::{Bytes, Ecn};

    let (size, stream) = (Bytes::new(1212), StreamId(0));
    let mut sender = Urcp::new(&Params::profile(path.profile).expect("a profile"), &FlowSetup::new(size));
    let (mut now, mut free, mut sequence, mut under_way) = (1.0, 0.0, 0, VecDeque::new());
    let (mut sent_bits, mut delays, mut late) = (0.0, 0.0, 0.0);
    let at = Time::from_secs_f64;
    while now < seconds {
        let packet = SentPacket { stream, sequence, size, probe: None, app_limited: false };
        drop_update(sender.on_sent(at(now), &packet));
        free = f64::max(free, now) + size.as_bits_f64() / C;
        let noise = (sequence * 7919 % 101) as f64 * 1e-4;
        let arrived = free + noise + (path.propagation)(now);
        under_way.push_back((arrived + 0.02, sequence, now, arrived));
        if now > 0.9 * seconds {
            sent_bits += size.as_bits_f64();
            delays += free - now + noise;
            late += 1.0;
        }
        sequence += 1;
        let pace = sender.snapshot().target.expect("a target").as_bps_f64() / 0.95;
        now += size.as_bits_f64() / pace.min((path.demand)(now));
        while under_way.get(path.packets - 1).is_some_and(|last| last.0 <= now) {
            let heard = under_way[path.packets - 1].0;
            let told: Vec<PacketResult> = under_way
                .drain(..path.packets)
                .map(|(_, sequence, sent, arrived)| {
                    let status = Status::Received {
                        arrived: (path.told)(sequence).then(|| at(arrived)),
                        ecn: Ecn::NotEct,
                    };
                    PacketResult { stream, sequence, size, sent: at(sent), status }
                })
                .collect();
            let clock_step = TimeDelta::from_nanos(1);
            let report = PacketsReport { packets: &told, clock_step, ambiguous: false };
            drop_update(sender.on_report(at(heard), &Report::Packets(report)));
        }
    }
    End { rate: sent_bits / (0.1 * seconds), delay: delays / late }
}

/// A bulk sender, whose path becomes longer by 40 ms at 100 s.
fn over_a_longer_route(profile: &'static str) -> f64 {
    let propagation = |now| if now < 100.0 { 0.02 } else { 0.06 };
    over(&Path { profile, propagation, demand: |_| f64::INFINITY, packets: 1, told: |_| true }, 400.0).rate
}

fn drop_update(update: crate::Update) {
    let _ = update;
}

#[test]
fn a_longer_route_stops_the_papers_flow_and_not_the_adaptive_one() {
    let (paper, adaptive) = (over_a_longer_route("paper"), over_a_longer_route("adaptive"));
    assert!(paper < 0.3 * C, "{paper}");
    assert!((0.6..1.1).contains(&(adaptive / C)), "{adaptive}");
}

/// Held to a third of the capacity for a minute, and greedy otherwise.
fn held_between(begin: f64, end: f64, now: f64) -> f64 {
    if (begin..end).contains(&now) { C / 3.0 } else { f64::INFINITY }
}

#[test]
fn a_flow_that_its_application_held_back_takes_the_capacity_afterwards() {
    let demands: [fn(f64) -> f64; 2] =
        [|now| held_between(0.0, 60.0, now), |now| held_between(60.0, 120.0, now)];
    // `adaptive` searches for more now and then: a queue for a second.
    for (profile, least, longest) in [("paper", 0.97, 0.018), ("adaptive", 0.85, 0.03)] {
        for packets in [1, 16] {
            for (case, demand) in demands.into_iter().enumerate() {
                let end =
                    over(&Path { profile, propagation: |_| 0.02, demand, packets, told: |_| true }, 300.0);
                let said = format!("{profile}, {packets} packets a report, demand {case}: {end:?}");
                assert!((least..1.01).contains(&(end.rate / C)), "{said}");
                // A packet takes 9.7 ms, noise 5 ms in the mean.
                assert!((0.013..longest).contains(&end.delay), "{said}");
            }
        }
    }
}

#[test]
fn an_arrival_at_a_time_unknown_leaves_the_delay_as_it_was() {
    for profile in ["paper", "adaptive"] {
        let end = |told| {
            over(&Path { profile, propagation: |_| 0.02, demand: |_| f64::INFINITY, packets: 1, told }, 300.0)
        };
        let (all, most) = (end(|_| true), end(|sequence| sequence % 50 < 40));
        assert!((most.rate / all.rate - 1.0).abs() < 0.03, "{profile}: {all:?}, {most:?}");
        assert!((most.delay - all.delay).abs() < 0.002, "{profile}: {all:?}, {most:?}");
    }
}

#[test]
fn a_flow_begins_with_what_it_is_not_given() {
    let Params { first_rate, first_time, probe_part, probe_time, probe_packets, start_part, .. } =
        Params::default();
    let part = |part: f64| Bitrate::from_bps_f64(part * C);
    for (r_max, delta_min, first) in [
        (C, DELTA_MIN, First::Steady(part(start_part))),
        (C, 0.0, First::Probe(part(probe_part), probe_time, probe_packets)),
        (0.0, DELTA_MIN, First::SlowStart(first_rate)),
        (0.0, 0.0, First::Probe(first_rate, first_time, probe_packets)),
    ] {
        assert_eq!(UrcpLaw::new(&params(r_max, delta_min)).first(), first, "{r_max}, {delta_min}");
    }
}

#[test]
fn a_capacity_that_was_given_is_forgotten_with_its_noise() {
    let mut given = law(&params(C, DELTA_MIN), C);
    assert_eq!(given.forget_given(), Some(First::SlowStart(Params::default().first_rate)));
    assert_eq!((given.capacity(), given.knows.1), (None, false));
    assert_eq!(given.forget_given(), None, "once");
    let mut measured = law(&params(0.0, DELTA_MIN), C);
    measured.on_capacity(C, None);
    assert_eq!((measured.forget_given(), measured.capacity()), (None, Some(C)));
}

/// A path falls to half of 2 Mbit/s, with three times the noise, and carries 1.95 Mbit/s again: within a twentieth of what it had, it is
/// the path from before. With 1.5 Mbit/s it is another.
#[test]
fn a_path_that_carries_as_much_as_before_it_fell_is_that_path() {
    for (found, r_max, delta_min) in [(1.95, 2.0, 1.0), (1.8, 1.8, 1.0), (1.5, 1.5, 3.0)] {
        let mut law = law(&params(2.0 * C, DELTA_MIN), C);
        law.doubts.on_carried(2.0 * C);
        law.doubts.acting = Some((Doubt::Path, law.learned()));
        law.on_capacity(C, Some(3.0 * DELTA_MIN));
        assert_eq!((law.r_max, law.delay.min), (C, 3.0 * DELTA_MIN));
        law.doubts.acting = Some((Doubt::More, law.learned()));
        law.knows = (false, false);
        law.on_capacity(found * C, None);
        assert_eq!((law.r_max, law.delay.min), (r_max * C, delta_min * DELTA_MIN), "{found}");
    }
}

/// A look for more makes no queue, so that the noise which it finds is no more than what was known; where the path may be longer, it is
/// three times as much at most.
#[test]
fn noise_that_is_learned_anew_is_bounded_by_the_noise_before() {
    let before = Learned { r_max: C, delta_min: DELTA_MIN };
    for (doubt, found, kept) in [
        (Doubt::More, 2.0, 1.0),
        (Doubt::More, 0.5, 0.5),
        (Doubt::Path, 2.0, 2.0),
        (Doubt::Path, 4.0, LARGEST_RISE),
    ] {
        let mut law = law(&params(C, 0.0), C);
        law.doubts.acting = Some((doubt, before));
        law.on_noise(found * DELTA_MIN, 0.0);
        assert!((law.delay.min / DELTA_MIN - kept).abs() < 1e-9, "{doubt:?}, {found}: {}", law.delay.min);
    }
}
