//! Capture files: pcapng with nanoseconds, of IP packets without a link below them. tcpdump, tshark and Wireshark read it.
//!
//! Blocks of big-endian words (draft-ietf-opsawg-pcapng-01, checked against tshark): too little for a library.

use crate::WireError;
use crate::error::field;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const NAMES: u32 = 4;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
/// Marks the byte order of a section.
const MAGIC: u32 = 0x1a2b_3c4d;
/// LINKTYPE_RAW: each packet begins with an IPv4 or IPv6 header.
const RAW_IP: u16 = 101;
/// Bytes of a block beside its body: type, and length twice.
const FRAME: usize = 12;
/// Bytes of a packet block's body before the packet.
const PACKET_HEAD: usize = 20;

/// A note about a section, an interface or a packet: code and content.
type BlockOption<'a> = (u16, &'a [u8]);
const COMMENT: u16 = 1;
const USER_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_DESCRIPTION: u16 = 3;
const TIME_RESOLUTION: u16 = 9;
const START_TIME: u16 = 2;
const PACKET_FLAGS: u16 = 2;

/// Which way a packet goes at the interface that saw it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// Towards the host of the interface.
    Inbound,
    /// From the host of the interface.
    Outbound,
}

/// Appends the front of a file, or of a part of one: which program wrote it, and about what.
pub fn section(application: &str, comment: &str, out: &mut Vec<u8>) {
    block(SECTION, out, |out| {
        out.extend_from_slice(&MAGIC.to_be_bytes());
        // Version 1.0, length of the section not said.
        out.extend_from_slice(&[0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
        options(&[(USER_APPLICATION, application.as_bytes()), (COMMENT, comment.as_bytes())], out);
    });
}

/// Appends a place where packets are seen. The interfaces of a section are numbered from 0.
pub fn interface(name: &str, description: &str, out: &mut Vec<u8>) {
    block(INTERFACE, out, |out| {
        out.extend_from_slice(&RAW_IP.to_be_bytes());
        // Reserved; no limit to what is kept of a packet.
        out.extend_from_slice(&[0; 6]);
        let told = [(INTERFACE_NAME, name.as_bytes()), (INTERFACE_DESCRIPTION, description.as_bytes())];
        options(&[told[0], told[1], (TIME_RESOLUTION, &[9])], out);
    });
}

/// Appends the names of addresses, cut to what the format can say.
pub fn names<'a>(addresses: impl Iterator<Item = (Ipv4Addr, &'a str)>, out: &mut Vec<u8>) {
    const IPV4: u16 = 1;
    block(NAMES, out, |out| {
        for (address, name) in addresses {
            let mut record = Vec::from(address.octets());
            record.extend(name.bytes().filter(|byte| *byte != 0).take(usize::from(u16::MAX) - 5));
            record.push(0);
            option((IPV4, &record), out);
        }
        out.extend_from_slice(&[0; 4]);
    });
}

/// Appends when the run of `interface` began: the zero of its own clock, in nanoseconds since the beginning of 1970.
pub fn begin(interface: u32, nanos: u64, out: &mut Vec<u8>) {
    block(STATISTICS, out, |out| {
        let [high, low] = [(nanos >> 32) as u32, nanos as u32].map(u32::to_be_bytes);
        out.extend_from_slice(&interface.to_be_bytes());
        // The time of the statistics, of which there are none yet, and the same as an option.
        out.extend_from_slice(&[high, low].concat());
        options(&[(START_TIME, &[high, low].concat())], out);
    });
}

/// Appends a packet that `interface` saw `nanos` nanoseconds after the beginning of 1970.
pub fn packet(interface: u32, nanos: u64, direction: Direction, bytes: &[u8], out: &mut Vec<u8>) {
    block(PACKET, out, |out| {
        let length = bytes.len() as u32;
        for word in [interface, (nanos >> 32) as u32, nanos as u32, length, length] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        padded(bytes, out);
        let flags = match direction {
            Direction::Inbound => 1u32,
            Direction::Outbound => 2,
        };
        options(&[(PACKET_FLAGS, &flags.to_be_bytes())], out);
    });
}

