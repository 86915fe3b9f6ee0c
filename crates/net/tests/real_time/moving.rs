//! A sender whose address changes in the middle of a call: one call to the receiver, and to a relay before it.
#![allow(clippy::disallowed_methods, reason = "the address changes after some time")]

use crate::call::{StopAtEnd, anywhere, flow, loaded};
use crate::lateness::judge_on_time;
use paceline_net::{Control, NetOutput, ReceiveOptions, Receiver, Relay, RelayOptions, SendOptions, Sender};
use paceline_scenario::Loaded;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn scenario(controller: &str) -> Loaded {
    loaded(&format!(
        "duration = \"9s\"\nsample = \"100ms\"\n[links.l]\nrate = \"20Mbps\"\ndelay = \"10ms\"\nqueue = {{ packets = 200 }}\n\
         [flows.call]\ncontroller = {{ kind = \"{controller}\", target_bitrate_start = \"2.5Mbps\", target_bitrate_max = \"3Mbps\" }}\n\
         source = {{ kind = \"cbr\", rate = \"3Mbps\", adaptive = true, fps = 50 }}\npath = [\"l\"]\n"
    ))
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
    socket
}

/// The port changes so long after the first packet.
const FIRST_PORT: Duration = Duration::from_secs(3);

/// Passes datagrams between the sender and `target`, from another port in the middle of the call; what still comes to the port before goes
/// nowhere.
fn translate(inside: &UdpSocket, target: SocketAddr, over: &AtomicBool) {
    let (mut outside, mut buffer, mut sender) = (socket(), [0; 2000], None);
    let (mut begun, mut changed) = (None, false);
    while !over.load(Ordering::Relaxed) {
        match inside.recv_from(&mut buffer) {
            Ok((length, from)) => {
                sender = Some(from);
                if !changed && begun.get_or_insert_with(Instant::now).elapsed() >= FIRST_PORT {
                    (outside, changed) = (socket(), true);
                }
                outside.set_nonblocking(true).expect("a socket");
                outside.send_to(&buffer[..length], target).expect("sent");
            }
            Err(error) => assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)),
        }
        outside.set_nonblocking(true).expect("a socket");
        while let (Ok(length), Some(sender)) = (outside.recv(&mut buffer), sender) {
            inside.send_to(&buffer[..length], sender).expect("sent");
        }
    }
}

/// The outputs of sender, relay and receiver for a call in whose middle the sender's port changes.
fn call(loaded: &Loaded, relayed: bool) -> (NetOutput, NetOutput, NetOutput) {
    let receiver = Receiver::bind(loaded, &ReceiveOptions::on(anywhere())).expect("a receiver");
    let target = receiver.address().expect("an address");
    let relay = Relay::bind(loaded, &RelayOptions::between(anywhere(), target)).expect("a relay");
    let first = if relayed { relay.address().expect("an address") } else { target };
    let inside = socket();
    let sender = Sender::bind(loaded, &SendOptions::to(inside.local_addr().expect("an address")));
    let (stop, over) = (&AtomicBool::new(false), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (_stops, _ends) = (StopAtEnd(stop), StopAtEnd(over));
        let control = || Control { stop, progress: &|_| () };
        let receiver = scope.spawn(move || receiver.run(&control()));
        let relay = scope.spawn(move || relay.run(&control()));
        scope.spawn(move || translate(&inside, first, over));
        let sender = sender.expect("a sender").run(&control()).expect("answered");
        let receiver = receiver.join().expect("no panic").expect("an output");
        stop.store(true, Ordering::Relaxed);
        let relay = relay.join().expect("no panic").expect("an output");
        (sender, relay, receiver)
    })
}

/// The sender's target in Mbit/s: least of the last two seconds.
fn target_at_the_end(sender: &NetOutput) -> f64 {
    let targets = sender.flows.float("target_bitrate_mbps").expect("a column");
    let rows = sender.flows.rows();
    (rows - 20..rows).filter_map(|row| targets.value(row)).fold(f64::INFINITY, f64::min)
}

fn is_one_call(controller: &str, relayed: bool) {
    let loaded = scenario(controller);
    let run = || {
        let (sender, relay, receiver) = call(&loaded, relayed);
        let (sent, came) = (flow(&sender).packets_sent, receiver.summary.packets);
        let missing = sent.zip(came).map(|(sent, came)| sent.abs_diff(came));
        // Packets that the ports before still held, or the end of the run has cut off.
        assert!(missing.is_some_and(|missing| missing <= 60), "{sent:?} left, {came:?} came");
        let counters = if relayed { relay.counters } else { receiver.counters };
        assert_eq!((counters.sender_moves, counters.second_senders), (1, 0), "{counters:?}");
        let warnings = if relayed { &relay.warnings } else { &receiver.warnings };
        assert!(warnings.iter().any(|said| said.contains("went on from 127.0.0.1")), "{warnings:?}");
        sender
    };
    judge_on_time(run, |sender| {
        let target = target_at_the_end(sender);
        assert!(target >= 2.5, "{controller}: {target} Mbit/s at the end");
    });
}

#[test]
fn under_scream() {
    is_one_call("scream", false);
}

#[test]
fn under_gcc() {
    is_one_call("gcc", false);
}

#[test]
fn through_a_relay() {
    is_one_call("scream", true);
}
