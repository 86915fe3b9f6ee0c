//! RFC 8698's equations by hand-computed values, each of which a wrong constant changes, and the receiver's statistics.

use super::loss_interval::LossIntervals;
use super::observation::Observation;
use super::reference_rate::{Bounds, ReferenceRate, equilibrium, gamma};
use super::shaping::rates;
use super::signal::{Feedback, Mode, warped, x_curr};
use super::*;
use crate::{
    Acked, Assigned, Controller, Limits, PacketResult, Report, SendQueueState, SentPacket, Status,
    StreamChange, StreamId, Update,
};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use paceline_units::param::{ParamSet, Value};
use paceline_units::{Bitrate, Bytes, Ecn};

const RTT: TimeDelta = TimeDelta::from_millis(50);
const SIZE: Bytes = Bytes::new(1200);

fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

fn at(millis: i64) -> Time {
    Time::from_nanos(millis as u64 * 1_000_000)
}

fn bounds_of(params: &Params) -> Bounds {
    Bounds::of(&MediaStreams::new(
        &FlowSetup::new(SIZE),
        (params.target_bitrate_min, params.target_bitrate_max),
        (TimeDelta::ZERO, TimeDelta::ZERO),
    ))
}

/// A packet's result for the statistics: it arrived, or was found lost.
fn arrived(marked: bool) -> Acked {
    let ce = if marked { SIZE } else { Bytes::ZERO };
    Acked { delivered: SIZE, presumed: SIZE, delivered_ce: ce, ..Acked::default() }
}

const LOST: Acked = Acked {
    newly_acked: Bytes::ZERO,
    delivered: Bytes::ZERO,
    delivered_packets: 0,
    presumed: Bytes::ZERO,
    unreported: Bytes::ZERO,
    delivered_ce: Bytes::ZERO,
    delivered_ce_packets: 0,
    newest: None,
    lost: 1,
    spurious: 0,
};

/// The statistics of a packet every 10 ms, 1200 B each, with this queue delay in milliseconds and this result.
fn observe(
    params: &Params,
    observation: &mut Observation,
    packets: core::ops::Range<i64>,
    queue: impl Fn(i64) -> i64,
    result: impl Fn(i64) -> Acked,
) {
    for packet in packets {
        let (sent, came) = (at(1000 + 10 * packet), at(1000 + 10 * packet + 20 + queue(packet)));
        let acked = result(packet);
        if acked.lost == 0 {
            observation.on_delay(params, came, (sent, Some(came)), true);
        }
        observation.on_packet(came, RTT, &acked);
    }
}

/// `loss_int` is 20 packets, and so many came behind the last loss.
fn intervals(behind: u32) -> LossIntervals {
    let mut losses = LossIntervals::new();
    for event in 0..10 {
        (0..19).for_each(|_| losses.on_arrived());
        losses.on_lost(at(1000 * event), RTT);
    }
    (0..behind).for_each(|_| losses.on_arrived());
    losses
}

fn gradual(params: &Params, r_ref: f64, x_prev: f64, x: f64, delta: TimeDelta) -> f64 {
    let (bounds, rmode) = (bounds_of(params), Mode::Gradual);
    let mut reference = ReferenceRate::new(r_ref);
    let feedback = |x_curr| Feedback { rmode, x_curr, r_recv: 0.0 };
    // A message that leaves the rate as it is, but for its signal.
    let neutral = Params { kappa: 0.0, ..params.clone() };
    reference.on_feedback(&neutral, delta, RTT, &feedback(x_prev), bounds);
    reference.on_feedback(params, delta, RTT, &feedback(x), bounds);
    reference.r_ref
}

