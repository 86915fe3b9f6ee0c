//! RAP's round-trip time, its timeout, and the two means of fine-grain adaptation. In seconds.

use super::Params;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct RoundTrip {
    pub(super) srtt: f64,
    variance: f64,
    /// The smallest sample; infinite before the first.
    pub(super) least: f64,
    /// Short-term and long-term round-trip time; absent before the first sample.
    means: Option<(f64, f64)>,
    /// For how long packets wait for others that are acknowledged with them.
    held: f64,
}

/// No variation is larger by a late packet.
const LONGEST: f64 = 60.0;
/// A timeout that was too short becomes this times what it should have been.
const LATE: f64 = 1.5;
/// Weight of a shorter wait for a report.
const SHORTER: f64 = 1.0 / 16.0;
/// Shorter samples count as this.
const SHORTEST: f64 = 1e-6;

impl RoundTrip {
    pub(super) fn new(params: &Params) -> RoundTrip {
        RoundTrip {
            srtt: params.srtt.as_secs_f64(),
            variance: 0.0,
            least: f64::INFINITY,
            means: None,
            held: 0.0,
        }
    }

    /// A sample; true if it is the first, which counts whole.
    pub(super) fn on_sample(&mut self, params: &Params, sample: f64) -> bool {
        let sample = sample.max(SHORTEST);
        self.least = self.least.min(sample);
        let Some((frtt, xrtt)) = self.means else {
            (self.srtt, self.variance, self.means) = (sample, sample / 2.0, Some((sample, sample)));
            return true;
        };
        let difference = sample - self.srtt;
        self.srtt += params.delta * difference;
        self.variance += params.delta * (difference.abs() - self.variance);
        self.means = Some((frtt + params.kfrtt * (sample - frtt), xrtt + params.kxrtt * (sample - xrtt)));
        false
    }

    /// One report acknowledged packets that left so long after each other: the sample is of the last, and the first waited for it.
    /// A longer wait counts whole, a shorter one little: reports of one packet come between those of many.
    pub(super) fn on_span(&mut self, span: f64) {
        self.held = span.max(self.held + SHORTER * (span - self.held)).min(LONGEST);
    }

    /// The acknowledgement of a packet that was given up, and was late: the timeout was too short.
    pub(super) fn on_late(&mut self, params: &Params, sample: f64) {
        let wanted = LATE * sample - params.mu * self.srtt;
        self.variance = self.variance.max((wanted / params.phi).min(LONGEST));
    }

    /// Whether there was a sample.
    pub(super) fn is_known(&self) -> bool {
        self.means.is_some()
    }

    /// Seconds that an acknowledgement may take.
    pub(super) fn timeout(&self, params: &Params) -> f64 {
        if !self.is_known() {
            return self.srtt;
        }
        params.mu * self.srtt + params.phi * self.variance + self.held
    }

    /// Factor by which fine-grain adaptation multiplies the gap.
    pub(super) fn fine_grain(&self) -> f64 {
        self.means.map_or(1.0, |(frtt, xrtt)| frtt / xrtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_count_half_and_the_first_whole() {
        let (params, mut round_trip) = (Params::default(), RoundTrip::new(&Params::default()));
        assert_eq!((round_trip.srtt, round_trip.timeout(&params)), (2.0, 2.0));
        assert!(round_trip.on_sample(&params, 0.1));
        assert!(!round_trip.on_sample(&params, 0.2));
        assert!((round_trip.srtt - 0.15).abs() < 1e-12);
        // 0.05 before, the difference is 0.1.
        assert!((round_trip.timeout(&params) - (1.2 * 0.15 + 4.0 * 0.075)).abs() < 1e-12);
        assert!((round_trip.fine_grain() - 0.19 / 0.101).abs() < 1e-12);
        let before = round_trip.timeout(&params);
        [0.04, 0.02].into_iter().for_each(|span| round_trip.on_span(span));
        assert!((round_trip.timeout(&params) - before - 0.03875).abs() < 1e-12, "a sixteenth of what falls");
    }
}