fn block(kind: u32, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = ((out.len() - start + 4) as u32).to_be_bytes();
    out[start + 4..start + 8].copy_from_slice(&length);
    out.extend_from_slice(&length);
}

fn options(list: &[BlockOption<'_>], out: &mut Vec<u8>) {
    list.iter().filter(|(_, content)| !content.is_empty()).for_each(|told| option(*told, out));
    out.extend_from_slice(&[0; 4]);
}

fn option((code, content): BlockOption<'_>, out: &mut Vec<u8>) {
    let content = content.get(..usize::from(u16::MAX)).unwrap_or(content);
    out.extend_from_slice(&code.to_be_bytes());
    out.extend_from_slice(&(content.len() as u16).to_be_bytes());
    padded(content, out);
}

fn padded(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(bytes);
    out.resize(out.len() + bytes.len().next_multiple_of(4) - bytes.len(), 0);
}

/// A packet of a capture file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// Number of the interface that saw it.
    pub interface: u32,
    /// Nanoseconds since the beginning of 1970.
    pub nanos: u64,
    /// The packet, from its IP header on.
    pub bytes: &'a [u8],
}

/// The packets of a file that was written here; after one that is wrong there are no more.
pub fn records(file: &[u8]) -> Records<'_> {
    Records { rest: file }
}

/// The iterator of [`records`]. An error's offsets count from the start of the block that it is about.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let block = first_block(self.rest);
            self.rest = block.map(|(_, _, rest)| rest).unwrap_or_default();
            match block {
                Ok((PACKET, body, _)) => return Some(record(body)),
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }
}

/// The type and the body of the first block, and what follows it.
fn first_block(file: &[u8]) -> Result<(u32, &[u8], &[u8]), WireError> {
    let [kind, length] = [0, 4].map(|at| field(file, at, "block").map(u32::from_be_bytes));
    let (kind, length) = (kind?, length? as usize);
    let cut = WireError::Truncated { what: "block", at: 0, found: file.len(), expected: length };
    let (block, rest) = file.split_at_checked(length).ok_or(cut)?;
    let body = block.get(8..length.saturating_sub(4)).filter(|_| length >= FRAME);
    let (what, min, max) = ("bytes of a block", FRAME as u64, u32::MAX.into());
    let body = body.ok_or(WireError::Range { what, found: length as u64, min, max })?;
    Ok((kind, body, rest))
}

fn record(body: &[u8]) -> Result<Record<'_>, WireError> {
    let words: [u8; PACKET_HEAD] = field(body, 0, "packet block")?;
    let word = |at: usize| u32::from_be_bytes([words[at], words[at + 1], words[at + 2], words[at + 3]]);
    let length = word(12) as usize;
    let after = body.get(PACKET_HEAD..).unwrap_or_default();
    let cut = WireError::Truncated { what: "packet", at: PACKET_HEAD, found: after.len(), expected: length };
    let bytes = after.get(..length).ok_or(cut)?;
    Ok(Record { interface: word(0), nanos: u64::from(word(4)) << 32 | u64::from(word(8)), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn packets_come_back_and_blocks_are_whole_words() {
        let mut file = vec![];
        section("Paceline", "a call", &mut file);
        interface("senders", "", &mut file);
        interface("receivers", "behind the path", &mut file);
        names([(Ipv4Addr::LOCALHOST, "video")].into_iter(), &mut file);
        begin(1, 1 << 40, &mut file);
        let packets = [(0, 1, vec![1, 2, 3]), (1, u64::MAX, vec![0; 1500]), (1, 1 << 40, vec![])];
        for (interface, nanos, bytes) in &packets {
            packet(*interface, *nanos, Direction::Outbound, bytes, &mut file);
        }
        assert_eq!(file.len() % 4, 0);
        let read: Result<Vec<_>, _> = records(&file).collect();
        let read: Vec<_> = read
            .unwrap()
            .iter()
            .map(|record| (record.interface, record.nanos, record.bytes.to_vec()))
            .collect();
        assert_eq!(read, packets);
        // Cut anywhere, and with any byte another, it ends.
        for cut in 0..file.len() {
            assert!(records(&file[..cut]).count() <= 4);
            let mut bent = file.clone();
            bent[cut] ^= 0xff;
            assert!(records(&bent).count() <= 4);
        }
    }
}
