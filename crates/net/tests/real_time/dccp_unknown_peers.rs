//! Attacks of unknown peers on a DCCP receiver on a real socket: floods of Requests, scans, forged Resets. An established
//! connection lives, a new one is let in, and memory stays where it was.

use crate::alone::in_own_process;
use crate::call::{StopAtEnd, anywhere, flow, loaded};
use crate::dccp_ends::is_of_lateness;
use crate::lateness::{judge_on_time, wait_until};
use paceline_net::{Control, NetOutput, Progress, ReceiveOptions, Receiver, SendOptions, Sender};
use paceline_scenario::Loaded;
use paceline_units::Time;
use paceline_wire::dccp::{
    Body, DccpOption, Packet, PacketType, Payload, Ports, ResetCode, ResetReason, SequenceNumber, ServiceCode,
};
use paceline_wire::dccp::{decode_in_udp, encode_in_udp, glance};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// When a call is disturbed that has begun.
const LATER: Time = Time::from_nanos(300_000_000);

/// 2 Mbit/s for so long, whatever happens: some 250 packets a second.
fn call(duration: &str) -> Loaded {
    loaded(&format!(
        "duration = \"{duration}\"\n[links.l]\nrate = \"10Mbps\"\nqueue = {{ packets = 100 }}\n[flows.f]\n\
         transport = \"dccp\"\ncontroller = \"ccid2\"\npacket_size = \"1016B\"\nsource = {{ kind = \"cbr\", rate = \
         \"2Mbps\", fps = 250 }}\ndccp = {{ service = \"SC:call\" }}\npath = [\"l\"]\n"
    ))
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    socket
}

fn bytes(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_in_udp(packet, &mut bytes).expect("it can be written");
    bytes
}

fn request(source: u16, destination: u16, service: &str, number: u64) -> Vec<u8> {
    let body = Body::Request { service: service.parse::<ServiceCode>().expect("a code") };
    bytes(&Packet::new(Ports { source, destination }, SequenceNumber::new(number), body))
}

/// Brings a cookie back from a port of its own, and closes if asked; answers the socket, and what the receiver said last.
fn shake_hands(to: SocketAddr, closes: bool) -> (UdpSocket, Packet) {
    let (socket, mut buffer) = (socket(), [0; 2000]);
    socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    let mut say = |bytes: &[u8]| {
        socket.send_to(bytes, to).expect("sent");
        let (length, _) = socket.recv_from(&mut buffer).expect("an answer");
        decode_in_udp(&buffer[..length]).expect("DCCP")
    };
    let mut last = say(&request(5001, 5004, "SC:call", 1000));
    if last.packet_type() != PacketType::Response {
        return (socket, last);
    }
    let (acknowledgment, mut options) = (last.sequence, last.options);
    options.retain(|option| matches!(option, DccpOption::InitCookie(_)));
    let said = |number, body| {
        let ports = Ports { source: 5001, destination: 5004 };
        let packet = Packet::new(ports, SequenceNumber::new(number), body);
        bytes(&Packet { options: options.clone(), ..packet })
    };
    last = say(&said(1001, Body::Ack { acknowledgment }));
    if closes {
        last = say(&said(1002, Body::Close { acknowledgment }));
    }
    (socket, last)
}

