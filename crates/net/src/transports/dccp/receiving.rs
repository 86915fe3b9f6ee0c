//! DCCP in UDP with many that may want to be the sender: a listening host with Init Cookies, of whose connections one is
//! the flow's.
//!
//! The first peer that brings a cookie back is the sender; while it is there, everybody else is told that the receiver is busy. A
//! connection that ends before it brought data, or brings none for as long as a sender may be silent, gives way to
//! another. Nothing is kept of Requests, scans and packets of unknown peers (RFC 4340 section 8.1.4), and answers to them
//! are limited in rate.

use super::is_media;
use crate::NetError;
use crate::output::NetCounters;
use crate::receiver::codec::{Data, NUMBERS_BEFORE, PacketKind, ReceivingCodec, RtpNumbers, SessionPacket};
use crate::secret::secret;
use crate::socket::Datagram;
use paceline_cc::StreamId;
use paceline_dccp::{DccpConfig, DccpCounters, Ended, Event, FLOW_PORTS, FlowId, Host, HostConfig};
use paceline_rtp::RtpFeedback;
use paceline_scenario::transports::{DccpParts, FlowCcids};
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::dccp::{Packet, PacketType, Payload, ResetCode, SequenceNumber};
use paceline_wire::dccp::{decode_in_udp, encode_in_udp};
use paceline_wire::rtp;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Connections before one of them is the sender's.
const MOST_CANDIDATES: usize = 16;

/// The connection that is the flow's.
struct SenderConnection {
    flow: FlowId,
    /// When its cookie came back.
    since: Time,
    numbers: PacketNumbers,
    /// Of media in RTP; none of bulk data.
    rtp: Option<RtpNumbers>,
}

/// The host, and which of its connections is the sender's.
pub(crate) struct DccpReceivingCodec {
    host: Host<FlowCcids>,
    local: SocketAddr,
    media: bool,
    /// A peer that brings no data for so long gives way to another.
    patience: TimeDelta,
    peer: Option<SenderConnection>,
    /// Whether the peer has brought data: from then on nobody else is let in.
    established: bool,
    ended: Option<Ended>,
}

impl DccpReceivingCodec {
    /// A host on `local` that takes the flow's connections.
    pub fn new(
        parts: &DccpParts,
        local: SocketAddr,
        patience: TimeDelta,
    ) -> Result<DccpReceivingCodec, NetError> {
        let config = HostConfig {
            connection: DccpConfig { ect: Ecn::NotEct, ..parts.config.clone() },
            max_connections: MOST_CANDIDATES,
            cookies_from: 0,
            ..HostConfig::new(secret()?)
        };
        let mut host = Host::new(&config, parts.ccids.clone());
        let wrong = |error| NetError::Unsupported { what: format!("dccp.service: {error}") };
        host.listen(FLOW_PORTS.destination, parts.service).map_err(wrong)?;
        let media = is_media(parts);
        Ok(DccpReceivingCodec { host, local, media, patience, peer: None, established: false, ended: None })
    }

    fn is_peer(&self, flow: &FlowId) -> bool {
        self.peer.as_ref().is_some_and(|peer| peer.flow == *flow)
    }

    fn counted(&self, flow: &FlowId) -> Option<DccpCounters> {
        self.host.connection(flow).map(|connection| *connection.counters())
    }

    /// Takes the events of connections; answers the payload that the peer's packet delivered.
    fn take_events(&mut self, now: Time) -> Option<Payload> {
        let mut delivered = None;
        while let Some((flow, event)) = self.host.poll_event() {
            match event {
                Event::Connected if self.peer.is_none() && !self.established => {
                    let (numbers, rtp) = (PacketNumbers::default(), self.media.then(RtpNumbers::default));
                    self.peer = Some(SenderConnection { flow, since: now, numbers, rtp });
                    self.host.set_max_connections(0);
                }
                // Two had a connection before one of them was the sender's.
                Event::Connected => self.reset(now, &flow),
                Event::Received { payload, .. } if self.is_peer(&flow) => delivered = Some(payload),
                Event::Closed(ended) if self.is_peer(&flow) => {
                    self.peer = None;
                    if self.established {
                        self.ended = Some(ended);
                    } else {
                        self.host.set_max_connections(MOST_CANDIDATES);
                    }
                }
                _ => {}
            }
        }
        delivered
    }

