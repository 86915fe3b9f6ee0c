//! Which program is at the other end, where it does otherwise than the texts say.

use crate::NetError;
use crate::choice::ChosenFlow;
use paceline_wire::ccfb::CountForm;
use std::str::FromStr;

/// The program at the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Remote {
    /// A peer that does as the texts say.
    #[default]
    Standard,
    /// The test programs of EricssonResearch/scream. They count the packets of a report block less one, say of their only stream
    /// that its SSRC is 100, and send datagrams of one byte between their reports.
    Ericsson,
}

impl Remote {
    /// How it counts the packets of a report block.
    pub(crate) fn count_form(self) -> CountForm {
        match self {
            Remote::Standard => CountForm::Count,
            Remote::Ericsson => CountForm::LessOne,
        }
    }

    /// The only SSRC that it reports on, if it knows no other.
    pub(crate) fn ssrc(self) -> Option<u32> {
        match self {
            Remote::Standard => None,
            Remote::Ericsson => Some(100),
        }
    }

    /// Whether it sends `datagram` only so that the way stays open.
    pub(crate) fn keeps_alive(self, datagram: &[u8]) -> bool {
        self == Remote::Ericsson && is_keep_alive(datagram)
    }

    /// An error if it cannot be the other end of a flow.
    pub(crate) fn check(self, flow: &ChosenFlow<'_>) -> Result<(), NetError> {
        let Err(found) = flow.over.suits(self) else { return Ok(()) };
        let name = &flow.spec.name;
        let what = format!(
            "peer ericsson: flow {name} has {found}, expected rtp with one stream and reports of RFC 8888"
        );
        Err(NetError::Unsupported { what })
    }
}

/// Whether a datagram has no other use than that it was sent: a single byte is neither RTP nor RTCP.
pub(crate) fn is_keep_alive(datagram: &[u8]) -> bool {
    datagram.len() == 1
}

impl FromStr for Remote {
    type Err = NetError;

    fn from_str(name: &str) -> Result<Remote, NetError> {
        match name {
            "standard" => Ok(Remote::Standard),
            "ericsson" => Ok(Remote::Ericsson),
            _ => {
                let what = format!("peer: found \"{name}\", expected standard or ericsson");
                Err(NetError::Unsupported { what })
            }
        }
    }
}
