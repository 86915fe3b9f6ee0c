//! A capture file of a DCCP flow: what was sent and received, as it would be without UDP.
//!
//! It grows under another name and gets its own when the run ends, however it ends: whole packets, nothing half-written. Two
//! runs cannot grow into one file; what a killed run left is written over.

use crate::NetError;
use crate::clock::{Moment, nanos_since_1970};
use crate::queue::TimedQueue;
use crate::socket::address_towards;
use paceline_units::{Ecn, TimeDelta};
use paceline_wire::capture::{file_header, record_header};
use paceline_wire::dccp::{Addresses, to_ip};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A packet is written when the newest is so much younger. What arrives while others are sent is read after them.
const DELAY: TimeDelta = TimeDelta::from_secs(1);
/// The most bytes that wait so; at more than 30 Mbit/s the oldest are written earlier.
const MOST_PENDING: usize = 4 << 20;

/// A capture file that is being written.
pub(crate) struct Capture {
    path: PathBuf,
    growing: PathBuf,
    file: Option<BufWriter<File>>,
    /// What is added to a moment to get nanoseconds since 1970: one difference for the whole file.
    since_1970: i128,
    local: IpAddr,
    /// The own address towards the address that was asked for last, if `local` is every address.
    towards: Option<(IpAddr, IpAddr)>,
    pending: PendingPackets,
    failed: Option<io::Error>,
}

/// Packets that wait to be written in the order of their times; of equal times in that of coming.
struct PendingPackets {
    packets: TimedQueue<Moment, Vec<u8>>,
    bytes: usize,
    newest: Moment,
}

impl PendingPackets {
    fn new() -> PendingPackets {
        PendingPackets { packets: TimedQueue::new(), bytes: 0, newest: Moment::from_nanos(0) }
    }

    fn push(&mut self, at: Moment, packet: Vec<u8>) {
        self.bytes += packet.len();
        self.newest = self.newest.max(at);
        self.packets.push(at, packet);
    }

    /// The oldest, if nothing older is expected, or if it is asked for `all`.
    fn pop(&mut self, all: bool) -> Option<(Moment, Vec<u8>)> {
        let (bytes, newest) = (self.bytes, self.newest);
        let due = |oldest| all || bytes > MOST_PENDING || newest.since(oldest) >= DELAY;
        self.packets.pop_if(due).inspect(|(_, packet)| self.bytes -= packet.len())
    }
}

impl Capture {
    /// A file for what passes a socket on `local`.
    pub fn create(path: &Path, local: SocketAddr) -> Result<Capture, NetError> {
        let failed = |source| NetError::Capture { path: path.into(), source };
        let name = path.file_name().ok_or_else(|| failed(io::ErrorKind::IsADirectory.into()))?;
        let mut growing = name.to_os_string();
        growing.push(".part");
        let growing = path.with_file_name(growing);
        if path.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        let mut file = BufWriter::with_capacity(1 << 16, open_alone(&growing).map_err(failed)?);
        file.write_all(&file_header()).map_err(failed)?;
        Ok(Capture {
            path: path.into(),
            growing,
            file: Some(file),
            since_1970: i128::from(nanos_since_1970()) - i128::from(Moment::now().as_nanos()),
            local: local.ip(),
            towards: None,
            pending: PendingPackets::new(),
            failed: None,
        })
    }

    /// A datagram came from `peer`.
    pub fn received(&mut self, at: Moment, peer: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        let own = self.own_address(peer);
        self.write(at, peer.ip(), own, ecn, bytes);
    }

    /// A datagram went to `peer`.
    pub fn sent(&mut self, at: Moment, peer: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        let own = self.own_address(peer);
        self.write(at, own, peer.ip(), ecn, bytes);
    }

    fn own_address(&mut self, peer: SocketAddr) -> IpAddr {
        if !self.local.is_unspecified() {
            return self.local;
        }
        match self.towards {
            Some((asked, own)) if asked == peer.ip() => own,
            _ => {
                let own = address_towards(peer).unwrap_or(self.local);
                self.towards = Some((peer.ip(), own));
                own
            }
        }
    }

    fn write(&mut self, at: Moment, from: IpAddr, to: IpAddr, ecn: Ecn, bytes: &[u8]) {
        if self.file.is_none() || self.failed.is_some() {
            return;
        }
        let addresses = match (from.to_canonical(), to.to_canonical()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4 { source, destination },
            (source, destination) => {
                let v6 = |ip: IpAddr| match ip {
                    IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                    IpAddr::V6(v6) => v6,
                };
                Addresses::V6 { source: v6(source), destination: v6(destination) }
            }
        };
        let mut packet = Vec::new();
        // Only what could be read or written as a packet comes here; what is too long for IP is left out.
        if to_ip(bytes, &addresses, ecn, &mut packet).is_err() {
            return;
        }
        self.pending.push(at, packet);
        self.write_pending(false);
    }

    /// Writes what need not wait any longer, or all.
    fn write_pending(&mut self, all: bool) {
        let Some(file) = self.file.as_mut() else { return };
        while let Some((at, packet)) = self.pending.pop(all).filter(|_| self.failed.is_none()) {
            let nanos = u64::try_from(i128::from(at.as_nanos()) + self.since_1970).unwrap_or(0);
            let header = record_header(nanos, packet.len());
            self.failed = file.write_all(&header).and_then(|()| file.write_all(&packet)).err();
        }
    }

