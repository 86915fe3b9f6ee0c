//! A plan over plain datagrams, whose frames leave when they are captured.

use paceline_cc::{AnyController, ControllerParams, FlowSetup, StreamId};
use paceline_ends::{Plan, Planned, Reason, SendingEnd, StreamSpan};
use paceline_media::{Cbr, CbrParams, FrameRate, Source};
use paceline_rtp::udp::UdpSender;
use paceline_units::{Bitrate, Bytes, Ecn, Time};

fn ms(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Frames every 10 ms from 10 ms to 85 ms, but for the time from 35 ms to 60 ms.
fn planned(streams: &[StreamSpan]) -> Planned<UdpSender<AnyController>> {
    let (params, _) = ControllerParams::with_profile("none", None).expect("it is registered");
    let controller = AnyController::new(&params, &FlowSetup::new(Bytes::new(1500))).expect("valid");
    let fps = FrameRate::from_fps_f64(100.0).expect("a rate");
    let cbr = CbrParams { rate: Bitrate::from_mbps(1), fps: Some(fps), adaptive: false };
    let end = UdpSender::new(controller, Source::Cbr(Cbr::new(cbr)), Bytes::new(1500), Ecn::NotEct);
    Planned::new(end, Plan::new(ms(10), &[(ms(35), ms(60))], ms(85)).with_streams(streams))
}

#[test]
fn a_plan_starts_pauses_resumes_and_stops_its_end_at_its_times() {
    let mut planned = planned(&[]);
    assert_eq!(planned.next_timeout(), Some((ms(10), Reason::Plan)), "nothing is captured before");
    let (mut steps, mut sent) = (Vec::new(), Vec::new());
    while let Some((now, reason)) = planned.next_timeout() {
        assert!(!planned.is_stopped());
        planned.handle_timeout(now);
        if reason == Reason::Plan {
            steps.push(now);
        }
        sent.extend(planned.end_mut().poll_transmit(now).map(|_| now));
        assert!(planned.end_mut().poll_transmit(now).is_none(), "a frame is one datagram");
    }
    assert_eq!(steps, [ms(10), ms(35), ms(60), ms(85)]);
    assert_eq!(sent, [10, 20, 30, 60, 70, 80].map(ms), "frames go on at once where the pause ends");
    assert!(planned.is_stopped());
}

#[test]
fn a_stop_before_its_time_ends_the_plan() {
    let mut planned = planned(&[]);
    planned.handle_timeout(ms(10));
    planned.stop(ms(12));
    assert!(planned.is_stopped() && planned.next_timeout().is_none());
}

/// A step outside of the flow's time is not planned; a step of a stream is no pause.
#[test]
fn streams_join_and_leave_within_the_flow() {
    let span = |stream, from, to| StreamSpan { stream: StreamId(stream), from: ms(from), to: ms(to) };
    let mut planned = planned(&[span(0, 5, 40), span(1, 20, 90), span(2, 10, 85)]);
    let mut steps = Vec::new();
    while let Some((now, reason)) = planned.next_timeout() {
        planned.handle_timeout(now);
        while planned.end_mut().poll_transmit(now).is_some() {}
        if reason == Reason::Plan {
            steps.push((now, planned.is_active()));
        }
    }
    let times = [(10, true), (20, true), (35, false), (40, false), (60, true), (85, false)];
    assert_eq!(steps, times.map(|(at, active)| (ms(at), active)));
}
