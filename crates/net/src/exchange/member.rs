//! The flows of one process as members of groups that an exchange of the machine keeps. No socket and no clock.
//!
//! A flow goes by its own controller whenever the exchange is absent, silent or refuses it, and joins again later: with
//! what it has then, like any flow that begins. An assignment acts when it arrives, unless the flow's
//! controller has computed something new meanwhile: the exchange hears of that first, as a reduction is not to be undone.
//!
//! One update of a flow is on its way at a time. A value that its controller computes meanwhile is told with the next one, so a flow
//! whose window changes with every packet asks as often as it is answered, and not more.

use super::pace::Pace;
use paceline_cc::shared_bottleneck::DelaySummary;
use paceline_cc::{AnyCoupling, Assigned, CouplingParams, FlowId, FlowUpdate, Priority};
use paceline_ends::{Coupled, CoupledEnds, CoupledShare, PriorityStep};
use paceline_units::{Bitrate, Time, TimeDelta};
use paceline_wire::WireError;
use paceline_wire::exchange::{
    GroupKey, Join, Refusal, Reply, Request, State, Update, decode_reply, encode_request,
};

/// Time to the second attempt to connect; it doubles from one to the next.
const FIRST_RETRY: TimeDelta = TimeDelta::from_millis(100);
const LONGEST_RETRY: TimeDelta = TimeDelta::from_secs(2);
/// Time from one attempt of a refused flow to join to the next.
const BAR: TimeDelta = TimeDelta::from_secs(1);
/// Time between updates of a flow in the long run, and how many may follow each other at once.
const UPDATE_INTERVAL: TimeDelta = TimeDelta::from_millis(2);
const UPDATES_IN_A_ROW: i64 = 100;
/// How long the exchange may take to greet who has connected.
const GREETING: TimeDelta = TimeDelta::from_secs(1);
/// Time until the exchange is told again what it did not take, as it has not read what was sent before.
const LATER: TimeDelta = TimeDelta::from_millis(10);
/// An exchange that says less would keep its members busy, one that says more would not be missed.
const SHORTEST_EXPIRY: TimeDelta = TimeDelta::from_millis(100);
const LONGEST_EXPIRY: TimeDelta = TimeDelta::from_secs(3600);
/// Signs of life within the time after which a silent process has left.
const BEATS: i64 = 4;

/// The fate of a message that is to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sent {
    /// It is on its way.
    Done,
    /// The exchange has not read those before it.
    Later,
    /// There is no connection.
    Broken,
}

/// The way by which messages go to the exchange.
pub(super) trait Outlet {
    fn send(&mut self, message: &[u8]) -> Sent;
}

/// A flow as its group sees it.
#[derive(Clone, Debug)]
struct MemberFlow {
    /// The group that it shares in.
    group: GroupKey,
    priority: Priority,
    /// Number of its last update.
    number: u32,
    /// The last assignment as its controller took it, or the value that the exchange was told last; absent while it does not share.
    taken: Option<Assigned>,
    /// The desired rate and the priority that the exchange was told.
    desired: Option<Bitrate>,
    told_priority: Priority,
    /// Whether its last update is still to be answered.
    unanswered: bool,
    pace: Pace,
    /// Its state at the exchange.
    state: Option<State>,
    /// It does not join before.
    barred_until: Time,
    /// When the exchange is to be told what it could not be told before.
    again_at: Time,
    /// Intervals of the summary of its delays that the exchange was told last.
    told_intervals: u64,
    assignments: u64,
    refused: u64,
}

impl MemberFlow {
    /// It has left, or nobody is there to share with.
    fn shares_no_more(&mut self) {
        (self.taken, self.state, self.unanswered) = (None, None, false);
        (self.again_at, self.told_intervals) = (Time::MAX, 0);
    }
}

/// Whether the exchange is there.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Presence {
    /// No connection; the next attempt is due then.
    Away { retry_at: Time },
    /// Connected, and not greeted yet.
    Connected { until: Time },
    /// Connected, and the exchange has answered the greeting.
    Here {
        /// Time after which a silent process has left.
        expiry: TimeDelta,
        /// When the next sign of life is due.
        beat_at: Time,
        /// Since when it has not answered one.
        unanswered: Option<Time>,
    },
}

/// Errors between the process and the exchange.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Troubles {
    /// Whether the exchange ever was there.
    pub greeted: bool,
    /// Times that it went away, was silent, or was absent when it was looked for first.
    pub away: u64,
    /// How long it was not there in all.
    pub away_for: TimeDelta,
    /// Assignments of which a flow took less, as its packets did not bear them out.
    pub bounded: u64,
    /// Messages that it refused, and what it said of the first.
    pub refused: u64,
    pub first: Option<String>,
}

