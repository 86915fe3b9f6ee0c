//! A mind in another process, which answers over its standard input and output.
//!
//! The program is started once to say what it is, and once for each flow. The run waits for every answer, so that a slow program costs
//! time and changes no figure.

mod message;
mod serve;

pub use message::VERSION;
pub use serve::serve;

use crate::answer::Answer;
use crate::controller::{Mind, MindMaker, Setting, guest};
use crate::declared::Description;
use crate::fault::Failure;
use message::{Incoming, LONGEST, Message, Outgoing};
use paceline_cc::guest::Guest;
use paceline_cc::{Assigned, FlowSetup, PacketsReport, SentPacket};
use paceline_units::{Bytes, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio, read, write};
use rustix::process::{Pid, Signal, kill_process_group};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a program may think about one answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a program that was told to end may take.
const FAREWELL: Duration = Duration::from_millis(500);

/// A program that was started.
struct Process {
    child: Child,
    /// Closed when the program is told to end.
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// Messages without an answer that leave with the next one that has one.
    unsent: Vec<u8>,
    /// Bytes that were read of the next message.
    unread: Vec<u8>,
    /// The number of the last event.
    number: u64,
}

/// The kind of controller that a program is, by its own description. `version` stands for the program's where it says none.
///
/// # Errors
/// If the program cannot be started, or does not answer as it should.
pub fn program(kind: &str, command: &[String], version: &str) -> Result<Arc<dyn Guest>, String> {
    let named = |text: String| format!("controller {kind:?} ({}): {text}", command.join(" "));
    let mut process = Process::start(command).map_err(|failure| named(failure.text))?;
    let described = match process.ask(Outgoing::describe()).map_err(|failure| named(failure.text))? {
        Message::Described(described) => described,
        other => return Err(named(format!("found {other:?}, expected a description (d)"))),
    };
    let version = if described.version.is_empty() { version.into() } else { described.version };
    let description = Description {
        kind: kind.into(),
        help: described.help,
        version,
        steers: described.steers,
        hears: described.hears,
        parameters: described.parameters,
    };
    Ok(guest(&description, Starter { command: command.to_vec(), unanswered: described.hears.unanswered }))
}

struct Starter {
    command: Vec<String>,
    /// Whether the program is told of packets sent without being waited for.
    unanswered: bool,
}

impl MindMaker for Starter {
    fn make(&self, settings: &[Setting], setup: &FlowSetup) -> Result<Box<dyn Mind>, Failure> {
        let process = Process::start(&self.command)?;
        let (setup, settings) = (setup.clone(), settings.to_vec());
        Ok(Box::new(Program { process, setup, settings, unanswered: self.unanswered }))
    }
}

impl Process {
    fn start(command: &[String]) -> Result<Process, Failure> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(Failure::new("found no command, expected a program and its arguments"));
        };
        // Its standard error is ours. In a group of its own, Ctrl-C reaches it through us, and its children end with it.
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn();
        let failed = |text: String| Failure::new(format!("{program}: {text}"));
        let mut child = child.map_err(|error| failed(format!("cannot be started: {error}")))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("has no pipes".into()));
        };
        for end in [input.as_fd(), output.as_fd()] {
            ioctl_fionbio(end, true).map_err(|error| failed(error.to_string()))?;
        }
        Ok(Process { child, input: Some(input), output, unsent: Vec::new(), unread: Vec::new(), number: 0 })
    }

    /// Sends a message and reads the one that answers it.
    fn ask(&mut self, message: Outgoing) -> Result<Message, Failure> {
        let due = deadline();
        let mut bytes = std::mem::take(&mut self.unsent);
        bytes.extend(message.bytes());
        self.send(&bytes, due)?;
        let length = loop {
            if let Some(length) =
                self.unread.first_chunk::<4>().map(|length| u32::from_le_bytes(*length) as usize)
            {
                if !(1..=LONGEST).contains(&length) {
                    let expected = format!("1 to {LONGEST} bytes; text for people belongs to standard error");
                    return Err(Failure::new(format!(
                        "found a message of {length} bytes, expected {expected}"
                    )));
                }
                if self.unread.len() >= 4 + length {
                    break 4 + length;
                }
            }
            self.receive(due)?;
        };
        let read = Incoming::read(&self.unread[4..length]).map_err(Failure::new)?;
        self.unread.drain(..length);
        match (self.unread.len(), read) {
            (_, Message::Complaint(text)) => Err(Failure::new(format!("the program says: {text}"))),
            (0, read) => Ok(read),
            (more, _) => {
                Err(Failure::new(format!("found {more} bytes that nobody asked for behind the answer")))
            }
        }
    }

    /// Sends a message that has no answer, some together.
    fn tell(&mut self, message: Outgoing) -> Result<(), Failure> {
        self.unsent.extend(message.bytes());
        if self.unsent.len() < LONGEST {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.unsent);
        self.send(&bytes, deadline())
    }

    fn send(&mut self, mut bytes: &[u8], due: Instant) -> Result<(), Failure> {
        while !bytes.is_empty() {
            let Some(input) = &self.input else { return Err(self.ended()) };
            match write(input, bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => wait(input.as_fd(), PollFlags::OUT, due, "does not read its input")?,
                Err(Errno::PIPE) => return Err(self.ended()),
                Err(error) => return Err(Failure::new(error.to_string())),
            }
        }
        Ok(())
    }

    fn receive(&mut self, due: Instant) -> Result<(), Failure> {
        let mut buffer = [0; 4096];
        match read(&self.output, &mut buffer) {
            Ok(0) => Err(self.ended()),
            Ok(length) => {
                self.unread.extend(&buffer[..length]);
                Ok(())
            }
            Err(Errno::INTR) => Ok(()),
            Err(Errno::AGAIN) => wait(self.output.as_fd(), PollFlags::IN, due, "did not answer"),
            Err(error) => Err(Failure::new(error.to_string())),
        }
    }

    /// The program closed its pipes: how it ended, if it did.
    fn ended(&mut self) -> Failure {
        let due = deadline_in(FAREWELL);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    return Failure::new(format!("the program ended ({status}), expected an answer"));
                }
                Ok(None) if now() < due => pause(),
                _ => return Failure::new("the program closed its pipe, expected an answer"),
            }
        }
    }
}