/// Values that RFC 8698's equations have under its Table 2, computed by hand, and those of `params`.
fn vectors(params: &Params) -> Vec<(String, f64, f64)> {
    let mut found = Vec::new();
    let mut add = |name: &str, value: f64, expected: f64| found.push((name.into(), value, expected));
    for (rtt, expected) in [(0, 50.0 / 220.0), (50, 50.0 / 270.0), (100, 50.0 / 320.0)] {
        add(&format!("gamma at {rtt} ms"), gamma(params, ms(rtt)), expected);
    }
    for (delay, expected) in
        [(49.0, 49.0), (50.0, 50.0), (100.0, 30.326_533), (150.0, 18.393_972), (200.0, 11.156_508)]
    {
        add(&format!("d_tilde of {delay} ms"), 1e3 * warped(params, 1e-3 * delay), expected);
    }
    for (loss, expected) in [(0.01, 10.0), (0.02, 40.0), (0.05, 250.0)] {
        add(&format!("loss of {loss}"), 1e3 * x_curr(params, 0.0, 0.0, loss), expected);
    }
    for (mark, expected) in [(0.01, 2.0), (0.1, 200.0)] {
        add(&format!("marks of {mark}"), 1e3 * x_curr(params, 0.0, mark, 0.0), expected);
    }
    let rmax = bounds_of(params).rmax;
    for (mbps, expected) in [(1.5, 10.0), (1.0, 15.0), (0.5, 30.0)] {
        add(&format!("equilibrium at {mbps} Mbit/s"), 1e3 * equilibrium(params, rmax, mbps * 1e6), expected);
    }
    // 15 ms are too much by 5 ms, and have risen by 5 ms: 0.5 x 0.2 x 0.01 + 0.5 x 2 x 0.01.
    add("gradual update", 1.0 - gradual(params, 1.5e6, 0.010, 0.015, ms(100)) / 1.5e6, 0.001 + 0.01);
    // 5 ms are too little by 10 ms: 0.5 x 0.4 x 0.02.
    add("gradual growth", gradual(params, 1e6, 0.005, 0.005, ms(200)) / 1e6 - 1.0, 0.004);
    add("gradual update clipped", gradual(params, 1.5e6, 0.0, 0.6, ms(100)) / 1e6, 0.15);
    // The RFC's own example: 2000 B in the buffer are 48 kbit/s, where 5 % of r_ref are more.
    let shaped = rates(params, bounds_of(params), 1e6, 16e3);
    add("r_ref - r_vin", 1e3 - shaped.r_vin / 1e3, 48.0);
    add("r_send - r_ref", shaped.r_send / 1e3 - 1e3, 48.0);
    add("r_ref - r_vin, bounded", 500.0 - rates(params, bounds_of(params), 500e3, 16e3).r_vin / 1e3, 25.0);
    // 141 packets behind the last loss are one more than MULTILOSS x 20, and a twentieth of the transition.
    for (behind, expected) in [(140, 1.0), (141, 0.95), (150, 0.5), (160, 0.0)] {
        add(&format!("part of a loss after {behind}"), intervals(behind).part(params), expected);
    }
    let mut observation = Observation::new(params);
    observe(params, &mut observation, 0..100, |_| 0, |packet| arrived(packet % 10 == 0));
    let quiet = observation.feedback(params);
    add("r_recv", quiet.r_recv / 1e6, 0.96);
    add("p_mark after one message", observation.p_mark, 0.01);
    add("no ramp-up with marks", f64::from(quiet.rmode as u8), 1.0);
    observe(params, &mut observation, 100..160, |_| 0, |_| arrived(false));
    add("ramp-up", f64::from(observation.feedback(params).rmode as u8), 0.0);
    // 12 ms for longer than the filter, and nothing for 300 ms.
    observe(
        params,
        &mut observation,
        160..220,
        |packet| if packet < 190 { 12 } else { 0 },
        |_| arrived(false),
    );
    add("a queue within LOGWIN", f64::from(observation.feedback(params).rmode as u8), 1.0);
    observe(params, &mut observation, 220..250, |_| 9, |_| arrived(false));
    add("no queue within LOGWIN", f64::from(observation.feedback(params).rmode as u8), 0.0);
    observe(params, &mut observation, 250..255, |_| 0, |_| arrived(false));
    // The filter: the last 12 samples are no older than 120 ms.
    let filtered = |observation: &Observation| observation.delay.d_queue().expect("samples").as_millis_f64();
    observe(params, &mut observation, 255..263, |_| 30, |_| arrived(false));
    add("filtered before DFILT", filtered(&observation), 0.0);
    observe(params, &mut observation, 263..274, |_| 30, |_| arrived(false));
    add("filtered after it", filtered(&observation), 30.0);
    found
}

