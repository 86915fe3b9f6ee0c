//! A planned silence is waited for, and other silences are said when they begin and when they end, at receiver and relay alike.

use crate::call::{StopAtEnd, anywhere, flow, loaded};
use crate::lateness::judge_on_time;
use paceline_net::{
    Control, NetOutput, Progress, ReceiveOptions, Receiver, Relay, RelayOptions, SendOptions, Sender, receive,
};
use paceline_scenario::Loaded;
use paceline_units::TimeDelta;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn scenario(duration: &str, flow: &str) -> String {
    format!(
        "duration = \"{duration}\"\nsample = \"100ms\"\n[links.l]\nrate = \"10Mbps\"\ndelay = \"5ms\"\nqueue = {{ packets = 100 }}\n\
         [flows.call]\nsource = {{ kind = \"cbr\", rate = \"1Mbps\", fps = 50 }}\npath = [\"l\"]\n{flow}\n"
    )
}

/// Messages of ends while they run.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Heard {
    fn hear(&self, told: Progress<'_>) {
        if let Progress::Warned(said) | Progress::Waits(said) = told {
            self.0.lock().expect("no panic").push(said.into());
        }
    }

    fn said(&self) -> Vec<String> {
        self.0.lock().expect("no panic").clone()
    }
}

/// A pause that is longer than any silence that is said: nobody says anything, and the call goes on.
fn a_planned_pause_is_waited_for(transport: &str) {
    let loaded = loaded(&scenario("7500ms", &format!("{transport}pause = [[\"500ms\", \"6500ms\"]]")));
    // 50 frames before the pause and 100 behind it, each of 3 packets, but for what the end cuts off.
    judge_on_time(|| paused(&loaded), |received| assert!(*received >= 150, "{received} packets"));
}

/// How many packets came in a call with a planned pause.
fn paused(loaded: &Loaded) -> u64 {
    let silence = Some(TimeDelta::from_secs(3));
    let receiver = Receiver::bind(loaded, &ReceiveOptions { silence, ..ReceiveOptions::on(anywhere()) });
    let receiver = receiver.expect("a receiver");
    let target = receiver.address().expect("an address");
    let relay = Relay::bind(loaded, &RelayOptions::between(anywhere(), target)).expect("a relay");
    let sender = Sender::bind(loaded, &SendOptions::to(relay.address().expect("an address")));
    let (stop, heard) = (&AtomicBool::new(false), &Heard::default());
    let progress = &|told: Progress<'_>| heard.hear(told);
    let ends: [NetOutput; 3] = std::thread::scope(|scope| {
        let _stops = StopAtEnd(stop);
        let receiver = scope.spawn(move || receiver.run(&Control { stop, progress }));
        let relay = scope.spawn(move || relay.run(&Control { stop, progress }));
        let sender = sender.expect("a sender").run(&Control { stop, progress }).expect("answered");
        let [receiver, relay] =
            [receiver, relay].map(|end| end.join().expect("no panic").expect("an output"));
        [sender, relay, receiver]
    });
    let silences = |said: &String| said.contains("nothing") || said.contains("feedback");
    let said: Vec<_> = ends.iter().flat_map(|end| &end.warnings).filter(|said| silences(said)).collect();
    assert_eq!((said, heard.said()), (vec![], Vec::<String>::new()));
    let [sent, _, received] = ends.each_ref().map(|end| flow(end).packets_received.expect("known"));
    assert!(received > 0 && received.abs_diff(sent) < 60, "{sent} and {received} packets");
    assert!(ends[2].summary.duration_s > 7.0, "{} s", ends[2].summary.duration_s);
    received
}

#[test]
fn rtp_pauses_as_planned() {
    a_planned_pause_is_waited_for("controller = \"scream\"\n");
}

#[test]
fn dccp_pauses_as_planned() {
    a_planned_pause_is_waited_for("transport = \"dccp\"\ncontroller = \"ccid2\"\n");
}

fn packet(sequence: u8) -> Vec<u8> {
    let ticks = u32::from(sequence).wrapping_mul(900).to_be_bytes();
    [&[0x80, 98, 0, sequence][..], &ticks, &[0, 0, 0, 7], &[0; 100]].concat()
}

