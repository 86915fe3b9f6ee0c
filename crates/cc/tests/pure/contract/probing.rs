//! A probing estimator: bursts above the rate, the arrival rate of a burst, a target below it.

use super::path::{Datagrams, Path, Run, ms};
use paceline_cc::{
    Allowance, Assigned, Controller, Offered, Pacing, Probe, Report, SendQueueState, SentPacket, Snapshot,
    Status, TimeoutReason, Update,
};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

const BURST: Bytes = Bytes::new(20_000);
const EVERY: TimeDelta = TimeDelta::from_millis(500);
const PATIENCE: TimeDelta = TimeDelta::from_millis(300);

/// The burst under way.
struct Burst {
    id: u64,
    due: Time,
    /// Sequence numbers of its packets: they are sent in a row.
    packets: Option<(u64, u64)>,
    first: Option<Time>,
    last: Time,
    after_first: Bytes,
}

/// `assign` overwrites the target; the next probe starts from there.
pub struct Prober {
    target: Bitrate,
    next: Time,
    probes: u64,
    burst: Option<Burst>,
}

impl Prober {
    fn new(target: Bitrate) -> Prober {
        Prober { target, next: Time::ZERO, probes: 0, burst: None }
    }

    fn answer(&self) -> Update {
        Update {
            allowance: Some(Allowance::Unlimited),
            pacing: Some(Pacing::Rate(self.target)),
            ..Update::none()
        }
        .with_target(self.target)
    }

    fn start(&mut self, now: Time) -> Update {
        let probe =
            Probe { id: self.probes, rate: Bitrate::from_bps(self.target.as_bps() * 2), bytes: BURST };
        let (id, due) = (probe.id, now + PATIENCE);
        self.burst = Some(Burst { id, due, packets: None, first: None, last: now, after_first: Bytes::ZERO });
        (self.probes, self.next) = (self.probes + 1, now + EVERY);
        Update { probe: Some(probe), ..Update::none() }
    }

    /// The rate at which the burst arrived: an upper bound where it was stretched, proof of room where it was not.
    fn evaluate(&mut self) -> Update {
        let Some(burst) = self.burst.take() else { return Update::none() };
        let Some(first) = burst.first.filter(|first| burst.last > *first) else { return Update::none() };
        let rate = burst.after_first.as_bits_f64() / (burst.last - first).as_secs_f64();
        self.target = Bitrate::from_bps_f64(0.95 * rate);
        self.answer()
    }
}

impl Controller for Prober {
    fn on_offered(&mut self, _now: Time, _offered: &Offered, _queue: &SendQueueState) -> Update {
        self.answer()
    }

    fn on_sent(&mut self, _now: Time, packet: &SentPacket) -> Update {
        if let Some(burst) = self.burst.as_mut().filter(|burst| packet.probe == Some(burst.id)) {
            let first = burst.packets.map_or(packet.sequence, |(first, _)| first);
            burst.packets = Some((first, packet.sequence));
        }
        Update::none()
    }

    fn on_report(&mut self, _now: Time, report: &Report<'_>) -> Update {
        let (Report::Packets(report), Some(burst)) = (report, self.burst.as_mut()) else {
            return Update::none();
        };
        let Some((from, to)) = burst.packets else { return Update::none() };
        let mut complete = false;
        for packet in report.packets.iter().filter(|packet| (from..=to).contains(&packet.sequence)) {
            let Status::Received { arrived: Some(arrived), .. } = packet.status else { continue };
            match burst.first {
                None => burst.first = Some(arrived),
                Some(_) => burst.after_first += packet.size,
            }
            burst.last = burst.last.max(arrived);
            complete |= burst.after_first + packet.size >= BURST;
        }
        if complete { self.evaluate() } else { Update::none() }
    }

    fn assign(&mut self, _now: Time, assigned: Assigned) -> Update {
        if let Assigned::Rate(rate) = assigned {
            self.target = rate;
        }
        self.answer()
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        let due = self.burst.as_ref().map_or(self.next, |burst| burst.due);
        Some((due, TimeoutReason::Probe))
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        if self.burst.is_some() { self.evaluate() } else { self.start(now) }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { target: Some(self.target), ..Snapshot::default() }
    }
}

/// The target after ten seconds over a bottleneck, as a part of it.
fn found(start: u64, bottleneck: u64, drops: fn(u64) -> bool) -> f64 {
    let (mut prober, mut near) = (Prober::new(Bitrate::from_kbps(start)), Datagrams::default());
    let bottleneck = Bitrate::from_kbps(bottleneck);
    let path = Path { drops, bottleneck: Some(bottleneck), ..Path::clean(TimeDelta::from_millis(20)) };
    let mut run = Run::new(&mut prober, &mut near, path);
    run.until(ms(10_000));
    assert!(run.wake_ups.iter().all(|(_, reason)| *reason == TimeoutReason::Probe));
    assert!((20..=41).contains(&run.wake_ups.len()), "a probe every 500 ms: {}", run.wake_ups.len());
    run.target.expect("told").as_bps_f64() / bottleneck.as_bps_f64()
}

#[test]
fn probes_find_the_bottleneck_from_below_and_from_above() {
    for (start, bottleneck) in [(500, 10_000), (5_000, 50_000), (4_000, 2_000)] {
        let part = found(start, bottleneck, |_| false);
        assert!((0.9..=1.0).contains(&part), "{start} kbit/s over {bottleneck}: {part}");
    }
}

#[test]
fn a_burst_that_loses_packets_is_evaluated_when_patience_ends() {
    let part = found(500, 10_000, |n| n % 17 == 3);
    assert!((0.7..=1.0).contains(&part), "{part}");
}

#[test]
fn coupling_may_raise_a_target() {
    let mut prober = Prober::new(Bitrate::from_mbps(1));
    let update = prober.assign(ms(0), Assigned::Rate(Bitrate::from_mbps(3)));
    assert_eq!(update.pacing, Some(Pacing::Rate(Bitrate::from_mbps(3))));
    assert_eq!(prober.share(), Some(Assigned::Rate(Bitrate::from_mbps(3))));
}
