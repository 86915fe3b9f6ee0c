//! A packet that leaves, and its bytes.

use crate::packet::MediaPacket;
use paceline_cc::StreamId;
use paceline_units::{Bytes, Ecn, Time};
use paceline_wire::rtp::{self, RtpHeaderFields, RtpView};
use paceline_wire::{WireError, rtx};

/// A packet that leaves now: media in the application's buffer, or padding alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MediaTransmit<P> {
    /// Stream of the packet.
    pub stream: StreamId,
    /// SSRC of the stream.
    pub ssrc: u32,
    /// Extended sequence number, of which the low 16 bits go on the wire.
    pub sequence: u64,
    /// The media; none of a packet that is padding alone.
    pub media: Option<MediaPacket<P>>,
    /// Bytes of padding behind the media.
    pub padding: u8,
    /// Size on the link: header, payload and padding.
    pub size: Bytes,
    /// The ECN codepoint that it leaves with.
    pub ecn: Ecn,
    /// When the media was offered; of padding, now.
    pub queued: Time,
    /// Transport-wide number, where packets carry one.
    pub transport: Option<u16>,
    /// Payload type and timestamp of padding alone.
    pub(super) idle: (u8, u32),
    /// Identifier of the element with the transport-wide number.
    pub(super) element: Option<u8>,
}

impl<P: AsRef<[u8]>> MediaTransmit<P> {
    /// The buffer of the media, which is handed back so once: none of padding, and of what is sent again.
    pub fn into_buffer(self) -> Option<P> {
        self.media.filter(|media| media.original_number().is_none()).map(MediaPacket::into_buffer)
    }

    /// Appends the packet's bytes, [`MediaTransmit::size`] of them.
    ///
    /// # Errors
    /// A payload type that the application changed to one that would read as RTCP.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let (ssrc, sequence) = (self.ssrc, self.sequence as u16);
        let (payload_type, timestamp, marker) = match &self.media {
            Some(media) => (media.payload_type, media.timestamp, media.marker),
            None => (self.idle.0, self.idle.1, false),
        };
        let payload = self.media.as_ref().map_or(&[][..], MediaPacket::payload_bytes);
        let original = self.media.as_ref().and_then(MediaPacket::original_number);
        let packet = RtpView {
            header: RtpHeaderFields { payload_type, ssrc, sequence, timestamp, marker },
            csrc: self.media.as_ref().map_or(&[], MediaPacket::csrc),
            extension: self.media.as_ref().and_then(MediaPacket::extension),
            payload: if original.is_some() { &[] } else { payload },
            padding: self.padding,
        };
        let number = self.transport.map(u16::to_be_bytes);
        let element = self.element.zip(number.as_ref()).map(|(id, number)| (id, &number[..]));
        rtp::encode_packet(&packet, element, out)?;
        if let Some(number) = original {
            debug_assert_eq!(self.padding, 0, "padding goes alone");
            out.extend(rtx::osn(number));
            out.extend_from_slice(payload);
        }
        Ok(())
    }
}
