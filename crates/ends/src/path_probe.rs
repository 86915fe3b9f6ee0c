//! How a path is measured, as Xie, Mehrotra, Li and Hu do ("URCP", 2013, section II): a transfer in slow start whose receiving
//! rate is the capacity, then packets at half that rate, whose delays above the smallest are the noise.
//!
//! Sans-I/O: a driver says when packets arrived, and is told which to send. The receiver says each arrival by its own clock.

use paceline_units::{Bitrate, Bytes, Time, TimeDelta, params};

params! {
    /// How a path is measured.
    pub struct ProbePlan {
        packet_size: Bytes = Bytes::new(1212), in 64.0, 65_000.0, "ours: the usual packet over RTP", "Size of each packet on the link";
        transfer: Bytes = Bytes::new(1_000_000), in 20_000.0, 1e10, "URCP 2013 section II", "Bytes sent in slow start";
        hold: TimeDelta = TimeDelta::from_secs(60), in 1.0, 1e5, "ours", "Time for which packets go at a part of the capacity";
        part: f64 = 0.5, in 0.01, 0.95, "URCP 2013 section II", "Part of the capacity at which packets go";
    }
}

/// A packet that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Observation {
    /// When it was sent, by the sender's clock.
    pub sent: Time,
    /// When it arrived, by the receiver's clock; none if nothing was heard of it.
    pub arrived: Option<Time>,
}

/// The observations of a path.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProbeRecord {
    /// The packets of the transfer, in order.
    pub transfer: Vec<Observation>,
    /// The packets at a part of the capacity, in order.
    pub hold: Vec<Observation>,
    /// The shortest time from a packet to what the receiver said of it.
    pub min_rtt: Option<TimeDelta>,
}

impl ProbeRecord {
    /// Receiving rate of the transfer: from the first arrival to the last. None with fewer than ten arrivals, or all at once.
    pub fn receiving_rate(&self, packet_size: Bytes) -> Option<Bitrate> {
        let arrivals = || self.transfer.iter().filter_map(|packet| packet.arrived);
        let (first, last) = (arrivals().min()?, arrivals().max()?);
        let (count, span) = (arrivals().count(), (last - first).as_secs_f64());
        let bits = (count as f64 - 1.0) * packet_size.as_bits_f64();
        (count >= 10 && span > 0.0).then(|| Bitrate::from_bps_f64(bits / span))
    }
}

/// First window in packets (RFC 6928).
const INITIAL_WINDOW: f64 = 10.0;
/// Packets that overtake one that is lost then (RFC 5681).
const DUPLICATES: usize = 3;
/// Silence after which all that is under way is lost.
const TIMEOUT: TimeDelta = TimeDelta::from_secs(2);
/// The transfer ends then, whatever of it has arrived.
const LONGEST_TRANSFER: TimeDelta = TimeDelta::from_secs(120);
/// Time for what is under way to arrive, behind the transfer and at the end.
const SETTLING: TimeDelta = TimeDelta::from_secs(3);

/// Where a probe is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    /// Packets as the window allows; the last answer, or the last timeout, came at this time.
    Transfer {
        heard: Time,
    },
    /// Nothing is sent until this time.
    Settling(Time),
    /// A packet each time.
    Hold {
        start: Time,
        gap: TimeDelta,
    },
    /// Nothing is sent any more; answers count until this time.
    Ending(Time),
    Over,
}

/// A probe of a path, sans I/O: a driver asks which packets to send, and says which arrived.
pub trait Prober {
    /// Its observations.
    type Record;

    /// Size of each packet on the link.
    fn packet_size(&self) -> Bytes;

    /// Whether everything was sent and waited for.
    fn is_over(&self) -> bool;

    /// How far it is, from 0 to 1.
    fn progress(&self) -> f64;

    /// When to call [`Prober::poll_transmit`] next, at the latest; none when it is over.
    fn next_timeout(&self) -> Option<Time>;

    /// The number of the packet to send at `now`; none if there is none now.
    fn poll_transmit(&mut self, now: Time) -> Option<u64>;

    /// The receiver says at `now` when the packet of this number arrived. An unknown number, or one known already, changes nothing.
    fn on_arrival(&mut self, now: Time, number: u64, arrived: Time);

    /// The observations so far.
    fn into_record(self) -> Self::Record;
}

/// The sending end of a probe.
#[derive(Clone, Debug)]
pub struct PathProbe {
    plan: ProbePlan,
    phase: Phase,
    record: ProbeRecord,
    begun: Option<Time>,
    window: f64,
    threshold: f64,
    /// Packets of the transfer that are neither answered nor lost yet.
    in_flight: usize,
    /// Whether each packet of the transfer is settled: answered or lost.
    settled: Vec<bool>,
    /// All before this are settled.
    first_open: usize,
    /// The highest packet that was answered.
    highest: usize,
    /// The window is reduced once for all packets before this.
    recover: usize,
}

impl PathProbe {
    /// A probe that has not begun.
    pub fn new(plan: ProbePlan) -> PathProbe {
        PathProbe {
            plan,
            phase: Phase::Transfer { heard: Time::ZERO },
            record: ProbeRecord::default(),
            begun: None,
            window: INITIAL_WINDOW,
            threshold: f64::INFINITY,
            in_flight: 0,
            settled: Vec::new(),
            first_open: 0,
            highest: 0,
            recover: 0,
        }
    }
}

impl Prober for PathProbe {
    type Record = ProbeRecord;

    fn packet_size(&self) -> Bytes {
        self.plan.packet_size
    }

    fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// A tenth is the transfer.
    fn progress(&self) -> f64 {
        match self.phase {
            Phase::Transfer { .. } => 0.1 * self.settled.len() as f64 / self.transfer_packets() as f64,
            Phase::Settling(_) => 0.1,
            Phase::Hold { .. } => {
                0.1 + 0.9 * self.record.hold.len() as f64 / self.hold_packets().max(1) as f64
            }
            Phase::Ending(_) | Phase::Over => 1.0,
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        match self.phase {
            Phase::Transfer { .. } if self.may_send() => Some(self.begun.unwrap_or(Time::ZERO)),
            Phase::Transfer { heard } => Some(heard + TIMEOUT),
            Phase::Settling(until) | Phase::Ending(until) => Some(until),
            Phase::Hold { start, gap } => Some(start + gap * self.record.hold.len() as i64),
            Phase::Over => None,
        }
    }

    /// Packets of both phases are counted together.
    fn poll_transmit(&mut self, now: Time) -> Option<u64> {
        match self.phase {
            Phase::Transfer { heard } => self.poll_transfer(now, heard),
            Phase::Settling(until) if until <= now => {
                self.begin_hold(now);
                self.poll_transmit(now)
            }
            Phase::Hold { start, gap } => self.poll_hold(now, start, gap),
            Phase::Ending(until) if until <= now => {
                self.phase = Phase::Over;
                None
            }
            Phase::Settling(_) | Phase::Ending(_) | Phase::Over => None,
        }
    }

    fn on_arrival(&mut self, now: Time, number: u64, arrived: Time) {
        let transfer = self.record.transfer.len();
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let packet = match index.checked_sub(transfer) {
            None => self.record.transfer.get_mut(index),
            Some(place) => self.record.hold.get_mut(place),
        };
        let Some(packet) = packet.filter(|packet| packet.arrived.is_none()) else { return };
        packet.arrived = Some(arrived);
        let rtt = now - packet.sent;
        self.record.min_rtt = Some(self.record.min_rtt.map_or(rtt, |least| least.min(rtt)));
        if matches!(self.phase, Phase::Transfer { .. }) {
            self.answered(now, index);
        }
    }

    fn into_record(self) -> ProbeRecord {
        self.record
    }
}

impl PathProbe {
    fn transfer_packets(&self) -> usize {
        self.plan.transfer.as_u64().div_ceil(self.plan.packet_size.as_u64().max(1)) as usize
    }

    fn hold_packets(&self) -> usize {
        let Phase::Hold { gap, .. } = self.phase else { return 0 };
        (self.plan.hold.as_nanos() / gap.as_nanos().max(1)) as usize
    }

    fn may_send(&self) -> bool {
        self.settled.len() < self.transfer_packets() && (self.in_flight as f64) < self.window
    }

    fn poll_transfer(&mut self, now: Time, heard: Time) -> Option<u64> {
        let begun = *self.begun.get_or_insert(now);
        if self.settled.is_empty() {
            self.phase = Phase::Transfer { heard: now };
        } else if now >= begun + LONGEST_TRANSFER {
            self.phase = Phase::Settling(now + SETTLING);
            return None;
        } else if now >= heard + TIMEOUT {
            self.time_out(now);
        }
        if !self.may_send() {
            if self.settled.len() == self.transfer_packets() && self.in_flight == 0 {
                self.phase = Phase::Settling(now + SETTLING);
            }
            return None;
        }
        self.settled.push(false);
        self.in_flight += 1;
        self.record.transfer.push(Observation { sent: now, arrived: None });
        Some(self.settled.len() as u64 - 1)
    }

    fn time_out(&mut self, now: Time) {
        self.threshold = (self.in_flight as f64 / 2.0).max(2.0);
        (self.window, self.in_flight) = (1.0, 0);
        self.settled.fill(true);
        (self.first_open, self.recover) = (self.settled.len(), self.settled.len());
        self.phase = Phase::Transfer { heard: now };
    }

    /// Grows the window for an answer, and finds what it says to be lost.
    fn answered(&mut self, now: Time, index: usize) {
        self.phase = Phase::Transfer { heard: now };
        self.highest = self.highest.max(index);
        self.settle(index);
        self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
        let mut lost = false;
        while self.first_open < self.settled.len() {
            let open = self.first_open;
            if !self.settled[open] {
                if open + DUPLICATES > self.highest {
                    break;
                }
                lost |= open >= self.recover;
                self.settle(open);
            }
            self.first_open += 1;
        }
        if lost {
            self.threshold = (self.window / 2.0).max(2.0);
            self.window = self.threshold;
            self.recover = self.settled.len();
        }
    }

    fn settle(&mut self, index: usize) {
        if let Some(settled) = self.settled.get_mut(index)
            && !*settled
        {
            *settled = true;
            self.in_flight = self.in_flight.saturating_sub(1);
        }
    }

    /// Begins to send at a part of what was received; without a rate it is over.
    fn begin_hold(&mut self, now: Time) {
        self.phase = match self.record.receiving_rate(self.plan.packet_size) {
            Some(rate) => {
                let rate = Bitrate::from_bps_f64(rate.as_bps_f64() * self.plan.part);
                let gap = rate.time_for(self.plan.packet_size).max(TimeDelta::from_nanos(1));
                Phase::Hold { start: now, gap }
            }
            None => Phase::Over,
        };
    }

    fn poll_hold(&mut self, now: Time, start: Time, gap: TimeDelta) -> Option<u64> {
        let sent = self.record.hold.len();
        if sent >= self.hold_packets() {
            self.phase = Phase::Ending(now + SETTLING);
            return None;
        }
        if now < start + gap * sent as i64 {
            return None;
        }
        self.record.hold.push(Observation { sent: now, arrived: None });
        Some((self.record.transfer.len() + sent) as u64)
    }
}
