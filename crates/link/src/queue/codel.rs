//! Controlled delay (RFC 8289): drops or marks at the head once the wait has stayed above a target for an interval.

use crate::config::{QueueLimit, ResolvedLimit};
use crate::queue::packet_queue::{Discipline, LinkContext, Queued, Waiting};
use crate::queue::queue_params;
use crate::schedule::nanos;
use crate::transit::Transit;
use alloc::collections::VecDeque;
use paceline_units::param::ParamError;
use paceline_units::{Bytes, TimeDelta};

queue_params! {
    /// CoDel's parameters (RFC 8289 section 5.3). The RFC has no limit: the default is ours.
    pub struct CoDelConfig, limit = QueueLimit::Packets(1000), room = |_| Bytes::new(1), {
        target: TimeDelta = TimeDelta::from_millis(5), in 0.0, 1e3,
            "RFC 8289 4.3, 5.3", "Wait that is acceptable";
        interval: TimeDelta = TimeDelta::from_millis(100), in 1e-9, 1e3,
            "RFC 8289 4.2, 5.3", "How long it may be exceeded: a round trip of the usual paths";
        maxpacket: Bytes = Bytes::new(1500), in 0.0, 1e9,
            "RFC 8289 5.3, 5.6: the interface's MTU", "With no more than this left in the queue nothing is dropped";
        ecn: bool = true,
            "RFC 8289 1, RFC 8290 5.2.6", "Packets that can be marked are marked instead of dropped";
    }
    check below_interval;
}

fn below_interval(config: &CoDelConfig) -> Result<(), ParamError> {
    check_target(config.target, config.interval)
}

/// Fails unless the target is below the interval: RFC 8289 section 4.3 asks for 5 to 10 % of it.
pub(crate) fn check_target(target: TimeDelta, interval: TimeDelta) -> Result<(), ParamError> {
    if target < interval {
        return Ok(());
    }
    Err(ParamError::new("target", paceline_units::text::format_time(target), "a time below the interval"))
}

