//! DCCP in UDP to one receiver: the client of a connection.

use super::is_bulk;
use crate::NetError;
use crate::choice::ChosenFlow;
use crate::output::NetCounters;
use crate::secret::secret;
use crate::sender::codec::{Encoded, SendingCodec};
use crate::sender::sent::Reported;
use crate::socket::{Datagram, largest_payload};
use paceline_dccp::{Carried, DccpConfig, DccpSender, Ended, FLOW_PORTS, State};
use paceline_ends::SendingEnd;
use paceline_scenario::transports::{DccpParts, FlowCcids};
use paceline_units::{Bytes, Time};
use paceline_wire::dccp::{
    Packet, PacketType, Payload, ResetCode, SequenceNumber, ServiceCode, decode_in_udp, encode_in_udp,
};
use std::net::SocketAddr;

/// A data packet's header with long numbers (RFC 4340 section 5.1).
const HEADER: u64 = 16;

/// The messages on a connection, and how its packets are numbered.
pub(crate) struct DccpSendingCodec {
    service: ServiceCode,
    /// Whether acknowledgements tell of single packets: they carry Ack Vectors.
    vectors: bool,
    /// The number of the connection's first packet.
    first: Option<SequenceNumber>,
    warnings: Vec<String>,
}

impl DccpSendingCodec {
    /// The codec of a flow, and its end, whose packets fit into datagrams to the receiver.
    pub fn new(
        flow: ChosenFlow<'_>,
        parts: &DccpParts,
        to: SocketAddr,
    ) -> Result<(DccpSendingCodec, DccpSender<FlowCcids>), NetError> {
        let vectors = parts.has_ack_vectors();
        let mut codec =
            DccpSendingCodec { service: parts.service, vectors, first: None, warnings: Vec::new() };
        if !parts.handshake {
            let said =
                "dccp.handshake = false: over sockets a connection begins with a handshake all the same";
            codec.warnings.push(said.into());
        }
        let (config, carried) = fitting(flow, parts, to, &mut codec.warnings)?;
        let (ccids, idle) = (parts.ccids.clone(), flow.parts.controller.clone());
        let mut end = DccpSender::new(&config, ccids, parts.service, idle, carried);
        end.set_initial_number(SequenceNumber::new(secret()?[0]));
        Ok((codec, end))
    }
}

impl SendingCodec for DccpSendingCodec {
    type End = DccpSender<FlowCcids>;

    fn encode(&mut self, _now: Time, packet: &Packet, bytes: &mut Vec<u8>) -> Encoded {
        let encoded = encode_in_udp(packet, bytes);
        debug_assert!(encoded.is_ok(), "{packet:?}: {encoded:?}");
        // A short packet that is sent has its whole number.
        let ahead = packet.sequence.since(*self.first.get_or_insert(packet.sequence));
        let number = u64::try_from(ahead).ok().filter(|_| self.vectors);
        let payload = is_data(packet).then(|| Bytes::new(packet.payload.len() as u64));
        let media = match &packet.payload {
            Payload::Dummy { size, captured } => Some((*size, *captured)),
            Payload::Rtp(rtp) => Some((rtp.media, rtp.captured)),
            Payload::Bytes(_) => None,
        };
        let media = media.map(|(size, captured)| (bytes.len().saturating_sub(size as usize), captured));
        Encoded { number, payload, media }
    }

    fn receive(
        &mut self,
        now: Time,
        datagram: &Datagram<'_>,
        end: &mut DccpSender<FlowCcids>,
        counters: &mut NetCounters,
        told: impl FnMut(Reported),
    ) -> bool {
        let Ok(packet) = decode_in_udp(datagram.bytes) else {
            counters.malformed += 1;
            return false;
        };
        let kind = packet.packet_type();
        let before = accepted(end);
        end.receive(now, packet, datagram.ecn);
        if accepted(end) == before {
            counters.out_of_sequence += 1;
            return false;
        }
        if tells(kind) {
            end.connection().told().iter().map(Reported::of).for_each(told);
        }
        kind != PacketType::Reset
    }

    fn too_large(&self, now: Time, end: &mut DccpSender<FlowCcids>, packet: &Packet) {
        end.on_too_big(now, packet.sequence, Bytes::ZERO);
    }

    fn is_open(&self, end: &DccpSender<FlowCcids>) -> bool {
        end.connection().state() != State::Closed && end.ended().is_none()
    }

    /// A receiver that asked to close may be gone before it has our answer: that is waited for as at any other end.
    fn is_over(&self, end: &DccpSender<FlowCcids>) -> bool {
        end.ended().is_some() || end.connection().state() == State::Closing
    }

