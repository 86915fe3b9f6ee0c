//! Which flows share a bottleneck (RFC 8382 section 3.3).

use super::params::{NoBottleneck, Params};
use super::statistics::DelaySummary;
use crate::FlowId;
use alloc::vec;
use alloc::vec::Vec;

/// The flows of `flows` that share a bottleneck, by what their summaries say alone (section 3.3.1). A flow that passes
/// none is in no group; one that shares its bottleneck with no other is a group of its own.
pub fn group(params: &Params, flows: &[(FlowId, DelaySummary)]) -> Vec<Vec<FlowId>> {
    let passes = |summary: &DelaySummary| summary.bottleneck && is_known(params, summary);
    let passing: Vec<_> = flows.iter().filter(|(_, summary)| passes(summary)).copied().collect();
    if passing.is_empty() {
        return Vec::new();
    }
    let absolute = |threshold: f64| move |_: f64| threshold;
    let relative = |threshold: f64| move |larger: f64| threshold * larger;
    let groups = split(vec![passing], |summary| summary.frequency, absolute(params.p_f));
    let groups = split(groups, |summary| summary.variability.as_secs_f64(), relative(params.p_mad));
    let groups = split(groups, |summary| summary.skewness, absolute(params.p_s));
    // Losses part flows only where they are frequent enough to be believed; rarer ones count as none.
    let believed = |summary: &DelaySummary| if summary.loss > params.p_l { summary.loss } else { 0.0 };
    let groups = split(groups, believed, relative(params.p_d));
    groups.into_iter().map(|group| group.into_iter().map(|(flow, _)| flow).collect()).collect()
}

/// Whether a summary is of intervals enough to compare it.
fn is_known(params: &Params, summary: &DelaySummary) -> bool {
    summary.intervals >= 2 * params.m
}

/// Parts each group where neighbours in the order of a figure, the highest first, differ by at least a threshold, which
/// is told the higher of the two.
fn split(
    groups: Vec<Vec<(FlowId, DelaySummary)>>,
    figure: impl Fn(&DelaySummary) -> f64,
    threshold: impl Fn(f64) -> f64,
) -> Vec<Vec<(FlowId, DelaySummary)>> {
    let mut parts = Vec::with_capacity(groups.len());
    for mut group in groups {
        group.sort_by(|(a, of_a), (b, of_b)| figure(of_b).total_cmp(&figure(of_a)).then(a.cmp(b)));
        let apart = |one: &(FlowId, DelaySummary), next: &(FlowId, DelaySummary)| {
            let (higher, lower) = (figure(&one.1), figure(&next.1));
            higher > lower && higher - lower >= threshold(higher)
        };
        parts.extend(group.chunk_by(|one, next| !apart(one, next)).map(<[_]>::to_vec));
    }
    parts
}

/// The decisions on two flows, the newest in the lowest bit: 1 where they were put together.
#[derive(Clone, Copy, Debug)]
struct Pair {
    flows: (FlowId, FlowId),
    together: u64,
    decisions: u64,
}

/// Groups of flows over time: two flows are coupled while most of the last decisions put them together (section 3.3.2).
#[derive(Clone, Debug)]
pub struct BottleneckGroups {
    params: Params,
    summaries: Vec<(FlowId, DelaySummary)>,
    pairs: Vec<Pair>,
}

impl BottleneckGroups {
    /// Groups of no flows.
    pub fn new(params: &Params) -> BottleneckGroups {
        BottleneckGroups { params: params.clone(), summaries: Vec::new(), pairs: Vec::new() }
    }

    /// A flow's newest summary, which enters it. A summary that cannot be ([`DelaySummary::is_possible`]) changes nothing.
    pub fn on_summary(&mut self, flow: FlowId, summary: &DelaySummary) {
        if !summary.is_possible() {
            return;
        }
        match self.summaries.binary_search_by_key(&flow, |(known, _)| *known) {
            Ok(place) => self.summaries[place].1 = *summary,
            Err(place) => {
                let pair = |&(other, _): &(FlowId, DelaySummary)| Pair {
                    flows: (flow.min(other), flow.max(other)),
                    together: 0,
                    decisions: 0,
                };
                self.pairs.extend(self.summaries.iter().map(pair));
                self.summaries.insert(place, (flow, *summary));
            }
        }
    }

    /// A flow has ended.
    pub fn remove(&mut self, flow: FlowId) {
        self.summaries.retain(|(known, _)| *known != flow);
        self.pairs.retain(|pair| pair.flows.0 != flow && pair.flows.1 != flow);
    }

    /// Decides anew, once an interval, and answers for each flow the lowest flow of its group: itself if it is alone.
    pub fn decide(&mut self) -> Vec<(FlowId, FlowId)> {
        let groups = group(&self.params, &self.summaries);
        let mut labels: Vec<(FlowId, FlowId)> = groups
            .iter()
            .flat_map(|group| {
                let lowest = group.iter().copied().min().unwrap_or(FlowId(0));
                group.iter().map(move |&flow| (flow, lowest))
            })
            .collect();
        labels.sort_unstable();
        let place = |flow| labels.binary_search_by_key(&flow, |(known, _)| *known).ok();
        let label = |flow| place(flow).map(|place| labels[place].1);
        let summary = |flow| self.summaries.binary_search_by_key(&flow, |(known, _)| *known);
        let known = |flow| summary(flow).is_ok_and(|place| is_known(&self.params, &self.summaries[place].1));
        let keeps = self.params.no_bottleneck == NoBottleneck::Keeps;
        for pair in &mut self.pairs {
            let (one, other) = (label(pair.flows.0), label(pair.flows.1));
            let passes_none = one.is_none() || other.is_none();
            if keeps && passes_none && known(pair.flows.0) && known(pair.flows.1) {
                continue;
            }
            pair.together = (pair.together << 1) | u64::from(one.is_some() && one == other);
            pair.decisions = pair.decisions.saturating_add(1);
        }
        self.coupled()
    }

    /// Whether two flows have been together often enough, and long enough to know.
    fn is_stable(&self, pair: &Pair) -> bool {
        let decisions = self.params.decisions.clamp(1, 64);
        let together = (pair.together << (64 - decisions)).count_ones();
        pair.decisions >= decisions && f64::from(together) >= self.params.stable * decisions as f64
    }

    /// Flows that stable pairs join, over others too, are one group.
    fn coupled(&self) -> Vec<(FlowId, FlowId)> {
        let mut groups: Vec<(FlowId, FlowId)> =
            self.summaries.iter().map(|&(flow, _)| (flow, flow)).collect();
        let find = |groups: &[(FlowId, FlowId)], flow| {
            groups.binary_search_by_key(&flow, |(known, _)| *known).map_or(flow, |place| groups[place].1)
        };
        for pair in self.pairs.iter().filter(|pair| self.is_stable(pair)) {
            let (one, other) = (find(&groups, pair.flows.0), find(&groups, pair.flows.1));
            let (low, high) = (one.min(other), one.max(other));
            groups.iter_mut().filter(|(_, lowest)| *lowest == high).for_each(|(_, lowest)| *lowest = low);
        }
        groups
    }
}