/// Sends these packets, 10 ms apart.
fn send(socket: &UdpSocket, to: SocketAddr, sequences: std::ops::Range<u8>) {
    for sequence in sequences {
        socket.send_to(&packet(sequence), to).expect("sent");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn socket() -> UdpSocket {
    UdpSocket::bind("127.0.0.1:0").expect("a socket")
}

#[test]
fn a_silence_is_said_when_it_begins_and_when_it_ends() {
    let loaded = loaded(&scenario("60s", "controller = \"scream\""));
    let receiver = Receiver::bind(&loaded, &ReceiveOptions::on(anywhere())).expect("a receiver");
    let target = receiver.address().expect("an address");
    let relay = Relay::bind(&loaded, &RelayOptions::between(anywhere(), target)).expect("a relay");
    let middle = relay.address().expect("an address");
    let (stop, sender) = (&AtomicBool::new(false), socket());
    let [at_receiver, at_relay] = &[Heard::default(), Heard::default()];
    let ends = std::thread::scope(|scope| {
        let _stops = StopAtEnd(stop);
        let receiver =
            scope.spawn(move || receiver.run(&Control { stop, progress: &|told| at_receiver.hear(told) }));
        let relay = scope.spawn(move || relay.run(&Control { stop, progress: &|told| at_relay.hear(told) }));
        // Longer than whoever waits for a sender says so.
        std::thread::sleep(Duration::from_millis(10_500));
        send(&sender, middle, 0..50);
        std::thread::sleep(Duration::from_millis(5700));
        send(&sender, middle, 50..100);
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
        [receiver, relay].map(|end| end.join().expect("no panic").expect("an output"))
    });
    assert_eq!(ends[0].summary.packets, Some(100), "one call");
    for (end, heard) in ends.iter().zip([at_receiver, at_relay]) {
        let said = heard.said();
        let begins =
            ["nothing has arrived at 127.0.0.1:", "nothing arrived since 0.", "packets come again at "];
        assert_eq!(said.len(), begins.len(), "{said:?}");
        assert!(said.iter().zip(begins).all(|(said, begin)| said.starts_with(begin)), "{said:?}");
        let told = end.warnings.iter().filter(|said| said.starts_with("nothing arrived from 0."));
        assert_eq!(told.count(), 1, "{:?}", end.warnings);
    }
}

/// Only a silence that is not planned counts towards the silence that ends a run.
#[test]
fn a_silence_is_waited_for_as_long_as_the_options_say() {
    judge_on_time(ended_by_a_silence, |ran| {
        assert!(*ran < 4.0, "0.5 s, a pause of 2 s, and a second more: {ran} s")
    });
}

/// How long a run took that a silence ended, in seconds.
fn ended_by_a_silence() -> f64 {
    let loaded = loaded(&scenario("60s", "controller = \"scream\"\npause = [[\"1s\", \"3s\"]]"));
    let silence = Some(TimeDelta::from_secs(1));
    let options = ReceiveOptions { silence, ..ReceiveOptions::on(anywhere()) };
    let receiver = Receiver::bind(&loaded, &options).expect("a receiver");
    let (target, stop, sender) = (receiver.address().expect("one"), &AtomicBool::new(false), socket());
    let output = std::thread::scope(|scope| {
        let _stops = StopAtEnd(stop);
        let receiver = scope.spawn(move || receiver.run(&Control { stop, progress: &|_| () }));
        send(&sender, target, 0..50);
        receiver.join().expect("no panic").expect("an output")
    });
    let ran = output.summary.duration_s;
    assert!((3.4..60.0).contains(&ran), "{ran} s");
    let ends =
        |said: &&String| said.starts_with("the run ended at ") && said.contains(" of 60.0 s: nothing had");
    assert_eq!(output.warnings.iter().filter(ends).count(), 1, "{:?}", output.warnings);
    ran
}

#[test]
fn a_longer_duration_lengthens_the_run() {
    let loaded = loaded(&scenario("500ms", "controller = \"scream\""));
    let port = socket().local_addr().expect("an address");
    let options = ReceiveOptions { duration: Some(TimeDelta::from_secs(2)), ..ReceiveOptions::on(port) };
    let (stop, sender) = (&AtomicBool::new(false), socket());
    let output = std::thread::scope(|scope| {
        let _stops = StopAtEnd(stop);
        let receiver =
            scope.spawn(move || receive(Some(&loaded), &options, &Control { stop, progress: &|_| () }));
        let mut sequence = 0;
        // Until it listens no more, or for long.
        while !receiver.is_finished() && sequence < 250 {
            let _ = sender.send_to(&packet(sequence), port);
            sequence += 1;
            std::thread::sleep(Duration::from_millis(10));
        }
        receiver.join().expect("no panic").expect("an output")
    });
    assert!(output.summary.duration_s >= 2.0, "{} s", output.summary.duration_s);
    let rows = output.flows.float("throughput_mbps").expect("a column");
    let busy = (0..output.flows.rows()).filter(|row| rows.value(*row).is_some_and(|mbps| mbps > 0.0));
    assert!(output.flows.rows() == 20 && busy.count() > 12, "{} rows", output.flows.rows());
}
