//! Which packets of a transport arrived, by the numbers that they share, before streams are told apart.
//!
//! Transport-wide reports count every packet: also those of a simulcast's layers, of a stream under another SSRC, or of one whose
//! signalling comes late, which nobody announced. A stranger who can hand in packets but knows no SSRC must not steer the sender. A stream
//! that nobody announced is believed once [`PROBATION`] of its packets in a row have numbers near the newest one, and these count then.
//! Each packet has a number of its own: if such a stream has used one that another has, none is believed for [`DISTRUST`].

use super::received::{Noted, ReceivedPackets};
use super::seen::Seen;
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::ccfb::Feedback;
use paceline_wire::{MAX_MISORDER, SequenceUnwrapper, TRANSPORT_WIDE};

/// Turns of 2^16 that are added to the first number, for packets from before it.
const TURNS_BEFORE: u32 = 1;
/// A stream says for so long after a packet where the numbers are.
pub(super) const CURRENT: TimeDelta = TimeDelta::from_secs(1);
/// Packets in a row of a stream that nobody announced before it is believed.
const PROBATION: usize = 4;
/// For so long no such stream is believed after one has used the number of another packet.
const DISTRUST: TimeDelta = TimeDelta::from_secs(60);
/// The most such streams that are known at a time.
const KNOWN: usize = 64;

/// The packets of a transport.
#[derive(Clone, Debug)]
pub(super) struct TransportPackets {
    numbers: SequenceUnwrapper,
    packets: ReceivedPackets,
    /// When a packet came last that says where the numbers are.
    heard: Option<Time>,
    unannounced: Option<Box<Unannounced>>,
}

impl TransportPackets {
    pub(super) fn new(packets: ReceivedPackets) -> TransportPackets {
        let numbers = SequenceUnwrapper::after_turns(TURNS_BEFORE);
        TransportPackets { numbers, packets, heard: None, unannounced: None }
    }

    /// Notes the arrival of a packet of a stream that was announced. Numbers that go on elsewhere are followed when two packets in a row
    /// say so (RFC 3550 appendix A.1).
    pub(super) fn note(&mut self, number: u16, at: Time) {
        self.heard = Some(at);
        let Some(number) = self.unwrap(number) else { return };
        if let Some(unannounced) = self.unannounced.as_mut().filter(|other| other.claimed.contains(number)) {
            unannounced.distrust(at);
            self.packets.forget(number);
        }
        self.packets.note(number, at, Ecn::NotEct);
    }

    /// Notes the arrival of a packet of a stream that nobody announced. Answers whether the stream is believed.
    pub(super) fn note_unannounced(&mut self, ssrc: u32, number: u16, at: Time) -> bool {
        let newest = self.numbers.highest().filter(|_| self.is_current(at)).map(|newest| newest as u16);
        let unannounced = self.unannounced.get_or_insert_with(|| Box::new(Unannounced::new()));
        let Some(packets) = unannounced.on_packet(ssrc, (number, at), newest) else { return false };
        self.heard = Some(at);
        for &(number, at) in packets.as_slice() {
            self.claim(number, at);
        }
        true
    }

    /// Whether packets came of late that say where the numbers are.
    fn is_current(&self, at: Time) -> bool {
        self.heard.is_some_and(|heard| at.saturating_since(heard) < CURRENT)
    }

    /// A packet of a stream that is believed has this number.
    fn claim(&mut self, number: u16, at: Time) {
        let Some(number) = self.unwrap(number) else { return };
        let noted = self.packets.note(number, at, Ecn::NotEct);
        let Some(unannounced) = &mut self.unannounced else { return };
        match noted {
            Noted::New => drop(unannounced.claimed.insert(number)),
            Noted::Duplicate if !unannounced.claimed.contains(number) => unannounced.distrust(at),
            Noted::Duplicate | Noted::TooOld => {}
        }
    }

