//! Plain datagrams: every frame of the source leaves at once, cut into packets, and nothing comes back.
//!
//! The uncontrolled flow of every comparison. A packet's size is its payload: no UDP or IP header counts.

use paceline_cc::{Assigned, Controller, Limits, StreamId, Verb};
use paceline_ends::{
    Follows, FrameCounters, PathFacts, Reason, Received, ReceivingEnd, Run, SendingEnd, Transmit,
};
use paceline_media::{FrameRun, Source};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use std::convert::Infallible;

/// A datagram without any header of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Size of the datagram.
    pub payload: Bytes,
    /// Bytes of its frame behind it, which tell it from others of the frame.
    pub left: Bytes,
}

/// Sends what its source gives. Its controller is asked nothing: it is there to be looked at.
#[derive(Clone, Debug)]
pub struct UdpSender<C> {
    controller: C,
    source: Source,
    max_payload: u64,
    ecn: Ecn,
    /// Rest of the newest frame.
    left: u64,
    captured: Time,
    newest_frame: Bytes,
    frames: u64,
}

impl<C: Controller> UdpSender<C> {
    /// A sender that has not started; its packets leave with the codepoint `ecn`. `source` makes frames of its own
    /// accord: an endless one would never end.
    pub fn new(controller: C, source: Source, max_payload: Bytes, ecn: Ecn) -> UdpSender<C> {
        UdpSender {
            controller,
            source,
            max_payload: max_payload.as_u64().max(1),
            ecn,
            left: 0,
            captured: Time::ZERO,
            newest_frame: Bytes::ZERO,
            frames: 0,
        }
    }
}

impl<C: Controller> SendingEnd for UdpSender<C> {
    type Controller = C;
    type Data = Datagram;
    type Returning = Infallible;
    /// The controller is asked nothing.
    const EXECUTES: &'static [Verb] = &[];

    fn start(&mut self, now: Time) {
        self.source.start(now);
    }

    fn stop(&mut self, _now: Time) {
        self.source.stop();
    }

    fn pause(&mut self, _now: Time) {
        self.source.pause();
    }

    fn resume(&mut self, now: Time) {
        self.source.resume(now);
    }

    /// It is one stream, which is there as long as the flow.
    fn set_presence(&mut self, _now: Time, _stream: StreamId, _there: bool) {}

    /// Nobody tells the source a target: there is nothing to limit.
    fn set_limits(&mut self, _now: Time, _limits: &Limits) {}

    /// The source is told no rate: nothing is assigned.
    fn assign(&mut self, _now: Time, _assigned: Assigned) {}

    #[inline]
    fn next_timeout(&self) -> Option<(Time, Reason)> {
        self.source.next_capture().map(|due| (due, Reason::Capture))
    }

    /// Captures the frame that is due. Its packets are to be fetched before the next.
    #[inline]
    fn handle_timeout(&mut self, now: Time) {
        if self.source.next_capture().is_some_and(|due| due <= now) {
            let frame = self.source.capture(now);
            self.left = frame.payload.as_u64();
            (self.captured, self.newest_frame) = (frame.captured, frame.payload);
            self.frames += 1;
        }
    }

    #[inline]
    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<Datagram>> {
        if self.left == 0 {
            return None;
        }
        let size = Bytes::new(self.left.min(self.max_payload));
        self.left -= size.as_u64();
        let (packet, stream) = (Datagram { payload: size, left: Bytes::new(self.left) }, StreamId(0));
        Some(Transmit { packet, size, ecn: self.ecn, stream, queued: self.captured })
    }

    /// Frames of one packet each leave as they are captured.
    #[inline]
    fn poll_run(&mut self, until: Time) -> Option<Run<Datagram>> {
        let largest = Bytes::new(self.max_payload);
        let frames = if self.left == 0 { self.source.capture_run(until, largest)? } else { return None };
        let FrameRun { first, gap, count, payload } = frames;
        (self.captured, self.newest_frame) = (frames.last(), payload);
        self.frames += count;
        let (packet, stream) = (Datagram { payload, left: Bytes::ZERO }, StreamId(0));
        let packet = Transmit { packet, size: payload, ecn: self.ecn, stream, queued: first };
        Some(Run { packet, first, gap, queued_gap: gap, count })
    }

