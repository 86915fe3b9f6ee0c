//! Datagrams that leave together: those of equal size in one system call (UDP segmentation offload), the last of them may be
//! shorter. They go to one address with one ECN codepoint, in the order in which they came.

use crate::output::NetCounters;
use crate::socket::UdpPort;
use paceline_units::Ecn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes that the system takes in one call: IP's largest packet less its header and UDP's.
const MOST_BYTES: usize = 65_535 - 20 - 8;

/// Datagrams that wait, for no longer than it takes to gather them, until all of them leave.
#[derive(Debug)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
    count: usize,
    /// Size of each datagram but the last.
    segment: usize,
    /// Size of the last datagram.
    last: usize,
    to: SocketAddr,
    ecn: Ecn,
    /// The largest datagram that has left alone. A larger one does so first: what exceeds the MTU is refused in another way
    /// among others.
    proven: usize,
}

impl Batch {
    /// Without a datagram.
    pub fn new() -> Batch {
        let to = (Ipv4Addr::UNSPECIFIED, 0).into();
        Batch { bytes: Vec::new(), count: 0, segment: 0, last: 0, to, ecn: Ecn::NotEct, proven: 0 }
    }

    /// Whether it holds no datagram.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Where its datagrams go, and their ECN codepoint.
    pub fn way(&self) -> (SocketAddr, Ecn) {
        (self.to, self.ecn)
    }

    /// Whether a datagram of `length` bytes can leave with the others from `port`. If not, they leave first.
    pub fn takes(&self, length: usize, to: SocketAddr, ecn: Ecn, port: &UdpPort) -> bool {
        self.is_empty()
            || (self.to == to && self.ecn == ecn)
                && self.count < port.most_together()
                && self.last == self.segment
                && (1..=self.segment.min(self.proven)).contains(&length)
                && self.bytes.len() + length <= MOST_BYTES
    }

    /// Adds a datagram that it [takes](Batch::takes).
    pub fn push(&mut self, datagram: &[u8], to: SocketAddr, ecn: Ecn) {
        if self.is_empty() {
            (self.to, self.ecn, self.segment) = (to, ecn, datagram.len());
        }
        self.last = datagram.len();
        self.count += 1;
        self.bytes.extend_from_slice(datagram);
    }

    /// A datagram by its place.
    pub fn datagram(&self, place: usize) -> &[u8] {
        let begin = place * self.segment;
        &self.bytes[begin..(begin + self.segment).min(self.bytes.len())]
    }

    /// The same, to be written to.
    pub fn datagram_mut(&mut self, place: usize) -> &mut [u8] {
        let begin = place * self.segment;
        let end = (begin + self.segment).min(self.bytes.len());
        &mut self.bytes[begin..end]
    }

    /// Lets all datagrams leave from `port`, and tells of each, by its place, why the system did not take it, if it did not.
    pub fn send(&mut self, port: &UdpPort, mut told: impl FnMut(usize, &[u8], Option<&io::Error>)) {
        let (to, ecn, count) = (self.to, self.ecn, self.count);
        if count > 1 {
            let sent = port.send_segments(&self.bytes, self.segment, to, ecn);
            let full = sent.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
            if sent.is_ok() || full {
                (0..count).for_each(|place| told(place, self.datagram(place), sent.as_ref().err()));
                self.clear();
                return;
            }
        }
        for place in 0..count {
            let sent = port.send(self.datagram(place), to, ecn);
            if sent.is_ok() {
                self.proven = self.proven.max(self.datagram(place).len());
            }
            told(place, self.datagram(place), sent.as_ref().err());
        }
        self.clear();
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }
}

/// A socket of a relay, and the datagrams that are about to leave from it.
pub(crate) struct Outlet {
    /// The socket, to read from and to wait for.
    pub port: UdpPort,
    batch: Batch,
}

impl Outlet {
    /// Of a socket.
    pub fn new(port: UdpPort) -> Outlet {
        Outlet { port, batch: Batch::new() }
    }

    /// Lets a datagram leave with the next [`Outlet::flush`], or before.
    pub fn send(&mut self, bytes: &[u8], to: SocketAddr, ecn: Ecn, counters: &mut NetCounters) {
        if !self.batch.takes(bytes.len(), to, ecn, &self.port) {
            self.flush(counters);
        }
        self.batch.push(bytes, to, ecn);
    }

