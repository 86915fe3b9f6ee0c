//! The exchange's treatment of the messages of processes. No sockets and no clock: messages and times are handed in, answers asked
//! for.

use super::pace::Pace;
pub(super) use super::pool::ClientId;
use super::pool::Pool;
use super::report::{ExchangeCounters, Lines};
use super::{ExchangeLimits, terms};
use paceline_cc::shared_bottleneck::{DelaySummary, Params as Detection};
use paceline_cc::{AnyCoupling, Assigned, Assignment, Coupling, CouplingParams, FlowId, FlowUpdate};
use paceline_units::{Time, TimeDelta};
use paceline_wire::WireError;
use paceline_wire::exchange::{
    GroupKey, Join, Refusal, Reply, Request, State, Update, decode_request, encode_reply,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Refusals and other answers that wait for a process to read; it gets no more until it does.
const MOST_REPLIES: usize = 32;
/// Flows among which delays are compared, each with each; and the least time from one comparison to the next.
const MOST_DETECTED: usize = 64;
const LEAST_INTERVAL: TimeDelta = TimeDelta::from_millis(50);
/// For how long a process is not read that sends too fast.
const HOLD: TimeDelta = TimeDelta::from_millis(10);

/// A group: the one of all flows that have a key in common, or of those among them whose delays are alike, by the lowest seat of theirs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Place {
    key: GroupKey,
    seat: Option<usize>,
}

impl Place {
    fn declared(key: &GroupKey) -> Place {
        Place { key: key.clone(), seat: None }
    }
}

/// A process that is connected.
struct Client {
    /// Its number in the system.
    process: u32,
    /// When it last said something that could be read.
    heard: Time,
    pace: Pace,
    /// Until when it is not read, as it sends too fast.
    held_until: Time,
    /// Whether it ever was.
    flooded: bool,
    malformed: u32,
    flows: BTreeMap<u32, SharedFlow>,
    /// Answers that are no states.
    replies: VecDeque<Reply>,
    /// Flows whose state it is to hear. It hears the newest: however slowly it reads, nothing piles up.
    due: BTreeSet<u32>,
    /// The connection ends when it has heard everything.
    closing: bool,
}

impl Client {
    fn reply(&mut self, reply: Reply, counters: &mut ExchangeCounters) {
        if self.replies.len() < MOST_REPLIES {
            self.replies.push_back(reply);
        } else {
            counters.unheard += 1;
        }
    }
}

/// A flow of a process that shares.
struct SharedFlow {
    group: Place,
    /// Its seat in a pool, where groups follow from delays.
    seat: Option<usize>,
    /// Its last update, or the rate or window that it was given since.
    update: FlowUpdate,
    /// The flow within its group.
    member: FlowId,
    /// Number of its last update.
    number: u32,
    /// Assignment by its group since then, of which it has not heard.
    given: Option<Assigned>,
}

/// Flows that share, or have shared.
struct Group {
    params: CouplingParams,
    coupling: AnyCoupling,
    owners: BTreeMap<FlowId, (ClientId, u32)>,
    /// Flows that have joined so far.
    joined: u32,
}

impl Group {
    fn new(params: CouplingParams) -> Group {
        Group { coupling: AnyCoupling::new(&params), params, owners: BTreeMap::new(), joined: 0 }
    }

    /// A number that no member had before: to the group, a flow that comes back is another one, which may be another process's.
    fn next_member(&mut self) -> FlowId {
        let member = FlowId(self.joined);
        self.joined = self.joined.wrapping_add(1);
        member
    }
}

/// The terms of a flow that is to join.
struct JoinTerms {
    params: CouplingParams,
    /// How groups follow from delays; absent where they are declared.
    detection: Option<Detection>,
}

