//! The part of an assigned window that is not under way: packets are whole, and some of them wait for a delayed acknowledgement.
//!
//! A group makes a window of a rate. A flow with less under way than its window has less than that rate, and loses the larger part of it
//! the smaller the window is. So it takes a window that is larger by its shortfall, and tells the group of the assigned part alone.

/// Acknowledged windows over which the shortfall is averaged.
const WINDOWS: f64 = 8.0;
/// Largest shortfall that is made up for, in largest packets.
const MOST: f64 = 2.0;
/// The same as a part of the assigned window: what a small window grows by must count.
const MOST_PART: f64 = 0.25;

/// By how much the flight of a coupled flow falls short of its assigned windows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shortfall {
    /// The average, in bytes.
    bytes: f64,
    /// The last assignment as a part of the window that made up for the shortfall; absent before the first.
    part: Option<f64>,
}

impl Shortfall {
    /// Whether the flow was ever assigned a window.
    #[inline]
    pub(crate) fn is_measured(&self) -> bool {
        self.part.is_some()
    }

    /// The window for an assigned one, in bytes.
    pub(crate) fn added_to(&self, assigned: f64) -> f64 {
        assigned + self.bytes.min(MOST_PART * assigned)
    }

    /// The flow takes an assigned window.
    pub(crate) fn take(&mut self, assigned: f64) {
        if assigned > 0.0 {
            self.part = Some(assigned / self.added_to(assigned));
        }
    }

    /// The part of a window that the group knows of, in bytes.
    #[inline]
    pub(crate) fn share(&self, window: f64) -> f64 {
        self.part.map_or(window, |part| window * part)
    }

    /// `delivered` bytes were acknowledged while `flight` bytes were on the path, of a window in use.
    pub(crate) fn measure(&mut self, window: f64, flight: f64, delivered: f64, largest_packet: f64) {
        let weight = (delivered / window).min(1.0) / WINDOWS;
        let short = self.share(window) - flight;
        self.bytes = (self.bytes + weight * short).clamp(0.0, MOST * largest_packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 9.7 packets of which whole ones leave: 9 for part of the time, 10 for the rest, 9.7 on average.
    #[test]
    fn whole_packets_average_to_the_assigned_window() {
        let (mut shortfall, assigned) = (Shortfall::default(), 9700.0);
        let mut sum = 0.0;
        for round in 0..400 {
            let window = shortfall.added_to(assigned);
            shortfall.take(assigned);
            let share = shortfall.share(window);
            assert!((share - assigned).abs() < 1e-6, "the group knows of no more: {share}");
            let flight = (window / 1000.0).floor() * 1000.0;
            shortfall.measure(window, flight, flight, 1000.0);
            if round >= 200 {
                sum += flight / 200.0;
            }
        }
        assert!((sum / assigned - 1.0).abs() < 0.005, "{sum}");
    }

    /// A flight that stays away is not made up for without end, and one above the window takes nothing off an assignment.
    #[test]
    fn at_most_two_packets_are_made_up_for() {
        let mut shortfall = Shortfall::default();
        shortfall.take(20_000.0);
        for (flight, window) in [(1000.0, 22_000.0), (30_000.0, 20_000.0)] {
            for _ in 0..1000 {
                shortfall.measure(20_000.0, flight, 20_000.0, 1000.0);
            }
            assert_eq!(shortfall.added_to(20_000.0), window);
        }
        shortfall.measure(20_000.0, 1000.0, 20_000.0, 1000.0);
        assert_eq!(shortfall.added_to(1000.0), 1250.0, "a quarter of a small window");
    }
}