/// Vectors of `params` that are off.
fn wrong(params: &Params) -> Vec<String> {
    let off = |(_, value, expected): &(String, f64, f64)| {
        let within = 0.025 * expected.abs().max(1e-4);
        !(-within..=within).contains(&(value - expected))
    };
    let shown = |(name, value, expected)| format!("{name}: {value}, expected {expected}");
    vectors(params).into_iter().filter(off).map(shown).collect()
}

#[test]
fn the_equations_have_the_values_of_table_2() {
    let wrong = wrong(&Params::default());
    assert!(wrong.is_empty(), "{wrong:#?}");
    // The fact sheet's digits.
    let params = Params::default();
    let near = |found: f64, expected: f64, within: f64| assert!((found - expected).abs() < within, "{found}");
    near(gamma(&params, ms(100)), 0.15625, 1e-12);
    near(gamma(&params, ms(0)), 0.22727, 5e-6);
    near(gamma(&params, ms(50)), 0.18519, 5e-6);
    for (delay, expected) in [(0.100, 30.327), (0.150, 18.394), (0.200, 11.157)] {
        near(1e3 * warped(&params, delay), expected, 5e-4);
    }
    for (loss, expected) in [(0.01, 10.0), (0.02, 40.0), (0.05, 250.0)] {
        near(1e3 * x_curr(&params, 0.0, 0.0, loss), expected, 1e-9);
    }
    for (mark, expected) in [(0.01, 2.0), (0.1, 200.0)] {
        near(1e3 * x_curr(&params, 0.0, mark, 0.0), expected, 1e-9);
    }
    near(1e3 * equilibrium(&params, 1.5e6, 1e6), 15.0, 1e-9);
    near(1e3 * equilibrium(&params, 1.5e6, 0.5e6), 30.0, 1e-9);
    near(1e6 - rates(&params, bounds_of(&params), 1e6, 16e3).r_vin, 48e3, 1e-6);
}

/// Each constant of Table 2, changed to two fifths or to three times its value, makes a vector wrong.
#[test]
fn a_wrong_constant_is_noticed() {
    let usual = Params::default();
    let table: Vec<_> = usual.specs().iter().filter(|spec| spec.source.contains("Table 2")).collect();
    assert_eq!(table.len(), 24, "RFC 8698 Table 2 has so many rows");
    for spec in table {
        let value = usual.value(spec.name).expect("a value");
        let times = |factor: f64| match value {
            Value::Time(span) => Value::Time(TimeDelta::from_secs_f64(span.as_secs_f64() * factor)),
            Value::Rate(rate) => Value::Rate(Bitrate::from_bps_f64(rate.as_bps_f64() * factor)),
            Value::Ratio(ratio) => Value::Ratio(ratio * factor),
            ref other => panic!("{} is {other:?}", spec.name),
        };
        let noticed = [0.4, 3.0].map(|factor| {
            let mut params = usual.clone();
            params.set(spec.name, times(factor)).expect("a value in its range");
            !wrong(&params).is_empty()
        });
        // GAMMA_MAX bounds nothing that the other constants do not, and so do two sides of a bound.
        let expected = match spec.name {
            "gamma_max" => [true, false],
            _ => [true, true],
        };
        assert_eq!(noticed, expected, "{}", spec.name);
    }
}

