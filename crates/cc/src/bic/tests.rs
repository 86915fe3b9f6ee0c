//! The search of the paper as vectors, and Linux's.

use super::*;
use crate::window::Avoidance;
use crate::window::drive::{Flow, SIZE, close, lost, one_step};
use crate::{FlowSetup, Recovery};
use paceline_units::Bytes;
use paceline_units::param::Profiles;

fn make(profile: &str, packets: u64) -> Flow<Avoidance<BicRule>> {
    let params = Params::profile(profile).expect("a profile");
    Flow::new(Bic::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(packets)
}

fn step(profile: &str, packets: u64) -> (f64, f64) {
    one_step(|| make(profile, packets))
}

#[test]
fn the_search_halves_the_way_within_its_bounds() {
    let mut flow = make("2004", 1000);
    flow.tell(Recovery::Entered { lost: lost(1) });
    close(flow.cwnd(), 875.0);
    let rule = flow.sender.parts().0.rule();
    assert_eq!(rule.max_win, 1000.0);
    for (way, step) in [(125.0, 32.0), (64.0, 32.0), (20.0, 10.0), (1.0, 0.5), (0.002, 0.01)] {
        assert_eq!(rule.search(way), step, "{way} packets below the last loss");
    }
}

#[test]
fn beyond_the_last_loss_it_probes_as_slow_start_does() {
    let rule = BicRule::new(&Params::default()).0;
    for (beyond, step) in
        [(0.0, 1.0), (0.9, 1.0), (1.0, 2.0), (3.0, 4.0), (7.5, 8.0), (31.0, 32.0), (1e9, 32.0)]
    {
        assert_eq!(rule.probe(beyond), step, "{beyond} packets beyond the last loss");
    }
}

#[test]
fn linux_goes_a_quarter_of_the_way_and_crosses_the_last_loss_slowly() {
    let rule = BicRule::new(&Params::linux()).0;
    for (way, step) in [(125.0, 16.0), (40.0, 10.0), (4.0, 0.2), (0.1, 0.2)] {
        assert_eq!(rule.search(way), step, "{way} packets below the last loss");
    }
    for (beyond, step) in [(0.0, 0.2), (3.9, 0.2), (6.0, 2.0), (60.0, 16.0)] {
        assert_eq!(rule.probe(beyond), step, "{beyond} packets beyond the last loss");
    }
    close(step("linux", 100).1, 0.8);
}

#[test]
fn a_maximum_that_falls_is_lowered_further_and_small_windows_are_reno_s() {
    let mut flow = make("2004", 1000);
    flow.tell(Recovery::Entered { lost: lost(1) });
    flow.tell(Recovery::Left);
    flow.fill();
    flow.send(100);
    flow.tell(Recovery::TimedOut);
    let rule = flow.sender.parts().0.rule();
    close(rule.max_win, 875.0 * (1.0 - 0.125 / 2.0));
    close(step("2004", 13).0, 1.0);
    close(step("2004", 13).1, 0.5);
    close(step("2004", 14).1, 0.875);
}

#[test]
fn a_spurious_reduction_brings_the_maximum_back() {
    let mut flow = make("2004", 100);
    flow.tell(Recovery::Entered { lost: lost(1) });
    flow.tell(Recovery::Spurious);
    assert_eq!((flow.cwnd(), flow.sender.parts().0.rule().max_win), (100.0, 0.0));
}

/// Windows of ns-2.35 (`Agent/TCP/Linux`, `bic`) in a trace of one sample for each round trip of 100 ms, and the growth until the next one:
/// after a loss at 951 packets, and 2.5 s later beyond it. Its acknowledgements count twice.
#[test]
fn linux_grows_as_ns2_was_traced_to() {
    let rule = BicRule { max_win: 951.0, ..BicRule::new(&Params { ack_ratio: 2.0, ..Params::linux() }).0 };
    let traced = [
        (772.0, 30.0),
        (802.0, 30.0),
        (832.0, 31.0),
        (863.0, 29.0),
        (892.0, 22.0),
        (914.0, 14.0),
        (928.0, 8.0),
        (936.0, 5.0),
        (941.0, 3.0),
        (957.0, 6.0),
        (963.0, 11.0),
        (974.0, 21.0),
        (995.0, 31.0),
    ];
    for (packets, growth) in traced {
        let mut w: f64 = packets;
        // Two hundred acknowledgements in a round trip.
        for _ in 0..200 {
            let step =
                if w < rule.max_win { rule.search(rule.max_win - w) } else { rule.probe(w - rule.max_win) };
            w += rule.params.ack_ratio * step / 200.0;
        }
        let grown = w - packets;
        // The trace has whole packets at both ends.
        assert!((grown - growth).abs() < (0.1 * growth).max(1.5), "{packets}: {grown}, ns-2 {growth}");
    }
}