/// Terms by which flows share, as text ([`super::terms`]).
#[derive(Clone, Debug)]
pub(super) struct Terms {
    /// Kind of coupling.
    pub kind: String,
    /// Parameters of the kind.
    pub settings: String,
    /// Constants of the detection by which groups follow from delays; absent where they are declared.
    pub detection: Option<String>,
}

/// The flows of this process and the exchange.
#[derive(Clone, Debug)]
pub(super) struct Member {
    terms: Terms,
    /// [`AnyCoupling::exchanges_rates`] of their kind.
    exchanges_rates: bool,
    flows: Vec<MemberFlow>,
    /// Priorities that change, the next one last.
    steps: Vec<PriorityStep>,
    presence: Presence,
    /// Time from the next failure to connect to the attempt after it.
    retry: TimeDelta,
    away_since: Option<Time>,
    troubles: Troubles,
    bytes: Vec<u8>,
}

impl Member {
    /// Flows with their groups and first priorities. `steps` may come in any order.
    ///
    /// # Errors
    /// The name of a group, or the coupling's settings, cannot be told to an exchange.
    pub fn new(
        terms: Terms,
        flows: &[(GroupKey, Priority)],
        mut steps: Vec<PriorityStep>,
    ) -> Result<Member, WireError> {
        let flow = |(group, priority): &(GroupKey, Priority)| MemberFlow {
            group: group.clone(),
            priority: *priority,
            number: 0,
            taken: None,
            desired: None,
            told_priority: *priority,
            unanswered: false,
            pace: Pace::default(),
            state: None,
            barred_until: Time::ZERO,
            again_at: Time::MAX,
            told_intervals: 0,
            assignments: 0,
            refused: 0,
        };
        steps.sort_by(|a, b| b.at.cmp(&a.at).then(b.flow.cmp(&a.flow)));
        let params = CouplingParams::of(&terms.kind);
        let member = Member {
            exchanges_rates: params.is_some_and(|params| AnyCoupling::new(&params).exchanges_rates()),
            terms,
            flows: flows.iter().map(flow).collect(),
            steps,
            presence: Presence::Away { retry_at: Time::ZERO },
            retry: FIRST_RETRY,
            away_since: None,
            troubles: Troubles::default(),
            bytes: Vec::new(),
        };
        for (place, flow) in member.flows.iter().enumerate() {
            let (own, priority) = (Assigned::Rate(Bitrate::ZERO), flow.priority);
            let flow = FlowUpdate { flow: FlowId(0), own, taken: None, desired: None, rtt: None, priority };
            encode_request(&member.join(place, Update { number: 0, flow }), &mut Vec::new())?;
        }
        Ok(member)
    }

    fn join(&self, place: usize, update: Update) -> Request {
        let Terms { kind, settings, detection } = self.terms.clone();
        Request::Join(Join { group: self.flows[place].group.clone(), kind, settings, detection, update })
    }

    /// When something is due: a priority, a sign of life, another attempt to connect.
    pub fn next_timeout(&self) -> Time {
        let step = self.steps.last().map_or(Time::MAX, |step| step.at);
        let presence = match self.presence {
            Presence::Away { retry_at } => retry_at,
            Presence::Connected { until } => until,
            Presence::Here { expiry, beat_at, unanswered } => {
                unanswered.map_or(Time::MAX, |since| since + expiry).min(beat_at)
            }
        };
        let again = self.flows.iter().map(|flow| flow.again_at).min();
        step.min(presence).min(again.unwrap_or(Time::MAX))
    }

    /// Whether the time has come to connect.
    pub fn wants_connection(&self, now: Time) -> bool {
        matches!(self.presence, Presence::Away { retry_at } if retry_at <= now)
    }

    /// Whether there is a connection, as far as is known.
    pub fn is_connected(&self) -> bool {
        !matches!(self.presence, Presence::Away { .. })
    }

    /// There is a connection.
    pub fn connected(&mut self, now: Time) {
        self.presence = Presence::Connected { until: now + GREETING };
    }