    fn abort(&self, now: Time, end: &mut DccpSender<FlowCcids>) {
        end.abort(now);
    }

    /// A receiver that has no room says so to the Ack that brings its cookie back (RFC 4340 section 8.1.4).
    fn check_handshake(
        &self,
        end: &DccpSender<FlowCcids>,
        address: SocketAddr,
        answered: bool,
        stopped: bool,
    ) -> Result<(), NetError> {
        const LATE: [ResetCode; 2] = [ResetCode::TOO_BUSY, ResetCode::BAD_INIT_COOKIE];
        let Some(ended) = end.ended() else { return Ok(()) };
        let late = ended.by_peer && LATE.contains(&ended.reason.code);
        if late || !answered && (ended.by_peer || !stopped) {
            return Err(NetError::NoConnection { said: no_connection(address, ended, self.service) });
        }
        Ok(())
    }

    fn finish(
        &self,
        end: &DccpSender<FlowCcids>,
        ran: Time,
        cut_off: bool,
        _counters: &mut NetCounters,
    ) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        warnings.extend(end.ended().and_then(|ended| unexpected_end(ended, ran, cut_off)));
        if !self.vectors {
            let said = "the sender knows no throughput and no losses: ccid3's acknowledgements tell of single packets \
                        only with dccp.ack_vector = true";
            warnings.push(said.into());
        }
        warnings
    }
}

fn accepted(end: &DccpSender<FlowCcids>) -> u64 {
    end.connection().counters().received
}

fn is_data(packet: &Packet) -> bool {
    matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck)
}

/// Whether a packet of this type may tell of packets.
fn tells(kind: PacketType) -> bool {
    matches!(kind, PacketType::Ack | PacketType::DataAck)
}

/// The message on a connection that did not end as it should.
fn unexpected_end(Ended { reason, by_peer }: Ended, ran: Time, cut_off: bool) -> Option<String> {
    let after = ran.as_secs_f64();
    match (by_peer, reason.code == ResetCode::CLOSED) {
        (true, true) if !cut_off => None,
        (_, true) => Some(format!("the receiver closed the connection after {after:.1} s")),
        (true, false) => Some(format!("the receiver reset the connection after {after:.1} s: {reason}")),
        (false, false) if cut_off => Some(format!("the connection failed after {after:.1} s: {reason}")),
        (false, false) => Some(format!("nothing answered the closing of the connection: {reason}")),
    }
}

/// The error for a reset in a handshake, told to the end that wanted the connection.
fn no_connection(address: SocketAddr, Ended { reason, by_peer }: Ended, service: ServiceCode) -> String {
    match reason.code {
        ResetCode::BAD_SERVICE_CODE => format!(
            "{address} does not offer the service {service} ({reason}): both ends need the same dccp.service"
        ),
        ResetCode::TOO_BUSY => {
            format!("{address} has a sender already ({reason}): it takes one at a time")
        }
        ResetCode::CONNECTION_REFUSED => {
            format!("nobody at {address} listens on DCCP port {} ({reason})", FLOW_PORTS.destination)
        }
        ResetCode::OPTION_ERROR | ResetCode::MANDATORY_ERROR => format!(
            "no agreement with {address} ({reason}): both ends need the same controller and dccp settings"
        ),
        _ if by_peer => format!("{address} refused the connection: {reason}"),
        _ => format!("the connection to {address} failed before it began: {reason}"),
    }
}

/// The connection's settings and what it carries, cut down to what this machine sends to `to` in one packet.
fn fitting(
    flow: ChosenFlow<'_>,
    parts: &DccpParts,
    to: SocketAddr,
    warnings: &mut Vec<String>,
) -> Result<(DccpConfig, Carried), NetError> {
    let (mut config, mut carried) = (parts.config.clone(), parts.carried.clone());
    // Without a route the first packet is refused, and that error is reported.
    let Ok(room) = largest_payload(to) else { return Ok((config, carried)) };
    let rtp = if is_bulk(parts) { 0 } else { carried.rtp_header.as_u64() };
    let (headers, name) = (HEADER + rtp, &flow.spec.name);
    let wanted = carried.max_payload.as_u64() + headers;
    if room <= headers {
        let what = format!("flow {name}: the route to {to} takes {room} bytes of DCCP packet, expected more");
        return Err(NetError::Unsupported { what });
    }
    if wanted > room {
        warnings.push(format!(
            "flow {name}: packet_size of {wanted} B does not fit into one UDP datagram to {to}; packets are of {room} B"
        ));
        carried.max_payload = Bytes::new(room - headers);
    }
    config.mtu = config.mtu.min(Bytes::new(room));
    Ok((config, carried))
}