/// Nothing of a program is left: it is told by the end of its input, and killed if it does not listen.
impl Drop for Process {
    fn drop(&mut self) {
        self.input = None;
        let due = deadline_in(FAREWELL);
        while matches!(self.child.try_wait(), Ok(None)) {
            if now() >= due {
                let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
                let _ = group.map(|group| kill_process_group(group, Signal::KILL));
                let _ = self.child.wait();
                return;
            }
            pause();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the patience with a program is the wall's time")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "until a program has ended")]
fn pause() {
    std::thread::sleep(Duration::from_millis(1));
}

fn deadline_in(span: Duration) -> Instant {
    now() + span
}

fn deadline() -> Instant {
    deadline_in(PATIENCE)
}

/// Waits until a pipe is ready.
fn wait(pipe: BorrowedFd<'_>, ready: PollFlags, due: Instant, otherwise: &str) -> Result<(), Failure> {
    let left = due.saturating_duration_since(now());
    let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    match poll(&mut [PollFd::from_borrowed_fd(pipe, ready)], Some(&timeout)) {
        Ok(0) => Err(Failure::new(format!("the program {otherwise} for {} s", PATIENCE.as_secs()))),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(Failure::new(error.to_string())),
    }
}

/// A program as the mind of one flow.
struct Program {
    process: Process,
    setup: FlowSetup,
    settings: Vec<Setting>,
    unanswered: bool,
}

impl Program {
    fn event(&mut self, message: impl FnOnce(u64) -> Outgoing) -> Result<Answer, Failure> {
        self.process.number += 1;
        let number = self.process.number;
        match self.process.ask(message(number))? {
            Message::Answer(found, answer) if found == number => Ok(answer),
            Message::Answer(found, _) => Err(Failure::new(format!(
                "found the answer to event {found}, expected the one to event {number}"
            ))),
            other => Err(Failure::new(format!("found {other:?}, expected an answer (a)"))),
        }
    }
}

impl Mind for Program {
    fn start(&mut self, now: Time) -> Result<Answer, Failure> {
        let (setup, settings) = (self.setup.clone(), self.settings.clone());
        self.event(|number| Outgoing::start(number, now, &setup, &settings))
    }

    fn sent(&mut self, now: Time, packet: &SentPacket) -> Result<Answer, Failure> {
        if self.unanswered {
            self.process.number += 1;
            self.process.tell(Outgoing::sent(self.process.number, now, packet))?;
            return Ok(Answer::default());
        }
        self.event(|number| Outgoing::sent(number, now, packet))
    }

    fn report(&mut self, now: Time, report: &PacketsReport<'_>) -> Result<Answer, Failure> {
        self.event(|number| Outgoing::report(number, now, report))
    }

    fn timeout(&mut self, now: Time) -> Result<Answer, Failure> {
        self.event(|number| Outgoing::timeout(number, now))
    }

    fn recovery(&mut self, now: Time, event: &'static str, bytes: Bytes) -> Result<Answer, Failure> {
        self.event(|number| Outgoing::recovery(number, now, event, bytes))
    }

    fn assigned(&mut self, now: Time, assigned: Assigned) -> Result<Answer, Failure> {
        self.event(|number| Outgoing::assigned(number, now, assigned))
    }
}
