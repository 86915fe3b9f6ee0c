//! Duplicates on the way: of some packets a copy arrives as well, at once or later. A copy takes no time of the server.

use crate::over_time::{Course, RatioOverTime};
use crate::schedule::nanos;
use crate::tally::Tally;
use alloc::format;
use paceline_units::{RandomStream, TimeDelta, params};

params! {
    /// The parameters of duplicates.
    pub struct DuplicateConfig {
        ratio: RatioOverTime = RatioOverTime::Constant(0.0), as Required, in 0.0, 1.0, "ours", "Part of the packets of which a copy arrives as well; may change, as `delay` does";
        delay: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "ours", "By how much a copy arrives behind its packet";
    }
}

/// Copies behind the server of a part of the packets.
#[derive(Clone, Debug)]
pub(crate) struct Duplicates {
    ratio: Course,
    random: RandomStream,
    delay: u64,
    duplicated: Tally,
}

impl Duplicates {
    /// Duplicates of the link called `name`; none where no packet is copied.
    pub(crate) fn new(config: &DuplicateConfig, seed: u64, name: &str) -> Option<Duplicates> {
        let ratio = config.ratio.course();
        let random = RandomStream::new(seed, &format!("link.{name}.duplicate"));
        let (delay, duplicated) = (nanos(config.delay), Tally::default());
        (ratio.highest() > 0.0).then_some(Duplicates { ratio, random, delay, duplicated })
    }

    /// Whether a copy of the packet that departs at `departs`, in nanoseconds, arrives as well. To be called in order of departure.
    pub(crate) fn copies(&mut self, departs: u64) -> bool {
        let copies = self.random.chance(self.ratio.at(departs));
        if copies {
            self.duplicated.note(departs);
        }
        copies
    }

    /// By how many nanoseconds a copy is behind its packet.
    pub(crate) fn delay(&self) -> u64 {
        self.delay
    }

    /// Packets that departed until `now` and of which a copy arrives as well.
    pub(crate) fn duplicated(&mut self, now: u64) -> u64 {
        self.duplicated.until(now)
    }
}
