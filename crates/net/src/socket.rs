//! A UDP socket with ECN bits in both directions and the kernel's arrival times.
//!
//! quinn-udp sets the socket up and sends. UDP_GRO, which it switches on, is switched off again: coalesced datagrams have
//! one arrival time among them and come without their ECN bits. Receiving is `recvmmsg`, as many datagrams in one system call as have
//! arrived, each with its own time and ECN bits: quinn-udp hands over no timestamps.

use crate::NetError;
use crate::clock::{Moment, StampReader};
use nix::sys::socket::sockopt::{IpMtu, ReceiveTimestampns, UdpGroSegment};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, SockaddrStorage, getsockopt, recvmmsg, setsockopt,
};
use paceline_units::Ecn;
use quinn_udp::{EcnCodepoint, Transmit, UdpSockRef, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

#[allow(clippy::disallowed_types, reason = "this is the room that opens sockets, and this the file")]
type Socket = std::net::UdpSocket;

/// Room for a datagram. None is larger than 64 KiB, so none is cut; the rest keeps the beginnings of all from the same lines of a cache.
const ROOM: usize = 65_536 + 2_048;
/// Datagrams read in one system call: most, and fewest.
const MOST_TOGETHER: usize = 32;
const FEWEST_TOGETHER: usize = 4;
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

/// A datagram that is kept.
#[derive(Clone, Debug)]
pub(crate) struct HeldDatagram {
    bytes: Vec<u8>,
    from: SocketAddr,
    ecn: Ecn,
    arrived: Moment,
    read: Moment,
}

impl HeldDatagram {
    pub fn of(datagram: &Datagram<'_>) -> HeldDatagram {
        let Datagram { bytes, from, ecn, arrived, read } = *datagram;
        HeldDatagram { bytes: bytes.to_vec(), from, ecn, arrived, read }
    }

    pub fn datagram(&self) -> Datagram<'_> {
        let HeldDatagram { ref bytes, from, ecn, arrived, read } = *self;
        Datagram { bytes, from, ecn, arrived, read }
    }
}

/// The facts of a datagram beside its bytes.
#[derive(Clone, Copy, Debug)]
struct Envelope {
    length: usize,
    from: SocketAddr,
    ecn: Ecn,
    arrived: Moment,
}

/// Room for the datagrams that one system call reads. Memory is taken by those that arrive.
#[derive(Default)]
pub(crate) struct Inbox {
    buffer: Vec<u8>,
    envelopes: Vec<Envelope>,
    read: Option<Moment>,
    /// How many are asked for next: more if there were as many as there was room for.
    asks: usize,
}

impl Inbox {
    /// Nothing in it.
    pub fn new() -> Inbox {
        let buffer = vec![0; MOST_TOGETHER * ROOM];
        Inbox { buffer, envelopes: Vec::with_capacity(MOST_TOGETHER), read: None, asks: FEWEST_TOGETHER }
    }

    /// How many datagrams were read last.
    pub fn len(&self) -> usize {
        self.envelopes.len()
    }

    /// The datagrams that were read last, in the order in which they arrived.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        let read = self.read.unwrap_or(Moment::from_nanos(0));
        self.envelopes.iter().enumerate().map(move |(place, envelope)| {
            let Envelope { length, from, ecn, arrived } = *envelope;
            Datagram { bytes: self.bytes(place, length), from, ecn, arrived, read }
        })
    }

    /// The first bytes of what was read last, by its place among what was read together.
    pub fn bytes(&self, place: usize, length: usize) -> &[u8] {
        &self.buffer[place * ROOM..][..length.min(ROOM)]
    }

    /// Room for a packet that does not come from a socket, in the first place.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[..ROOM]
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

    /// Reads what has arrived into `inbox`; true if there may be more than there was room for.
    pub fn read(&self, inbox: &mut Inbox) -> Result<bool, NetError> {
        let Inbox { buffer, envelopes, read, asks } = inbox;
        envelopes.clear();
        let asked = *asks;
        let room = buffer.chunks_exact_mut(ROOM).take(asked);
        let mut slices: Vec<_> = room.map(|room| [IoSliceMut::new(room)]).collect();
        // New ones each time: the system writes into them how much of the room for control messages was used.
        let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(asked, Some(vec![0; CONTROL]));
        let fd = self.socket.as_raw_fd();
        let messages = match recvmmsg(fd, &mut headers, slices.iter_mut(), MsgFlags::MSG_DONTWAIT, None) {
            Ok(messages) => messages,
            Err(nix::errno::Errno::EAGAIN) => return Ok(false),
            Err(error) => {
                return Err(NetError::Socket { doing: "receive from a socket", source: error.into() });
            }
        };
        let clocks = StampReader::now();
        *read = Some(clocks.moment_of(None));
        envelopes.extend(messages.map(|message| envelope(&message, clocks)));
        let full = envelopes.len() == asked;
        *asks = if full { 2 * asked } else { envelopes.len() }.clamp(FEWEST_TOGETHER, MOST_TOGETHER);
        Ok(full)
    }
}

