//! CCID 3's constants by name: its own few, and TFRC's. One algorithm, two named sets of values.

use crate::ccid::LossInterval;
use crate::tfrc;
use paceline_units::param::ParamError;
use paceline_units::{Stack, TimeDelta, params};

params! {
    /// Every constant of CCID 3: its own, and TFRC's. `Default` is RFC 4342 over RFC 5348, which updates it.
    pub struct Params {
        counter_steps: u64 = 4, in 2.0, 7.0, "RFC 4342 8.1, 10.2, 10.3", "Steps of the window counter in a round trip; so far apart are loss events and feedback packets";
        feedback_timer: bool = false, "RFC 4342 10.3 (not necessary)", "The receiver also reports when a round trip has passed without the counter's steps";
        p_tolerance: f64 = 0.0, in 0.0, 0.05, "RFC 5348 6.3.1 (at most 5 %)", "How near the first loss interval's rate comes to what was received, as a ratio";
        rtt_from_last: bool = false, "ns-2.35's DCCP; RFC 4342 8.1 prefers the first of each step", "The receiver takes the round-trip time from the last packet more than a round trip of steps back to the newest: 0.8 to 1 of it with four steps";
        p_min: f64 = 0.0, in 0.0, 0.1, "ns-2.35's DCCP; not in RFC 5348", "Smallest loss event rate above zero that the sender counts with";
        counter_modulo: bool = false, "ns-2.35's DCCP; not in RFC 4342 10.2", "Losses 16 to 20 counter steps after a loss event's begin, or any multiple of 16 more, count as part of it, as no step is told from one 16 steps later";
        absent_are_zero: bool = false, "ns-2.35's DCCP; not in RFC 5348 5.4", "Loss intervals that have not been count as zero in the mean: the first losses weigh up to six times";
    }
    /// TFRC's. Its `feedback_per_rtt` is without effect: the window counter stands in its place.
    with tfrc: tfrc::Params, without "feedback_per_rtt";
    check intervals_fit;
    profiles {
        "rfc4342": "RFC 4342 with the changes of RFC 5348" => Params::default,
        "ns2": "ns-2.35's agent, of the drafts of 2003: a mean of which absent intervals are part, no discounting", over Stack::Ns2 => Params::ns2,
    }
}

impl Params {
    /// ns-2.35's agent follows the drafts of October 2003: slow start from a packet per round trip, twice the last
    /// X_recv at most, no discounting. Its loss history is made with eight intervals of zero packets, which count. The effect of each is in
    /// DEVIATIONS.md.
    fn ns2() -> Params {
        Params {
            p_tolerance: 0.05,
            absent_are_zero: true,
            counter_modulo: true,
            rtt_from_last: true,
            p_min: 1e-5,
            tfrc: tfrc::Params {
                history_discounting: false,
                outage_patience: TimeDelta::ZERO,
                w_init_segments: 1,
                recv_set_rtts: 0.0,
                damped_slow_start: false,
                ..tfrc::Params::default()
            },
            ..Params::default()
        }
    }
}

fn intervals_fit(params: &Params) -> Result<(), ParamError> {
    if params.tfrc.n as usize >= LossInterval::MOST {
        let expected = "at most 27: a Loss Intervals option has room for 28, the present one in";
        return Err(ParamError::new("n", params.tfrc.n, expected));
    }
    Ok(())
}
