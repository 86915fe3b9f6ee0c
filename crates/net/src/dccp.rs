//! DCCP in UDP (RFC 6773) on a socket: packets in and out, what both ends agree on beforehand, and the capture.

use crate::NetError;
use crate::capture::Capture;
use crate::clock::Moment;
use crate::output::NetCounters;
use crate::socket::{Inbox, UdpPort};
use paceline_media::Source;
use paceline_scenario::build::DccpParts;
use paceline_transport::dccp::{FlowId, Packet, Payload};
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::dccp::{decode_in_udp, encode_in_udp};
use paceline_wire::timing::{self, Timing};
use rustix::rand::{GetRandomFlags, getrandom};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// How long an end waits for the other's part in closing a connection.
pub(crate) const CLOSING: TimeDelta = TimeDelta::from_secs(1);

/// A packet as it arrived.
pub(crate) struct Arrival {
    pub packet: Packet,
    pub from: SocketAddr,
    pub ecn: Ecn,
    pub arrived: Moment,
    /// Bytes of DCCP packet.
    pub length: u64,
}

/// What a socket had.
pub(crate) enum Read {
    /// Nothing more.
    Nothing,
    /// Something that was counted and dropped.
    Refused,
    /// A packet.
    Packet(Arrival),
}

/// A socket that speaks DCCP.
pub(crate) struct DccpPort {
    port: UdpPort,
    inbox: Inbox,
    bytes: Vec<u8>,
    capture: Option<Capture>,
}

impl DccpPort {
    /// Speaks over `port` and, if asked, writes everything into the file `capture`.
    pub fn new(port: UdpPort, capture: Option<&Path>) -> Result<DccpPort, NetError> {
        let local = port.address()?;
        let capture = capture.map(|path| Capture::create(path, local)).transpose()?;
        Ok(DccpPort { port, inbox: Inbox::new(), bytes: Vec::with_capacity(2048), capture })
    }

    /// To wait for.
    pub fn socket(&self) -> &UdpPort {
        &self.port
    }

    /// The next packet that has arrived; with `only`, of that address.
    pub fn read(&mut self, only: Option<SocketAddr>, counters: &mut NetCounters) -> Result<Read, NetError> {
        let Some(datagram) = self.port.read(&mut self.inbox)? else { return Ok(Read::Nothing) };
        counters.received += 1;
        let (from, ecn, arrived) = (datagram.from, datagram.ecn, datagram.arrived);
        if only.is_some_and(|only| only != from) {
            counters.strangers += 1;
            return Ok(Read::Refused);
        }
        // The system has checked UDP's length, and its checksum but for one of zero over IPv4, which a socket does not show.
        let Ok(packet) = decode_in_udp(datagram.bytes) else {
            counters.malformed += 1;
            return Ok(Read::Refused);
        };
        if let Some(capture) = &mut self.capture {
            capture.received(arrived, from, ecn, datagram.bytes);
        }
        let length = datagram.bytes.len() as u64;
        Ok(Read::Packet(Arrival { packet, from, ecn, arrived, length }))
    }

    /// Sends a packet. Dummy media says in its first bytes when it was captured, as `captured` has it, and when it left.
    pub fn send(
        &mut self,
        packet: &Packet,
        ecn: Ecn,
        to: SocketAddr,
        captured: impl Fn(Time) -> Moment,
        counters: &mut NetCounters,
    ) -> io::Result<()> {
        self.bytes.clear();
        let encoded = encode_in_udp(packet, &mut self.bytes);
        debug_assert!(encoded.is_ok(), "{packet:?}: {encoded:?}");
        let media = match &packet.payload {
            Payload::Dummy { size, captured } => Some((*size, *captured)),
            Payload::Rtp(rtp) => Some((rtp.media, rtp.captured)),
            Payload::Bytes(_) => None,
        };
        // Before the system call: on one machine the answer may arrive before that returns.
        let left = Moment::now();
        if let Some((size, at)) = media {
            // Moments mean the same to every process of this machine.
            let on_wire = |moment: Moment| Time::from_nanos(moment.as_nanos());
            let times = Timing { captured: on_wire(captured(at).min(left)), sent: on_wire(left) };
            let media = self.bytes.len().saturating_sub(size as usize);
            timing::write(&mut self.bytes[media..], times);
        }
        match self.port.send(&self.bytes, to, ecn) {
            Ok(()) => counters.sent += 1,
            Err(error) => {
                counters.unsendable += 1;
                return Err(error);
            }
        }
        if let Some(capture) = &mut self.capture {
            capture.sent(left, to, ecn, &self.bytes);
        }
        Ok(())
    }

    /// Ends the capture, if there is one; answers what is to be said of it.
    pub fn finish(self) -> Option<String> {
        self.capture.and_then(Capture::finish)
    }
}

/// The connection that a packet from `from` is of.
pub(crate) fn flow_of(from: SocketAddr, packet: &Packet) -> FlowId {
    FlowId { address: address_of(from.ip()), udp_port: from.port(), ports: packet.ports.reversed() }
}

/// An address as hosts know it.
fn address_of(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// Where a connection's packets go, through a socket on `local`.
pub(crate) fn target_of(flow: &FlowId, local: SocketAddr) -> SocketAddr {
    let v6 = std::net::Ipv6Addr::from_bits(flow.address);
    let ip = if local.is_ipv4() { v6.to_canonical() } else { IpAddr::V6(v6) };
    SocketAddr::new(ip, flow.udp_port)
}

/// Whether a flow carries bulk data and not frames, which go as RTP.
pub(crate) fn is_bulk(parts: &DccpParts) -> bool {
    matches!(parts.carried.source, Source::Bulk(_))
}

/// Numbers that nobody guesses: for initial sequence numbers and cookies (RFC 4340 section 7.2).
pub(crate) fn secret() -> Result<[u64; 2], NetError> {
    let mut bytes = [0; 16];
    let failed =
        |error: rustix::io::Errno| NetError::Socket { doing: "ask for random numbers", source: error.into() };
    // So few bytes come whole or not at all.
    getrandom(&mut bytes, GetRandomFlags::empty()).map_err(failed)?;
    let number = u128::from_ne_bytes(bytes);
    Ok([number as u64, (number >> 64) as u64])
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_transport::dccp::{Body, Ports, SequenceNumber, ServiceCode};

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
        assert_ne!(secret().expect("numbers"), secret().expect("numbers"));
    }
}
