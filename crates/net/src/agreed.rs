//! The terms of a call that both ends know before its first packet: SDP says it to a browser, Paceline's own ends are born with it.

use crate::NetError;
use paceline_rtp::{PAYLOAD_TYPE, TRANSPORT_WIDE_ELEMENT};
use paceline_wire::rtp::expect_payload_type;

/// The form of a call's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// RTP payload type of the media.
    pub payload_type: u8,
    /// Local identifier of the header extension's element with the transport-wide number, 1 to 14 (RFC 8285 section 4.2).
    pub transport_wide: u8,
    /// The kind of media.
    pub media: Media,
    /// How packets of its only stream are sent again, if they are.
    pub repair: Option<Repair>,
}

/// How packets of a stream are asked for and sent again (RFC 4585, RFC 4588).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repair {
    /// SSRC of the stream.
    pub original: u32,
    /// SSRC of the retransmissions.
    pub ssrc: u32,
    /// Their payload type.
    pub payload_type: u8,
}

/// The kind of payload of media packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Media {
    /// Nothing but when it was captured and sent ([`paceline_wire::timing`]).
    Timed,
    /// A picture that anybody decodes ([`paceline_wire::vp8`]).
    Vp8,
}

impl Agreed {
    /// Between Paceline's own ends; the payload type is that of the reference's tool.
    pub const OWN: Agreed = Agreed {
        payload_type: PAYLOAD_TYPE,
        transport_wide: TRANSPORT_WIDE_ELEMENT,
        media: Media::Timed,
        repair: None,
    };

    /// Itself, if packets can be like this.
    ///
    /// # Errors
    /// A payload type that is also one of RTCP (RFC 5761 section 4) or another's, an SSRC that is another's, or an identifier that
    /// no short element has.
    pub fn checked(self) -> Result<Agreed, NetError> {
        let wrong = |what: String| NetError::Unsupported { what };
        expect_payload_type(self.payload_type).map_err(|error| wrong(error.to_string()))?;
        if let Some(Repair { original, ssrc, payload_type }) = self.repair {
            expect_payload_type(payload_type).map_err(|error| wrong(error.to_string()))?;
            if ssrc == original || payload_type == self.payload_type {
                return Err(wrong(
                    "retransmissions have the SSRC or payload type of what they restore".into(),
                ));
            }
        }
        match self.transport_wide {
            1..=14 => Ok(self),
            found => {
                Err(wrong(format!("the transport-wide number has identifier {found}, expected 1 to 14")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_packet_can_be_like_is_refused() {
        assert_eq!(Agreed::OWN.checked().expect("sound"), Agreed::OWN);
        let said = |agreed: Agreed| agreed.checked().expect_err("refused").to_string();
        assert!(said(Agreed { payload_type: 72, ..Agreed::OWN }).contains("72"));
        assert!(said(Agreed { transport_wide: 15, ..Agreed::OWN }).contains("identifier 15"));
        let repaired = |repair| Agreed { repair: Some(repair), ..Agreed::OWN };
        let sound = Repair { original: 1, ssrc: 2, payload_type: 97 };
        assert_eq!(repaired(sound).checked().expect("sound").repair, Some(sound));
        assert!(said(repaired(Repair { ssrc: 1, ..sound })).contains("of what they restore"));
        assert!(said(repaired(Repair { payload_type: 98, ..sound })).contains("of what they restore"));
        assert!(said(repaired(Repair { payload_type: 73, ..sound })).contains("73"));
    }
}
