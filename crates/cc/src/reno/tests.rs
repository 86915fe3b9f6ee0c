//! The equations of RFC 5681 as vectors, and where the profile `ns2` differs.

use super::*;
use crate::FlowSetup;
use crate::window::WindowPacing;
use crate::window::drive::{Flow, SIZE, lost};
use crate::{Controller, Recovery, StreamId};
use paceline_units::param::Profiles;
use paceline_units::{Bitrate, Bytes, Ecn, TimeDelta};

fn make(profile: &str, initial_window: u64) -> Flow<RenoLaw> {
    let setup = FlowSetup { initial_window, ..FlowSetup::new(Bytes::new(SIZE)) };
    Flow::new(Reno::new(&Params::profile(profile).unwrap(), &setup))
}

/// In avoidance with a full window of `packets`, the first `ssthresh` at that.
fn avoiding(profile: &str, packets: u64) -> Flow<RenoLaw> {
    make(profile, packets).avoiding(packets)
}

#[test]
fn slow_start_adds_what_is_acknowledged_at_most_a_packet_per_acknowledgement() {
    let mut flow = make("rfc5681", 10);
    flow.fill();
    flow.ack(0..1, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 11.0);
    flow.ack(1..4, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 12.0, "RFC 5681 equation 2 with three packets in one acknowledgement");
    let params = Params::profile("rfc3465").unwrap();
    flow.sender = Reno::new(&params, &FlowSetup::new(Bytes::new(SIZE)));
    flow.next = 0;
    flow.fill();
    flow.ack(0..3, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 12.0, "RFC 3465 with L = 2");
}

#[test]
fn avoidance_adds_a_packet_per_window() {
    let mut flow = avoiding("rfc3465", 10);
    flow.ack(0..9, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 10.0);
    flow.ack(9..10, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 11.0);
}

#[test]
fn without_byte_counting_every_acknowledgement_adds_its_part() {
    let mut flow = avoiding("rfc5681", 10);
    flow.ack(0..2, Ecn::NotEct);
    assert!((flow.cwnd() - 10.1).abs() < 1e-9, "RFC 5681 equation 3: two packets, one acknowledgement");
}

#[test]
fn ns2_counts_acknowledgements_not_bytes() {
    let mut flow = make("ns2", 2);
    flow.fill();
    flow.ack(0..2, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 3.0, "one acknowledgement");
    let mut flow = avoiding("ns2", 10);
    flow.ack(0..2, Ecn::NotEct);
    assert!((flow.cwnd() - 10.1).abs() < 1e-9);
    flow.ack(2..3, Ecn::NotEct);
    assert!((flow.cwnd() - (10.1 + 1.0 / 10.1)).abs() < 1e-9);
    let allowed = flow.sender.parts().1.bytes();
    assert_eq!(allowed, 10_000, "only whole packets of 10.2 may be sent");
}

#[test]
fn a_loss_leaves_half_the_flight_and_ns2_half_the_window() {
    for (profile, left) in [("rfc5681", 4.0), ("ns2", 10.0)] {
        let mut flow = make(profile, 20);
        flow.send(8);
        flow.tell(Recovery::Entered { lost: lost(1) });
        assert_eq!((flow.cwnd(), flow.ssthresh()), (left, left), "{profile}");
        flow.tell(Recovery::Lost { lost: lost(1) });
        assert_eq!(flow.cwnd(), left, "once per recovery");
        assert_eq!(flow.sender.snapshot().in_flight, Some(lost(6)));
    }
    let mut flow = make("rfc5681", 20);
    flow.send(3);
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!(flow.cwnd(), 2.0, "two packets at least");
}

#[test]
fn what_limited_transmit_sent_is_not_part_of_the_flight() {
    let mut flow = avoiding("rfc3465", 10);
    flow.send(2);
    flow.ack(1..4, Ecn::NotEct);
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!(flow.cwnd(), 5.0);
}

#[test]
fn a_timeout_leaves_one_packet_and_a_repeated_one_the_threshold() {
    for (profile, second) in [("rfc5681", 5.0), ("ns2", 2.0)] {
        let mut flow = avoiding(profile, 10);
        flow.tell(Recovery::TimedOut);
        assert_eq!((flow.cwnd(), flow.ssthresh()), (1.0, 5.0), "{profile}");
        assert_eq!(flow.sender.snapshot().in_flight, Some(Bytes::ZERO));
        flow.send_one(0);
        flow.tell(Recovery::TimedOut);
        assert_eq!((flow.cwnd(), flow.ssthresh()), (1.0, second), "{profile}");
    }
}

