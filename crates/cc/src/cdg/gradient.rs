//! Delay gradients: by how much the smallest and the largest round trip change from round to round.

/// Most rounds over which changes are averaged.
pub(super) const MOST: usize = 64;

/// A round trip that is measured once per round, and its changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gradient {
    last: Option<f64>,
    /// The newest changes in ms, each in the place of the oldest.
    changes: [f64; MOST],
    place: usize,
    /// Mean of the changes, in ms a round trip.
    pub mean: f64,
}

impl Gradient {
    pub const NEW: Gradient = Gradient { last: None, changes: [0.0; MOST], place: 0, mean: 0.0 };

    /// The newest change in ms; 0 before the first.
    pub fn newest(&self) -> f64 {
        self.changes[self.place]
    }

    /// Takes a round's value in seconds; changes are averaged over `a` rounds.
    pub fn update(&mut self, value: f64, a: u64) {
        let change = self.last.map(|last| (value - last) * 1e3);
        self.last = Some(value);
        let Some(change) = change else { return };
        let a = (a as usize).clamp(1, MOST);
        self.place = (self.place + 1) % a;
        self.changes[self.place] = change;
        // Summed anew: a running sum would keep the errors of its roundings.
        self.mean = self.changes[..a].iter().sum::<f64>() / a as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_the_change_over_a_rounds() {
        let mut gradient = Gradient::NEW;
        for (value, mean, newest) in [
            (0.1, 0.0, 0.0),
            (0.104, 1.0, 4.0),
            (0.104, 1.0, 0.0),
            (0.1, 0.0, -4.0),
            (0.1, 0.0, 0.0),
            (0.1, -1.0, 0.0),
        ] {
            gradient.update(value, 4);
            assert!((gradient.mean - mean).abs() < 1e-9, "{value}: {}", gradient.mean);
            assert!((gradient.newest() - newest).abs() < 1e-9, "{value}: {}", gradient.newest());
        }
    }
}
