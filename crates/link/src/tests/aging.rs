//! A discipline of no use but to this crate's tests: it drops at an idle server by chance, and by a timer what has
//! waited too long, so that the events of `held` that drop-tail never needs are run.

use crate::QueueLimit;
use crate::queue::packet_queue::{Discipline, LinkContext, Queued, Waiting};
use crate::queue::queue_params;
use crate::schedule::NEVER;
use crate::transit::Transit;

use paceline_units::param::ParamError;
use paceline_units::{Bytes, RandomStream};
use std::collections::VecDeque;

queue_params! {
    /// How old a packet may become, in nanoseconds, and the chance of a drop at an idle server.
    pub struct AgingConfig, limit = QueueLimit::Unlimited, room = |_| Bytes::ZERO, {
        oldest: u64 = 1_000_000, in 1.0, 1e18, "", "Nanoseconds after which a waiting packet is dropped";
        drop_ratio: f64 = 0.5, in 0.0, 1.0, "", "Chance of a drop at an idle server";
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Aging<P> {
    config: AgingConfig,
    random: RandomStream,
    waiting: VecDeque<Queued<P>>,
}

impl<P: Transit> Discipline<P> for Aging<P> {
    type Config = AgingConfig;

    const TIMED: bool = true;

    fn new(config: &AgingConfig, context: &LinkContext<'_>) -> Result<Aging<P>, ParamError> {
        let random = RandomStream::new(context.seed, &format!("link.{}.queue", context.name));
        Ok(Aging { config: config.clone(), random, waiting: VecDeque::new() })
    }

    fn set_limit(&mut self, _limit: crate::config::ResolvedLimit) {}

    fn admit_to_idle<T: Transit>(&mut self, _packet: &mut Queued<T>) -> bool {
        !self.random.chance(self.config.drop_ratio)
    }

    fn enqueue(&mut self, packet: Queued<P>, _waiting: &mut Waiting<'_, P>) -> Result<(), Queued<P>> {
        self.waiting.push_back(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: u64, _waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        let mut next = self.waiting.pop_front()?;
        next.packet.mark_ce();
        next.marked = true;
        Some(next)
    }

    fn next_timer(&self) -> u64 {
        self.waiting.front().map_or(NEVER, |first| first.since + self.config.oldest)
    }

    fn on_timer(&mut self, now: u64, waiting: &mut Waiting<'_, P>) {
        if let Some(old) = self.waiting.pop_front() {
            waiting.discard(now, old);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AgingConfig;
    use crate::tests::{is_conserved, mbps, run, unlimited};
    use crate::{LinkConfig, QueueConfig};
    use paceline_units::{Ecn, Time};

    #[test]
    fn a_discipline_may_drop_by_timer_and_mark() {
        // 10 packets at once, 1 ms each; the 5th departure is at 5 ms, where a departure comes before a timer.
        let config = AgingConfig { oldest: 5_000_000, drop_ratio: 0.0, ..AgingConfig::default() };
        let config = LinkConfig { queue: QueueConfig::Aging(config), ..unlimited(mbps(10)) };
        let outcome = run(config, &[(0, 1250); 10], Ecn::Ect1, Time::from_nanos(20_000_000));
        let counters = outcome.counters;
        assert_eq!((counters.departed, counters.dropped, counters.marked), (6, 4, 5));
        // Waits of 1 to 5 ms, and four times 5 ms until the timer.
        assert_eq!(counters.queue_packet_ns, 35_000_000);
        assert!(is_conserved(&counters));
    }

    #[test]
    fn a_discipline_may_drop_at_an_idle_server() {
        let config = AgingConfig { oldest: 1, drop_ratio: 0.25, ..AgingConfig::default() };
        let config = LinkConfig { queue: QueueConfig::Aging(config), ..unlimited(mbps(10)) };
        let arrivals: Vec<_> = (0..10_000).map(|index| (index * 2_000_000, 1250)).collect();
        let outcome = run(config, &arrivals, Ecn::NotEct, Time::from_nanos(20_000_000_000));
        assert!((2300..2700).contains(&outcome.counters.dropped), "{:?}", outcome.counters);
        assert!(is_conserved(&outcome.counters));
    }
}
