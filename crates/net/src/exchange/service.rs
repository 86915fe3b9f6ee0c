//! The exchange's treatment of the messages of processes. No sockets and no clock: messages and times are handed in, answers asked
//! for.

use super::pace::Pace;
use super::report::{ExchangeCounters, Lines};
use super::{ExchangeLimits, terms};
use paceline_cc::{AnyCoupling, Assigned, Assignment, Coupling, CouplingParams, FlowId, FlowUpdate};
use paceline_units::{Time, TimeDelta};
use paceline_wire::WireError;
use paceline_wire::exchange::{
    GroupKey, Join, Refusal, Reply, Request, State, Update, decode_request, encode_reply,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Refusals and other answers that wait for a process to read; it gets no more until it does.
const MOST_REPLIES: usize = 32;
/// For how long a process is not read that sends too fast.
const HOLD: TimeDelta = TimeDelta::from_millis(10);

/// A connection of a process, counted from the exchange's start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct ClientId(pub u64);

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
    group: GroupKey,
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

/// Why a request is refused.
type Refused = (Refusal, String);

/// The groups of a machine and the processes whose flows are in them.
pub(super) struct Service {
    limits: ExchangeLimits,
    clients: BTreeMap<ClientId, Client>,
    groups: BTreeMap<GroupKey, Group>,
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
        expiries.chain(held).min()
    }

    /// Lets the flows of processes leave that were silent for too long.
    pub fn handle_timeout(&mut self, now: Time) {
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

    /// The coupling that a flow is given to share by; an error if it cannot.
    fn admitted(&mut self, id: ClientId, join: &Join) -> Result<CouplingParams, Refused> {
        let Join { group: key, kind, settings, update } = join;
        let params = terms::read(kind, settings).map_err(|text| (Refusal::Kind, text))?;
        // A group without flows remembers what they left. It has a place while there is one, and the next flow decides on the kind.
        let is_full = self.groups.len() >= self.limits.groups;
        self.groups.retain(|found, group| {
            let is_of_use =
                if found == key { terms::difference(&params, &group.params).is_none() } else { !is_full };
            !group.owners.is_empty() || is_of_use
        });
        let full = |what: &str, most: usize| {
            (Refusal::Full, format!("{what}: found {most}, expected room for one more"))
        };
        match self.groups.get(key) {
            Some(group) => {
                if let Some(text) = terms::difference(&params, &group.params) {
                    return Err((
                        Refusal::Kind,
                        format!("group {key}: {text}, as who was there first has it"),
                    ));
                }
                if group.owners.len() >= self.limits.flows_per_group {
                    return Err(full(&format!("flows in group {key}"), self.limits.flows_per_group));
                }
            }
            None if self.groups.len() >= self.limits.groups => {
                return Err(full("groups", self.limits.groups));
            }
            None => {}
        }
        let known = self.clients.get(&id).map(|client| &client.flows);
        let more = known.is_some_and(|flows| {
            !flows.contains_key(&update.flow.flow.0) && flows.len() >= self.limits.flows_per_process
        });
        if more { Err(full("flows of a process", self.limits.flows_per_process)) } else { Ok(params) }
    }

    /// A flow that joins its own group again has updated; a flow that joins another one has left the first.
    fn join(&mut self, now: Time, id: ClientId, join: &Join) -> Result<(), Refused> {
        let flow = join.update.flow.flow.0;
        let present = self.clients.get(&id).and_then(|client| client.flows.get(&flow));
        let present = present.map(|shared| shared.group == join.group);
        if present == Some(true) {
            let group = self.groups.get(&join.group);
            let params = terms::read(&join.kind, &join.settings).map_err(|text| (Refusal::Kind, text))?;
            if let Some(text) = group.and_then(|group| terms::difference(&params, &group.params)) {
                return Err((Refusal::Kind, format!("group {}: {text}, as it has joined", join.group)));
            }
            return self.update(now, id, &join.update);
        }
        let params = self.admitted(id, join)?;
        if present.is_some() {
            self.leave(now, id, flow)?;
        }
        let group = self.groups.entry(join.group.clone()).or_insert_with(|| Group::new(params));
        let member = group.next_member();
        group.owners.insert(member, (id, flow));
        let answer = group.coupling.join(now, &FlowUpdate { flow: member, taken: None, ..join.update.flow });
        self.assignments.clear();
        self.assignments.extend_from_slice(answer);
        self.counters.joined += 1;
        if let Some(client) = self.clients.get_mut(&id) {
            let (kind, priority) = (&join.kind, join.update.flow.priority.weight());
            let said = format!(
                "process {}: flow {flow} joins {} ({kind}), priority {priority}",
                client.process, join.group
            );
            self.lines.say(now, said);
            let shared =
                SharedFlow { group: join.group.clone(), member, number: join.update.number, given: None };
            client.flows.insert(flow, shared);
        }
        self.hand_over(&join.group);
        self.announce(&join.group);
        Ok(())
    }

    fn update(&mut self, now: Time, id: ClientId, update: &Update) -> Result<(), Refused> {
        let flow = update.flow.flow.0;
        let Some(client) = self.clients.get_mut(&id) else { return Ok(()) };
        let shared = client.flows.get_mut(&flow).ok_or_else(|| not_joined(flow))?;
        shared.number = update.number;
        shared.given = None;
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
    fn announce(&mut self, key: &GroupKey) {
        let Some(group) = self.groups.get(key) else { return };
        for (owner, flow) in group.owners.values() {
            if let Some(client) = self.clients.get_mut(owner) {
                client.due.insert(*flow);
            }
        }
    }

    /// Hands assignments of a group to their owners.
    fn hand_over(&mut self, key: &GroupKey) {
        let Some(group) = self.groups.get(key) else { return };
        for assignment in self.assignments.drain(..) {
            let Some((owner, flow)) = group.owners.get(&assignment.flow) else { continue };
            let Some(client) = self.clients.get_mut(owner) else { continue };
            if let Some(shared) = client.flows.get_mut(flow) {
                shared.given = Some(assignment.assigned);
                client.due.insert(*flow);
            }
        }
    }

    fn leave(&mut self, now: Time, id: ClientId, flow: u32) -> Result<(), Refused> {
        let Some(client) = self.clients.get_mut(&id) else { return Ok(()) };
        let shared = client.flows.remove(&flow).ok_or_else(|| not_joined(flow))?;
        client.due.remove(&flow);
        self.counters.left += 1;
        self.lines.say(now, format!("process {}: flow {flow} leaves {}", client.process, shared.group));
        let Some(group) = self.groups.get_mut(&shared.group) else { return Ok(()) };
        group.owners.remove(&shared.member);
        self.assignments.clear();
        self.assignments.extend_from_slice(group.coupling.leave(now, shared.member));
        self.hand_over(&shared.group);
        self.announce(&shared.group);
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
