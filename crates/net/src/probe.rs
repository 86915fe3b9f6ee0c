//! A path probe over sockets: packets go out, and a reflector says when each arrived.
//!
//! The packets are RTP as a sender's are, so that they pass a relay, and the answers RTCP. Both ends keep nothing of one another: the
//! reflector answers each packet with the times of the last ones from the same address, never with more bytes than came,
//! so that nobody can have it send more than they do.

use crate::address::{local_for, require_port};
use crate::agreed::Agreed;
use crate::clock::Moment;
use crate::control::Progress;
use crate::socket::{Inbox, UdpPort};
use crate::ssrc::PROBE_SSRC;
use crate::wait::{PreciseTimers, wait_for};
use crate::{Control, NetError};
use paceline_ends::Prober;
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::rtp::{self, RtpHeaderFields};
use paceline_wire::{arrivals, rtcp, unwrap_sequence};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Without any answer for so long the probe gives up.
const PATIENCE: TimeDelta = TimeDelta::from_secs(10);
/// How many arrivals a reflector tells of at once: an answer may be lost, not twenty.
const TOLD: usize = 20;

/// The measuring end.
pub struct PathProber {
    port: UdpPort,
    /// Where packets go: a reflector, or a relay before it.
    to: SocketAddr,
}

impl PathProber {
    /// Opens a socket.
    ///
    /// # Errors
    /// Port 0 to send to, or no socket.
    pub fn bind(to: SocketAddr) -> Result<PathProber, NetError> {
        require_port(to)?;
        Ok(PathProber { port: UdpPort::bind(local_for(to))?, to })
    }

    /// Measures. Times of sending are on this machine's monotonic clock, times of arrival on the reflector's. The progress that
    /// `control` is told is a part of 1 s.
    ///
    /// # Errors
    /// If nothing answers, or a socket fails.
    pub fn run<P: Prober>(self, probe: P, control: &Control<'_>) -> Result<P::Record, NetError> {
        let PathProber { port, to } = self;
        let _timers = PreciseTimers::new();
        let payload = (probe.packet_size().as_u64() as usize).saturating_sub(rtp::HEADER);
        let mut run = Run { port, to, payload, probe, sent: 0, heard: false };
        let (begun, mut inbox) = (now(), Inbox::new());
        while !run.probe.is_over() && !control.stopped() {
            run.read(&mut inbox)?;
            run.send();
            if !run.heard && now() > begun + PATIENCE {
                return Err(NetError::NothingAnswered {
                    address: to,
                    seconds: PATIENCE.as_secs_f64(),
                    refused: None,
                });
            }
            (control.progress)(Progress::Reached(Time::from_nanos((run.probe.progress() * 1e9) as u64)));
            let due = run.probe.next_timeout().unwrap_or(Time::ZERO);
            wait_for(&[&run.port], Moment::from_nanos(due.as_nanos()))?;
        }
        Ok(run.probe.into_record())
    }
}

/// The monotonic clock as the probe's time.
fn now() -> Time {
    Time::from_nanos(Moment::now().as_nanos())
}

struct Run<P> {
    port: UdpPort,
    to: SocketAddr,
    payload: usize,
    probe: P,
    /// Probe packets sent.
    sent: u64,
    /// Whether anything was answered.
    heard: bool,
}

impl<P: Prober> Run<P> {
    fn send(&mut self) {
        while let Some(number) = self.probe.poll_transmit(now()) {
            self.sent = number + 1;
            let header = RtpHeaderFields {
                payload_type: Agreed::OWN.payload_type,
                marker: false,
                sequence: number as u16,
                timestamp: 0,
                ssrc: PROBE_SSRC,
            };
            let mut bytes = Vec::new();
            let written = rtp::encode(&header, self.payload, 0, &mut bytes).is_ok();
            // A probe that the system refuses to send is lost like one that a router drops.
            let _ = written && self.port.send(&bytes, self.to, Ecn::NotEct).is_ok();
        }
    }

    fn read(&mut self, inbox: &mut Inbox) -> Result<(), NetError> {
        while self.read_once(inbox)? {}
        Ok(())
    }

    /// Reads what has arrived; true if there may be more.
    fn read_once(&mut self, inbox: &mut Inbox) -> Result<bool, NetError> {
        let more = self.port.read(inbox)?;
        for datagram in inbox.datagrams() {
            if datagram.from != self.to {
                continue;
            }
            let at = Time::from_nanos(datagram.arrived.as_nanos());
            for packet in rtcp::packets(datagram.bytes).map_while(Result::ok) {
                if !arrivals::is_about(&packet, PROBE_SSRC) {
                    continue;
                }
                for (sequence, arrived) in arrivals::decode(&packet).into_iter().flatten() {
                    let number = self.sent.checked_sub(1).and_then(|last| unwrap_sequence(last, sequence));
                    if let Some(number) = number {
                        self.heard = true;
                        self.probe.on_arrival(at, number, arrived);
                    }
                }
            }
        }
        Ok(more)
    }
}

