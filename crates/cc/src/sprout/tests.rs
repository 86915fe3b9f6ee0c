//! The judges of the model are the forecasts of the author's program; those of the rest are the paper's rules.

extern crate std;

use super::belief::Belief;
use super::forecast::{MOST_TICKS, Model};
use super::ticks::{Delivered, Observed, Ticks};
use super::*;
use crate::{Controller, Offered, PacketResult, Report, SendQueueState, SentPacket, StreamId, TimeoutReason};
use alloc::vec::Vec;
use paceline_units::Ecn;

/// The ticks of a series: how many packets arrived in so many ticks.
type Series = &'static [(i32, usize)];

/// No packet was due.
const SKIPPED: i32 = -1;

fn model(params: &Params) -> (Model, Belief) {
    let model = Model::new(params);
    let belief = Belief::new(&model.grid);
    (model, belief)
}

fn pass(model: &Model, belief: &mut Belief, series: Series) {
    for &(count, ticks) in series {
        let observed = if count == SKIPPED { Observed::Nothing } else { Observed::Exactly(count as usize) };
        (0..ticks).for_each(|_| belief.on_tick(&model.grid, &model.likelihoods, observed));
    }
}

/// A step of a series, and the forecast after it.
type Step = (Series, [u32; 8]);

/// The forecasts of the author's program: keithw/sprout c838669, src/sprout, compiled unchanged, with 256 rates up to 1000, sigma 200, escape
/// rate 1, ticks of 20 ms and the 5th percentile, over the same counts per tick. Each step goes on from the one before.
const ALONG: &[Step] = &[
    (&[], [1, 1, 3, 4, 5, 6, 8, 9]),
    (&[(8, 1)], [3, 7, 12, 17, 21, 26, 30, 35]),
    (&[(8, 50)], [3, 9, 15, 21, 27, 33, 39, 45]),
    (&[(0, 1)], [2, 6, 10, 15, 19, 23, 27, 32]),
    (&[(0, 2)], [0, 0, 1, 2, 3, 4, 5, 6]),
    (&[(0, 9)], [0; 8]),
    (&[(0, 88)], [0; 8]),
    (&[(4, 2)], [0, 1, 2, 3, 4, 5, 6, 8]),
    (&[(4, 10)], [1, 3, 5, 8, 10, 12, 15, 17]),
    (&[(SKIPPED, 5)], [0, 2, 3, 5, 6, 8, 9, 11]),
    (&[(SKIPPED, 20)], [0, 1, 2, 3, 4, 5, 6, 8]),
];

/// The same from the start anew, at the upper end of the grid.
const UPPER: &[Step] = &[
    (&[(20, 50)], [12, 28, 44, 61, 77, 94, 111, 128]),
    (&[(2, 1)], [11, 25, 39, 54, 69, 84, 99, 114]),
    (&[(2, 5)], [2, 6, 10, 14, 19, 23, 27, 31]),
    (&[(2, 50)], [0, 1, 2, 2, 4, 5, 6, 7]),
];

/// The same after an outage of 2 s, while nothing is due.
const OUTAGE: &[Step] = &[
    (&[(0, 100), (SKIPPED, 5)], [0; 8]),
    (&[(SKIPPED, 10)], [0, 0, 0, 0, 0, 0, 0, 1]),
    (&[(SKIPPED, 10)], [0, 0, 0, 0, 1, 1, 2, 3]),
    (&[(SKIPPED, 25)], [0, 1, 1, 2, 3, 4, 5, 7]),
    (&[(SKIPPED, 50)], [1, 2, 3, 5, 6, 7, 9, 11]),
];

/// How many points of how many are off by more than a tenth and a packet (a forecast is a whole number of them), and how many are equal.
fn judged(params: &Params, steps: &[Step]) -> (usize, usize, usize) {
    let ((model, mut belief), mut wrong, mut equal, mut points) = (model(params), 0, 0, 0);
    for (series, expected) in steps {
        pass(&model, &mut belief, series);
        let found = model.forecast(&belief.probabilities, &[0.0; MOST_TICKS]);
        std::println!("{series:?}: {expected:?} {:?}", &found[..8]);
        for (found, expected) in found.iter().zip(expected) {
            let expected = f64::from(*expected);
            wrong += usize::from((found - expected).abs() > f64::max(1.0, 0.1 * expected));
            equal += usize::from(*found == expected);
            points += 1;
        }
    }
    (wrong, points, equal)
}

#[test]
fn forecasts_are_those_of_the_authors_program() {
    let [along, upper, outage] = [ALONG, UPPER, OUTAGE].map(|steps| judged(&Params::default(), steps));
    std::println!(
        "equal: {} of {}, {} of {}, {} of {}",
        along.2,
        along.1,
        upper.2,
        upper.1,
        outage.2,
        outage.1
    );
    assert_eq!([along, upper, outage].map(|(wrong, points, _)| (wrong, points)), [(0, 88), (0, 32), (0, 40)]);
    assert!(
        along.2 >= 80 && upper.2 >= 26 && outage.2 >= 30,
        "{} {} {} are equal",
        along.2,
        upper.2,
        outage.2
    );
}

