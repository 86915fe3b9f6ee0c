//! Bounds of a window's growth beside its law: how slow start ends, and how far the window of a sender may grow that
//! does not use it.

use super::hystart::{HyStart, HyStartParams, SlowStartExit};
use super::search::{Search, SearchParams};
use super::{Ack, Window};
use paceline_units::params;

params! {
    /// Bounds of growth that any window law may have.
    #[derive(Copy)]
    pub struct WindowGrowth {
        rate_limited_increase: bool = false, "draft-ietf-ccwg-ratelimited-increase-10, Rate-Limited Increase", "A window that is not used grows too, up to what its law makes of the largest flight since its last reduction; else it grows only while it is used";
    }
    /// How the first slow start ends.
    with hystart: HyStartParams;
    /// The constants of SEARCH.
    with search: SearchParams;
}

/// The state of these bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    rate_limited_increase: bool,
    hystart: HyStart,
    /// SEARCH, where it is on.
    search: Option<Search>,
    /// `maxFS`, bytes.
    largest_flight: f64,
    /// The window after the last acknowledgement, bytes: a smaller one was reduced. Negative before the first.
    window: f64,
}

impl Growth {
    pub fn new(params: WindowGrowth) -> Growth {
        let WindowGrowth { rate_limited_increase, hystart, search } = params;
        let search = (hystart.hystart == SlowStartExit::Search).then(|| Search::new(search));
        let hystart = HyStart::new(hystart);
        Growth { rate_limited_increase, hystart, search, largest_flight: 0.0, window: -1.0 }
    }
}

impl Window {
    /// Sets what bounds growth.
    pub(crate) fn bound(&mut self, params: WindowGrowth) {
        self.growth = Growth::new(params);
        if params.rate_limited_increase {
            self.used_until = u64::MAX;
        }
    }

    /// Whether the window grows though it is not used.
    #[inline]
    pub(crate) fn grows_unused(&self) -> bool {
        self.growth.rate_limited_increase
    }

    /// Whether the first slow start lasts and HyStart++ watches it (RFC 9406 section 4.3: the threshold is still arbitrarily high).
    pub(crate) fn hystart_lasts(&self) -> bool {
        self.growth.hystart.is_on() && self.ssthresh.is_infinite()
    }

    /// RFC 5681 equation 2, counting bytes (RFC 3465): what was acknowledged, at most `limit` packets; or as HyStart++ says.
    #[inline]
    pub fn slow_start(&mut self, ack: &Ack, limit: f64) {
        let bytes = ack.delivered as f64;
        if self.hystart_lasts() {
            return self.watched_slow_start(ack);
        }
        self.double(ack, bytes.min(limit * self.mss), 2.0);
        if self.growth.search.is_some() && self.ssthresh.is_infinite() {
            self.search(ack);
        }
    }

    /// SEARCH's exit: the window goes back, not below the first.
    fn search(&mut self, ack: &Ack) {
        if let Some(overshoot) = self.growth.search.as_mut().and_then(|search| search.on_ack(ack)) {
            self.set((self.cwnd - overshoot).max(self.initial.min(self.cwnd)));
            self.ssthresh = self.cwnd;
        }
    }

    /// RFC 9406 section 4.2.
    fn watched_slow_start(&mut self, ack: &Ack) {
        let hystart = &mut self.growth.hystart;
        let more = hystart.growth(ack.delivered as f64, self.mss, self.pacing.pacing);
        let factor = 1.0 + 1.0 / hystart.divisor();
        let is_over = hystart.on_ack(ack.newest, ack.rtt, self.next);
        self.double(ack, more, factor);
        if is_over {
            self.ssthresh = self.cwnd;
        }
    }

    /// Adds `more` bytes; of a flight a window of no more than `factor` times as much is made.
    fn double(&mut self, ack: &Ack, more: f64, factor: f64) {
        self.grow(ack, self.cwnd + more, |flight| factor * flight);
    }

    /// Grows to `cwnd`; where an unused window may not grow freely, no further than `limit` makes of the largest flight.
    pub(crate) fn grow(&mut self, ack: &Ack, cwnd: f64, limit: impl FnOnce(f64) -> f64) {
        if self.grows_unused() {
            let limit = limit(self.largest_flight(ack));
            self.grow_to(cwnd, limit);
        } else {
            self.set(cwnd);
        }
    }

    /// The largest flight since the last reduction (`maxFS`), in bytes; for an acknowledgement before which the window grows.
    pub(crate) fn largest_flight(&mut self, ack: &Ack) -> f64 {
        let growth = &mut self.growth;
        if growth.window < 0.0 {
            growth.largest_flight = self.initial;
        } else if self.cwnd < growth.window {
            growth.largest_flight = 0.0;
        }
        growth.window = self.cwnd;
        growth.largest_flight = growth.largest_flight.max(ack.flight_before as f64);
        growth.largest_flight
    }

    /// Grows to `cwnd`, but not beyond `limit`, which is what the law makes of the largest flight. It never shrinks.
    pub(crate) fn grow_to(&mut self, cwnd: f64, limit: f64) {
        let before = self.cwnd;
        self.set(cwnd.min(limit).max(before));
        self.growth.window = self.cwnd;
    }
}