    /// There is no connection any more, or there was none to be had.
    pub fn lost(&mut self, now: Time) {
        if self.away_since.is_none() {
            self.away_since = Some(now);
            self.troubles.away += 1;
        }
        self.presence = Presence::Away { retry_at: now + self.retry };
        self.retry = (self.retry * 2).min(LONGEST_RETRY);
        self.flows.iter_mut().for_each(MemberFlow::shares_no_more);
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Time, ends: &mut impl CoupledEnds, outlet: &mut impl Outlet) {
        while let Some(&step) = self.steps.last().filter(|step| step.at <= now) {
            self.steps.pop();
            self.flows[step.flow].priority = step.priority;
            self.after_event(now, step.flow, ends, outlet);
        }
        for place in 0..self.flows.len() {
            if self.flows[place].again_at <= now {
                self.flows[place].again_at = Time::MAX;
                self.after_event(now, place, ends, outlet);
            }
        }
        match &mut self.presence {
            Presence::Connected { until } if *until <= now => self.lost(now),
            Presence::Here { expiry, unanswered: Some(since), .. } if *since + *expiry <= now => {
                self.lost(now)
            }
            Presence::Here { expiry, beat_at, unanswered } if *beat_at <= now => {
                *beat_at = now + TimeDelta::from_nanos(expiry.as_nanos() / BEATS);
                unanswered.get_or_insert(now);
                self.send(now, &Request::Alive { echo: now.as_nanos() }, None, outlet);
            }
            _ => {}
        }
    }

    /// Something happened at a flow: if what its controller steers by has changed, the exchange hears of it.
    pub fn after_event(
        &mut self,
        now: Time,
        place: usize,
        ends: &impl CoupledEnds,
        outlet: &mut impl Outlet,
    ) {
        if !matches!(self.presence, Presence::Here { .. }) {
            return;
        }
        let known = &self.flows[place];
        match ends.share(place) {
            None => self.leave(now, place, outlet),
            Some(own) => {
                let told = known.taken == Some(own)
                    && known.desired == ends.desired(place)
                    && known.told_priority == known.priority;
                if !told {
                    self.tell(now, place, own, ends, outlet);
                }
                self.tell_delays(now, place, ends, outlet);
            }
        }
    }

    /// An exchange that groups flows by their delays hears of each new summary, once the flow has joined.
    fn tell_delays(&mut self, now: Time, place: usize, ends: &impl CoupledEnds, outlet: &mut impl Outlet) {
        let known = &self.flows[place];
        if self.terms.detection.is_none() || known.state.is_none() {
            return;
        }
        let is_new = |summary: &DelaySummary| summary.intervals != known.told_intervals;
        let Some(summary) = ends.delay_summary(place).filter(is_new) else { return };
        let request = Request::Delays { flow: place as u32, summary };
        if self.send(now, &request, Some(place), outlet) == Sent::Done {
            self.flows[place].told_intervals = summary.intervals;
        }
    }

    /// A change that the exchange is not told now is told later: an update says all that has changed since the last one.
    fn tell(
        &mut self,
        now: Time,
        place: usize,
        own: Assigned,
        ends: &impl CoupledEnds,
        outlet: &mut impl Outlet,
    ) {
        let flow = &mut self.flows[place];
        let (desired, rtt) = (ends.desired(place), ends.srtt(place));
        let no_rate_yet = rtt.is_none() && matches!(own, Assigned::Window(_));
        // An answer, or the first round-trip time, is an occasion of its own.
        if flow.unanswered || no_rate_yet {
            return;
        }
        let may_tell = flow.pace.next(UPDATE_INTERVAL, UPDATES_IN_A_ROW).max(flow.barred_until);
        if may_tell > now {
            flow.again_at = may_tell;
            return;
        }
        let number = flow.number.wrapping_add(1);
        let (taken, priority) = (flow.taken, flow.priority);
        let update = FlowUpdate { flow: FlowId(place as u32), own, taken, desired, rtt, priority };
        let update = Update { number, flow: update };
        let request = if taken.is_none() { self.join(place, update) } else { Request::Update(update) };
        if self.send(now, &request, Some(place), outlet) == Sent::Done {
            let flow = &mut self.flows[place];
            (flow.number, flow.taken, flow.desired) = (number, Some(own), desired);
            (flow.told_priority, flow.unanswered) = (priority, true);
            flow.pace.take(now, UPDATE_INTERVAL);
        }
    }

    fn leave(&mut self, now: Time, place: usize, outlet: &mut impl Outlet) {
        if self.flows[place].taken.is_some()
            && self.send(now, &Request::Leave { flow: place as u32 }, Some(place), outlet) == Sent::Done
        {
            self.flows[place].shares_no_more();
        }
    }

    /// Sends what is about a flow, or about none.
    fn send(&mut self, now: Time, request: &Request, flow: Option<usize>, outlet: &mut impl Outlet) -> Sent {
        self.bytes.clear();
        // Group and settings were found to fit at the beginning.
        let sent = match encode_request(request, &mut self.bytes) {
            Ok(()) => outlet.send(&self.bytes),
            Err(_) => Sent::Later,
        };
        match (sent, flow) {
            (Sent::Broken, _) => self.lost(now),
            (Sent::Later, Some(place)) => self.flows[place].again_at = now + LATER,
            _ => {}
        }
        sent
    }

