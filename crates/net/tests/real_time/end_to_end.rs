//! The three ends against each other.

use crate::call::{flow, loaded};
use crate::ends::{Ends, run};
use crate::lateness::{judge_on_time, late_ms};
use paceline_scenario::Loaded;
use std::net::UdpSocket;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// 20 Mbit/s into 10: the link is full, drops half (less if the machine is too busy to send), and its queue stays as long
/// as it gets.
#[test]
fn a_full_drop_tail_link_delivers_its_rate_and_drops_the_rest() {
    let loaded = loaded(
        r#"
        duration = "3s"
        warmup = "1s"
        [links.bottleneck]
        rate = "10Mbps"
        delay = "20ms"
        queue = { kind = "droptail", limit = "50ms" }
        [flows.probe]
        controller = { kind = "fixed", rate = "20Mbps" }
        source = { kind = "bulk" }
        path = ["bottleneck"]
        "#,
    );
    judge_on_time(|| full(&loaded), is_full);
}

/// The properties of a full link that hold however late the machine is.
fn full(loaded: &Loaded) -> Ends {
    let ends = run(loaded, |_, _, _| ());
    let (sent, relayed, received) = (flow(&ends.sender), flow(&ends.relay), flow(&ends.receiver));
    assert!(relayed.queue_delay_ms.max.is_some_and(|wait| wait < 51.0), "{relayed:?}");
    assert!(received.one_way_delay_ms.p50.is_some_and(|delay| delay >= 19.8), "{received:?}");
    assert_eq!(received.queue_delay_ms.mean, None);
    assert_eq!((sent.one_way_delay_ms.mean, relayed.goodput_mbps), (None, None));
    let link = ends.relay.summary.links["bottleneck"];
    assert!(
        link.utilisation.is_some_and(|used| used < 1.01) && ends.relay.counters.overflowed == 0,
        "{link:?}"
    );
    let (left, arrived) = (ends.sender.counters.sent, ends.receiver.counters.received);
    assert!(left >= arrived && arrived > 0, "{left} and {arrived} packets");
    assert_eq!(ends.relay.links.rows(), 60);
    assert_eq!(ends.receiver.flows.float("queue_delay_ms").map(|column| column.nulls()), Some(60));
    ends
}

fn is_full(ends: &Ends) {
    let (sent, relayed, received) = (flow(&ends.sender), flow(&ends.relay), flow(&ends.receiver));
    for figures in [relayed, received, sent] {
        let mbps = figures.throughput_mbps.expect("a throughput");
        assert!((8.0..10.5).contains(&mbps), "{figures:?}");
        let loss = figures.loss_ratio.expect("a loss ratio");
        assert!((0.1..0.6).contains(&loss), "{figures:?}");
    }
    let wait = relayed.queue_delay_ms.mean.expect("a queue delay");
    assert!((35.0..51.0).contains(&wait), "{relayed:?}");
    let estimate = sent.queue_delay_ms.mean.expect("an estimate");
    let late = late_ms(&[&ends.sender, &ends.relay]);
    assert!(estimate < wait + 30.0 + late, "at most what the queue and the machine add: {sent:?}");
    // Way, service and queue are in the one-way delay, whatever the machine adds.
    let delay = received.one_way_delay_ms.mean.expect("one clock");
    assert!((20.0 + wait - 1.0..20.0 + wait + 30.0 + late).contains(&delay), "{received:?}");
    let link = ends.relay.summary.links["bottleneck"];
    assert!((0.85..1.01).contains(&link.utilisation.expect("a utilisation")), "{link:?}");
    assert!(link.dropped > 100, "{link:?}");
}

/// A call over a link that marks early: marks arrive, reports carry them back, frames are shown.
#[test]
fn an_l4s_call_over_a_marking_link() {
    let loaded = loaded(
        r#"
        duration = "3s"
        [links.bottleneck]
        rate = "4Mbps"
        delay = "10ms"
        queue = { kind = "droptail", limit = "300ms" }
        mark = { kind = "ramp", low = "2ms", high = "10ms" }
        [flows.video]
        controller = { kind = "scream", profile = "reference-2022", target_bitrate_start = "4Mbps" }
        source = { kind = "trace-encoder", generator = "frames", fps = 50 }
        ecn = "l4s"
        path = ["bottleneck"]
        "#,
    );
    judge_on_time(|| marked(&loaded), carries_media);
}

