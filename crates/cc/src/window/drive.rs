//! A sender of full packets for the vectors of the laws: what is sent and acknowledged is said by the test.

use super::{Ack, Avoidance, Law, Rule, WindowSender};
use crate::{
    Assigned, Controller, PacketResult, PacketsReport, Recovery, Report, SentPacket, Status, StreamId,
};
use alloc::vec::Vec;
use core::ops::Range;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};

pub const SIZE: u64 = 1000;

/// One packet more was delivered.
pub const ACK: Ack = Ack {
    now: Time::ZERO,
    delivered: SIZE,
    marked: 0,
    newest: 0,
    rtt: None,
    flight_before: 0,
    may_grow: true,
};

pub fn lost(packets: u64) -> Bytes {
    Bytes::new(packets * SIZE)
}

/// A sender with a counter of packets and a clock. The first acknowledgement comes after 100 ms.
pub struct Flow<L: Law> {
    pub sender: WindowSender<L>,
    pub next: u64,
    pub now: Time,
}

impl<L: Law> Flow<L> {
    pub fn new(sender: WindowSender<L>) -> Flow<L> {
        Flow { sender, next: 0, now: Time::ZERO }
    }

    /// Makes the window `packets`, all of them in flight, with slow start over.
    pub fn avoiding(mut self, packets: u64) -> Flow<L> {
        // By a jump, which ends slow start wherever it was.
        for packets in [packets + 10, packets] {
            let _ = self.sender.assign(self.now, Assigned::Window(lost(packets)));
        }
        self.fill();
        self
    }

    pub fn send(&mut self, packets: u64) {
        for _ in 0..packets {
            self.send_one(self.next);
            self.next += 1;
        }
    }

    pub fn send_one(&mut self, sequence: u64) {
        let size = Bytes::new(SIZE);
        let packet = SentPacket { stream: StreamId(0), sequence, size, probe: None, app_limited: false };
        let _ = self.sender.on_sent(self.now, &packet);
    }

    /// Sends as many bytes as the window allows.
    pub fn fill(&mut self) {
        let window = self.sender.parts().1;
        let room = window.bytes().saturating_sub(window.pipe);
        self.send(room / SIZE);
    }

    /// The first packet that is missing.
    pub fn first(&mut self) -> u64 {
        let window = self.sender.parts().1;
        window.next - window.flight_size / SIZE
    }

    /// One acknowledgement of some packets, 100 ms after the start at least; arrivals are not told.
    pub fn ack(&mut self, sequences: Range<u64>, ecn: Ecn) {
        self.ack_arrived(sequences, ecn, None);
    }

    pub fn ack_arrived(&mut self, sequences: Range<u64>, ecn: Ecn, arrived: Option<Time>) {
        self.now = self.now.max(Time::from_nanos(100_000_000));
        let (size, sent, status) = (Bytes::new(SIZE), Time::ZERO, Status::Received { arrived, ecn });
        let result = |sequence| PacketResult { stream: StreamId(0), sequence, size, sent, status };
        let packets: Vec<_> = sequences.map(result).collect();
        let report =
            PacketsReport { packets: &packets, clock_step: TimeDelta::from_nanos(1), ambiguous: false };
        let _ = self.sender.on_report(self.now, &Report::Packets(report));
    }

    /// A round trip in which all that is under way is acknowledged, a packet at a time, and replaced.
    pub fn round(&mut self, rtt: TimeDelta, ecn: Ecn) {
        self.now += rtt;
        for sequence in self.first()..self.next {
            self.ack(sequence..sequence + 1, ecn);
            self.fill();
        }
    }

    pub fn tell(&mut self, recovery: Recovery) {
        let _ = self.sender.on_recovery(self.now, recovery);
    }

    pub fn cwnd(&mut self) -> f64 {
        self.sender.parts().1.packets()
    }

    pub fn ssthresh(&mut self) -> f64 {
        self.sender.parts().1.ssthresh / SIZE as f64
    }
}

/// Equal to a thousandth.
#[track_caller]
pub fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-3 * expected.abs().max(1e-3), "{found}, not {expected}");
}

/// Growth of a full window in the acknowledgements of a round trip, in packets, and the part of it that a loss leaves.
pub fn one_step<R: Rule>(make: impl Fn() -> Flow<Avoidance<R>>) -> (f64, f64) {
    let mut flow = make();
    let packets = flow.cwnd();
    flow.ack(0..1, Ecn::NotEct);
    let grown = (flow.cwnd() - packets) * packets;
    let mut flow = make();
    flow.tell(Recovery::Entered { lost: lost(1) });
    assert_eq!(flow.cwnd(), flow.ssthresh(), "no slow start follows");
    (grown, flow.cwnd() / packets)
}