/// Section 5.1.2: a tenth of the instantaneous ratio with each message, and what is left of the one before.
#[test]
fn ratios_are_smoothed_from_message_to_message() {
    let params = Params::default();
    let mut observation = Observation::new(&params);
    let lossy = |packet: i64| if packet % 2 == 0 { LOST } else { arrived(false) };
    observe(&params, &mut observation, 0..100, |_| 0, lossy);
    let mut expected = 0.0;
    for _ in 0..5 {
        let feedback = observation.feedback(&params);
        expected = 0.1 * 0.5 + 0.9 * expected;
        assert!((observation.p_loss / expected - 1.0).abs() < 0.03, "{} {expected}", observation.p_loss);
        assert_eq!(feedback.rmode, Mode::Gradual, "a loss within LOGWIN");
    }
    observe(&params, &mut observation, 100..200, |_| 0, |_| arrived(false));
    assert_eq!(observation.feedback(&params).rmode, Mode::RampUp, "none within LOGWIN");
}

/// The rate in kbit/s two seconds after half of the packets were lost for two seconds, with this bound of the signal.
fn after_many_losses(x_max: TimeDelta) -> f64 {
    let params = Params { x_max, ..Params::default() };
    let (mut reference, mut p_loss) = (ReferenceRate::new(600e3), 0.0);
    for message in 0..42 {
        p_loss = 0.9 * p_loss + if message < 20 { 0.1 * 0.5 } else { 0.0 };
        let x_curr = x_curr(&params, 0.0, 0.0, p_loss).min(x_max.as_secs_f64());
        let feedback = Feedback { rmode: Mode::Gradual, x_curr, r_recv: 12e6 };
        reference.on_feedback(&params, ms(100), RTT, &feedback, Bounds { rmin: 150e3, rmax: 12e6 });
    }
    reference.r_ref / 1e3
}

/// While the squared ratio of losses falls, its change raises the rate: with the message's bound of 3.2767 s, to many times what it was.
#[test]
fn the_end_of_many_losses_does_not_raise_the_rate_above_that_before() {
    let (bounded, by_the_message) = (after_many_losses(ms(500)), after_many_losses(ms(3277)));
    assert!((150.0..600.0).contains(&bounded) && by_the_message > 3000.0, "{bounded} {by_the_message}");
    let (params, lossy) =
        (Params::default(), |packet: i64| if packet % 2 == 0 { LOST } else { arrived(false) });
    let mut observation = Observation::new(&params);
    observe(&params, &mut observation, 0..100, |_| 0, lossy);
    let signals = (0..20).map(|_| observation.feedback(&params).x_curr);
    assert_eq!(signals.fold(0.0, f64::max), 0.5);
}

/// Where a signal is at its bound, it says no more how much is lost: with an RMAX of 50 Mbit/s, 1 Mbit/s would be its equilibrium.
#[test]
fn a_signal_at_its_bound_holds_the_rate_to_what_arrives() {
    let params = Params::default();
    let mut reference = ReferenceRate::new(1e6);
    let feedback = Feedback { rmode: Mode::Gradual, x_curr: 0.5, r_recv: 400e3 };
    let bounds = Bounds { rmin: 150e3, rmax: 50e6 };
    (0..10).for_each(|_| reference.on_feedback(&params, ms(100), RTT, &feedback, bounds));
    assert!(reference.r_ref <= 400e3, "{}", reference.r_ref);
}

/// RFC 5348 section 5.4: eight intervals, weighted; losses within a round trip are one event, and one event makes no interval.
#[test]
fn the_mean_loss_interval_is_that_of_tfrc() {
    let mut losses = LossIntervals::new();
    let event = |losses: &mut LossIntervals, at_ms, packets| {
        (1..packets).for_each(|_| losses.on_arrived());
        losses.on_lost(at(at_ms), RTT);
    };
    event(&mut losses, 0, 500);
    assert_eq!((losses.loss_int(), losses.part(&Params::default())), (None, 0.0));
    losses.on_lost(at(40), RTT);
    assert_eq!(losses.loss_int(), None, "the same event");
    event(&mut losses, 1000, 10);
    assert_eq!(losses.loss_int(), Some(11.0), "from the first loss of the event on");
    for n in 0..8 {
        event(&mut losses, 2000 + 1000 * n, 20 + 10 * n);
    }
    let before = losses.loss_int();
    event(&mut losses, 11_000, 50);
    losses.on_lost(at(11_010), RTT);
    assert!(losses.loss_int() != before);
    (0..2).for_each(|_| losses.on_taken_back());
    assert_eq!(losses.loss_int(), before, "all of the event turned up");
    let lengths = [90.0, 80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0];
    let weights = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
    let sum: f64 = lengths.iter().zip(weights).map(|(length, weight)| length * weight).sum();
    let mean = losses.loss_int().expect("intervals");
    assert!((mean - sum / 6.0).abs() < 1e-9, "{mean}");
}