#[test]
fn a_wrong_constant_gives_other_forecasts() {
    let usual = Params::default();
    let wrong = [
        ("sigma", Params { sigma: 260.0, ..usual.clone() }),
        ("sigma", Params { sigma: 150.0, ..usual.clone() }),
        ("confidence", Params { confidence: 0.9, ..usual.clone() }),
        ("tick", Params { tick: TimeDelta::from_millis(25), ..usual.clone() }),
        ("rate_max", Params { rate_max: 700.0, ..usual.clone() }),
        ("lambda_z", Params { lambda_z: 5.0, ..usual }),
    ];
    for (name, params) in wrong {
        let off: usize = [ALONG, UPPER, OUTAGE].map(|steps| judged(&params, steps).0).iter().sum();
        assert!(off >= 2, "{name}: {off} points are off");
    }
}

#[test]
fn probabilities_stay_a_distribution() {
    let (model, mut belief) = model(&Params::default());
    for observed in [
        Observed::Exactly(usize::MAX),
        Observed::Exactly(0),
        Observed::AtLeast(usize::MAX),
        Observed::AtLeast(1),
        Observed::Nothing,
    ] {
        (0..100).for_each(|_| belief.on_tick(&model.grid, &model.likelihoods, observed));
        let sum: f64 = belief.probabilities.iter().sum();
        assert!(
            (sum - 1.0).abs() < 1e-9 && belief.probabilities.iter().all(|part| *part >= 0.0),
            "{observed:?}"
        );
    }
}

#[test]
fn a_lower_bound_raises_the_forecast_and_never_lowers_it() {
    let (model, mut belief) = model(&Params::default());
    pass(&model, &mut belief, &[(4, 50)]);
    let before = model.forecast(&belief.probabilities, &[0.0; MOST_TICKS])[4];
    (0..50).for_each(|_| belief.on_tick(&model.grid, &model.likelihoods, Observed::AtLeast(6)));
    let after = model.forecast(&belief.probabilities, &[0.0; MOST_TICKS])[4];
    assert!(before < 13.0 && after > 1.5 * before, "{before}, then {after}");
}

const TICK: TimeDelta = TimeDelta::from_millis(20);

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// A packet by its times in ms, and whether the application paused before it.
fn delivered(sent: u64, arrived: u64, wait: i64, after_pause: bool) -> Delivered {
    let (sent, arrived, wait) = (at(sent), at(arrived), TimeDelta::from_millis(wait));
    Delivered { sent, arrived, wait, packets: 1.0, after_pause }
}

fn observed(packets: &[Delivered]) -> Vec<Observed> {
    let (mut ticks, mut all) = (Ticks::new(TICK), Vec::new());
    packets.iter().for_each(|packet| ticks.on_delivered(packet, |tick| all.push(tick)));
    all
}

#[test]
fn ticks_in_which_packets_were_due_count_whole() {
    use Observed::{Exactly, Nothing};
    let queued = [(0, 100), (0, 105), (0, 125), (0, 190)].map(|(sent, at)| delivered(sent, at, 50, false));
    assert_eq!(observed(&queued), [Exactly(2), Exactly(1), Exactly(0), Exactly(0)], "one flight");
    // The second flight leaves 70 ms after the first: nothing is due before 170 ms.
    let later = [(0, 100), (0, 105), (70, 190)].map(|(sent, at)| delivered(sent, at, 0, false));
    assert_eq!(observed(&later), [Exactly(2), Nothing, Nothing, Nothing], "skipped until it is due");
}

#[test]
fn a_tick_that_the_media_left_idle_is_a_lower_bound() {
    use Observed::{AtLeast, Exactly, Nothing};
    let frames = [(0, 100, false), (0, 104, false), (40, 140, true), (40, 144, false), (80, 180, true)];
    let packets = frames.map(|(sent, at, pause)| delivered(sent, at, 0, pause));
    assert_eq!(observed(&packets), [AtLeast(2), Nothing, AtLeast(2), Nothing]);
    // The same, but each waited: the link was never idle.
    let packets = frames.map(|(sent, at, pause)| delivered(sent, at, 40, pause));
    assert_eq!(observed(&packets)[..3], [Exactly(2), Nothing, Exactly(2)]);
}

#[test]
fn small_packets_add_up_to_whole_ones() {
    let third = |n: u64| Delivered { packets: 0.4, ..delivered(0, 100 + 20 * n, 50, false) };
    let counts: Vec<_> = observed(&(0..11).map(third).collect::<Vec<_>>());
    let sum: usize =
        counts.iter().map(|tick| if let Observed::Exactly(count) = tick { *count } else { 99 }).sum();
    assert_eq!(sum, 4, "ten ticks of 0.4 packets");
}

#[test]
fn another_clock_and_reordering_do_no_harm() {
    let mut packets =
        [delivered(0, 100_000, 0, false), delivered(5, 5, 0, false), delivered(6, 60, 0, false)];
    assert!(observed(&packets).len() <= 3);
    packets.reverse();
    assert!(observed(&packets).len() <= 600, "{}", observed(&packets).len());
}

