//! Damage that spreads from picture to picture until columns of intra-coded blocks have crossed it.

use super::Refresh;

/// Rows of the picture that damage is told apart by: a packet carries a slice, which is rows, and of frames that are late it is
/// mostly the lowest ones that lack.
const ROWS: usize = 8;

/// A share for each row of the picture.
pub(super) type Rows = [f64; ROWS];

/// All of the picture.
pub(super) const ALL: Rows = [1.0; ROWS];
/// Nothing of the picture.
pub(super) const NONE: Rows = [0.0; ROWS];

/// The shares of rows that a frame of `packets` brings, by the part `density` of the first `reach` of which arrived.
pub(super) fn rows_of(reach: f64, density: f64, packets: f64) -> Rows {
    let end = reach / packets.max(1.0) * ROWS as f64;
    core::array::from_fn(|row| density * (end - row as f64).clamp(0.0, 1.0))
}

/// The mean of shares over the picture.
pub(super) fn mean(rows: &Rows) -> f64 {
    rows.iter().sum::<f64>() / ROWS as f64
}

/// The mean squared error of damage, by rows and by where the refresh has still to come.
///
/// As x264 does with intra refresh, the columns of the picture are refreshed one after another, a column per frame, and
/// this begins anew once in each period.
#[derive(Clone, Copy, Debug)]
pub(super) struct Damage {
    /// Error of the part that this refresh has still to cross, and of the part that waits for the next one.
    ahead: Rows,
    behind: Rows,
    refresh: Refresh,
    /// Error that a picture which stays comes to: no damage of such pictures exceeds it.
    most: f64,
}

impl Damage {
    /// No damage.
    pub(super) fn new(refresh: Refresh, most: f64) -> Damage {
        Damage { ahead: NONE, behind: NONE, refresh, most }
    }

    /// Whether the refresh runs that comes once in each period: not between a key frame and the first one.
    pub(super) fn is_refreshed(&self) -> bool {
        !self.refresh.waits
    }

    /// Mean squared error of the whole picture.
    pub(super) fn error(&self) -> f64 {
        mean(&self.ahead) + mean(&self.behind)
    }

    /// Mean squared error of a picture that stays, while the source moves on by `moved`. The more is damaged, the less is left.
    pub(super) fn error_of_still(&self, moved: f64) -> f64 {
        let errors = self.ahead.iter().zip(&self.behind).map(|(ahead, behind)| {
            let error = ahead + behind;
            error + moved * (1.0 - error / self.most).max(0.0)
        });
        errors.sum::<f64>() / ROWS as f64
    }

    /// All of the picture has this error.
    pub(super) fn fill(&mut self, error: f64) {
        (self.ahead, self.behind) = (NONE, [error; ROWS]);
    }

    /// A key frame brings these shares of the rows, and the refresh starts anew a period later.
    pub(super) fn replace(&mut self, came: &Rows) {
        for (row, came) in came.iter().enumerate() {
            self.behind[row] = (self.ahead[row] + self.behind[row]) * (1.0 - came);
        }
        self.ahead = NONE;
        self.refresh.on_key_frame();
    }

    /// These shares of the rows are damaged. The more of a row is, the less is left to be damaged.
    pub(super) fn add(&mut self, error: f64, shares: &Rows) {
        let left = self.refresh.left() as f64 / self.refresh.columns as f64;
        for (row, share) in shares.iter().enumerate() {
            let added = share * error * (1.0 - (self.ahead[row] + self.behind[row]) / self.most).max(0.0);
            self.ahead[row] += added * left;
            self.behind[row] += added * (1.0 - left);
        }
    }

    /// A frame passes which refreshes its column, where it came; the rest of the column waits for the next refresh.
    pub(super) fn pass(&mut self, came: &Rows) {
        let left = self.refresh.left();
        if left > 0 {
            for (row, came) in came.iter().enumerate() {
                let column = self.ahead[row] / left as f64;
                self.ahead[row] -= column;
                self.behind[row] += column * (1.0 - came);
            }
        }
        if self.refresh.pass() {
            for row in 0..ROWS {
                self.ahead[row] += self.behind[row];
            }
            self.behind = NONE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damage(columns: u64, most: f64) -> Damage {
        Damage::new(Refresh { columns, period: 60, passed: 0, waits: true }, most)
    }

    fn pass(damage: &mut Damage, frames: u64) {
        (0..frames).for_each(|_| damage.pass(&ALL));
    }

    #[test]
    fn damage_waits_for_the_refresh_and_goes_with_its_columns() {
        // Pictures of 22 columns, refreshed every 60 frames, of which the first begins a period after the key frame.
        let mut damage = damage(22, 1000.0);
        pass(&mut damage, 8);
        damage.add(100.0, &ALL);
        pass(&mut damage, 52);
        assert!((damage.error() - 100.0).abs() < 1e-9, "the first period has none");
        pass(&mut damage, 11);
        assert!((damage.error() - 50.0).abs() < 1e-9, "half of the columns");
        damage.add(100.0, &ALL);
        pass(&mut damage, 11);
        // Half of the damage that came in the middle of a refresh lies behind it; and there was little left to be damaged.
        assert!((damage.error() - 47.5).abs() < 1e-9, "{damage:?}");
        pass(&mut damage, 38 + 22);
        assert!(damage.error() < 1e-9, "{damage:?}");
    }

    #[test]
    fn a_column_that_does_not_come_waits_for_the_next_refresh() {
        let mut damage = damage(10, 1000.0);
        damage.add(100.0, &ALL);
        pass(&mut damage, 60);
        (0..5).for_each(|_| damage.pass(&NONE));
        pass(&mut damage, 5);
        assert!((damage.error() - 50.0).abs() < 1e-9, "{damage:?}");
        pass(&mut damage, 60);
        assert!(damage.error() < 1e-9, "{damage:?}");
    }

    #[test]
    fn a_key_frame_mends_the_rows_that_come() {
        let mut damage = damage(22, 1000.0);
        damage.add(80.0, &ALL);
        // Two of four packets: the upper half.
        damage.replace(&rows_of(2.0, 1.0, 4.0));
        assert!((damage.error() - 40.0).abs() < 1e-9, "{damage:?}");
        // The lower half is damaged already, and the upper one takes all of it.
        damage.add(1000.0, &rows_of(4.0, 1.0, 4.0));
        assert!((damage.error() - (1000.0 + 1000.0 * 0.92 + 80.0) / 2.0).abs() < 1e-9, "{damage:?}");
        damage.replace(&ALL);
        assert_eq!(damage.error(), 0.0);
    }

    #[test]
    fn damage_has_an_end() {
        let mut damage = damage(22, 100.0);
        (0..1000).for_each(|_| damage.add(30.0, &ALL));
        assert!(damage.error() <= 100.0 && damage.error() > 99.0, "{damage:?}");
        assert!((damage.error_of_still(50.0) - damage.error()).abs() < 1.0, "a ruin does not fall");
        // A picture that has nothing to do with the source's is worse than one that stays.
        damage.fill(300.0);
        damage.add(30.0, &ALL);
        assert_eq!((damage.error(), damage.error_of_still(30.0)), (300.0, 300.0));
    }

    #[test]
    fn packets_are_rows_from_above() {
        assert_eq!(rows_of(3.0, 1.0, 4.0), [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
        assert_eq!(rows_of(4.0, 0.5, 4.0), [0.5; ROWS]);
        assert!((mean(&rows_of(1.0, 1.0, 3.0)) - 1.0 / 3.0).abs() < 1e-12);
    }
}
