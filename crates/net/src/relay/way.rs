//! One direction of a relay: links one behind the other, and a delay behind them.

use super::packet::RelayedPacket;
use super::path::{LinkPath, Lost, Outcome};
use crate::NetError;
use crate::queue::TimedQueue;
use paceline_link::LinkConfig;
use paceline_metrics::LinkRecorder;
use paceline_scenario::Scenario;
use paceline_units::{Time, TimeDelta};

/// Packets on their way in one direction.
pub(super) struct Way {
    links: LinkPath,
    delay: TimeDelta,
    outcome: Outcome,
    /// Packets that are through the links, by when they are at the far end.
    leaving: TimedQueue<Time, RelayedPacket>,
}

impl Way {
    /// Over the links of a scenario with these places, and behind them for so long.
    pub fn new(
        scenario: &Scenario,
        places: &[usize],
        configs: &[LinkConfig],
        delay: TimeDelta,
    ) -> Result<Way, NetError> {
        let links = LinkPath::new(scenario, places, configs)?;
        Ok(Way { links, delay, outcome: Outcome::default(), leaving: TimedQueue::new() })
    }

    /// A packet comes in at `at`, which is not before the last [`Way::advance`].
    pub fn offer(&mut self, at: Time, packet: RelayedPacket) {
        if self.links.is_empty() {
            self.leaving.push(at + self.delay, packet);
        } else {
            self.links.offer(at, packet);
        }
    }

    /// Lets everything happen in the links up to and including `until`. Answers which data packets were lost meanwhile.
    pub fn advance(&mut self, until: Time) -> impl Iterator<Item = Lost> {
        self.links.advance(until, &mut self.outcome);
        for (at, packet) in self.outcome.arrived.drain(..) {
            self.leaving.push(at + self.delay, packet);
        }
        self.outcome.lost.drain(..)
    }

    /// The next packet that is at the far end, if it is by `now`, and since when.
    pub fn take(&mut self, now: Time) -> Option<(Time, RelayedPacket)> {
        self.leaving.pop_if(|at| at <= now)
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Time> {
        [self.links.next(), self.leaving.next()].into_iter().flatten().min()
    }

    /// Whether nothing waits to leave.
    pub fn is_quiet(&self) -> bool {
        self.leaving.is_empty()
    }

    /// The records of the links, ended at `now` if they have not been before.
    pub fn finish(self, now: Time) -> Vec<LinkRecorder> {
        self.links.finish(now)
    }
}
