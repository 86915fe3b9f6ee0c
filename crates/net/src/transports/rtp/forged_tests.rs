//! A sender under a controller that hears true reports and forged ones, as bytes in virtual time.

use super::*;
use crate::choice::ChosenFlow;
use crate::socket::tests::datagram;
use crate::transports::Over;
use paceline_cc::AnyController;
use paceline_ends::{PathFacts, ReceivingEnd};
use paceline_rtp::RtpReceiver;
use paceline_scenario::{Loader, Origin, load};
use paceline_units::{Bytes, Ecn, TimeDelta};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use std::collections::VecDeque;

const SSRC: u32 = 100;
const RATE_BPS: u64 = 10_000_000;
/// Propagation delay of the link, one way.
const DELAY: TimeDelta = TimeDelta::from_millis(20);
/// The longest wait before the link.
const QUEUE: TimeDelta = TimeDelta::from_millis(200);

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// A call over a drop-tail link, whose receiver's clock is ahead by `ahead`.
struct Call {
    codec: RtpSendingCodec<AnyController>,
    sender: RtpSender<AnyController>,
    receiver: RtpReceiver,
    ahead: TimeDelta,
    /// When the link is free again.
    free: Time,
    packets: VecDeque<(Time, RtpPacket)>,
    reports: VecDeque<(Time, Vec<u8>)>,
    counters: NetCounters,
    /// Reports that came, and those that were about packets that were sent.
    heard: (u64, u64),
    delivered: Bytes,
    now: Time,
}

impl Call {
    fn new(ahead: TimeDelta) -> Call {
        let text = "duration = \"100s\"\n[links.l]\nrate = \"10Mbps\"\nqueue = { packets = 100 }\n[flows.f]\n\
                    source = { kind = \"bulk\" }\npath = [\"l\"]\ncontroller = \"scream\"\n";
        let loaded =
            load(&Origin { text, file: "forged.toml", sets: &[] }, &Loader::default()).expect("right");
        let flow = ChosenFlow::of(&loaded, None).expect("the only one");
        let Over::Rtp(parts) = flow.over else { panic!("RTP") };
        let mut sender = RtpSender::new(flow.parts.controller.clone(), &parts.sender, parts.streams.clone());
        sender.start(Time::ZERO);
        Call {
            codec: RtpSendingCodec::new((Ssrcs::new(SSRC, 1), 0), 1, parts.feedback.format, false),
            sender,
            receiver: RtpReceiver::new(parts.feedback.clone(), 1, parts.playout),
            ahead,
            free: Time::ZERO,
            packets: VecDeque::new(),
            reports: VecDeque::new(),
            counters: NetCounters::default(),
            heard: (0, 0),
            delivered: Bytes::ZERO,
            now: Time::ZERO,
        }
    }

    /// Goes on until `until`, a millisecond at a time; answers what was delivered, in Mbit/s.
    fn run(&mut self, until: Time) -> f64 {
        let (from, before) = (self.now, self.delivered);
        while self.now < until {
            self.now += TimeDelta::from_millis(1);
            while self.sender.next_timeout().is_some_and(|(due, _)| due <= self.now) {
                self.sender.handle_timeout(self.now);
                if !self.transmit() {
                    break;
                }
            }
            self.arrive();
            while self.reports.front().is_some_and(|(due, _)| *due <= self.now) {
                let Some((_, report)) = self.reports.pop_front() else { break };
                self.hear(&report);
            }
        }
        (self.delivered - before).as_f64() * 8e-6 / (self.now - from).as_secs_f64()
    }

    /// Sends what may leave; whether anything did.
    fn transmit(&mut self) -> bool {
        let mut any = false;
        while let Some(transmit) = self.sender.poll_transmit(self.now) {
            any = true;
            self.codec.encode(self.now, &transmit.packet, &mut Vec::new());
            let begins = self.free.max(self.now);
            if begins - self.now > QUEUE {
                continue;
            }
            self.free =
                begins + TimeDelta::from_nanos((transmit.size.as_u64() * 8_000_000_000 / RATE_BPS) as i64);
            self.packets.push_back((self.free + DELAY, transmit.packet));
        }
        any
    }