    /// The exchange has sent a message.
    pub fn receive(
        &mut self,
        now: Time,
        bytes: &[u8],
        ends: &mut impl CoupledEnds,
        outlet: &mut impl Outlet,
    ) {
        if let Presence::Here { unanswered, .. } = &mut self.presence {
            *unanswered = None;
        }
        match decode_reply(bytes) {
            Ok(Reply::Welcome { expiry }) => self.welcomed(now, expiry, ends, outlet),
            Ok(Reply::State(state)) => self.take(now, state, ends, outlet),
            Ok(Reply::Refused { flow, refusal, text }) => self.refused(now, flow, refusal, text),
            Ok(Reply::Alive { .. }) => {}
            // A program that speaks so is no exchange of this version.
            Err(error) => self.refused(now, 0, Refusal::Version, error.to_string()),
        }
    }

    fn welcomed(&mut self, now: Time, expiry: TimeDelta, ends: &impl CoupledEnds, outlet: &mut impl Outlet) {
        self.troubles.greeted = true;
        self.retry = FIRST_RETRY;
        if let Some(since) = self.away_since.take() {
            self.troubles.away_for += now - since;
        }
        let expiry = expiry.clamp(SHORTEST_EXPIRY, LONGEST_EXPIRY);
        let beat_at = now + TimeDelta::from_nanos(expiry.as_nanos() / BEATS);
        self.presence = Presence::Here { expiry, beat_at, unanswered: None };
        for place in 0..self.flows.len() {
            self.after_event(now, place, ends, outlet);
        }
    }

    fn take(&mut self, now: Time, state: State, ends: &mut impl CoupledEnds, outlet: &mut impl Outlet) {
        let place = state.flow as usize;
        let Some(flow) = self.flows.get_mut(place) else { return };
        if flow.taken.is_none() || flow.number != state.number {
            return;
        }
        if flow.state.is_none() && self.exchanges_rates {
            ends.exchanges_rates(place);
        }
        (flow.state, flow.unanswered) = (Some(state), false);
        let (own, desired, rtt) = (flow.taken, ends.desired(place), ends.srtt(place));
        let priority = flow.priority;
        let is_alone = own.is_some_and(|own| {
            let told = FlowUpdate { flow: FlowId(state.flow), own, taken: None, desired, rtt, priority };
            told.is_alone(state.members as usize, state.sum)
        });
        if let Some(assigned) = state.assigned.filter(|_| !is_alone && ends.share(place) == own) {
            flow.assignments += 1;
            let bounded = ends.bound(now, place, assigned);
            self.troubles.bounded += u64::from(bounded != assigned);
            ends.assign(now, place, bounded);
            // A flow that has just ended leaves with its own next event.
            flow.taken = ends.share(place).or(flow.taken);
        }
        self.after_event(now, place, ends, outlet);
    }

    fn refused(&mut self, now: Time, flow: u32, refusal: Refusal, text: String) {
        self.troubles.refused += 1;
        self.troubles.first.get_or_insert(text);
        match refusal {
            Refusal::Version | Refusal::Expired => self.lost(now),
            // Too many processes: the connection was not welcome.
            Refusal::Full if matches!(self.presence, Presence::Connected { .. }) => self.lost(now),
            Refusal::Kind | Refusal::NotJoined | Refusal::Full => {
                if let Some(flow) = self.flows.get_mut(flow as usize) {
                    flow.refused += 1;
                    flow.shares_no_more();
                    (flow.barred_until, flow.again_at) = (now + BAR, now + BAR);
                }
            }
            Refusal::Malformed => {}
        }
    }

    /// All flows leave, as the process ends.
    pub fn finish(&mut self, now: Time, outlet: &mut impl Outlet) -> Troubles {
        (0..self.flows.len()).for_each(|place| self.leave(now, place, outlet));
        if let Some(since) = self.away_since.take() {
            self.troubles.away_for += now - since;
        }
        self.troubles.clone()
    }

    /// A flow's share in its group, to look at.
    pub fn coupled(&self, place: usize) -> Coupled {
        let flow = &self.flows[place];
        let share = flow.state.map(|State { sum, rate, .. }| {
            let (desired, priority) = (flow.desired, flow.priority);
            CoupledShare { sum, rate, desired, priority }
        });
        Coupled { group: 0, share, assignments: flow.assignments, ignored: flow.refused, parted: 0 }
    }
}
