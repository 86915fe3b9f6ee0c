//! SEARCH: the first slow start ends when what is delivered no longer doubles in a round trip (draft-chung-ccwg-search-00, version 3 of its
//! algorithm).

use super::Ack;
use paceline_units::{Time, TimeDelta, params};

params! {
    /// The constants of SEARCH.
    #[derive(Copy)]
    pub struct SearchParams {
        search_window: f64 = 3.5, in 1.0, 10.0, "draft-chung-ccwg-search-00, Parameters (WINDOW_SIZE)", "With hystart = \"search\": time over which deliveries are compared, in first round trips";
        search_thresh: f64 = 0.35, in 0.01, 1.0, "draft-chung-ccwg-search-00, Parameters (THRESH)", "Part by which deliveries may stay below twice those of a round trip before";
        search_drain: bool = true, "draft-chung-ccwg-search-00, exit_slow_start", "The window goes back to that of two first round trips before";
    }
}

/// `W`: bins of a window.
const W: i64 = 10;
/// `EXTRA_BINS`: bins by which a round trip may shift the window.
const EXTRA: i64 = 15;
/// `NUM_BINS`.
const BINS: usize = (W + EXTRA) as usize;

/// Bytes that were delivered, in bins of equal times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    params: SearchParams,
    bins: [f64; BINS],
    /// `curr_idx`: the newest full bin; -1 before the first.
    newest: i64,
    /// `BIN_DURATION`; zero before the first round trip.
    bin: TimeDelta,
    /// End of the present bin.
    end: Time,
    /// Bytes in the present bin.
    now: f64,
    /// The first round trip and the last one, in seconds.
    first: f64,
    last: f64,
}

impl Search {
    pub fn new(params: SearchParams) -> Search {
        let (bin, end) = (TimeDelta::ZERO, Time::ZERO);
        Search { params, bins: [0.0; BINS], newest: -1, bin, end, now: 0.0, first: 0.0, last: 0.0 }
    }

    /// Takes an acknowledgement. If slow start is over, the answer is the bytes that the window is too large by.
    pub fn on_ack(&mut self, ack: &Ack) -> Option<f64> {
        if let Some(rtt) = ack.rtt {
            self.last = rtt.as_secs_f64().max(1e-9);
        }
        if self.bin == TimeDelta::ZERO {
            if self.last > 0.0 {
                self.first = self.last;
                let bin = self.params.search_window * self.first / W as f64;
                self.bin = TimeDelta::from_secs_f64(bin).max(TimeDelta::from_nanos(1));
                self.end = ack.now + self.bin;
            }
            return None;
        }
        self.now += ack.delivered as f64;
        if ack.now <= self.end {
            return None;
        }
        self.update(ack.now);
        self.is_over().then(|| if self.params.search_drain { self.overshoot() } else { 0.0 })
    }

    /// `update_bins`.
    fn update(&mut self, now: Time) {
        let passed = now.saturating_since(self.end).as_nanos() / self.bin.as_nanos() + 1;
        self.end = now + TimeDelta::from_nanos(passed.saturating_mul(self.bin.as_nanos()))
            - now.saturating_since(self.end);
        for _ in 0..passed.min(BINS as i64) {
            self.newest = self.newest.saturating_add(1);
            let place = self.place(self.newest);
            self.bins[place] = 0.0;
        }
        let place = self.place(self.newest);
        self.bins[place] = core::mem::take(&mut self.now);
    }

    fn place(&self, number: i64) -> usize {
        number.rem_euclid(BINS as i64) as usize
    }

    /// `sum_bins`: bytes after bin `from` up to `to`, shifted back by a part of a bin.
    fn sum(&self, from: i64, to: i64, part: f64) -> f64 {
        let bytes = |number: i64| self.bins[self.place(number)];
        let whole: f64 = (from + 1..to).map(bytes).sum();
        whole + bytes(from) * part + bytes(to) * (1.0 - part)
    }

