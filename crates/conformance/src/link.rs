//! A bottleneck for tests: one FIFO, a rate that may step, losses and marks by count, an outage.

use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use std::collections::VecDeque;

/// A link's treatment of packets. All flows share it.
#[derive(Clone, Copy, Debug)]
pub struct LinkConfig {
    /// Rate at which packets are served.
    pub rate: Bitrate,
    /// From then on it serves at another rate.
    pub step: Option<(Time, Bitrate)>,
    /// One way; the way back is as long.
    pub delay: TimeDelta,
    /// Every so many packets one is lost.
    pub lose_every: Option<u64>,
    /// Every so many packets one is marked CE.
    pub mark_every: Option<u64>,
    /// Nothing passes in either direction.
    pub outage: Option<(Time, Time)>,
    /// The longest wait; what would wait longer is dropped.
    pub longest_wait: TimeDelta,
}

impl LinkConfig {
    /// A link of so many Mbit/s that loses and marks nothing.
    pub fn clean(mbps: u64) -> LinkConfig {
        LinkConfig {
            rate: Bitrate::from_mbps(mbps),
            step: None,
            delay: TimeDelta::from_millis(20),
            lose_every: None,
            mark_every: None,
            outage: None,
            longest_wait: TimeDelta::from_secs(3),
        }
    }

    pub(crate) fn is_out(&self, now: Time) -> bool {
        self.outage.is_some_and(|(from, to)| (from..to).contains(&now))
    }
}

/// A packet on the link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub flow: usize,
    pub sequence: u64,
    pub size: Bytes,
    pub marked: bool,
    pub wait: TimeDelta,
    pub arrives: Time,
}

/// The link and what is on it.
pub(crate) struct Link {
    config: LinkConfig,
    free: Time,
    offered: u64,
    packets: VecDeque<Packet>,
}

impl Link {
    pub(crate) fn new(config: LinkConfig) -> Link {
        Link { config, free: Time::ZERO, offered: 0, packets: VecDeque::with_capacity(1 << 14) }
    }

    /// A packet enters; its departure is computed at once.
    pub(crate) fn offer(&mut self, now: Time, flow: usize, sequence: u64, size: Bytes) {
        self.offered += 1;
        let every = |every: Option<u64>| every.is_some_and(|every| self.offered.is_multiple_of(every));
        let (lost, marked) = (every(self.config.lose_every), every(self.config.mark_every));
        let wait = self.free.saturating_since(now);
        if lost || self.config.is_out(now) || wait > self.config.longest_wait {
            return;
        }
        let rate = match self.config.step {
            Some((at, rate)) if now >= at => rate,
            _ => self.config.rate,
        };
        self.free = self.free.max(now) + rate.time_for(size);
        let arrives = self.free + self.config.delay;
        self.packets.push_back(Packet { flow, sequence, size, marked, wait, arrives });
    }

    pub(crate) fn next_arrival(&self) -> Option<Time> {
        self.packets.front().map(|packet| packet.arrives)
    }

    /// The next packet that has arrived.
    pub(crate) fn arrived(&mut self, now: Time) -> Option<Packet> {
        self.packets.front().filter(|packet| packet.arrives <= now)?;
        self.packets.pop_front()
    }
}
