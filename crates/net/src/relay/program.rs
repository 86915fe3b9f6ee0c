//! A program in a network of its own, which ends when it is told to, or when this process does, whatever ends that.

use super::gate::Side;
use crate::NetError;
use crate::clock::Moment;
use paceline_units::TimeDelta;
use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Runs the program `$0` as a child of process 1 of its own process namespace. When standard input ends, which this process
/// holds open as long as it lives, everything there is asked to end, and a second later made to. When the program ends,
/// process 1 does, and the kernel ends what is left. A program may have killed who reads there: then process 1 ends with its
/// parent, which [`Program::wait`] kills.
const KEEPER: &str = r#"
ip link set lo up 2>/dev/null
exec 3<&0 </dev/null
sh -c "$0" 3<&- &
program=$!
{ read -r _ <&3; kill -TERM -1; sleep 1; kill -KILL -1; } 2>/dev/null &
exec 3<&-
wait $program
"#;

/// A program that ends itself has this long for it.
const LAST_WORDS: TimeDelta = TimeDelta::from_millis(2500);

/// A program at one side of a relay.
#[derive(Debug)]
pub(super) struct Program {
    side: Side,
    command: String,
    child: Child,
    ended: Option<ExitStatus>,
}

impl Program {
    /// Starts a command of the shell in the network of the thread that calls. It reads nothing, and writes to standard error.
    pub fn start(side: Side, command: &str, addresses: [&str; 2]) -> Result<Program, NetError> {
        let [own, other] = addresses;
        let child = Command::new("unshare")
            .args(["--fork", "--kill-child", "--pid", "--mount-proc", "--", "sh", "-c", KEEPER, command])
            .env("PACELINE_SIDE", side.name())
            .env("PACELINE_ADDRESS", own)
            .env("PACELINE_PEER", other)
            .stdin(Stdio::piped())
            .stdout(io::stderr())
            .spawn();
        let failed = |source| NetError::Program { side: side.name(), command: command.into(), source };
        Ok(Program { side, command: command.into(), child: child.map_err(failed)?, ended: None })
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Message on how it ended by itself; none if it went well or goes on.
    pub fn failure(&mut self) -> Option<String> {
        let status = self.ended().filter(|status| !status.success())?;
        let (side, command) = (self.side.name(), &self.command);
        Some(match status.code() {
            Some(127) => format!(
                "the {side} program is not there or one of its own: found \"{command}\", ended with status 127"
            ),
            Some(code) => format!("the {side} program failed with status {code}: {command}"),
            None => format!("the {side} program was killed: {command}"),
        })
    }

    /// Asks it to end.
    pub fn tell_to_end(&mut self) {
        drop(self.child.stdin.take());
    }

    /// Waits until it has ended, and makes it end if it does not.
    pub fn wait(&mut self) {
        let last = Moment::now().plus(LAST_WORDS);
        while self.ended().is_none() && Moment::now() < last {
            pause();
        }
        if self.ended().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.tell_to_end();
        self.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "programs end by the clock of the machine")]
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(5));
}
