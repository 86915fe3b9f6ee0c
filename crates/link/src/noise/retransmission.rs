//! Retransmission on the link layer (HARQ, ARQ): a packet whose transmission fails costs another round.

use super::stalls::{Span, Stalls};
use super::tries::Tries;
use super::{Process, Started, Streams, noise_params};
use paceline_units::param::{ParamError, Reason};
use paceline_units::{RandomStream, TimeDelta};

noise_params! {
    /// The parameters of retransmission. A packet that fails more often than it is repeated is lost before the queue.
    pub struct RetransmissionNoise {
        p: f64 = 0.1, as Required, in 0.0, 1.0, "", "Probability that a try fails; 10 % is what HARQ usually aims at";
        round: TimeDelta = TimeDelta::from_millis(16), as Required, in 1e-9, 1000.0, "", "Time that a failed try costs; 16 ms for HSPA's TTI of 2 ms and its 8 processes";
        retries: u32 = 7, in 0.0, 1000.0, "ours", "How often a packet is repeated; if all tries fail it is lost";
        bad: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "ours", "Mean time in a fade, exponential; 0s: there are no fades";
        good: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "ours", "Mean time between two fades, exponential, from 1ms where there are fades";
        p_bad: f64 = 0.5, in 0.0, 1.0, "ours", "Probability that a try fails in a fade";
    }
    idle without_fades;
    check fades_have_pauses;
}

fn without_fades(config: &RetransmissionNoise, name: &str) -> Option<Reason> {
    let is_idle = config.bad == TimeDelta::ZERO && matches!(name, "good" | "p_bad");
    is_idle.then(|| Reason::Useless("nothing: good and p_bad go with bad, the mean time in a fade".into()))
}

fn fades_have_pauses(config: &RetransmissionNoise) -> Result<(), ParamError> {
    if config.bad > TimeDelta::ZERO && config.good < TimeDelta::from_millis(1) {
        let found = paceline_units::text::format_time(config.good);
        return Err(ParamError::new("good", found, "a time of 1ms or more between two fades"));
    }
    Ok(())
}

/// State of one hop that retransmits.
#[derive(Clone, Debug)]
pub(super) struct Retransmission {
    round: f64,
    /// In the good state and in a fade.
    tries: [Tries; 2],
    /// The fades as departures and as offers see them: the same ones, looked at by two clocks of which each only advances.
    fades: Option<[Stalls; 2]>,
}

const DEPARTURES: usize = 0;
const OFFERS: usize = 1;

impl Retransmission {
    #[inline]
    fn tries_at(&mut self, at: u64, clock: usize) -> &Tries {
        let fades = self.fades.as_mut().is_some_and(|fades| fades[clock].end_at(at).is_some());
        &self.tries[usize::from(fades)]
    }
}

impl Started<RetransmissionNoise> for Retransmission {
    fn start(config: &RetransmissionNoise, streams: &Streams<'_>) -> Retransmission {
        let span = |mean: TimeDelta| Span::Exponential { mean: mean.as_nanos() as f64, max: f64::INFINITY };
        let part = config.bad.as_secs_f64() / (config.bad.as_secs_f64() + config.good.as_secs_f64());
        let fades = (config.bad > TimeDelta::ZERO).then(|| {
            let mut random = streams.named("fades");
            let in_fade = random.chance(part);
            let fades = Stalls::new(span(config.good), span(config.bad), in_fade, random);
            [fades.clone(), fades]
        });
        Retransmission {
            round: config.round.as_nanos() as f64,
            tries: [config.p, config.p_bad].map(|p| Tries::new(p, config.retries)),
            fades,
        }
    }
}

impl Process for Retransmission {
    #[inline]
    fn delay(&mut self, at: u64, random: &mut RandomStream) -> f64 {
        let failures = self.tries_at(at, DEPARTURES).failures(random);
        f64::from(failures) * self.round
    }

    fn can_lose(&self) -> bool {
        self.tries.iter().any(|tries| tries.residual() > 0.0)
    }

    fn loses(&mut self, at: u64, random: &mut RandomStream) -> bool {
        let residual = self.tries_at(at, OFFERS).residual();
        random.chance(residual)
    }
}