    fn unwrap(&mut self, number: u16) -> Option<u64> {
        let jumps = self.numbers.jumps();
        let number = self.numbers.unwrap(number)?;
        if self.numbers.jumps() != jumps {
            self.packets.resynchronise(number);
        }
        Some(number)
    }

    /// Whether a packet came since the last report.
    pub(super) fn any_new(&self) -> bool {
        self.packets.any_new()
    }

    /// Reports what came since the last report.
    pub(super) fn report(&mut self, overlap: u32, feedback: &mut Feedback) {
        if self.packets.any_new() {
            self.packets.report(TRANSPORT_WIDE, overlap, feedback);
        }
    }
}

/// Packets of a stream in a row: number and arrival.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    packets: [(u16, Time); PROBATION],
    count: usize,
}

impl Row {
    fn as_slice(&self) -> &[(u16, Time)] {
        &self.packets[..self.count]
    }

    fn push(&mut self, packet: (u16, Time)) {
        self.packets[self.count] = packet;
        self.count += 1;
    }
}

/// A stream that nobody announced.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    ssrc: u32,
    newest: (u16, Time),
    /// Its packets so far, of one that is not believed yet.
    row: Row,
    is_believed: bool,
}

/// The streams that nobody announced.
#[derive(Clone, Debug)]
struct Unannounced {
    candidates: Vec<Candidate>,
    /// Numbers of those that are believed.
    claimed: Seen,
    /// Until when none is believed.
    distrusted: Time,
}

impl Unannounced {
    fn new() -> Unannounced {
        Unannounced { candidates: Vec::with_capacity(KNOWN), claimed: Seen::new(), distrusted: Time::ZERO }
    }

    fn distrust(&mut self, at: Time) {
        self.distrusted = at + DISTRUST;
        self.candidates.clear();
    }

    /// A packet of a stream came; `newest` is the newest number of the transport, if that is known. Answers the packets that are believed
    /// now, in the order in which they came; none if the stream is not.
    fn on_packet(&mut self, ssrc: u32, packet: (u16, Time), newest: Option<u16>) -> Option<Row> {
        let (number, at) = packet;
        let mut known = self.candidates.iter().position(|candidate| candidate.ssrc == ssrc);
        let reference = newest.or(known.map(|known| self.candidates[known].newest.0));
        if reference.is_some_and(|reference| !are_near(number, reference)) {
            known.take().map(|known| self.candidates.swap_remove(known));
            if newest.is_some() {
                return None;
            }
        }
        if at < self.distrusted {
            return None;
        }
        let known = known.unwrap_or_else(|| self.enter(ssrc, packet));
        let candidate = &mut self.candidates[known];
        if candidate.row.as_slice().iter().any(|before| before.0 == number) {
            return None;
        }
        candidate.newest = packet;
        candidate.row.push(packet);
        candidate.is_believed |= candidate.row.count == PROBATION;
        candidate.is_believed.then(|| std::mem::take(&mut candidate.row))
    }

    /// The place of a stream that is heard for the first time. Where there is none, the one gives way that has the fewest packets in a row
    /// and was heard the longest ago.
    fn enter(&mut self, ssrc: u32, newest: (u16, Time)) -> usize {
        if self.candidates.len() == KNOWN {
            let rank =
                |candidate: &Candidate| (candidate.is_believed, candidate.row.count, candidate.newest.1);
            let least = (0..KNOWN).min_by_key(|place| rank(&self.candidates[*place]));
            least.map(|least| self.candidates.swap_remove(least));
        }
        self.candidates.push(Candidate { ssrc, newest, row: Row::default(), is_believed: false });
        self.candidates.len() - 1
    }
}

/// Whether two packets left soon after each other, by their numbers.
fn are_near(one: u16, other: u16) -> bool {
    (one.wrapping_sub(other) as i16).unsigned_abs() < MAX_MISORDER
}

#[cfg(test)]
#[path = "transport_received_tests.rs"]
mod tests;
