//! The smallest delay of a long time, by spans of it (RFC 6817 section 2.4.2).

use super::{KeptDelay, Tilt};
use alloc::collections::VecDeque;

/// The smallest delays of past spans of time, and of the present one.
#[derive(Clone, Debug)]
pub struct LeastDelays {
    past: VecDeque<KeptDelay>,
    /// The smallest of all past spans, in nanoseconds.
    past_min: i64,
    present: KeptDelay,
}

impl LeastDelays {
    /// Nothing was measured. The memory of `spans` past ones is there at once.
    pub fn with_room(spans: usize) -> LeastDelays {
        LeastDelays {
            past: VecDeque::with_capacity(spans),
            past_min: KeptDelay::NONE.nanos,
            present: KeptDelay::NONE,
        }
    }

    /// Takes a delay in.
    #[inline]
    pub fn note(&mut self, delay: KeptDelay) {
        if delay.nanos < self.present.nanos {
            self.present = delay;
        }
    }

    /// The smallest delay in nanoseconds; `i64::MAX` if nothing was measured.
    #[inline]
    pub fn least(&self) -> i64 {
        self.present.nanos.min(self.past_min)
    }

    /// Whether nothing was measured in the present span.
    pub fn is_idle(&self) -> bool {
        self.present.nanos == KeptDelay::NONE.nanos
    }

    /// Ends the present span; the newest `most` are kept.
    pub fn close(&mut self, most: usize) {
        self.past.push_back(self.present);
        self.present = KeptDelay::NONE;
        while self.past.len() > most {
            self.past.pop_front();
        }
        self.count_past();
    }

    /// Corrects the delays by the present knowledge of the clocks.
    #[cold]
    pub fn correct(&mut self, tilt: &Tilt) {
        self.past.iter_mut().chain([&mut self.present]).for_each(|least| least.correct(tilt));
        self.count_past();
    }

    /// Forgets all delays, past and present.
    pub fn clear(&mut self) {
        self.past.clear();
        (self.past_min, self.present) = (KeptDelay::NONE.nanos, KeptDelay::NONE);
    }

    fn count_past(&mut self) {
        self.past_min = self.past.iter().map(|least| least.nanos).min().unwrap_or(KeptDelay::NONE.nanos);
    }
}
