//! Where in its cycle ProbeBW is, and when it probes again (section "Time Scale for Bandwidth Probing").

use super::Params;
use crate::draw::drawn;
use paceline_units::{Time, TimeDelta};

/// `BBR.ack_phase`: what acknowledgements say of the probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AckPhase {
    /// Nothing.
    Init,
    /// The pipe fills.
    Refilling,
    /// The probe has begun, and none of its packets is acknowledged.
    ProbeStarting,
    /// They are being acknowledged.
    ProbeFeedback,
    /// The probe is over, and they are still being acknowledged.
    ProbeStopping,
}

/// The state of the cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub ack_phase: AckPhase,
    /// `BBR.is_bw_probe_sample`: acknowledgements are of packets that probed, and no loss was answered.
    pub is_bw_probe_sample: bool,
    pub prev_probe_too_high: bool,
    pub prev_probe_precautionary: bool,
    pub rounds_since_probe_up: u64,
    bw_probe_wait: TimeDelta,
    cycle_stamp: Time,
}

impl Cycle {
    pub fn new() -> Cycle {
        Cycle {
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            rounds_since_probe_up: 0,
            bw_probe_wait: TimeDelta::ZERO,
            cycle_stamp: Time::ZERO,
        }
    }

    /// `PickProbeWait`, and the cycle's clock begins. Time and `delivered` tell flows apart.
    pub fn begin(&mut self, params: &Params, now: Time, delivered: u64) {
        let seed = now.as_nanos() ^ delivered.rotate_left(32);
        self.rounds_since_probe_up = u64::from(drawn(!seed) >> 31);
        let more = params.probe_wait_random.as_secs_f64() * f64::from(drawn(seed)) / 4_294_967_296.0;
        self.bw_probe_wait = params.probe_wait + TimeDelta::from_secs_f64(more);
        self.cycle_stamp = now;
    }

    /// `IsTimeToProbeBW`: after the drawn wait, or as many round trips as `target` packets in flight, 63 at most.
    pub fn is_time_to_probe(&self, params: &Params, now: Time, target: f64) -> bool {
        let rounds = target.min(params.reno_bound as f64);
        now.saturating_since(self.cycle_stamp) > self.bw_probe_wait
            || self.rounds_since_probe_up as f64 >= rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_come_after_two_to_three_seconds_or_62_to_63_rounds() {
        let params = Params::default();
        let (mut waits, mut rounds) = ((f64::MAX, 0.0f64), [0u32; 2]);
        for draw in 0..1000u64 {
            let mut cycle = Cycle::new();
            cycle.begin(&params, Time::from_nanos(draw * 1_234_567), draw * 1000);
            let wait = cycle.bw_probe_wait.as_secs_f64();
            waits = (waits.0.min(wait), waits.1.max(wait));
            rounds[cycle.rounds_since_probe_up as usize] += 1;
        }
        assert!((2.0..2.01).contains(&waits.0) && (2.99..3.0).contains(&waits.1), "{waits:?}");
        assert!(rounds.iter().all(|count| (430..570).contains(count)), "{rounds:?}");
    }

    #[test]
    fn a_small_flight_probes_as_often_as_reno_would() {
        let params = Params::default();
        let mut cycle = Cycle::new();
        cycle.begin(&params, Time::from_nanos(1_000_000_000), 0);
        let soon = Time::from_nanos(2_000_000_000);
        for (rounds, target, due) in [(19, 20.0, false), (20, 20.0, true), (62, 1e6, false), (63, 1e6, true)]
        {
            cycle.rounds_since_probe_up = rounds;
            assert_eq!(cycle.is_time_to_probe(&params, soon, target), due, "{rounds} of {target}");
        }
        cycle.rounds_since_probe_up = 0;
        let late = Time::from_nanos(1_000_000_000) + cycle.bw_probe_wait + TimeDelta::from_nanos(1);
        assert!(cycle.is_time_to_probe(&params, late, 1e6));
    }
}
