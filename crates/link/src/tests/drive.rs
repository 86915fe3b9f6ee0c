//! Drives a link with arrivals in order of time, and keeps everything that became of them.

use super::*;

/// The fate of arrivals.
#[derive(Default, PartialEq, Debug)]
pub(super) struct Log {
    pub(super) departures: Vec<Departure<Packet>>,
    /// Dropped when offered.
    pub(super) refused: Vec<(Time, Packet)>,
    /// Dropped after they had waited.
    pub(super) discarded: Vec<(Time, Packet)>,
    pub(super) counters: LinkCounters,
}

/// A packet of one of 7 flows (see `Packet::flow`).
pub(super) fn packet(number: u64, flow: u64, size: u64, ecn: Ecn) -> Packet {
    Packet { id: number * 7 + flow, size, ecn }
}

/// A link without delay.
pub(super) fn plain(rate: RateProcess, queue: QueueConfig) -> LinkConfig {
    LinkConfig::new(rate, TimeDelta::ZERO, queue)
}

pub(super) fn drive(config: LinkConfig, arrivals: impl IntoIterator<Item = (u64, Packet)>, end: Time) -> Log {
    drive_link(&mut Link::new(config, 1, "test").expect("a valid link"), arrivals, end)
}

pub(super) fn drive_link(
    link: &mut Link<Packet>,
    arrivals: impl IntoIterator<Item = (u64, Packet)>,
    end: Time,
) -> Log {
    let mut log = Log::default();
    for (nanos, packet) in arrivals {
        let now = Time::from_nanos(nanos);
        if now >= end {
            break;
        }
        let offered = link.offer(now, packet, &mut |departure| log.departures.push(departure));
        if offered == Offered::Dropped {
            log.refused.push((now, packet));
        }
    }
    link.advance(end, &mut |departure| log.departures.push(departure));
    link.settle(end);
    link.advance(end + TimeDelta::from_nanos(1), &mut |departure| log.departures.push(departure));
    // The packet in service was announced, too.
    log.departures.retain(|departure| departure.departed <= end);
    while let Some(dropped) = link.take_dropped() {
        log.discarded.push(dropped);
    }
    log.counters = link.counters();
    log
}

/// Packets of `size` bytes at `mbps` from `from` to `until` milliseconds, all of one flow.
pub(super) fn steady(
    flow: u64,
    ecn: Ecn,
    size: u64,
    mbps: f64,
    from: u64,
    until: u64,
) -> impl Iterator<Item = (u64, Packet)> {
    let gap = size as f64 * 8e3 / mbps;
    let count = ((until - from) as f64 * 1e6 / gap) as u64;
    (0..count).map(move |n| (from * 1_000_000 + (n as f64 * gap) as u64, packet(n, flow, size, ecn)))
}

/// Several sequences in one, in order of time.
pub(super) fn merged<I: Iterator<Item = (u64, Packet)>>(
    parts: impl IntoIterator<Item = I>,
) -> Vec<(u64, Packet)> {
    let mut all: Vec<_> = parts.into_iter().flatten().collect();
    all.sort_by_key(|(time, packet)| (*time, packet.id));
    all
}

impl Log {
    /// Departures of a flow after `from` milliseconds.
    pub(super) fn of(&self, flow: u64, from: u64) -> impl Iterator<Item = &Departure<Packet>> {
        self.departures
            .iter()
            .filter(move |departure| departure.packet.flow() == flow && departure.departed >= millis(from))
    }

    /// Mean wait in milliseconds of the departures after `from` milliseconds.
    pub(super) fn mean_wait(&self, from: u64) -> f64 {
        let late: Vec<_> =
            self.departures.iter().filter(|departure| departure.departed >= millis(from)).collect();
        late.iter().map(|departure| departure.wait.as_millis_f64()).sum::<f64>() / late.len() as f64
    }

    /// Packets dropped, early or late, after `from` milliseconds.
    pub(super) fn drops(&self, flow: u64, from: u64) -> usize {
        let all = self.refused.iter().chain(&self.discarded);
        all.filter(|(at, packet)| packet.flow() == flow && *at >= millis(from)).count()
    }
}
