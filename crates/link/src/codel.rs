//! Controlled delay (RFC 8289): drops or marks at the head once the wait has stayed above a target for an interval.

use crate::config::{QueueLimit, ResolvedLimit};
use crate::error::{LinkError, check_limit, check_positive};
use crate::held::{Discipline, Place, Queued, Waiting};
use crate::transit::Transit;
use paceline_units::TimeDelta;
use std::collections::VecDeque;

/// CoDel's parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct CoDelConfig {
    /// How much may wait at all.
    pub limit: QueueLimit,
    /// The wait that is acceptable (RFC 8289 section 4.3).
    pub target: TimeDelta,
    /// How long it may be exceeded: a round trip of the usual paths (section 4.4).
    pub interval: TimeDelta,
    /// With no more than this waiting nothing is dropped (section 4.4), in bytes.
    pub mtu: u64,
    /// Whether packets that can be marked are marked instead of dropped.
    pub ecn: bool,
}

impl Default for CoDelConfig {
    /// RFC 8289 section 4: 5 ms, 100 ms; 1000 packets as its implementations hold.
    fn default() -> CoDelConfig {
        CoDelConfig {
            limit: QueueLimit::Packets(1000),
            target: TimeDelta::from_millis(5),
            interval: TimeDelta::from_millis(100),
            mtu: 1514,
            ecn: true,
        }
    }
}

impl CoDelConfig {
    pub(crate) fn validate(&self) -> Result<(), LinkError> {
        check_limit(self.limit)?;
        check_positive("queue.target", self.target)?;
        check_positive("queue.interval", self.interval)?;
        if self.target >= self.interval {
            return Err(LinkError::new("queue.target", self.target, "a time below the interval"));
        }
        Ok(())
    }
}

/// The state machine of RFC 8289 section 5, for one queue.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    target: u64,
    interval: u64,
    mtu: u64,
    ecn: bool,
    /// When the wait will have been above the target for an interval; 0 while it is not.
    first_above: u64,
    drop_next: u64,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Control {
    pub(crate) fn new(config: &CoDelConfig) -> Control {
        Control {
            target: config.target.as_nanos().max(0) as u64,
            interval: config.interval.as_nanos().max(0) as u64,
            mtu: config.mtu,
            ecn: config.ecn,
            first_above: 0,
            drop_next: 0,
            count: 0,
            last_count: 0,
            dropping: false,
        }
    }

    /// A packet met an idle server: it waited for nothing.
    #[inline]
    pub(crate) fn on_no_wait(&mut self) {
        (self.first_above, self.dropping) = (0, false);
    }

    /// Whether the packet at the head, which waited since `since` with `behind` bytes behind it, may be dropped at `now`
    /// (`dodequeue`).
    #[inline]
    fn is_due(&mut self, now: u64, since: u64, behind: u64) -> bool {
        if now - since < self.target || behind <= self.mtu {
            self.first_above = 0;
        } else if self.first_above == 0 {
            self.first_above = now + self.interval;
        } else {
            return now >= self.first_above;
        }
        false
    }

    /// When the next drop is due after one at `from` (`control_law`).
    fn after(&self, from: u64) -> u64 {
        from + (self.interval as f64 / f64::from(self.count.max(1)).sqrt()) as u64
    }

    /// The next packet of `queue`, which holds `bytes`; what is dropped on the way is handed to `discard`.
    #[inline]
    pub(crate) fn dequeue<P: Transit>(
        &mut self,
        now: u64,
        queue: &mut VecDeque<Queued<P>>,
        bytes: &mut u64,
        discard: &mut impl FnMut(Queued<P>),
    ) -> Option<Queued<P>> {
        let mut pop = |control: &mut Control| -> Option<(Queued<P>, bool)> {
            let Some(head) = queue.pop_front() else {
                control.first_above = 0;
                return None;
            };
            *bytes -= head.size;
            let due = control.is_due(now, head.since, *bytes);
            Some((head, due))
        };
        let Some((mut head, mut due)) = pop(self) else {
            self.dropping = false;
            return None;
        };
        if !self.dropping {
            if due {
                return self.begin(now, head, discard, &mut pop);
            }
            return Some(head);
        }
        if !due {
            self.dropping = false;
        }
        while self.dropping && now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            if self.ecn && head.mark() {
                self.drop_next = self.after(self.drop_next);
                break;
            }
            discard(head);
            let Some((next, next_due)) = pop(self) else {
                self.dropping = false;
                return None;
            };
            (head, due) = (next, next_due);
            if due {
                self.drop_next = self.after(self.drop_next);
            } else {
                self.dropping = false;
            }
        }
        Some(head)
    }

    /// The wait has been too long for an interval: the first drop, at the pace of last time if that is not long ago.
    #[cold]
    fn begin<P: Transit>(
        &mut self,
        now: u64,
        mut head: Queued<P>,
        discard: &mut impl FnMut(Queued<P>),
        pop: &mut impl FnMut(&mut Control) -> Option<(Queued<P>, bool)>,
    ) -> Option<Queued<P>> {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let lately = now.saturating_sub(self.drop_next) < 16 * self.interval;
        self.count = if delta > 1 && lately { delta } else { 1 };
        self.drop_next = self.after(now);
        self.last_count = self.count;
        if self.ecn && head.mark() {
            return Some(head);
        }
        discard(head);
        let next = pop(self);
        if next.is_none() {
            self.dropping = false;
        }
        next.map(|(next, _)| next)
    }
}

/// CoDel over one queue.
#[derive(Clone, Debug)]
pub(crate) struct CoDel<P> {
    limit: ResolvedLimit,
    control: Control,
    waiting: VecDeque<Queued<P>>,
    bytes: u64,
}

impl<P: Transit> Discipline<P> for CoDel<P> {
    type Config = CoDelConfig;

    fn new(config: &CoDelConfig, place: &Place<'_>) -> Result<CoDel<P>, LinkError> {
        config.validate()?;
        let limit = config.limit.resolve(place.nominal)?;
        Ok(CoDel { limit, control: Control::new(config), waiting: VecDeque::with_capacity(64), bytes: 0 })
    }

    #[inline]
    fn admit_to_idle(&mut self, _packet: &mut Queued<P>) -> bool {
        self.control.on_no_wait();
        true
    }

    #[inline]
    fn enqueue(&mut self, packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Option<()> {
        if !self.limit.admits(waiting.packets(), waiting.bytes(), packet.size) {
            return None;
        }
        self.bytes += packet.size;
        self.waiting.push_back(packet);
        Some(())
    }

    #[inline]
    fn dequeue(&mut self, now: u64, waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        let CoDel { control, waiting: queue, bytes, .. } = self;
        control.dequeue(now, queue, bytes, &mut |queued| waiting.discard(now, queued))
    }
}
