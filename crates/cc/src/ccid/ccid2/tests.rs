use super::*;
use crate::ccid::{AckPathReport, CcidReport, DropCode, DroppedPacket};
use crate::{
    Allowance, Assigned, Controller, Offered, Pacing, PacketResult, PacketsReport, ReceiverRequest, Report,
    SendQueueState, SentPacket, Status, TargetChange, TimeoutReason, Update,
};
use crate::{AnyController, FlowSetup};
use alloc::vec::Vec;
use paceline_units::param::Profiles;
use paceline_units::{Bitrate, Ecn, Time, TimeDelta};

const SIZE: Bytes = Bytes::new(1000);

fn window(packets: u64) -> Bytes {
    Bytes::new(packets * SIZE.as_u64())
}

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// A sender over a path of 100 ms.
struct Sender {
    ccid2: Ccid2,
    next: u64,
    now: u64,
    last: Update,
}

impl Sender {
    fn new(params: Params) -> Sender {
        let ccid2 = Ccid2::new(&params, &FlowSetup::new(SIZE));
        Sender { ccid2, next: 0, now: 1000, last: Update::none() }
    }

    /// In congestion avoidance with this window, at least 4, which is full.
    fn avoiding(cwnd: u64) -> Sender {
        Sender::avoiding_with(Params::default(), cwnd)
    }

    fn avoiding_with(params: Params, cwnd: u64) -> Sender {
        let mut sender = Sender::new(params);
        sender.round_trip();
        let _ = sender.ccid2.assign(ms(sender.now), Assigned::Window(window(cwnd)));
        sender.fill();
        sender
    }

    fn send(&mut self, app_limited: bool) {
        let sequence = self.next;
        let packet = SentPacket { stream: STREAM, sequence, size: SIZE, probe: None, app_limited };
        self.last = self.ccid2.on_sent(ms(self.now), &packet);
        self.next += 1;
    }

    /// Sends what may be sent.
    fn fill(&mut self) {
        while self.ccid2.pipe() < self.ccid2.cwnd() {
            self.send(false);
        }
    }

    /// One acknowledgement of what is named.
    fn ack(&mut self, packets: &[(u64, Ecn)]) {
        let result = |(sequence, ecn): &(u64, Ecn)| PacketResult {
            stream: STREAM,
            sequence: *sequence,
            size: SIZE,
            sent: ms(self.now),
            status: Status::Received { arrived: None, ecn: *ecn },
        };
        let packets: Vec<_> = packets.iter().map(result).collect();
        let report =
            PacketsReport { packets: &packets, clock_step: TimeDelta::from_nanos(1), ambiguous: false };
        self.last = self.ccid2.on_report(ms(self.now), &Report::Packets(report));
    }

    fn ack_plain(&mut self, sequences: impl Iterator<Item = u64>) {
        let packets: Vec<_> = sequences.map(|sequence| (sequence, Ecn::Ect0)).collect();
        self.ack(&packets);
    }

    fn tell(&mut self, report: &Report<'_>) {
        self.last = self.ccid2.on_report(ms(self.now), report);
    }

    /// A full window, acknowledged two by two a round trip later.
    fn round_trip(&mut self) {
        let from = self.next;
        self.fill();
        self.now += 100;
        for first in (from..self.next).step_by(2) {
            self.ack_plain(first..(first + 2).min(self.next));
        }
    }

    fn time_out(&mut self) {
        let (due, reason) = self.ccid2.next_timeout().expect("something is outstanding");
        assert_eq!(reason, TimeoutReason::Stalled);
        self.now = due.as_nanos().div_ceil(1_000_000);
        self.last = self.ccid2.on_timeout(ms(self.now));
    }

    fn offer(&mut self) {
        let offered = Offered { stream: STREAM, bytes: SIZE, frame_end: true };
        self.last = self.ccid2.on_offered(ms(self.now), &offered, &SendQueueState::default());
    }

    fn threshold(&self) -> Option<u64> {
        self.ccid2.window.ssthresh()
    }
}

