//! Contention for a shared medium (Wi-Fi, IEEE 802.11 DCF): other stations hold it for a while, then a backoff is drawn, which
//! doubles with each collision.

use super::stalls::{Span, Stalls};
use super::tries::Tries;
use super::{Process, Started, Streams, noise_params};
use paceline_units::{RandomStream, TimeDelta};

noise_params! {
    /// The parameters of contention. The capacity that other stations take is no part of it, but of the link's rate.
    pub struct ContentionNoise {
        busy: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 1000.0, "ours", "Mean time for which other stations hold the medium, exponential";
        idle: TimeDelta = TimeDelta::from_millis(5), as Required, in 1e-3, 1e6, "ours", "Mean time between two of these, exponential";
        slot: TimeDelta = TimeDelta::from_micros(20), in 0.0, 1.0, "IEEE 802.11-2012 18, 20 us for 802.11b and mixed 802.11g; 9 us without them; no text at hand", "Backoff slot";
        cw_min: u32 = 31, in 0.0, 65535.0, "IEEE 802.11-2012, as slot, no text at hand", "First contention window: the backoff is uniform from 0 to it, in slots";
        cw_max: u32 = 1023, in 0.0, 65535.0, "IEEE 802.11-2012, no text at hand", "Largest contention window";
        collision: f64 = 0.0, in 0.0, 1.0, "ours", "Probability that a try collides";
        airtime: TimeDelta = TimeDelta::from_millis(2), in 0.0, 1.0, "ours: 1500 B at 6 Mbit/s", "Time that a collision costs beside the next backoff";
        retries: u32 = 6, in 0.0, 1000.0, "IEEE 802.11-2012: 7 tries in all, no text at hand", "How often a packet is repeated; if all tries collide it is lost";
    }
    ordered cw_min <= cw_max;
}

/// State of one channel that stations contend for.
#[derive(Clone, Debug)]
pub(super) struct Contention {
    others: Option<Stalls>,
    slot: f64,
    cw_min: u32,
    cw_max: u32,
    airtime: f64,
    collisions: Tries,
}

impl Started<ContentionNoise> for Contention {
    fn start(config: &ContentionNoise, streams: &Streams<'_>) -> Contention {
        let span = |mean: TimeDelta| Span::Exponential { mean: mean.as_nanos() as f64, max: f64::INFINITY };
        let part = config.busy.as_secs_f64() / (config.busy.as_secs_f64() + config.idle.as_secs_f64());
        let others = (config.busy > TimeDelta::ZERO).then(|| {
            let mut random = streams.named("others");
            let busy = random.chance(part);
            Stalls::new(span(config.idle), span(config.busy), busy, random)
        });
        Contention {
            others,
            slot: config.slot.as_nanos() as f64,
            cw_min: config.cw_min,
            cw_max: config.cw_max,
            airtime: config.airtime.as_nanos() as f64,
            collisions: Tries::new(config.collision, config.retries),
        }
    }
}

impl Process for Contention {
    #[inline]
    fn delay(&mut self, at: u64, random: &mut RandomStream) -> f64 {
        let end = self.others.as_mut().and_then(|others| others.end_at(at));
        let mut delay = end.map_or(0.0, |end| (end - at) as f64);
        let collisions = self.collisions.failures(random);
        let mut window = self.cw_min;
        for _ in 0..=collisions {
            delay += libm::floor(random.uniform() * (f64::from(window) + 1.0)) * self.slot;
            window = (2 * window + 1).min(self.cw_max);
        }
        delay + f64::from(collisions) * self.airtime
    }

    fn can_lose(&self) -> bool {
        self.collisions.residual() > 0.0
    }

    fn loses(&mut self, _at: u64, random: &mut RandomStream) -> bool {
        random.chance(self.collisions.residual())
    }
}
