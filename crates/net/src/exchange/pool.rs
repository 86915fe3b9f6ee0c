//! Flows of several processes among which those are grouped that share a bottleneck, by their delays (RFC 8382).

use paceline_cc::CouplingParams;
use paceline_cc::shared_bottleneck::{DelaySummary, Params};
use paceline_ends::Detection;
use paceline_units::{Time, TimeDelta};

/// A connection of a process, counted from the exchange's start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ClientId(pub u64);

/// A flow of a process, by its number there.
pub(super) type Owner = (ClientId, u32);

/// A flow among others, and the newest summary of its delays.
struct Seat {
    owner: Owner,
    summary: Option<DelaySummary>,
}

/// Flows that may share a bottleneck, each on a seat: the number by which the detection knows it.
pub(super) struct Pool {
    params: CouplingParams,
    terms: Params,
    detection: Detection,
    seats: Vec<Option<Seat>>,
}

impl Pool {
    /// A pool of no flows, whose groups share by `params`.
    pub fn new(params: &CouplingParams, terms: &Params, now: Time) -> Pool {
        let (params, terms) = (params.clone(), terms.clone());
        Pool { detection: Detection::new(&terms, now, 0), params, terms, seats: Vec::new() }
    }

    /// The coupling of its groups.
    pub fn params(&self) -> &CouplingParams {
        &self.params
    }

    /// The constants of its detection.
    pub fn terms(&self) -> &Params {
        &self.terms
    }

    /// Number of flows.
    pub fn len(&self) -> usize {
        self.seats.iter().flatten().count()
    }

    /// When the next decision is due.
    pub fn next_timeout(&self) -> Time {
        self.detection.next_timeout()
    }

    /// Gives a flow the lowest free seat by which no group goes: flows of one that has left stay together until the next decision.
    pub fn seat(&mut self, owner: Owner, has_group: impl Fn(usize) -> bool) -> usize {
        let free = (0..self.seats.len()).find(|&seat| self.seats[seat].is_none() && !has_group(seat));
        let seat = free.unwrap_or_else(|| {
            self.seats.push(None);
            self.seats.len() - 1
        });
        self.seats[seat] = Some(Seat { owner, summary: None });
        self.detection.begin(seat);
        seat
    }

    /// The flow on a seat has ended.
    pub fn leave(&mut self, seat: usize) {
        if let Some(seat) = self.seats.get_mut(seat) {
            *seat = None;
        }
        self.detection.begin(seat);
    }

    /// The newest summary of the delays of the flow on a seat.
    pub fn on_summary(&mut self, seat: usize, summary: &DelaySummary) {
        if let Some(Some(seat)) = self.seats.get_mut(seat) {
            seat.summary = Some(*summary);
        }
    }

    /// Decides which flows share a bottleneck, by their delays and smoothed round-trip times; for each flow the lowest seat of its group.
    pub fn decide(&mut self, now: Time, rtt: impl Fn(Owner) -> Option<TimeDelta>) -> Vec<(Owner, usize)> {
        let Pool { detection, seats, .. } = self;
        let seat = |place: usize| seats.get(place).and_then(Option::as_ref);
        let groups = detection.decide(now, |place| seat(place)?.summary, |place| rtt(seat(place)?.owner));
        let owners = groups.into_iter().enumerate().map(|(place, lowest)| Some((seat(place)?.owner, lowest)));
        owners.flatten().collect()
    }
}
