//! Which time a figure covers: warm-up, start and stop of a flow, samples.

use crate::world::{assert_near, column, count, flow, link, run};

/// A flow of a packet of 9696 bit per ms, and what is said of its times.
fn timed(head: &str, flow: &str) -> String {
    format!(
        "{head}\n[links.l]\nrate = \"20Mbps\"\ndelay = \"10ms\"\nqueue = {{ packets = 10 }}\n\
         [flows.f]\nsource = {{ kind = \"bulk\" }}\ncontroller = {{ kind = \"fixed\", rate = \"9.696Mbps\" }}\n\
         path = [\"l\"]\n{flow}\n"
    )
}

#[test]
fn a_flow_counts_from_its_start_to_its_stop() {
    let outcome = run(&timed("duration = \"4s\"", "start = \"1s\"\nstop = \"3s\""));
    let flow = flow(&outcome, "f");
    assert_eq!(flow.packets_sent, Some(2000), "at 1000, 1001, ... 2999 ms");
    // The first arrives at 1010.4848 ms; those after 3 s arrived, but not in its time.
    assert_eq!((flow.packets_received, outcome.summary.packets), (Some(1990), Some(2000)));
    assert_near("over its own 2 s", flow.throughput_mbps, 1990.0 * 9696.0 / 2e6, 1e-9);
    assert_eq!(flow.loss_ratio, Some(0.0));
    assert_near("the link's over all 4 s", link(&outcome, "l").utilisation, 2000.0 * 9696.0 / 80e6, 1e-9);
    let rate = column(&outcome.flows, "flow", "f", "send_rate_mbps");
    assert!(rate[..19].iter().all(|rate| *rate == 0.0), "before it starts");
    assert!(rate[60..].iter().all(|rate| *rate == 0.0), "after it stopped");
    assert_near("while it runs", rate[30], 9.696, 1e-9);
}

#[test]
fn a_flow_that_stops_during_warm_up_counts_nothing() {
    let outcome = run(&timed("duration = \"4s\"\nwarmup = \"2s\"", "stop = \"1s\""));
    let flow = flow(&outcome, "f");
    assert_eq!(outcome.summary.packets, Some(1000));
    assert_eq!((flow.packets_sent, flow.packets_received), (Some(0), Some(0)));
    let frames = &flow.frames;
    let counts = [frames.captured, frames.displayed, frames.incomplete, frames.freezes];
    assert_eq!(counts, [Some(0); 4]);
    assert_eq!((flow.throughput_mbps, flow.target_bitrate_mbps), (None, None));
}

#[test]
fn warm_up_is_in_no_figure_but_packets_and_events() {
    let whole = run(&timed("duration = \"3s\"", ""));
    let outcome = run(&timed("duration = \"3s\"\nwarmup = \"1s\"", ""));
    let flow = flow(&outcome, "f");
    assert_eq!((flow.packets_sent, flow.packets_received), (Some(2000), Some(2000)));
    assert_near("throughput", flow.throughput_mbps, 9.696, 1e-9);
    assert_eq!(link(&outcome, "l").offered, 2000);
    assert_near("utilisation", link(&outcome, "l").utilisation, 0.4848, 1e-9);
    assert_eq!(outcome.summary.packets, whole.summary.packets);
    assert_eq!(outcome.summary.events, whole.summary.events);
    assert_eq!(outcome.flows, whole.flows, "time series cover everything");
    assert_near(
        "sampled, rows after 1 s",
        flow.sampled["send_rate_mbps"],
        (40.0 * 9.696 - 0.19392) / 40.0,
        1e-9,
    );
}