/// The state of RFC 8289 section 5.2 and its routines, for one queue.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    target: u64,
    interval: u64,
    maxpacket: u64,
    ecn: bool,
    /// When the wait will have been above the target for an interval; none while it is not.
    first_above_time: Option<u64>,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl Control {
    pub(crate) fn new(target: TimeDelta, interval: TimeDelta, maxpacket: Bytes, ecn: bool) -> Control {
        Control {
            target: nanos(target),
            interval: nanos(interval),
            maxpacket: maxpacket.as_u64(),
            ecn,
            first_above_time: None,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
        }
    }

    /// Nothing waits, or a packet meets an idle server: `dequeue` of nothing, and of a packet that waited for nothing.
    #[inline]
    pub(crate) fn on_no_wait(&mut self) {
        self.first_above_time = None;
        self.dropping = false;
    }

    /// The next packet that `pop` gives and that is not dropped (section 5.5).
    #[inline]
    pub(crate) fn dequeue<P: Transit>(
        &mut self,
        now: u64,
        waiting: &mut Waiting<'_, P>,
        pop: &mut impl FnMut() -> Option<Queued<P>>,
    ) -> Option<Queued<P>> {
        let Some((head, ok_to_drop)) = self.dodequeue(now, waiting, pop) else {
            self.dropping = false;
            return None;
        };
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            } else if now >= self.drop_next {
                return self.drop_what_is_due(now, head, waiting, pop);
            }
        } else if ok_to_drop {
            return self.enter_drop_state(now, head, waiting, pop);
        }
        Some(head)
    }

    /// Section 5.6: the head, and whether the wait has been above the target for an interval.
    #[inline]
    fn dodequeue<P: Transit>(
        &mut self,
        now: u64,
        waiting: &Waiting<'_, P>,
        pop: &mut impl FnMut() -> Option<Queued<P>>,
    ) -> Option<(Queued<P>, bool)> {
        let Some(head) = pop() else {
            self.first_above_time = None;
            return None;
        };
        // The head still counts as waiting. All queues of the link count, not this one alone (section 4.4).
        let left = waiting.bytes() - head.size;
        if now - head.since < self.target || left <= self.maxpacket {
            self.first_above_time = None;
            return Some((head, false));
        }
        let since = *self.first_above_time.get_or_insert(now.saturating_add(self.interval));
        // An interval that has just begun is never over: it is above 0.
        Some((head, now >= since))
    }

    /// Section 5.5, in drop state with a drop due: more than one if the next is due already.
    #[cold]
    fn drop_what_is_due<P: Transit>(
        &mut self,
        now: u64,
        mut head: Queued<P>,
        waiting: &mut Waiting<'_, P>,
        pop: &mut impl FnMut() -> Option<Queued<P>>,
    ) -> Option<Queued<P>> {
        while now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            if self.ecn && head.mark() {
                // A mark is the signal that a drop would be; the packet goes on, so there is no next one to look at.
                self.drop_next = self.control_law(self.drop_next);
                break;
            }
            waiting.discard(now, head);
            let Some((next, ok_to_drop)) = self.dodequeue(now, waiting, pop) else {
                self.dropping = false;
                return None;
            };
            head = next;
            if !ok_to_drop {
                self.dropping = false;
                break;
            }
            self.drop_next = self.control_law(self.drop_next);
        }
        Some(head)
    }

    /// Section 5.5, the first drop: at the rate of last time if that was not long ago.
    #[cold]
    fn enter_drop_state<P: Transit>(
        &mut self,
        now: u64,
        mut head: Queued<P>,
        waiting: &mut Waiting<'_, P>,
        pop: &mut impl FnMut() -> Option<Queued<P>>,
    ) -> Option<Queued<P>> {
        let delta = self.count.saturating_sub(self.lastcount);
        // `drop_next` may lie ahead: the state was left before it came. That is recent.
        let recent = now.saturating_sub(self.drop_next) < self.interval.saturating_mul(16);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.lastcount = self.count;
        self.dropping = true;
        if self.ecn && head.mark() {
            return Some(head);
        }
        waiting.discard(now, head);
        self.dodequeue(now, waiting, pop).map(|(next, _)| next)
    }

    /// Section 5.6: the next drop after one at `time`.
    fn control_law(&self, time: u64) -> u64 {
        time.saturating_add((self.interval as f64 / libm::sqrt(f64::from(self.count))) as u64)
    }
}

/// CoDel over one queue.
#[derive(Clone, Debug)]
pub(crate) struct CoDel<P> {
    limit: ResolvedLimit,
    control: Control,
    queue: VecDeque<Queued<P>>,
}

impl<P: Transit> Discipline<P> for CoDel<P> {
    type Config = CoDelConfig;

    fn new(config: &CoDelConfig, context: &LinkContext<'_>) -> Result<CoDel<P>, ParamError> {
        Ok(CoDel {
            limit: config.limit.resolve(context.nominal)?,
            control: Control::new(config.target, config.interval, config.maxpacket, config.ecn),
            queue: VecDeque::with_capacity(64),
        })
    }

    fn set_limit(&mut self, limit: ResolvedLimit) {
        self.limit = limit;
    }

    #[inline]
    fn admit_to_idle<T: Transit>(&mut self, _packet: &mut Queued<T>) -> bool {
        self.control.on_no_wait();
        true
    }

    #[inline]
    fn enqueue(&mut self, packet: Queued<P>, waiting: &mut Waiting<'_, P>) -> Result<(), Queued<P>> {
        // Section 5.4: drops of a full buffer do not count towards the computations.
        if !self.limit.admits(waiting.packets(), waiting.bytes(), packet.size) {
            return Err(packet);
        }
        self.queue.push_back(packet);
        Ok(())
    }

    #[inline]
    fn dequeue_nothing(&mut self, _now: u64, _waiting: &mut Waiting<'_, P>) {
        self.control.on_no_wait();
    }

    #[inline]
    fn dequeue(&mut self, now: u64, waiting: &mut Waiting<'_, P>) -> Option<Queued<P>> {
        let queue = &mut self.queue;
        self.control.dequeue(now, waiting, &mut || queue.pop_front())
    }
}