    /// Whether deliveries no longer double; not, where there is too little to compare.
    fn is_over(&self) -> bool {
        let shift = self.last / self.bin.as_secs_f64();
        let whole = libm::floor(shift);
        if whole > EXTRA as f64 || self.newest - (whole as i64) < W {
            return false;
        }
        let before = self.newest - whole as i64;
        let current = self.sum(self.newest - W, self.newest, 0.0);
        let expected = 2.0 * self.sum(before - W, before, shift - whole);
        expected > 0.0 && (expected - current) / expected >= self.params.search_thresh
    }

    /// Bytes that were delivered, and added to the window, in the last two first round trips.
    fn overshoot(&self) -> f64 {
        let bins = (2.0 * self.first / self.bin.as_secs_f64()) as i64;
        self.sum(self.newest - bins.min(BINS as i64 - 1), self.newest, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: TimeDelta = TimeDelta::from_millis(100);

    /// Round trips after which slow start ends whose deliveries double until a link of `capacity` bytes a round trip is full, and the window over it.
    fn over(capacity: f64, params: SearchParams) -> Option<(f64, f64)> {
        let (mut search, mut window) = (Search::new(params), 10_000.0);
        let mut full = None;
        for tenth in 0..400u64 {
            let now = Time::from_nanos(100_000_000 + tenth * 10_000_000);
            let delivered = window_before(tenth).min(capacity) / 10.0;
            window += delivered;
            if window_before(tenth) >= capacity {
                full.get_or_insert(tenth);
            }
            let ack = Ack {
                now,
                delivered: delivered as u64,
                marked: 0,
                newest: tenth,
                rtt: Some(RTT),
                flight_before: 0,
                may_grow: true,
            };
            if let Some(overshoot) = search.on_ack(&ack) {
                return Some((0.1 * (tenth - full?) as f64, (window - overshoot) / capacity));
            }
        }
        None
    }

    /// Bytes of a round trip that doubles in each.
    fn window_before(tenth: u64) -> f64 {
        10_000.0 * libm::exp2(tenth as f64 / 10.0)
    }

    /// Round trips after which deliveries that doubled until now, and stay from now on, are below twice those of a round trip before by `thresh`:
    /// by the integrals over 3.5 round trips.
    fn integrals(thresh: f64) -> f64 {
        let delivered = |to: f64| {
            let rise =
                |from: f64, to: f64| (libm::exp2(to.min(0.0)) - libm::exp2(from)) / core::f64::consts::LN_2;
            rise(to - 3.5, to) + to.max(0.0)
        };
        let mut after = 0.0;
        while 1.0 - delivered(after) / (2.0 * delivered(after - 1.0)) < thresh {
            after += 0.01;
        }
        after
    }

    #[test]
    fn slow_start_ends_as_many_round_trips_after_the_link_is_full_as_the_integrals_say() {
        for search_thresh in [0.28, 0.35, 0.42] {
            for capacity in [1e6, 2e6, 3e6, 1e7] {
                let params = SearchParams { search_thresh, ..SearchParams::default() };
                let (after, _) = over(capacity, params).expect("it ends");
                // At the end of a bin of 0.35 round trips, from a time that is counted in tenths.
                let late = after - integrals(search_thresh);
                assert!(
                    (-0.25..=0.45).contains(&late),
                    "{search_thresh}, {capacity}: {late} round trips late"
                );
            }
        }
        assert!((2.1..2.3).contains(&integrals(0.35)) && integrals(0.42) > 2.9);
    }

    #[test]
    fn the_window_goes_back_by_two_round_trips() {
        let (_, window) = over(3e6, SearchParams::default()).expect("it ends");
        let (_, kept) =
            over(3e6, SearchParams { search_drain: false, ..SearchParams::default() }).expect("it ends");
        assert!((kept - window - 2.0).abs() < 0.35, "{kept} and {window} links");
    }

    #[test]
    fn it_never_ends_while_deliveries_double() {
        assert_eq!(over(f64::INFINITY, SearchParams::default()), None);
    }
}
