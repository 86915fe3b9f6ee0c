//! How a total is divided among streams: max-min by priority, between the least and the most of each.

use super::stream::Stream;
use paceline_cc::share_less_waiting;
use paceline_units::{Bitrate, Time, TimeDelta};

/// A stream that wants a part of a total; rates in one unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// The stream's priority, above 0.
    pub weight: f64,
    /// It gets no less, whatever the total is.
    pub least: f64,
    /// It gets no more; at least `least`, and any number of units where nothing limits it.
    pub most: f64,
}

impl Claim {
    /// Its share where each unit of weight is given `level`.
    pub fn share(&self, level: f64) -> f64 {
        (level * self.weight).clamp(self.least, self.most)
    }
}

/// The total that the streams of one flow share.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    /// The total that the controller named last, if it is for its streams to share.
    total: Option<Bitrate>,
    /// Room for what each stream wants of it.
    claims: Vec<Claim>,
}

impl Shares {
    pub(super) fn new() -> Shares {
        Shares { total: None, claims: Vec::new() }
    }

    /// The controller names a total, or divides it by itself.
    #[inline]
    pub(super) fn set_total(&mut self, total: Option<Bitrate>) {
        self.total = total;
    }

    /// Tells the encoders their shares of the total that the controller named last, if it names one: max-min by priority, within
    /// the limits of each stream. A stream that leaves much of its share unused leaves it to the others, and is told for all
    /// that what it could have if it wanted more, so that it can come back. Of several streams each sends no more than what it could have
    /// so, and has a target that is lower by its own queue, so that this leaves within `drain`.
    pub(super) fn divide(&mut self, now: Time, drain: Option<TimeDelta>, streams: &mut [Stream]) {
        let Some(total) = self.total else { return };
        if let [stream] = streams {
            if stream.takes_share() {
                stream.aim(now, total);
            }
            return;
        }
        let repairs = streams.iter().filter(|stream| !stream.takes_share());
        let repairs = repairs.map(Stream::late).sum();
        let total = drain.map_or(total, |drain| share_less_waiting(total, repairs, drain));
        let (total, claims) = (total.as_bps_f64(), &mut self.claims);
        let sharing = streams.iter().filter(|stream| stream.takes_share());
        claims.clear();
        claims.extend(sharing.map(|stream| stream.claim(now)));
        let (common, several) = (level(total, claims), claims.len() > 1);
        for (place, stream) in streams.iter_mut().filter(|stream| stream.takes_share()).enumerate() {
            let claim = claims[place];
            let mut could_have = claim.share(common);
            if could_have >= claim.most {
                claims[place].most = f64::INFINITY;
                could_have = claims[place].share(level(total, claims));
                claims[place] = claim;
            }
            let may_want = if stream.may_want_more() { stream.limits().max.as_bps_f64() } else { claim.most };
            let share = Bitrate::from_bps_f64(could_have.min(may_want.max(claim.least)));
            stream.hold_to(several.then_some(Bitrate::from_bps_f64(could_have)));
            stream.aim(now, drain.map_or(share, |drain| share_less_waiting(share, stream.late(), drain)));
        }
    }
}

/// The level at which the shares of `claims` add up to `total`: the lowest one where the least of all is more, and infinite where
/// the most of all is less.
pub(super) fn level(total: f64, claims: &[Claim]) -> f64 {
    let given = |level: f64| claims.iter().map(|claim| claim.share(level)).sum::<f64>();
    // Between two ends of claims the sum of shares is a straight line.
    let ends = claims.iter().flat_map(|claim| [claim.least, claim.most].map(|end| end / claim.weight));
    let below = ends.filter(|end| end.is_finite() && given(*end) <= total).fold(0.0, f64::max);
    let grow = |claim: &&Claim| claim.least / claim.weight <= below && below < claim.most / claim.weight;
    let growing = claims.iter().filter(grow).fold(0.0, |sum, claim| sum + claim.weight);
    let left = total - given(below);
    if left > 0.0 { below + left / growing } else { below }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shares(total: f64, claims: &[(f64, f64, f64)]) -> Vec<f64> {
        let claims: Vec<_> =
            claims.iter().map(|&(weight, least, most)| Claim { weight, least, most }).collect();
        let level = level(total, &claims);
        claims.iter().map(|claim| claim.share(level)).collect()
    }

    const ANY: f64 = f64::INFINITY;

    #[test]
    fn what_one_leaves_the_others_share_by_priority() {
        assert_eq!(shares(900.0, &[(1.0, 0.0, ANY), (2.0, 0.0, ANY)]), [300.0, 600.0]);
        assert_eq!(shares(900.0, &[(1.0, 0.0, 64.0), (2.0, 0.0, ANY)]), [64.0, 836.0]);
        assert_eq!(
            shares(900.0, &[(1.0, 0.0, 64.0), (2.0, 0.0, ANY), (2.0, 0.0, 100.0)]),
            [64.0, 736.0, 100.0]
        );
        assert_eq!(shares(900.0, &[(1.0, 400.0, ANY), (2.0, 0.0, ANY)]), [400.0, 500.0]);
    }

    #[test]
    fn more_than_there_is_or_is_wanted_leaves_all_at_an_end() {
        assert_eq!(shares(100.0, &[(1.0, 80.0, ANY), (1.0, 60.0, 70.0)]), [80.0, 60.0]);
        assert_eq!(shares(100.0, &[(1.0, 0.0, 20.0), (5.0, 0.0, 70.0)]), [20.0, 70.0]);
        assert_eq!(shares(0.0, &[(1.0, 0.0, ANY), (5.0, 0.0, 70.0)]), [0.0, 0.0]);
        assert_eq!(shares(50.0, &[(1.0, 0.0, 0.0), (1.0, 0.0, ANY)]), [0.0, 50.0]);
        assert_eq!(shares(50.0, &[]), []);
    }

    proptest! {
        #[test]
        fn everything_is_given_and_nobody_could_have_more(
            total in 0.0..1e7f64,
            drawn in proptest::collection::vec((0.1..10.0f64, 0.0..1e6f64, 0.0..5e6f64, any::<bool>()), 1..12)
        ) {
            let claims: Vec<_> = drawn
                .iter()
                .map(|&(weight, least, more, any)| (weight, least, if any { ANY } else { least + more }))
                .collect();
            let given = shares(total, &claims);
            let (least, most) = claims.iter().fold((0.0, 0.0), |(least, most), claim| (least + claim.1, most + claim.2));
            let sum: f64 = given.iter().sum();
            let expected = total.clamp(least, most);
            prop_assert!((sum - expected).abs() <= 1e-9 * expected.max(1.0), "{} of {}", sum, expected);
            for (a, (weight, least, _)) in given.iter().zip(&claims) {
                for (b, (other, _, most)) in given.iter().zip(&claims) {
                    // A stream that has more by its weight is held up by its least, or the other by its most.
                    let fair = a / weight <= b / other * (1.0 + 1e-9) + 1e-9;
                    prop_assert!(fair || a <= least || b >= most);
                }
            }
        }
    }
}
