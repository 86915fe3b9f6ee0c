//! A capture file of a DCCP flow: what was sent and received, as it would be without UDP.
//!
//! It grows under another name and gets its own when the run ends, however it ends: whole packets, nothing half-written.

use crate::NetError;
use crate::clock::Moment;
use crate::socket::address_towards;
use paceline_units::Ecn;
use paceline_wire::capture::{file_header, record_header};
use paceline_wire::dccp::{Addresses, to_ip};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

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
    packet: Vec<u8>,
    failed: Option<io::Error>,
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
        let mut file = BufWriter::with_capacity(1 << 16, File::create(&growing).map_err(failed)?);
        file.write_all(&file_header()).map_err(failed)?;
        let wall = clock_gettime(ClockId::Realtime);
        let wall = i128::from(wall.tv_sec) * 1_000_000_000 + i128::from(wall.tv_nsec);
        Ok(Capture {
            path: path.into(),
            growing,
            file: Some(file),
            since_1970: wall - i128::from(Moment::now().as_nanos()),
            local: local.ip(),
            towards: None,
            packet: Vec::new(),
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
        let Some(file) = self.file.as_mut().filter(|_| self.failed.is_none()) else { return };
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
        self.packet.clear();
        // Only what could be read or written as a packet comes here; what is too long for IP is left out.
        if to_ip(bytes, &addresses, ecn, &mut self.packet).is_err() {
            return;
        }
        let nanos = u64::try_from(i128::from(at.as_nanos()) + self.since_1970).unwrap_or(0);
        let header = record_header(nanos, self.packet.len());
        self.failed = file.write_all(&header).and_then(|()| file.write_all(&self.packet)).err();
    }

    /// Gives the file its name; answers what went wrong.
    pub fn finish(mut self) -> Option<String> {
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
        if let Some(mut file) = self.file.take() {
            let _ = file.flush();
            let _ = self.name();
        }
    }
}
