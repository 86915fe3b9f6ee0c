//! A controller in an event loop of one's own: a sender that always has a packet, over a toy link that reports each arrival.
//!
//! `docs/embed.md` shows a sender with frames, a send queue and everything else that an update can say.

use paceline_cc::{
    Answers, AnyController, Controller, ControllerParams, FlowSetup, Offered, Pacing, PacketResult,
    PacketsReport, Report, SendQueueState, SentPacket, Status, StreamId,
};
use paceline_units::param::ParamError;
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use std::collections::VecDeque;

/// Every packet's size on the link.
const SIZE: Bytes = Bytes::new(1212);
const STREAM: StreamId = StreamId(0);
const END: Time = Time::from_nanos(20_000_000_000);

/// The time from the start of a packet to that of the next.
fn gap(pacing: Pacing) -> TimeDelta {
    match pacing {
        Pacing::Off => TimeDelta::ZERO,
        Pacing::Rate(rate) | Pacing::Burst { rate, .. } => rate.time_for(SIZE),
        Pacing::Gap(gap) => gap,
    }
}

/// 5 Mbit/s, 20 ms there and 20 ms back: when a packet arrived and its report is here.
#[derive(Default)]
struct Link {
    free: Time,
    reports: VecDeque<(Time, PacketResult)>,
}

impl Link {
    fn carry(&mut self, now: Time, sequence: u64) {
        self.free = self.free.max(now) + Bitrate::from_mbps(5).time_for(SIZE);
        let arrived = self.free + TimeDelta::from_millis(20);
        let status = Status::Received { arrived: Some(arrived), ecn: Ecn::NotEct };
        let result = PacketResult { stream: STREAM, sequence, size: SIZE, sent: now, status };
        self.reports.push_back((arrived + TimeDelta::from_millis(20), result));
    }

    fn report(&mut self, now: Time) -> Option<PacketResult> {
        self.reports.front().filter(|(due, _)| *due <= now)?;
        self.reports.pop_front().map(|(_, result)| result)
    }
}

/// Sends for 20 s under the controller of this kind, and answers the mean rate in Mbit/s and the smoothed round-trip time.
///
/// # Errors
/// If there is no such kind.
pub fn call(kind: &str) -> Result<(f64, Option<TimeDelta>), ParamError> {
    let (params, _profile) = ControllerParams::with_profile(kind, None)
        .ok_or_else(|| ParamError::new("kind", kind, ControllerParams::KINDS.join(", ")))?;
    let mut controller = AnyController::new(&params, &FlowSetup::new(SIZE))?;
    let mut answers = Answers::new();
    let (mut link, mut now, mut next_send, mut sequence) = (Link::default(), Time::ZERO, Time::ZERO, 0);
    let queue = SendQueueState { bytes: SIZE, packets: 1, newest_frame: SIZE, ..SendQueueState::default() };
    let offered = Offered { stream: STREAM, bytes: SIZE, frame_end: true };
    // docs: loop
    answers.take(controller.on_offered(now, &offered, &queue));
    while now < END {
        while let Some(result) = link.report(now) {
            let clock_step = TimeDelta::from_micros(1);
            let report = PacketsReport { packets: &[result], clock_step, ambiguous: false };
            answers.take(controller.on_report(now, &Report::Packets(report)));
        }
        if controller.next_timeout().is_some_and(|(due, _why)| due <= now) {
            answers.take(controller.on_timeout(now));
        }
        while next_send <= now && answers.allowance.admits(SIZE) {
            let packet = SentPacket { stream: STREAM, sequence, size: SIZE, probe: None, app_limited: false };
            answers.take(controller.on_sent(now, &packet));
            link.carry(now, sequence);
            (sequence, next_send) = (sequence + 1, next_send.max(now) + gap(answers.pacing));
            answers.take(controller.on_offered(now, &offered, &queue));
        }
        now += TimeDelta::from_micros(500);
    }
    // docs: end
    let mean = SIZE.as_bits_f64() * sequence as f64 / END.as_secs_f64() / 1e6;
    Ok((mean, controller.snapshot().srtt))
}

/// The outcome of [`call`] under some controllers, for people.
///
/// # Errors
/// If there is no such kind.
pub fn report() -> Result<String, ParamError> {
    let mut report = String::new();
    for kind in ["tempo", "scream", "ledbat"] {
        let (mean, srtt) = call(kind)?;
        let srtt = srtt.map_or("unknown".into(), |srtt| format!("{:.0} ms", srtt.as_millis_f64()));
        report += &format!("{kind}: {mean:.1} Mbit/s, smoothed round-trip time {srtt}\n");
    }
    Ok(report)
}

fn main() -> Result<(), ParamError> {
    print!("{}", report()?);
    Ok(())
}
