//! A stream of ready-made media: its configuration, and the packets that wait in the endpoint's send queue.

use crate::packet::MediaPacket;
use paceline_media::Source;
use paceline_rtp::StreamConfig;
use paceline_units::Bitrate;
use std::collections::VecDeque;

/// A stream of ready-made media.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MediaStreamConfig {
    /// SSRC of the stream: no other of the flow has it.
    pub ssrc: u32,
    /// Weight of the stream's share where a controller names only a total; above 0.
    pub priority: f64,
    /// The encoder's target before the controller names one.
    pub target_start: Bitrate,
    /// Payload type of the padding of probes before there is media.
    pub payload_type: u8,
    /// Ticks of the RTP timestamp in a second, for sender reports.
    pub clock_rate: u32,
    /// The most packets that wait to be sent: further ones are discarded.
    pub most_waiting: usize,
}

impl MediaStreamConfig {
    /// A stream of priority 1 whose encoder starts with 300 kbit/s, padding of payload type 96, a clock of 90 kHz and at most 8192
    /// packets that wait.
    pub fn new(ssrc: u32) -> MediaStreamConfig {
        let target_start = Bitrate::from_kbps(300);
        MediaStreamConfig {
            ssrc,
            priority: 1.0,
            target_start,
            payload_type: 96,
            clock_rate: 90_000,
            most_waiting: 8192,
        }
    }

    /// Configuration of the stream of the endpoint.
    pub(super) fn stream(&self) -> StreamConfig {
        let MediaStreamConfig { priority, target_start, .. } = *self;
        StreamConfig { priority, ..StreamConfig::new(Source::External, target_start) }
    }
}

/// A packet, and the offset of its payload in that of its frame.
pub(super) type PlacedPacket<P> = (MediaPacket<P>, u64);

/// The packets of one stream.
#[derive(Clone, Debug)]
pub(super) struct MediaStream<P> {
    config: MediaStreamConfig,
    /// The packets of the endpoint's send queue, in the same order.
    waiting: VecDeque<PlacedPacket<P>>,
    /// The frame that was offered last, and the bytes of payload that came of it.
    frame: Option<(u64, u64)>,
    /// Payload type and timestamp of the packet that left last.
    last: (u8, u32),
    /// RTP timestamp of the packet that was offered last.
    offered: Option<u32>,
}

impl<P> MediaStream<P> {
    /// A stream of which nothing waits.
    pub(super) fn new(config: MediaStreamConfig) -> MediaStream<P> {
        let last = (config.payload_type, 0);
        MediaStream { config, waiting: VecDeque::new(), frame: None, last, offered: None }
    }

    #[inline]
    pub(super) fn ssrc(&self) -> u32 {
        self.config.ssrc
    }

    pub(super) fn set_ssrc(&mut self, ssrc: u32) {
        self.config.ssrc = ssrc;
    }

    /// Ticks of the RTP timestamp in a second.
    pub(super) fn clock_rate(&self) -> u32 {
        self.config.clock_rate
    }

    /// Payload type and timestamp of padding alone.
    #[inline]
    pub(super) fn idle(&self) -> (u8, u32) {
        self.last
    }

    /// Packets that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether as many packets wait as may.
    pub(super) fn is_full(&self) -> bool {
        self.waiting() >= self.config.most_waiting
    }

    /// A packet enters the send queue.
    pub(super) fn push(&mut self, packet: PlacedPacket<P>) {
        self.waiting.push_back(packet);
    }

    /// The packet that entered last was refused.
    pub(super) fn take_back(&mut self) -> Option<PlacedPacket<P>> {
        self.waiting.pop_back()
    }

    /// The oldest packet, if the send queue has `left` and so discarded it. Call until there is none.
    pub(super) fn take_discarded(&mut self, left: u64) -> Option<PlacedPacket<P>> {
        if self.waiting.len() as u64 > left { self.waiting.pop_front() } else { None }
    }

    /// The packet that leaves now.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<MediaPacket<P>> {
        let (packet, _) = self.waiting.pop_front()?;
        self.last = (packet.payload_type, packet.timestamp);
        Some(packet)
    }
}

impl<P: AsRef<[u8]>> MediaStream<P> {
    /// A packet is offered. Answers the offset of its payload in that of its frame, and whether its timestamp is before that of
    /// the packet offered before it.
    pub(super) fn on_offered(&mut self, packet: &MediaPacket<P>) -> (u64, bool) {
        let payload = packet.payload_bytes().len() as u64;
        let offset = self.frame.filter(|(frame, _)| *frame == packet.frame).map_or(0, |(_, offset)| offset);
        self.frame = Some((packet.frame, offset.saturating_add(payload)));
        let back = |before: u32| (packet.timestamp.wrapping_sub(before) as i32) < 0;
        (offset, self.offered.replace(packet.timestamp).is_some_and(back))
    }
}
