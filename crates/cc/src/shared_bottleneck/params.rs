//! The constants of RFC 8382 by name.

use paceline_units::TimeDelta;
use paceline_units::param::ParamError;

paceline_units::names! {
    /// Value of an interval without a bottleneck in the variability; RFC 8382 section 4.2 can be read both ways.
    pub enum Invalid {
        /// Its deviations are left out and its samples count: the formula as printed.
        AsZero = "as-zero",
        /// Neither its deviations nor its samples count.
        LeftOut = "left-out",
    }
}

paceline_units::names! {
    /// Which end summarises a flow's delays (RFC 8382 section 3.1); the sending host groups the flows in either case.
    pub enum SummaryEnd {
        /// The receiver, which sends its summary once an interval: scenario 2.
        Receiver = "receiver",
        /// The sender, from the arrival times in RFC 8888's reports: scenario 1.
        Sender = "sender",
    }
}

paceline_units::names! {
    /// Decision on two flows of which one passes no bottleneck at the moment; RFC 8382 section 3.3.2 leaves it open.
    pub enum NoBottleneck {
        /// None: the last verdict stays. Flows that are coupled keep their queue short, so that none of them may look as if it passed a
        /// bottleneck any more.
        Keeps = "keeps",
        /// They are apart.
        Parts = "parts",
    }
}

paceline_units::params! {
    /// Every constant of shared-bottleneck detection. `Default` is the profile `rfc8382`.
    pub struct Params {
        at: SummaryEnd = SummaryEnd::Receiver, "RFC 8382 3.1", "Which end summarises the delays: the receiver by its own clock, or the sender from RFC 8888's reports";
        interval("T"): TimeDelta = TimeDelta::from_millis(350), in 0.01, 60.0, "RFC 8382 2.2: T", "Time over which delays are averaged";
        n("N"): u64 = 50, in 2.0, 1000.0, "RFC 8382 2.2: N", "Intervals of which mean crossings and losses are counted";
        m("M"): u64 = 30, in 2.0, 1000.0, "RFC 8382 2.2: M", "Intervals in skewness, variability and the mean delay";
        f("F"): u64 = 20, in 1.0, 1000.0, "RFC 8382 2.2: F", "Of these, the newest, which weigh alike";
        c_s: f64 = 0.1, in -1.0, 1.0, "RFC 8382 2.2", "Skewness below which a flow has a bottleneck";
        c_h: f64 = 0.3, in -1.0, 1.0, "RFC 8382 2.2", "Skewness below which a flow that had a bottleneck still has one";
        p_l: f64 = 0.05, in 0.0, 1.0, "RFC 8382 gives none; FACTS 17", "Part of lost packets above which a flow has a bottleneck";
        p_f: f64 = 0.1, in 0.0, 1.0, "RFC 8382 2.2", "Difference of the frequencies of crossing that parts flows";
        p_mad: f64 = 0.1, in 0.0, 1.0, "RFC 8382 2.2", "Difference of the variabilities that parts flows, over the larger";
        p_s: f64 = 0.15, in 0.0, 2.0, "RFC 8382 2.2", "Difference of the skewnesses that parts flows";
        p_d: f64 = 0.1, in 0.0, 1.0, "RFC 8382 2.2", "Difference of the losses that parts flows, over the larger";
        p_v: f64 = 0.7, in 0.0, 100.0, "RFC 8382 2.2", "Variabilities beside the mean delay at which a crossing counts";
        invalid: Invalid = Invalid::AsZero, "RFC 8382 4.2", "Value of an interval without a bottleneck in the variability";
        stable: f64 = 0.9, in 0.0, 1.0, "RFC 8382 3.3.2", "Part of the last decisions that must have put two flows together before they are coupled";
        decisions: u64 = 10, in 1.0, 64.0, "ours", "Decisions of which that part is taken";
        no_bottleneck: NoBottleneck = NoBottleneck::Keeps, "RFC 8382 3.3.2 leaves it open", "Decision on two flows of which one passes no bottleneck now";
    }
    check in_order;
    profiles {
        "rfc8382": "The values of section 2.2" => Params::default,
        "searched": "Thresholds of most right decisions, found by the study coupled-search" => || Params {
            c_s: 0.901_377,
            c_h: 0.970_955,
            p_l: 0.489_232,
            p_f: 0.175_284,
            p_mad: 0.189_251,
            p_s: 0.189_898,
            p_d: 0.077_237,
            p_v: 1.014_27,
            stable: 0.922_451,
            decisions: 10,
            ..Params::default()
        },
        "steady": "Thresholds of most right decisions that change at most twice as often as those of rfc8382, by the same study" => || Params {
            c_s: -0.049_409,
            c_h: 0.964_141,
            p_l: 0.060_048,
            p_f: 0.088_566,
            p_mad: 0.151_938,
            p_s: 0.146_261,
            p_d: 0.394_608,
            p_v: 0.476_157,
            stable: 0.579_403,
            decisions: 27,
            ..Params::default()
        },
    }
}

/// The flat part of the weights lies within all, and these within what is kept (RFC 8382 section 2.1).
fn in_order(params: &Params) -> Result<(), ParamError> {
    if params.m > params.n {
        return Err(ParamError::new(
            "M",
            alloc::format!("{}", params.m),
            alloc::format!("at most N, {}", params.n),
        ));
    }
    if params.f > params.m {
        return Err(ParamError::new(
            "F",
            alloc::format!("{}", params.f),
            alloc::format!("at most M, {}", params.m),
        ));
    }
    if params.c_s > params.c_h {
        return Err(ParamError::new(
            "c_s",
            alloc::format!("{}", params.c_s),
            alloc::format!("at most c_h, {}", params.c_h),
        ));
    }
    Ok(())
}
