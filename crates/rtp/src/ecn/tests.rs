//! A sender and a receiver over 4 Mbit/s and 40 ms, whose path does something to packets that can be marked.

use super::*;
use crate::{FeedbackConfig, RtpFeedback, RtpPacket, RtpReceiver, RtpSender, SenderConfig, StreamConfig};
use paceline_cc::FlowSetup;
use paceline_cc::scream::{Params, Scream};
use paceline_ends::{EcnFault, PathFacts, ReceivingEnd, SendingEnd};
use paceline_media::{Cbr, CbrParams, PlayoutConfig, Source};
use paceline_units::{Bitrate, Bytes, TimeDelta};
use std::collections::VecDeque;

const RATE: Bitrate = Bitrate::from_mbps(4);
const ONE_WAY: TimeDelta = TimeDelta::from_millis(20);

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// The path's treatment at a time to a packet that leaves with this field and waits for so long: none if it is lost.
type Treat<'t> = dyn FnMut(Time, Ecn, TimeDelta) -> Option<Ecn> + 't;

struct Call<'t> {
    sender: RtpSender<Scream>,
    receiver: RtpReceiver,
    treat: &'t mut Treat<'t>,
    /// Whether reports come back.
    hears: fn(Time) -> bool,
    free: Time,
    under_way: VecDeque<(Time, RtpPacket, Ecn)>,
    back: VecDeque<(Time, RtpFeedback)>,
    now: Time,
    /// Packets that left with ECN and all, since they were last asked for.
    sent: (u64, u64),
}

impl<'t> Call<'t> {
    fn new(ecn: Ecn, how: EcnChecks, rate: Bitrate, treat: &'t mut Treat<'t>) -> Call<'t> {
        let setup = FlowSetup { l4s: ecn == Ecn::Ect1, ..FlowSetup::new(Bytes::new(1212)) };
        let config = SenderConfig { ecn, ..SenderConfig::new(Bytes::new(1200)) };
        let source = Source::Cbr(Cbr::new(CbrParams { rate, ..CbrParams::default() }));
        let stream = StreamConfig::new(source, rate);
        let mut sender = RtpSender::new(Scream::new(&Params::default(), &setup), &config, vec![stream]);
        sender.check_ecn(how);
        sender.start(Time::ZERO);
        Call {
            sender,
            receiver: RtpReceiver::new(FeedbackConfig::default(), 1, PlayoutConfig::IMMEDIATE),
            treat,
            hears: |_| true,
            free: Time::ZERO,
            under_way: VecDeque::new(),
            back: VecDeque::new(),
            now: Time::ZERO,
            sent: (0, 0),
        }
    }

    /// Runs until then, in steps of a millisecond.
    fn run(&mut self, until: u64) -> Option<EcnState> {
        while self.now < at(until) {
            self.step();
            self.now += TimeDelta::from_millis(1);
        }
        self.sender.ecn_state()
    }

    fn step(&mut self) {
        let now = self.now;
        self.sender.handle_timeout(now);
        while let Some(out) = self.sender.poll_transmit(now) {
            self.sent.0 += u64::from(out.ecn.is_capable());
            self.sent.1 += 1;
            let begins = self.free.max(now);
            let Some(ecn) = (self.treat)(now, out.ecn, begins - now) else { continue };
            self.free = begins + RATE.time_for(out.size);
            self.under_way.push_back((self.free + ONE_WAY, out.packet, ecn));
        }
        while self.under_way.front().is_some_and(|(due, ..)| *due <= now) {
            let Some((_, packet, ecn)) = self.under_way.pop_front() else { break };
            self.receiver.receive(now, packet, ecn, PathFacts::default());
        }
        self.receiver.handle_timeout(now);
        while let Some(out) = self.receiver.poll_transmit(now) {
            if (self.hears)(now) {
                self.back.push_back((now + ONE_WAY, out.packet));
            }
        }
        while self.back.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, feedback)) = self.back.pop_front() else { break };
            self.sender.receive(now, feedback, Ecn::NotEct);
        }
    }

    /// The part of packets that left with ECN since the last call.
    fn capable(&mut self) -> f64 {
        let (capable, all) = std::mem::take(&mut self.sent);
        capable as f64 / all as f64
    }
}

#[test]
fn a_path_that_carries_ecn_is_found_within_a_few_reports() {
    for ecn in [Ecn::Ect0, Ecn::Ect1] {
        let mut treat = |_: Time, ecn, _: TimeDelta| Some(ecn);
        let mut call = Call::new(ecn, EcnChecks::Probe, Bitrate::from_mbps(1), &mut treat);
        assert_eq!(call.run(30), Some(EcnState::Probing));
        assert!((0.0..0.26).contains(&call.capable()), "few packets can be marked");
        assert_eq!(call.run(400), Some(EcnState::Capable));
        let _ = call.capable();
        assert_eq!((call.run(20_000), call.capable()), (Some(EcnState::Capable), 1.0));
        assert_eq!(call.sender.ecn_counters().failures, 0);
    }
}

