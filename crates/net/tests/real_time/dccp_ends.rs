//! Both ends of a DCCP flow in threads of one process, on loopback.

use crate::call::{anywhere, loaded};
use paceline_net::{Control, NetError, NetOutput, ReceiveOptions, Receiver, SendOptions, Sender};
use paceline_scenario::Loaded;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flow of bulk data; its link is there for a relay.
pub fn scenario(duration: &str, controller: &str, more: &str) -> Loaded {
    loaded(&format!(
        "duration = \"{duration}\"\n[links.l]\nrate = \"10Mbps\"\nqueue = {{ packets = 100 }}\n[flows.f]\n\
         transport = \"dccp\"\ncontroller = \"{controller}\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\n\
         {more}\n"
    ))
}

/// Whether a warning may come of a machine that is late.
pub fn is_of_lateness(said: &str) -> bool {
    said.starts_with("no feedback from") || said.starts_with("nothing answered the closing")
}

/// The outputs of a sender and a receiver that have met; if the sender fails the receiver is stopped.
pub fn connect(
    sends: &Loaded,
    receives: &Loaded,
) -> (Result<NetOutput, NetError>, Result<NetOutput, NetError>) {
    with_options(sends, receives, SendOptions::to, ReceiveOptions::on(anywhere()))
}

/// The same with options of one's own.
pub fn with_options(
    sends: &Loaded,
    receives: &Loaded,
    send: impl FnOnce(std::net::SocketAddr) -> SendOptions,
    receive: ReceiveOptions,
) -> (Result<NetOutput, NetError>, Result<NetOutput, NetError>) {
    let stop = &AtomicBool::new(false);
    let receiver = Receiver::bind(receives, &receive).expect("a receiver");
    let to = receiver.address().expect("an address");
    let sender = Sender::bind(sends, &send(to)).expect("a sender");
    std::thread::scope(|scope| {
        let receiver = scope.spawn(move || receiver.run(&Control { stop, progress: &|_| () }));
        let sent = sender.run(&Control { stop: &AtomicBool::new(false), progress: &|_| () });
        if sent.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        (sent, receiver.join().expect("no panic"))
    })
}

/// The outputs of both ends of one scenario.
pub fn direct(loaded: &Loaded) -> (NetOutput, NetOutput) {
    let (sent, received) = connect(loaded, loaded);
    (sent.expect("a sender's output"), received.expect("a receiver's output"))
}
