//! A packet of media as an application hands it over: of any codec, cut by the application.

use core::ops::Range;
use paceline_wire::extension::{Form, ONE_BYTE};
use paceline_wire::rtp::{self, RtpExtension};
use paceline_wire::{WireError, extension, rtx};
use smallvec::SmallVec;

/// Bytes of header extension elements that a packet holds without an allocation.
const ELEMENTS: usize = 32;

/// A ready-made RTP payload, or a whole RTP packet, in a buffer `P` that is handed back when it has left or was discarded.
///
/// Sequence number, SSRC and padding are the endpoint's; payload type, timestamp, marker, contributing sources and header
/// extension are the application's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MediaPacket<P> {
    /// The frame that it belongs to, as the application counts.
    pub frame: u64,
    /// Whether it is the last packet of its frame.
    pub ends_frame: bool,
    /// Payload type: 0 to 63 or 96 to 127 (RFC 5761 section 4).
    pub payload_type: u8,
    /// RTP timestamp, in ticks of the payload type's clock (RFC 3550 section 5.1).
    pub timestamp: u32,
    /// The marker bit, whose meaning is the payload type's (RFC 3550 section 5.1).
    pub marker: bool,
    /// The number of the packet that this one sends again (RFC 4588 section 4).
    pub(super) osn: Option<u16>,
    buffer: P,
    csrc: Range<usize>,
    extension: Extension,
    payload: Range<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Extension {
    /// Elements of the one-byte form.
    Elements(SmallVec<[u8; ELEMENTS]>),
    /// The extension of a whole packet: its profile, and where its data is in the buffer.
    Brought(u16, Range<usize>),
}

/// Where `part`, which lies in `whole`, lies in it.
fn place(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
    start..start + part.len()
}

impl<P: AsRef<[u8]>> MediaPacket<P> {
    /// A packet whose payload is all of `payload`, the last of its frame if it has the marker.
    ///
    /// # Errors
    /// A payload type that with the marker would read as RTCP.
    pub fn payload(
        frame: u64,
        (payload_type, timestamp, marker): (u8, u32, bool),
        payload: P,
    ) -> Result<MediaPacket<P>, WireError> {
        rtp::expect_payload_type(payload_type)?;
        let extension = Extension::Elements(SmallVec::new());
        let place = 0..payload.as_ref().len();
        Ok(MediaPacket {
            frame,
            ends_frame: marker,
            payload_type,
            timestamp,
            marker,
            osn: None,
            buffer: payload,
            csrc: 0..0,
            extension,
            payload: place,
        })
    }

    /// A whole RTP packet, the last of its frame if it has the marker. Its sequence number, SSRC and padding are not sent.
    ///
    /// # Errors
    /// A datagram that is no RTP packet (RFC 3550 appendix A.1), or whose payload type with the marker would read as RTCP.
    pub fn whole(frame: u64, packet: P) -> Result<MediaPacket<P>, WireError> {
        let bytes = packet.as_ref();
        let view = rtp::decode(bytes)?;
        let extension = match view.extension {
            Some(extension) => Extension::Brought(extension.profile, place(bytes, extension.data)),
            None => Extension::Elements(SmallVec::new()),
        };
        let (csrc, payload) = (place(bytes, view.csrc), place(bytes, view.payload));
        let rtp::RtpHeaderFields { payload_type, timestamp, marker, .. } = view.header;
        rtp::expect_payload_type(payload_type)?;
        let ends_frame = marker;
        Ok(MediaPacket {
            frame,
            ends_frame,
            payload_type,
            timestamp,
            marker,
            osn: None,
            buffer: packet,
            csrc,
            extension,
            payload,
        })
    }

    /// The packet with one more element in its header extension (RFC 8285), of the one-byte form: identifier 1 to 14, 1 to
    /// 16 bytes.
    ///
    /// # Errors
    /// An element that the form cannot say, more than 255 bytes of them, or a whole packet, which brings its own.
    pub fn with_element(mut self, id: u8, content: &[u8]) -> Result<MediaPacket<P>, WireError> {
        let Extension::Elements(elements) = &mut self.extension else {
            let (what, expected) = ("header extension of a whole packet", "elements that it brings");
            return Err(WireError::Unexpected { what, at: rtp::HEADER, found: id.into(), expected });
        };
        if !Form::OneByte.admits(id, content.len()) || elements.len() + 1 + content.len() > 255 {
            let what = "bytes of a header extension's element";
            return Err(WireError::Range { what, found: content.len() as u64, min: 1, max: 16 });
        }
        Form::OneByte.push(id, content, elements);
        Ok(self)
    }

    /// The sequence number of the packet that this one sends again, if it does (RFC 4588).
    pub fn original_number(&self) -> Option<u16> {
        self.osn
    }

    /// The payload, headers and padding out, and without the original number of what is sent again.
    pub fn payload_bytes(&self) -> &[u8] {
        self.part(&self.payload)
    }

    /// Contributing sources, 4 bytes each.
    pub fn csrc(&self) -> &[u8] {
        self.part(&self.csrc)
    }

    /// The header extension, if it has one.
    pub fn extension(&self) -> Option<RtpExtension<'_>> {
        match &self.extension {
            Extension::Elements(elements) if elements.is_empty() => None,
            Extension::Elements(elements) => Some(RtpExtension { profile: ONE_BYTE, data: elements }),
            Extension::Brought(profile, place) => {
                Some(RtpExtension { profile: *profile, data: self.part(place) })
            }
        }
    }

    /// A part that an application took away by changing its buffer is empty.
    fn part(&self, place: &Range<usize>) -> &[u8] {
        self.buffer.as_ref().get(place.clone()).unwrap_or_default()
    }

    /// The buffer that was handed over.
    pub fn into_buffer(self) -> P {
        self.buffer
    }

    /// Bytes of the packet on the link, padding out, with a transport-wide number in the `element` of this identifier; none if
    /// its header extension cannot say that.
    pub(super) fn size_with(&self, element: Option<u8>) -> Option<usize> {
        let extension = match (self.extension(), element) {
            (own, Some(id)) => extension::size_with(own.as_ref(), id, 2)?,
            (Some(own), None) => extension::HEADER + own.data.len().next_multiple_of(4),
            (None, None) => 0,
        };
        let osn = self.osn.map_or(0, |_| rtx::OSN);
        Some(rtp::HEADER + self.csrc.len() + extension + osn + self.payload.len())
    }
}
