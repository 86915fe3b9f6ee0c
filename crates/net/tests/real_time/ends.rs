//! Sender, relay and receiver in threads of one process, on loopback.

use crate::call::anywhere;
use paceline_net::{Control, NetOutput, ReceiveOptions, Receiver, Relay, RelayOptions, SendOptions, Sender};
use paceline_scenario::Loaded;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// The outputs of the three ends.
pub struct Ends {
    pub sender: NetOutput,
    pub relay: NetOutput,
    pub receiver: NetOutput,
}

/// Runs a scenario while `disturb`, told where relay and receiver listen, does what it likes until it is told to stop.
pub fn run(loaded: &Loaded, disturb: impl FnOnce(SocketAddr, SocketAddr, &AtomicBool) + Send) -> Ends {
    let receiver = Receiver::bind(loaded, &ReceiveOptions::on(anywhere())).expect("a receiver");
    let target = receiver.address().expect("an address");
    let relay = Relay::bind(loaded, &RelayOptions::between(anywhere(), target)).expect("a relay");
    let middle = relay.address().expect("an address");
    let sender = Sender::bind(loaded, &SendOptions::to(middle)).expect("a sender");
    let (stop, over) = (&AtomicBool::new(false), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let control = || Control { stop, progress: &|_| () };
        let receiver = scope.spawn(move || receiver.run(&control()));
        let relay = scope.spawn(move || relay.run(&control()));
        scope.spawn(move || disturb(middle, target, over));
        let sender = sender.run(&control());
        // A receiver that nobody reached has nothing to wait for.
        stop.store(sender.is_err(), Ordering::Relaxed);
        let relay = relay.join().expect("no panic");
        let receiver = receiver.join().expect("no panic");
        over.store(true, Ordering::Relaxed);
        Ends {
            sender: sender.expect("a sender's output"),
            relay: relay.expect("a relay's output"),
            receiver: receiver.expect("a receiver's output"),
        }
    })
}
