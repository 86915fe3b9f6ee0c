//! Damage that spreads from picture to picture until columns of intra-coded blocks have crossed it.

/// The mean squared error of damage, by where the refresh has still to come.
///
/// As x264 does with intra refresh, the columns of the picture are refreshed one after another, a column per frame, and
/// this begins anew once in each period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Damage {
    /// Error of the part that this refresh has still to cross, and of the part that waits for the next one.
    ahead: f64,
    behind: f64,
    /// Frames since this refresh began; frames that one takes, and from one to the next.
    passed: u64,
    columns: u64,
    period: u64,
    /// Error that damage does not exceed: that of a picture which has nothing to do with the source's.
    most: f64,
}

impl Damage {
    /// No damage, right after a key frame; a refresh takes `columns` frames, and begins each `period`.
    pub(super) fn new((columns, period): (u64, u64), most: f64) -> Damage {
        Damage { ahead: 0.0, behind: 0.0, passed: columns, columns, period, most }
    }

    /// Mean squared error of the whole picture.
    pub(super) fn error(&self) -> f64 {
        self.ahead + self.behind
    }

    /// A key frame has come that leaves this error, and the refresh starts anew a period later.
    pub(super) fn replace(&mut self, error: f64) {
        (self.ahead, self.behind, self.passed) = (0.0, error.min(self.most), self.columns);
    }

    /// All of the picture has this error, wherever the refresh is.
    pub(super) fn fill(&mut self, error: f64) {
        (self.ahead, self.behind) = (0.0, 0.0);
        self.add(error.min(self.most));
    }

    /// Damage is added. The more there is, the less is left to be damaged.
    pub(super) fn add(&mut self, error: f64) {
        let added = error * (1.0 - self.error() / self.most).max(0.0);
        let left = self.left() as f64 / self.columns as f64;
        self.ahead += added * left;
        self.behind += added * (1.0 - left);
    }

    /// A number of frames pass, each of which refreshes its column.
    pub(super) fn pass(&mut self, mut frames: u64) {
        if frames >= 2 * self.period {
            (self.ahead, self.behind) = (0.0, 0.0);
            frames %= self.period;
        }
        while frames > 0 {
            let left = self.left();
            let step = frames.min(if left > 0 { left } else { self.period - self.passed });
            if left > 0 {
                self.ahead *= (left - step) as f64 / left as f64;
            }
            (self.passed, frames) = (self.passed + step, frames - step);
            if self.passed >= self.period {
                (self.ahead, self.behind, self.passed) = (self.error(), 0.0, 0);
            }
        }
    }

    /// Columns that this refresh has still to cross.
    fn left(&self) -> u64 {
        self.columns.saturating_sub(self.passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_waits_for_the_refresh_and_goes_with_its_columns() {
        // Pictures of 22 columns, refreshed every 60 frames.
        let mut damage = Damage::new((22, 60), 1000.0);
        damage.pass(8);
        damage.add(100.0);
        damage.pass(22);
        assert!((damage.error() - 100.0).abs() < 1e-9, "30 of the 38 frames without a refresh have passed");
        damage.pass(8 + 11);
        assert!((damage.error() - 50.0).abs() < 1e-9, "half of the columns");
        damage.add(100.0);
        damage.pass(11);
        // Half of the damage that came in the middle of a refresh lies behind it; and there was little left to be damaged.
        assert!((damage.error() - 47.5).abs() < 1e-9, "{damage:?}");
        damage.pass(38 + 22);
        assert_eq!(damage.error(), 0.0);
    }

    #[test]
    fn steps_of_any_length_lead_to_the_same() {
        let (mut one, mut many) = (Damage::new((11, 60), 500.0), Damage::new((11, 60), 500.0));
        for step in [1, 7, 59, 60, 61, 3, 119, 120, 121, 1000] {
            one.add(40.0);
            many.add(40.0);
            one.pass(step);
            (0..step).for_each(|_| many.pass(1));
            assert!((one.error() - many.error()).abs() < 1e-9, "{step}: {one:?} {many:?}");
            assert_eq!(one.passed, many.passed);
        }
    }

    #[test]
    fn damage_has_an_end_and_a_key_frame_mends_it() {
        let mut damage = Damage::new((22, 60), 100.0);
        for _ in 0..1000 {
            damage.add(30.0);
        }
        assert!(damage.error() <= 100.0 && damage.error() > 99.0, "{damage:?}");
        damage.replace(5.0);
        assert_eq!(damage.error(), 5.0);
        damage.replace(1e9);
        assert_eq!(damage.error(), 100.0);
    }
}
