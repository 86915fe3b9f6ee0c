//! DCCP in UDP (RFC 6773) over a socket.

mod receiving;
mod relayed;
mod sending;

use super::Networked;
use crate::capture::Spell;
use crate::choice::ChosenFlow;
use crate::port::Port;
use crate::receiver::ReceiveOptions;
use crate::receiver::driver::ReceivingDriver;
use crate::receiver::session::SessionParts;
use crate::record::Ended;
use crate::remote::Remote;
use crate::sender::SendOptions;
use crate::sender::driver::SendingDriver;
use crate::silence::PlannedSilence;
use crate::{Control, NetError};
use paceline_media::Source;
use paceline_metrics::Facts;
use paceline_rtp::FeedbackConfig;
use paceline_scenario::transports::DccpParts;
use paceline_units::{Bytes, Ecn, TimeDelta};
use paceline_wire::dccp::to_ip;
use paceline_wire::rtp;
use receiving::DccpReceivingCodec;
use relayed::ConnectionFilter;
use sending::DccpSendingCodec;
use std::net::SocketAddr;

/// A sender that connects and brings no data for so long gives way to another.
const CANDIDATE_PATIENCE: TimeDelta = TimeDelta::from_secs(10);
/// A relayed connection that is silent for so long gives way to another.
const SENDER_PATIENCE: TimeDelta = TimeDelta::from_secs(5);

impl Networked for DccpParts {
    type Codec = DccpSendingCodec;
    type Filter = ConnectionFilter;

    /// As it would be without UDP.
    const SPELL: Spell = |bytes, addresses, _ports, ecn, out| to_ip(bytes, addresses, ecn, out).is_ok();
    const CONNECTS: bool = true;

    fn sender<'a>(
        &'a self,
        flow: ChosenFlow<'a>,
        port: Port,
        to: SocketAddr,
        options: &SendOptions,
    ) -> Result<SendingDriver<'a, Self::Codec>, NetError> {
        let (codec, end) = DccpSendingCodec::new(flow, self, to)?;
        let facts = if self.has_ack_vectors() { Facts::ACK_VECTOR_SENDER } else { Facts::SENDER_ALONE };
        Ok(SendingDriver::new(port, flow, facts, end, codec, to, options.patience))
    }

    fn receive<'a>(
        &'a self,
        flow: ChosenFlow<'a>,
        port: Port,
        options: ReceiveOptions,
        control: &Control<'_>,
    ) -> Result<Ended<'a>, NetError> {
        // A flow that pauses at its start brings its first data after that.
        let planned = PlannedSilence::of(&flow).lasts(flow.parts.start);
        let patience = options.silence.unwrap_or(CANDIDATE_PATIENCE) + planned;
        let codec = DccpReceivingCodec::new(self, port.socket.address()?, patience)?;
        let (feedback, ecn, playout) = (FeedbackConfig::default(), Ecn::NotEct, self.playout);
        let session = SessionParts { streams: 1, feedback, ecn, playout, detection: None, half: None };
        ReceivingDriver::new(port, flow, session, codec, options).run(control)
    }

    fn filter(&self, _ssrc: Option<u32>) -> ConnectionFilter {
        ConnectionFilter::new(SENDER_PATIENCE)
    }

    fn suits(&self, remote: Remote) -> Result<(), String> {
        match remote {
            Remote::Standard => Ok(()),
            Remote::Ericsson => Err("transport dccp".into()),
        }
    }
}

/// Whether a flow carries media in RTP packets (RFC 5762 section 4.1), and not bulk data.
pub(crate) fn is_media(parts: &DccpParts) -> bool {
    !is_bulk(parts) && parts.carried.rtp_header == Bytes::new(rtp::HEADER as u64)
}

/// Whether a flow carries bulk data and not frames.
pub(crate) fn is_bulk(parts: &DccpParts) -> bool {
    matches!(parts.carried.source, Source::Bulk(_))
}