    /// Lets what waits leave.
    pub fn flush(&mut self, counters: &mut NetCounters) {
        let Outlet { port, batch } = self;
        batch.send(port, |_, _, error| match error {
            None => counters.sent += 1,
            Some(_) => counters.unsendable += 1,
        });
    }
}

impl AsFd for Outlet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.port.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;
    use crate::socket::Inbox;
    use crate::wait::wait_for;
    use paceline_units::TimeDelta;

    fn port() -> UdpPort {
        UdpPort::bind("127.0.0.1:0".parse().expect("address")).expect("a port")
    }

    /// Sends datagrams of these sizes and codepoints, each numbered by its first byte; how many left at once each time.
    fn send(batch: &mut Batch, from: &UdpPort, to: SocketAddr, datagrams: &[(usize, Ecn)]) -> Vec<usize> {
        let mut together = Vec::new();
        let flush = |batch: &mut Batch, together: &mut Vec<usize>| {
            together.push(batch.count);
            batch.send(from, |_, _, error| assert!(error.is_none(), "{error:?}"));
        };
        for (number, (length, ecn)) in datagrams.iter().enumerate() {
            if !batch.takes(*length, to, *ecn, from) {
                flush(batch, &mut together);
            }
            batch.push(&vec![number as u8; *length], to, *ecn);
        }
        flush(batch, &mut together);
        together
    }

    fn receive(port: &UdpPort, count: usize) -> Vec<(usize, usize, Ecn)> {
        let (mut inbox, mut seen) = (Inbox::new(), Vec::new());
        while seen.len() < count {
            wait_for(&[port], Moment::now().plus(TimeDelta::from_secs(5))).expect("waited");
            port.read(&mut inbox).expect("received");
            for datagram in inbox.datagrams() {
                assert!(datagram.bytes.iter().all(|byte| *byte == datagram.bytes[0]), "whole");
                seen.push((usize::from(datagram.bytes[0]), datagram.bytes.len(), datagram.ecn));
            }
        }
        seen
    }

    #[test]
    fn equal_sizes_leave_together_in_order_and_come_apart_again() {
        let (from, to, mut batch) = (port(), port(), Batch::new());
        let target = to.address().expect("address");
        let (one, other) = (Ecn::Ect1, Ecn::NotEct);
        let mut datagrams = vec![(1200, one); 6];
        // A shorter one is the last of its batch; a longer one, or one of another codepoint, begins another.
        datagrams.extend([(700, one), (700, one), (1200, one), (1200, other), (1200, other)]);
        let together = send(&mut batch, &from, target, &datagrams);
        // Nothing of this size had left before.
        let offload = from.most_together() > 1;
        assert!(!offload || together == [1, 6, 1, 1, 2], "{together:?}");
        let expected: Vec<_> =
            datagrams.iter().enumerate().map(|(number, (length, ecn))| (number, *length, *ecn)).collect();
        assert_eq!(receive(&to, datagrams.len()), expected);
        let many = vec![(1200, one); 130];
        let together = send(&mut batch, &from, target, &many);
        assert!(!offload || together == [54, 54, 22], "{together:?}: no more than IP's largest packet");
        assert_eq!(
            receive(&to, 130).iter().map(|seen| seen.0).collect::<Vec<_>>(),
            (0..130).collect::<Vec<_>>()
        );
    }

    #[test]
    fn of_a_batch_that_is_refused_each_datagram_is_told() {
        let (from, mut batch, mut told) = (port(), Batch::new(), Vec::new());
        // Port 0 takes nothing.
        let nowhere = "127.0.0.1:0".parse().expect("address");
        batch.proven = 100;
        for number in 0..3 {
            assert!(batch.takes(100, nowhere, Ecn::NotEct, &from));
            batch.push(&[number; 100], nowhere, Ecn::NotEct);
        }
        batch.send(&from, |place, bytes, error| told.push((place, bytes[0], error.is_some())));
        assert_eq!(told, [(0, 0, true), (1, 1, true), (2, 2, true)]);
        assert!(batch.is_empty());
    }
}