/// The answering end.
pub struct Reflector {
    port: UdpPort,
    /// Sender, SSRC, sequence number and arrival of the last packets.
    last: VecDeque<(SocketAddr, u32, u16, Time)>,
}

impl Reflector {
    /// Listens on `address`; port 0 lets the system choose.
    ///
    /// # Errors
    /// An address that cannot be listened on.
    pub fn bind(address: SocketAddr) -> Result<Reflector, NetError> {
        Ok(Reflector { port: UdpPort::bind(address)?, last: VecDeque::with_capacity(TOLD) })
    }

    /// The address it listens on.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn address(&self) -> Result<SocketAddr, NetError> {
        self.port.address()
    }

    /// Answers until it is stopped, or until nothing has come for `patience` after the first packet. How many packets it
    /// answered.
    ///
    /// # Errors
    /// A socket that fails.
    pub fn run(mut self, patience: Option<TimeDelta>, control: &Control<'_>) -> Result<u64, NetError> {
        let (mut inbox, mut answered, mut last) = (Inbox::new(), 0, None);
        while !control.stopped() {
            let (before, mut more) = (answered, true);
            while more {
                more = self.port.read(&mut inbox)?;
                for datagram in inbox.datagrams() {
                    let arrived = Time::from_nanos(datagram.arrived.as_nanos());
                    let answer = answer(&mut self.last, datagram.from, datagram.bytes, arrived);
                    answered +=
                        u64::from(answer.is_some_and(|answer| {
                            self.port.send(&answer, datagram.from, Ecn::NotEct).is_ok()
                        }));
                }
            }
            last = if answered > before { Some(now()) } else { last };
            if patience.zip(last).is_some_and(|(patience, last)| now() > last + patience) {
                break;
            }
            wait_for(&[&self.port], Moment::now().plus(TimeDelta::from_secs(1)))?;
        }
        Ok(answered)
    }
}

/// The answer to a datagram that arrived: nothing if it is no probe, or has no room for an answer.
fn answer(
    last: &mut VecDeque<(SocketAddr, u32, u16, Time)>,
    from: SocketAddr,
    datagram: &[u8],
    arrived: Time,
) -> Option<Vec<u8>> {
    let view =
        rtp::decode(datagram).ok().filter(|view| view.header.payload_type == Agreed::OWN.payload_type)?;
    let (ssrc, room) = (view.header.ssrc, arrivals::room(datagram.len()).min(TOLD));
    if room == 0 {
        return None;
    }
    last.truncate(TOLD - 1);
    last.push_front((from, ssrc, view.header.sequence, arrived));
    let of_it = last.iter().filter(|(address, source, ..)| (*address, *source) == (from, ssrc));
    let told: Vec<_> = of_it.take(room).map(|(.., sequence, arrived)| (*sequence, *arrived)).collect();
    let mut bytes = Vec::new();
    arrivals::encode(ssrc, told.into_iter(), &mut bytes);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u16, payload: usize) -> Vec<u8> {
        let header = RtpHeaderFields {
            payload_type: Agreed::OWN.payload_type,
            marker: false,
            sequence,
            timestamp: 0,
            ssrc: PROBE_SSRC,
        };
        let mut bytes = Vec::new();
        rtp::encode(&header, payload, 0, &mut bytes).expect("a packet");
        bytes
    }

    #[test]
    fn an_answer_is_never_longer_than_what_it_answers() {
        let (mut last, from) = (VecDeque::new(), "192.0.2.1:9".parse().expect("an address"));
        for sequence in 0..200u16 {
            let datagram = packet(sequence, usize::from(sequence));
            let Some(answer) = answer(&mut last, from, &datagram, Time::from_nanos(sequence.into())) else {
                assert!(datagram.len() < 24);
                continue;
            };
            assert!(answer.len() <= datagram.len() && last.len() <= TOLD);
            let packet = rtcp::first(&answer).expect("RTCP");
            let newest = arrivals::decode(&packet).expect("a report").next();
            assert_eq!(newest, Some((sequence, Time::from_nanos(sequence.into()))));
        }
        assert_eq!(answer(&mut last, from, b"hello", Time::ZERO), None);
        let other = "192.0.2.2:9".parse().expect("an address");
        let first = answer(&mut last, other, &packet(1, 1000), Time::ZERO).expect("an answer");
        assert_eq!(arrivals::decode(&rtcp::first(&first).expect("RTCP")).expect("a report").count(), 1);
    }
}