    fn arrive(&mut self) {
        while self.packets.front().is_some_and(|(due, _)| *due <= self.now) {
            let Some((due, packet)) = self.packets.pop_front() else { break };
            self.delivered += packet.size();
            self.receiver.receive(due + self.ahead, packet, Ecn::NotEct, PathFacts::default());
            self.report(due);
        }
        self.report(self.now);
    }

    fn report(&mut self, now: Time) {
        while let Some(report) = self.receiver.poll_transmit(now + self.ahead) {
            let (mut single, mut bytes) = (Feedback::default(), Vec::new());
            let feedback = report.packet.on_packets(&mut single).expect("there is no half");
            paceline_wire::ccfb::encode(feedback, 1, |_| SSRC, &mut bytes).expect("encoded");
            self.reports.push_back((now + DELAY, bytes));
        }
    }

    fn hear(&mut self, report: &[u8]) {
        let heard =
            self.codec.receive(self.now, &datagram(report), &mut self.sender, &mut self.counters, |_| ());
        self.heard = (self.heard.0 + 1, self.heard.1 + u64::from(heard));
        self.codec.finish(&self.sender, self.now, false, &mut self.counters);
    }

    /// Somebody says of the packet that was sent last but `behind` that it arrived so long after it can have.
    fn forge(&mut self, behind: u64, later: TimeDelta) {
        let begin = self.codec.sent(StreamId(0)).saturating_sub(behind + 1);
        let written = self.now + self.ahead + later;
        let blocks = vec![FeedbackBlock { stream: StreamId(0), begin, count: 1 }];
        let arrivals = vec![ArrivalReport::Received { at: Some(written), ecn: Ecn::NotEct }];
        let mut bytes = Vec::new();
        let forged = Feedback { written, blocks, arrivals };
        paceline_wire::ccfb::encode(&forged, 1, |_| SSRC, &mut bytes).expect("encoded");
        self.hear(&bytes);
    }
}

/// Reports with times 9, 18 and 27 hours ahead: each would be taken for the nearer way round, together they would wrap the
/// clock. Whatever the receiver's clock shows, the rate stays.
#[test]
fn forged_times_do_not_change_the_rate() {
    for ahead in [TimeDelta::ZERO, TimeDelta::from_secs(65_530)] {
        let mut call = Call::new(ahead);
        call.run(at(20_000));
        let before = call.run(at(30_000));
        for hours in [9, 18, 27, -9, 9] {
            call.forge(2, TimeDelta::from_secs(hours * 3600));
            call.run(call.now + TimeDelta::from_millis(30));
        }
        let after = call.run(at(40_000));
        assert!((0.9..1.1).contains(&(after / before)), "{before} and {after} Mbit/s");
        assert_eq!(call.counters.impossible_times, 5);
        assert!(call.heard.0 == call.heard.1 && before > 4.5, "{before} Mbit/s, {:?}", call.heard);
    }
}

/// A clock that is set is followed after a second.
#[test]
fn a_receiver_whose_clock_is_set_costs_a_second() {
    let mut call = Call::new(TimeDelta::from_secs(100));
    call.run(at(10_000));
    let before = call.run(at(20_000));
    call.ahead = TimeDelta::from_secs(40_000);
    call.run(at(22_000));
    let (heard, after) = (call.heard, call.run(at(40_000)));
    assert!((0.85..1.1).contains(&(after / before)), "{before} and {after} Mbit/s");
    assert!(call.heard.1 - heard.1 == call.heard.0 - heard.0, "every report is believed again");
}

/// Reports on packets that were never sent, or too long ago, neither count as heard nor move the receiver's clock.
#[test]
fn reports_on_packets_never_sent_do_not_move_the_receivers_clock() {
    let mut call = Call::new(TimeDelta::from_secs(5));
    call.run(at(2_000));
    let (heard, expected) = (call.heard, call.sender.receiver_time(call.now));
    let sent = call.codec.sent(StreamId(0));
    for begin in [sent, sent + 20_000, sent + 32_000] {
        call.codec.next = vec![begin + 3];
        call.forge(2, TimeDelta::from_secs(9 * 3600));
    }
    assert_eq!((call.heard, call.sender.receiver_time(call.now)), ((heard.0 + 3, heard.1), expected));
    assert_eq!(call.counters.unknown_reports, 3);
}