    /// Gives the file its name; answers what went wrong.
    pub fn finish(mut self) -> Option<String> {
        self.write_pending(true);
        let flushed = self.file.take().map_or(Ok(()), |mut file| file.flush());
        let failed = self.failed.take().map_or(flushed, Err).and_then(|()| self.name());
        failed.err().map(|error| format!("the capture {} is not whole: {error}", self.path.display()))
    }

    fn name(&self) -> io::Result<()> {
        std::fs::rename(&self.growing, &self.path)
    }
}

impl Drop for Capture {
    /// A run that ends with an error leaves its capture, too: there it is looked for most.
    fn drop(&mut self) {
        self.write_pending(true);
        if let Some(mut file) = self.file.take() {
            let _ = file.flush();
            let _ = self.name();
        }
    }
}

/// An empty file that nobody else is writing. A lock goes with the process that holds it: what a killed run left is no
/// obstacle.
fn open_alone(path: &Path) -> io::Result<File> {
    loop {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        if let Err(rustix::io::Errno::WOULDBLOCK) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            let text = "another run is writing this file now; give each end a name of its own";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, text));
        }
        // Another end may have held the lock and named its file in between. Then that file is whole, and not ours.
        let (ours, there) = (file.metadata()?, std::fs::metadata(path));
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())) {
            file.set_len(0)?;
            return Ok(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_wire::dccp::encode_in_udp;
    use paceline_wire::dccp::{Body, Packet, Ports, SequenceNumber, ServiceCode};

    const PEER: ([u8; 4], u16) = ([192, 0, 2, 1], 7);

    fn create(path: &Path) -> Result<Capture, NetError> {
        Capture::create(path, SocketAddr::from(([192, 0, 2, 2], 9)))
    }

    /// A folder of its own.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("paceline-capture-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    /// Each packet's seconds and nanoseconds as one number, and its own number.
    fn read(path: &Path) -> Vec<(u64, u64)> {
        let bytes = std::fs::read(path).expect("a capture");
        let word = |at: usize| u64::from(u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four")));
        let (mut at, mut found) = (24, Vec::new());
        while at < bytes.len() {
            found.push((word(at) * 1_000_000_000 + word(at + 4), word(at + 16 + 20 + 12)));
            at += 16 + word(at + 8) as usize;
        }
        assert_eq!(at, bytes.len());
        found
    }

    fn packet(number: u64) -> Vec<u8> {
        let (ports, body) = (Ports { source: 1, destination: 2 }, Body::Request { service: ServiceCode(7) });
        let mut bytes = Vec::new();
        encode_in_udp(&Packet::new(ports, SequenceNumber::new(number), body), &mut bytes).expect("bytes");
        bytes
    }

    #[test]
    fn packets_are_written_in_the_order_of_their_times() {
        let folder = folder("order");
        let path = folder.join("order.pcap");
        let mut capture = create(&path).expect("a file");
        let from = Moment::now().as_nanos();
        // Each arrival is read after the two that were sent since; 5 s in all, so that most is written on the way.
        for round in 0..100u64 {
            let at = |late: u64| Moment::from_nanos(from + round * 50_000_000 + late);
            capture.sent(at(10), PEER.into(), Ecn::NotEct, &packet(4 * round + 1));
            capture.sent(at(20), PEER.into(), Ecn::NotEct, &packet(4 * round + 2));
            capture.received(at(20), PEER.into(), Ecn::NotEct, &packet(4 * round + 3));
            capture.received(at(5), PEER.into(), Ecn::NotEct, &packet(4 * round));
            assert!(capture.pending.bytes <= 4 * 21 * 40, "a second of them");
        }
        assert_eq!(capture.finish(), None);
        let found = read(&path);
        assert!(found.is_sorted_by_key(|(nanos, _)| *nanos));
        assert_eq!(found.iter().map(|(_, number)| *number).collect::<Vec<_>>(), (0..400).collect::<Vec<_>>());
        std::fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn what_waits_to_be_written_is_bounded() {
        let mut pending = PendingPackets::new();
        let mut written = 0;
        for number in 0..10_000 {
            pending.push(Moment::from_nanos(number), vec![0; 1500]);
            written += std::iter::from_fn(|| pending.pop(false)).count();
            assert!(pending.bytes <= MOST_PENDING);
        }
        assert_eq!(written, 10_000 - MOST_PENDING / 1500);
        assert_eq!(std::iter::from_fn(|| pending.pop(true)).count() + written, 10_000);
        assert_eq!(pending.bytes, 0);
    }

    #[test]
    fn two_runs_do_not_write_one_file_and_a_killed_run_is_no_obstacle() {
        let folder = folder("alone");
        let path = folder.join("same.pcap");
        // What a killed run left.
        std::fs::write(folder.join("same.pcap.part"), [7; 5000]).expect("written");
        let mut first = create(&path).expect("a file");
        let error = create(&path).err().expect("one at a time").to_string();
        assert!(error.contains("same.pcap") && error.contains("another run is writing"), "{error}");
        first.sent(Moment::now(), PEER.into(), Ecn::NotEct, &packet(11));
        assert_eq!(first.finish(), None);
        assert_eq!(read(&path).iter().map(|(_, number)| *number).collect::<Vec<_>>(), [11]);
        // The next run has the name again, and what was there stays until it ends.
        let second = create(&path).expect("a file");
        assert_eq!(read(&path).len(), 1);
        drop(second);
        assert_eq!(read(&path).len(), 0);
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
