//! TCP's acknowledgements as a QUIC stack would tell its controller of them.
//!
//! A packet that is sent again gets a new packet number, as QUIC has it.

use paceline_cc::{Assigned, PacketsReport, SentPacket, Status};
use paceline_guest::{Answer, Failure, Mind};
use paceline_units::{Bytes, Time};
use std::collections::BTreeMap;
use std::time::Duration;

/// A packet under way.
#[derive(Clone, Copy)]
pub struct Packet<I> {
    /// QUIC's packet number.
    pub number: u64,
    pub sent: Duration,
    pub bytes: u64,
    /// The controller's own notes on the packet.
    pub info: I,
}

/// A controller of a QUIC stack. Times are those of the run.
pub trait Law: Send + Sync {
    type Info: Copy + Send + Sync;

    fn on_sent(&mut self, now: Duration, number: u64, bytes: u64, app_limited: bool) -> Self::Info;

    /// An ACK frame that acknowledges `packets`, in order of their numbers; at least one. `rtt` is absent where no round trip
    /// follows from it.
    fn on_acked(
        &mut self,
        now: Duration,
        packets: &[Packet<Self::Info>],
        in_flight: u64,
        rtt: Option<Duration>,
    );

    /// Packets declared lost together, at least one; `persistent` after a retransmission timeout.
    fn on_lost(&mut self, now: Duration, packets: &[Packet<Self::Info>], persistent: bool);

    /// Packets of the ACK frame before this call arrived marked CE: `count` of them.
    fn on_marked(&mut self, now: Duration, newest_sent: Duration, count: u64);

    /// A packet that will not be heard of again, for it was sent once more without having been lost.
    fn on_replaced(&mut self, packet: &Packet<Self::Info>);

    fn window(&self) -> u64;

    /// Bits per second; absent until the controller knows.
    fn pacing(&self) -> Option<f64>;
}

/// A controller with the packets that it was told of.
pub struct Adapter<L: Law> {
    law: L,
    /// Packets under way in the order in which they were sent.
    sent: BTreeMap<u64, Packet<L::Info>>,
    /// Their packet numbers by TCP's sequence numbers.
    numbers: BTreeMap<u64, u64>,
    in_flight: u64,
    next: u64,
    largest_acked: Option<u64>,
}

impl<L: Law> Adapter<L> {
    pub fn new(law: L) -> Adapter<L> {
        Adapter {
            law,
            sent: BTreeMap::new(),
            numbers: BTreeMap::new(),
            in_flight: 0,
            next: 0,
            largest_acked: None,
        }
    }

    fn answer(&self) -> Answer {
        Answer {
            window_bytes: Some(self.law.window() as f64),
            pacing_mbps: self.law.pacing().map(|pacing| pacing / 1e6),
            ..Answer::default()
        }
    }

    /// The packets under way that were sent first, until their sizes make up `bytes`: TCP says how much is lost, and by RACK or
    /// duplicates declares lost what was sent before something that has arrived.
    fn lose(&mut self, now: Duration, bytes: u64, persistent: bool) {
        let mut lost = Vec::new();
        let mut left = bytes;
        while left > 0
            && let Some((_, packet)) = self.sent.pop_first()
        {
            left = left.saturating_sub(packet.bytes);
            self.in_flight -= packet.bytes;
            lost.push(packet);
        }
        if !lost.is_empty() {
            self.law.on_lost(now, &lost, persistent);
        }
    }
}

fn of_run(time: Time) -> Duration {
    Duration::from_nanos(time.as_nanos() as u64)
}

impl<L: Law> Mind for Adapter<L> {
    fn start(&mut self, _now: Time) -> Result<Answer, Failure> {
        Ok(self.answer())
    }

    fn sent(&mut self, now: Time, packet: &SentPacket) -> Result<Answer, Failure> {
        let (now, bytes, app_limited) = (of_run(now), packet.size.as_u64(), packet.app_limited);
        let number = self.next;
        self.next += 1;
        let earlier = self.numbers.insert(packet.sequence, number);
        if let Some(replaced) = earlier.and_then(|earlier| self.sent.remove(&earlier)) {
            self.in_flight -= replaced.bytes;
            self.law.on_replaced(&replaced);
        }
        self.in_flight += bytes;
        let info = self.law.on_sent(now, number, bytes, app_limited);
        self.sent.insert(number, Packet { number, sent: now, bytes, info });
        Ok(self.answer())
    }

    fn report(&mut self, now: Time, report: &PacketsReport<'_>) -> Result<Answer, Failure> {
        let now = of_run(now);
        let (mut acked, mut marked) = (Vec::new(), 0);
        for result in report.packets {
            let Status::Received { ecn, .. } = result.status else { continue };
            marked += u64::from(ecn.is_ce());
            let number = self.numbers.remove(&result.sequence);
            if let Some(packet) = number.and_then(|number| self.sent.remove(&number)) {
                self.in_flight -= packet.bytes;
                acked.push(packet);
            }
        }
        acked.sort_by_key(|packet| packet.number);
        let Some(newest) = acked.last().copied() else { return Ok(Answer::default()) };
        let is_new = self.largest_acked.is_none_or(|largest| largest < newest.number);
        self.largest_acked = self.largest_acked.max(Some(newest.number));
        let rtt = (is_new && !report.ambiguous).then(|| now - newest.sent);
        self.law.on_acked(now, &acked, self.in_flight, rtt);
        if marked > 0 {
            self.law.on_marked(now, newest.sent, marked);
        }
        Ok(self.answer())
    }

    fn timeout(&mut self, _now: Time) -> Result<Answer, Failure> {
        Ok(Answer::default())
    }

    fn recovery(&mut self, now: Time, event: &'static str, bytes: Bytes) -> Result<Answer, Failure> {
        let now = of_run(now);
        match event {
            "entered" | "lost" => self.lose(now, bytes.as_u64(), false),
            "timed_out" => self.lose(now, u64::MAX, true),
            // A QUIC controller is not told of the others.
            _ => {}
        }
        Ok(self.answer())
    }

    fn assigned(&mut self, _now: Time, _assigned: Assigned) -> Result<Answer, Failure> {
        Ok(Answer::default())
    }
}
