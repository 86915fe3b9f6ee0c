//! When and how the receiver of a flow reports.

use super::clock::{ClockSteps, ReceiverClock};
use paceline_ends::Conceals;
use paceline_units::param::Reason as Idle;
use paceline_units::{Time, TimeDelta, params};
use paceline_wire::FeedbackFormat;

params! {
    /// When the receiver reports: after so many packets, so long, or at a frame's end, whichever is first.
    pub struct FeedbackConfig {
        packets: u32 = 16, in 1.0, 16_384.0, "ours", "A report after so many packets";
        time: TimeDelta = TimeDelta::from_millis(40), in 1e-9, 1e6, "ours", "A report so long after the first packet that is not reported";
        marker: bool = true, "ours", "A report at a frame's end, which a packet with the marker bit is";
        by_rate: bool = false, "RFC 8298 4.2.2", "Reports come 1/min(50, max(2.5, R/10000)) s apart, R the rate of the media in bit/s over the last second: every 20 ms from 500 kbit/s on, every 400 ms up to 25 kbit/s; in place of packets, time and marker";
        clock: ReceiverClock = ReceiverClock::RFC8888, "RFC 8888 3.1", "Step of the arrival times";
        start: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "RFC 8888 3.1", "The receiver's clock at the run's zero; over RTP report timestamps wrap every 65536 s";
        format: FeedbackFormat = FeedbackFormat::Rfc8888, "RFC 8888", "How reports are written: twcc numbers the packets of all streams together, has no ECN field, and its clock is 1/4000s unless another is said";
        skew: f64 = 0.0, in -1000.0, 1000.0, "ours", "By how many parts per million the receiver's clock runs faster than the sender's";
        clock_steps: ClockSteps = ClockSteps::default(), else "it is never put", "ours", "`[[\"10s\", \"200ms\"], [\"20s\", \"-3s\"]]`: at these times of the run the receiver's clock is put forward by so much, or back. In order, at most 1000, each of at most 1000000s";
        overlap: u32 = 0, in 0.0, 16_384.0, "ours", "Packets before the first new one that a report covers again. With 0, what a lost report told is never told again: scream then takes it for arrived, gcc and um measure less than arrives";
        reorder_time: TimeDelta = TimeDelta::from_millis(200), in 0.0, 60.0, "ours: SCReAM's largest reordering window", "How long a late packet is still reported when later ones have arrived; at least as long as 256 packets take. Memory holds 32,768 packets at most";
        conceals: Conceals = Conceals::Nothing, "RFC 9743 7.6", "A receiver that does not comply conceals `losses`, `marks` or `all`: it says that a missing packet came when the next one did, and that a marked one was not";
    }
    idle said_by_rate;
}

/// Reports by the rate of the media need no other rule.
fn said_by_rate(config: &FeedbackConfig, name: &str) -> Option<Idle> {
    let is_useless = config.by_rate && ["packets", "time", "marker"].contains(&name);
    is_useless
        .then(|| Idle::Useless("nothing: with by_rate = true the media's rate says when to report".into()))
}

impl FeedbackConfig {
    /// The receiver's clock at `now`, before it is rounded to a step.
    #[inline]
    pub(super) fn skewed(&self, now: Time) -> Time {
        if self.skew == 0.0 && self.clock_steps.is_empty() { now } else { now + self.ahead(now) }
    }

    /// By how much a clock that is skewed or put is ahead of the sender's.
    #[cold]
    #[inline(never)]
    fn ahead(&self, now: Time) -> TimeDelta {
        let gained = TimeDelta::from_nanos((now.as_nanos() as f64 * self.skew / 1e6) as i64);
        gained + self.clock_steps.ahead(now)
    }

    /// The time that reports give for `now`.
    #[inline]
    pub(super) fn read(&self, now: Time) -> Time {
        self.clock.read(self.skewed(now) + self.start)
    }
}
