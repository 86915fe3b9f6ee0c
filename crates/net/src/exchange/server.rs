//! The loop of the exchange: sockets, clock, and lines for the operator.

use super::member::{Outlet, Sent};
use super::service::{ClientId, Service};
use super::socket::{Listener, MessageSocket, Read};
use super::{ExchangeCounters, ExchangeLimits};
use crate::NetError;
use crate::clock::{DriverClock, Moment};
use crate::wait::{LONGEST_SLEEP, PreciseTimers};
use paceline_units::{Time, TimeDelta};
use paceline_wire::exchange::MAX_SIZE;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Messages of a process, and connections, before others have their turn.
const AT_ONCE: usize = 32;

/// Time from one look at the socket file to the next.
const LOOK: TimeDelta = TimeDelta::from_secs(1);

/// A connection.
struct Connection {
    id: ClientId,
    socket: MessageSocket,
    /// Whether something may be there to read, as the system said last.
    readable: bool,
    /// Whether the process has not read what was sent before.
    full: bool,
    closed: bool,
}

impl Connection {
    /// Whether the system is to say more of it. A client that is held back would only say again that it has more.
    fn waits(&self) -> bool {
        !self.readable || self.full
    }
}

/// A flow state exchange that listens.
pub struct ExchangeServer {
    listener: Listener,
    service: Service,
    connections: Vec<Connection>,
    clock: DriverClock,
    accepted: u64,
    /// Nobody is accepted before: the system had no descriptor for more.
    accepts_from: Time,
    /// When it looks again whether its file is there.
    looks_at: Time,
    bytes: Vec<u8>,
}

impl ExchangeServer {
    /// Listens at `path`, which must not be where another exchange does. The folder is made if it is missing.
    ///
    /// # Errors
    /// Another exchange, or something that is no socket, is there; or the system refuses.
    pub fn bind(path: &Path, limits: &ExchangeLimits) -> Result<ExchangeServer, NetError> {
        Ok(ExchangeServer {
            listener: Listener::bind(path)?,
            service: Service::new(limits),
            connections: Vec::new(),
            clock: DriverClock::from_zero(Moment::now()),
            accepted: 0,
            accepts_from: Time::ZERO,
            looks_at: Time::ZERO,
            bytes: Vec::new(),
        })
    }

    /// Serves until `stop` is set, and removes the socket file. `say` is told what happens, in lines. A file that somebody
    /// takes away is made again.
    ///
    /// # Errors
    /// If the system refuses to wait for sockets, or the file cannot be made again: another exchange has its place, say.
    pub fn run(mut self, stop: &AtomicBool, say: &dyn Fn(String)) -> Result<ExchangeCounters, NetError> {
        let _timers = PreciseTimers::new();
        self.clock = DriverClock::from_zero(Moment::now());
        loop {
            // Messages that processes sent before count, whether or not the system has told of them.
            let stopped = stop.load(Ordering::Relaxed);
            self.connections.iter_mut().for_each(|connection| connection.readable |= stopped);
            let now = self.clock.now();
            self.look(now, say)?;
            self.accept(now);
            let more = self.read(now);
            let now = self.clock.now();
            self.service.handle_timeout(now);
            self.write();
            self.connections.retain(|connection| !connection.closed);
            while let Some(line) = self.service.lines.next() {
                say(line);
            }
            if stopped && !more {
                return Ok(self.service.counters);
            }
            self.wait(now, more)?;
        }
    }

    /// Looks now and then whether its file is there: without it nobody finds the exchange.
    fn look(&mut self, now: Time, say: &dyn Fn(String)) -> Result<(), NetError> {
        if now < self.looks_at {
            return Ok(());
        }
        self.looks_at = now + LOOK;
        if !self.listener.is_there() {
            say("the socket file is gone, and is made again".into());
            self.listener.renew()?;
        }
        Ok(())
    }

    fn accept(&mut self, now: Time) {
        for _ in 0..AT_ONCE {
            let socket = match self.listener.accept() {
                Ok(Some(socket)) => socket,
                Ok(None) => return,
                // Connected processes are served.
                Err(_) => {
                    self.accepts_from = now + LONGEST_SLEEP;
                    return;
                }
            };
            if !socket.is_own() {
                self.service.counters.turned_away += 1;
                continue;
            }
            let id = ClientId(self.accepted);
            self.accepted += 1;
            self.service.connect(now, id, socket.process());
            self.connections.push(Connection { id, socket, readable: true, full: false, closed: false });
        }
    }

    /// Reads what has come, of each process a part; true if there may be more.
    fn read(&mut self, now: Time) -> bool {
        let mut buffer = [0; MAX_SIZE + 1];
        let mut more = false;
        for connection in self.connections.iter_mut().filter(|connection| connection.readable) {
            let mut left = AT_ONCE;
            while connection.readable && left > 0 && self.service.may_read(now, connection.id) {
                left -= 1;
                match connection.socket.read(&mut buffer) {
                    Read::Message(bytes) => self.service.receive(now, connection.id, bytes),
                    Read::Nothing => connection.readable = false,
                    Read::Closed => {
                        (connection.readable, connection.closed) = (false, true);
                        self.service.disconnect(now, connection.id);
                    }
                }
            }
            more |= left == 0;
        }
        more
    }

    /// Sends what processes are to hear, as far as they take it.
    fn write(&mut self) {
        let ExchangeServer { service, connections, bytes, .. } = self;
        let mut buffer = [0; MAX_SIZE + 1];
        let now = self.clock.now();
        for connection in connections.iter_mut().filter(|connection| !connection.closed) {
            let id = connection.id;
            let mut broken = false;
            while !connection.full && !broken {
                bytes.clear();
                if !service.next_message(id, bytes) {
                    break;
                }
                match connection.socket.send(bytes) {
                    Sent::Done => service.sent(id),
                    Sent::Later => connection.full = true,
                    Sent::Broken => broken = true,
                }
            }
            if broken {
                // A message from before it went counts: a farewell above all.
                for _ in 0..AT_ONCE {
                    let Read::Message(message) = connection.socket.read(&mut buffer) else { break };
                    service.receive(now, id, message);
                }
            }
            // A client that is to go does not stay by reading nothing.
            if broken || service.is_over(id, connection.full) {
                connection.closed = true;
                service.disconnect(now, id);
            }
        }
    }

    /// Sleeps until a process says something, or something is due.
    fn wait(&mut self, now: Time, more: bool) -> Result<(), NetError> {
        let due = self.service.next_timeout(now).unwrap_or(Time::MAX);
        let longest = if more { TimeDelta::ZERO } else { LONGEST_SLEEP };
        let span = due.saturating_since(self.clock.now()).min(longest);
        let timeout = Timespec { tv_sec: 0, tv_nsec: span.as_nanos() };
        let mut fds = Vec::with_capacity(self.connections.len() + 1);
        fds.extend(self.connections.iter().filter(|connection| connection.waits()).map(|connection| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::IN, !connection.readable);
            flags.set(PollFlags::OUT, connection.full);
            PollFd::from_borrowed_fd(connection.socket.as_fd(), flags)
        }));
        if self.accepts_from <= now {
            fds.push(PollFd::new(&self.listener, PollFlags::IN));
        }
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(NetError::Socket { doing: "wait for a socket", source: error.into() }),
        }
        let said: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        let waiting = self.connections.iter_mut().filter(|connection| connection.waits());
        for (connection, said) in waiting.zip(said) {
            connection.readable |= said.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
            connection.full &= !said.intersects(PollFlags::OUT | PollFlags::HUP | PollFlags::ERR);
        }
        Ok(())
    }
}
