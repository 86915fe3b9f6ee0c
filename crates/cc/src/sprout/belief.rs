//! The distribution of the link rate: it evolves by Brownian motion from tick to tick, and each tick's arrivals update it by their
//! Poisson likelihood (the paper, 3.2).

use super::Params;
use super::gaussian::between;
use super::ticks::Observed;
use alloc::vec;
use alloc::vec::Vec;

/// Rates whose weights are summed at a time: as many as registers hold.
const BLOCK: usize = 16;
/// No change of the rate in a tick is longer than this many standard deviations.
const REACH: f64 = 5.0;

/// The link rates that are told apart, and how they change within a tick.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// Deliveries in a tick at each rate, in packets, rising.
    pub(super) means: Vec<f64>,
    /// Probability of a move by 0, 1, 2 and so on rates, on either side.
    moves: Vec<f64>,
    /// Probability that an outage may end within a tick.
    escape: f64,
    /// Weight of staying in an outage, beyond that of Brownian motion times `escape`.
    stays: f64,
}

impl Grid {
    pub(super) fn new(params: &Params) -> Grid {
        let (tick, rates) = (params.tick.as_secs_f64(), params.rates as usize);
        let width = params.rate_max / rates as f64;
        let deviation = (params.sigma * libm::sqrt(tick) / width).max(1e-3);
        let reach = (libm::ceil(REACH * deviation) as usize).min(rates - 1);
        let moves: Vec<f64> = (0..=reach)
            .map(|by| between((by as f64 - 0.5) / deviation, (by as f64 + 0.5) / deviation))
            .collect();
        let escape = 1.0 - libm::exp(-params.lambda_z * tick);
        Grid {
            means: (0..rates).map(|rate| (rate as f64 + 0.5) * width * tick).collect(),
            stays: (1.0 - 2.0 * escape) * moves.iter().sum::<f64>(),
            moves,
            escape,
        }
    }

    /// How far beyond an end of the grid a move can lead.
    fn reach(&self) -> usize {
        self.moves.len() - 1
    }

    /// The weights of the rates a tick later; their sum may be less than it was. Moves beyond the ends stop there. Of an outage (the lowest
    /// rate) the motion to higher rates counts by the escape probability, and staying by the rest. `room` is one that
    /// [`Grid::room`] makes.
    pub(super) fn evolve(&self, probabilities: &mut [f64], room: &mut [f64]) {
        let (rates, reach) = (probabilities.len(), self.reach());
        let outage = probabilities[0];
        probabilities[0] = outage * self.escape;
        // Nothing lies beyond the ends, as far as a move leads and the sums reach.
        let (before, sums) = room.split_at_mut(rates + 4 * reach + BLOCK);
        before.fill(0.0);
        before[2 * reach..2 * reach + rates].copy_from_slice(probabilities);
        self.add_moves(before, sums);
        probabilities.copy_from_slice(&sums[reach..reach + rates]);
        probabilities[0] += outage * self.stays + sums[..reach].iter().sum::<f64>();
        probabilities[rates - 1] += sums[reach + rates..].iter().sum::<f64>();
    }

    /// The sum of `values` a tick later by the same weights, for each rate now.
    pub(super) fn expect(&self, values: &mut [f64], room: &mut [f64]) {
        let (rates, reach) = (values.len(), self.reach());
        room[..reach].fill(values[0]);
        room[reach..reach + rates].copy_from_slice(values);
        room[reach + rates..].fill(values[rates - 1]);
        self.add_moves(room, values);
        values[0] = self.escape * values[0] + self.stays * room[reach];
    }

