//! The smallest transport that retransmits: a scoreboard, three duplicate acknowledgements, a timer.

use super::path::{Near, SIZE, Told};
use paceline_cc::{Controller, PacketResult, PacketsReport, Recovery, Report, Status, StreamId};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::collections::BTreeMap;

const TIMEOUT: TimeDelta = TimeDelta::from_millis(400);
const DUPLICATES: usize = 3;

/// The last transmission of a segment: the how-manieth of all, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Transmission {
    order: u64,
    at: Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    InFlight(Transmission),
    Lost(Transmission),
    Delivered(Transmission),
}

/// Acknowledgements name the segment that arrived, and no time: arrivals are unknown.
#[derive(Default)]
pub struct Reliable {
    segments: BTreeMap<u64, State>,
    transmissions: u64,
    /// The third newest transmission that was delivered: what left before it and is missing counts as lost.
    delivered: [u64; DUPLICATES],
    /// Recovery lasts until everything below is delivered.
    recovery_end: Option<u64>,
    last_progress: Time,
    pub recoveries: u32,
    pub timeouts: u32,
    /// Segments declared lost while recovery lasted.
    pub later_losses: u64,
}

impl Reliable {
    pub fn pipe(&self) -> Bytes {
        let in_flight = self.segments.values().filter(|state| matches!(state, State::InFlight(_)));
        in_flight.map(|_| SIZE).sum()
    }

    /// Segments below the first that is missing.
    pub fn delivered_in_order(&self) -> u64 {
        self.segments.values().take_while(|state| matches!(state, State::Delivered(_))).count() as u64
    }

    /// Declares lost what three later transmissions overtook; answers how many bytes.
    fn declare(&mut self, delivered: u64) -> Bytes {
        if delivered > self.delivered[0] {
            self.delivered[0] = delivered;
            self.delivered.sort_unstable();
        }
        let mut lost = Bytes::ZERO;
        for state in self.segments.values_mut() {
            if let State::InFlight(sent) = *state
                && sent.order < self.delivered[0]
            {
                *state = State::Lost(sent);
                lost += SIZE;
            }
        }
        lost
    }
}

impl Near for Reliable {
    fn next(&mut self, now: Time) -> u64 {
        let again = self.segments.iter().find(|(_, state)| matches!(state, State::Lost(_))).map(|(n, _)| *n);
        let sequence = again.unwrap_or(self.segments.len() as u64);
        if self.pipe() == Bytes::ZERO {
            self.last_progress = now;
        }
        self.transmissions += 1;
        self.segments.insert(sequence, State::InFlight(Transmission { order: self.transmissions, at: now }));
        sequence
    }

    fn on_ack(&mut self, now: Time, sequence: u64, _arrived: Time, to: &mut dyn FnMut(Told)) {
        self.last_progress = now;
        let sent = match self.segments[&sequence] {
            State::Delivered(_) => return,
            State::InFlight(sent) => sent,
            State::Lost(sent) => {
                to(Told::Recovery(Recovery::Found { found: SIZE }));
                sent
            }
        };
        self.segments.insert(sequence, State::Delivered(sent));
        let status = Status::Received { arrived: None, ecn: Ecn::NotEct };
        to(Told::Delivered(PacketResult {
            stream: StreamId(0),
            sequence,
            size: SIZE,
            sent: sent.at,
            status,
        }));
        let lost = self.declare(sent.order);
        match (lost > Bytes::ZERO, self.recovery_end) {
            (true, None) => {
                self.recovery_end = Some(self.segments.len() as u64);
                self.recoveries += 1;
                to(Told::Recovery(Recovery::Entered { lost }));
            }
            (true, Some(_)) => {
                self.later_losses += lost.as_u64() / SIZE.as_u64();
                to(Told::Recovery(Recovery::Lost { lost }));
            }
            (false, Some(end)) if self.delivered_in_order() >= end => {
                self.recovery_end = None;
                to(Told::Recovery(Recovery::Left));
            }
            (false, _) => {}
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        (self.pipe() > Bytes::ZERO).then_some(self.last_progress + TIMEOUT)
    }

    fn on_timeout(&mut self, now: Time, to: &mut dyn FnMut(Told)) {
        for state in self.segments.values_mut() {
            if let State::InFlight(sent) = *state {
                *state = State::Lost(sent);
            }
        }
        (self.last_progress, self.recovery_end) = (now, None);
        self.timeouts += 1;
        to(Told::Recovery(Recovery::TimedOut));
    }
}

/// Tells a controller without a loop; answers what was said of recovery.
pub fn tell(controller: &mut dyn Controller, told: &[Told]) -> Vec<Recovery> {
    let mut seen = Vec::new();
    for event in told {
        let _ = match event {
            Told::Delivered(packet) => {
                let report = PacketsReport {
                    packets: std::slice::from_ref(packet),
                    clock_step: TimeDelta::from_nanos(1),
                    ambiguous: false,
                };
                controller.on_report(Time::ZERO, &Report::Packets(report))
            }
            Told::Recovery(recovery) => {
                seen.push(*recovery);
                controller.on_recovery(Time::ZERO, *recovery)
            }
        };
    }
    seen
}
