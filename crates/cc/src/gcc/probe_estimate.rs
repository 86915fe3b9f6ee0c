//! The estimate of a probe: the rate at which its packets were sent, or the one at which they arrived if that is lower.

use super::history::Outcome;
use super::rates::{over, times};
use crate::Probe;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// A probe that was asked for, and what is known of its packets.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    probe: Probe,
    packets: u32,
    bytes: Bytes,
    /// First and last time of sending; size of the packet sent last.
    sent: (Time, Time, Bytes),
    /// First and last time of arrival; size of the packet that arrived first.
    arrived: (Time, Time, Bytes),
}

/// The estimator of one flow.
#[derive(Clone, Debug)]
pub(super) struct ProbeEstimate {
    clusters: [Option<Cluster>; MOST],
}

/// Probes that are remembered; the oldest gives way.
const MOST: usize = 8;
/// Packets of a probe.
pub(super) const PACKETS: u64 = 5;
/// The part of packets and bytes that must have arrived.
const PART: f64 = 0.8;
/// A probe that arrives faster than this times the rate at which it was sent says nothing.
const MOST_RATIO: f64 = 2.0;
/// Below this part of the sending rate the link is saturated; then a part of what arrived is the estimate.
const UNSATURATED: f64 = 0.9;
const UTILISATION: f64 = 0.95;
/// A probe takes no longer, and is forgotten so long after its last packet.
const LONGEST: TimeDelta = TimeDelta::from_secs(1);

impl ProbeEstimate {
    pub(super) fn new() -> ProbeEstimate {
        ProbeEstimate { clusters: [None; MOST] }
    }

    /// A probe is asked for.
    pub(super) fn expect(&mut self, probe: Probe) {
        self.clusters[(probe.id % MOST as u64) as usize] = Some(Cluster::new(probe));
    }

    /// Packets arrived, in this order; the newest estimate that they make possible, if any.
    pub(super) fn on_arrivals(&mut self, outcomes: &[Outcome]) -> Option<Bitrate> {
        let mut found = None;
        for outcome in outcomes {
            let (Some(id), Some(arrived)) = (outcome.probe, outcome.arrived) else { continue };
            let cluster = self.clusters[(id % MOST as u64) as usize].as_mut();
            let Some(cluster) = cluster.filter(|cluster| cluster.probe.id == id) else { continue };
            if cluster.packets > 0 && cluster.arrived.1 + LONGEST < arrived {
                *cluster = Cluster::new(cluster.probe);
            }
            cluster.add(outcome.sent, arrived, outcome.size);
            found = cluster.rate().or(found);
        }
        found
    }
}

impl Cluster {
    fn new(probe: Probe) -> Cluster {
        let nothing = (Time::MAX, Time::ZERO, Bytes::ZERO);
        Cluster { probe, packets: 0, bytes: Bytes::ZERO, sent: nothing, arrived: nothing }
    }

    fn add(&mut self, sent: Time, arrived: Time, size: Bytes) {
        self.sent.0 = self.sent.0.min(sent);
        if sent > self.sent.1 || self.packets == 0 {
            (self.sent.1, self.sent.2) = (sent, size);
        }
        if arrived < self.arrived.0 {
            (self.arrived.0, self.arrived.2) = (arrived, size);
        }
        self.arrived.1 = self.arrived.1.max(arrived);
        (self.bytes, self.packets) = (self.bytes + size, self.packets + 1);
    }

    fn rate(&self) -> Option<Bitrate> {
        let enough = f64::from(self.packets) >= PACKETS as f64 * PART
            && self.bytes.as_f64() >= libm::round(self.probe.bytes.as_f64() * PART);
        let (sending, receiving) = (self.sent.1 - self.sent.0, self.arrived.1 - self.arrived.0);
        let fits = |interval: TimeDelta| interval > TimeDelta::ZERO && interval <= LONGEST;
        if !enough || !fits(sending) || !fits(receiving) {
            return None;
        }
        let sent = over(self.bytes - self.sent.2, sending);
        let received = over(self.bytes - self.arrived.2, receiving);
        if received.as_bps_f64() > MOST_RATIO * sent.as_bps_f64() {
            return None;
        }
        let saturated = received < times(UNSATURATED, sent);
        Some(if saturated { times(UTILISATION, received) } else { sent.min(received) })
    }
}

#[cfg(test)]
#[path = "probe_estimate_tests.rs"]
mod tests;
