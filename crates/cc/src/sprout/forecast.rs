//! The cautious forecast: how many packets the link delivers within 1, 2 and so on ticks at least, with a given confidence
//! (the paper, 3.3).
//!
//! The tables are computed once: for each horizon and present rate, the distribution of the deliveries so far. Ticks count as
//! independent of each other once the present rate is given, as in the author's program.

use super::Params;
use super::belief::{Grid, Likelihoods};
use alloc::vec;
use alloc::vec::Vec;

/// Most deliveries of a tick over those at the largest rate.
const MOST: f64 = 1.5;
/// Sums that a processor adds to at a time.
const LANES: usize = 8;
/// Most ticks of a forecast.
pub(super) const MOST_TICKS: usize = 16;

/// Packets that the link delivers until the end of each tick, from the first tick on.
pub(super) type Forecast = [f64; MOST_TICKS];

/// Everything that is computed once.
pub(super) struct Model {
    pub(super) grid: Grid,
    pub(super) likelihoods: Likelihoods,
    /// For each horizon, the probability at each present rate that no more than 0, 1, 2 and so on packets are delivered.
    horizons: Vec<Vec<f32>>,
    /// The probability that less is delivered than the forecast says.
    risk: f64,
}

impl core::fmt::Debug for Model {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.debug_struct("Model").field("rates", &self.grid.means.len()).finish_non_exhaustive()
    }
}

impl Model {
    pub(super) fn new(params: &Params) -> Model {
        let grid = Grid::new(params);
        let likelihoods = Likelihoods::new(&grid);
        let horizons = horizons(&grid, params.forecast_ticks as usize);
        Model { grid, likelihoods, horizons, risk: 1.0 - params.confidence }
    }

    /// The forecast from a distribution of the present rate, looked for from `near` on, which another forecast may be.
    pub(super) fn forecast(&self, probabilities: &[f64], near: &Forecast) -> Forecast {
        let (mut forecast, mut least) = ([0.0; MOST_TICKS], 0);
        for (ticks, table) in self.horizons.iter().enumerate() {
            let counts = table.len() / probabilities.len();
            let reaches = |count: usize| {
                let row = &table[count * probabilities.len()..][..probabilities.len()];
                // Several sums at a time: none waits for the one before.
                let mut sums = [0.0; LANES];
                for (row, parts) in row.chunks(LANES).zip(probabilities.chunks(LANES)) {
                    for ((sum, row), part) in sums.iter_mut().zip(row).zip(parts) {
                        *sum += f64::from(*row) * part;
                    }
                }
                sums.iter().sum::<f64>() >= self.risk
            };
            // The smallest count with this probability: no smaller than that of the horizon before.
            let (mut low, mut high) = (least, counts - 1);
            // Away from `near` in doubling steps first.
            let (mut at, mut step, from) = ((near[ticks] as usize).clamp(low, high), 1, (low, high));
            while low < high {
                if reaches(at) {
                    high = at
                } else {
                    low = at + 1
                }
                at = match (low == from.0, high == from.1) {
                    (true, false) => high.saturating_sub(step).max(low),
                    (false, true) => (low + step - 1).min(high - usize::from(low < high)),
                    _ => low.midpoint(high),
                };
                step *= 2;
            }
            least = low;
            forecast[ticks] = low as f64;
        }
        forecast
    }
}

/// The cumulative distributions, count by count, of all rates each.
fn horizons(grid: &Grid, ticks: usize) -> Vec<Vec<f32>> {
    let rates = grid.means.len();
    let most = grid.means.last().map_or(1.0, |mean| libm::ceil(MOST * mean)) as usize;
    // Of the tick that is looked at: the probability of each count, at each present rate.
    let mut tick = vec![0.0; (most + 1) * rates];
    for (rate, mean) in grid.means.iter().enumerate() {
        let (mut now, mut sum) = (libm::exp(-mean), 0.0);
        for count in 0..most {
            tick[count * rates + rate] = now;
            sum += now;
            now *= mean / (count + 1) as f64;
        }
        tick[most * rates + rate] = f64::max(1.0 - sum, 0.0);
    }
    let (mut horizons, mut room, mut before) = (Vec::with_capacity(ticks), grid.room(), tick.clone());
    let (mut weights, mut parts) = (vec![1.0; rates], tick.clone());
    for horizon in 1..=ticks {
        if horizon > 1 {
            tick.chunks_exact_mut(rates).for_each(|row| grid.expect(row, &mut room));
            grid.expect(&mut weights, &mut room);
            for (row, parts) in tick.chunks_exact(rates).zip(parts.chunks_exact_mut(rates)) {
                let of_weights = row.iter().zip(&weights).map(|(row, weight)| row / weight);
                parts.iter_mut().zip(of_weights).for_each(|(part, of_weight)| *part = of_weight);
            }
            before = convolved(&before, &parts, rates);
        }
        let mut sums = vec![0.0; rates];
        let mut table = Vec::with_capacity(before.len());
        for row in before.chunks_exact(rates) {
            sums.iter_mut().zip(row).for_each(|(sum, part)| *sum += part);
            table.extend(sums.iter().map(|sum| *sum as f32));
        }
        horizons.push(table);
    }
    horizons
}

/// The distribution of the sum of two counts, at each rate.
fn convolved(one: &[f64], other: &[f64], rates: usize) -> Vec<f64> {
    let (ones, others) = (one.len() / rates, other.len() / rates);
    let mut sums = vec![0.0; (ones + others - 1) * rates];
    for (first, row) in one.chunks_exact(rates).enumerate() {
        for (second, more) in other.chunks_exact(rates).enumerate() {
            let into = &mut sums[(first + second) * rates..][..rates];
            for ((sum, part), more) in into.iter_mut().zip(row).zip(more) {
                *sum += part * more;
            }
        }
    }
    sums
}