impl JoinTerms {
    fn of(join: &Join) -> Result<JoinTerms, Refused> {
        let kind = |text| (Refusal::Kind, text);
        let params = terms::read(&join.kind, &join.settings).map_err(kind)?;
        let detection = join.detection.as_deref().map(terms::read_detection).transpose().map_err(kind)?;
        let interval = detection.as_ref().map(|detection| detection.interval);
        if let Some(found) = interval.filter(|interval| *interval < LEAST_INTERVAL) {
            let [found, least] = [found, LEAST_INTERVAL].map(TimeDelta::as_millis_f64);
            return Err(kind(format!("T: found {found} ms, expected at least {least} ms")));
        }
        Ok(JoinTerms { params, detection })
    }

    /// The difference from the terms that a group has; absent if there is none.
    fn difference(&self, params: &CouplingParams, detection: Option<&Detection>) -> Option<String> {
        terms::difference(&self.params, params)
            .or_else(|| terms::other_detection(self.detection.as_ref(), detection))
    }
}

/// Why a request is refused.
type Refused = (Refusal, String);

/// The groups of a machine and the processes whose flows are in them.
pub(super) struct Service {
    limits: ExchangeLimits,
    clients: BTreeMap<ClientId, Client>,
    groups: BTreeMap<Place, Group>,
    /// Flows whose groups follow from delays.
    pools: BTreeMap<GroupKey, Pool>,
    pub counters: ExchangeCounters,
    pub lines: Lines,
    /// Assignments that are being handed to their owners.
    assignments: Vec<Assignment>,
}

impl Service {
    pub fn new(limits: &ExchangeLimits) -> Service {
        Service {
            limits: limits.clone(),
            clients: BTreeMap::new(),
            groups: BTreeMap::new(),
            pools: BTreeMap::new(),
            counters: ExchangeCounters::default(),
            lines: Lines::default(),
            assignments: Vec::new(),
        }
    }

    /// A process has connected; it may be one too many, and is told so.
    pub fn connect(&mut self, now: Time, id: ClientId, process: u32) {
        let full = self.clients.len() >= self.limits.processes;
        let mut client = Client {
            process,
            heard: now,
            pace: Pace::default(),
            held_until: Time::ZERO,
            flooded: false,
            malformed: 0,
            flows: BTreeMap::new(),
            replies: VecDeque::new(),
            due: BTreeSet::new(),
            closing: full,
        };
        if full {
            self.counters.turned_away += 1;
            let text =
                format!("processes: found {} connected, expected room for one more", self.limits.processes);
            self.lines.say(now, format!("process {process}: refused: {text}"));
            client.replies.push_back(Reply::Refused { flow: 0, refusal: Refusal::Full, text });
        } else {
            self.counters.processes += 1;
            client.replies.push_back(Reply::Welcome { expiry: self.limits.expiry });
        }
        self.clients.insert(id, client);
    }

    /// A process has closed its connection, or died: its flows leave.
    pub fn disconnect(&mut self, now: Time, id: ClientId) {
        let Some(client) = self.clients.get(&id) else { return };
        let (process, flows) = (client.process, client.flows.len());
        if flows > 0 {
            self.counters.vanished += 1;
            self.lines.say(now, format!("process {process}: vanished, {} of its flows leave", flows));
        }
        self.leave_all(now, id);
        self.clients.remove(&id);
    }

    /// When a process has been silent for too long, or one that is not read at `now` is read again.
    pub fn next_timeout(&self, now: Time) -> Option<Time> {
        let open = || self.clients.values().filter(|client| !client.closing);
        let expiries = open().map(|client| client.heard + self.limits.expiry);
        let held = open().map(|client| client.held_until).filter(|until| *until > now);
        let decisions = self.pools.values().map(Pool::next_timeout);
        expiries.chain(held).chain(decisions).min()
    }

    /// Lets the flows of processes leave that were silent for too long, and decides anew which flows share a bottleneck.
    pub fn handle_timeout(&mut self, now: Time) {
        self.expire(now);
        self.decide(now);
    }