#[test]
fn the_first_window_is_rfc_3390_s() {
    let first = |params: &Params, largest| {
        let largest_packet = Bytes::new(largest);
        Ccid2::new(params, &FlowSetup::new(largest_packet)).cwnd()
    };
    let rfc = Params::default();
    assert_eq!(
        [500, 1095, 1096, 1460, 1461, 2190, 9000].map(|size| first(&rfc, size)),
        [4, 4, 3, 3, 2, 2, 2]
    );
    let ns2 = Params::profile("ns2").expect("a profile");
    assert_eq!([500, 1032, 1500].map(|size| first(&ns2, size)), [3, 3, 3]);
}

#[test]
fn a_packet_leaves_while_the_pipe_is_below_the_window() {
    let mut sender = Sender::new(Params::default());
    sender.offer();
    assert_eq!(sender.last.allowance, Some(Allowance::Packets(4)));
    assert_eq!(sender.last.receiver, Some(ReceiverRequest::PacketsPerReport(2)));
    for left in (0..4).rev() {
        sender.send(false);
        assert_eq!(sender.last.allowance, Some(Allowance::Packets(left)));
    }
    let snapshot = sender.ccid2.snapshot();
    assert_eq!((snapshot.window, snapshot.in_flight), (Some(window(4)), Some(window(4))));
}

#[test]
fn slow_start_adds_a_packet_for_two_and_half_the_ack_ratio_at_most() {
    let mut sender = Sender::new(Params::default());
    let windows: Vec<u64> = (0..4)
        .map(|_| {
            sender.round_trip();
            sender.ccid2.cwnd()
        })
        .collect();
    assert_eq!(windows, [6, 9, 13, 20], "the odd one of 9 packets and that of 13 make two");
    let before = sender.ccid2.cwnd();
    sender.fill();
    sender.now += 100;
    let (from, to) = (sender.next - before, sender.next);
    sender.ack_plain(from..to);
    assert!(sender.ccid2.cwnd() - before <= 1, "one acknowledgement of all: Ack Ratio/2");
    let srtt = sender.ccid2.snapshot().srtt.expect("known");
    let rate = Bitrate::from_bps_f64(sender.ccid2.cwnd() as f64 * 8000.0 / srtt.as_secs_f64());
    assert_eq!(sender.last.target, TargetChange::Total(rate));
}

#[test]
fn a_higher_ack_ratio_lets_slow_start_grow_as_fast() {
    let mut sender = Sender::new(Params {
        ack_ratio: 8,
        initial_cwnd: 16,
        initial_window: Bytes::new(16_000),
        ..Params::default()
    });
    sender.fill();
    sender.now += 100;
    sender.ack_plain(0..8);
    assert_eq!(sender.ccid2.cwnd(), 20);
    sender.ack_plain(8..16);
    assert_eq!(sender.ccid2.cwnd(), 24);
}

#[test]
fn ns2_s_slow_start_adds_a_packet_for_each_and_the_ack_ratio_at_most() {
    let mut sender = Sender::new(Params::profile("ns2").expect("a profile"));
    let windows: Vec<u64> = (0..3)
        .map(|_| {
            sender.round_trip();
            sender.ccid2.cwnd()
        })
        .collect();
    assert_eq!(windows, [6, 12, 24]);
    sender.fill();
    sender.now += 100;
    sender.ack_plain(sender.next - 24..sender.next);
    assert_eq!(sender.ccid2.cwnd(), 26, "one acknowledgement of all");
}

#[test]
fn beside_losses_of_an_event_that_is_answered_packets_may_count() {
    for (count_beside_losses, window) in [(false, 10), (true, 11)] {
        let params = Params { count_beside_losses, ..Params::default() };
        let mut sender = Sender::avoiding_with(params, 20);
        let first = sender.next - 20;
        sender.now += 100;
        sender.ack_plain(first + 1..first + 4);
        assert_eq!(sender.ccid2.cwnd(), 10);
        // Six received; beside four more that tell of a loss, packet 10.
        sender.ack_plain(first + 4..first + 10);
        sender.ack_plain(first + 11..first + 15);
        assert_eq!(sender.ccid2.cwnd(), window, "{count_beside_losses}");
    }
}

#[test]
fn a_timeout_may_take_the_ack_ratio_down() {
    for (ack_ratio_anew, ratio) in [(false, 2), (true, 1)] {
        let mut sender = Sender::new(Params { ack_ratio_anew, ..Params::default() });
        sender.fill();
        sender.time_out();
        assert_eq!((sender.ccid2.cwnd(), sender.ccid2.ack_ratio()), (1, ratio));
    }
}

