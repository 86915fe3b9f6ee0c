//! The flows of this process and the socket to the exchange of the machine.

use super::member::{Member, Outlet, Sent, Troubles};
use super::socket::{MessageSocket, Read};
use super::terms;
use super::{ExchangeOptions, GroupBy};
use crate::NetError;
use crate::choice::ChosenFlows;
use paceline_cc::{CouplingParams, Priority};
use paceline_scenario::CouplingSpec;
use paceline_transport::{Coupled, CoupledEnds, PriorityStep};
use paceline_units::Time;
use paceline_wire::exchange::{GroupKey, MAX_SIZE};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// Messages that are read at once.
const AT_ONCE: usize = 32;

impl Outlet for Option<MessageSocket> {
    fn send(&mut self, message: &[u8]) -> Sent {
        self.as_mut().map_or(Sent::Broken, |socket| socket.send(message))
    }
}

/// By what flows share over an exchange.
fn coupling_of<'a>(chosen: &ChosenFlows<'a>) -> Result<&'a CouplingSpec, NetError> {
    let first = &chosen.flows[0];
    let flow = &first.spec.name;
    let lacks = || {
        unsupported(format!("flow {flow} is in no [coupling.NAME] by which it would share over an exchange"))
    };
    let coupling = chosen.coupling.or_else(|| first.coupling()).ok_or_else(lacks)?;
    let name = &coupling.name;
    if coupling.detection.is_some() {
        let what = "detection forms groups within one process, over an exchange they are given";
        return Err(unsupported(format!("coupling {name}: {what}")));
    }
    let found = coupling.groups.len();
    if found > 1 {
        return Err(unsupported(format!(
            "coupling {name}: found {found} groups, expected one over an exchange"
        )));
    }
    Ok(coupling)
}

fn unsupported(what: String) -> NetError {
    NetError::Unsupported { what }
}

/// Flows of this process that share by an exchange, with what [`paceline_transport::Exchange`] offers of those that share by
/// themselves.
///
/// Whoever drives the flows calls [`ExchangeClient::after_event`] after each event at one of them, waits for
/// [`ExchangeClient::socket`] beside its own sockets, and calls [`ExchangeClient::read`] when it can be read and
/// [`ExchangeClient::handle_timeout`] when that is due. No call blocks, and none fails: without an exchange nothing is
/// assigned.
pub struct ExchangeClient {
    path: PathBuf,
    member: Member,
    socket: Option<MessageSocket>,
    /// What the system said when there was nobody to connect to.
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
        let terms = (coupling.kind().to_string(), terms::settings(coupling));
        let member = Member::new(terms, flows, steps);
        let member = member.map_err(|error| unsupported(format!("exchange {}: {error}", path.display())))?;
        Ok(ExchangeClient { path: path.to_path_buf(), member, socket: None, absent: None })
    }

    /// The flows of a scenario that a process sends to `targets`, one each.
    pub(crate) fn of(
        chosen: &ChosenFlows<'_>,
        targets: &[SocketAddr],
        options: &ExchangeOptions,
    ) -> Result<ExchangeClient, NetError> {
        let coupling = coupling_of(chosen)?;
        let group = |target: &SocketAddr| match options.by {
            GroupBy::Name => GroupKey::Name(coupling.name.clone()),
            GroupBy::Destination => GroupKey::Destination(target.ip().to_canonical()),
        };
        let (mut flows, mut steps) = (Vec::new(), Vec::new());
        for (place, (flow, target)) in chosen.flows.iter().zip(targets).enumerate() {
            let priorities = &flow.spec.priority;
            flows.push((group(target), priorities.first().map_or(Priority::ONE, |step| step.priority)));
            let later = priorities.iter().skip(1);
            steps.extend(later.map(|step| PriorityStep {
                at: Time::ZERO + step.at,
                flow: place,
                priority: step.priority,
            }));
        }
        ExchangeClient::new(&options.path, &coupling.params, &flows, steps)
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

    /// What a flow and its group have made of each other, to look at.
    pub fn coupled(&self, place: usize) -> Coupled {
        self.member.coupled(place)
    }

    /// All flows leave. What went wrong, for people.
    pub fn finish(&mut self, now: Time) -> Vec<String> {
        let Troubles { greeted, away, away_for, refused, first } = self.member.finish(now, &mut self.socket);
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
        if refused > 0 {
            let first = first.unwrap_or_default();
            said.push(format!("exchange {path}: refused {refused} messages, of the first it said: {first}"));
        }
        said
    }
}