    fn expire(&mut self, now: Time) {
        let expiry = self.limits.expiry;
        let silent = |client: &Client| !client.closing && client.heard + expiry <= now;
        let expired: Vec<_> =
            self.clients.iter().filter(|(_, client)| silent(client)).map(|(id, _)| *id).collect();
        for id in expired {
            let Some(client) = self.clients.get_mut(&id) else { continue };
            client.closing = true;
            let (process, flows) = (client.process, client.flows.len());
            let text = format!("silent for {} s, {flows} of its flows leave", expiry.as_secs_f64());
            self.lines.say(now, format!("process {process}: {text}"));
            self.counters.expired += 1;
            self.leave_all(now, id);
            if let Some(client) = self.clients.get_mut(&id) {
                client.reply(Reply::Refused { flow: 0, refusal: Refusal::Expired, text }, &mut self.counters);
            }
        }
    }

    /// Whether a process may be read now. A client that sends too fast waits, and its messages stay with it.
    pub fn may_read(&mut self, now: Time, id: ClientId) -> bool {
        let Some(client) = self.clients.get_mut(&id).filter(|client| !client.closing) else { return false };
        if now < client.held_until {
            return false;
        }
        let (interval, most) = self.limits.interval(client.flows.len());
        if client.pace.allows(now, interval, self.limits.burst.into()) {
            return true;
        }
        client.held_until = now + HOLD;
        self.counters.held_back += 1;
        if !client.flooded {
            client.flooded = true;
            let process = client.process;
            self.lines
                .say(now, format!("process {process}: more than {most} messages a second, read more slowly"));
        }
        false
    }

    /// A process has sent a message.
    pub fn receive(&mut self, now: Time, id: ClientId, bytes: &[u8]) {
        let Some(client) = self.clients.get_mut(&id).filter(|client| !client.closing) else { return };
        self.counters.messages += 1;
        client.pace.take(now, self.limits.interval(client.flows.len()).0);
        let request = match decode_request(bytes) {
            Ok(request) => request,
            Err(error) => return self.malformed(now, id, &error),
        };
        client.heard = now;
        let (flow, done) = match &request {
            Request::Join(join) => (join.update.flow.flow.0, self.join(now, id, join)),
            Request::Update(update) => (update.flow.flow.0, self.update(now, id, update)),
            Request::Leave { flow } => (*flow, self.leave(now, id, *flow)),
            Request::Delays { flow, summary } => (*flow, self.delays(id, *flow, summary)),
            Request::Alive { echo } => {
                client.reply(Reply::Alive { echo: *echo }, &mut self.counters);
                return;
            }
        };
        if let Err((refusal, text)) = done {
            self.counters.refused += 1;
            self.refuse(now, id, flow, refusal, text);
        }
    }

    /// Appends what a process is to hear next; false if there is nothing.
    pub fn next_message(&self, id: ClientId, bytes: &mut Vec<u8>) -> bool {
        let Some(client) = self.clients.get(&id) else { return false };
        let state = || client.due.first().and_then(|flow| self.state(client, *flow)).map(Reply::State);
        let reply = client.replies.front().cloned().or_else(state);
        if let Some(reply) = &reply {
            encode_reply(reply, bytes);
        }
        reply.is_some()
    }

    /// Notes that the message of [`Service::next_message`] has been sent.
    pub fn sent(&mut self, id: ClientId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.replies.pop_front().is_none()
            && let Some(flow) = client.due.pop_first()
            && let Some(shared) = client.flows.get_mut(&flow)
        {
            // It acts once; what is said later is news of the group.
            shared.given = None;
        }
    }

    /// Whether the connection of a process is to end: it has heard why, or does not read it.
    pub fn is_over(&self, id: ClientId, deaf: bool) -> bool {
        self.clients.get(&id).is_none_or(|client| client.closing && (deaf || client.replies.is_empty()))
    }

    fn state(&self, client: &Client, flow: u32) -> Option<State> {
        let shared = client.flows.get(&flow)?;
        let coupling = &self.groups.get(&shared.group)?.coupling;
        let members = coupling.members();
        let place = members.binary_search_by_key(&shared.member, |member| member.flow).ok()?;
        Some(State {
            flow,
            number: shared.number,
            assigned: shared.given,
            members: members.len() as u32,
            sum: coupling.sum(),
            rate: members[place].rate(),
        })
    }

