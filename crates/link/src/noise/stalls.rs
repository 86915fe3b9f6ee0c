//! Two states in turns, for processes with a memory: free for a time, then held for a time.

use paceline_units::RandomStream;

/// How long a state lasts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Span {
    /// Always this long, in nanoseconds.
    Constant(f64),
    /// Exponential with this mean, cut at a largest value, in nanoseconds.
    Exponential { mean: f64, max: f64 },
}

impl Span {
    /// Mean in nanoseconds.
    fn mean(self) -> f64 {
        match self {
            Span::Constant(span) => span,
            Span::Exponential { mean, max } => -mean * libm::expm1(-max / mean),
        }
    }

    fn draw(self, random: &mut RandomStream) -> u64 {
        let span = match self {
            Span::Constant(span) => span,
            Span::Exponential { mean, max } => random.exponential(mean).min(max),
        };
        span as u64
    }
}

/// How many intervals are passed one by one. After a silence longer than these what came before is forgotten, and the state is drawn anew.
const MOST_AT_ONCE: u32 = 10_000;

/// When a path is held: intervals drawn one after the other, looked at by times that do not run backwards.
#[derive(Clone, Debug)]
pub(super) struct Stalls {
    free: Span,
    held: Span,
    random: RandomStream,
    /// The present or next interval [from, to) in which it is held, in nanoseconds.
    from: u64,
    to: u64,
}

impl Stalls {
    /// Free at time 0, unless `held_at_first`.
    pub(super) fn new(free: Span, held: Span, held_at_first: bool, mut random: RandomStream) -> Stalls {
        let from = if held_at_first { 0 } else { free.draw(&mut random) };
        let to = from.saturating_add(held.draw(&mut random));
        Stalls { free, held, random, from, to }
    }

    /// When the interval ends in which it is held at `at`; `None` if it is free then.
    #[inline]
    pub(super) fn end_at(&mut self, at: u64) -> Option<u64> {
        if self.to <= at {
            self.advance(at);
        }
        (self.from <= at && at < self.to).then_some(self.to)
    }

    fn advance(&mut self, at: u64) {
        for _ in 0..MOST_AT_ONCE {
            if at < self.to {
                return;
            }
            self.from = self.to.saturating_add(self.free.draw(&mut self.random));
            self.to = self.from.saturating_add(self.held.draw(&mut self.random));
        }
        let (free, held) = (self.free.mean(), self.held.mean());
        let is_held = self.random.chance(held / (free + held));
        let free = if is_held { 0 } else { self.free.draw(&mut self.random) };
        self.from = at.saturating_add(free);
        self.to = self.from.saturating_add(self.held.draw(&mut self.random));
    }
}
