//! Loss-based control of the draft: As_hat follows the part of packets that are lost (draft-ietf-rmcat-gcc-02 section 6).

use super::Params;
use super::rates::{plus, times};
use crate::tfrc::equation::Equation;
use paceline_units::{Bitrate, Time, TimeDelta};

/// Counts packets until there are enough for a verdict on the part that is lost.
#[derive(Clone, Debug, Default)]
pub(super) struct LossCount {
    reported: u64,
    lost: u64,
}

/// TCP's segment, B.
const SEGMENT: f64 = 1000.0;
/// Fewer packets say nothing about a part of 2 %.
const FEWEST: u64 = 20;

impl LossCount {
    /// A report told of packets.
    pub(super) fn add(&mut self, reported: u64, lost: u64) {
        (self.reported, self.lost) = (self.reported + reported, self.lost + lost);
    }

    /// The part that is lost, if there are enough packets for a verdict; counting begins anew then.
    pub(super) fn take(&mut self) -> Option<f64> {
        if self.reported < FEWEST {
            return None;
        }
        let part = self.lost as f64 / self.reported as f64;
        *self = LossCount::default();
        Some(part.min(1.0))
    }
}

/// The controller of one flow.
#[derive(Clone, Debug)]
pub(super) struct LossBased {
    params: Params,
    /// TCP's throughput, which a decrease does not go below.
    tcp: Option<Equation>,
    /// As_hat.
    estimate: Bitrate,
    count: LossCount,
    due: Option<Time>,
    /// The part of packets lost at the last verdict.
    part: Option<f64>,
}

impl LossBased {
    pub(super) fn new(params: &Params, start: Bitrate) -> LossBased {
        let count = LossCount::default();
        let of_tcp = || crate::tfrc::Params {
            b: 1,
            t_rto_rtts: 4.0,
            t_rto_min: TimeDelta::ZERO,
            ..Default::default()
        };
        let tcp = params.loss_tcp_floor.then(|| Equation::new(&of_tcp()));
        LossBased { params: params.clone(), tcp, estimate: start, count, due: None, part: None }
    }

    /// As_hat.
    pub(super) fn estimate(&self) -> Bitrate {
        self.estimate
    }

    /// The part of packets lost at the last verdict.
    pub(super) fn part(&self) -> Option<f64> {
        self.part
    }

    pub(super) fn set_estimate(&mut self, estimate: Bitrate) {
        self.estimate = estimate;
    }

    /// A report told of packets; `most` is A_hat, which As_hat does not leave behind: what was never sent was never tried.
    pub(super) fn on_report(
        &mut self,
        now: Time,
        reported: u64,
        lost: u64,
        most: Bitrate,
        rtt: Option<TimeDelta>,
    ) {
        self.count.add(reported, lost);
        if self.due.is_none_or(|due| now >= due)
            && let Some(part) = self.count.take()
        {
            self.due = Some(now + self.params.loss_interval);
            self.part = Some(part);
            self.estimate = self.changed(part, rtt);
        }
        self.estimate = self.estimate.min(most);
    }

    fn changed(&self, part: f64, rtt: Option<TimeDelta>) -> Bitrate {
        if part > self.params.loss_high {
            let tcp = self.tcp_rate(part, rtt).min(self.estimate);
            times(1.0 - self.params.loss_decrease * part, self.estimate).max(tcp)
        } else if part < self.params.loss_low {
            plus(times(self.params.loss_increase, self.estimate), self.params.loss_increase_extra)
        } else {
            self.estimate
        }
    }

    /// Rate that TCP would have with segments of 1000 B; zero where that does not count.
    fn tcp_rate(&self, part: f64, rtt: Option<TimeDelta>) -> Bitrate {
        let rtt = rtt.filter(|rtt| *rtt > TimeDelta::ZERO);
        let (Some(tcp), Some(rtt)) = (&self.tcp, rtt) else { return Bitrate::ZERO };
        Bitrate::from_bps_f64(8.0 * tcp.throughput(SEGMENT, rtt.as_secs_f64(), part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 6: kept between 2 and 10 %, As (1 - 0.5 p) above, 1.05 As below.
    #[test]
    fn the_estimate_follows_the_loss_ratio() {
        let most = Bitrate::from_mbps(10);
        for (lost, expected) in
            [(0, 1050), (1, 1050), (2, 1000), (10, 1000), (11, 945), (50, 750), (100, 500)]
        {
            let mut loss = LossBased::new(&Params::draft(), Bitrate::from_mbps(1));
            loss.on_report(Time::ZERO, 100, lost, most, None);
            assert_eq!(loss.estimate(), Bitrate::from_kbps(expected), "{lost} %");
        }
    }

    #[test]
    fn a_verdict_needs_twenty_packets_and_its_time() {
        let (mut loss, most) =
            (LossBased::new(&Params::draft(), Bitrate::from_mbps(1)), Bitrate::from_mbps(1));
        loss.on_report(Time::ZERO, 19, 19, most, None);
        assert_eq!(loss.estimate(), most);
        loss.on_report(Time::ZERO, 1, 1, most, None);
        assert_eq!(loss.estimate(), Bitrate::from_kbps(500));
        loss.on_report(Time::from_nanos(99_999_999), 100, 100, most, None);
        assert_eq!(loss.estimate(), Bitrate::from_kbps(500), "too soon");
        loss.on_report(Time::from_nanos(100_000_000), 1, 1, most, None);
        assert_eq!(loss.estimate(), Bitrate::from_kbps(250));
    }

    #[test]
    fn it_does_not_leave_the_delay_based_estimate_behind() {
        let mut loss = LossBased::new(&Params::draft(), Bitrate::from_mbps(1));
        loss.on_report(Time::ZERO, 100, 0, Bitrate::from_kbps(700), None);
        assert_eq!(loss.estimate(), Bitrate::from_kbps(700));
    }

    /// Segments of 1000 B, 100 ms and 20 % of loss: 8000 / (0.1 sqrt(0.4/3) + 0.4 x 3 sqrt(0.075) 0.2 (1 + 1.28)) bit/s.
    #[test]
    fn with_the_floor_of_2012_a_decrease_leaves_what_tcp_would_have() {
        let params = Params { loss_tcp_floor: true, loss_decrease: 1.0, ..Params::draft() };
        let (most, rtt) = (Bitrate::from_mbps(10), Some(TimeDelta::from_millis(100)));
        for (start, expected) in [(1000, 800_000), (50, 42_924), (30, 30_000)] {
            let mut loss = LossBased::new(&params, Bitrate::from_kbps(start));
            loss.on_report(Time::ZERO, 100, 20, most, rtt);
            assert_eq!(loss.estimate(), Bitrate::from_bps(expected), "{start} kbit/s");
        }
    }
}
