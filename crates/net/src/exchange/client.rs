//! The flows of this process and the socket to the exchange of the machine.

use super::member::{Member, Outlet, Sent, Terms, Troubles};
use super::socket::{MessageSocket, Read};
use super::terms;
use super::{ExchangeOptions, GroupBy};
use crate::NetError;
use crate::choice::{ChosenFlow, ChosenFlows};
use crate::socket::{UdpPort, address_towards};
use paceline_cc::shared_bottleneck::Params as Detection;
use paceline_cc::{CouplingParams, Priority};
use paceline_ends::{Coupled, CoupledEnds, PriorityStep};
use paceline_scenario::CouplingSpec;
use paceline_units::Time;
use paceline_units::text::one_of;
use paceline_wire::exchange::{FiveTuple, GroupKey, MAX_SIZE};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// Messages that are read at once.
const AT_ONCE: usize = 32;
/// The kind of coupling of a flow that is in none of its scenario's.
const USUAL_KIND: &str = "active";

impl Outlet for Option<MessageSocket> {
    fn send(&mut self, message: &[u8]) -> Sent {
        self.as_mut().map_or(Sent::Broken, |socket| socket.send(message))
    }
}

/// The name of a flow's group at an exchange. Of several groups of a coupling each has its number, from 1, behind the coupling's name.
fn group_name(name: &str, coupling: Option<&CouplingSpec>, flow: &ChosenFlow<'_>) -> String {
    let groups = coupling.map_or(&[][..], |coupling| &coupling.groups);
    let is_it = |&place: &usize| flow.scenario.flows[place].name == flow.spec.name;
    match groups.iter().position(|group| group.iter().any(is_it)) {
        Some(place) if groups.len() > 1 => format!("{name}-{}", place + 1),
        _ => name.to_string(),
    }
}

/// The coupling by which flows share over an exchange, the detection by which it groups them if it does, and the name of their group if they
/// find it by its name.
fn terms_of(
    chosen: &ChosenFlows<'_>,
    options: &ExchangeOptions,
) -> Result<(CouplingParams, Option<Detection>, Option<String>), NetError> {
    let ExchangeOptions { by, group, kind, .. } = options;
    let first = &chosen.flows[0];
    let flow = &first.spec.name;
    let coupling = chosen.coupling.or_else(|| first.coupling());
    let name = match (by, group, coupling) {
        (GroupBy::Name, Some(name), _) => Some(name),
        (GroupBy::Name, None, Some(coupling)) => Some(&coupling.name),
        (GroupBy::Name, None, None) => {
            return Err(unsupported(format!(
                "flow {flow} is in no [coupling.NAME] by which it would share over an exchange: name a group"
            )));
        }
        (_, None, _) => None,
        (by, Some(name), _) => {
            let by = by.name();
            return Err(unsupported(format!("group: found {name} beside groups by {by}, expected no name")));
        }
    };
    let params = match (coupling, kind) {
        (Some(coupling), None) => coupling.params.clone(),
        (None, kind) => {
            let kind = kind.as_deref().unwrap_or(USUAL_KIND);
            let expected =
                || format!("kind of group: found {kind}, expected {}", one_of(CouplingParams::KINDS));
            CouplingParams::of(kind).ok_or_else(|| unsupported(expected()))?
        }
        (Some(coupling), Some(kind)) => {
            let name = &coupling.name;
            let found =
                format!("kind of group: found {kind}, expected none: flow {flow} is in [coupling.{name}]");
            return Err(unsupported(found));
        }
    };
    let detection = coupling.and_then(|coupling| coupling.detection.clone());
    Ok((params, detection, name.cloned()))
}

/// The addresses of a flow's packets that leave from `port` to `target`.
fn five_tuple(port: &UdpPort, target: SocketAddr, flow: &ChosenFlow<'_>) -> Result<FiveTuple, NetError> {
    let bound = port.address()?;
    let asked = |source| NetError::Socket { doing: "ask for the address that packets leave from", source };
    let source =
        if bound.ip().is_unspecified() { address_towards(target).map_err(asked)? } else { bound.ip() };
    Ok(FiveTuple {
        protocol: FiveTuple::UDP,
        traffic_class: flow.spec.ecn.codepoint().bits(),
        source: SocketAddr::new(source.to_canonical(), bound.port()),
        destination: SocketAddr::new(target.ip().to_canonical(), target.port()),
    })
}

