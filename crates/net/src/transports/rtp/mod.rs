//! RTP and RTCP over a socket.

mod receiving;
mod relayed;
mod resending;
mod sending;

pub(crate) use receiving::RtpReceivingCodec;
pub(crate) use relayed::RtpRelayFilter;
pub(crate) use sending::RtpSendingCodec;

use super::Networked;
use crate::capture::Spell;
use crate::choice::ChosenFlow;
use crate::peer::SenderFilter;
use crate::port::Port;
use crate::receiver::ReceiveOptions;
use crate::receiver::driver::ReceivingDriver;
use crate::record::Ended;
use crate::remote::Remote;
use crate::secret::secret;
use crate::sender::SendOptions;
use crate::sender::driver::SendingDriver;
use crate::ssrc::rtcp_config;
use crate::{Control, NetError};
use paceline_cc::{AnyController, StreamId};
use paceline_metrics::Facts;
use paceline_rtp::{RtpIdentity, Ssrcs};
use paceline_scenario::transports::{RtpParts, SendingWorld};
use paceline_units::{Bytes, Time};
use paceline_wire::{FeedbackFormat, ip, tfrc};
use std::net::SocketAddr;

impl Networked for RtpParts {
    type Codec = RtpSendingCodec<AnyController>;
    type Filter = RtpRelayFilter;

    const SPELL: Spell =
        |bytes, addresses, ports, ecn, out| ip::udp(addresses, ports, ecn, bytes, out).is_ok();
    const CONNECTS: bool = false;

    fn sender<'a>(
        &'a self,
        flow: ChosenFlow<'a>,
        port: Port,
        to: SocketAddr,
        options: &SendOptions,
    ) -> Result<SendingDriver<'a, Self::Codec>, NetError> {
        let (streams, half) = (self.streams.len(), self.receiver_half.is_some());
        let ssrc = options.ssrc.or(self.identity.ssrc).or(options.remote.ssrc());
        let (ssrcs, first_sequences, first_timestamp) = numbers(&self.identity, ssrc, streams)?;
        let drawn = secret()?[0];
        let rtcp = self.identity.rtcp.then(|| rtcp_config(ssrcs.of(StreamId(0)), drawn));
        let codec = RtpSendingCodec::new((ssrcs, first_timestamp), streams, self.feedback.format, half);
        let codec = codec.with_rtcp(rtcp).with_packets(options.packets).towards(options.remote);
        let facts = if half { Facts::SENDER_ALONE } else { Facts::RTP_SENDER };
        let repairs = options.packets.repair.map(|_| secret().map(|[drawn, _]| drawn as u16));
        let world = SendingWorld {
            first_sequences: &first_sequences,
            guards: Default::default(),
            extension: Bytes::new(if half { tfrc::EXTENSION as u64 } else { 0 }),
            repairs: repairs.transpose()?,
        };
        let end = self.sending_end(flow.parts.controller.clone(), &world);
        Ok(SendingDriver::new(port, flow, facts, end, codec, to, options.patience))
    }

    fn receive<'a>(
        &'a self,
        flow: ChosenFlow<'a>,
        port: Port,
        options: ReceiveOptions,
        control: &Control<'_>,
    ) -> Result<Ended<'a>, NetError> {
        let drawn = secret()?[0];
        let codec = RtpReceivingCodec::new(self, options.ssrc).with_packets(options.packets);
        // Packets are asked for by RTCP.
        let speaks = self.identity.rtcp || options.packets.repair.is_some();
        let rtcp = speaks.then(|| rtcp_config(drawn as u32, drawn));
        let codec = codec.with_rtcp(rtcp).towards(options.remote);
        let session = self.receiving(self.receiver_half.clone(), options.packets.repair.is_some());
        ReceivingDriver::new(port, flow, session, codec, options).run(control)
    }

    fn filter(&self, ssrc: Option<u32>) -> RtpRelayFilter {
        RtpRelayFilter(SenderFilter::new(ssrc.or(self.identity.ssrc), self.streams.len()))
    }

    fn streams_there(&self) -> Option<Vec<(Time, Time)>> {
        let all = self.spans.len() == self.streams.len();
        all.then(|| self.spans.iter().map(|span| (span.from, span.to)).collect())
    }

    fn suits(&self, remote: Remote) -> Result<(), String> {
        match (remote, self.streams.len(), self.feedback.format) {
            (Remote::Standard, ..) => Ok(()),
            (Remote::Ericsson, 1, FeedbackFormat::Rfc8888) if self.receiver_half.is_none() => Ok(()),
            (Remote::Ericsson, 1, _) => Err("reports in another format".into()),
            (Remote::Ericsson, streams, _) => Err(format!("{streams} streams")),
        }
    }
}

/// Where the numbers of so many streams begin: SSRCs, sequence numbers and timestamps (RFC 3550 section 5.1).
fn numbers(
    identity: &RtpIdentity,
    ssrc: Option<u32>,
    streams: usize,
) -> Result<(Ssrcs, Vec<u16>, u32), NetError> {
    let [ssrcs, timestamp] = secret()?;
    let ssrcs = match ssrc.or(identity.ssrc) {
        Some(first) => Ssrcs::new(first, streams),
        None => Ssrcs::with(ssrcs as u32, streams),
    };
    let sequence = |_| match identity.first_sequence {
        Some(first) => Ok(first as u16),
        None => secret().map(|[drawn, _]| drawn as u16),
    };
    let sequences = (0..streams).map(sequence).collect::<Result<_, _>>()?;
    Ok((ssrcs, sequences, identity.first_timestamp.unwrap_or(timestamp as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_nobody_says_is_random_and_what_is_said_counts() {
        let of = |identity: RtpIdentity, ssrc| numbers(&identity, ssrc, 1).expect("numbers");
        let drawn = [(); 4].map(|()| of(RtpIdentity::default(), None));
        let ssrcs: BTreeSet<_> = drawn.iter().map(|(ssrcs, ..)| ssrcs.of(StreamId(0))).collect();
        let firsts: BTreeSet<_> =
            drawn.iter().map(|(_, firsts, timestamp)| (firsts.clone(), *timestamp)).collect();
        assert_eq!((ssrcs.len(), firsts.len()), (4, 4), "{drawn:?}");
        let said = RtpIdentity {
            ssrc: Some(7),
            first_sequence: Some(65_535),
            first_timestamp: Some(9),
            circuit_breaker: None,
            ecn_check: None,
            ..RtpIdentity::default()
        };
        assert_eq!(of(said, None), (Ssrcs::new(7, 1), vec![65_535], 9));
        assert_eq!(of(said, Some(8)).0, Ssrcs::new(8, 1), "the caller's word before the scenario's");
    }
}