#[test]
fn the_window_is_the_forecast_of_the_look_ahead_less_what_waits() {
    let params = Params::default();
    let mut window = Window::new(&params);
    let mut forecast = [0.0; forecast::MOST_TICKS];
    (0..8).for_each(|tick| forecast[tick] = [3.0, 9.0, 15.0, 21.0, 27.0, 33.0, 39.0, 45.0][tick]);
    window.on_forecast(at(0), forecast);
    window.on_in_flight(&params, Bytes::new(10 * 1500));
    assert_eq!(window.bytes(&params), Bytes::new((33 - 3 - 10) * 1500));
    window.on_sent(&params, Bytes::new(20 * 1500));
    assert_eq!(window.bytes(&params), Bytes::ZERO);
    window.pass(&params, at(20));
    assert_eq!(window.bytes(&params), Bytes::new((39 - 9 - 27) * 1500), "3 packets have left the queue");
    window.pass(&params, at(40));
    assert_eq!(window.bytes(&params), Bytes::new((45 - 15 - 21) * 1500), "and 6 more");
    window.pass(&params, at(10_000));
    assert_eq!(window.bytes(&params), Bytes::ZERO, "no forecast reaches so far");
}

/// A sender over a path of 20 ms each way that delivers a packet each `gap_ms`, with a report each 20 ms: packets delivered in a
/// second after `seconds`.
fn saturated(params: &Params, gap_ms: u64, seconds: u64) -> u64 {
    let size = Bytes::new(1500);
    let mut sprout = Sprout::new(params, &FlowSetup::new(size));
    let (mut allowance, mut sent, mut arrived) = (Bytes::ZERO, Vec::new(), Vec::new());
    let (mut free, mut reported, mut count) = (0, 0, 0);
    let greedy =
        SendQueueState { bytes: Bytes::new(100_000), packets: 66, greedy: true, ..SendQueueState::default() };
    let allow = |update: Update, allowance: &mut Bytes| {
        if let Some(Allowance::Bytes(bytes)) = update.allowance {
            *allowance = bytes;
        }
    };
    for now in 0..(seconds + 1) * 1000 {
        let offered = Offered { stream: StreamId(0), bytes: size, frame_end: false };
        allow(sprout.on_offered(at(now), &offered, &greedy), &mut allowance);
        while sprout.next_timeout().is_some_and(|(due, _)| due <= at(now)) {
            allow(sprout.on_timeout(at(now)), &mut allowance);
        }
        if now % 20 == 0 {
            let told: Vec<PacketResult> = (reported..sent.len())
                .take_while(|number| arrived[*number] + 20 <= now)
                .map(|number| PacketResult {
                    stream: StreamId(0),
                    sequence: number as u64,
                    size,
                    sent: at(sent[number]),
                    status: Status::Received { arrived: Some(at(arrived[number])), ecn: Ecn::NotEct },
                })
                .collect();
            reported += told.len();
            count += if now >= seconds * 1000 { told.len() as u64 } else { 0 };
            let report =
                PacketsReport { packets: &told, clock_step: TimeDelta::from_nanos(1), ambiguous: false };
            allow(sprout.on_report(at(now), &Report::Packets(report)), &mut allowance);
        }
        while allowance >= size {
            free = (now + 20).max(free) + gap_ms;
            arrived.push(free);
            let sequence = sent.len() as u64;
            sent.push(now);
            let packet = SentPacket { stream: StreamId(0), sequence, size, probe: None, app_limited: false };
            allow(sprout.on_sent(at(now), &packet), &mut allowance);
        }
    }
    count
}

#[test]
fn a_link_without_noise_is_used_whole() {
    let cautious = saturated(&Params::default(), 3, 20);
    let mean = saturated(&Params { ewma_weight: 0.125, ..Params::default() }, 3, 20);
    assert!((280..=340).contains(&cautious) && (280..=340).contains(&mean), "{cautious} and {mean} of 333");
}

#[test]
fn without_reports_few_packets_leave_and_ever_fewer() {
    let mut sprout = Sprout::new(&Params::default(), &FlowSetup::new(Bytes::new(1212)));
    let mut left = Vec::new();
    for now in 0..12_000 {
        while let Some((due, reason)) = sprout.next_timeout().filter(|(due, _)| *due <= at(now)) {
            assert!(due <= at(now) && reason != TimeoutReason::Stalled);
            let _ = sprout.on_timeout(at(now));
        }
        if sprout.allowance() >= Bytes::new(1212) {
            left.push(now);
            let (sequence, size) = (left.len() as u64, Bytes::new(1212));
            let packet = SentPacket { stream: StreamId(0), sequence, size, probe: None, app_limited: false };
            let _ = sprout.on_sent(at(now), &packet);
        }
    }
    let late = left.iter().filter(|now| **now > 2000).count();
    assert!((10..=30).contains(&left.len()) && (1..=6).contains(&late), "{left:?}");
}