#[test]
fn avoidance_adds_a_packet_for_a_clean_window() {
    let mut sender = Sender::avoiding(10);
    let windows: Vec<u64> = (0..3)
        .map(|_| {
            let from = sender.next - sender.ccid2.pipe();
            let to = sender.next;
            sender.now += 100;
            sender.ack_plain(from..to);
            sender.fill();
            sender.ccid2.cwnd()
        })
        .collect();
    assert_eq!(windows, [11, 12, 13]);
}

#[test]
fn losses_of_one_window_are_one_congestion_event() {
    let mut sender = Sender::avoiding(21);
    let first = sender.next - 21;
    sender.now += 100;
    sender.ack_plain(first + 1..first + 3);
    assert_eq!(sender.ccid2.cwnd(), 21, "two later packets are no loss yet");
    sender.ack_plain(first + 3..first + 4);
    assert_eq!((sender.ccid2.cwnd(), sender.threshold()), (10, Some(10)), "half, rounded down");
    assert_eq!(sender.ccid2.pipe(), 17, "three received, one lost");
    sender.ack_plain(first + 8..first + 21);
    assert_eq!(sender.ccid2.cwnd(), 10, "the others were sent before the first was detected");
    assert_eq!(sender.ccid2.pipe(), 0);
    sender.fill();
    sender.now += 100;
    let next = sender.next;
    sender.ack_plain(next - 9..next);
    assert_eq!(sender.ccid2.cwnd(), 5, "sent after it: another event");
}

#[test]
fn a_mark_is_a_congestion_event_at_once() {
    let mut sender = Sender::avoiding(20);
    let first = sender.next - 20;
    sender.now += 100;
    sender.ack(&[(first, Ecn::Ce), (first + 1, Ecn::Ect0)]);
    assert_eq!((sender.ccid2.cwnd(), sender.threshold(), sender.ccid2.pipe()), (10, Some(10), 18));
    sender.ack(&[(first + 2, Ecn::Ce), (first + 3, Ecn::Ce)]);
    assert_eq!(sender.ccid2.cwnd(), 10);
    // Marks without end: the window stays one packet, the threshold two.
    for _ in 0..10 {
        sender.fill();
        let from = sender.next - sender.ccid2.pipe();
        let marked: Vec<_> = (from..sender.next).map(|n| (n, Ecn::Ce)).collect();
        sender.now += 100;
        sender.ack(&marked);
    }
    assert_eq!((sender.ccid2.cwnd(), sender.threshold()), (1, Some(2)));
}

#[test]
fn a_timeout_leaves_one_packet_and_backs_off() {
    let mut sender = Sender::avoiding(21);
    let before = sender.ccid2.next_timeout().map(|(due, _)| due.saturating_since(ms(sender.now)));
    assert_eq!(before, Some(TimeDelta::from_millis(300)), "R + 4 R/2, without a minimum of 1 s");
    sender.time_out();
    assert_eq!((sender.ccid2.cwnd(), sender.threshold(), sender.ccid2.pipe()), (1, Some(10), 0));
    assert_eq!(sender.last.allowance, Some(Allowance::Packets(1)));
    assert_eq!(sender.ccid2.next_timeout(), None, "nothing is outstanding");
    sender.send(false);
    // Backed off, and one packet may wait for a receiver that acknowledges two.
    let due = sender.ccid2.next_timeout().map(|(due, _)| due.saturating_since(ms(sender.now)));
    assert_eq!(due, Some(TimeDelta::from_millis(600 + 200)));
    sender.time_out();
    assert_eq!((sender.ccid2.cwnd(), sender.threshold()), (1, Some(2)));
    sender.send(false);
    sender.now += 100;
    let next = sender.next;
    sender.ack_plain(next - 1..next);
    assert_eq!(sender.ccid2.timeout.rto(), TimeDelta::from_millis(250), "a measurement ends the back-off");
}

