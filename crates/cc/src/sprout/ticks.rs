//! The receiver's half, over reports on packets: the deliveries of each tick (the paper, 3.2 and 3.4).
//!
//! Ticks are of arrivals. A tick is over once a packet arrived after its end, so that it is known whether anything waited meanwhile.

use paceline_units::{Time, TimeDelta};

/// Evidence of a tick about the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Observed {
    /// Nothing: no packet was due.
    Nothing,
    /// The link delivered so many packets.
    Exactly(usize),
    /// It delivered so many, and would have delivered more.
    AtLeast(usize),
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivered {
    pub(super) sent: Time,
    /// By the sender's clock, from an arbitrary zero.
    pub(super) arrived: Time,
    /// Its wait in queues.
    pub(super) wait: TimeDelta,
    /// Size in packets of the model.
    pub(super) packets: f64,
    /// Whether the application had nothing more at a time since the packet before it was sent.
    pub(super) after_pause: bool,
}

/// Ticks without a delivery that count: an outage is certain long before, and a forged arrival costs no more than these.
const MOST_EMPTY: i64 = 100;
/// An arrival so many ticks ago is by another clock of the receiver.
const ANOTHER_CLOCK: i64 = 500;
/// A pause of less than this part of a tick is none.
const PAUSE: i64 = 8;

/// The present tick.
#[derive(Clone, Debug)]
pub(super) struct Ticks {
    tick: TimeDelta,
    /// Its beginning; absent before the first arrival.
    begin: Option<Time>,
    /// Packets that arrived in it, and whether the link was idle in it for want of media.
    packets: f64,
    any: bool,
    was_idle: bool,
    /// Packets of earlier ticks that do not count yet, or count too much, since counts are whole.
    rest: f64,
    newest: Option<(Time, Time)>,
}

impl Ticks {
    pub(super) fn new(tick: TimeDelta) -> Ticks {
        Ticks { tick, begin: None, packets: 0.0, any: false, was_idle: false, rest: 0.0, newest: None }
    }

    /// A packet arrived: `observe` is told of each tick that is over by that.
    pub(super) fn on_delivered(&mut self, packet: &Delivered, mut observe: impl FnMut(Observed)) {
        let begin = *self.begin.get_or_insert(packet.arrived);
        let (sent, arrived) = self.newest.unwrap_or((packet.sent, packet.arrived));
        if packet.arrived < begin - self.tick * ANOTHER_CLOCK {
            *self = Ticks { begin: Some(packet.arrived), ..Ticks::new(self.tick) };
        } else if packet.arrived >= arrived {
            // Without pause of the sender the packet would have arrived then (the time-to-next of the paper).
            let due = arrived + packet.sent.saturating_since(sent);
            // From then on it was at the link.
            let at_link = packet.arrived - packet.wait.max(TimeDelta::ZERO);
            self.pass(packet, (arrived, at_link), due, &mut observe);
        }
        self.packets += packet.packets;
        self.any = true;
        if self.newest.is_none_or(|(_, arrived)| packet.arrived >= arrived) {
            self.newest = Some((packet.sent, packet.arrived));
        }
    }

    /// The ticks until a packet's arrival.
    fn pass(
        &mut self,
        packet: &Delivered,
        (idle_from, idle_to): (Time, Time),
        due: Time,
        observe: &mut impl FnMut(Observed),
    ) {
        let begin = self.begin.unwrap_or(packet.arrived);
        let (tick, after_pause) = (self.tick, packet.after_pause);
        let idle_in = |begin: Time| {
            let (from, to) = (idle_from.max(begin), idle_to.min(begin + tick));
            after_pause && to - from > tick / PAUSE
        };
        self.was_idle |= idle_in(begin);
        let over = (packet.arrived.saturating_since(begin).as_nanos() / self.tick.as_nanos().max(1)).max(0);
        if over == 0 {
            return;
        }
        observe(self.observed());
        let empty = (over - 1).min(MOST_EMPTY);
        let first = begin + self.tick;
        for number in 0..empty {
            let zero = first + self.tick * number >= due;
            observe(if zero { Observed::Exactly(0) } else { Observed::Nothing });
        }
        let begin = begin + self.tick * over;
        let was_idle = idle_in(begin);
        (self.begin, self.packets, self.any, self.was_idle) = (Some(begin), 0.0, false, was_idle);
    }

    /// Evidence of the tick that is over.
    fn observed(&mut self) -> Observed {
        if !self.any {
            return Observed::Nothing;
        }
        if self.was_idle {
            self.rest = 0.0;
            return Observed::AtLeast((self.packets as usize).max(1));
        }
        let counted = self.packets + self.rest;
        let count = libm::floor(counted + 0.5).max(0.0);
        self.rest = counted - count;
        Observed::Exactly(count as usize)
    }
}
