//! `rtp.rtcp = true` over sockets: both ends report (RFC 3550 section 6) beside the reports on packets, and say goodbye.

use crate::call::{anywhere, flow, loaded};
use crate::ends::{self, Ends};
use crate::lateness::judge_on_time;
use paceline_net::{Control, ReceiveOptions, Receiver, SendOptions, Sender};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Two streams over 4 Mbit/s and 40 ms.
fn scenario(more: &str) -> String {
    let source = "source = { kind = \"cbr\", rate = \"1Mbps\", adaptive = true, fps = 50 }\n";
    format!(
        "duration = \"4s\"\n[links.bottleneck]\nrate = \"4Mbps\"\ndelay = \"20ms\"\nqueue = {{ packets = 50 }}\n\
         [flows.only]\ncontroller = \"scream\"\npath = [\"bottleneck\"]\nreturn_delay = \"20ms\"\n{more}\n\
         [flows.only.streams.camera]\n{source}[flows.only.streams.screen]\n{source}"
    )
}

#[test]
fn both_ends_report_and_the_sender_learns_the_round_trip() {
    judge_on_time(both_report, |ends| {
        let (sender, receiver) = (ends.sender.counters, ends.receiver.counters);
        // An interval is drawn around 0.3 s; reports on two streams each.
        assert!(sender.rtcp_reports >= 6, "{sender:?}");
        assert!(receiver.rtcp_reports >= 10, "{receiver:?}");
        let round_trip = sender.rtcp_round_trip_ms.expect("it was told");
        let srtt = flow(&ends.sender).srtt_ms.p50.expect("there is one");
        assert!(round_trip < 150.0, "{round_trip} ms, smoothed RTT {srtt} ms");
        assert!(receiver.rtcp_lost < Some(60), "{receiver:?}");
    });
}

fn both_report() -> Ends {
    let ends = ends::run(&loaded(&scenario("rtp = { rtcp = true }")), |_, _, _| ());
    let (sender, receiver) = (ends.sender.counters, ends.receiver.counters);
    // At 4 Mbit/s, the link's rate, an interval is 0.09 s, drawn from 0.037 s on: 108 in 4 s. The sender's are on two streams each.
    assert!((1..=108).contains(&sender.rtcp_reports), "{sender:?}");
    assert!((1..=216).contains(&receiver.rtcp_reports), "{receiver:?}");
    assert!(sender.rtcp_round_trip_ms.is_some_and(|round_trip| round_trip >= 38.0), "{sender:?}");
    assert!(sender.rtcp_jitter_ms.is_some() && receiver.rtcp_jitter_ms.is_some());
    assert!(receiver.rtcp_lost >= Some(0) && sender.rtcp_lost.is_some(), "{receiver:?}");
    for counters in [sender, receiver] {
        let refused =
            (counters.malformed, counters.unknown_ssrc, counters.other_rtcp, counters.impossible_times);
        assert_eq!(refused, (0, 0, 0, 0), "{counters:?}");
    }
    assert!(sender.unknown_reports == 0 && ends.relay.counters.malformed == 0);
    ends
}

#[test]
fn a_goodbye_ends_the_receivers_run() {
    let text = scenario("rtp = { rtcp = true }");
    let (short, long) =
        (loaded(&text.replace("\"4s\"", "\"1s\"")), loaded(&text.replace("\"4s\"", "\"30s\"")));
    let receiver = Receiver::bind(&long, &ReceiveOptions { silence: None, ..ReceiveOptions::on(anywhere()) })
        .expect("a receiver");
    let sender =
        Sender::bind(&short, &SendOptions::to(receiver.address().expect("an address"))).expect("a sender");
    let (began, stop) = (Instant::now(), &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let control = || Control { stop, progress: &|_| () };
        let receiver = scope.spawn(move || receiver.run(&control()).map(|_| began.elapsed().as_secs_f64()));
        sender.run(&control()).expect("a sender's output");
        let ended = receiver.join().expect("no panic").expect("a receiver's output");
        assert!((0.9..20.0).contains(&ended), "after {ended} s, before its scenario ends");
    });
}

#[test]
fn nobody_reports_unless_that_is_asked_for() {
    let ends = ends::run(&loaded(&scenario("")), |_, _, _| ());
    for counters in [ends.sender.counters, ends.receiver.counters] {
        let told = (counters.rtcp_round_trip_ms, counters.rtcp_jitter_ms, counters.rtcp_lost);
        assert_eq!((counters.rtcp_reports, told), (0, (None, None, None)));
    }
}