/// Numbers that look random.
fn scrambled(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Sends `count` datagrams, a few at a time so that the target can keep up; answers the types of what came back.
fn send_all(count: u64, to: SocketAddr, mut datagram: impl FnMut(u64) -> Vec<u8>) -> Vec<PacketType> {
    let (socket, mut buffer, mut answers) = (socket(), [0; 2000], Vec::new());
    socket.set_nonblocking(true).expect("a socket");
    for n in 0..count {
        let _ = socket.send_to(&datagram(n), to);
        if n % 50 == 49 {
            std::thread::sleep(Duration::from_micros(500));
            while let Ok((length, _)) = socket.recv_from(&mut buffer) {
                answers.push(glance(&buffer[..length]).expect("DCCP").kind);
            }
        }
    }
    answers
}

/// A call during which `disturb` does what it likes, once before it begins and once from 300 ms on.
fn disturbed(loaded: &Loaded, disturb: impl FnMut(SocketAddr) + Send) -> (NetOutput, NetOutput) {
    disturbed_with(loaded, &ReceiveOptions::on(anywhere()), disturb)
}

/// The same with options of the receiver.
fn disturbed_with(
    loaded: &Loaded,
    options: &ReceiveOptions,
    mut disturb: impl FnMut(SocketAddr) + Send,
) -> (NetOutput, NetOutput) {
    let receiver = Receiver::bind(loaded, options).expect("a receiver");
    let to = receiver.address().expect("an address");
    let sender = Sender::bind(loaded, &SendOptions::to(to)).expect("a sender");
    let (stop, carries) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let progress = &|told: Progress<'_>| {
        carries.fetch_or(told.reached().is_some_and(|at| at >= LATER), Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        let _stops = StopAtEnd(stop);
        let receiver = scope.spawn(move || receiver.run(&Control { stop, progress }));
        disturb(to);
        let sender = scope.spawn(move || sender.run(&Control { stop, progress: &|_| () }));
        wait_until("call", || carries.load(Ordering::Relaxed) || sender.is_finished());
        disturb(to);
        let sent = sender.join().expect("no panic");
        // A receiver that nobody reached has nothing to wait for.
        stop.store(sent.is_err(), Ordering::Relaxed);
        let received = receiver.join().expect("no panic");
        (sent.expect("a sender's output"), received.expect("a receiver's output"))
    })
}

/// The call closed, however late the machine was.
fn closed(sent: &NetOutput, received: &NetOutput) {
    let mut warned = sent.warnings.iter().chain(&received.warnings);
    assert!(warned.all(|said| is_of_lateness(said)), "{sent:?} {received:?}");
    let (told, arrived) = (flow(sent).packets_received, flow(received).packets_received);
    assert!(told > Some(10) && told <= arrived, "{:?} {:?}", flow(sent), flow(received));
}

/// The call went on to its end.
fn lived(sent: &NetOutput, received: &NetOutput, duration: f64) {
    assert!(sent.warnings.is_empty() && received.warnings.is_empty(), "{sent:?} {received:?}");
    let rate = flow(received).goodput_mbps.expect("packets");
    assert!((1.0..2.6).contains(&rate), "{:?}", flow(received));
    let reported = flow(sent).packets_received.expect("known") as f64;
    assert!(reported > 120.0 * duration, "{:?}", flow(sent));
    let last = received.flows.float("throughput_mbps").expect("a column");
    let rows = received.flows.rows();
    assert!((rows - 4..rows).any(|row| last.value(row).is_some_and(|mbps| mbps > 0.5)), "to the end");
}

/// Resident memory of this process, in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a figure");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).expect("a number") * 1024
}

#[test]
fn a_flood_of_requests_costs_no_memory_and_keeps_nobody_out() {
    in_own_process("dccp_unknown_peers::a_flood_of_requests_costs_no_memory_and_keeps_nobody_out", flood);
}

fn flood() {
    judge_on_time(flooded, |(sent, received, [cookies, resets])| {
        lived(sent, received, 3.0);
        assert!(*cookies >= 1000 && *resets > 100, "{cookies} {resets}");
        let counters = received.counters;
        assert!(counters.unanswered > 1000 && counters.unknown_peers > 1000, "{counters:?}");
    });
}

/// A call with a flood before it and one beside it; answers how many cookies and Resets there were.
fn flooded() -> (NetOutput, NetOutput, [usize; 2]) {
    const FLOOD: u64 = 15_000;
    let loaded = call("8s");
    let (mut answers, mut used, mut took) = (Vec::new(), Vec::new(), Vec::new());
    let (sent, received) = disturbed(&loaded, |to| {
        let (before, begun) = (memory(), Instant::now());
        answers
            .push(send_all(FLOOD, to, |n| request((n % 60_000) as u16 + 1, 5004, "SC:call", scrambled(n))));
        took.push(begun.elapsed());
        used.push(memory().saturating_sub(before));
    });
    closed(&sent, &received);
    // Before the call Requests get so many cookies a second; beside it the receiver is busy, and says so so many times a second.
    let count = |answers: &[PacketType], kind| answers.iter().filter(|found| **found == kind).count();
    let cookies = count(&answers[0], PacketType::Response);
    let resets = count(&answers[1], PacketType::Reset);
    assert_eq!(count(&answers[1], PacketType::Response), 0);
    let most = |per_second, took: Duration| per_second * (took.as_secs() as usize + 2);
    assert!(cookies > 0 && cookies <= most(4096, took[0]), "{cookies} in {:?}", took[0]);
    assert!(resets > 0 && resets <= most(1024, took[1]), "{resets} in {:?}", took[1]);
    // A connection for each would have taken some 60 MB.
    assert!(used.iter().all(|bytes| *bytes < 12 << 20), "{used:?}");
    (sent, received, [cookies, resets])
}

