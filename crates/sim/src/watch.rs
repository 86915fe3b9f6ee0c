//! Watchers of single packets of a flow: opt-in, and off the packet path. A flow that nobody watches asks for a watch once per
//! packet.

use crate::capture::FlowCapture;
use crate::log::MediaLog;
use crate::packet::Packet;
use crate::transports::Travels;
use paceline_cc::StreamId;
use paceline_media::DisplayedFrame;
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::capture::Direction;

/// Notes on the packets of one flow.
#[derive(Debug, Default)]
pub struct Watch {
    /// The fate of each packet of pictures, for flows whose frames are decoded after the run.
    pub media: Option<Box<MediaLog>>,
    /// The packets as bytes, for a capture file.
    pub capture: Option<FlowCapture>,
}

impl Watch {
    /// A data packet leaves its sender.
    #[cold]
    #[inline(never)]
    pub fn data_sent<P: Travels>(&mut self, now: Time, packet: &P, ecn: Ecn) {
        if let (Some(log), Some(unit)) = (&mut self.media, packet.media()) {
            log.sent(now, &unit);
        }
        if let Some(capture) = &mut self.capture {
            capture.at_sender(now, Direction::Outbound, ecn, |way, out| packet.spell(now, way, out));
        }
    }

    /// A data packet arrives as `packet` brought it.
    #[cold]
    #[inline(never)]
    pub fn data_arrived<P: Travels>(&mut self, now: Time, data: &P, packet: &Packet) {
        if let (Some(log), Some(unit)) = (&mut self.media, data.media()) {
            let [wait, noise] = [packet.wait, packet.noise].map(TimeDelta::from_nanos);
            log.arrived(now, &unit, wait, noise);
        }
        if let Some(capture) = &mut self.capture {
            let sent = packet.sent;
            capture.at_receiver(now, Direction::Inbound, packet.ecn, |way, out| data.spell(sent, way, out));
        }
    }

    /// A frame that a stream of bytes carries is whole.
    #[cold]
    pub fn frame_displayed(&mut self, stream: StreamId, frame: &DisplayedFrame) {
        if let Some(log) = &mut self.media {
            log.whole(stream, frame);
        }
    }

    /// A report or an acknowledgement leaves the receiver.
    #[cold]
    #[inline(never)]
    pub fn answer_sent<P: Travels>(&mut self, now: Time, packet: &P, ecn: Ecn) {
        if let Some(capture) = &mut self.capture {
            capture.at_receiver(now, Direction::Outbound, ecn, |way, out| packet.spell(now, way, out));
        }
    }

    /// A report or an acknowledgement arrives as `packet` brought it.
    #[cold]
    #[inline(never)]
    pub fn answer_arrived<P: Travels>(&mut self, now: Time, answer: &P, packet: &Packet) {
        if let Some(capture) = &mut self.capture {
            let sent = packet.sent;
            capture.at_sender(now, Direction::Inbound, packet.ecn, |way, out| answer.spell(sent, way, out));
        }
    }
}
