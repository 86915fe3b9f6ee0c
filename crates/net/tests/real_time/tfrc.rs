//! TFRC over RTP on loopback: through a relay that loses packets, its sender comes to the rate of the equation.

use crate::call::{anywhere, flow, loaded};
use crate::lateness::judge_on_time;
use paceline_net::{Control, NetOutput, ReceiveOptions, Receiver, Relay, RelayOptions, SendOptions, Sender};
use paceline_scenario::Loaded;
use paceline_units::{Bitrate, TimeDelta};
use paceline_wire::rtp;
use paceline_wire::tfrc::{self, SendTime, Stamp, TfrcReport};
use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A greedy TFRC flow over 8 Mbit/s and 40 ms, of which `loss` of the packets are lost.
fn greedy(seconds: u32, loss: f64) -> Loaded {
    loaded(&format!(
        "duration = \"{seconds}s\"\nwarmup = \"4s\"\n[links.bottleneck]\nrate = \"8Mbps\"\ndelay = \"20ms\"\n\
         queue = {{ packets = 100 }}\nloss = {{ kind = \"bernoulli\", ratio = {loss} }}\n\
         [flows.only]\ncontroller = \"tfrc\"\nsource = {{ kind = \"bulk\" }}\npacket_size = \"1012B\"\n\
         path = [\"bottleneck\"]\nreturn_delay = \"20ms\"\n"
    ))
}

fn run(loaded: &Loaded) -> [NetOutput; 3] {
    let receiver = Receiver::bind(loaded, &ReceiveOptions::on(anywhere())).expect("a receiver");
    let target = receiver.address().expect("an address");
    let relay = Relay::bind(loaded, &RelayOptions::between(anywhere(), target)).expect("a relay");
    let sender = Sender::bind(loaded, &SendOptions::to(relay.address().expect("an address")));
    let (sender, stop) = (sender.expect("a sender"), &AtomicBool::new(false));
    let control = || Control { stop, progress: &|_| () };
    std::thread::scope(|scope| {
        let relay = scope.spawn(move || relay.run(&control()));
        let receiver = scope.spawn(move || receiver.run(&control()));
        let sent = sender.run(&control()).expect("sent");
        let relayed = relay.join().expect("no panic").expect("relayed");
        [sent, relayed, receiver.join().expect("no panic").expect("received")]
    })
}

/// RFC 5348 section 3.1 in Mbit/s, for packets of 1012 B: with 40 ms and 1 % it gives 2.3.
fn equation(round_trip: f64, p: f64) -> f64 {
    let timeout = 4.0 * round_trip * (3.0 * (3.0 * p / 8.0).sqrt()) * p * (1.0 + 32.0 * p * p);
    1012.0 * 8.0 / (round_trip * (2.0 * p / 3.0).sqrt() + timeout) / 1e6
}

/// The equation's rate at the round trip that the sender saw, which is longer where a machine wakes late, and at the losses that
/// the relay saw. Loss events are fewer than losses. The band, a factor of two, is ours.
#[test]
fn a_flow_through_losses_comes_to_the_rate_of_the_equation() {
    judge_on_time(through_losses, |outputs| {
        let [sent, relayed, received] = outputs.each_ref().map(flow);
        let mbps = received.throughput_mbps.expect("a throughput");
        let loss = relayed.loss_ratio.expect("losses");
        assert!((0.002..0.03).contains(&loss), "{loss}");
        let round_trip = sent.srtt_ms.mean.expect("round trips") / 1e3;
        let expected = equation(round_trip, loss);
        assert!(
            (0.5..2.0).contains(&(mbps / expected)),
            "{mbps} Mbit/s, by the equation {expected} at {round_trip} s"
        );
        assert!(sent.packets_sent.is_some_and(|packets| packets > 1000), "{sent:?}");
    });
}

