//! Two programs in networks of their own, joined by nothing but a scenario's links: TUN devices hand their IP packets over.
//!
//! The networks have no name and no file: they are gone with the last that uses them, also after a kill.

use super::gate::{Gate, Incoming, Side};
use super::ip;
use super::packet::RelayedPacket;
use super::program::Program;
use crate::NetError;
use crate::clock::Moment;
use crate::output::NetCounters;
use crate::socket::Inbox;
use nix::sched::{CloneFlags, unshare};
use paceline_units::{Bytes, Time, TimeDelta};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use tun_rs::{DeviceBuilder, SyncDevice};

/// Addresses of the two sides, of the network that RFC 2544 keeps for measurements.
pub(super) const ADDRESSES: [&str; 2] = ["198.18.0.1", "198.18.0.2"];
const PREFIX: u8 = 30;
const MTU: u16 = 1500;
/// How often is asked whether a program has ended, and how long the other then has to end by itself.
const LOOK: TimeDelta = TimeDelta::from_millis(20);
const OTHER_ENDS: TimeDelta = TimeDelta::from_secs(1);

/// A network with a device and a program in it.
struct Room {
    device: SyncDevice,
    program: Program,
}

/// The network namespaces of the two programs, and the devices in them.
pub(super) struct TunGate {
    rooms: [Room; 2],
    looked: Moment,
    /// When the first of both programs ended.
    one_ended: Option<Moment>,
}

impl TunGate {
    /// Makes both networks and starts the programs, the right one first: it is the one that waits to be called.
    pub fn open(left: &str, right: &str) -> Result<TunGate, NetError> {
        let right = room(Side::Right, right)?;
        let left = room(Side::Left, left)?;
        Ok(TunGate { rooms: [left, right], looked: Moment::now(), one_ended: None })
    }
}

/// A thread of its own enters the new network, and leaves behind what was made there.
fn room(side: Side, command: &str) -> Result<Room, NetError> {
    let made = std::thread::scope(|threads| threads.spawn(|| make(side, command)).join());
    made.unwrap_or_else(|_| Err(no_network("make a network", io::Error::other("it panicked"))))
}

fn make(side: Side, command: &str) -> Result<Room, NetError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|error| no_network("make a network", error.into()))?;
    // A device without IPv6 sends nothing by itself.
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    let (own, other) = (ADDRESSES[side as usize], ADDRESSES[side.other() as usize]);
    let builder = DeviceBuilder::new().name("paceline0").ipv4(own, PREFIX, None).mtu(MTU);
    let device = builder.build_sync().map_err(|error| no_network("make a TUN device", error))?;
    device.set_nonblocking(true).map_err(|error| no_network("use a TUN device", error))?;
    Ok(Room { device, program: Program::start(side, command, [own, other])? })
}

fn no_network(doing: &'static str, source: io::Error) -> NetError {
    NetError::Network { doing, source }
}

impl Gate for TunGate {
    /// One packet: a TUN device hands over no more at a time.
    fn read(
        &mut self,
        side: Side,
        _now: Time,
        inbox: &mut Inbox,
        incoming: &mut Vec<Incoming>,
        counters: &mut NetCounters,
    ) -> Result<bool, NetError> {
        let length = match self.rooms[side as usize].device.recv(inbox.room()) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(no_network("read a TUN device", error)),
        };
        counters.received += 1;
        let packet = inbox.bytes(0, length);
        match ip::ecn(packet) {
            Some(ecn) => {
                let (arrived, flow) = (Moment::now(), ip::flow(packet));
                incoming.push(Incoming { place: 0, length, ecn, arrived, flow });
            }
            None => counters.malformed += 1,
        }
        Ok(true)
    }

    fn send(&mut self, side: Side, packet: &mut RelayedPacket, counters: &mut NetCounters) {
        let ecn = packet.ecn;
        if ip::ecn(&packet.bytes) != Some(ecn) {
            ip::set_ecn(&mut packet.bytes, ecn);
        }
        match self.rooms[side as usize].device.send(&packet.bytes) {
            Ok(_) => counters.sent += 1,
            Err(_) => counters.unsendable += 1,
        }
    }

    /// A TUN device takes each packet at once.
    fn flush(&mut self, _counters: &mut NetCounters) {}

    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        self.rooms.iter().map(|room| room.device.as_fd()).collect()
    }

    /// IP packets have their headers.
    fn overhead(&self, _overhead: Bytes) -> Bytes {
        Bytes::ZERO
    }

    fn begins(&self) -> bool {
        true
    }

    /// A program that fails ends the run. A side that is done leaves the other a moment to be done as well.
    fn is_done(&mut self) -> bool {
        let now = Moment::now();
        if now < self.looked.plus(LOOK) {
            return false;
        }
        self.looked = now;
        let ended = self.rooms.each_mut().map(|room| room.program.ended());
        let failed = ended.iter().flatten().any(|status| !status.success());
        let ended = ended.iter().flatten().count();
        if ended > 0 {
            let since = *self.one_ended.get_or_insert(now);
            return failed || ended == 2 || now >= since.plus(OTHER_ENDS);
        }
        false
    }

    fn nothing_came(&self, _seconds: f64) -> NetError {
        no_network("wait for a packet", io::ErrorKind::TimedOut.into())
    }

    fn close(mut self, counters: &mut NetCounters) -> Vec<String> {
        let failures: Vec<String> = self.rooms.iter_mut().filter_map(|room| room.program.failure()).collect();
        counters.failed_programs = failures.len() as u64;
        // Both at once, so that none waits for the other.
        self.rooms.iter_mut().for_each(|room| room.program.tell_to_end());
        failures
    }
}
