//! A queue that stands whatever is sent: that of others, noise, or a path that became longer.

use super::Params;
use super::recent::Peak;
use crate::delay_noise::noise_after;
use paceline_units::{Time, TimeDelta};

/// A queue that others left is gone where no more than a part of it stood for so long, or for twice as long.
const FORGOTTEN: TimeDelta = TimeDelta::from_secs(3);
const GONE: f64 = 0.25;
/// A path became shorter that did so by so many seconds, at least: noise moves a queue by less.
const SHORTER: f64 = 0.15;
/// Drains that are remembered.
const DRAINS: usize = 4;

/// Of the standing queue, what is not ours. In seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Others {
    /// By how much the standing queue changes from one span to the next for other reasons than our rate.
    pub(super) noise: f64,
    looked: (f64, Time),
    /// The queues at the ends of the last drains.
    left: [f64; DRAINS],
    /// The longest of them.
    pub(super) floor: f64,
    /// The longest standing queue of late.
    longest: Peak,
    /// The latest time, in seconds, at which a queue could have drained that stood before.
    drains: f64,
}

impl Others {
    pub(super) const NONE: Others = Others {
        noise: 0.0,
        looked: (0.0, Time::ZERO),
        left: [0.0; DRAINS],
        floor: 0.0,
        longest: Peak::new(FORGOTTEN),
        drains: 0.0,
    };

    /// Looks at the standing queue. While our rate grows and shows (`grows`), our own queue does not fall.
    pub(super) fn look(&mut self, params: &Params, now: Time, span: TimeDelta, standing: f64, grows: bool) {
        self.longest.note(now, standing);
        // No queue drains faster than time passes: where one seems to, the path became shorter.
        let drains = (now - Time::ZERO).as_secs_f64() + standing;
        self.drains = self.drains.max(drains);
        if self.floor > 0.0 {
            let is_shorter = drains < self.drains - SHORTER.max(self.floor / 2.0);
            let stood = if is_shorter { standing } else { self.longest.most() };
            if stood < params.queue_limit.as_secs_f64().max(GONE * self.floor) {
                (self.left, self.floor) = ([0.0; DRAINS], 0.0);
            }
        }
        let (before, at) = self.looked;
        let elapsed = now.saturating_since(at);
        if grows && elapsed < span {
            return;
        }
        self.looked = (standing, now);
        if grows {
            self.noise = noise_after(self.noise, elapsed.as_secs_f64(), (before - standing).max(0.0));
        }
    }

    /// A drain ended with this queue.
    pub(super) fn on_drained(&mut self, standing: f64) {
        if standing < GONE * self.floor {
            self.left = [0.0; DRAINS];
        }
        self.left.rotate_left(1);
        self.left[DRAINS - 1] = standing;
        self.floor = self.left.iter().copied().fold(0.0, f64::max);
    }

    /// By how much noise raises the queue that counts as congestion.
    #[inline]
    pub(super) fn margin(&self, params: &Params) -> f64 {
        params.noise_gain * self.noise
    }

    /// The span that noise needs to pass.
    pub(super) fn span(&self, params: &Params) -> f64 {
        (params.noise_span * self.noise).min(MOST_SPAN)
    }
}

/// A standing queue is seen after so many seconds, however large the noise is.
const MOST_SPAN: f64 = 1.5;
