//! Packets that leave in runs against packets polled one by one: every packet, time and piece of state is the same.

use super::*;
use paceline_cc::{AnyController, ControllerParams, FlowSetup, StreamId};
use paceline_ends::{Run, SendingEnd};
use paceline_media::{Cbr, CbrParams, FrameRate, Source};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use proptest::prelude::*;

/// A call over a link, 20 ms there and back.
#[derive(Clone, Copy, Debug)]
struct Call {
    mbps: u64,
    link_mbps: u64,
    fps: u32,
    payload: u64,
    report_every: TimeDelta,
    /// Of so many packets one is lost.
    loses: u64,
}

const END: Time = Time::from_nanos(1_500_000_000);
const ONE_WAY: TimeDelta = TimeDelta::from_millis(10);

/// When each packet left, and what it was.
type Left = Vec<(Time, RtpPacket)>;

fn sender(call: &Call, controller: AnyController) -> RtpSender<AnyController> {
    let params = CbrParams {
        rate: Bitrate::from_mbps(call.mbps),
        fps: FrameRate::new(call.fps.into(), 1),
        ..CbrParams::default()
    };
    let config = SenderConfig::new(Bytes::new(call.payload));
    let source = Source::Cbr(Cbr::new(params));
    let streams = vec![StreamConfig::new(source, params.rate)];
    RtpSender::new(controller, &config, streams)
}

/// The way to the receiver: when each packet arrived, and how many were reported on.
#[derive(Default)]
struct Path {
    arrived: Vec<Time>,
    reported: usize,
}

impl Path {
    /// Reports at `now` on what arrived 10 ms ago and is not reported yet.
    fn report(&mut self, now: Time, left: &Left, call: &Call) -> Option<RtpFeedback> {
        let service = Bitrate::from_mbps(call.link_mbps).time_for(Bytes::new(call.payload + 12));
        for (sent, _) in &left[self.arrived.len()..] {
            let free = self.arrived.last().copied().unwrap_or(Time::ZERO);
            self.arrived.push((*sent + ONE_WAY).max(free + service));
        }
        let end = self.arrived.partition_point(|arrived| *arrived <= now - ONE_WAY);
        let news = self.reported..end;
        let begin = left[news.clone()].first()?.1.sequence;
        let arrivals = news.clone().map(|place| match left[place].1.sequence % call.loses {
            0 => ArrivalReport::Missing,
            _ => ArrivalReport::Received { at: Some(self.arrived[place]), ecn: Ecn::NotEct },
        });
        let arrivals = arrivals.collect();
        self.reported = end;
        let blocks = vec![FeedbackBlock { stream: StreamId(0), begin, count: news.len() as u32 }];
        Some(RtpFeedback::Packets(Box::new(Feedback { written: now - ONE_WAY, blocks, arrivals })))
    }
}

/// Packets that leave, the number that left in runs, and the sender's state at the end.
fn drive(call: &Call, controller: AnyController, in_runs: bool) -> (Left, u64, String) {
    let mut sender = sender(call, controller);
    sender.start(Time::ZERO);
    let (mut left, mut path, mut runs) = (Left::new(), Path::default(), 0);
    let mut next_report = Time::ZERO + call.report_every;
    loop {
        let own = sender.next_timeout().map_or(Time::MAX, |(due, _)| due);
        let now = own.min(next_report);
        if now >= END {
            return (left, runs, format!("{sender:?}"));
        }
        if now == next_report {
            next_report = now + call.report_every;
            if let Some(report) = path.report(now, &left, call) {
                sender.receive(now, report, Ecn::NotEct);
            }
        } else {
            sender.handle_timeout(now);
        }
        while let Some(out) = sender.poll_transmit(now) {
            left.push((now, out.packet));
        }
        while in_runs
            && let Some(Run { packet, first, gap, count, .. }) = sender.poll_run(next_report.min(END))
        {
            runs += count;
            left.extend((0..count).map(|place| {
                let sequence = packet.packet.sequence + place;
                (first + gap * place as i64, RtpPacket { sequence, ..packet.packet })
            }));
        }
    }
}

fn calls() -> impl Strategy<Value = Call> {
    let fps = prop_oneof![Just(5u32), Just(15), Just(30), Just(60)];
    let rates = (1u64..60, 1u64..60);
    (rates, fps, 100u64..1300, 100i64..60_000, 2u64..300).prop_map(|(rates, fps, payload, micros, loses)| {
        let report_every = TimeDelta::from_micros(micros);
        Call { mbps: rates.0, link_mbps: rates.1, fps, payload, report_every, loses }
    })
}

/// A controller of each kind and profile that media can have.
fn controllers() -> Vec<(String, AnyController)> {
    let setup = FlowSetup::new(Bytes::new(1312));
    let kinds = ["scream", "scream-v2", "gcc", "nada", "tempo", "sprout", "rap", "urcp", "um", "fixed"];
    let params = kinds.into_iter().flat_map(|kind| {
        let (usual, _) = ControllerParams::with_profile(kind, None).expect("registered");
        let profiles: Vec<_> = usual.profiles().iter().map(|(profile, _)| *profile).collect();
        profiles.into_iter().map(move |profile| (kind, profile))
    });
    params
        .map(|(kind, profile)| {
            let (params, _) = ControllerParams::with_profile(kind, Some(profile)).expect("registered");
            let controller = AnyController::new(&params, &setup).expect("a profile is valid");
            (format!("{kind} {profile}"), controller)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_leaves_in_runs_is_what_leaves_one_by_one(call in calls()) {
        for (name, controller) in controllers() {
            let (singly, _, state) = drive(&call, controller.clone(), false);
            let (in_runs, _, state_after_runs) = drive(&call, controller, true);
            prop_assert_eq!(&singly, &in_runs, "{}", &name);
            prop_assert_eq!(state, state_after_runs, "{}", &name);
        }
    }
}

#[test]
fn most_of_a_large_call_leaves_in_runs() {
    let call = Call {
        mbps: 20,
        link_mbps: 15,
        fps: 30,
        payload: 1200,
        report_every: TimeDelta::from_millis(10),
        loses: 1000,
    };
    // libwebrtc's packets leave in bursts of their own.
    let paced = |name: &str| name.starts_with("scream") && name != "scream-v2 libwebrtc";
    for (name, controller) in controllers().into_iter().filter(|(name, _)| paced(name)) {
        let (left, runs, _) = drive(&call, controller, true);
        assert!(runs * 2 > left.len() as u64, "{name}: {runs} of {}", left.len());
    }
}
