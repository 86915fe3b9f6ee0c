//! Scheduling: packets wait for the next frame in which their sender has a grant, and leave together.

use super::tries::Tries;
use super::{Process, Started, Streams, noise_params};
use paceline_units::{RandomStream, TimeDelta};

noise_params! {
    /// The parameters of scheduling by grants.
    pub struct GrantNoise {
        period: TimeDelta = TimeDelta::from_millis(5), as Required, in 1e-6, 1000.0, "", "Time between two frames: 5 ms for WiMAX, 2 or 10 ms for the TTI of HSPA";
        miss: f64 = 0.0, in 0.0, 0.999, "ours", "Probability that a frame has no grant for who waits: the next one may";
        misses: u32 = 1000, in 0.0, 1e6, "ours", "Frames after which there is a grant in any case";
        jitter: TimeDelta = TimeDelta::ZERO, in 0.0, 1000.0, "ours", "Where in its frame a packet is sent: uniform up to this";
    }
}

/// State of one uplink whose frames are granted.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    period: u64,
    jitter: f64,
    misses: Tries,
    /// Start of a frame, in nanoseconds; the others lie whole periods away.
    phase: u64,
    /// The last grant: who is there before it goes with it.
    granted: u64,
}

impl Started<GrantNoise> for Grant {
    fn start(config: &GrantNoise, streams: &Streams<'_>) -> Grant {
        let period = config.period.as_nanos().max(1) as u64;
        Grant {
            period,
            jitter: config.jitter.as_nanos() as f64,
            misses: Tries::new(config.miss, config.misses),
            phase: (streams.named("phase").uniform() * period as f64) as u64,
            granted: 0,
        }
    }
}

impl Process for Grant {
    #[inline]
    fn delay(&mut self, at: u64, random: &mut RandomStream) -> f64 {
        if at > self.granted {
            let since = (at % self.period + self.period - self.phase % self.period) % self.period;
            let frame = at.saturating_add((self.period - since) % self.period);
            let missed = u64::from(self.misses.failures(random));
            self.granted = frame.saturating_add(missed.saturating_mul(self.period));
        }
        let jitter = if self.jitter > 0.0 { random.uniform() * self.jitter } else { 0.0 };
        (self.granted - at) as f64 + jitter
    }
}