#[test]
fn after_a_timeout_the_window_grows_only_while_the_first_hole_moves() {
    let mut flow = avoiding("rfc5681", 10);
    flow.tell(Recovery::TimedOut);
    flow.send_one(0);
    flow.ack(0..1, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 2.0, "slow start");
    // Packet 1 is lost again: what lies behind it arrives, and what is sent meanwhile.
    flow.send_one(1);
    for sequence in 2..10 {
        flow.ack(sequence..sequence + 1, Ecn::NotEct);
        flow.fill();
    }
    flow.ack(10..flow.next, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 2.0, "held up at packet 1");
    flow.send_one(1);
    flow.ack(1..2, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 3.0);
}

#[test]
fn a_timeout_in_recovery_does_not_halve_the_same_window_again() {
    let mut flow = avoiding("rfc5681", 20);
    flow.tell(Recovery::Entered { lost: lost(1) });
    flow.tell(Recovery::TimedOut);
    assert_eq!(
        (flow.cwnd(), flow.ssthresh()),
        (1.0, 5.0),
        "no more than half of the flight within the window"
    );
    flow.tell(Recovery::Spurious);
    assert_eq!(flow.cwnd(), 20.0, "what was before the first of the two");
}

#[test]
fn marks_reduce_once_per_window_of_data_and_for_losses_too() {
    let mut flow = avoiding("rfc5681", 10);
    flow.ack(0..1, Ecn::Ce);
    assert_eq!(flow.cwnd(), 5.0, "half of ten: the flight before the acknowledgement was full");
    flow.ack(1..2, Ecn::Ce);
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!(flow.cwnd(), 5.0, "RFC 3168 section 6.1.2: once per window of data");
    flow.tell(Recovery::Left);
    flow.send(1);
    flow.ack(10..11, Ecn::Ce);
    assert!(flow.cwnd() < 5.0, "the next window of data");
    let before = flow.cwnd();
    flow.tell(Recovery::Spurious);
    assert_eq!(flow.cwnd(), before, "a mark is never spurious");
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut flow = make("rfc5681", 20);
    flow.send(9);
    flow.ack(0..1, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 20.0, "less than half of it was used");
    flow.send(2);
    flow.ack(1..2, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 21.0, "half of it: RFC 7661 section 4.3");
    let mut flow = avoiding("rfc3465", 10);
    flow.ack(0..8, Ecn::NotEct);
    flow.send(7);
    flow.ack(8..10, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 11.0, "the first window was full");
    flow.ack(10..17, Ecn::NotEct);
    flow.send(10);
    flow.ack(17..27, Ecn::NotEct);
    assert_eq!(flow.cwnd(), 11.0, "the next two were not");
}

#[test]
fn a_pause_of_a_timeout_takes_the_window_down_to_the_first() {
    for (profile, left) in [("rfc5681", 10.0), ("ns2", 40.0)] {
        let mut flow = make(profile, 10);
        flow.fill();
        flow.ack(0..10, Ecn::NotEct);
        let _ = flow.sender.assign(flow.now, crate::Assigned::Window(Bytes::new(40 * SIZE)));
        let (offered, queue) = (
            crate::Offered { stream: StreamId(0), bytes: Bytes::new(SIZE), frame_end: true },
            crate::SendQueueState::default(),
        );
        let _ = flow.sender.on_offered(flow.now + TimeDelta::from_millis(800), &offered, &queue);
        assert_eq!(flow.cwnd(), 40.0, "{profile}");
        let _ = flow.sender.on_offered(flow.now + TimeDelta::from_millis(1200), &offered, &queue);
        assert_eq!(flow.cwnd(), left, "{profile}");
    }
}

#[test]
fn a_largest_window_holds_and_an_assignment_too() {
    let setup = FlowSetup { max_window: Some(Bytes::new(20 * SIZE)), ..FlowSetup::new(Bytes::new(SIZE)) };
    let mut reno = Reno::new(&Params::default(), &setup);
    let _ = reno.assign(Time::ZERO, crate::Assigned::Window(Bytes::new(90 * SIZE)));
    assert_eq!(reno.snapshot().window, Some(Bytes::new(20 * SIZE)));
    let _ = reno.assign(Time::ZERO, crate::Assigned::Window(Bytes::ZERO));
    assert_eq!(reno.snapshot().window, Some(Bytes::new(SIZE)));
}