#[test]
fn a_series_of_timeouts_may_halve_the_threshold_once() {
    // RFC 5681 section 3.1, after equation 4; RFC 4341 section 5 halves at each.
    for (profile, expected) in [("rfc5681", 10), ("rfc4341", 2)] {
        let mut sender = Sender::avoiding_with(Params::profile(profile).expect("a profile"), 21);
        for _ in 0..5 {
            sender.time_out();
            sender.send(false);
        }
        assert_eq!((sender.ccid2.cwnd(), sender.threshold()), (1, Some(expected)), "{profile}");
        sender.now += 100;
        let next = sender.next;
        sender.ack_plain(next - 1..next);
        for _ in 0..4 {
            sender.round_trip();
        }
        // An acknowledgement ends the series: the next timeout halves.
        let cwnd = sender.ccid2.cwnd();
        sender.fill();
        sender.time_out();
        assert_eq!(sender.threshold(), Some((cwnd / 2).max(2)), "{profile}");
    }
}

#[test]
fn a_rate_limited_window_grows_to_half_more_than_its_flight_or_a_packet() {
    // draft-ietf-ccwg-ratelimited-increase-10: slow start adds a packet for two (RFC 4341 section 5).
    for (rate_limited_increase, expected) in [(true, 15), (false, 10)] {
        let mut sender = Sender::new(Params { rate_limited_increase, ..Params::default() });
        (sender.ccid2.window.cwnd, sender.ccid2.window.largest_flight) = (10, 10);
        for _ in 0..20 {
            (0..4).for_each(|_| sender.send(true));
            sender.now += 100;
            let next = sender.next;
            (next - 4..next).step_by(2).for_each(|first| sender.ack_plain(first..first + 2));
        }
        assert_eq!(sender.ccid2.cwnd(), expected);
    }
    let params = Params { rate_limited_increase: true, ..Params::default() };
    let mut sender = Sender::avoiding_with(params, 20);
    for _ in 0..60 {
        sender.now += 100;
        let next = sender.next;
        sender.ack_plain(sender.ccid2.flight.first()..next);
        (0..4).for_each(|_| sender.send(true));
    }
    assert_eq!(sender.ccid2.cwnd(), 21, "avoidance: a packet above the largest flight");
}

#[test]
fn what_was_given_up_neither_grows_nor_reduces_the_window() {
    let mut sender = Sender::avoiding(20);
    let first = sender.next - 20;
    sender.time_out();
    sender.ack_plain(first + 3..first + 20);
    assert_eq!((sender.ccid2.cwnd(), sender.threshold(), sender.ccid2.pipe()), (1, Some(10), 0));
}

/// Media that always fills the window is never idle: an offer says no more than the window.
#[test]
fn a_greedy_offer_beside_packets_in_flight_says_the_window_alone() {
    let mut sender = Sender::avoiding(20);
    let offered = Offered { stream: STREAM, bytes: SIZE, frame_end: true };
    let mut answer = |greedy| {
        sender.ccid2.on_offered(ms(sender.now), &offered, &SendQueueState { greedy, ..Default::default() })
    };
    let (greedy, other) = (answer(true), answer(false));
    assert!(matches!(other.target, TargetChange::Total(_)), "{other:?}");
    assert_eq!(greedy, Update { target: TargetChange::None, ..other });
}

#[test]
fn an_unused_window_does_not_grow() {
    let mut sender = Sender::avoiding(20);
    let first = sender.next - 20;
    sender.now += 100;
    sender.ack_plain(first..first + 20);
    let grown = sender.ccid2.cwnd();
    for _ in 0..50 {
        sender.send(true);
        sender.send(true);
        sender.now += 100;
        let next = sender.next;
        sender.ack_plain(next - 2..next);
    }
    assert_eq!(sender.ccid2.cwnd(), grown);
}

#[test]
fn a_pause_of_a_timeout_begins_anew_or_decays_by_halves() {
    for (profile, pause, expected) in
        [("rfc4341", 250, 41), ("rfc4341", 251, 4), ("rfc2861", 1000, 41 >> 4), ("rfc2861", 100_000, 1)]
    {
        let params = Params::profile(profile).expect("a profile");
        let mut sender = Sender::new(params);
        sender.round_trip();
        let _ = sender.ccid2.assign(ms(sender.now), Assigned::Window(window(40)));
        sender.fill();
        let (from, to) = (sender.next - 40, sender.next);
        let paused = sender.now;
        sender.now += 100;
        sender.ack_plain(from..to);
        let cwnd = sender.ccid2.cwnd();
        assert_eq!(cwnd, 41);
        assert_eq!(sender.ccid2.timeout.rto(), TimeDelta::from_millis(250));
        sender.now = paused + pause;
        sender.offer();
        let found = sender.ccid2.cwnd();
        assert_eq!(found, expected, "{profile} after {pause} ms");
        sender.offer();
        assert_eq!(sender.ccid2.cwnd(), found, "once");
    }
}

