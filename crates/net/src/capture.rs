//! Capture files: one that grows, and what passes a socket in it.
//!
//! A file grows under another name and gets its own when the run ends, however it ends: whole packets, nothing half-written. Two
//! runs cannot grow into one file; what a killed run left is written over.

use crate::NetError;
use crate::clock::{Moment, nanos_since_1970};
use crate::queue::TimedQueue;
use crate::socket::address_towards;
use paceline_units::{Ecn, TimeDelta};
use paceline_wire::capture::{self, Direction};
use paceline_wire::ip::Addresses;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A packet is written when the newest is so much younger. A packet that arrives while others are sent is read after them.
const DELAY: TimeDelta = TimeDelta::from_secs(1);
/// The most bytes that wait so; at more than 30 Mbit/s the oldest are written earlier.
const MOST_PENDING: usize = 4 << 20;

/// A file that grows under another name.
pub struct GrowingFile {
    path: PathBuf,
    growing: PathBuf,
    file: Option<BufWriter<File>>,
    failed: Option<io::Error>,
}

impl GrowingFile {
    /// An empty file that will be called `path`.
    ///
    /// # Errors
    /// Something else than a file, or a place where nothing can be written or another run writes now.
    pub fn create(path: &Path) -> Result<GrowingFile, NetError> {
        let failed = |source| NetError::Capture { path: path.into(), source };
        let name = path.file_name().ok_or_else(|| failed(io::ErrorKind::IsADirectory.into()))?;
        let mut growing = name.to_os_string();
        growing.push(".part");
        let growing = path.with_file_name(growing);
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            return Err(failed(io::Error::other("found something else there than a file")));
        }
        let file = BufWriter::with_capacity(1 << 16, open_alone(&growing).map_err(failed)?);
        Ok(GrowingFile { path: path.into(), growing, file: Some(file), failed: None })
    }

    /// Appends `bytes`. An error is said at the end, and nothing is written after it.
    pub fn write(&mut self, bytes: &[u8]) {
        if let (Some(file), None) = (&mut self.file, &self.failed) {
            self.failed = file.write_all(bytes).err();
        }
    }

    /// Whether all that was written so far went well.
    pub fn is_sound(&self) -> bool {
        self.failed.is_none()
    }

    /// Gives the file its name, also if a part is missing; answers what went wrong. Nothing is written after it.
    pub fn finish(&mut self) -> Option<String> {
        let flushed = self.file.take().map_or(Ok(()), |mut file| file.flush());
        let named = self.name();
        let failed = self.failed.take().map_or(flushed, Err).and(named);
        failed.err().map(|error| format!("the capture {} is not whole: {error}", self.path.display()))
    }

    fn name(&self) -> io::Result<()> {
        std::fs::rename(&self.growing, &self.path)
    }
}

impl Drop for GrowingFile {
    /// A run that ends with an error leaves its capture, too: there it is looked for most.
    fn drop(&mut self) {
        if let Some(mut file) = self.file.take() {
            let _ = file.flush();
            let _ = self.name();
        }
    }
}

/// Writes the IP packet of a datagram between two ports; false if no IP packet holds it.
pub(crate) type Spell = fn(&[u8], &Addresses, (u16, u16), Ecn, &mut Vec<u8>) -> bool;

/// The capture of what passes a socket.
pub(crate) struct Capture {
    file: GrowingFile,
    /// How datagrams are shown.
    spell: Spell,
    /// The difference that is added to a moment to get nanoseconds since 1970: one difference for the whole file.
    since_1970: i128,
    local: SocketAddr,
    /// The own address towards the address that was asked for last, if `local` is every address.
    towards: Option<(IpAddr, IpAddr)>,
    pending: PendingPackets,
}

/// A packet from its IP header on, and which way it goes.
type DirectedPacket = (Direction, Vec<u8>);

/// Packets that wait to be written in the order of their times; of equal times in that of coming.
struct PendingPackets {
    packets: TimedQueue<Moment, DirectedPacket>,
    bytes: usize,
    newest: Moment,
}

impl PendingPackets {
    fn new() -> PendingPackets {
        PendingPackets { packets: TimedQueue::new(), bytes: 0, newest: Moment::from_nanos(0) }
    }

    fn push(&mut self, at: Moment, packet: DirectedPacket) {
        self.bytes += packet.1.len();
        self.newest = self.newest.max(at);
        self.packets.push(at, packet);
    }