#[test]
fn losses_in_the_warm_up_are_of_packets_sent_there() {
    // Until 1 s the link is down and the queue overflows; from then on everything gets through.
    let text = timed("duration = \"3s\"", "")
        .replace("delay = \"10ms\"", "delay = \"10ms\"\ndown = [[\"0s\", \"1s\"]]");
    let all = run(&text);
    let late = run(&format!("warmup = \"1.1s\"\n{text}"));
    assert!(flow(&all, "f").loss_ratio.expect("sent") > 0.3);
    assert_eq!((flow(&late, "f").loss_ratio, link(&late, "l").dropped), (Some(0.0), 0));
    assert!(link(&late, "l").queue_packets.max <= 1, "nor is the full queue of before its maximum");
}

#[test]
fn rows_come_every_sample_and_the_last_at_the_end() {
    for (sample, rows) in [("50ms", 40), ("1s", 2), ("2s", 1), ("7ms", 285), ("3s", 0)] {
        let outcome = run(&timed(&format!("duration = \"2s\"\nsample = \"{sample}\""), ""));
        assert_eq!((outcome.flows.rows(), outcome.links.rows()), (rows, rows), "{sample}");
        let times = column(&outcome.flows, "flow", "f", "time_s");
        assert_eq!(times, column(&outcome.links, "link", "l", "time_s"));
        let step: f64 = if sample == "7ms" { 0.007 } else { times.first().copied().unwrap_or(0.0) };
        for (row, time) in times.iter().enumerate() {
            assert_near(sample, *time, step * (row + 1) as f64, 1e-9);
        }
        if 2000 % (step * 1e3).round().max(1.0) as u64 == 0 && rows > 0 {
            assert_eq!(times.last(), Some(&2.0), "{sample}");
        }
    }
}

#[test]
fn a_sample_covers_events_up_to_and_including_its_time() {
    let outcome = run(&timed("duration = \"1s\"", ""));
    let packets =
        |rows: &[f64]| rows.iter().map(|mbps| (mbps * 50e3 / 9696.0).round() as u64).collect::<Vec<_>>();
    // Sent at 0, 1, ... 999 ms.
    let sent = packets(&column(&outcome.flows, "flow", "f", "send_rate_mbps"));
    assert_eq!((sent[0], sent[1], sent[19], sent.iter().sum::<u64>()), (51, 50, 49, 1000));
    // Arrived at 10.4848 ms + k ms.
    let arrived = packets(&column(&outcome.flows, "flow", "f", "throughput_mbps"));
    assert_eq!(
        (arrived[0], arrived[1], arrived.iter().sum::<u64>()),
        (40, 50, count(outcome.summary.packets))
    );
    let departed = packets(&column(&outcome.links, "link", "l", "throughput_mbps"));
    assert_eq!((departed[0], departed.iter().sum::<u64>()), (50, 1000));
}

#[test]
fn losses_have_the_row_in_which_the_packet_was_missed() {
    let text = timed("duration = \"1s\"", "").replace("rate = \"20Mbps\"", "rate = \"4.848Mbps\"");
    let outcome = run(&text);
    let ratios = column(&outcome.flows, "flow", "f", "loss_ratio");
    // Served one of two: in every full row 25 arrive and 25 are missed.
    ratios[2..].iter().for_each(|ratio| assert_near("ratio", *ratio, 0.5, 0.011));
    // Until 50 ms 20 arrived; those sent at 21, 23, ... 39 ms found ten waiting and would have been there 10 ms later.
    assert_near("while the queue fills", ratios[0], 10.0 / 30.0, 1e-12);
}

#[test]
fn jain_compares_the_flows() {
    let text = timed("duration = \"2s\"\nwarmup = \"0.5s\"", "");
    let other = "[flows.g]\nsource = { kind = \"bulk\" }\npath = [\"l\"]\ncontroller = { kind = \"fixed\", rate = \"3.232Mbps\" }\n";
    let outcome = run(&format!("{text}{other}"));
    assert_near("3 to 1", outcome.summary.fairness.jain, 16.0 / (2.0 * 10.0), 1e-3);
    assert_near("alone", run(&text).summary.fairness.jain, 1.0, 1e-12);
}