    fn reset(&mut self, now: Time, flow: &FlowId) {
        if let Some(connection) = self.host.connection_mut(flow) {
            connection.abort(now);
        }
    }

    /// The peer's connection accepted a packet, of which the application got `payload`.
    fn admit(
        &mut self,
        (number, short, kind): (SequenceNumber, bool, PacketType),
        payload: Option<&Payload>,
        mut take: impl FnMut(SessionPacket<'_>),
    ) {
        let Some(peer) = &mut self.peer else { return };
        let number = Some(peer.numbers.extend(number, short));
        let bytes = match payload {
            Some(Payload::Bytes(bytes)) => bytes.as_slice(),
            _ => &[],
        };
        let is_data = matches!(kind, PacketType::Data | PacketType::DataAck);
        self.established |= is_data;
        let data = is_data.then(|| match rtp::decode(bytes).ok().zip(peer.rtp.as_mut()) {
            Some((view, numbers)) => {
                let number = numbers.extend(view.header.sequence);
                Data {
                    payload: view.payload,
                    padding: view.padding,
                    rtp: number.map(|extended| (extended, view.header)),
                    stamp: None,
                    transport: 0,
                }
            }
            None => Data { payload: bytes, padding: 0, rtp: None, stamp: None, transport: 0 },
        });
        take(SessionPacket {
            begins: false,
            resynchronised: false,
            stream: StreamId(0),
            number,
            data,
            kind: PacketKind::Original,
        });
    }
}

impl ReceivingCodec for DccpReceivingCodec {
    fn receive(
        &mut self,
        now: Time,
        datagram: &Datagram<'_>,
        counters: &mut NetCounters,
        take: impl FnMut(SessionPacket<'_>),
    ) {
        // The system has checked UDP's length, and its checksum but for one of zero over IPv4, which a socket does not show.
        let Ok(packet) = decode_in_udp(datagram.bytes) else {
            counters.malformed += 1;
            return;
        };
        let flow = flow_of(datagram.from, &packet);
        let facts = (packet.sequence, packet.short, packet.packet_type());
        counters.unknown_peers += u64::from(self.peer.is_some() && !self.is_peer(&flow));
        let before = self.counted(&flow).unwrap_or_default();
        self.host.on_packet(now, flow.address, flow.udp_port, packet, datagram.ecn);
        let payload = self.take_events(now);
        if let Some(after) = self.counted(&flow).filter(|_| self.is_peer(&flow)) {
            counters.duplicates += after.duplicates - before.duplicates;
            counters.out_of_sequence += after.ignored - before.ignored;
            if after.received > before.received {
                self.admit(facts, payload.as_ref(), take);
            }
        }
    }

    /// Acknowledgements are the connection's.
    fn report(&mut self, _report: &RtpFeedback) {}

    fn poll_transmit(&mut self, now: Time, bytes: &mut Vec<u8>) -> Option<SocketAddr> {
        let Some((flow, transmit)) = self.host.poll_transmit(now) else {
            // A connection is forgotten when all that it had to send is sent.
            self.take_events(now);
            return None;
        };
        let encoded = encode_in_udp(&transmit.packet, bytes);
        debug_assert!(encoded.is_ok(), "{:?}: {encoded:?}", transmit.packet);
        Some(target_of(&flow, self.local))
    }

    fn next_timeout(&self) -> Option<Time> {
        self.host.next_timeout()
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.host.next_timeout().is_some_and(|due| due <= now) {
            self.host.handle_timeout(now);
        }
        // A client that connects and brings no data must not keep others out for ever, whatever else it says.
        let idle = |peer: &&SenderConnection| now.saturating_since(peer.since) >= self.patience;
        let idle = self.peer.as_ref().filter(|_| !self.established).filter(idle);
        if let Some(flow) = idle.map(|peer| peer.flow) {
            self.reset(now, &flow);
        }
        self.take_events(now);
    }

    fn is_over(&self) -> bool {
        self.ended.is_some()
    }

    fn is_open(&self) -> bool {
        self.peer.is_some()
    }

    fn close(&mut self, now: Time) {
        let Some(flow) = self.peer.as_ref().map(|peer| peer.flow) else { return };
        if let Some(connection) = self.host.connection_mut(&flow) {
            connection.discard_queue(now);
            connection.close(now);
        }
    }

    fn abort(&mut self, now: Time) {
        let left: Vec<FlowId> = self.host.flows().copied().collect();
        left.iter().for_each(|flow| self.reset(now, flow));
    }

    fn finish(&mut self, ran: Time, counters: &mut NetCounters) -> Option<String> {
        counters.unanswered = self.host.limited();
        let Ended { reason, by_peer } = self.ended?;
        let after = ran.as_secs_f64();
        match (by_peer, reason.code == ResetCode::CLOSED) {
            (_, true) => None,
            (true, false) => Some(format!("the sender reset the connection after {after:.1} s: {reason}")),
            (false, false) => Some(format!("the connection failed after {after:.1} s: {reason}")),
        }
    }
}

/// Numbers of a connection's packets, which do not wrap.
#[derive(Clone, Copy, Debug, Default)]
struct PacketNumbers {
    /// The first and the newest packet's.
    known: Option<(SequenceNumber, SequenceNumber)>,
}

impl PacketNumbers {
    /// The extended number of a packet that the connection accepted, whose own may be `short`.
    fn extend(&mut self, number: SequenceNumber, short: bool) -> u64 {
        let (first, newest) = self.known.unwrap_or((number, number));
        let number = if short { SequenceNumber::extend(number.low(), newest) } else { number };
        let newest = if number.since(newest) > 0 { number } else { newest };
        self.known = Some((first, newest));
        NUMBERS_BEFORE.saturating_add_signed(number.since(first))
    }
}

/// The connection that a packet from `from` is of.
fn flow_of(from: SocketAddr, packet: &Packet) -> FlowId {
    let address = match from.ip() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    };
    FlowId { address, udp_port: from.port(), ports: packet.ports.reversed() }
}

/// Where a connection's packets go, through a socket on `local`.
fn target_of(flow: &FlowId, local: SocketAddr) -> SocketAddr {
    let v6 = Ipv6Addr::from_bits(flow.address);
    let ip = if local.is_ipv4() { v6.to_canonical() } else { IpAddr::V6(v6) };
    SocketAddr::new(ip, flow.udp_port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_wire::dccp::{Body, Ports, ServiceCode};

    #[test]
    fn a_flow_leads_back_to_where_its_packets_come_from() {
        let body = Body::Request { service: ServiceCode(7) };
        let packet = Packet::new(Ports { source: 5001, destination: 5004 }, SequenceNumber::ZERO, body);
        for (from, local) in [
            ("192.0.2.1:700", "0.0.0.0:9"),
            ("[2001:db8::1]:700", "[::]:9"),
            ("[::ffff:192.0.2.1]:700", "[::]:9"),
        ] {
            let [from, local]: [SocketAddr; 2] = [from, local].map(|text| text.parse().expect("an address"));
            let flow = flow_of(from, &packet);
            assert_eq!(target_of(&flow, local), from);
            assert_eq!((flow.udp_port, flow.ports), (700, packet.ports.reversed()));
        }
    }

    #[test]
    fn numbers_wrap_and_short_ones_are_completed() {
        let mut numbers = PacketNumbers::default();
        let mut extend = |ahead: i64, short: bool| {
            let number = SequenceNumber::new(u64::MAX).plus(ahead);
            let number = if short { SequenceNumber::new(number.low().into()) } else { number };
            numbers.extend(number, short) as i64 - NUMBERS_BEFORE as i64
        };
        let steps = [(0, false), (3, true), (2, true), (-5, false), (6, false), (1 << 20, true)];
        for (ahead, short) in steps {
            assert_eq!(extend(ahead, short), ahead);
        }
    }
}