#[test]
fn pacing_spreads_two_windows_in_slow_start_and_a_fifth_more_than_one_after_it() {
    let params =
        Params { pacing: WindowPacing { pacing: true, ..WindowPacing::default() }, ..Params::default() };
    let mut flow = make("rfc5681", 10);
    flow.sender = Reno::new(&params, &FlowSetup::new(Bytes::new(SIZE)));
    flow.fill();
    assert_eq!(flow.sender.law_pace(), None, "no round trip yet");
    flow.ack(0..1, Ecn::NotEct);
    assert_eq!(flow.sender.law_pace(), Some(Bitrate::from_kbps(1760)), "2 x 11 kB per 100 ms");
    let _ = flow.sender.assign(flow.now, crate::Assigned::Window(Bytes::new(5 * SIZE)));
    assert_eq!(flow.sender.law_pace(), Some(Bitrate::from_kbps(480)));
}

/// A group shares what each acknowledgement adds, and that must not end slow start; a jump does.
#[test]
fn slow_start_outlasts_small_assignments_and_ends_with_a_jump() {
    for (packets, threshold) in [(9.0, None), (12.0, None), (8.9, Some(8.9)), (12.1, Some(12.1))] {
        let mut flow = make("rfc5681", 10);
        flow.fill();
        let window = Bytes::new((packets * SIZE as f64) as u64);
        let _ = flow.sender.assign(flow.now, crate::Assigned::Window(window));
        assert_eq!((flow.cwnd(), flow.sender.parts().1.threshold()), (packets, threshold));
    }
    let mut flow = make("rfc5681", 10);
    for (packets, threshold) in [(20, 20.0), (19, 19.0), (21, 19.0)] {
        let _ = flow.sender.assign(flow.now, crate::Assigned::Window(Bytes::new(packets * SIZE)));
        assert_eq!(
            flow.sender.parts().1.threshold(),
            Some(threshold),
            "avoidance does not become slow start"
        );
    }
}

/// In recovery the window stands still (RFC 6675 section 5); what it is given then would leave in a row when recovery ends.
#[test]
fn an_assignment_lowers_a_window_in_recovery_and_does_not_raise_it() {
    let mut flow = make("rfc5681", 10).avoiding(40);
    let _ = flow.sender.on_recovery(flow.now, Recovery::Entered { lost: lost(1) });
    for (given, taken) in [(21, 20.0), (60, 20.0), (18, 18.0)] {
        let _ = flow.sender.assign(flow.now, crate::Assigned::Window(lost(given)));
        assert_eq!(flow.cwnd(), taken);
    }
    let _ = flow.sender.on_recovery(flow.now, Recovery::Left);
    let _ = flow.sender.assign(flow.now, crate::Assigned::Window(lost(60)));
    assert_eq!(flow.cwnd(), 60.0);
}

/// Under an exchange of rates the group's answer to a loss replaces the flow's own, up to the window that was there before. After a timeout
/// the window stands still until the losses are repaired.
#[test]
fn an_exchange_of_rates_raises_a_window_in_recovery_no_higher_than_it_was() {
    let assigned = |flow: &mut Flow<RenoLaw>, packets| {
        let _ = flow.sender.assign(flow.now, crate::Assigned::Window(lost(packets)));
        flow.cwnd()
    };
    let mut flow = make("rfc5681", 10).avoiding(40);
    flow.sender.on_rates_exchanged();
    let _ = flow.sender.on_recovery(flow.now, Recovery::Entered { lost: lost(1) });
    for (given, taken) in [(21, 21.0), (41, 21.0), (18, 18.0), (40, 40.0)] {
        assert_eq!(assigned(&mut flow, given), taken);
    }
    let _ = flow.sender.on_recovery(flow.now, Recovery::Left);
    assert_eq!(assigned(&mut flow, 60), 60.0);
    let _ = flow.sender.on_recovery(flow.now, Recovery::TimedOut);
    assert_eq!(assigned(&mut flow, 20), 1.0);
}

/// RFC 8699 section 6.2: small steps that add up are a burst like a jump. A window that is full has room for few packets.
#[test]
fn what_assignments_give_room_for_is_spaced() {
    let mut flow = make("rfc5681", 10);
    flow.fill();
    flow.ack(0..1, Ecn::NotEct);
    flow.fill();
    let pace = |flow: &mut Flow<RenoLaw>, packets| {
        flow.sender.assign(flow.now, crate::Assigned::Window(lost(packets))).pacing
    };
    for packets in 12..=15 {
        assert_eq!(pace(&mut flow, packets), None, "{packets}");
    }
    assert_eq!(pace(&mut flow, 16), Some(crate::Pacing::Rate(Bitrate::from_kbps(1280))));
}

impl Reno {
    fn law_pace(&mut self) -> Option<Bitrate> {
        let (law, window) = self.parts();
        law.pacing_rate(window)
    }
}