#[test]
fn a_scan_finds_nothing_and_disturbs_nobody() {
    judge_on_time(scanned, |(sent, received, answers)| {
        lived(sent, received, 1.5);
        assert!(*answers >= 100, "{answers}");
        let counters = received.counters;
        assert!(counters.malformed > 200 && counters.unknown_peers > 1000, "{counters:?}");
    });
}

/// A call with a scan before it and one beside it; answers how many answers there were.
fn scanned() -> (NetOutput, NetOutput, usize) {
    let begun = Instant::now();
    let loaded = call("1500ms");
    let mut answers = Vec::new();
    let (sent, received) = disturbed(&loaded, |to| {
        answers.push(send_all(6000, to, |n| {
            let acknowledgment = SequenceNumber::new(scrambled(n + 7));
            let body = match n % 8 {
                0 => return request(700, (n % 5000) as u16, "SC:call", n),
                1 => return request(700, 5004, "SC:scan", n),
                2 => Body::Data,
                3 => Body::Ack { acknowledgment },
                4 => Body::SyncAck { acknowledgment },
                5 => Body::Close { acknowledgment },
                6 => Body::Reset { acknowledgment, reason: ResetReason::new(ResetCode::CLOSED) },
                _ => return vec![n as u8; (n % 90) as usize],
            };
            let mut packet = Packet::new(
                Ports { source: 5001, destination: 5004 },
                SequenceNumber::new(scrambled(n)),
                body,
            );
            packet.payload = Payload::dummy(n as u32 % 300, Time::ZERO);
            bytes(&packet)
        }));
    });
    closed(&sent, &received);
    // Resets, not more than so many a second, and nothing else.
    let answers = answers.concat();
    let others = answers.iter().filter(|kind| **kind != PacketType::Reset).count();
    let most = 1024 * (begun.elapsed().as_secs() as usize + 2);
    assert!(others == 0 && (1..=most).contains(&answers.len()), "{others} of {}", answers.len());
    assert!(
        received.counters.malformed > 0 && received.counters.unknown_peers > 0,
        "{:?}",
        received.counters
    );
    (sent, received, answers.len())
}

/// More of them than there is room for those whose connection has just begun, one after the other: none leaves anything behind.
#[test]
fn who_connects_and_closes_at_once_keeps_nobody_out() {
    judge_on_time(beside_who_closes_at_once, |sent| {
        assert!(flow(sent).packets_received > Some(50), "{:?}", flow(sent));
    });
}

fn beside_who_closes_at_once() -> NetOutput {
    let loaded = call("2s");
    let mut last = Vec::new();
    let (sent, received) = disturbed(&loaded, |to| {
        // Beside the call they are told that the receiver is busy.
        last.extend((0..17).map(|_| shake_hands(to, true).1.packet_type()));
    });
    assert_eq!(last, [PacketType::Reset; 34]);
    assert!(
        received.counters.unknown_peers < 40 && received.counters.malformed == 0,
        "{:?}",
        received.counters
    );
    assert!(flow(&sent).packets_received > Some(0), "{:?}", flow(&sent));
    sent
}

/// An unknown peer with a connection that says something again and again, all of it valid, and never sends data.
#[test]
fn who_connects_and_sends_no_data_gives_way() {
    judge_on_time(beside_who_sends_no_data, |(sent, said)| {
        assert!((5..=12).contains(said), "{said}");
        assert!(flow(sent).packets_received > Some(50), "{:?}", flow(sent));
    });
}

/// Answers how often the unknown peer said something until it was sent away.
fn beside_who_sends_no_data() -> (NetOutput, u64) {
    let loaded = call("500ms");
    let silence = Some(paceline_units::TimeDelta::from_secs(1));
    let options = ReceiveOptions { silence, ..ReceiveOptions::on(anywhere()) };
    let mut unknown = Vec::new();
    let (sent, _) = disturbed_with(&loaded, &options, |to| {
        if !unknown.is_empty() {
            return;
        }
        let (socket, last) = shake_hands(to, false);
        assert_eq!(last.packet_type(), PacketType::Ack);
        unknown.push(std::thread::spawn(move || hold_on(&socket, to, last)));
        std::thread::sleep(Duration::from_millis(1600));
    });
    let ended = unknown.remove(0).join().expect("no panic");
    assert!(flow(&sent).packets_received > Some(0), "{:?}", flow(&sent));
    (sent, ended.expect("it was sent away"))
}

