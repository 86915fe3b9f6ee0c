//! A call with the peculiarities of Ericsson's programs: counts less one, one SSRC, datagrams of one byte.

use crate::call::{anywhere, flow, loaded};
use crate::lateness::judge_on_time;
use paceline_net::{Control, NetOutput, ReceiveOptions, Receiver, Remote, SendOptions, Sender};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SCENARIO: &str = "duration = \"2s\"\n[links.bottleneck]\nrate = \"4Mbps\"\nqueue = { packets = 50 }\n\
                        [flows.only]\ncontroller = \"scream\"\npath = [\"bottleneck\"]\n\
                        source = { kind = \"cbr\", rate = \"1Mbps\", fps = 50 }\n";

/// Passes datagrams between both ends, sends the sender one of a single byte each 100 ms, and answers the SSRC of the media and
/// how often a report's blocks are one packet longer than they say.
fn between(socket: &UdpSocket, receiver: SocketAddr, over: &AtomicBool) -> (u32, usize) {
    let (mut bytes, mut sender, mut ssrc, mut less_one) = ([0; 2048], None, 0, 0);
    socket.set_read_timeout(Some(Duration::from_millis(100))).expect("set");
    while !over.load(Ordering::Relaxed) {
        let Ok((length, from)) = socket.recv_from(&mut bytes) else { continue };
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let to = if from == receiver {
            let (told, size) = (word(12) & 0xffff, (length as u32 - 20) / 2);
            // Padding makes an even number of them.
            assert!(size == (told + 1).next_multiple_of(2), "{told} and {size}");
            less_one += 1;
            sender
        } else {
            (sender, ssrc) = (Some(from), word(8));
            socket.send_to(&[0], from).expect("sent");
            Some(receiver)
        };
        to.map(|to| socket.send_to(&bytes[..length], to).expect("sent"));
    }
    (ssrc, less_one)
}

#[test]
fn a_call_goes_on_in_the_form_of_the_reference() {
    judge_on_time(as_the_reference, |(sent, less_one)| {
        assert!(*less_one > 20, "{less_one} reports");
        assert!(sent.counters.keep_alives > 100, "{:?}", sent.counters);
        assert!(flow(sent).packets_received > Some(150), "{:?}", flow(sent));
    });
}

/// A call, and how many of its reports are longer than they say.
fn as_the_reference() -> (NetOutput, usize) {
    let (loaded, remote) = (loaded(SCENARIO), Remote::Ericsson);
    let receives = ReceiveOptions { remote, ..ReceiveOptions::on(anywhere()) };
    let receiver = Receiver::bind(&loaded, &receives).expect("a receiver");
    let (middle, target) = (UdpSocket::bind(anywhere()).expect("a socket"), receiver.address().expect("one"));
    let sends = SendOptions { remote, ..SendOptions::to(middle.local_addr().expect("one")) };
    let sender = Sender::bind(&loaded, &sends).expect("a sender");
    let (stop, over) = (&AtomicBool::new(false), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let control = || Control { stop, progress: &|_| () };
        let receiver = scope.spawn(move || receiver.run(&control()));
        let between = scope.spawn(move || between(&middle, target, over));
        let sent = sender.run(&control()).expect("reports were read");
        let received = receiver.join().expect("no panic").expect("received");
        over.store(true, Ordering::Relaxed);
        let (ssrc, less_one) = between.join().expect("no panic");
        assert_eq!(ssrc, 100);
        assert!(less_one > 0 && sent.counters.keep_alives > 0, "{less_one} {:?}", sent.counters);
        assert_eq!((sent.counters.malformed, sent.counters.unknown_reports), (0, 0));
        let (told, seen) = (flow(&sent).packets_received, flow(&received).packets_received);
        assert!(told.zip(seen).is_some_and(|(told, seen)| told > 0 && seen >= told), "{told:?} of {seen:?}");
        (sent, less_one)
    })
}

#[test]
fn what_the_reference_cannot_be_the_other_end_of_is_refused() {
    let two = SCENARIO.replace(
        "source = {",
        "[flows.only.streams.a]\nsource = { kind = \"bulk\" }\n[flows.only.streams.b]\nsource = {",
    );
    for (text, said) in [
        (two, "has 2 streams"),
        (
            SCENARIO.replace("source", "feedback = { format = \"twcc\" }\nsource"),
            "has reports in another format",
        ),
        (
            SCENARIO.replace("scream", "ccid2").replace("source", "transport = \"dccp\"\nsource"),
            "has transport dccp",
        ),
    ] {
        let (loaded, remote) = (loaded(&text), Remote::Ericsson);
        let receives = ReceiveOptions { remote, ..ReceiveOptions::on(anywhere()) };
        let error = Receiver::bind(&loaded, &receives).err().expect("refused").to_string();
        assert!(error.contains(said), "{error}");
        let sends = SendOptions { remote, ..SendOptions::to("127.0.0.1:9".parse().expect("one")) };
        assert!(Sender::bind(&loaded, &sends).err().expect("refused").to_string().contains(said));
    }
}
