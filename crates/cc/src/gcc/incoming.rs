//! The incoming rate R_hat: what arrives at the receiver, as reports tell it.

use super::history::Outcome;
use super::rates::over;
use super::{IncomingRate, Params};
use alloc::collections::VecDeque;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// The estimator of one flow.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per flow, never moved")]
pub(super) enum Incoming {
    /// Bytes of the last T seconds (draft-ietf-rmcat-gcc-02 section 5.5).
    Window(RateWindow),
    /// libwebrtc's robust throughput estimator.
    Robust(Robust),
}

impl Incoming {
    pub(super) fn new(params: &Params) -> Incoming {
        match params.incoming_rate {
            IncomingRate::Window => Incoming::Window(RateWindow::new(params.t)),
            IncomingRate::Robust => Incoming::Robust(Robust::new(params)),
        }
    }

    /// Packets arrived, in this order.
    pub(super) fn on_arrivals(&mut self, outcomes: &[Outcome]) {
        let arrivals = outcomes.iter().filter_map(|outcome| {
            let arrived = outcome.arrived?;
            Some(Arrived { arrived, sent: outcome.sent, size: outcome.size })
        });
        match self {
            Incoming::Window(window) => arrivals.for_each(|packet| window.on_arrival(packet)),
            Incoming::Robust(robust) => robust.on_arrivals(arrivals),
        }
    }

    /// R_hat, once enough has arrived.
    pub(super) fn rate(&self) -> Option<Bitrate> {
        match self {
            Incoming::Window(window) => window.rate(),
            Incoming::Robust(robust) => robust.rate(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    arrived: Time,
    sent: Time,
    size: Bytes,
}

/// Bytes by time of arrival, in slots.
#[derive(Clone, Debug)]
pub(super) struct RateWindow {
    slot: i64,
    bytes: [u64; SLOTS],
    newest: Option<u64>,
    /// The first slot that anything arrived in.
    first: u64,
}

const SLOTS: usize = 50;
/// In a shorter time nothing is known.
const FEWEST_SLOTS: u64 = 10;

impl RateWindow {
    fn new(window: TimeDelta) -> RateWindow {
        let slot = (window.as_nanos() / SLOTS as i64).max(1);
        RateWindow { slot, bytes: [0; SLOTS], newest: None, first: 0 }
    }

    fn on_arrival(&mut self, packet: Arrived) {
        let slot = packet.arrived.as_nanos() / self.slot as u64;
        match self.newest {
            Some(newest) if slot <= newest && newest - slot < SLOTS as u64 => {}
            Some(newest) if slot > newest && slot - newest < SLOTS as u64 => {
                (newest + 1..=slot).for_each(|passed| self.bytes[passed as usize % SLOTS] = 0);
                self.newest = Some(slot);
            }
            // The first, after a pause of a whole window, or after a jump of the clock.
            _ => {
                let paused = self.newest.is_some_and(|newest| slot > newest);
                self.first = if paused { self.first } else { slot };
                (self.bytes, self.newest) = ([0; SLOTS], Some(slot));
            }
        }
        let bytes = &mut self.bytes[slot as usize % SLOTS];
        *bytes = bytes.saturating_add(packet.size.as_u64());
    }

    fn rate(&self) -> Option<Bitrate> {
        let newest = self.newest?;
        // The newest slot may be incomplete: it is left out.
        let complete = newest.saturating_sub(self.first).min(SLOTS as u64 - 1);
        if complete < FEWEST_SLOTS {
            return None;
        }
        let sum = (1..=complete)
            .fold(0u64, |sum, age| sum.saturating_add(self.bytes[(newest - age) as usize % SLOTS]));
        Some(over(Bytes::new(sum), TimeDelta::from_nanos(self.slot.saturating_mul(complete as i64))))
    }
}

/// The lower of the rates at which the last packets were sent and arrived, without the longest gap between arrivals.
#[derive(Clone, Debug)]
pub(super) struct Robust {
    least: usize,
    packets: usize,
    most: usize,
    window: TimeDelta,
    longest: TimeDelta,
    /// In order of arrival.
    arrived: VecDeque<Arrived>,
    /// The latest time of sending of what was dropped from the window.
    dropped: Option<Time>,
}

/// Packets so late say that the receiver's clock was set back.
const MOST_REORDERING: TimeDelta = TimeDelta::from_secs(1);
const SHORTEST: TimeDelta = TimeDelta::from_millis(1);

impl Robust {
    fn new(params: &Params) -> Robust {
        Robust {
            least: params.robust_packets_least as usize,
            packets: params.robust_packets as usize,
            most: params.robust_packets_most as usize,
            window: params.robust_window,
            longest: params.robust_window_longest,
            arrived: VecDeque::with_capacity(2 * params.robust_packets_most as usize),
            dropped: None,
        }
    }

    fn on_arrivals(&mut self, packets: impl Iterator<Item = Arrived>) {
        for packet in packets {
            let later = self.arrived.iter().rev().take_while(|other| other.arrived > packet.arrived).count();
            self.arrived.insert(self.arrived.len() - later, packet);
            let newest = self.arrived.back().map_or(packet.arrived, |newest| newest.arrived);
            if newest - packet.arrived > MOST_REORDERING {
                self.arrived.clear();
                self.dropped = None;
            }
        }
        while let Some(oldest) = self.arrived.front().copied().filter(|oldest| self.is_outside(oldest)) {
            self.dropped = self.dropped.max(Some(oldest.sent));
            self.arrived.pop_front();
        }
    }

    fn is_outside(&self, oldest: &Arrived) -> bool {
        let length = self.arrived.back().map_or(TimeDelta::ZERO, |newest| newest.arrived - oldest.arrived);
        let packets = self.arrived.len();
        packets > self.most || length > self.longest || (packets > self.packets && length > self.window)
    }

    fn rate(&self) -> Option<Bitrate> {
        let (first, last) = (self.arrived.front()?, self.arrived.back()?);
        if self.arrived.len() < self.least {
            return None;
        }
        let (mut longest, mut second) = (TimeDelta::ZERO, TimeDelta::ZERO);
        for (before, after) in self.arrived.iter().zip(self.arrived.iter().skip(1)) {
            let gap = after.arrived - before.arrived;
            if gap > longest {
                (longest, second) = (gap, longest);
            } else {
                second = second.max(gap);
            }
        }
        let bytes: Bytes = self.arrived.iter().map(|packet| packet.size).sum();
        let span = last.arrived - first.arrived - longest + second;
        let arrival = over(bytes - first.size, span.max(SHORTEST));
        Some(self.sending_rate().map_or(arrival, |sending| sending.min(arrival)))
    }

    /// The rate at which the packets of the window were sent, without those sent before one that was dropped.
    fn sending_rate(&self) -> Option<Bitrate> {
        let counted =
            self.arrived.iter().filter(|packet| self.dropped.is_none_or(|dropped| packet.sent >= dropped));
        let (mut count, mut bytes, mut first, mut last) = (0, Bytes::ZERO, Time::MAX, None::<Arrived>);
        for packet in counted {
            (count, bytes, first) = (count + 1, bytes + packet.size, first.min(packet.sent));
            if last.is_none_or(|last| packet.sent > last.sent) {
                last = Some(*packet);
            }
        }
        let last = last.filter(|_| count >= self.least)?;
        Some(over(bytes - last.size, (last.sent - first).max(SHORTEST)))
    }
}

#[cfg(test)]
#[path = "incoming_tests.rs"]
mod tests;