fn unsupported(what: String) -> NetError {
    NetError::Unsupported { what }
}

/// Flows of this process that share by an exchange, with what [`paceline_ends::Exchange`] offers of those that share by
/// themselves.
///
/// The driver of the flows calls [`ExchangeClient::after_event`] after each event at one of them, waits for
/// [`ExchangeClient::socket`] beside its own sockets, and calls [`ExchangeClient::read`] when it can be read and
/// [`ExchangeClient::handle_timeout`] when that is due. No call blocks, and none fails: without an exchange nothing is
/// assigned.
pub struct ExchangeClient {
    path: PathBuf,
    member: Member,
    socket: Option<MessageSocket>,
    /// The system's message when there was nobody to connect to.
    absent: Option<String>,
}

impl ExchangeClient {
    /// Flows, counted from 0, with their groups and first priorities, that share by a coupling over the exchange at `path`.
    /// It need not be there yet. `steps`, in any order, are changes of priority.
    ///
    /// # Errors
    /// The name of a group, or the coupling's settings, do not fit into a message.
    pub fn new(
        path: &Path,
        coupling: &CouplingParams,
        flows: &[(GroupKey, Priority)],
        steps: Vec<PriorityStep>,
    ) -> Result<ExchangeClient, NetError> {
        ExchangeClient::by(path, coupling, None, flows, steps)
    }

    /// The same of flows of which the exchange finds out, by their delays, which share a bottleneck and thus a group (RFC 8382). A group key
    /// names the flows among which it looks; all that have it must have the same `detection`.
    ///
    /// # Errors
    /// As [`ExchangeClient::new`].
    pub fn detecting(
        path: &Path,
        coupling: &CouplingParams,
        detection: &Detection,
        flows: &[(GroupKey, Priority)],
        steps: Vec<PriorityStep>,
    ) -> Result<ExchangeClient, NetError> {
        ExchangeClient::by(path, coupling, Some(detection), flows, steps)
    }

    fn by(
        path: &Path,
        coupling: &CouplingParams,
        detection: Option<&Detection>,
        flows: &[(GroupKey, Priority)],
        steps: Vec<PriorityStep>,
    ) -> Result<ExchangeClient, NetError> {
        let terms = Terms {
            kind: coupling.kind().to_string(),
            settings: terms::settings(coupling),
            detection: detection.map(terms::detection_settings),
        };
        let member = Member::new(terms, flows, steps);
        let member = member.map_err(|error| unsupported(format!("exchange {}: {error}", path.display())))?;
        Ok(ExchangeClient { path: path.to_path_buf(), member, socket: None, absent: None })
    }

