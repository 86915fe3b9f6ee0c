//! Times that can be and times that cannot, of a path of 20 ms each way.

use super::*;
use paceline_cc::StreamId;
use paceline_units::{Bytes, Ecn};
use proptest::prelude::*;

const HOUR: i64 = 3_600_000;

fn at(millis: i64) -> Time {
    Time::from_nanos(millis as u64 * 1_000_000)
}

/// Reports on packets that took `way` ms, of a clock that is ahead by `ahead` ms.
fn results(sent: i64, way: i64, ahead: i64) -> Vec<PacketResult> {
    let status = Status::Received { arrived: Some(at(sent + way + ahead)), ecn: Ecn::NotEct };
    vec![PacketResult { stream: StreamId(0), sequence: 0, size: Bytes::new(1000), sent: at(sent), status }]
}

struct Sender {
    times: PlausibleTimes,
}

impl Sender {
    fn new() -> Sender {
        Sender { times: PlausibleTimes::new(TimeDelta::from_millis(1)) }
    }

    /// A report on a packet sent at `sent` that took `way` comes after another 20 ms, all in ms: the arrival that the controller
    /// sees, and whether the report's times are believed.
    fn hears(&mut self, sent: i64, way: i64, ahead: i64) -> (Option<i64>, bool) {
        let mut results = results(sent, way, ahead);
        let impossible = self.times.judge(at(sent + way + 20), at(sent + way + ahead), &mut results);
        let Status::Received { arrived, .. } = results[0].status else { panic!("it arrived all the same") };
        (arrived.map(|arrived| (arrived - Time::ZERO).as_nanos() / 1_000_000), impossible == 0)
    }
}

#[test]
fn a_report_from_another_time_is_put_right_and_teaches_nothing() {
    let mut sender = Sender::new();
    let ahead = 10 * HOUR;
    for n in 0..1000 {
        assert_eq!(sender.hears(20 * n, 20, ahead), (Some(20 * n + 20 + ahead), true));
        if n % 100 == 50 {
            for other in [9 * HOUR, 18 * HOUR, 27 * HOUR, -9 * HOUR, HOUR, 100, -100] {
                let heard = sender.hears(20 * n + 1, 20, ahead + other);
                assert_eq!(heard, (Some(20 * n + 21 + ahead), false), "{other}");
            }
        }
    }
    let shown = sender.times.receiver_time(at(20_000)).expect("known") - at(20_000);
    assert!((shown.as_millis_f64() - ahead as f64 - 20.0).abs() < 1.0, "the shortest way in: {shown:?}");
}

#[test]
fn a_single_arrival_before_its_sending_is_unknown() {
    let mut sender = Sender::new();
    sender.hears(0, 20, 500);
    let mut both = results(100, 20, 500);
    both.extend(results(115, 3 - 40, 500));
    assert_eq!(sender.times.judge(at(140), at(120 + 500), &mut both), 1);
    assert_eq!(both[0].status, Status::Received { arrived: Some(at(620)), ecn: Ecn::NotEct });
    assert_eq!(both[1].status, Status::Received { arrived: None, ecn: Ecn::NotEct });
    let mut unknown = results(150, 20, 500);
    unknown[0].status = Status::Received { arrived: None, ecn: Ecn::NotEct };
    assert_eq!(sender.times.judge(at(190), at(670), &mut unknown), 0);
    let mut missing = results(150, 20, 500);
    missing[0].status = Status::Missing;
    assert_eq!(sender.times.judge(at(190), at(0), &mut missing), 0, "it says of no time");
}

/// A clock is put back between an arrival and the report of it, which then precedes that.
#[test]
fn an_arrival_after_the_writing_of_its_report_is_unknown() {
    let mut sender = Sender::new();
    sender.hears(0, 20, 500);
    let mut both = results(100, 20, 500);
    both.extend(results(110, 20, 500 - 200));
    assert_eq!(sender.times.judge(at(150), at(130 + 300), &mut both), 2, "the report, and one arrival");
    let arrived = |result: &PacketResult| match result.status {
        Status::Received { arrived, .. } => arrived,
        Status::Missing => panic!("it arrived all the same"),
    };
    assert_eq!((arrived(&both[0]), arrived(&both[1])), (None, Some(at(630))));
}

#[test]
fn a_clock_that_was_set_is_believed_after_a_second_and_its_step_is_not_seen() {
    for step in [-400, 60, 9 * HOUR] {
        let mut sender = Sender::new();
        (0..50).for_each(|n| assert!(sender.hears(20 * n, 20, 500).1));
        // A queue on the way there, from the step on.
        let heard: Vec<_> = (50..200).map(|n| (n, sender.hears(20 * n, 30, 500 + step))).collect();
        let first = heard.iter().position(|(_, (_, believed))| *believed).expect("believed again");
        assert!((45..55).contains(&first), "{first} of 20 ms");
        assert!(heard[first..].iter().all(|(_, (_, believed))| *believed));
        for (n, (arrived, _)) in heard {
            let took = arrived.expect("an arrival") - 20 * n - 500;
            assert!((28..=31).contains(&took), "{took} ms after {step}");
        }
    }
}

#[test]
fn a_forger_is_not_believed_while_the_receiver_speaks() {
    let mut sender = Sender::new();
    for n in 0..500 {
        assert!(sender.hears(20 * n, 20, 500).1);
        let (arrived, believed) = sender.hears(20 * n + 1, 20, 500 + HOUR);
        assert_eq!((arrived, believed), (Some(20 * n + 21 + 500), false), "though consistent");
    }
}

proptest! {
    /// Whatever the clocks, the ways and the queues: what is true is believed.
    #[test]
    fn what_is_true_is_believed(
        ahead in 0i64..1 << 36,
        skew in -0.001f64..0.001,
        ways in prop::collection::vec((0i64..2_000, 0i64..2_000, 1i64..200), 1..300),
    ) {
        let mut times = PlausibleTimes::new(TimeDelta::from_millis(1));
        let clock = |now: i64| at(ahead + now + (now as f64 * skew) as i64);
        let (mut now, mut last) = (0, 0);
        for (way, back, gap) in ways {
            now += gap;
            let arrived = Some(clock(now + way));
            let mut results = results(now, 0, 0);
            results[0].status = Status::Received { arrived, ecn: Ecn::NotEct };
            last = last.max(now + way + back);
            prop_assert_eq!(times.judge(at(last), clock(now + way), &mut results), 0);
            prop_assert_eq!(results[0].status, Status::Received { arrived, ecn: Ecn::NotEct });
        }
    }

    #[test]
    fn nothing_panics(told in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()), 0..50)) {
        let mut times = PlausibleTimes::new(TimeDelta::from_millis(1));
        for (now, written, sent, arrived) in told {
            let [now, written, sent, arrived] = [now, written, sent, arrived].map(Time::from_nanos);
            let mut results = results(0, 0, 0);
            results[0].sent = sent;
            results[0].status = Status::Received { arrived: Some(arrived), ecn: Ecn::Ce };
            let _ = times.judge(now, written, &mut results);
            let _ = times.receiver_time(now);
        }
    }
}
