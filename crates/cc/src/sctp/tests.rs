//! RFC 9260 section 7.2 as vectors (no text at hand), each of a constant that the text has.

use super::*;
use crate::window::drive::{Flow, SIZE, close, lost};
use crate::{FlowSetup, Recovery};
use paceline_units::param::Profiles;
use paceline_units::{Bytes, Ecn, TimeDelta};

fn make(profile: &str) -> Flow<SctpLaw> {
    Flow::new(Sctp::new(&Params::profile(profile).expect("a profile"), &FlowSetup::new(Bytes::new(SIZE))))
}

/// A full window after a loss of 2 `packets`, above its threshold.
fn avoiding(packets: u64) -> Flow<SctpLaw> {
    let mut flow = make("rfc9260").avoiding(2 * packets);
    flow.tell(Recovery::Entered { lost: lost(1) });
    let all = flow.first()..flow.next;
    flow.ack(all, Ecn::NotEct);
    flow.tell(Recovery::Left);
    flow.fill();
    assert_eq!((flow.cwnd(), flow.ssthresh()), (packets as f64, packets as f64));
    flow
}

/// Section 7.2.1: min(4 MTU, max(2 MTU, 4404 B)).
#[test]
fn the_first_window_is_4404_bytes_within_two_and_four_packets() {
    for (packet, bytes) in [(576, 2304), (1101, 4404), (1500, 4404), (2202, 4404), (9000, 18_000)] {
        let sender = Sctp::new(&Params::default(), &FlowSetup::new(Bytes::new(packet)));
        assert_eq!(crate::Controller::snapshot(&sender).window, Some(Bytes::new(bytes)), "{packet}");
    }
    assert_eq!(make("ns2").cwnd(), 2.0, "RFC 2960");
}

/// Section 7.2.1: the bytes that a SACK covers, a packet at most, and only for a full window.
#[test]
fn slow_start_adds_what_is_acknowledged_a_packet_at_most_if_the_window_is_full() {
    let mut flow = make("rfc9260");
    flow.fill();
    flow.ack(0..3, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 5.0, "4 packets of 1000 B, and one");
    flow.send(2);
    flow.ack(3..4, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 5.0, "2 of 5 packets were in flight");
}

/// Section 7.2.2: a packet for a window of acknowledged bytes; what is above it stays.
#[test]
fn avoidance_adds_a_packet_for_a_window_of_bytes() {
    let mut flow = avoiding(10);
    let first = flow.first();
    flow.ack(first..first + 2, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 11.0, "section 7.2.1: up to the threshold is slow start");
    let mut acked = 0;
    while flow.cwnd() == 11.0 {
        flow.fill();
        let first = flow.first();
        flow.ack(first..first + 2, Ecn::NotEct);
        acked += 2;
        assert!(acked < 20);
    }
    assert_eq!((flow.cwnd(), acked), (12.0, 12), "11 packets, by twos");
    assert_eq!(flow.sender.parts().0.partial, 1000.0);
}

/// Section 7.2.2: nothing is saved up beyond a window while it is not full, and nothing when all is acknowledged.
#[test]
fn acknowledgements_of_a_window_that_is_not_full_save_up_one_step() {
    let mut flow = avoiding(10);
    let first = flow.first();
    flow.ack(first..first + 1, Ecn::NotEct);
    for _ in 0..30 {
        let first = flow.first();
        flow.ack(first..first + 1, Ecn::NotEct);
        if flow.first() + 4 > flow.next {
            flow.send(1);
        }
    }
    assert_eq!((flow.cwnd(), flow.sender.parts().0.partial), (11.0, 11_000.0));
    let all = flow.first()..flow.next;
    flow.ack(all, Ecn::NotEct);
    assert_eq!(flow.sender.parts().0.partial, 0.0);
}

/// Section 7.2.3: half the window, four packets at least; a packet after T3-rtx.
#[test]
fn a_loss_leaves_half_and_a_timeout_one_packet() {
    for (packets, left) in [(40, 20.0), (6, 4.0)] {
        let mut flow = make("rfc9260").avoiding(packets);
        flow.tell(Recovery::Entered { lost: lost(1) });
        assert_eq!((flow.cwnd(), flow.ssthresh()), (left, left));
        let mut flow = make("rfc9260").avoiding(packets);
        flow.tell(Recovery::TimedOut);
        assert_eq!((flow.cwnd(), flow.ssthresh()), (1.0, left));
    }
    let params = Params::profile("ns2").expect("a profile");
    let mut flow = Flow::new(Sctp::new(&params, &FlowSetup::new(Bytes::new(SIZE)))).avoiding(6);
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!(flow.cwnd(), 3.0, "RFC 2960: two packets at least");
}

/// Section 7.2.1: half in each timeout of a second without data, not below four packets; the threshold is the window before.
#[test]
fn a_pause_halves_the_window_in_each_timeout() {
    for (seconds, left) in [(0.9, 41.0), (1.1, 20.5), (2.1, 10.25), (10.0, 4.0), (1e6, 4.0)] {
        let mut flow = avoiding(40);
        let all = flow.first()..flow.next;
        flow.ack(all, Ecn::NotEct);
        flow.now += TimeDelta::from_secs_f64(seconds);
        flow.send(1);
        close(flow.cwnd(), left);
        close(flow.ssthresh(), if seconds < 1.0 { 40.0 } else { 41.0 });
    }
}

/// An assigned window that meets the threshold is no slow start: else a group's assignments would make every SACK add a packet.
#[test]
fn a_coupled_window_at_its_threshold_avoids_congestion() {
    let mut flow = avoiding(10);
    let first = flow.first();
    flow.ack(first..first + 2, Ecn::NotEct);
    flow.fill();
    flow.ack(first + 2..first + 4, Ecn::NotEct);
    let _ = crate::Controller::assign(&mut flow.sender, flow.now, crate::Assigned::Window(lost(10)));
    flow.fill();
    flow.ack(first + 4..first + 6, Ecn::NotEct);
    assert_eq!((flow.cwnd(), flow.ssthresh()), (10.0, 10.0));
}
