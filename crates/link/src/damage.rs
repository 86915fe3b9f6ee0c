//! Damage on the way: a packet with a wrong checksum is of no use to anybody, though it took its time of the server.

use crate::over_time::Course;
use crate::tally::Tally;
use alloc::format;
use paceline_units::RandomStream;

/// Damage behind the server to a part of the packets.
#[derive(Clone, Debug)]
pub(crate) struct Damage {
    ratio: Course,
    random: RandomStream,
    damaged: Tally,
}

impl Damage {
    /// Damage of the link called `name`; none where no packet is damaged.
    pub(crate) fn new(ratio: Course, seed: u64, name: &str) -> Option<Damage> {
        let random = RandomStream::new(seed, &format!("link.{name}.corrupt"));
        (ratio.highest() > 0.0).then(|| Damage { ratio, random, damaged: Tally::default() })
    }

    /// Whether the packet that departs at `departs`, in nanoseconds, is damaged. To be called in order of departure.
    pub(crate) fn befalls(&mut self, departs: u64) -> bool {
        let befalls = self.random.chance(self.ratio.at(departs));
        if befalls {
            self.damaged.note(departs);
        }
        befalls
    }

    /// Packets that departed until `now` and are damaged.
    pub(crate) fn damaged(&mut self, now: u64) -> u64 {
        self.damaged.until(now)
    }
}