    /// The oldest, if nothing older is expected, or if it is asked for `all`.
    fn pop(&mut self, all: bool) -> Option<(Moment, DirectedPacket)> {
        let (bytes, newest) = (self.bytes, self.newest);
        let due = |oldest| all || bytes > MOST_PENDING || newest.since(oldest) >= DELAY;
        self.packets.pop_if(due).inspect(|(_, (_, packet))| self.bytes -= packet.len())
    }
}

impl Capture {
    /// A file for what passes a socket on `local`.
    pub fn create(path: &Path, local: SocketAddr, spell: Spell) -> Result<Capture, NetError> {
        let mut file = GrowingFile::create(path)?;
        let mut front = Vec::new();
        capture::section(&format!("Paceline {}", paceline_metrics::version()), "", &mut front);
        capture::interface(&local.to_string(), "the socket of this end", &mut front);
        file.write(&front);
        Ok(Capture {
            file,
            spell,
            since_1970: i128::from(nanos_since_1970()) - i128::from(Moment::now().as_nanos()),
            local,
            towards: None,
            pending: PendingPackets::new(),
        })
    }

    /// The clock of this end shows zero at `zero`.
    pub fn begin(&mut self, zero: Moment) {
        let mut block = Vec::new();
        capture::begin(0, self.nanos(zero), &mut block);
        self.file.write(&block);
    }

    /// Nanoseconds since 1970.
    fn nanos(&self, at: Moment) -> u64 {
        u64::try_from(i128::from(at.as_nanos()) + self.since_1970).unwrap_or(0)
    }

    /// A datagram came from `peer`.
    pub fn received(&mut self, at: Moment, peer: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        let own = self.own_address(peer);
        self.write(at, Direction::Inbound, (peer, own), ecn, bytes);
    }

    /// A datagram went to `peer`.
    pub fn sent(&mut self, at: Moment, peer: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        let own = self.own_address(peer);
        self.write(at, Direction::Outbound, (own, peer), ecn, bytes);
    }

    fn own_address(&mut self, peer: SocketAddr) -> SocketAddr {
        if !self.local.ip().is_unspecified() {
            return self.local;
        }
        let own = match self.towards {
            Some((asked, own)) if asked == peer.ip() => own,
            _ => {
                let own = address_towards(peer).unwrap_or(self.local.ip());
                self.towards = Some((peer.ip(), own));
                own
            }
        };
        SocketAddr::new(own, self.local.port())
    }

    fn write(
        &mut self,
        at: Moment,
        direction: Direction,
        (from, to): (SocketAddr, SocketAddr),
        ecn: Ecn,
        bytes: &[u8],
    ) {
        if !self.file.is_sound() {
            return;
        }
        let addresses = match (from.ip().to_canonical(), to.ip().to_canonical()) {
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
        // Only packets that could be read or written come here; one too long for IP is left out.
        if !(self.spell)(bytes, &addresses, (from.port(), to.port()), ecn, &mut packet) {
            return;
        }
        self.pending.push(at, (direction, packet));
        self.write_pending(false);
    }

    /// Writes what need not wait any longer, or all.
    fn write_pending(&mut self, all: bool) {
        let mut block = Vec::new();
        while let Some((at, (direction, packet))) = self.pending.pop(all) {
            block.clear();
            capture::packet(0, self.nanos(at), direction, &packet, &mut block);
            self.file.write(&block);
        }
    }

    /// Gives the file its name; answers what went wrong.
    pub fn finish(mut self) -> Option<String> {
        self.write_pending(true);
        self.file.finish()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.write_pending(true);
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
    use crate::transports::Networked;
    use paceline_scenario::transports::DccpParts;
    use paceline_wire::dccp::encode_in_udp;
    use paceline_wire::dccp::{Body, Packet, Ports, SequenceNumber, ServiceCode};

    const PEER: ([u8; 4], u16) = ([192, 0, 2, 1], 7);

    fn create(path: &Path) -> Result<Capture, NetError> {
        Capture::create(path, SocketAddr::from(([192, 0, 2, 2], 9)), <DccpParts as Networked>::SPELL)
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
        let number = |ip: &[u8]| u64::from(u32::from_be_bytes(ip[32..36].try_into().expect("four")));
        let records = capture::records(&bytes).map(|record| record.expect("whole blocks"));
        records.map(|record| (record.nanos, number(record.bytes))).collect()
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
            pending.push(Moment::from_nanos(number), (Direction::Inbound, vec![0; 1500]));
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
        // The rest of a killed run.
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
