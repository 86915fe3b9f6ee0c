//! Available bandwidth by pairs of packets, as Spruce measures it (Strauss, Katabi and Kaashoek 2003, no text at hand): the two packets of a
//! pair are sent as far apart as the bottleneck takes for one of them, so that they leave it further apart by what others sent meanwhile.
//!
//! Pairs are rare and come at random times: a path is hardly loaded. Sans-I/O like [`crate::PathProbe`]; the capacity has to be known.

use crate::path_probe::{Observation, Prober};
use paceline_units::param::{ParamError, ParamSet};

use paceline_units::{Bitrate, Bytes, RandomStream, Time, TimeDelta, params};

params! {
    /// How available bandwidth is measured.
    pub struct PairPlan {
        capacity: Bitrate = Bitrate::from_mbps(10), in 1e4, 1e11, "ours: an example", "Capacity of the bottleneck, which pairs do not tell";
        packet_size: Bytes = Bytes::new(1500), in 64.0, 65_000.0, "Strauss 2003, no text at hand", "Size of each packet on the link";
        pairs: u64 = 100, in 1.0, 1_000_000.0, "Strauss 2003, no text at hand", "Pairs whose samples are averaged";
        most: Bitrate = Bitrate::from_kbps(240), in 1e3, 1e11, "Strauss 2003, no text at hand", "Highest mean rate of the pairs";
        part: f64 = 0.05, in 1e-4, 0.5, "Strauss 2003, no text at hand", "Highest mean rate of the pairs, as a part of the capacity";
    }
}

impl PairPlan {
    /// Time between the packets of a pair: that of one at the bottleneck.
    pub fn gap(&self) -> TimeDelta {
        self.capacity.time_for(self.packet_size)
    }

    /// Mean rate of the pairs.
    pub fn rate(&self) -> Bitrate {
        self.most.min(Bitrate::from_bps_f64(self.part * self.capacity.as_bps_f64()))
    }

    /// Mean time between the starts of two pairs. Pairs do not overlap: their own time comes before an exponential draw.
    pub fn period(&self) -> TimeDelta {
        TimeDelta::from_secs_f64(2.0 * self.packet_size.as_bits_f64() / self.rate().as_bps_f64())
    }
}

/// Time for which answers count after the last pair.
const SETTLING: TimeDelta = TimeDelta::from_secs(2);

/// The sending end of a probe by pairs. Packets of a pair have numbers that follow, the first an even one.
#[derive(Clone, Debug)]
pub struct PairProbe {
    plan: PairPlan,
    random: RandomStream,
    packets: Vec<Observation>,
    /// When the next packet is due; absent until the first call.
    due: Option<Time>,
}

impl PairProbe {
    /// A probe that has not begun; its times are drawn with this seed.
    ///
    /// # Errors
    /// The parameter of the plan that is out of its range.
    pub fn new(plan: PairPlan, seed: u64) -> Result<PairProbe, ParamError> {
        plan.check()?;
        let packets = Vec::with_capacity(2 * plan.pairs as usize);
        Ok(PairProbe { plan, random: RandomStream::new(seed, "pairs"), packets, due: None })
    }

    /// Packets to send in all.
    fn total(&self) -> usize {
        2 * self.plan.pairs as usize
    }

    /// Time from the second packet of a pair to the next pair.
    fn pause(&mut self) -> TimeDelta {
        let mean = (self.plan.period() - self.plan.gap() * 2).as_secs_f64().max(0.0);
        self.plan.gap() + TimeDelta::from_secs_f64(self.random.exponential(mean))
    }
}

impl Prober for PairProbe {
    /// The packets of the pairs, in order.
    type Record = Vec<Observation>;

    fn packet_size(&self) -> Bytes {
        self.plan.packet_size
    }

    fn is_over(&self) -> bool {
        self.packets.len() > self.total()
    }

    fn progress(&self) -> f64 {
        (self.packets.len() as f64 / self.total() as f64).min(1.0)
    }

    fn next_timeout(&self) -> Option<Time> {
        if self.is_over() { None } else { Some(self.due.unwrap_or(Time::ZERO)) }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<u64> {
        let due = *self.due.get_or_insert(now);
        if due > now || self.is_over() {
            return None;
        }
        let number = self.packets.len();
        self.packets.push(Observation { sent: now, arrived: None });
        if number == self.total() {
            // Answers were waited for: nothing is sent, and it is over.
            return None;
        }
        let pause = match number {
            _ if number + 1 == self.total() => SETTLING,
            _ if number.is_multiple_of(2) => self.plan.gap(),
            _ => self.pause(),
        };
        self.due = Some(now + pause);
        Some(number as u64)
    }

    fn on_arrival(&mut self, _now: Time, number: u64, arrived: Time) {
        let number = usize::try_from(number).ok().filter(|number| *number < self.total());
        let packet = number.and_then(|number| self.packets.get_mut(number));
        if let Some(packet) = packet.filter(|packet| packet.arrived.is_none()) {
            packet.arrived = Some(arrived);
        }
    }

    fn into_record(mut self) -> Vec<Observation> {
        self.packets.truncate(self.total());
        self.packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(plan: &PairPlan, seed: u64) -> Vec<Observation> {
        let mut probe = PairProbe::new(plan.clone(), seed).expect("a plan");
        let mut now = Time::from_nanos(5);
        while let Some(due) = probe.next_timeout() {
            now = now.max(due);
            while let Some(number) = probe.poll_transmit(now) {
                probe.on_arrival(now, number, now);
                probe.on_arrival(now, number, Time::ZERO);
                probe.on_arrival(now, u64::MAX, now);
            }
        }
        assert_eq!((probe.is_over(), probe.progress()), (true, 1.0));
        probe.into_record()
    }

    /// 1500 B at 10 Mbit/s take 1.2 ms, and two of them 100 ms at 240 kbit/s.
    #[test]
    fn pairs_are_a_packet_s_time_apart_and_load_the_path_a_little() {
        let plan = PairPlan { pairs: 2000, ..PairPlan::default() };
        let packets = sent(&plan, 1);
        assert_eq!(packets.len(), 4000);
        assert!(packets.iter().all(|packet| packet.arrived == Some(packet.sent)));
        for pair in packets.chunks(2) {
            assert_eq!(pair[1].sent - pair[0].sent, TimeDelta::from_micros(1200));
        }
        let gaps: Vec<_> = packets.chunks(2).map(|pair| pair[0].sent.as_secs_f64()).collect();
        let gaps: Vec<_> = gaps.windows(2).map(|two| two[1] - two[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // Exponential but for the pair's own 2.4 ms; five standard errors.
        assert!((mean - 0.1).abs() <= 5.0 * 0.0976 / 2000f64.sqrt(), "{mean}");
        assert!((variance.sqrt() / 0.0976 - 1.0).abs() <= 0.15, "{variance}");
        assert_ne!(sent(&plan, 2), packets);
    }

    #[test]
    fn a_slow_path_is_loaded_by_a_twentieth_at_most() {
        let rate =
            |kbps| PairPlan { capacity: Bitrate::from_kbps(kbps), ..PairPlan::default() }.rate().as_bps();
        assert_eq!([rate(1_000), rate(4_800), rate(100_000)], [50_000, 240_000, 240_000]);
        let wrong = PairPlan { pairs: 0, ..PairPlan::default() };
        assert!(PairProbe::new(wrong, 1).is_err());
    }
}
