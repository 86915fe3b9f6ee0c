//! The sending ends that leave one machine: a flow by itself, or several that share an exchange.

use crate::any_flow::AnyFlow;
use crate::edge::{Edges, Numbered};
use crate::net::Net;
use paceline_cc::Assigned;
use paceline_cc::shared_bottleneck::DelaySummary;
use paceline_ends::{CoupledEnds, Exchange};
use paceline_metrics::{PairsRecorder, Tick};
use paceline_units::{Bitrate, Time, TimeDelta};

/// Flows by their numbers.
pub type Flows<'a> = Numbered<&'a mut [AnyFlow]>;

/// A component of senders. Which one is asked once per window, not per packet.
pub enum Host {
    /// One flow, by its number.
    Alone(usize),
    /// Flows of which an update of one is an assignment of all, at the same instant.
    Coupled(CoupledHost),
}

/// Several flows, run in one order of events.
pub struct CoupledHost {
    /// Their numbers; in the exchange a flow is its place here.
    flows: Vec<usize>,
    exchange: Exchange,
    /// Told of the decisions on the groups, where they are not fixed.
    pairs: Option<PairsRecorder>,
}

impl Host {
    /// A host of the flows with these numbers; there is one at least. `pairs` is told how they are grouped.
    pub fn coupled(flows: Vec<usize>, exchange: Exchange, pairs: Option<PairsRecorder>) -> Host {
        Host::Coupled(CoupledHost { flows, exchange, pairs })
    }

    /// The decisions on the pairs of its flows, where there are any.
    pub fn pairs(&self) -> Option<&PairsRecorder> {
        match self {
            Host::Alone(_) => None,
            Host::Coupled(host) => host.pairs.as_ref(),
        }
    }

    /// The numbers of its flows.
    pub fn flows(&self) -> &[usize] {
        match self {
            Host::Alone(flow) => std::slice::from_ref(flow),
            Host::Coupled(host) => &host.flows,
        }
    }

    /// Events at its flows.
    pub fn events(&self, flows: &Flows<'_>) -> u64 {
        self.flows().iter().map(|&flow| flows[flow].events()).sum()
    }

    /// When something happens next at one of its senders.
    pub fn next(&self, flows: &[AnyFlow], edges: &Edges) -> Time {
        let next = self.flows().iter().map(|&flow| flows[flow].sender_next(edges)).min().unwrap_or(Time::MAX);
        match self {
            Host::Alone(_) => next,
            Host::Coupled(host) => {
                let silent = self.flows().iter().map(|&flow| flows[flow].silent_at()).min();
                next.min(host.exchange.next_timeout().unwrap_or(Time::MAX)).min(silent.unwrap_or(Time::MAX))
            }
        }
    }

    /// Lets everything happen at its senders before `until`.
    pub fn advance(&mut self, until: Time, flows: &mut Flows<'_>, net: &mut Net) {
        match self {
            Host::Alone(flow) => flows[*flow].advance_sender(until, net),
            Host::Coupled(host) => host.advance(until, flows, net),
        }
    }
}

impl CoupledHost {
    fn advance(&mut self, until: Time, flows: &mut Flows<'_>, net: &mut Net) {
        while let Some((place, tick)) = self.next_tick(until, flows) {
            self.run(tick.covers(), flows, net);
            flows[self.flows[place]].look_at_coupled_sender(tick, self.exchange.coupled(place));
        }
        self.run(until, flows, net);
    }

    /// The place of the flow that is looked at next, and when.
    fn next_tick(&self, until: Time, flows: &Flows<'_>) -> Option<(usize, Tick)> {
        let ticks = self.flows.iter().enumerate();
        let ticks = ticks.filter_map(|(place, &flow)| Some((place, flows[flow].sender_tick(until)?)));
        ticks.min_by_key(|(_, tick)| tick.covers())
    }

    /// Of events at the same time a change of priority comes first, then the flows that fall silent, and then the others in their order.
    fn run(&mut self, until: Time, flows: &mut Flows<'_>, net: &mut Net) {
        loop {
            let next = |place: &usize| flows[self.flows[*place]].sender_next(&net.edges);
            let Some(place) = (0..self.flows.len()).min_by_key(next) else { return };
            let due = next(&place);
            let silent_at = |place: &usize| flows[self.flows[*place]].silent_at();
            let silent = (0..self.flows.len()).min_by_key(silent_at).filter(|place| {
                let at = silent_at(place);
                at <= due && at < until && self.exchange.next_timeout().is_none_or(|next| at < next)
            });
            if let Some(place) = silent {
                let at = silent_at(&place);
                let mut ends = HostEnds { numbers: &self.flows, flows, net };
                ends.flows[self.flows[place]].fall_silent();
                self.exchange.after_event(at, place, &mut ends);
                continue;
            }
            let mut ends = HostEnds { numbers: &self.flows, flows, net };
            match self.exchange.next_timeout().filter(|&at| at <= due && at < until) {
                Some(at) => {
                    let before = self.exchange.decisions();
                    self.exchange.handle_timeout(at, &mut ends);
                    if let Some(pairs) = self.pairs.as_mut().filter(|_| self.exchange.decisions() > before) {
                        pairs.decided(at, &self.exchange.groups().collect::<Vec<_>>());
                    }
                }
                None => {
                    let flow = self.flows[place];
                    let Some(event) = ends.flows[flow].handle_next(until, ends.net) else { return };
                    // Nothing leaves by a rate that the others are to share; what leaves may tell the controller more.
                    self.exchange.after_event(event.now, place, &mut ends);
                    ends.flows[flow].send_due(event, ends.net);
                    self.exchange.after_event(event.now, place, &mut ends);
                }
            }
        }
    }
}

/// The flows of a host as its exchange sees them: by their places.
struct HostEnds<'a, 'f> {
    numbers: &'a [usize],
    flows: &'a mut Flows<'f>,
    net: &'a mut Net,
}

impl HostEnds<'_, '_> {
    fn flow(&self, place: usize) -> &AnyFlow {
        &self.flows[self.numbers[place]]
    }
}

impl CoupledEnds for HostEnds<'_, '_> {
    fn share(&self, place: usize) -> Option<Assigned> {
        self.flow(place).share()
    }

    fn desired(&self, place: usize) -> Option<Bitrate> {
        self.flow(place).desired()
    }

    fn srtt(&self, place: usize) -> Option<TimeDelta> {
        self.flow(place).round_trip()
    }

    fn delay_summary(&self, place: usize) -> Option<DelaySummary> {
        self.flow(place).delay_summary().copied()
    }

    fn exchanges_rates(&mut self, place: usize) {
        self.flows[self.numbers[place]].exchange_rates();
    }

    fn assign(&mut self, now: Time, place: usize, assigned: Assigned) {
        self.flows[self.numbers[place]].assign(now, assigned, self.net);
    }
}