    /// The flows of a scenario that a process sends by `ends`, one each: a socket, and where its packets go.
    pub(crate) fn of(
        chosen: &ChosenFlows<'_>,
        ends: &[(UdpPort, SocketAddr)],
        options: &ExchangeOptions,
    ) -> Result<ExchangeClient, NetError> {
        let (params, detection, name) = terms_of(chosen, options)?;
        let group = |flow: &ChosenFlow<'_>, (port, target): &(UdpPort, SocketAddr)| match options.by {
            GroupBy::Name => {
                let name = name.as_deref().unwrap_or_default();
                Ok(GroupKey::Name(group_name(name, flow.coupling(), flow)))
            }
            GroupBy::Destination => Ok(GroupKey::Destination(target.ip().to_canonical())),
            GroupBy::FiveTuple => five_tuple(port, *target, flow).map(GroupKey::FiveTuple),
        };
        let (mut flows, mut steps) = (Vec::new(), Vec::new());
        for (place, (flow, end)) in chosen.flows.iter().zip(ends).enumerate() {
            let priorities = &flow.spec.priority;
            flows.push((group(flow, end)?, priorities.first().map_or(Priority::ONE, |step| step.priority)));
            let later = priorities.iter().skip(1);
            steps.extend(later.map(|step| PriorityStep {
                at: Time::ZERO + step.at,
                flow: place,
                priority: step.priority,
            }));
        }
        ExchangeClient::by(&options.path, &params, detection.as_ref(), &flows, steps)
    }

    /// When something is due.
    pub fn next_timeout(&self) -> Time {
        self.member.next_timeout()
    }

    /// Does what is due; connects, where there is no connection.
    pub fn handle_timeout(&mut self, now: Time, ends: &mut impl CoupledEnds) {
        if self.member.wants_connection(now) {
            match MessageSocket::connect(&self.path) {
                Ok(socket) => {
                    self.socket = Some(socket);
                    self.member.connected(now);
                }
                Err(error) => {
                    self.absent.get_or_insert_with(|| io::Error::from(error).to_string());
                    self.member.lost(now);
                }
            }
        }
        self.member.handle_timeout(now, ends, &mut self.socket);
        self.hang_up();
    }

    /// Something happened at a flow.
    pub fn after_event(&mut self, now: Time, place: usize, ends: &impl CoupledEnds) {
        self.member.after_event(now, place, ends, &mut self.socket);
        self.hang_up();
    }

    /// Takes what the exchange has sent; true if there may be more.
    pub fn read(&mut self, now: Time, ends: &mut impl CoupledEnds) -> bool {
        let mut buffer = [0; MAX_SIZE + 1];
        for _ in 0..AT_ONCE {
            match self.socket.as_ref().map(|socket| socket.read(&mut buffer)) {
                Some(Read::Message(bytes)) => {
                    self.member.receive(now, bytes, ends, &mut self.socket);
                    self.hang_up();
                }
                Some(Read::Nothing) | None => return false,
                Some(Read::Closed) => {
                    self.member.lost(now);
                    self.hang_up();
                    return false;
                }
            }
        }
        true
    }

    /// Lets go of a connection that is of no use any more.
    fn hang_up(&mut self) {
        if !self.member.is_connected() {
            self.socket = None;
        }
    }

    /// The socket, to wait for.
    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// A flow's share in its group, to look at.
    pub fn coupled(&self, place: usize) -> Coupled {
        self.member.coupled(place)
    }

    /// All flows leave. Errors, for people.
    pub fn finish(&mut self, now: Time) -> Vec<String> {
        let Troubles { greeted, away, away_for, bounded, refused, first } =
            self.member.finish(now, &mut self.socket);
        let path = self.path.display();
        let mut said = Vec::new();
        if !greeted {
            let absent = self.absent.as_ref().map_or(String::new(), |absent| format!(" ({absent})"));
            said.push(format!("exchange {path}: not there{absent}: flows went by their own controllers"));
        } else if away > 0 {
            let (seconds, times) = (away_for.as_secs_f64(), if away == 1 { "time" } else { "times" });
            said.push(format!(
                "exchange {path}: away {away} {times}, {seconds:.1} s in all: flows went by their own controllers then"
            ));
        }
        if bounded > 0 {
            said.push(format!(
                "exchange {path}: assigned {bounded} times more than arrives of what is sent: flows took less"
            ));
        }
        if refused > 0 {
            let first = first.unwrap_or_default();
            said.push(format!("exchange {path}: refused {refused} messages, of the first it said: {first}"));
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_scenario::{Loader, Origin, load};

    #[test]
    fn each_of_several_groups_has_a_name_of_its_own() {
        let flow = |name: &str| {
            format!("[flows.{name}]\ncontroller = \"tfrc\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\n")
        };
        let named = |coupling: &str, group: Option<&str>| {
            let flows: String = ["a", "b", "c"].map(flow).concat();
            let text = format!(
                "duration = \"1s\"\n[links.l]\nrate = \"1Mbps\"\nqueue = {{ packets = 10 }}\n{flows}\
                 [coupling.call]\nkind = \"active\"\n{coupling}\n"
            );
            let loaded = load(&Origin { text: &text, file: "call.toml", sets: &[] }, &Loader::default());
            let loaded = loaded.expect("a scenario");
            let chosen = ChosenFlows::of(&loaded, None).expect("three flows");
            let options = ExchangeOptions {
                path: "unused.sock".into(),
                by: GroupBy::Name,
                group: group.map(Into::into),
                kind: None,
            };
            let (_, _, name) = terms_of(&chosen, &options).expect("a coupling");
            let name = name.expect("groups go by name");
            chosen.flows.iter().map(|flow| group_name(&name, flow.coupling(), flow)).collect::<Vec<_>>()
        };
        assert_eq!(named("flows = [\"a\", \"b\", \"c\"]", None), ["call", "call", "call"]);
        assert_eq!(named("groups = [[\"a\", \"b\"], [\"c\"]]", None), ["call-1", "call-1", "call-2"]);
        assert_eq!(named("groups = [[\"a\"], [\"c\", \"b\"]]", Some("talk")), ["talk-1", "talk-2", "talk-2"]);
    }
}