#[test]
fn a_path_that_clears_or_drops_or_marks_all_is_found_and_tried_again() {
    type Does = fn(Ecn) -> Option<Ecn>;
    let cleared: Does = |_| Some(Ecn::NotEct);
    let changed: Does = |ecn| Some(if ecn == Ecn::Ect0 { Ecn::Ect1 } else { ecn });
    let dropped: Does = |ecn| (ecn == Ecn::NotEct).then_some(ecn);
    let marked: Does = |ecn| Some(if ecn.is_capable() { Ecn::Ce } else { ecn });
    let kinds = [
        (cleared, EcnFault::Cleared),
        (changed, EcnFault::Cleared),
        (dropped, EcnFault::Dropped),
        (marked, EcnFault::AllMarked),
    ];
    for (does, fault) in kinds {
        for how in [EcnChecks::Probe, EcnChecks::Monitor] {
            let mut treat =
                |now: Time, ecn, _: TimeDelta| if now < at(60_000) { does(ecn) } else { Some(ecn) };
            let mut call = Call::new(Ecn::Ect0, how, Bitrate::from_mbps(1), &mut treat);
            assert_eq!(call.run(12_000), Some(EcnState::Failed(fault)), "{fault:?} {how:?}");
            let _ = call.capable();
            assert_eq!((call.run(25_000), call.capable()), (Some(EcnState::Failed(fault)), 0.0));
            assert_eq!(call.sender.ecn_counters().failures, 1);
            // The first further attempt meets the same; the one a minute later does not.
            assert_eq!(call.run(120_000), Some(EcnState::Capable), "{fault:?} {how:?}");
            assert_eq!(call.sender.ecn_counters().failures, 2);
        }
    }
}

/// A route that changes while packets leave with ECN.
#[test]
fn what_happens_to_ecn_later_is_found_within_seconds() {
    type Does = fn(Ecn) -> Option<Ecn>;
    let cleared: Does = |_| Some(Ecn::NotEct);
    let dropped: Does = |ecn| (ecn == Ecn::NotEct).then_some(ecn);
    let marked: Does = |ecn| Some(if ecn.is_capable() { Ecn::Ce } else { ecn });
    for (does, fault, within) in [
        (cleared, EcnFault::Cleared, 2_000),
        (dropped, EcnFault::Dropped, 6_000),
        (marked, EcnFault::AllMarked, 15_000),
    ] {
        let mut treat = |now: Time, ecn, _: TimeDelta| if now < at(10_000) { Some(ecn) } else { does(ecn) };
        let mut call = Call::new(Ecn::Ect1, EcnChecks::Probe, Bitrate::from_mbps(1), &mut treat);
        assert_eq!(call.run(10_000), Some(EcnState::Capable));
        assert_eq!(call.run(10_000 + within), Some(EcnState::Failed(fault)), "{fault:?}");
    }
}

#[test]
fn losses_and_silence_that_have_other_causes_cost_no_ecn() {
    let (mut n, lossy) = (0, |now: Time| (at(10_000)..at(20_000)).contains(&now));
    let mut treat = |now: Time, ecn, _: TimeDelta| {
        n += 1;
        (!lossy(now) || n % 5 < 2).then_some(ecn)
    };
    let mut call = Call::new(Ecn::Ect0, EcnChecks::Probe, Bitrate::from_mbps(1), &mut treat);
    assert_eq!(call.run(9_000), Some(EcnState::Capable));
    call.run(20_000);
    assert_eq!(call.run(25_000), Some(EcnState::Capable));
    assert_eq!(call.sender.ecn_counters().failures, 0);
    call.hears = |now| !(at(30_000)..at(40_000)).contains(&now);
    assert_eq!(call.run(39_000), Some(EcnState::Suspected), "nothing is heard");
    assert_eq!(call.run(46_000), Some(EcnState::Capable));
    assert_eq!(call.sender.ecn_counters().failures, 0);
}

/// A queue that stands at 20 ms and of which one packet in ten is marked, against one of which all are above 2 ms.
#[test]
fn a_classic_queue_behind_ect1_is_found_and_an_l4s_queue_is_not_taken_for_one() {
    for (classic, expected) in [(true, EcnState::Classic), (false, EcnState::Capable)] {
        let mut deep = 0;
        let mut treat = |now: Time, ecn, wait: TimeDelta| {
            let limit = TimeDelta::from_millis(if classic || now > at(30_000) { 15 } else { 2 });
            deep += u64::from(wait > limit);
            let marks = wait > limit && (!classic || now > at(30_000) || deep % 10 == 0);
            Some(if marks && ecn == Ecn::Ect1 { Ecn::Ce } else { ecn })
        };
        let mut call = Call::new(Ecn::Ect1, EcnChecks::Monitor, Bitrate::from_mbps(10), &mut treat);
        assert_eq!(call.run(30_000), Some(expected));
        let _ = call.capable();
        // From then on all are marked above 15 ms: no Classic AQM does that.
        assert_eq!(call.run(60_000), Some(EcnState::Capable));
        assert_eq!(call.capable(), 1.0, "packets ask for L4S all the time (RFC 9331 section 4.3)");
        assert_eq!(call.sender.ecn_counters().classic, u64::from(classic));
    }
}