/// Section 5.1.1: the base delay is forgotten after its buckets.
#[test]
fn a_longer_path_is_the_base_after_the_history() {
    let params = Params { base_delay_bucket: ms(1000), base_delay_buckets: 3, ..Params::default() };
    let mut observation = Observation::new(&params);
    let longer = |packet: i64| if packet < 100 { 0 } else { 40 };
    observe(&params, &mut observation, 0..300, longer, |_| arrived(false));
    assert_eq!(observation.delay.d_queue(), Some(ms(40)));
    observe(&params, &mut observation, 300..600, longer, |_| arrived(false));
    assert_eq!(observation.delay.d_queue(), Some(ms(0)));
}

/// A sender that sends a packet of 1200 B each `gap` and is told of it `delay` later.
struct Sender {
    nada: Nada,
    sequence: u64,
}

impl Sender {
    fn new(params: &Params) -> Sender {
        Sender { nada: Nada::new(params, &FlowSetup::new(SIZE)), sequence: 0 }
    }

    /// Sends a number of packets, each reported 40 ms after it left. Answers the rate in Mbit/s.
    fn run(&mut self, packets: u64, status: impl Fn(u64, Time) -> Status) -> f64 {
        for _ in 0..packets {
            let sequence = self.sequence;
            self.sequence += 1;
            let now = at(1000 + 10 * sequence as i64);
            let stream = StreamId(0);
            let sent = SentPacket { stream, sequence, size: SIZE, probe: None, app_limited: false };
            let _ = self.nada.on_sent(now, &sent);
            let Some(sequence) = sequence.checked_sub(4) else { continue };
            let sent = at(1000 + 10 * sequence as i64);
            let status = status(sequence, sent + ms(20));
            let packet = PacketResult { stream, sequence, size: SIZE, sent, status };
            let report = PacketsReport { packets: &[packet], clock_step: ms(1), ambiguous: false };
            let _ = self.nada.on_report(now, &Report::Packets(report));
        }
        self.nada.reference.r_ref / 1e6
    }
}

fn received(_: u64, arrived: Time) -> Status {
    Status::Received { arrived: Some(arrived), ecn: Ecn::Ect0 }
}

/// Equation (4): the rate is what arrives and gamma of it. Where the sender does not use that, it rises to twice what arrives.
#[test]
fn ramp_up_follows_what_arrives() {
    let params = Params { target_bitrate_max: Bitrate::from_mbps(5), ..Params::default() };
    let mut sender = Sender::new(&params);
    let rate = sender.run(120, received);
    let expected = 0.96 * (1.0 + 50.0 / 260.0);
    assert!((rate / expected - 1.0).abs() < 0.02, "{rate}, expected {expected}");
    let rate = sender.run(1000, received);
    assert!((rate / (2.0 * 0.96) - 1.0).abs() < 0.03, "{rate}");
}

#[test]
fn losses_and_marks_lower_the_rate_and_their_end_raises_it() {
    let lost = |packet: u64, arrived| {
        if packet.is_multiple_of(20) { Status::Missing } else { received(packet, arrived) }
    };
    let marked = |packet: u64, arrived| {
        let ecn = if packet.is_multiple_of(10) { Ecn::Ce } else { Ecn::Ect0 };
        Status::Received { arrived: Some(arrived), ecn }
    };
    for harmed in [&lost as &dyn Fn(u64, Time) -> Status, &marked] {
        let mut sender = Sender::new(&Params::default());
        let before = sender.run(200, received);
        let low = sender.run(300, harmed);
        let after = sender.run(400, received);
        assert!(low < 0.5 * before && after > 2.0 * low, "{before} {low} {after}");
    }
}