#[test]
fn validation_takes_a_window_half_way_to_its_use() {
    let params = Params::profile("rfc2861").expect("a profile");
    let mut sender = Sender::new(params);
    sender.round_trip();
    let _ = sender.ccid2.assign(ms(sender.now), Assigned::Window(window(40)));
    sender.fill();
    let (from, to) = (sender.next - 40, sender.next);
    sender.now += 100;
    sender.ack_plain(from..to);
    // Four packets of 41 in use for more than a timeout.
    for _ in 0..4 {
        (0..4).for_each(|_| sender.send(true));
        sender.now += 100;
        let next = sender.next;
        sender.ack_plain(next - 4..next);
    }
    assert_eq!(sender.ccid2.cwnd(), u64::midpoint(41, 4));
    assert_eq!(sender.threshold(), Some(40), "slow start may come back to it");
}

#[test]
fn packets_without_room_take_one_each_from_the_window() {
    let mut sender = Sender::new(Params::default());
    (0..3).for_each(|_| sender.round_trip());
    let before = sender.ccid2.cwnd();
    let dropped = [1, 2, 3].map(|sequence| DroppedPacket { sequence, code: DropCode::ReceiveBuffer });
    sender.tell(&Report::Ccid(CcidReport::DataDropped(&dropped)));
    assert_eq!(sender.ccid2.cwnd(), before - 3);
    assert_eq!(sender.threshold(), Some(before - 3), "slow start is over");
    let many = [dropped[0]; 100];
    sender.tell(&Report::Ccid(CcidReport::DataDropped(&many)));
    assert_eq!(sender.ccid2.cwnd(), 1);
}

#[test]
fn corrupt_packets_are_marks_and_those_of_the_protocol_received() {
    let mut sender = Sender::avoiding(20);
    let next = sender.next;
    let of = |sequence, code| [DroppedPacket { sequence, code }];
    sender.tell(&Report::Ccid(CcidReport::DataDropped(&of(next - 2, DropCode::ProtocolConstraints))));
    assert_eq!(sender.ccid2.cwnd(), 20);
    sender.tell(&Report::Ccid(CcidReport::DataDropped(&of(next, DropCode::Corrupt))));
    assert_eq!(sender.ccid2.cwnd(), 20, "never sent");
    sender.tell(&Report::Ccid(CcidReport::DataDropped(&of(next - 2, DropCode::Corrupt))));
    assert_eq!(sender.ccid2.cwnd(), 10);
    sender.tell(&Report::Ccid(CcidReport::DataDropped(&of(next - 1, DropCode::Corrupt))));
    assert_eq!(sender.ccid2.cwnd(), 10, "the same event");
    sender.tell(&Report::Ccid(CcidReport::DataDropped(&of(next - 1, DropCode::NotListening))));
    assert_eq!(sender.last.allowance, Some(Allowance::Packets(0)));
    sender.now += 100;
    sender.ack_plain(next - 20..next);
    assert_eq!(sender.last.allowance, Some(Allowance::Packets(0)), "nobody listens any more");
}

#[test]
fn a_slow_receiver_ends_slow_start_and_growth_for_a_round_trip() {
    let mut sender = Sender::new(Params::default());
    (0..3).for_each(|_| sender.round_trip());
    let cwnd = sender.ccid2.cwnd();
    sender.fill();
    let (from, to) = (sender.next - cwnd, sender.next);
    sender.now += 50;
    sender.tell(&Report::Ccid(CcidReport::SlowReceiver));
    sender.now += 50;
    sender.ack_plain(from..to);
    assert_eq!((sender.ccid2.cwnd(), sender.threshold()), (cwnd, Some(cwnd)));
    sender.fill();
    sender.now += 100;
    sender.ack_plain(to..to + cwnd);
    assert_eq!(sender.ccid2.cwnd(), cwnd + 1, "and then by one");
}