    fn receive(&mut self, _now: Time, packet: Infallible, _ecn: Ecn) -> Option<Infallible> {
        match packet {}
    }

    fn controller(&self) -> &C {
        &self.controller
    }

    /// Nobody reports: no round trip is known, and no target.
    #[inline]
    fn srtt_and_target(&self) -> (Option<TimeDelta>, Option<Bitrate>) {
        (None, None)
    }

    fn frames(&self) -> FrameCounters {
        FrameCounters { captured: self.frames, discarded: 0 }
    }

    fn target(&self, _stream: StreamId) -> Option<Bitrate> {
        None
    }

    fn send_queue_bytes(&self, _stream: StreamId) -> Bytes {
        Bytes::new(self.left)
    }

    fn send_queue_age(&self, _now: Time, _stream: StreamId) -> TimeDelta {
        TimeDelta::ZERO
    }

    fn newest_frame(&self, _stream: StreamId) -> Option<Bytes> {
        Some(self.newest_frame)
    }
}

/// The end that receives: what arrives is used.
#[derive(Clone, Copy, Debug, Default)]
pub struct UdpReceiver;

impl ReceivingEnd for UdpReceiver {
    type Data = Datagram;
    type Returning = Infallible;

    #[inline]
    fn next_timeout(&self) -> Option<(Time, Reason)> {
        None
    }

    fn handle_timeout(&mut self, _now: Time) {}

    #[inline]
    fn receive(&mut self, _now: Time, packet: Datagram, _ecn: Ecn, _facts: PathFacts) -> Received {
        Received { stream: StreamId(0), payload: packet.payload, follows: Follows::Nothing }
    }

    #[inline]
    fn poll_transmit(&mut self, _now: Time) -> Option<Transmit<Infallible>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_cc::uncontrolled::Uncontrolled;
    use paceline_media::{Cbr, CbrParams, FrameRate};
    use proptest::prelude::*;

    /// When each datagram left, how large it was and since when it had waited; and the sender's state in the end.
    type Left = (Vec<(Time, Bytes, Time)>, String);

    /// Packets that leave until some times, at each of which a driver has something else to do.
    fn drive(mut sender: UdpSender<Uncontrolled>, until: &[Time], in_runs: bool) -> Left {
        sender.start(Time::ZERO);
        let mut left = Vec::new();
        for &until in until {
            while let Some((now, _)) = sender.next_timeout().filter(|(due, _)| *due < until) {
                sender.handle_timeout(now);
                while let Some(out) = sender.poll_transmit(now) {
                    left.push((now, out.size, out.queued));
                }
                while in_runs && let Some(run) = sender.poll_run(until) {
                    let Run { packet, first, gap, queued_gap, count } = run;
                    let packets = (0..count as i64)
                        .map(|place| (first + gap * place, packet.size, packet.queued + queued_gap * place));
                    left.extend(packets);
                }
            }
        }
        (left, format!("{sender:?}"))
    }

    proptest! {
        #[test]
        fn what_leaves_in_runs_is_what_leaves_one_by_one(
            rate in prop_oneof![0u64..100_000_000, (1u64..100).prop_map(|mbps| mbps * 1_000_000)],
            fps in prop_oneof![1u64..2_000, Just(100), Just(6250)],
            payload in 1u64..2_000,
            spans in proptest::collection::vec(1u64..50_000_000, 1..20),
        ) {
            let params = CbrParams { rate: Bitrate::from_bps(rate), fps: FrameRate::new(fps, 1), adaptive: false };
            let source = Source::Cbr(Cbr::new(params));
            let sender = UdpSender::new(Uncontrolled, source, Bytes::new(payload), Ecn::NotEct);
            let until: Vec<Time> = spans
                .iter()
                .scan(0, |sum, span| {
                    *sum += span;
                    Some(Time::from_nanos(*sum))
                })
                .collect();
            prop_assert_eq!(drive(sender.clone(), &until, true), drive(sender, &until, false));
        }
    }
}