    fn malformed(&mut self, now: Time, id: ClientId, error: &WireError) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let version = matches!(error, WireError::Unexpected { what: "version", .. });
        client.malformed += 1;
        client.closing = version || client.malformed >= self.limits.malformed;
        self.counters.malformed += 1;
        let closing = client.closing;
        let refusal = if version { Refusal::Version } else { Refusal::Malformed };
        self.refuse(now, id, 0, refusal, error.to_string());
        if closing {
            self.leave_all(now, id);
        }
    }

    fn refuse(&mut self, now: Time, id: ClientId, flow: u32, refusal: Refusal, text: String) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        self.lines.say(now, format!("process {}: refused: {text}", client.process));
        client.reply(Reply::Refused { flow, refusal, text }, &mut self.counters);
    }

    /// The terms that a flow is given to share by; an error if it cannot.
    fn admitted(&mut self, id: ClientId, join: &Join) -> Result<JoinTerms, Refused> {
        let Join { group: key, update, .. } = join;
        let terms = JoinTerms::of(join)?;
        // A group without flows remembers what they left. It has a place while there is one, and the next flow decides on the kind.
        let is_full = self.used() >= self.limits.groups;
        self.groups.retain(|found, group| {
            let is_own = found.seat.is_none() && found.key == *key;
            let is_of_use = if is_own { terms.difference(&group.params, None).is_none() } else { !is_full };
            !group.owners.is_empty() || is_of_use
        });
        let full = |what: &str, most: usize| {
            (Refusal::Full, format!("{what}: found {most}, expected room for one more"))
        };
        let most = match &terms.detection {
            Some(_) => self.limits.flows_per_group.min(MOST_DETECTED),
            None => self.limits.flows_per_group,
        };
        let flows = match self.terms_of(key) {
            Some((params, detection, flows)) => {
                if let Some(text) = terms.difference(params, detection) {
                    let text = format!("group {key}: {text}, as who was there first has it");
                    return Err((Refusal::Kind, text));
                }
                flows
            }
            None if self.used() >= self.limits.groups => return Err(full("groups", self.limits.groups)),
            None => 0,
        };
        if flows >= most {
            return Err(full(&format!("flows in group {key}"), most));
        }
        let known = self.clients.get(&id).map(|client| &client.flows);
        let more = known.is_some_and(|flows| {
            !flows.contains_key(&update.flow.flow.0) && flows.len() >= self.limits.flows_per_process
        });
        if more { Err(full("flows of a process", self.limits.flows_per_process)) } else { Ok(terms) }
    }

    /// Keys that have a group, or a pool of groups.
    fn used(&self) -> usize {
        self.groups.keys().filter(|place| place.seat.is_none()).count() + self.pools.len()
    }

    /// The terms by which flows of a key share, and how many flows do; absent if none has it.
    fn terms_of(&self, key: &GroupKey) -> Option<(&CouplingParams, Option<&Detection>, usize)> {
        if let Some(pool) = self.pools.get(key) {
            return Some((pool.params(), Some(pool.terms()), pool.len()));
        }
        let group = self.groups.get(&Place::declared(key))?;
        Some((&group.params, None, group.owners.len()))
    }

    /// A flow that joins its own group again has updated; a flow that joins another one has left the first.
    fn join(&mut self, now: Time, id: ClientId, join: &Join) -> Result<(), Refused> {
        let flow = join.update.flow.flow.0;
        let present = self.clients.get(&id).and_then(|client| client.flows.get(&flow));
        let present = present.map(|shared| shared.group.key == join.group);
        if present == Some(true) {
            let terms = JoinTerms::of(join)?;
            let known = self.terms_of(&join.group);
            if let Some(text) = known.and_then(|(params, detection, _)| terms.difference(params, detection)) {
                return Err((Refusal::Kind, format!("group {}: {text}, as it has joined", join.group)));
            }
            return self.update(now, id, &join.update);
        }
        let terms = self.admitted(id, join)?;
        if present.is_some() {
            self.leave(now, id, flow)?;
        }
        let Service { pools, groups, .. } = self;
        let has_group = |seat| groups.contains_key(&Place { key: join.group.clone(), seat: Some(seat) });
        let seat = terms.detection.map(|detection| {
            let pool = pools.entry(join.group.clone());
            let pool = pool.or_insert_with(|| Pool::new(&terms.params, &detection, now));
            pool.seat((id, flow), has_group)
        });
        let place = Place { key: join.group.clone(), seat };
        let Some(client) = self.clients.get_mut(&id) else { return Ok(()) };
        let (kind, priority) = (&join.kind, join.update.flow.priority.weight());
        let said = format!(
            "process {}: flow {flow} joins {} ({kind}), priority {priority}",
            client.process, join.group
        );
        self.lines.say(now, said);
        let update = FlowUpdate { taken: None, ..join.update.flow };
        let (number, member) = (join.update.number, FlowId(0));
        let shared = SharedFlow { group: place.clone(), seat, update, member, number, given: None };
        client.flows.insert(flow, shared);
        self.counters.joined += 1;
        self.enter(now, (id, flow), place, terms.params);
        Ok(())
    }

    /// A flow shares in a group from now on, with what is known of it.
    fn enter(&mut self, now: Time, (id, flow): (ClientId, u32), place: Place, params: CouplingParams) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let Some(shared) = client.flows.get_mut(&flow) else { return };
        let group = self.groups.entry(place.clone()).or_insert_with(|| Group::new(params));
        let member = group.next_member();
        group.owners.insert(member, (id, flow));
        (shared.group, shared.member) = (place.clone(), member);
        let answer = group.coupling.join(now, &FlowUpdate { flow: member, taken: None, ..shared.update });
        self.assignments.clear();
        self.assignments.extend_from_slice(answer);
        self.hand_over(&place);
        self.announce(&place);
    }

    /// A flow shares no more in its group, as it has ended or `goes_over` to another. With its last flow a group is gone where groups follow
    /// from delays.
    fn depart(&mut self, now: Time, place: &Place, member: FlowId, goes_over: bool) {
        let Some(group) = self.groups.get_mut(place) else { return };
        group.owners.remove(&member);
        let coupling = &mut group.coupling;
        let answer = if goes_over { coupling.go_over(now, member) } else { coupling.leave(now, member) };
        self.assignments.clear();
        self.assignments.extend_from_slice(answer);
        if place.seat.is_some() && group.owners.is_empty() {
            self.groups.remove(place);
        }
        self.hand_over(place);
        self.announce(place);
    }

    /// The delays of a flow whose group follows from them.
    fn delays(&mut self, id: ClientId, flow: u32, summary: &DelaySummary) -> Result<(), Refused> {
        let shared = self.clients.get(&id).and_then(|client| client.flows.get(&flow));
        let shared = shared.ok_or_else(|| not_joined(flow))?;
        let pool = shared.seat.and_then(|seat| Some((seat, self.pools.get_mut(&shared.group.key)?)));
        let declared = || (Refusal::Kind, format!("group {}: found delays, expected none", shared.group.key));
        let (seat, pool) = pool.ok_or_else(declared)?;
        pool.on_summary(seat, summary);
        Ok(())
    }

    /// Moves flows to the groups that follow from the delays up to now.
    fn decide(&mut self, now: Time) {
        let due: Vec<_> = self.pools.iter().filter(|(_, pool)| pool.next_timeout() <= now).collect();
        let due: Vec<GroupKey> = due.into_iter().map(|(key, _)| key.clone()).collect();
        for key in due {
            let Service { pools, clients, .. } = self;
            let Some(pool) = pools.get_mut(&key) else { continue };
            let rtt = |(id, flow): (ClientId, u32)| clients.get(&id)?.flows.get(&flow)?.update.rtt;
            let (params, moves) = (pool.params().clone(), pool.decide(now, rtt));
            for (owner, seat) in moves {
                self.regroup(now, owner, Place { key: key.clone(), seat: Some(seat) }, &params);
            }
        }
    }

    fn regroup(&mut self, now: Time, (id, flow): (ClientId, u32), place: Place, params: &CouplingParams) {
        let shared =
            self.clients.get(&id).and_then(|client| Some((client.process, client.flows.get(&flow)?)));
        let Some((process, shared)) = shared.filter(|(_, shared)| shared.group != place) else { return };
        let (before, member) = (shared.group.clone(), shared.member);
        self.depart(now, &before, member, true);
        self.counters.regrouped += 1;
        let with = self.groups.get(&place).map_or(0, |group| group.owners.len());
        let said = format!("process {process}: flow {flow} shares with {with} others of {}", place.key);
        self.lines.say(now, said);
        self.enter(now, (id, flow), place, params.clone());
    }

    fn update(&mut self, now: Time, id: ClientId, update: &Update) -> Result<(), Refused> {
        let flow = update.flow.flow.0;
        let Some(client) = self.clients.get_mut(&id) else { return Ok(()) };
        let shared = client.flows.get_mut(&flow).ok_or_else(|| not_joined(flow))?;
        shared.number = update.number;
        (shared.given, shared.update) = (None, update.flow);
        client.due.insert(flow);
        let (key, member) = (shared.group.clone(), shared.member);
        if let Some(group) = self.groups.get_mut(&key) {
            let answer = group.coupling.update(now, &FlowUpdate { flow: member, ..update.flow });
            self.assignments.clear();
            self.assignments.extend_from_slice(answer);
            self.hand_over(&key);
        }
        Ok(())
    }

    /// Lets all members of a group hear of it, as one has joined or left.
    fn announce(&mut self, place: &Place) {
        let Some(group) = self.groups.get(place) else { return };
        for (owner, flow) in group.owners.values() {
            if let Some(client) = self.clients.get_mut(owner) {
                client.due.insert(*flow);
            }
        }
    }

    /// Hands assignments of a group to their owners.
    fn hand_over(&mut self, place: &Place) {
        let Some(group) = self.groups.get(place) else { return };
        for assignment in self.assignments.drain(..) {
            let Some((owner, flow)) = group.owners.get(&assignment.flow) else { continue };
            let Some(client) = self.clients.get_mut(owner) else { continue };
            if let Some(shared) = client.flows.get_mut(flow) {
                (shared.given, shared.update.own) = (Some(assignment.assigned), assignment.assigned);
                client.due.insert(*flow);
            }
        }
    }

    fn leave(&mut self, now: Time, id: ClientId, flow: u32) -> Result<(), Refused> {
        let Some(client) = self.clients.get_mut(&id) else { return Ok(()) };
        let shared = client.flows.remove(&flow).ok_or_else(|| not_joined(flow))?;
        client.due.remove(&flow);
        self.counters.left += 1;
        self.lines.say(now, format!("process {}: flow {flow} leaves {}", client.process, shared.group.key));
        if let Some(seat) = shared.seat
            && let Some(pool) = self.pools.get_mut(&shared.group.key)
        {
            pool.leave(seat);
            if pool.len() == 0 {
                self.pools.remove(&shared.group.key);
            }
        }
        self.depart(now, &shared.group, shared.member, false);
        Ok(())
    }

    fn leave_all(&mut self, now: Time, id: ClientId) {
        let flows = self.clients.get(&id).map(|client| client.flows.keys().copied().collect());
        let flows: Vec<u32> = flows.unwrap_or_default();
        for flow in flows {
            // Each is a flow that has joined.
            let _ = self.leave(now, id, flow);
        }
    }
}

fn not_joined(flow: u32) -> Refused {
    (Refusal::NotJoined, format!("flow: found {flow}, expected one that has joined and has not left"))
}
