//! RTP: media one way, reports the other.

use super::{Ends, Outgoing, Returning, Taken};
use crate::packet::{Cargo, Media, Packet};
use paceline_media::DisplayedFrame;
use paceline_scenario::registry::{AnyController, AnyReceiverHalf};
use paceline_transport::rtp::{PathFacts, RtpReceiver, RtpSender};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::ccfb::Feedback;

/// Both ends of an RTP flow, and the reports under way between them.
pub struct RtpEnds {
    sender: RtpSender<AnyController>,
    receiver: RtpReceiver<AnyReceiverHalf>,
    ecn: Ecn,
    reports: Vec<Feedback>,
    free: Vec<u32>,
}

impl RtpEnds {
    /// Ends that have not started; packets are sent with the mark `ecn`.
    pub fn new(
        sender: RtpSender<AnyController>,
        receiver: RtpReceiver<AnyReceiverHalf>,
        ecn: Ecn,
    ) -> RtpEnds {
        RtpEnds { sender, receiver, ecn, reports: Vec::new(), free: Vec::new() }
    }
}

impl Ends for RtpEnds {
    type Sender = RtpSender<AnyController>;
    type Receiver = RtpReceiver<AnyReceiverHalf>;

    fn sender(&self) -> &RtpSender<AnyController> {
        &self.sender
    }

    fn receiver(&self) -> &RtpReceiver<AnyReceiverHalf> {
        &self.receiver
    }

    fn start(&mut self, now: Time) {
        self.sender.start(now);
    }

    fn stop(&mut self, now: Time) {
        self.sender.stop(now);
    }

    fn pause(&mut self, now: Time) {
        self.sender.pause(now);
    }

    fn resume(&mut self, now: Time) {
        self.sender.resume(now);
    }

    #[inline]
    fn sender_due(&self) -> Time {
        self.sender.next_timeout().unwrap_or(Time::MAX)
    }

    #[inline]
    fn sender_timeout(&mut self, now: Time) -> bool {
        self.sender.handle_timeout(now)
    }

    #[inline]
    fn take_return(&mut self, now: Time, cargo: &Cargo, _ecn: Ecn) {
        if let Cargo::Report(slot) = *cargo {
            self.sender.handle_feedback(now, &self.reports[slot as usize]);
            self.free.push(slot);
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Outgoing> {
        let out = self.sender.poll_transmit(now)?;
        Some(Outgoing {
            cargo: Cargo::Media(Media { rtp: out.packet, first: out.first }),
            size: out.packet.size().as_u64() as u32,
            ecn: self.ecn,
            stream: out.packet.stream,
            queued: out.queued,
        })
    }

    #[inline]
    fn receiver_due(&self) -> Time {
        let report = self.receiver.next_report().unwrap_or(Time::MAX);
        report.min(self.receiver.next_playout().unwrap_or(Time::MAX))
    }

    #[inline]
    fn receiver_timeout(&mut self, now: Time) {
        self.receiver.handle_playout(now);
    }

    #[inline]
    fn take_data(&mut self, now: Time, packet: &Packet) -> Taken {
        let Cargo::Media(media) = &packet.cargo else {
            return Taken { stream: Default::default(), payload: Bytes::ZERO };
        };
        let wait = Some(TimeDelta::from_nanos(packet.wait));
        let facts = PathFacts { sent: Some(packet.sent), wait, first: Some(media.first) };
        self.receiver.on_packet(now, &media.rtp, packet.ecn, facts);
        Taken { stream: media.rtp.stream, payload: media.rtp.payload }
    }

    #[inline]
    fn poll_return(&mut self, now: Time) -> Option<Returning> {
        if self.receiver.next_report().is_none_or(|due| now < due) {
            return None;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.reports.push(Feedback::default());
            self.reports.len() as u32 - 1
        });
        let report = &mut self.reports[slot as usize];
        if !self.receiver.poll_feedback(now, report) {
            self.free.push(slot);
            return None;
        }
        let size = report.size().as_u64() as u32;
        Some(Returning { cargo: Cargo::Report(slot), size, ecn: Ecn::NotEct })
    }

    #[inline]
    fn poll_displayed(&mut self) -> Option<DisplayedFrame> {
        self.receiver.poll_displayed().map(|(_, frame)| frame)
    }

    fn drop_cargo(&mut self, cargo: &Cargo) {
        if let Cargo::Report(slot) = *cargo {
            self.free.push(slot);
        }
    }
}
