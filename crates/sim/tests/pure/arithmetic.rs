//! One flow against arithmetic: delays, rates, steps, hops and marks, to the nanosecond where nothing is random.
//!
//! A packet of 1212 B is 9696 bit: at 9.696 Mbit/s it takes 1 ms, and 10 s hold exactly 10,000 of them.

use crate::world::{assert_near, column, count, flow, link, run};

const EXACT: f64 = 1e-9;

/// A link and a flow without reaction that fills its send queue and spaces packets at `pace`.
fn one_flow(duration: &str, link: &str, pace: &str, flow: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[links.l]\n{link}\n[flows.f]\nsource = {{ kind = \"bulk\" }}\n\
         controller = {{ kind = \"fixed\", rate = \"{pace}\" }}\npath = [\"l\"]\n{flow}\n"
    )
}

#[test]
fn a_packet_takes_its_serialisation_and_the_propagation_and_no_more() {
    let link_text = "rate = \"20Mbps\"\ndelay = \"10ms\"\nqueue = { packets = 10 }";
    let outcome = run(&one_flow("1s", link_text, "9.696Mbps", ""));
    let flow = flow(&outcome, "f");
    let delay = 10.0 + 0.4848;
    assert_near("mean", flow.one_way_delay_ms.mean, delay, EXACT);
    assert_near("largest", flow.one_way_delay_ms.max, delay, EXACT);
    assert_near("median, to 1 %", flow.one_way_delay_ms.p50, delay, delay / 100.0);
    assert_eq!(flow.queue_delay_ms.max, Some(0.0), "a link faster than its flow has no queue");
    assert_eq!(flow.packets_sent, Some(1000), "at 0, 1, ... 999 ms");
    assert_eq!(
        (flow.packets_received, outcome.summary.packets),
        (Some(990), Some(990)),
        "the last sent at 989 ms"
    );
    assert_near("throughput", flow.throughput_mbps, 990.0 * 9696.0 / 1e6, EXACT);
    assert_near("goodput", flow.goodput_mbps, 990.0 * 9600.0 / 1e6, EXACT);
    assert_near("target", flow.target_bitrate_mbps, 9.696 * 0.95, EXACT);
    assert_eq!(flow.loss_ratio, Some(0.0));
    assert_near("utilisation", link(&outcome, "l").utilisation, 1000.0 * 9696.0 / 20e6, EXACT);
}

#[test]
fn overheads_count_on_the_link_and_not_in_goodput() {
    let link_text = "rate = \"10Mbps\"\ndelay = \"1ms\"\nqueue = { packets = 9 }\noverhead = \"60B\"";
    let outcome = run(&one_flow("1s", link_text, "8Mbps", "overhead = \"28B\"\npacket_size = \"1012B\""));
    let flow = flow(&outcome, "f");
    assert_near("delay", flow.one_way_delay_ms.max, 1.0 + (1012.0 + 28.0 + 60.0) * 8.0 / 1e4, EXACT);
    let packets = count(flow.packets_received) as f64;
    assert_near("throughput", flow.throughput_mbps, packets * 1040.0 * 8.0 / 1e6, EXACT);
    assert_near("goodput", flow.goodput_mbps, packets * 8e3 / 1e6, EXACT);
}

#[test]
fn a_saturated_link_is_used_to_the_last_bit() {
    for (rate, duration, packets) in [
        ("9.696Mbps", "11s", 10_000.0),
        // Departures at k x 484.8 us: how many of them in [1 s, 4 s)?
        ("20Mbps", "4s", (4e6_f64 / 484.8).ceil() - (1e6_f64 / 484.8).ceil()),
    ] {
        let link_text = format!("rate = \"{rate}\"\ndelay = \"5ms\"\nqueue = {{ packets = 20 }}");
        let outcome = run(&format!("warmup = \"1s\"\n{}", one_flow(duration, &link_text, "30Mbps", "")));
        let link = link(&outcome, "l");
        assert_eq!((link.utilisation, link.delivered), (Some(1.0), packets as u64), "{rate}");
        let mbps = packets * 9696.0 / 1e6 / (outcome.summary.duration_s - 1.0);
        assert_near("throughput", flow(&outcome, "f").throughput_mbps, mbps, 0.01);
    }
}

#[test]
fn waits_in_a_queue_that_grows_are_a_ramp() {
    // Sent every 1 ms, served in 2 ms: packet k waits k ms and departs at 2 (k + 1) ms.
    let link_text = "rate = \"4.848Mbps\"\ndelay = \"3ms\"\nqueue = { packets = 100000 }";
    let outcome = run(&one_flow("4s", link_text, "9.696Mbps", ""));
    let (link, flow) = (link(&outcome, "l"), flow(&outcome, "f"));
    // Departed before 4 s: k = 0 ... 1998.
    assert_near("mean", link.queue_delay_ms.mean, 1998.0 / 2.0, EXACT);
    assert_near("largest", link.queue_delay_ms.max, 1998.0, EXACT);
    for (found, part) in
        [(link.queue_delay_ms.p50, 0.50), (link.queue_delay_ms.p95, 0.95), (link.queue_delay_ms.p99, 0.99)]
    {
        assert_near("quantile", found, 1998.0 * part, 20.0 * part);
    }
    // Arrived before 4 s: 2 (k + 1) + 3 < 4000.
    assert_near("of the flow", flow.queue_delay_ms.max, 1997.0, EXACT);
    assert_near("one way", flow.one_way_delay_ms.mean, 1997.0 / 2.0 + 5.0, EXACT);
    // At 4 s minus: 4000 sent, 1999 departed, one in service.
    assert_eq!(link.queue_packets.max, 2000);
    let rows = column(&outcome.links, "link", "l", "queue_packets");
    assert_eq!(rows.last(), Some(&(4000.0 - 2000.0 - 1.0)), "and another has left at 4 s");
}

#[test]
fn what_waits_longer_than_the_threshold_is_marked() {
    // As above: packet k waits k ms.
    for (mark, ecn, marked) in [
        ("{ kind = \"step\", at = \"5.5ms\" }", "l4s", 998 - 6),
        ("{ kind = \"step\", at = \"5.5ms\" }", "classic", 0),
        // (k - 2)/8 for k = 3 ... 9 is 3.5; the carry marks 3 of the first 10, or 4 when the half comes with the next.
        ("{ kind = \"ramp\", low = \"2ms\", high = \"10ms\" }", "l4s", 998 - 10 + 3),
        ("{ kind = \"ramp\", low = \"2ms\", high = \"10ms\" }", "off", 0),
    ] {
        let link_text =
            format!("rate = \"4.848Mbps\"\ndelay = \"3ms\"\nqueue = {{ packets = 100000 }}\nmark = {mark}");
        let outcome = run(&one_flow("2s", &link_text, "9.696Mbps", &format!("ecn = \"{ecn}\"")));
        let flow = flow(&outcome, "f");
        assert_eq!(flow.packets_received, Some(998), "2 (k + 1) + 3 < 2000");
        let ratio = flow.ce_ratio.expect("packets arrived");
        assert_near(&format!("{mark}, {ecn}"), ratio * 998.0, f64::from(marked), 1e-6);
    }
}

#[test]
fn a_packet_in_service_goes_on_at_the_new_rate() {
    // 1 ms a packet, from 1 s on 2 ms. Sent at 1.5 ms + 2 k ms: the one at 999.5 ms is half served by then.
    let link_text = "rate = { steps = [[\"0s\", \"9.696Mbps\"], [\"1s\", \"4.848Mbps\"]] }\ndelay = \"10ms\"\n\
                     queue = { packets = 100 }";
    let outcome = run(&one_flow("2s", link_text, "4.848Mbps", "start = \"1.5ms\""));
    let flow = flow(&outcome, "f");
    // 499 before, one across, and those that arrive 12 ms after 1001.5 + 2 k ms and before 2 s.
    let after = ((2000.0 - 12.0 - 1001.5) / 2.0_f64).ceil();
    assert_eq!(count(flow.packets_received) as f64, 499.0 + 1.0 + after);
    let sum = 499.0 * 11.0 + 11.5 + after * 12.0;
    assert_near("mean", flow.one_way_delay_ms.mean, sum / (500.0 + after), EXACT);
    assert_near("largest", flow.one_way_delay_ms.max, 12.0, EXACT);
    let capacity = column(&outcome.links, "link", "l", "capacity_mbps");
    assert_near("before", capacity[19], 9.696, 1e-6);
    assert_near("after", capacity[20], 4.848, 1e-6);
}

#[test]
fn nothing_is_served_while_a_link_is_down() {
    let link_text =
        "rate = \"9.696Mbps\"\ndelay = \"1ms\"\nqueue = { packets = 1000 }\ndown = [[\"0.5s\", \"0.6s\"]]";
    let outcome = run(&one_flow("1s", link_text, "4.848Mbps", ""));
    // Sent at 500 ms: waits for the end of the failure.
    assert_near("longest", flow(&outcome, "f").one_way_delay_ms.max, 100.0 + 2.0, EXACT);
    // Of 900 ms a packet every 2 ms uses 1 ms, and the 50 that waited are made up for.
    assert_near("utilisation", link(&outcome, "l").utilisation, 500.0 / 900.0, EXACT);
}

#[test]
fn delays_add_over_hops() {
    let text = "duration = \"1s\"\n\
        [links.a]\nrate = \"20Mbps\"\ndelay = \"7ms\"\nqueue = { packets = 9 }\n\
        [links.b]\nrate = \"12Mbps\"\ndelay = \"11ms\"\nqueue = { packets = 9 }\noverhead = \"100B\"\n\
        [flows.f]\nsource = { kind = \"bulk\" }\ncontroller = { kind = \"fixed\", rate = \"9.696Mbps\" }\n\
        path = [\"a\", \"b\"]\n";
    let outcome = run(text);
    // 1312 B at 12 Mbit/s take 874,666.67 ns, and a packet has left when the last bit has.
    let delay = 7.0 + 11.0 + 0.4848 + 0.874_667;
    assert_near("mean", flow(&outcome, "f").one_way_delay_ms.mean, delay, EXACT);
    assert_near("longest", flow(&outcome, "f").one_way_delay_ms.max, delay, EXACT);
    // In the other order the second link is the faster: nothing changes but the order.
    let turned = run(&text.replace("[\"a\", \"b\"]", "[\"b\", \"a\"]"));
    assert_near("turned", flow(&turned, "f").one_way_delay_ms.mean, delay, EXACT);
    assert_eq!(flow(&turned, "f").queue_delay_ms.max, Some(0.0));
}

#[test]
fn frames_take_their_packets_through_the_pacer() {
    // Ten packets of 1200 B payload per frame and 20 ms, paced 1 ms apart, served in 0.4848 ms.
    let text = "duration = \"2s\"\n[links.l]\nrate = \"20Mbps\"\ndelay = \"10ms\"\nqueue = { packets = 9 }\n\
        [flows.f]\nsource = { kind = \"cbr\", rate = \"4.8Mbps\", fps = 50 }\npath = [\"l\"]\n\
        controller = { kind = \"fixed\", rate = \"9.696Mbps\" }\n";
    let outcome = run(text);
    let flow = flow(&outcome, "f");
    assert_near("mean in the send queue", flow.send_queue_delay_ms.mean, 4.5, EXACT);
    assert_near("longest in the send queue", flow.send_queue_delay_ms.max, 9.0, EXACT);
    assert_near("frame", flow.frame_delay_ms.max, 9.0 + 10.4848, EXACT);
    let parts = flow.frame_delay_parts_ms;
    let sum =
        [parts.send_queue, parts.link_queue, parts.path, parts.dejitter].map(|part| part.expect("known"));
    assert_near("parts", sum.iter().sum::<f64>(), 19.4848, EXACT);
    assert_near("of it the send queue", parts.send_queue, 9.0, EXACT);
    assert_eq!((flow.packets_sent, flow.frames.captured), (Some(1000), Some(100)));
    assert_eq!(flow.frames.displayed, Some(100), "the last, captured at 1980 ms, is there at 1999.48 ms");
}

/// The largest round trip is that behind a full queue, and no estimate is larger, whatever waits behind a hole.
#[test]
fn no_round_trip_is_estimated_that_there_is_not() {
    for controller in ["tahoe", "reno", "newreno", "sack", "cubic"] {
        let outcome = run(&format!(
            "duration = \"60s\"\nsample = \"10ms\"\n\
             [links.l]\nrate = \"10Mbps\"\ndelay = \"20ms\"\nqueue = {{ packets = 60 }}\n\
             [flows.f]\ncontroller = \"{controller}\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\nreturn_delay = \"20ms\"\n\
             tcp = {{ ack_every = 1 }}\n"
        ));
        let srtt = column(&outcome.flows, "flow", "f", "srtt_ms");
        let most = srtt.into_iter().fold(0.0, f64::max);
        // 60 packets wait and one is sent, of 1.2 ms each.
        assert!(most > 80.0 && most <= 40.0 + 61.0 * 1.2 + EXACT, "{controller}: {most} ms");
    }
}