/// A packet that turns up behind its neighbour within the reordering window was not lost; with the RFC's own rule it was.
#[test]
fn packets_that_are_overtaken_within_the_window_are_not_lost() {
    let letter = Params { reorder_window: ms(0), reorder_window_max: ms(0), ..Params::default() };
    for (params, lost) in [(Params::default(), false), (letter, true)] {
        let mut detectors = Nada::new(&params, &FlowSetup::new(SIZE));
        let result = |sequence, status| PacketResult {
            stream: StreamId(0),
            sequence,
            size: SIZE,
            sent: at(1000 + 5 * sequence as i64),
            status,
        };
        for sequence in 0..2 {
            let stream = StreamId(0);
            let sent = SentPacket { stream, sequence, size: SIZE, probe: None, app_limited: false };
            let _ = detectors.on_sent(at(1000 + 5 * sequence as i64), &sent);
        }
        let packets = [result(0, Status::Missing), result(1, received(1, at(1100)))];
        let report = PacketsReport { packets: &packets, clock_step: ms(1), ambiguous: false };
        let _ = detectors.on_report(at(1150), &Report::Packets(report));
        let _ = detectors.observation.feedback(&params);
        assert_eq!(detectors.observation.p_loss > 0.0, lost);
    }
}

/// RFC 8699 section 6.1: the group is told `r_ref`, whatever waits, and sets it.
#[test]
fn coupling_is_told_the_reference_rate_and_sets_it() {
    let mut sender = Sender::new(&Params::default());
    assert_eq!(sender.nada.share(), None, "no round trip yet");
    sender.run(200, received);
    let queue = SendQueueState { bytes: Bytes::new(9000), ..SendQueueState::default() };
    let _ = sender.nada.on_send_queue(at(3100), &queue);
    let r_ref = Bitrate::from_bps_f64(sender.nada.reference.r_ref);
    assert_eq!(sender.nada.share(), Some(Assigned::Rate(r_ref)));
    assert!(sender.nada.snapshot().target < Some(r_ref));
    let _ = sender.nada.assign(at(3100), Assigned::Rate(Bitrate::from_kbps(700)));
    assert_eq!(sender.nada.share(), Some(Assigned::Rate(Bitrate::from_kbps(700))));
    let _ = sender.nada.assign(at(3100), Assigned::Rate(Bitrate::from_mbps(90)));
    assert_eq!(sender.nada.share(), Some(Assigned::Rate(Bitrate::from_kbps(1500))), "within RMAX");
}

/// RMIN and RMAX of a flow are the sums over its streams.
#[test]
fn limits_add_up_over_the_streams() {
    let setup = FlowSetup { priorities: alloc::vec![1.0, 2.0], ..FlowSetup::new(SIZE) };
    let mut nada = Nada::new(&Params::default(), &setup);
    assert_eq!(nada.bounds, Bounds { rmin: 300e3, rmax: 3e6 });
    let limits = Limits { stream: StreamId(1), min: Bitrate::from_kbps(50), max: Bitrate::from_kbps(64) };
    let _ = nada.on_limits(at(0), &limits);
    assert_eq!(nada.bounds, Bounds { rmin: 200e3, rmax: 1_564e3 });
    let _ = nada.on_stream(at(0), StreamId(0), StreamChange::Left);
    assert_eq!(nada.bounds, Bounds { rmin: 50e3, rmax: 64e3 });
    let nobody = Limits { stream: StreamId(2), ..limits };
    assert_eq!(nada.on_limits(at(0), &nobody), Update::none(), "there is no such stream");
    for change in [StreamChange::Priority(3.0), StreamChange::Gone] {
        assert_eq!(nada.on_stream(at(0), StreamId(1), change), Update::none());
    }
    assert_eq!(nada.bounds, Bounds { rmin: 50e3, rmax: 64e3 });
}
