//! The equations of Caini and Firrincieli as vectors.

use super::*;
use crate::FlowSetup;
use crate::window::Avoidance;
use crate::window::drive::{ACK, Flow, SIZE, close, one_step};
use paceline_units::Bytes;
use paceline_units::param::Profiles;

fn make(profile: &str, packets: u64) -> Flow<Avoidance<HyblaRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Hybla::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

fn step(profile: &str, packets: u64) -> (f64, f64) {
    one_step(|| make(profile, packets))
}
use paceline_units::TimeDelta;

fn at(rtt: TimeDelta) -> (f64, Option<f64>) {
    let mut flow = make("2004", 50);
    // The first acknowledgements of these tests come after 100 ms.
    flow.sender.parts().0.rule().least_rtt = rtt.as_secs_f64() * 2.0;
    let ack = Ack { now: flow.now, rtt: Some(rtt), ..ACK };
    let (law, window) = flow.sender.parts();
    law.rule().on_ack(window, &ack);
    (law.rule().increase(window, &ack), law.rule().slow_start())
}

#[test]
fn growth_goes_with_the_square_of_the_round_trip_from_25_ms_on() {
    let ms = TimeDelta::from_millis;
    for (rtt, grown, doubling) in [
        (ms(5), 1.0, None),
        (ms(25), 1.0, None),
        (ms(50), 4.0, Some(3.0)),
        (ms(100), 16.0, Some(15.0)),
        (ms(75), 9.0, Some(7.0)),
    ] {
        let (increase, slow_start) = at(rtt);
        close(increase, grown);
        assert_eq!(slow_start.map(f64::round), doubling, "{rtt:?}");
    }
    close(at(TimeDelta::from_secs(100)).0, 160_000.0);
    close(step("2004", 50).1, 0.5);
}