/// The properties of a link that marks that hold however late the machine is.
fn marked(loaded: &Loaded) -> Ends {
    let ends = run(loaded, |_, _, _| ());
    let (sent, received) = (flow(&ends.sender), flow(&ends.receiver));
    assert!(ends.relay.summary.links["bottleneck"].marked > 0);
    let ecn = sent.ecn.expect("over sockets it is checked");
    assert!(ecn.capable > 0 && ecn.failures == 0, "{ecn:?}");
    assert!(sent.srtt_ms.p50.expect("reports") >= 20.0, "{sent:?}");
    assert!(received.frames.displayed > Some(0), "{:?}", received.frames);
    assert!(received.frame_delay_ms.p50.expect("frames") >= 10.0, "{received:?}");
    assert!(received.frame_delay_parts_ms.send_queue.is_some());
    ends
}

fn carries_media(ends: &Ends) {
    let (sent, relayed, received) = (flow(&ends.sender), flow(&ends.relay), flow(&ends.receiver));
    // Where the machine itself holds packets up, unmarked ones wait as they do before a Classic AQM.
    assert_eq!(sent.ecn.map(|ecn| ecn.state), Some("capable"), "{:?}", sent.ecn);
    let marked = relayed.ce_ratio.expect("packets");
    assert!((0.005..0.9).contains(&marked), "{relayed:?}");
    for figures in [received, sent] {
        let seen = figures.ce_ratio.expect("packets");
        assert!((seen - marked).abs() < 0.1 * marked + 0.01, "{marked} {figures:?}");
        assert!((0.5..4.1).contains(&figures.throughput_mbps.expect("packets")), "{figures:?}");
    }
    assert!((Some(130)..=Some(150)).contains(&sent.frames.captured), "{:?}", sent.frames);
    assert!(received.frames.displayed > Some(75), "{:?}", received.frames);
}

/// A datagram that is not the peer's, or neither RTP nor RTCP, is counted and changes nothing.
#[test]
fn unknown_peers_change_nothing() {
    let loaded = loaded(
        r#"
        duration = "2s"
        [links.bottleneck]
        rate = "10Mbps"
        delay = "20ms"
        queue = { kind = "droptail", limit = "100ms" }
        [flows.probe]
        controller = { kind = "fixed", rate = "2Mbps" }
        source = { kind = "bulk" }
        path = ["bottleneck"]
        "#,
    );
    judge_on_time(
        || disturbed(&loaded),
        |ends| {
            for figures in [flow(&ends.sender), flow(&ends.receiver)] {
                assert!((1.0..2.1).contains(&figures.throughput_mbps.expect("packets")), "{figures:?}");
                assert!(figures.loss_ratio.expect("packets") < 0.01, "{figures:?}");
            }
        },
    );
}

fn disturbed(loaded: &Loaded) -> Ends {
    let ends = run(loaded, |relay, receiver, over| {
        let unknown = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        // Sound packets of this session's SSRC and of another; half a header; RTCP that claims more than there is; noise.
        let [ours, other] =
            [100, 7].map(|ssrc| [&[0x80, 98, 0, 1, 0, 0, 0, 1, 0, 0, 0, ssrc][..], &[0; 800]].concat());
        let half = [0x80, 98, 0, 1, 0];
        let long = [0x8b, 205, 0xff, 0xff, 0, 0, 0, 1];
        let noise: Vec<u8> = (0..200u32).map(|n| (n * n * 37 + 11) as u8).collect();
        // Not before the real ones have met.
        std::thread::sleep(Duration::from_millis(500));
        while !over.load(Ordering::Relaxed) {
            for datagram in [&ours[..], &other, &half, &long, &noise, &[]] {
                for target in [relay, receiver] {
                    unknown.send_to(datagram, target).expect("sent");
                }
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    for counters in [ends.relay.counters, ends.receiver.counters] {
        assert!(counters.unknown_peers >= 10 && counters.malformed >= 10, "{counters:?}");
    }
    let counters = ends.receiver.counters;
    assert!(counters.other_rtcp >= 10, "{counters:?}");
    assert_eq!((counters.duplicates, counters.out_of_sequence, counters.unknown_ssrc), (0, 0, 0));
    // The unknown peer's packets did not use the link either.
    let link = ends.relay.summary.links["bottleneck"];
    assert!(Some(link.offered) <= flow(&ends.sender).packets_sent, "{link:?}");
    ends
}
