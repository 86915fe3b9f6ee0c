//! Watchers of single packets of a flow: opt-in, and off the packet path. A flow that nobody watches asks for a watch once per
//! packet.

use crate::capture::FlowCapture;
use crate::log::MediaLog;
use crate::packet::{Packet, WHOLE};
use crate::transports::Travels;
use paceline_cc::StreamId;
use paceline_media::DisplayedFrame;
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::capture::Direction;
use std::collections::BTreeMap;

/// Notes on the packets of one flow.
#[derive(Debug, Default)]
pub struct Watch {
    /// The fate of each packet of pictures, for flows whose frames are decoded after the run.
    pub media: Option<Box<MediaLog>>,
    /// The packets as bytes, for a capture file.
    pub capture: Option<FlowCapture>,
    /// Which data packets arrived already, for flows over links that copy some.
    pub copies: Option<Box<Copies>>,
}

/// Packets that were copied, until all of their copies arrived or were lost: then they are forgotten.
#[derive(Debug, Default)]
pub struct Copies {
    /// By when they were sent, and their numbers.
    packets: BTreeMap<(Time, u64), Shares>,
}

/// The shares of a packet that arrived or were lost, in whatever order one hears of them.
#[derive(Clone, Copy, Debug, Default)]
struct Shares {
    gone: u64,
    /// How many of them arrived.
    arrived: u32,
    /// When the last that was lost was missed, if one was.
    missed: Option<Time>,
}

impl Copies {
    /// A packet, or a copy of it, arrives: whether another one had.
    fn arrived(&mut self, packet: &Packet) -> bool {
        packet.share() != WHOLE && self.gone(packet, None).arrived > 1
    }

    /// A packet, or a copy of it, is lost: when it was missed if none arrived and none is under way.
    pub fn lost(&mut self, missed: Time, packet: &Packet) -> Option<Time> {
        if packet.share() == WHOLE {
            return Some(missed);
        }
        let shares = self.gone(packet, Some(missed));
        shares.missed.filter(|_| shares.gone >= WHOLE && shares.arrived == 0)
    }

    /// A share in a packet arrives, or is lost and `missed` then: the shares with it.
    fn gone(&mut self, packet: &Packet, missed: Option<Time>) -> Shares {
        let key = (packet.sent, packet.content.number());
        let kept = self.packets.entry(key).or_default();
        kept.gone += packet.share();
        kept.arrived += u32::from(missed.is_none());
        kept.missed = kept.missed.max(missed);
        let shares = *kept;
        if shares.gone >= WHOLE {
            self.packets.remove(&key);
        }
        shares
    }
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

    /// A data packet arrives as `packet` brought it. Whether a copy of it had before.
    #[cold]
    #[inline(never)]
    pub fn data_arrived<P: Travels>(&mut self, now: Time, data: &P, packet: &Packet) -> bool {
        if let (Some(log), Some(unit)) = (&mut self.media, data.media()) {
            log.arrived(now, &unit, TimeDelta::from_nanos(packet.wait), packet.delay_noise());
        }
        if let Some(capture) = &mut self.capture {
            let sent = packet.sent;
            capture.at_receiver(now, Direction::Inbound, packet.ecn, |way, out| data.spell(sent, way, out));
        }
        self.copies.as_mut().is_some_and(|copies| copies.arrived(packet))
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
