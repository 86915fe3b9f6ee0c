//! CCID 3's constants by name: its own few, and TFRC's. One algorithm, two named sets of values.

use crate::ccid::LossInterval;
use crate::tfrc;
use paceline_units::param::{ParamError, ParamSet, Profile, Profiles, Spec, Value, unknown};
use paceline_units::params;

params! {
    /// What CCID 3 has beyond TFRC.
    pub struct Own {
        counter_steps: u64 = 4, in 2.0, 7.0, "RFC 4342 8.1, 10.2, 10.3", "Steps of the window counter in a round trip; so far apart are loss events and feedback packets";
        feedback_timer: bool = false, "RFC 4342 10.3 (not necessary)", "The receiver also reports when a round trip has passed without the counter's steps";
        p_tolerance: f64 = 0.0, in 0.0, 0.05, "RFC 5348 6.3.1 (at most 5 %)", "How near the first loss interval's rate comes to what was received, as a ratio";
        rtt_from_last: bool = false, "ns-2.35's DCCP; RFC 4342 8.1 prefers the first of each step", "The receiver takes the round-trip time from the last packet more than a round trip of steps back to the newest: 0.8 to 1 of it with four steps";
        p_min: f64 = 0.0, in 0.0, 0.1, "ns-2.35's DCCP; not in RFC 5348", "Smallest loss event rate above zero that the sender counts with";
        counter_modulo: bool = false, "ns-2.35's DCCP; not in RFC 4342 10.2", "Losses 16 to 20 counter steps after a loss event's begin, or any multiple of 16 more, count as part of it, as no step is told from one 16 steps later";
        absent_are_zero: bool = false, "ns-2.35's DCCP; not in RFC 5348 5.4", "Loss intervals that have not been count as zero in the mean: the first losses weigh up to six times";
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

impl Profiles for Params {
    const PROFILES: &'static [Profile<Params>] = &[
        Profile { name: "rfc4342", help: "RFC 4342 with the changes of RFC 5348", params: Params::default },
        Profile {
            name: "ns2",
            help: "ns-2.35's agent, of the drafts of 2003: a mean of which absent intervals are part, no discounting",
            params: Params::ns2,
        },
    ];
}

const UNUSED: &str = "feedback_per_rtt";
const COUNT: usize = Own::SPECS.len() + tfrc::Params::SPECS.len() - 1;

/// CCID 3's own first.
const SPECS: [Spec; COUNT] = {
    let (own, tfrc) = (Own::SPECS, tfrc::Params::SPECS);
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

impl Params {
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
}

impl ParamSet for Params {
    fn specs(&self) -> &'static [Spec] {
        &SPECS
    }

    fn value(&self, name: &str) -> Option<Value> {
        self.own.value(name).or_else(|| self.tfrc.value(name).filter(|_| name != UNUSED))
    }

    fn set(&mut self, name: &str, value: Value) -> Result<(), ParamError> {
        if self.own.value(name).is_some() {
            return self.own.set(name, value);
        }
        if name == UNUSED || self.tfrc.value(name).is_none() {
            return Err(unknown(name, &SPECS));
        }
        self.tfrc.set(name, value)
    }

    fn contradiction(&self) -> Result<(), ParamError> {
        if self.tfrc.n as usize >= LossInterval::MOST {
            let expected = "at most 27: a Loss Intervals option has room for 28, the present one in";
            return Err(ParamError::new("n", self.tfrc.n, expected));
        }
        Ok(())
    }
}