    /// Sums over all moves, of `before`, which begins a reach ahead of the sums and goes on a reach and a block behind them.
    fn add_moves(&self, before: &[f64], sums: &mut [f64]) {
        for (block, sums) in sums.chunks_mut(BLOCK).enumerate() {
            let first = self.reach() + block * BLOCK;
            let mut block_sums = [0.0; BLOCK];
            let stays = before[first..first + BLOCK].iter();
            block_sums.iter_mut().zip(stays).for_each(|(sum, before)| *sum = self.moves[0] * before);
            for (at, part) in self.moves.iter().enumerate().skip(1) {
                let (above, below) = (&before[first + at..][..BLOCK], &before[first - at..][..BLOCK]);
                for ((sum, above), below) in block_sums.iter_mut().zip(above).zip(below) {
                    *sum += part * (above + below);
                }
            }
            sums.copy_from_slice(&block_sums[..sums.len()]);
        }
    }

    /// A buffer for `evolve` and `expect`.
    pub(super) fn room(&self) -> Vec<f64> {
        vec![0.0; 2 * self.means.len() + 6 * self.reach() + BLOCK]
    }
}

/// The distribution of the present rate.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    pub(super) probabilities: Vec<f64>,
    room: Vec<f64>,
}

impl Belief {
    /// Each rate is as probable as any other.
    pub(super) fn new(grid: &Grid) -> Belief {
        let rates = grid.means.len();
        Belief { probabilities: vec![1.0 / rates as f64; rates], room: grid.room() }
    }

    /// Nothing is known of the rate.
    pub(super) fn forget(&mut self) {
        let even = 1.0 / self.probabilities.len() as f64;
        self.probabilities.fill(even);
    }

    /// A tick has passed in which this was observed.
    pub(super) fn on_tick(&mut self, grid: &Grid, likelihoods: &Likelihoods, observed: Observed) {
        grid.evolve(&mut self.probabilities, &mut self.room);
        if let Some(row) = likelihoods.of(observed) {
            self.probabilities
                .iter_mut()
                .zip(row)
                .for_each(|(probability, likelihood)| *probability *= likelihood);
        }
        let sum: f64 = self.probabilities.iter().sum();
        if sum > f64::MIN_POSITIVE {
            self.probabilities.iter_mut().for_each(|probability| *probability /= sum);
        } else {
            self.forget();
        }
    }

    /// The mean of the rate, in packets per tick.
    pub(super) fn mean(&self, grid: &Grid) -> f64 {
        self.probabilities.iter().zip(&grid.means).map(|(probability, mean)| probability * mean).sum()
    }
}

/// The likelihood of what can be observed in a tick, at each rate.
#[derive(Clone, Debug)]
pub(super) struct Likelihoods {
    /// That 0, 1, 2 and so on packets arrive, over the largest of all rates.
    exact: Vec<Vec<f64>>,
    /// That at least so many do.
    at_least: Vec<Vec<f64>>,
}

impl Likelihoods {
    pub(super) fn new(grid: &Grid) -> Likelihoods {
        let most = grid.means.last().map_or(1.0, |mean| libm::ceil(2.0 * mean)) as usize;
        let (mut exact, mut at_least) = (Vec::with_capacity(most + 1), Vec::with_capacity(most + 1));
        let mut now: Vec<f64> = grid.means.iter().map(|mean| libm::exp(-mean)).collect();
        let mut rest = vec![1.0; now.len()];
        for count in 0..=most {
            at_least.push(rest.iter().map(|rest| f64::max(*rest, 0.0)).collect());
            let largest = now.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            exact.push(now.iter().map(|now| now / largest).collect());
            for ((now, rest), mean) in now.iter_mut().zip(&mut rest).zip(&grid.means) {
                *rest -= *now;
                *now *= mean / (count + 1) as f64;
            }
        }
        Likelihoods { exact, at_least }
    }

    fn of(&self, observed: Observed) -> Option<&[f64]> {
        let (rows, count) = match observed {
            Observed::Nothing => return None,
            Observed::Exactly(count) => (&self.exact, count),
            Observed::AtLeast(count) => (&self.at_least, count),
        };
        rows.get(count.min(rows.len() - 1)).map(|row| &row[..])
    }
}