#[test]
fn lost_acknowledgements_raise_the_ratio_and_clean_windows_lower_it() {
    let mut sender = Sender::avoiding(20);
    sender.now += 100;
    sender.tell(&Report::Ccid(CcidReport::AckPath(AckPathReport { lost: 0, marked: 0 })));
    assert_eq!(sender.ccid2.ack_ratio(), 2);
    sender.tell(&Report::Ccid(CcidReport::AckPath(AckPathReport { lost: 3, marked: 0 })));
    assert_eq!(sender.ccid2.ack_ratio(), 4);
    assert_eq!(sender.last.receiver, Some(ReceiverRequest::PacketsPerReport(4)));
    sender.tell(&Report::Ccid(CcidReport::AckPath(AckPathReport { lost: 0, marked: 1 })));
    assert_eq!(sender.ccid2.ack_ratio(), 4, "once for a window");
    let mut rounds = 0;
    while sender.ccid2.ack_ratio() > 2 && rounds < 100 {
        let from = sender.next - sender.ccid2.pipe();
        let to = sender.next;
        sender.now += 100;
        sender.ack_plain(from..to);
        sender.fill();
        rounds += 1;
    }
    // 20/(16 - 4) and 20/(9 - 3) clean windows after the one with losses.
    assert!((6..=9).contains(&rounds), "{rounds}");
    // A timeout leaves a window of one packet: no more than two.
    let mut sender = Sender::avoiding(20);
    sender.tell(&Report::Ccid(CcidReport::AckPath(AckPathReport { lost: 1, marked: 0 })));
    sender.time_out();
    assert_eq!(sender.ccid2.ack_ratio(), 2);
}

#[test]
fn assign_overwrites_window_and_threshold() {
    let mut sender = Sender::avoiding(20);
    let _ = sender.ccid2.assign(ms(sender.now), Assigned::Rate(Bitrate::from_kbps(800)));
    assert_eq!((sender.ccid2.cwnd(), sender.threshold()), (10, Some(10)), "100 kB/s over 100 ms");
    let _ = sender.ccid2.assign(ms(sender.now), Assigned::Window(Bytes::new(11 * SIZE.as_u64())));
    assert_eq!(
        (sender.ccid2.cwnd(), sender.threshold()),
        (11, Some(10)),
        "near the window the phase goes on"
    );
    let _ = sender.ccid2.assign(ms(sender.now), Assigned::Window(Bytes::new(9 * SIZE.as_u64())));
    assert_eq!((sender.ccid2.cwnd(), sender.threshold()), (9, Some(9)), "not back into slow start");
    let _ = sender.ccid2.assign(ms(sender.now), Assigned::Window(Bytes::ZERO));
    assert_eq!(sender.ccid2.cwnd(), 1);
    assert_eq!(sender.ccid2.share(), Some(Assigned::Window(SIZE)));
    assert_eq!(AnyController::Ccid2(sender.ccid2.clone()).share(), Some(Assigned::Window(SIZE)));
}

/// RFC 8699 section 6.2: a window that was raised leaves over a round trip of 100 ms.
#[test]
fn what_an_assignment_gives_room_for_is_spaced() {
    let mut sender = Sender::avoiding(20);
    sender.now += 100;
    sender.ack_plain(sender.next - 20..sender.next);
    sender.fill();
    let full = sender.ccid2.cwnd();
    let pacing = |sender: &mut Sender, packets| {
        sender.ccid2.assign(ms(sender.now), Assigned::Window(window(packets))).pacing
    };
    assert_eq!(pacing(&mut sender, full + 4), None, "four packets may leave in a row");
    let spaced = Some(Pacing::Rate(Bitrate::from_kbps(3200)));
    assert_eq!(pacing(&mut sender, 40), spaced);
    let (first, next) = (sender.next - full, sender.next);
    sender.fill();
    assert_eq!(sender.last.pacing, spaced);
    sender.now += 100;
    sender.ack_plain(first..next);
    assert!(matches!(sender.last.pacing, Some(Pacing::Rate(_))), "{:?}", sender.last);
    sender.ack_plain(next..next + 1);
    assert_eq!(sender.last.pacing, Some(Pacing::Off), "the first packet after it has arrived");
    sender.ack_plain(next + 1..next + 2);
    assert_eq!(sender.last.pacing, None);
}