/// The system's facts of a datagram.
fn envelope(message: &RecvMsg<'_, '_, SockaddrStorage>, clocks: StampReader) -> Envelope {
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
    Envelope { length: message.bytes, from, ecn, arrived: clocks.moment_of(stamp) }
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
        // On loopback a datagram arrives while it is sent. The two clocks are read within microseconds of each other, unless the thread
        // loses its processor just then.
        let slack = TimeDelta::from_millis(5);
        let is_exact = (0..5).any(|_| {
            let before = Moment::now();
            for ecn in marks {
                from.send(&[ecn.bits(); 40], target, ecn).expect("sent");
            }
            let sent = Moment::now();
            let mut seen = Vec::new();
            while seen.len() < marks.len() {
                wait_for(&[&to], Moment::now().plus(TimeDelta::from_secs(5))).expect("waited");
                to.read(&mut inbox).expect("received");
                for datagram in inbox.datagrams() {
                    assert_eq!(datagram.bytes, [datagram.ecn.bits(); 40]);
                    assert_eq!(datagram.from, from.address().expect("address"));
                    seen.push((datagram.ecn, datagram.arrived));
                }
            }
            assert_eq!(seen.iter().map(|(ecn, _)| *ecn).collect::<Vec<_>>(), marks);
            let times = before.plus(-slack)..=sent.plus(slack);
            seen.iter().all(|(_, arrived)| times.contains(arrived))
        });
        assert!(is_exact, "arrivals are not when they were sent");
    }

    #[test]
    fn many_are_read_together_each_whole_and_with_its_own_mark() {
        let (from, to, mut inbox) = (local(), local(), Inbox::new());
        let target = to.address().expect("address");
        let marks = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        let sent: Vec<_> =
            (0..100).map(|n| (n, marks[n % 4], if n % 10 == 9 { 60_000 } else { n })).collect();
        for (number, ecn, length) in &sent {
            from.send(&vec![*number as u8; *length], target, *ecn).expect("sent");
        }
        let (mut seen, mut calls) = (Vec::new(), 0);
        loop {
            let more = to.read(&mut inbox).expect("received");
            calls += 1;
            // The clocks are read anew for each batch.
            let mut before = Moment::from_nanos(0);
            for datagram in inbox.datagrams() {
                assert!(before <= datagram.arrived && datagram.arrived <= datagram.read);
                before = datagram.arrived;
                let number = seen.len();
                assert!(datagram.bytes.iter().all(|byte| usize::from(*byte) == number));
                seen.push((number, datagram.ecn, datagram.bytes.len()));
            }
            if !more {
                break;
            }
        }
        assert_eq!(seen, sent);
        assert_eq!(calls, 6, "4, 8, 16, 32, 32 and the rest");
        assert!(!to.read(&mut inbox).expect("received") && inbox.len() == 0);
    }

    #[test]
    fn an_address_in_use_is_named() {
        let first = local();
        let address = first.address().expect("address");
        let error = UdpPort::bind(address).err().expect("in use").to_string();
        assert!(error.contains(&address.to_string()) && error.contains("another program"), "{error}");
    }
}
