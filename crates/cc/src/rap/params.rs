//! RAP's constants by name. One algorithm, two named sets of values.

use crate::params::{ParamError, param_set};
use paceline_units::TimeDelta;

const fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

param_set! {
    /// Every constant of RAP. `Default` is the profile `rap1999`.
    pub struct Params {
        ipg: Time = ms(2000), in 1e-6, 60.0, "FACTS 12, no text at hand", "Gap between packets before the first acknowledgement";
        ipg_min: Time = TimeDelta::from_micros(1), in 1e-9, 1.0, "ours", "Smallest gap";
        ipg_max: Time = ms(60_000), in 0.01, 60.0, "ours", "Largest gap";
        srtt: Time = ms(2000), in 1e-6, 60.0, "FACTS 12, no text at hand", "Round-trip time before the first acknowledgement";
        alpha: Ratio = 1.0, in 0.0, 100.0, "FACTS 12, no text at hand", "Packets that a round trip has more than the one before";
        beta: Ratio = 0.5, in 0.01, 1.0, "FACTS 12, no text at hand", "Rate factor for a loss event";
        delta: Ratio = 0.5, in 0.0, 1.0, "FACTS 12, no text at hand", "Weight of a sample in the round-trip time and its variation";
        mu: Ratio = 1.2, in 0.0, 100.0, "FACTS 12, no text at hand", "Round-trip times in the timeout";
        phi: Ratio = 4.0, in 0.0, 100.0, "FACTS 12, no text at hand", "Variations in the timeout";
        dpthresh: Ratio = 50.0, in 0.0, 100.0, "FACTS 12, no text at hand", "The rate rises if this part in 100 of the packets due in a round trip was sent";
        reorder: Count = 3, in 1.0, 100.0, "FACTS 12, no text at hand", "A hole this far below the last received is a loss";
        slow_start: Flag = true, in 0.0, 1.0, "RAP 1999 as its paper is told, no text at hand", "Halve the gap once a round trip until the first loss event";
        fine_grain: Flag = false, in 0.0, 1.0, "FACTS 12, no text at hand", "Stretch the gap by short-term over long-term round-trip time";
        kfrtt: Ratio = 0.9, in 0.0, 1.0, "FACTS 12, no text at hand", "Weight of a sample in the short-term round-trip time";
        kxrtt: Ratio = 0.01, in 0.0, 1.0, "FACTS 12, no text at hand", "Weight of a sample in the long-term round-trip time";
    }
}

/// The named sets of values, the default first.
pub const PROFILES: &[(&str, &str)] = &[
    ("rap1999", "RAP with a start that doubles its rate; no text at hand"),
    ("ns2", "The defaults of ns-2.35's RAP: no slow start"),
];

impl Params {
    /// The named set, if there is one of that name.
    pub fn profile(name: &str) -> Option<Params> {
        match name {
            "rap1999" => Some(Params::default()),
            "ns2" => Some(Params { slow_start: false, ..Params::default() }),
            _ => None,
        }
    }

    /// Whether the parameters fit each other.
    ///
    /// # Errors
    /// If the smallest gap is larger than the largest.
    pub fn validate(&self) -> Result<(), ParamError> {
        if self.ipg_min > self.ipg_max {
            return Err(ParamError::Contradiction("ipg_min must not be larger than ipg_max".into()));
        }
        Ok(())
    }

    /// All parameters with their specification.
    pub fn all() -> &'static [crate::params::ParamSpec] {
        Params::SPECS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::ParamSet;

    #[test]
    fn every_profile_lies_within_the_ranges_and_fits_itself() {
        for (name, _) in PROFILES {
            let params = Params::profile(name).expect(name);
            params.validate().expect(name);
            for spec in params.specs() {
                let value = params.value(spec.name).expect(spec.name).as_f64();
                assert!((spec.range.0..=spec.range.1).contains(&value), "{name}.{}: {value}", spec.name);
            }
        }
        let wrong = Params { ipg_min: ms(900), ipg_max: ms(100), ..Params::default() };
        assert!(matches!(wrong.validate(), Err(ParamError::Contradiction(_))));
    }
}
