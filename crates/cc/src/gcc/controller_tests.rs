use super::*;
use crate::gcc::Params;
use crate::{FlowSetup, Pacing, PacketResult, PacketsReport, Status};
use paceline_units::param::Profiles;
use paceline_units::{Bytes, Ecn, TimeDelta};

const SIZE: Bytes = Bytes::new(1200);

fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn gcc(profile: &str) -> Gcc {
    Gcc::new(&Params::profile(profile).expect("a profile"), &FlowSetup::new(SIZE))
}

fn offer(gcc: &mut Gcc, now: Time) -> Update {
    let offered = Offered { stream: StreamId(0), bytes: SIZE, frame_end: true };
    gcc.on_offered(now, &offered, &SendQueueState::default())
}

fn drop_update(update: Update) {
    let _ = update;
}

/// Sends a packet each 5 ms from `from` on and reports each four; the arrival of a packet is told by `arrives`.
fn run(gcc: &mut Gcc, from: u64, packets: u64, arrives: impl Fn(u64) -> Option<u64>) {
    for sequence in from..from + packets {
        let now = at(sequence * 5);
        let packet =
            SentPacket { stream: StreamId(0), sequence, size: SIZE, probe: None, app_limited: false };
        drop_update(gcc.on_sent(now, &packet));
        if sequence % 4 == 3 {
            let result = |sequence: u64| {
                let received = |millis| Status::Received { arrived: Some(at(millis)), ecn: Ecn::NotEct };
                let status = arrives(sequence).map_or(Status::Missing, received);
                PacketResult { stream: StreamId(0), sequence, size: SIZE, sent: at(sequence * 5), status }
            };
            let results: alloc::vec::Vec<_> = (sequence - 3..=sequence).map(result).collect();
            let clock_step = TimeDelta::from_micros(977);
            let report = PacketsReport { packets: &results, clock_step, ambiguous: false };
            drop_update(gcc.on_report(now + TimeDelta::from_millis(1), &Report::Packets(report)));
        }
        while let Some((due, _)) = gcc.next_timeout().filter(|(due, _)| *due <= now) {
            drop_update(gcc.on_timeout(due.max(now)));
        }
    }
}

#[test]
fn it_says_target_and_pace_and_asks_for_two_probes() {
    let mut gcc = gcc("libwebrtc");
    let update = offer(&mut gcc, at(0));
    assert_eq!(update.allowance, Some(Allowance::Unlimited));
    assert_eq!(
        update.pacing,
        Some(Pacing::Burst {
            rate: Bitrate::from_kbps(750),
            mean: Bitrate::from_kbps(300),
            at_once: TimeDelta::from_millis(40)
        })
    );
    assert_eq!(update.probe.map(|probe| probe.rate), Some(Bitrate::from_kbps(900)));
    assert_eq!(offer(&mut gcc, at(1)).probe.map(|probe| probe.rate), Some(Bitrate::from_kbps(1800)));
    assert_eq!(offer(&mut gcc, at(2)), Update::none());
    assert_eq!(gcc.next_timeout(), Some((at(25), TimeoutReason::Estimate)));
}

#[test]
fn the_draft_neither_probes_nor_wakes() {
    let mut gcc = gcc("draft");
    assert_eq!(offer(&mut gcc, at(0)).probe, None);
    assert_eq!((gcc.next_timeout(), gcc.verbs()), (None, &[][..]));
}

#[test]
fn a_growing_delay_lowers_the_target_and_a_constant_one_does_not() {
    for profile in ["draft", "libwebrtc"] {
        let start = Bitrate::from_kbps(2500);
        let params = Params { target_bitrate_start: start, ..Params::profile(profile).expect("a profile") };
        let mut gcc = Gcc::new(&params, &FlowSetup::new(SIZE));
        run(&mut gcc, 0, 800, |sequence| Some(sequence * 5 + 20));
        assert!(gcc.target >= start, "{profile}: {:?}", gcc.target);
        // Each packet takes 20 % longer than it is apart from the one before: a queue grows, and 1.6 Mbit/s arrive.
        run(&mut gcc, 800, 200, |sequence| Some(sequence * 6 - 800 + 20));
        assert!(gcc.delay.rate.capacity().is_some(), "{profile}");
        assert!((1300..1500).contains(&(gcc.target.as_bps() / 1000)), "{profile}: {:?}", gcc.target);
    }
}

#[test]
fn without_reports_the_target_never_rises() {
    for (profile, patience) in [("draft", 3.0), ("draft", 0.0), ("libwebrtc", 3.0), ("libwebrtc", 0.0)] {
        let params = Params { feedback_patience: patience, ..Params::profile(profile).expect("a profile") };
        let mut gcc = Gcc::new(&params, &FlowSetup::new(SIZE));
        run(&mut gcc, 0, 400, |sequence| Some(sequence * 5 + 20));
        let mut before = gcc.target;
        for sequence in 400..6400 {
            let packet =
                SentPacket { stream: StreamId(0), sequence, size: SIZE, probe: None, app_limited: false };
            drop_update(gcc.on_sent(at(sequence * 5), &packet));
            drop_update(gcc.on_timeout(at(sequence * 5)));
            assert!(gcc.target <= before, "{profile} at {} ms", sequence * 5);
            before = gcc.target;
        }
        // 30 s of silence: half in each report interval; without that only libwebrtc answers, after 3 s by a fifth each second.
        let fallen = before.as_bps() < 10_000;
        assert_eq!(fallen, patience > 0.0 || profile == "libwebrtc", "{profile}, {patience}: {before:?}");
    }
}