/// Acknowledges `last` every 100 ms; answers how often, if a Reset ended it before 3 s were over.
fn hold_on(socket: &UdpSocket, to: SocketAddr, last: Packet) -> Option<u64> {
    let mut buffer = [0; 2000];
    for count in 1..30 {
        std::thread::sleep(Duration::from_millis(80));
        let body = Body::Ack { acknowledgment: last.sequence };
        let ack = Packet::new(last.ports.reversed(), SequenceNumber::new(1001 + count), body);
        socket.send_to(&bytes(&ack), to).expect("sent");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
        let Ok((length, _)) = socket.recv_from(&mut buffer) else { continue };
        if glance(&buffer[..length]).expect("DCCP").kind == PacketType::Reset {
            return Some(count);
        }
    }
    None
}

/// Passes on what comes to one socket by another until it is over.
fn pass_on(from: &UdpSocket, by: &UdpSocket, to: SocketAddr, over: &AtomicBool) {
    let mut buffer = [0; 2000];
    while !over.load(Ordering::Relaxed) {
        let Ok((length, _)) = from.recv_from(&mut buffer) else { continue };
        let _ = by.send_to(&buffer[..length], to);
    }
}

/// Somebody who knows the addresses of both ends and their ports, but not their numbers, stands in the middle.
#[test]
fn forged_resets_end_nothing() {
    judge_on_time(beside_forged_resets, |(sent, received)| lived(sent, received, 1.5));
}

fn beside_forged_resets() -> (NetOutput, NetOutput) {
    let loaded = call("1500ms");
    let receiver = Receiver::bind(&loaded, &ReceiveOptions::on(anywhere())).expect("a receiver");
    let far = receiver.address().expect("an address");
    let (front, back) = (socket(), socket());
    let sender = Sender::bind(&loaded, &SendOptions::to(front.local_addr().expect("an address")));
    let sender = sender.expect("a sender");
    let near = sender.address().expect("an address");
    let (stop, over) = (&AtomicBool::new(false), &AtomicBool::new(false));
    let control = || Control { stop, progress: &|_| () };
    let (sent, received, forged) = std::thread::scope(|scope| {
        scope.spawn(|| pass_on(&front, &back, far, over));
        scope.spawn(|| pass_on(&back, &front, near, over));
        let receiver = scope.spawn(move || receiver.run(&control()));
        let sender = scope.spawn(move || sender.run(&control()));
        std::thread::sleep(Duration::from_millis(200));
        let mut forged = 0u64;
        while !sender.is_finished() && forged < 40_000 {
            let acknowledgment = SequenceNumber::new(scrambled(forged + 99));
            let reason = ResetReason::new(ResetCode::CLOSED);
            let body = match forged % 4 {
                0 | 1 => Body::Reset { acknowledgment, reason },
                2 => Body::Close { acknowledgment },
                _ => Body::Ack { acknowledgment },
            };
            let ports = Ports { source: 5001, destination: 5004 };
            let packet = Packet::new(ports, SequenceNumber::new(scrambled(forged)), body);
            let _ = back.send_to(&bytes(&packet), far);
            let answer = Packet { ports: ports.reversed(), ..packet };
            assert!(decode_in_udp(&bytes(&answer)).is_ok());
            let _ = front.send_to(&bytes(&answer), near);
            forged += 1;
            if forged.is_multiple_of(20) {
                std::thread::sleep(Duration::from_micros(500));
            }
        }
        let sent = sender.join().expect("no panic");
        stop.store(sent.is_err(), Ordering::Relaxed);
        let received = receiver.join().expect("no panic");
        over.store(true, Ordering::Relaxed);
        (sent.expect("a sender's output"), received.expect("a receiver's output"), forged)
    });
    closed(&sent, &received);
    for counters in [sent.counters, received.counters] {
        assert!(counters.out_of_sequence > forged / 4, "{forged} {counters:?}");
    }
    // Invalid packets are answered by a few Syncs a second, not one by one.
    assert!(sent.counters.sent < 2 * flow(&sent).packets_sent.expect("known") + 100, "{:?}", sent.counters);
    (sent, received)
}
