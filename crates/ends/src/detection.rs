//! Decisions on which flows share a bottleneck, over time, for whoever couples them: the exchange of a host, or one between processes.

use paceline_cc::FlowId;
use paceline_cc::shared_bottleneck::{BottleneckGroups, DelaySummary, Params};
use paceline_units::{Time, TimeDelta};

/// Loss and delay of a flow that share no blame with noise: this part of packets and this time more than without coupling, beside a
/// factor of each.
const WORSE_LOSS: (f64, f64) = (2.0, 0.02);
const WORSE_DELAY: (f64, TimeDelta) = (1.5, TimeDelta::from_millis(50));
/// A flow that was taken out of a group waits for this factor longer the next time, so often.
const LONGEST_WAIT: u32 = 6;

/// The effect of a detected group on a flow (RFC 8699 section 5.1: coupling is to be disabled where it causes a significant increase in delay or
/// loss).
#[derive(Clone, Debug, Default)]
struct Effect {
    /// Round trip in seconds, averaged over as many decisions as losses are: single ones vary by whole queues.
    round_trip: Option<f64>,
    /// Part of packets lost and round trip when it last was by itself.
    before: Option<(f64, Option<f64>)>,
    /// Decisions since then.
    coupled_for: u64,
    /// The decision until which it stays by itself.
    apart_until: u64,
    parted: u32,
}

impl Effect {
    /// A decision, of this number, coupled the flow or not, while it bears this. Answers whether it is to be by itself. Loss and delay are of
    /// the last `span` decisions.
    fn decided(&mut self, number: u64, couples: bool, borne: (f64, Option<TimeDelta>), span: u64) -> bool {
        if let Some(srtt) = borne.1.map(TimeDelta::as_secs_f64) {
            let mean = self.round_trip.get_or_insert(srtt);
            *mean += (srtt - *mean) / span.max(1) as f64;
        }
        let borne = (borne.0, self.round_trip);
        if number < self.apart_until || !couples {
            (self.before, self.coupled_for) = (Some(borne), 0);
            return number < self.apart_until;
        }
        self.coupled_for += 1;
        let Some((loss, delay)) = self.before.filter(|_| self.coupled_for > span) else { return false };
        let most = delay.map(|before| WORSE_DELAY.0 * before + WORSE_DELAY.1.as_secs_f64());
        let longer = most.zip(borne.1).is_some_and(|(most, now)| now > most);
        let worse = longer || borne.0 > WORSE_LOSS.0 * loss + WORSE_LOSS.1;
        if worse {
            self.apart_until = number + (span << self.parted.min(LONGEST_WAIT));
            self.parted += 1;
            self.coupled_for = 0;
        }
        worse
    }
}

/// A flow as the detection of shared bottlenecks knows it.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The newest summary of its delays.
    summary: Option<DelaySummary>,
    /// Decisions since that came.
    age: u64,
    effect: Effect,
}

/// Finds out once an interval which flows of one or several processes share a bottleneck (RFC 8382).
#[derive(Clone, Debug)]
pub struct Detection {
    groups: BottleneckGroups,
    /// Time between decisions, and when the next one is.
    interval: TimeDelta,
    next: Time,
    /// Decisions without a new summary after which a flow is forgotten: its last one is of older delays alone.
    forget: u64,
    flows: Vec<Seen>,
    /// Decisions so far.
    decisions: u64,
}

impl Detection {
    /// Groups of so many flows of which nothing is known, from `begin` on.
    pub fn new(params: &Params, begin: Time, flows: usize) -> Detection {
        Detection {
            groups: BottleneckGroups::new(params),
            interval: params.interval,
            next: begin + params.interval,
            forget: params.n,
            flows: vec![Seen::default(); flows],
            decisions: 0,
        }
    }

    /// When the next decision is due.
    pub fn next_timeout(&self) -> Time {
        self.next
    }

    /// Decisions so far.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// How often a flow was taken out of a group that made it worse off.
    pub fn parted(&self, flow: usize) -> u64 {
        self.flows.get(flow).map_or(0, |seen| seen.effect.parted.into())
    }

    /// The flow of this number is another one from now on, of which nothing is known.
    pub fn begin(&mut self, flow: usize) {
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, Seen::default());
        }
        self.flows[flow] = Seen::default();
        self.groups.remove(FlowId(flow as u32));
    }

    /// Decides by the newest summary and the smoothed round-trip time of each flow, and answers for each the lowest flow of its group.
    pub fn decide(
        &mut self,
        now: Time,
        summary: impl Fn(usize) -> Option<DelaySummary>,
        srtt: impl Fn(usize) -> Option<TimeDelta>,
    ) -> Vec<usize> {
        let late = now.saturating_since(self.next).as_nanos() / self.interval.as_nanos().max(1);
        self.next += self.interval * (late + 1);
        self.decisions += 1;
        for (flow, seen) in self.flows.iter_mut().enumerate() {
            let id = FlowId(flow as u32);
            let intervals = seen.summary.map_or(0, |summary| summary.intervals);
            match summary(flow).filter(|summary| summary.intervals != intervals) {
                Some(summary) => {
                    (seen.summary, seen.age) = (Some(summary), 0);
                    self.groups.on_summary(id, &summary);
                }
                None if seen.age == self.forget => self.groups.remove(id),
                None => seen.age += 1,
            }
        }
        let mut groups: Vec<usize> = (0..self.flows.len()).collect();
        for (FlowId(flow), FlowId(lowest)) in self.groups.decide() {
            groups[flow as usize] = lowest as usize;
        }
        self.part_who_is_worse_off(groups, srtt)
    }

    /// Flows that are worse off by coupling are by themselves for a while; the others of a group stay together.
    fn part_who_is_worse_off(
        &mut self,
        groups: Vec<usize>,
        srtt: impl Fn(usize) -> Option<TimeDelta>,
    ) -> Vec<usize> {
        let mut parted = vec![false; groups.len()];
        for (flow, Seen { summary, effect, .. }) in self.flows.iter_mut().enumerate() {
            let Some(summary) = summary else { continue };
            let couples = groups.iter().filter(|group| **group == groups[flow]).count() > 1;
            parted[flow] = effect.decided(self.decisions, couples, (summary.loss, srtt(flow)), self.forget);
        }
        let lowest = |flow: usize| {
            let mut others =
                (0..groups.len()).filter(|&other| groups[other] == groups[flow] && !parted[other]);
            if parted[flow] { flow } else { others.next().unwrap_or(flow) }
        };
        (0..groups.len()).map(lowest).collect()
    }
}
