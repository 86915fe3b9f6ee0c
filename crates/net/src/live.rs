//! A whole call on this machine, in real time: sender, relay and receiver in one process, each on a thread of its own.
//!
//! They speak over ports of loopback that the system chooses, so that no port can be in use. The end of the process is the end of all
//! three, however; and a thread that fails ends the others.

use crate::{
    Control, NetError, NetOutput, Progress, ReceiveOptions, Receiver, Relay, RelayOptions, SendOptions,
    Sender,
};
use paceline_scenario::Loaded;
use std::net::{Ipv4Addr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Channel, Sender as ToChannel, channel};
use std::time::Duration;

/// How long relay and receiver may still take after the sender: what is under way arrives, and connections are closed.
const DRAINING: Duration = Duration::from_secs(4);

/// Options of a call on this machine beyond the scenario.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LiveOptions {
    /// The flow of the scenario; none: the only one, all that share by its only coupling, or all that share nothing but their links.
    pub flow: Option<String>,
    /// A file for what passes the sender's socket.
    pub sender_capture: Option<PathBuf>,
    /// A file for what passes the receiver's.
    pub receiver_capture: Option<PathBuf>,
}

/// The figures of each end of a call.
#[derive(Clone, PartialEq, Debug)]
pub struct LiveOutput {
    /// Figures of the sender.
    pub sender: NetOutput,
    /// Figures of the relay, with those of the links.
    pub link: NetOutput,
    /// Figures of the receiver.
    pub receiver: NetOutput,
}

/// The ends of a call, in the order in which they are named in messages.
const ENDS: [&str; 3] = ["sender", "link", "receiver"];
const SENDER: usize = 0;

/// An end that has ended, by its place in [`ENDS`].
type Ended = (usize, Result<NetOutput, NetError>);

/// Runs sender, links and receiver of a flow for the scenario's duration, or until they are stopped. If one of them fails, all
/// end; `control.stop` is set then.
///
/// # Errors
/// The errors of the three ends. An error that comes up while they run names its end.
pub fn live(loaded: &Loaded, options: &LiveOptions, control: &Control<'_>) -> Result<LiveOutput, NetError> {
    let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let flow = &options.flow;
    // A pause of the flow or of its links ends nothing: the sender says when it is over.
    let capture = options.receiver_capture.clone();
    let receives = ReceiveOptions { flow: flow.clone(), silence: None, capture, ..ReceiveOptions::on(here) };
    let receiver = Receiver::bind(loaded, &receives)?;
    let relays = RelayOptions { flow: flow.clone(), ..RelayOptions::between(here, receiver.address()?) };
    let relay = Relay::bind(loaded, &relays)?;
    let capture = options.sender_capture.clone();
    let sends = SendOptions { flow: flow.clone(), capture, ..SendOptions::to(relay.address()?) };
    let sender = Sender::bind(loaded, &sends)?;
    let stop = control.stop;
    // How far the call is the sender tells; what is to be said each end.
    let [of_link, of_receiver] = [1, 2].map(|place: usize| {
        move |told: Progress<'_>| {
            if told.reached().is_none() {
                told.reworded(|said| format!("{}: {said}", ENDS[place]), control.progress);
            }
        }
    });
    let (told, ended) = channel();
    let gathered = std::thread::scope(|threads| {
        let [second, third] = [told.clone(), told.clone()];
        threads.spawn(move || report(1, &second, || relay.run(&Control { stop, progress: &of_link })));
        threads.spawn(move || report(2, &third, || receiver.run(&Control { stop, progress: &of_receiver })));
        let gathered = threads.spawn(move || gather(&ended, stop));
        report(SENDER, &told, || sender.run(control));
        gathered.join()
    });
    gathered.unwrap_or(Err(NetError::BrokeDown { end: "call" }))
}

/// Runs an end and tells what came of it, whatever that is. It goes on to unwind if it does so for somebody outside, who has words for it:
/// a panic has said its own.
fn report(place: usize, told: &ToChannel<Ended>, run: impl FnOnce() -> Result<NetOutput, NetError>) {
    let ended = catch_unwind(AssertUnwindSafe(run));
    let (result, unwinding) = match ended {
        Ok(result) => (result, None),
        Err(unwinding) => (Err(NetError::BrokeDown { end: ENDS[place] }), Some(unwinding)),
    };
    // The listener waits for all three.
    let _ = told.send((place, result));
    if let Some(unwinding) = unwinding.filter(|one| !one.is::<&str>() && !one.is::<String>()) {
        resume_unwind(unwinding);
    }
}

/// Waits for all ends; stops the others if one fails, or if they do not end soon after the sender.
fn gather(ended: &Channel<Ended>, stop: &AtomicBool) -> Result<LiveOutput, NetError> {
    let stop = || stop.store(true, Ordering::Relaxed);
    let (mut outputs, mut failed) = ([None, None, None], None);
    for _ in ENDS {
        let told = match outputs[SENDER] {
            None => ended.recv().ok(),
            Some(_) => ended.recv_timeout(DRAINING).ok().or_else(|| {
                stop();
                ended.recv().ok()
            }),
        };
        match told {
            Some((place, Ok(output))) => outputs[place] = Some(output),
            Some((place, Err(source))) => {
                stop();
                failed.get_or_insert(named(ENDS[place], source));
            }
            None => break,
        }
    }
    match (failed, outputs) {
        (None, [Some(sender), Some(link), Some(receiver)]) => Ok(LiveOutput { sender, link, receiver }),
        (failed, _) => Err(failed.unwrap_or(NetError::BrokeDown { end: "call" })),
    }
}

fn named(end: &'static str, source: NetError) -> NetError {
    match source {
        NetError::BrokeDown { .. } => source,
        source => NetError::End { end, source: Box::new(source) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_fails_ends_the_others_and_is_named() {
        let stop = AtomicBool::new(false);
        let (told, ended) = channel();
        let failed = NetError::Unsupported { what: "no weather".into() };
        told.send((2, Err(failed))).expect("heard");
        report(1, &told, || panic!("this panic is part of the test"));
        report(SENDER, &told, || Err(NetError::BrokeDown { end: "sender" }));
        let error = gather(&ended, &stop).expect_err("failed").to_string();
        assert!(error.starts_with("the receiver failed") && error.ends_with("no weather"), "{error}");
        assert!(stop.load(Ordering::Relaxed));
    }
}
