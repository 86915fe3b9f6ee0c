//! CCID 3's constants by name: its own few, and TFRC's. One algorithm, two named sets of values.

use crate::ccid::LossInterval;
use crate::params::{ParamError, ParamSet, ParamSpec, ParamValue, param_set};
use crate::tfrc;
use alloc::string::String;

param_set! {
    /// What CCID 3 has beyond TFRC.
    pub struct Own {
        counter_steps: Count = 4, in 2.0, 7.0, "RFC 4342 8.1, 10.2, 10.3", "Steps of the window counter in a round trip; so far apart are loss events and feedback packets";
        feedback_timer: Flag = false, in 0.0, 1.0, "RFC 4342 10.3 (not necessary)", "The receiver also reports when a round trip has passed without the counter's steps";
        p_tolerance: Ratio = 0.0, in 0.0, 0.05, "RFC 5348 6.3.1 (at most 5 %)", "How near the first loss interval's rate comes to what was received, as a ratio";
        rtt_from_last: Flag = false, in 0.0, 1.0, "ns-2.35's DCCP; RFC 4342 8.1 prefers the first of each step", "The receiver takes the round-trip time from the last packet more than a round trip of steps back to the newest: 0.8 to 1 of it with four steps";
        p_min: Ratio = 0.0, in 0.0, 0.1, "ns-2.35's DCCP; not in RFC 5348", "Smallest loss event rate above zero that the sender counts with";
        counter_modulo: Flag = false, in 0.0, 1.0, "ns-2.35's DCCP; not in RFC 4342 10.2", "Losses 16 to 20 counter steps after a loss event's begin, or any multiple of 16 more, count as part of it, as no step is told from one 16 steps later";
        absent_are_zero: Flag = false, in 0.0, 1.0, "ns-2.35's DCCP; not in RFC 5348 5.4", "Loss intervals that have not been count as zero in the mean: the first losses weigh up to six times";
    }
}

/// Every constant of CCID 3. `Default` is RFC 4342 over RFC 5348, which updates it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Params {
    /// TFRC's. Its `feedback_per_rtt` is without effect: the window counter stands in its place.
    pub tfrc: tfrc::Params,
    /// CCID 3's own.
    pub own: Own,
}

/// The named sets of values, the default first.
pub const PROFILES: &[(&str, &str)] = &[
    ("rfc4342", "RFC 4342 with the changes of RFC 5348"),
    (
        "ns2",
        "ns-2.35's agent, of the drafts of 2003: a mean of which absent intervals are part, no discounting",
    ),
];

const UNUSED: &str = "feedback_per_rtt";
const COUNT: usize = Own::all().len() + tfrc::Params::all().len() - 1;

/// CCID 3's own first.
const SPECS: [ParamSpec; COUNT] = {
    let (own, tfrc) = (Own::all(), tfrc::Params::all());
    let mut specs = [own[0]; COUNT];
    let (mut from, mut to) = (0, 0);
    while to < COUNT {
        let spec = if from < own.len() { own[from] } else { tfrc[from - own.len()] };
        if from < own.len() || spec.name.len() != UNUSED.len() || !same(spec.name, UNUSED) {
            specs[to] = spec;
            to += 1;
        }
        from += 1;
    }
    specs
};

const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    a.len() == b.len()
}

impl Own {
    const fn all() -> &'static [ParamSpec] {
        Own::SPECS
    }
}

impl Params {
    /// The named set, if there is one of that name.
    pub fn profile(name: &str) -> Option<Params> {
        match name {
            "rfc4342" => Some(Params::default()),
            "ns2" => Some(Params::ns2()),
            _ => None,
        }
    }

    /// ns-2.35's agent follows the drafts of October 2003: slow start from a packet per round trip, twice the last
    /// X_recv at most, no discounting. Its loss history is made with eight intervals of zero packets, which count. What
    /// each moves is in DEVIATIONS.md.
    fn ns2() -> Params {
        Params {
            own: Own {
                p_tolerance: 0.05,
                absent_are_zero: true,
                counter_modulo: true,
                rtt_from_last: true,
                p_min: 1e-5,
                ..Own::default()
            },
            tfrc: tfrc::Params {
                history_discounting: false,
                w_init_segments: 1,
                recv_set_rtts: 0.0,
                damped_slow_start: false,
                ..tfrc::Params::default()
            },
        }
    }

    /// Whether the parameters fit each other.
    ///
    /// # Errors
    /// If more loss intervals are averaged than an option has room for.
    pub fn validate(&self) -> Result<(), ParamError> {
        self.tfrc.validate()?;
        if self.tfrc.n as usize >= LossInterval::MOST {
            return Err(ParamError::Contradiction(String::from(
                "n above 27: a Loss Intervals option has room for 28, the present one in",
            )));
        }
        Ok(())
    }

    /// All parameters with their specification.
    pub fn all() -> &'static [ParamSpec] {
        &SPECS
    }
}

impl ParamSet for Params {
    fn specs(&self) -> &'static [ParamSpec] {
        &SPECS
    }

    fn value(&self, name: &str) -> Option<ParamValue> {
        self.own.value(name).or_else(|| self.tfrc.value(name).filter(|_| name != UNUSED))
    }

    fn set(&mut self, name: &str, value: ParamValue) -> Result<(), ParamError> {
        if self.own.value(name).is_some() {
            return self.own.set(name, value);
        }
        if name == UNUSED || self.tfrc.value(name).is_none() {
            return Err(ParamError::Unknown { known: SPECS.iter().map(|spec| spec.name).collect() });
        }
        self.tfrc.set(name, value)
    }

    fn check(&self) -> Result<(), ParamError> {
        self.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_lies_within_the_ranges() {
        for (name, _) in PROFILES {
            let params = Params::profile(name).expect(name);
            assert_eq!(params.validate(), Ok(()));
            for spec in params.specs() {
                let value = params.value(spec.name).expect(spec.name).as_f64();
                assert!((spec.range.0..=spec.range.1).contains(&value), "{name}.{}: {value}", spec.name);
            }
        }
    }

    #[test]
    fn own_names_and_tfrc_s_are_one_list() {
        let mut params = Params::default();
        assert_eq!(params.set("counter_steps", ParamValue::Count(5)), Ok(()));
        assert_eq!(params.set("n", ParamValue::Count(28)), Ok(()));
        assert!((params.own.counter_steps, params.tfrc.n) == (5, 28));
        assert!(params.validate().is_err());
        for name in [UNUSED, "nothing"] {
            let Err(ParamError::Unknown { known }) = params.set(name, ParamValue::Count(1)) else {
                panic!("{name} is no parameter");
            };
            assert!(known.contains(&"t_mbi") && known.contains(&"counter_steps") && !known.contains(&UNUSED));
        }
        assert_eq!(params.value(UNUSED), None);
        let mut names: alloc::vec::Vec<_> = Params::all().iter().map(|spec| spec.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COUNT);
    }
}
