//! A UDP socket with ECN bits in both directions and the kernel's arrival times.
//!
//! quinn-udp sets the socket up and sends. UDP_GRO, which it switches on, is switched off again: coalesced datagrams have
//! one arrival time among them and come without their ECN bits. Receiving is `recvmsg`, one datagram at a time, since
//! quinn-udp for this project's oldest Rust hands over no timestamps.

use crate::NetError;
use crate::clock::{Moment, StampReader};
use nix::sys::socket::sockopt::{IpMtu, ReceiveTimestampns, UdpGroSegment};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, getsockopt, recvmsg, setsockopt};
use paceline_units::Ecn;
use quinn_udp::{EcnCodepoint, Transmit, UdpSockRef, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

#[allow(clippy::disallowed_types, reason = "this is the room that opens sockets, and this the file")]
type Socket = std::net::UdpSocket;

/// No datagram is larger, so none is cut.
const LARGEST: usize = 65_536;
/// Room for ECN bits, timestamp and packet info.
const CONTROL: usize = 256;
/// Asked of the system for what arrives while the process does not run; it may grant less.
const RECEIVE_BUFFER: usize = 4 << 20;

/// A datagram as it arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram<'a> {
    /// Content of the datagram.
    pub bytes: &'a [u8],
    /// Address of the sender.
    pub from: SocketAddr,
    /// ECN field of the datagram.
    pub ecn: Ecn,
    /// When the kernel received it.
    pub arrived: Moment,
    /// When the process read it.
    pub read: Moment,
}

/// Room for one datagram.
#[derive(Default)]
pub(crate) struct Inbox {
    buffer: Vec<u8>,
    control: Vec<u8>,
}

impl Inbox {
    /// Nothing in it.
    pub fn new() -> Inbox {
        Inbox { buffer: vec![0; LARGEST], control: vec![0; CONTROL] }
    }

    /// The first bytes of what was read last.
    pub fn bytes(&self, length: usize) -> &[u8] {
        &self.buffer[..length.min(LARGEST)]
    }

    /// Room for a packet that does not come from a socket.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.buffer
    }
}

/// A bound UDP socket that never blocks.
pub(crate) struct UdpPort {
    socket: Socket,
    state: UdpSocketState,
}

impl UdpPort {
    /// Listens on `address`; port 0 lets the system choose.
    pub fn bind(address: SocketAddr) -> Result<UdpPort, NetError> {
        let failed = |source| NetError::Bind { address, source };
        #[allow(clippy::disallowed_methods, reason = "this is the room that opens sockets")]
        let socket = Socket::bind(address).map_err(failed)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket)).map_err(failed)?;
        prepare(&socket).map_err(failed)?;
        // A smaller buffer than asked for is no reason to give up.
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), RECEIVE_BUFFER);
        Ok(UdpPort { socket, state })
    }

    /// The address it listens on.
    pub fn address(&self) -> Result<SocketAddr, NetError> {
        self.socket
            .local_addr()
            .map_err(|source| NetError::Socket { doing: "ask a socket for its address", source })
    }

    /// Sends one datagram, or says why not: a full buffer is `WouldBlock`.
    pub fn send(&self, bytes: &[u8], to: SocketAddr, ecn: Ecn) -> io::Result<()> {
        // One segment is no segmentation.
        self.send_segments(bytes, bytes.len(), to, ecn)
    }

    /// How many datagrams of equal size the system takes at once; 1 if it takes each alone.
    pub fn most_together(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Sends datagrams of `segment` bytes each, the last of which may be shorter, in one system call.
    pub fn send_segments(&self, bytes: &[u8], segment: usize, to: SocketAddr, ecn: Ecn) -> io::Result<()> {
        let ecn = EcnCodepoint::from_bits(ecn.bits());
        let transmit =
            Transmit { destination: to, ecn, contents: bytes, segment_size: Some(segment), src_ip: None };
        self.state.try_send(UdpSockRef::from(&self.socket), &transmit)
    }

    /// The next datagram that has arrived, in `inbox`; none if nothing is left.
    pub fn read<'i>(&self, inbox: &'i mut Inbox) -> Result<Option<Datagram<'i>>, NetError> {
        let Inbox { buffer, control } = inbox;
        let mut slices = [IoSliceMut::new(buffer)];
        let fd = self.socket.as_raw_fd();
        let message = match recvmsg::<SockaddrStorage>(fd, &mut slices, Some(control), MsgFlags::MSG_DONTWAIT)
        {
            Ok(message) => message,
            Err(nix::errno::Errno::EAGAIN) => return Ok(None),
            Err(error) => {
                return Err(NetError::Socket { doing: "receive from a socket", source: error.into() });
            }
        };
        let (mut ecn, mut stamp) = (Ecn::NotEct, None);
        for control in message.cmsgs().into_iter().flatten() {
            match control {
                ControlMessageOwned::Ipv4Tos(bits) => ecn = Ecn::from_bits(bits),
                ControlMessageOwned::Ipv6TClass(bits) => ecn = Ecn::from_bits(bits as u8),
                ControlMessageOwned::ScmTimestampns(at) => stamp = Some(nanos_of(at.tv_sec(), at.tv_nsec())),
                _ => {}
            }
        }
        // Only the system names senders, and every UDP sender has an address.
        let from = message.address.as_ref().and_then(internet_address).unwrap_or_else(nobody);
        let (length, clocks) = (message.bytes, StampReader::now());
        let (arrived, read) = (clocks.moment_of(stamp), clocks.moment_of(None));
        Ok(Some(Datagram { bytes: &inbox.buffer[..length.min(LARGEST)], from, ecn, arrived, read }))
    }
}