/// However late the machine is, packets are lost, and no report tells of single ones.
fn through_losses() -> [NetOutput; 3] {
    let outputs = run(&greedy(14, 0.01));
    let [sent, relayed, _] = outputs.each_ref().map(flow);
    assert!(relayed.loss_ratio.is_some_and(|loss| (0.0..0.1).contains(&loss)), "{relayed:?}");
    assert!(sent.packets_sent > Some(100) && sent.packets_sent >= relayed.packets_received, "{sent:?}");
    assert_eq!(sent.packets_received, None, "TFRC's reports tell no single packets");
    outputs
}

/// The effect of a receiver's answers on a sender: the packets that it sent by their end, and what it refused.
fn answered(mut answer: impl FnMut(&Stamp, u32) -> Vec<u8>) -> NetOutput {
    let loaded = &greedy(5, 0.0);
    let receiver = UdpSocket::bind(anywhere()).expect("a socket");
    receiver.set_read_timeout(Some(Duration::from_millis(200))).expect("set");
    let options = SendOptions {
        patience: TimeDelta::from_secs(20),
        ..SendOptions::to(receiver.local_addr().expect("bound"))
    };
    let sender = Sender::bind(loaded, &options).expect("a sender");
    let stop = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || sender.run(&Control { stop, progress: &|_| () }));
        let (mut buffer, mut longest) = ([0; 2000], 0);
        while !sender.is_finished() {
            let Ok((length, from)) = receiver.recv_from(&mut buffer) else { continue };
            // A round trip that is long for a loopback.
            std::thread::sleep(Duration::from_millis(30));
            let view = rtp::decode(&buffer[..length]).expect("RTP");
            assert!(length <= 1012, "no longer than the scenario says, the extension in: {length} B");
            longest = longest.max(length);
            let stamp = view.extension.as_ref().and_then(Stamp::read).expect("a stamp");
            let _ = receiver.send_to(&answer(&stamp, view.header.ssrc), from);
        }
        assert_eq!(longest, 1012, "most are as long as that");
        sender.join().expect("no panic").expect("sent")
    })
}

fn report(stamp: &Stamp, ssrc: u32, kbps: u64, loss_event_rate: f64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let receive_rate = Bitrate::from_kbps(kbps);
    let (newest_sent, delay) = (stamp.sent, TimeDelta::ZERO);
    tfrc::encode(
        &TfrcReport { sender_ssrc: 1, ssrc, newest_sent, delay, receive_rate, loss_event_rate },
        &mut bytes,
    );
    bytes
}

/// The sender tells its round-trip time once it knows one, and a report whose every field is wrong, or of a time that has not
/// come, makes it no faster than one that is true.
#[test]
fn hostile_reports_are_counted_and_do_not_speed_up_the_sender() {
    // The first answer is true: before it a packet leaves each second.
    let (mut turn, mut knew) = (4_u32, false);
    let output = answered(|stamp, ssrc| {
        turn += 1;
        knew |= stamp.rtt.is_some();
        match turn % 5 {
            // Its true answer: it receives 400 kbit/s, and a packet in ten begins a loss event.
            0 => report(stamp, ssrc, 400, 0.1),
            // A time to come, another stream, bytes that are cut short, and nonsense.
            1 => {
                let sent = SendTime::of(stamp.sent.low() + TimeDelta::from_secs(3600));
                report(&Stamp { sent, rtt: None }, ssrc, u64::MAX / 1_000_000, 0.0)
            }
            2 => report(stamp, ssrc ^ 0x5555, u64::MAX / 1_000_000, 0.0),
            3 => report(stamp, ssrc, 1, 1.0)[..30].to_vec(),
            _ => vec![0x81, 204, 0, 2, 0, 0, 0, 1, b'T', b'F', b'R', b'C'],
        }
    });
    let counters = output.counters;
    assert!(knew, "the receiver needs the round-trip time");
    assert!(
        counters.unknown_reports > 0 && counters.unknown_ssrc > 0 && counters.malformed > 0,
        "{counters:?}"
    );
    let packets = flow(&output).packets_sent.expect("sent");
    // Twice 400 kbit/s for 5 s are 500 packets.
    assert!((10..600).contains(&packets), "{packets}");
}