#[test]
fn a_clock_that_jumps_or_drifts_is_no_congestion() {
    for profile in ["draft", "libwebrtc"] {
        for jump in [-500_000i64, 3_600_000] {
            let mut gcc = gcc(profile);
            run(&mut gcc, 0, 2000, |sequence| {
                let drifting = 600_000 + sequence * 5 + sequence / 1000;
                Some(if sequence < 1000 { drifting } else { drifting.saturating_add_signed(jump) })
            });
            assert!(gcc.target > Bitrate::from_kbps(450), "{profile}, {jump} ms: {:?}", gcc.target);
        }
    }
}

#[test]
fn assignment_and_limits_hold_at_once() {
    for profile in ["draft", "libwebrtc"] {
        let mut gcc = gcc(profile);
        drop_update(offer(&mut gcc, at(0)));
        drop_update(gcc.assign(at(10), Assigned::Rate(Bitrate::from_mbps(7))));
        assert_eq!((gcc.target, gcc.share()), (Bitrate::from_mbps(7), None), "{profile}: no round trip yet");
        let limits = Limits { stream: StreamId(0), min: Bitrate::ZERO, max: Bitrate::from_mbps(2) };
        let update = gcc.on_limits(at(20), &limits);
        assert_eq!(update.target, crate::TargetChange::Total(Bitrate::from_mbps(2)), "{profile}");
    }
}

/// Sends the probe that is asked for, a packet each `gap` ms from `from` on, and reports it 100 ms after its end. Answers the target.
fn probed(gcc: &mut Gcc, probe: u64, first: u64, from: u64, gap: u64) -> Bitrate {
    let packets = (first..first + 8).map(|sequence| {
        let sent = at(from + (sequence - first) * gap);
        let packet =
            SentPacket { stream: StreamId(0), sequence, size: SIZE, probe: Some(probe), app_limited: false };
        drop_update(gcc.on_sent(sent, &packet));
        let status = Status::Received { arrived: Some(sent + TimeDelta::from_millis(20)), ecn: Ecn::NotEct };
        PacketResult { stream: StreamId(0), sequence, size: SIZE, sent, status }
    });
    let packets: alloc::vec::Vec<_> = packets.collect();
    let clock_step = TimeDelta::from_micros(977);
    let report = PacketsReport { packets: &packets, clock_step, ambiguous: false };
    drop_update(gcc.on_report(at(from + 8 * gap + 100), &Report::Packets(report)));
    gcc.target
}

#[test]
fn the_rate_that_a_probe_finds_is_the_target_and_never_far_below_what_arrives() {
    let mut gcc = gcc("libwebrtc");
    let [one, other] = [0, 1].map(|millis| offer(&mut gcc, at(millis)).probe.expect("a probe").id);
    let found = probed(&mut gcc, one, 0, 0, 5).as_bps_f64();
    assert!((found - 1.92e6).abs() < 10.0, "1200 B each 5 ms: {found}");
    run(&mut gcc, 100, 400, |sequence| Some(sequence * 5 + 20));
    assert!(gcc.target > Bitrate::from_kbps(1920), "{:?}", gcc.target);
    // 1200 B each 12 ms are 800 kbit/s, while more than twice as much arrived.
    let found = probed(&mut gcc, other, 500, 2500, 12).as_bps_f64();
    let arrives = gcc.incoming.rate().expect("a rate").as_bps_f64();
    assert!(arrives > 1.7e6 && (found - 0.85 * arrives).abs() < 10.0, "{found} of {arrives}");
}

#[test]
fn a_stream_takes_its_limits_along() {
    let mut gcc = gcc("libwebrtc");
    let Params { target_bitrate_min, target_bitrate_max, .. } = Params::profile("libwebrtc").expect("known");
    let bounds = |gcc: &Gcc, id: usize| (gcc.limits[id].min, gcc.limits[id].max);
    drop_update(gcc.on_stream(at(0), StreamId(2), StreamChange::Joined(1.0)));
    assert_eq!((gcc.limits.len(), bounds(&gcc, 1)), (3, (Bitrate::ZERO, Bitrate::ZERO)), "1 has not joined");
    for change in [StreamChange::Priority(2.0), StreamChange::Gone] {
        assert_eq!(gcc.on_stream(at(1), StreamId(2), change), Update::none());
    }
    assert_eq!(bounds(&gcc, 2), (target_bitrate_min, target_bitrate_max));
    drop_update(gcc.on_stream(at(2), StreamId(2), StreamChange::Left));
    assert_eq!(bounds(&gcc, 2), (Bitrate::ZERO, Bitrate::ZERO));
}