/// This machine's address that packets to `peer` leave from; nothing is sent.
pub(crate) fn address_towards(peer: SocketAddr) -> io::Result<IpAddr> {
    Ok(aimed_at(peer)?.local_addr()?.ip())
}

/// The largest UDP payload to `peer` that this machine sends in one packet, as far as it knows: over IPv4 the route's
/// MTU less the headers, over IPv6 what every length field takes.
pub(crate) fn largest_payload(peer: SocketAddr) -> io::Result<u64> {
    /// UDP's length field, less its header (RFC 768).
    const UDP_MOST: u64 = 65_535 - 8;
    if peer.is_ipv6() {
        return Ok(UDP_MOST);
    }
    let mtu = u64::try_from(getsockopt(&aimed_at(peer)?, IpMtu)?).unwrap_or(0);
    Ok(mtu.saturating_sub(20 + 8).min(UDP_MOST - 20))
}

#[allow(clippy::disallowed_methods, reason = "this is the room that opens sockets")]
fn aimed_at(peer: SocketAddr) -> io::Result<Socket> {
    let any = if peer.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = Socket::bind((any, 0))?;
    socket.connect(peer)?;
    Ok(socket)
}

fn nanos_of(secs: i64, nanos: i64) -> u64 {
    secs as u64 * 1_000_000_000 + nanos as u64
}

fn internet_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| SocketAddr::V4((*v4).into()));
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| SocketAddr::V6((*v6).into())))
}

fn nobody() -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], 0))
}

/// Each datagram by itself, with the time of its arrival.
fn prepare(socket: &Socket) -> io::Result<()> {
    match setsockopt(socket, UdpGroSegment, &false) {
        // A kernel that does not know the option does not coalesce.
        Err(nix::errno::Errno::ENOPROTOOPT) | Ok(()) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(setsockopt(socket, ReceiveTimestampns, &true)?)
}

impl AsFd for UdpPort {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::wait::wait_for;
    use paceline_units::TimeDelta;

    /// A datagram that came from nowhere, at the machine's start.
    pub(crate) fn datagram(bytes: &[u8]) -> Datagram<'_> {
        let zero = Moment::from_nanos(0);
        Datagram { bytes, from: nobody(), ecn: Ecn::NotEct, arrived: zero, read: zero }
    }

    fn local() -> UdpPort {
        UdpPort::bind("127.0.0.1:0".parse().expect("address")).expect("a port")
    }

    #[test]
    fn marks_and_arrival_times_come_with_every_datagram() {
        let (from, to, mut inbox) = (local(), local(), Inbox::new());
        let target = to.address().expect("address");
        let marks = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        // The kernel begins to stamp a moment after the first socket of the machine asks for it.
        wait_for(&[&to], Moment::now().plus(TimeDelta::from_millis(60))).expect("waited");
        let before = Moment::now();
        for ecn in marks {
            from.send(&[ecn.bits(); 40], target, ecn).expect("sent");
        }
        let sent = Moment::now();
        let mut seen = Vec::new();
        while seen.len() < marks.len() {
            wait_for(&[&to], Moment::now().plus(TimeDelta::from_secs(5))).expect("waited");
            while let Some(datagram) = to.read(&mut inbox).expect("received") {
                assert_eq!(datagram.bytes, [datagram.ecn.bits(); 40]);
                assert_eq!(datagram.from, from.address().expect("address"));
                seen.push((datagram.ecn, datagram.arrived));
            }
        }
        assert_eq!(seen.iter().map(|(ecn, _)| *ecn).collect::<Vec<_>>(), marks);
        // On loopback a datagram arrives while it is sent; the two clocks are read within microseconds of each other.
        let slack = TimeDelta::from_millis(5);
        for (_, arrived) in seen {
            assert!(
                before.plus(-slack) <= arrived && arrived <= sent.plus(slack),
                "{before:?} {arrived:?} {sent:?}"
            );
        }
    }

    #[test]
    fn an_address_in_use_is_named() {
        let first = local();
        let address = first.address().expect("address");
        let error = UdpPort::bind(address).err().expect("in use").to_string();
        assert!(error.contains(&address.to_string()) && error.contains("another program"), "{error}");
    }
}
