//! The recorder against arithmetic.

use super::*;
use crate::figure::{Cell, Facts};
use crate::table::{Fairness, FlowSummary, Summary};
use paceline_cc::{
    Assigned, Controller, Report, SentPacket, Snapshot, StateVariable, StreamId, TimeoutReason, Update,
};
use paceline_link::{Departure, Link, LinkConfig, QueueConfig, QueueLimit, RateProcess, Transit};
use paceline_media::{DisplayedFrame, Frame, FrameDelayParts, PlayoutCounters, Source};
use paceline_rtp::{RtpSender, SenderConfig, StreamConfig};
use paceline_units::{Bitrate, Bytes, Ecn};

fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

fn at(millis: i64) -> Time {
    Time::ZERO + ms(millis)
}

/// 10 s with a warm-up of 2 s.
const TIMES: RunTimes = RunTimes {
    duration: TimeDelta::from_secs(10),
    warmup: TimeDelta::from_secs(2),
    sample: TimeDelta::from_millis(50),
};

const STATES: [StateVariable; 2] = [
    StateVariable { name: "base_delay", unit: "ms", help: "Smallest delay." },
    StateVariable { name: "qdelay_trend", unit: "", help: "Trend of the queue delay." },
];

/// A flow from 1 s to 8 s: statistics over [2 s, 8 s).
fn config() -> FlowConfig {
    FlowConfig {
        quality: Vec::new(),
        name: "f".into(),
        streams: vec!["0".into()],
        controller: "scream",
        profile: "rfc8298".into(),
        states: &STATES,
        recorded: vec!["qdelay_trend".into()],
        start: ms(1000),
        stop: ms(8000),
        times: TIMES,
        facts: Facts::ALL,
    }
}

const STREAM: StreamId = StreamId(0);

fn recorder() -> FlowRecorder {
    FlowRecorder::new(config())
}

/// A controller that shows what it is told to show.
#[derive(Clone, Default)]
struct Shown {
    snapshot: Snapshot,
    trend: f64,
}

impl Controller for Shown {
    fn on_sent(&mut self, _now: Time, _packet: &SentPacket) -> Update {
        Update::none()
    }

    fn on_report(&mut self, _now: Time, _report: &Report<'_>) -> Update {
        Update::none()
    }

    fn assign(&mut self, _now: Time, _assigned: Assigned) -> Update {
        Update::none()
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        None
    }

    fn on_timeout(&mut self, _now: Time) -> Update {
        Update::none()
    }

    fn snapshot(&self) -> Snapshot {
        self.snapshot
    }

    fn state(&self, values: &mut [Option<f64>]) {
        values[1] = Some(self.trend);
    }
}

/// A sender with a frame of 700 B payload, 712 B on the link, in its queue.
fn sender(shown: Shown) -> RtpSender<Shown> {
    let config = SenderConfig { clock_step: ms(1), ..SenderConfig::new(Bytes::new(1000)) };
    let stream = StreamConfig::new(Source::External, Bitrate::from_mbps(2));
    let mut sender = RtpSender::new(shown, &config, vec![stream]);
    let frame = Frame { id: 0, captured: at(0), payload: Bytes::new(700), key: false };
    sender.offer_frame(at(0), STREAM, &frame);
    sender
}

/// Ends both sides at the end of the window.
fn finished(mut recorder: FlowRecorder) -> FlowSummary {
    recorder.tick_sender(Tick::End(at(8000)), &sender(Shown::default()));
    recorder.tick_receiver(Tick::End(at(8000)), PlayoutCounters::default());
    recorder.summary()
}

fn received(sent: Time, now: Time, queue_delay: TimeDelta, ecn: Ecn) -> ReceivedPacket {
    let (size, payload, delay_noise) = (Bytes::new(1012), Bytes::new(1000), TimeDelta::ZERO);
    ReceivedPacket {
        now,
        stream: STREAM,
        size,
        payload,
        sent,
        queue_delay,
        delay_noise,
        ecn,
        duplicate: false,
    }
}

#[test]
fn the_window_is_half_open_and_clips() {
    let window = Window::new(ms(2000), ms(8000));
    assert!(!window.contains(at(1999)) && window.contains(at(2000)));
    assert!(window.contains(at(7999)) && !window.contains(at(8000)));
    assert_eq!(window.overlap(at(0), at(3000)), 1_000_000_000);
    assert_eq!(window.overlap(at(9000), at(10_000)), 0);
    assert!(!Window::new(ms(5), ms(5)).contains(at(5)) && !Window::new(ms(5), ms(3)).contains(at(4)));
}

#[test]
fn only_what_happens_in_the_window_counts() {
    let mut recorder = recorder();
    // Sent and delivered before, across, inside, across the end.
    for (sent, arrived) in [(1500, 1600), (1990, 2010), (3000, 3030), (7990, 8010)] {
        recorder.sent(at(sent), STREAM, Bytes::new(1012), ms(4));
        recorder.received(&[received(at(sent), at(arrived), ms(arrived - sent), Ecn::Ect1)]);
    }
    // A duplicate counts as throughput and not as goodput; CE counts by arrival.
    recorder.received(&[ReceivedPacket { duplicate: true, ..received(at(3000), at(4000), ms(50), Ecn::Ce) }]);
    recorder.sent(at(5000), STREAM, Bytes::new(1012), ms(8));
    recorder.lost(at(5020), STREAM, at(5000));
    recorder.lost(at(1720), STREAM, at(1700));
    let summary = finished(recorder);
    assert_eq!((summary.packets_sent, summary.packets_received), (Some(3), Some(3)));
    assert_eq!(summary.throughput_mbps, Some(3.0 * 1012.0 * 8.0 / 1e6 / 6.0));
    assert_eq!(summary.goodput_mbps, Some(2.0 * 1000.0 * 8.0 / 1e6 / 6.0));
    // Sent in the window: one arrived inside, one after it, one was lost.
    assert_eq!(summary.loss_ratio, Some(1.0 / 3.0));
    assert_eq!(summary.ce_ratio, Some(1.0 / 3.0));
    let mean = summary.queue_delay_ms.mean.expect("something arrived");
    assert!((mean - 100.0 / 3.0).abs() < 1e-9);
    assert_eq!(summary.queue_delay_ms.max, Some(50.0));
    let mean = summary.send_queue_delay_ms.mean.expect("something was sent");
    assert!((mean - 16.0 / 3.0).abs() < 1e-9);
}

#[test]
fn averages_over_time_are_exact() {
    let mut recorder = recorder();
    let see = |recorder: &mut FlowRecorder, millis: i64, srtt: Option<i64>, mbps: Option<u64>| {
        let snapshot =
            Snapshot { srtt: srtt.map(ms), target: mbps.map(Bitrate::from_mbps), ..Snapshot::default() };
        recorder.reported(at(millis), &sender(Shown { snapshot, trend: 0.0 }));
    };
    see(&mut recorder, 1000, None, Some(1));
    see(&mut recorder, 1500, Some(40), Some(1));
    // In the window from 2 s on: 40 ms and 1 Mbit/s for 2 s, 80 ms and 4 Mbit/s for 3 s, then 20 ms for 1 s, unknown target.
    see(&mut recorder, 4000, Some(80), Some(4));
    see(&mut recorder, 5000, Some(80), Some(4));
    see(&mut recorder, 7000, Some(20), None);
    let summary = finished(recorder);
    let srtt = summary.srtt_ms;
    assert_eq!(srtt.mean, Some((40.0 * 2.0 + 80.0 * 3.0 + 20.0) / 6.0));
    assert_eq!(srtt.max, Some(80.0));
    assert!((srtt.p50.expect("is there") - 40.0).abs() < 0.4, "half of the time at 40 ms or below");
    assert!((srtt.p95.expect("is there") - 80.0).abs() < 0.8);
    assert_eq!(summary.target_bitrate_mbps, Some((2.0 + 12.0) / 5.0));
}

#[test]
fn a_flow_that_saw_nothing_has_no_figures() {
    let summary = recorder().summary();
    assert_eq!((summary.throughput_mbps, summary.loss_ratio, summary.ce_ratio), (None, None, None));
    assert_eq!(summary.srtt_ms, Default::default());
    let summary = finished(recorder());
    assert_eq!((summary.throughput_mbps, summary.target_bitrate_mbps), (Some(0.0), None));
    assert!(summary.sampled.values().all(Option::is_none));
}

#[test]
fn rows_are_of_their_interval_and_sampled_is_of_the_window() {
    let mut recorder = recorder();
    let sample = |recorder: &mut FlowRecorder, millis: i64, trend: f64| {
        let snapshot = Snapshot { window: Some(Bytes::new(9000)), srtt: Some(ms(30)), ..Snapshot::default() };
        recorder.tick_sender(Tick::Sample(at(millis)), &sender(Shown { snapshot, trend }));
        recorder.tick_receiver(Tick::Sample(at(millis)), PlayoutCounters::default());
    };
    recorder.sent(at(1020), STREAM, Bytes::new(1012), ms(10));
    sample(&mut recorder, 1050, 0.9);
    recorder.sent(at(2010), STREAM, Bytes::new(1012), ms(20));
    recorder.received(&[received(at(2010), at(2020), ms(5), Ecn::Ce)]);
    // Missed exactly at a sample: that sample's row counts it, however late the recorder is told.
    recorder.lost(at(2050), STREAM, at(2011));
    sample(&mut recorder, 2050, 0.1);
    sample(&mut recorder, 2100, 0.3);
    let series = flow_series(std::slice::from_ref(&recorder));
    let value = |name: &str, row: usize| series.float(name).and_then(|column| column.value(row));
    let pair = |name: &str, one: usize, other: usize| (value(name, one), value(name, other));
    assert_eq!(series.rows(), 3);
    assert_eq!(pair("time_s", 0, 2), (Some(1.05), Some(2.1)));
    assert_eq!((value("frame_bytes", 0), value("send_queue_bytes", 0)), (Some(712.0), Some(712.0)));
    assert_eq!(pair("send_queue_delay_ms", 0, 1), (Some(10.0), Some(20.0)));
    assert_eq!(pair("queue_delay_ms", 0, 1), (None, Some(5.0)));
    assert_eq!(
        (value("ce_ratio", 1), value("loss_ratio", 1), value("loss_ratio", 2)),
        (Some(1.0), Some(0.5), None)
    );
    assert_eq!(value("target_bitrate_mbps", 1), Some(2.0));
    assert_eq!(pair("cwnd_bytes", 0, 1), (Some(9000.0), Some(9000.0)));
    assert_eq!(value("bytes_in_flight", 0), None);
    assert_eq!(value("state.qdelay_trend", 0), Some(0.9));
    assert_eq!(series.text("stream").and_then(|column| column.value(0)), Some("0"));
    assert_eq!(pair("throughput_mbps", 0, 2), (Some(0.0), Some(0.0)));
    let summary = finished(recorder);
    assert_eq!(summary.sampled["state.qdelay_trend"], Some(0.2), "the row before the window does not count");
    assert_eq!(summary.sampled["send_queue_delay_ms"], Some(20.0));
}

#[test]
fn rates_of_a_row_are_per_time_since_the_last_one() {
    let mut recorder = recorder();
    for millis in [50, 100] {
        recorder.sent(at(millis), STREAM, Bytes::new(1250), ms(0));
        recorder.received(&[ReceivedPacket {
            size: Bytes::new(2500),
            ..received(at(0), at(millis), ms(0), Ecn::NotEct)
        }]);
        recorder.tick_sender(Tick::Sample(at(millis)), &sender(Shown::default()));
        recorder.tick_receiver(Tick::Sample(at(millis)), PlayoutCounters::default());
    }
    let series = flow_series(std::slice::from_ref(&recorder));
    for row in 0..2 {
        let value = |name: &str| series.float(name).and_then(|column| column.value(row)).expect(name);
        assert!(
            (value("send_rate_mbps") - 0.2).abs() < 1e-12 && (value("throughput_mbps") - 0.4).abs() < 1e-12
        );
    }
}

#[test]
fn sides_may_run_apart_and_one_may_be_missing() {
    let (mut apart, mut alone) = (recorder(), recorder());
    for millis in [50, 100, 150] {
        apart.tick_sender(Tick::Sample(at(1000 + millis)), &sender(Shown::default()));
        alone.tick_receiver(Tick::Sample(at(1000 + millis)), PlayoutCounters::default());
    }
    // The receiver follows later, and the last sample is not there yet.
    for millis in [50, 100] {
        apart.received(&[received(at(0), at(999 + millis), ms(millis), Ecn::NotEct)]);
        apart.tick_receiver(Tick::Sample(at(1000 + millis)), PlayoutCounters::default());
    }
    let value = |series: &crate::series::TimeSeries, name: &str, row: usize| series.float(name)?.value(row);
    let series = flow_series(&[apart]);
    assert_eq!(series.rows(), 3);
    let waits: Vec<_> = (0..3).map(|row| value(&series, "queue_delay_ms", row)).collect();
    assert_eq!(waits, [Some(50.0), Some(100.0), None]);
    assert_eq!(value(&series, "target_bitrate_mbps", 2), Some(2.0));
    let series = flow_series(&[alone]);
    assert_eq!((series.rows(), value(&series, "target_bitrate_mbps", 0)), (3, None));
}

#[test]
fn tables_are_ordered_by_time_then_flow_and_flows_may_record_different_states() {
    let plain = FlowConfig { name: "g".into(), recorded: Vec::new(), ..config() };
    let mut recorders = [recorder(), FlowRecorder::new(plain)];
    for millis in [1050, 1100] {
        for recorder in &mut recorders {
            let shown = Shown { trend: 0.5, ..Shown::default() };
            recorder.tick_sender(Tick::Sample(at(millis)), &sender(shown));
            recorder.tick_receiver(Tick::Sample(at(millis)), PlayoutCounters::default());
        }
    }
    let series = flow_series(&recorders);
    let flows: Vec<_> = (0..4).filter_map(|row| series.text("flow")?.value(row)).collect();
    assert_eq!(flows, ["f", "g", "f", "g"]);
    let states = series.float("state.qdelay_trend").expect("one flow records it");
    assert_eq!((states.value(0), states.value(1), states.nulls()), (Some(0.5), None, 2));
    let names: Vec<_> = series.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names[..3], ["time_s", "flow", "stream"]);
    let figures = FlowSummary::FIGURES.iter().filter(|figure| figure.cell.is_some());
    let declared: Vec<_> = figures.map(|figure| figure.name).collect();
    assert_eq!((&names[..declared.len()], names[declared.len()]), (&declared[..], "state.qdelay_trend"));
}

#[test]
fn a_flow_that_is_not_there_has_no_state() {
    // The flow is there from 1 s to 8 s.
    let mut recorder = recorder();
    let snapshot = Snapshot { window: Some(Bytes::new(3000)), ..Snapshot::default() };
    let sender = sender(Shown { snapshot, trend: 0.5 });
    for millis in [950, 1000, 8000, 8050] {
        recorder.tick_sender(Tick::Sample(at(millis)), &sender);
        recorder.tick_receiver(Tick::Sample(at(millis)), PlayoutCounters::default());
    }
    let series = flow_series(std::slice::from_ref(&recorder));
    for name in ["target_bitrate_mbps", "cwnd_bytes", "send_queue_bytes", "frame_bytes", "state.qdelay_trend"]
    {
        let column = series.float(name).expect(name);
        let is_there: Vec<_> = (0..4).map(|row| column.value(row).is_some()).collect();
        assert_eq!(is_there, [false, true, true, false], "{name}");
    }
    // The sent rate is known: zero.
    assert_eq!(series.float("send_rate_mbps").and_then(|column| column.value(0)), Some(0.0));
}

#[test]
fn a_window_that_ends_before_it_begins_counts_nothing() {
    let mut recorder = FlowRecorder::new(FlowConfig { stop: ms(1500), ..config() });
    let sender = sender(Shown::default());
    let playout = PlayoutCounters { incomplete: 1, freezes: 1, ..PlayoutCounters::default() };
    recorder.tick_sender(Tick::End(at(1500)), &sender);
    recorder.tick_receiver(Tick::End(at(1500)), playout);
    recorder.tick_sender(Tick::Begin(at(2000)), &sender);
    recorder.tick_receiver(Tick::Begin(Time::ZERO), playout);
    let frames = recorder.summary().frames;
    assert_eq!(
        (frames.captured, frames.discarded, frames.incomplete, frames.freezes),
        (Some(0), Some(0), Some(0), Some(0))
    );
}

#[test]
fn frames_and_the_parts_of_their_delay() {
    let mut recorder = recorder();
    let parts = |send_queue: i64| FrameDelayParts {
        send_queue: Some(ms(send_queue)),
        link_queue: None,
        path: ms(10),
        dejitter: ms(0),
    };
    for (captured, displayed, send_queue) in [(1000, 1500, 1), (3000, 3030, 20), (4000, 4050, 40)] {
        let bytes = Bytes::new(1);
        let (captured, displayed) = (at(captured), at(displayed));
        let parts = parts(send_queue);
        recorder.displayed(
            STREAM,
            &DisplayedFrame {
                captured,
                displayed,
                bytes,
                key: None,
                packets: 1,
                in_time: 1,
                late: false,
                parts,
            },
        );
    }
    // One frame was captured before the window began.
    let mut sender = sender(Shown::default());
    recorder.tick_sender(Tick::Begin(at(2000)), &sender);
    for id in 1..4 {
        let frame = Frame { id, captured: at(3000), payload: Bytes::new(10), key: false };
        sender.offer_frame(at(3000), STREAM, &frame);
    }
    recorder.tick_sender(Tick::End(at(8000)), &sender);
    recorder.tick_receiver(Tick::End(at(8000)), PlayoutCounters::default());
    recorder.tick_receiver(Tick::Sample(at(8000)), PlayoutCounters::default());
    let series = flow_series(std::slice::from_ref(&recorder));
    let delay = series.float("frame_delay_ms").and_then(|column| column.value(0));
    assert_eq!(delay, Some((500.0 + 30.0 + 50.0) / 3.0), "the row is of its interval, not of the window");
    let summary = recorder.summary();
    assert_eq!((summary.frames.captured, summary.frames.displayed), (Some(3), Some(2)));
    assert_eq!(summary.frame_delay_ms.mean, Some(40.0));
    let means = summary.frame_delay_parts_ms;
    assert_eq!((means.send_queue, means.link_queue, means.path), (Some(30.0), None, Some(10.0)));
}

/// A packet of 1000 B.
#[derive(Clone, Copy)]
struct Load;

impl Transit for Load {
    fn size(&self) -> Bytes {
        Bytes::new(1000)
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn mark_ce(&mut self) {}

    fn flow(&self) -> u64 {
        0
    }
}

/// A link of 8 Mbit/s, a packet per millisecond, with room for 9 packets.
fn link() -> Link<Load> {
    let queue = QueueConfig::droptail(QueueLimit::Packets(9));
    let config = LinkConfig::new(RateProcess::Constant(Bitrate::from_mbps(8)), ms(1), queue);
    Link::new(config, 1, "l").expect("right")
}

#[test]
fn links_count_from_warm_up_on() {
    let (mut recorder, mut link) = (LinkRecorder::new(TIMES, "l"), link());
    let offer = |recorder: &mut LinkRecorder, link: &mut Link<Load>, millis: i64, packets: usize| {
        for _ in 0..packets {
            let _ = link.offer(at(millis), Load, &mut |departure: Departure<Load>| {
                recorder.departed(departure.departed, departure.wait);
            });
        }
    };
    // Before the window: 10 pass and 5 are dropped. In it: 4 pass, which wait 0, 1, 2 and 3 ms.
    offer(&mut recorder, &mut link, 1000, 15);
    link.settle(at(2000));
    recorder.tick(Tick::Sample(at(2000)), &mut link);
    recorder.tick(Tick::Begin(at(2000)), &mut link);
    offer(&mut recorder, &mut link, 5000, 4);
    link.settle(at(10_000));
    recorder.tick(Tick::Sample(at(10_000)), &mut link);
    recorder.tick(Tick::End(at(10_000)), &mut link);
    let summary = recorder.summary();
    assert_eq!((summary.offered, summary.dropped), (4, 0));
    assert_eq!(summary.utilisation, Some(4.0 * 8000.0 / 64e6));
    assert_eq!((summary.queue_packets.mean, summary.queue_packets.max), (Some(6.0 / 8000.0), 3));
    assert_eq!((summary.queue_delay_ms.mean, summary.queue_delay_ms.max), (Some(1.5), Some(3.0)));
    let series = link_series(std::slice::from_ref(&recorder));
    let value = |name: &str, row: usize| series.float(name).and_then(|column| column.value(row));
    assert_eq!((value("throughput_mbps", 0), value("throughput_mbps", 1)), (Some(0.04), Some(0.004)));
    assert_eq!(
        (value("capacity_mbps", 1), value("dropped", 0), value("dropped", 1)),
        (Some(8.0), Some(5.0), Some(0.0))
    );
    assert_eq!(series.text("link").and_then(|column| column.value(1)), Some("l"));
}

#[test]
fn the_summary_says_null_and_never_nan() {
    let mut flows = std::collections::BTreeMap::new();
    flows.insert("f".to_string(), finished(recorder()));
    let fairness = Fairness::of(flows.values());
    assert_eq!(fairness.jain, None, "nothing was delivered");
    let mut links = std::collections::BTreeMap::new();
    links.insert("l".to_string(), LinkRecorder::new(TIMES, "l").summary());
    let summary = Summary {
        name: "x".into(),
        seed: 1,
        duration_s: 1e6,
        wall_s: f64::NAN,
        packets: None,
        events: 0,
        flows,
        links,
        fairness,
        pairs: None,
        sockets: None,
        version: env!("CARGO_PKG_VERSION").into(),
    };
    let json: serde_json::Value = serde_json::from_str(&summary.to_json()).expect("JSON");
    assert!(json["wall_s"].is_null() && json["flows"]["f"]["srtt_ms"]["p95"].is_null());
    assert_eq!(json["links"]["l"]["utilisation"], serde_json::Value::Null);
    assert_eq!(json["flows"]["f"]["controller"], "scream");
}

#[test]
fn jain_is_one_for_equals_and_one_in_n_for_a_single_taker() {
    let flow = |mbps: f64| {
        let mut summary = finished(recorder());
        summary.throughput_mbps = Some(mbps);
        summary
    };
    assert_eq!(Fairness::of(&[flow(3.0), flow(3.0)]).jain, Some(1.0));
    assert_eq!(Fairness::of(&[flow(3.0), flow(0.0), flow(0.0), flow(0.0)]).jain, Some(0.25));
}

#[test]
fn many_arrivals_at_once_are_recorded_as_one_by_one() {
    // Two streams, duplicates, and both ends of the window.
    let packets: Vec<ReceivedPacket> = (1_900..8_100)
        .step_by(7)
        .map(|millis: i64| ReceivedPacket {
            stream: StreamId((millis % 5 == 0).into()),
            delay_noise: ms(millis % 3),
            duplicate: millis % 11 == 0,
            ..received(at(millis - millis % 90 - 5), at(millis), ms(millis % 40), Ecn::Ect1)
        })
        .collect();
    let recorded = |at_once: usize| {
        let mut recorder = recorder();
        packets.chunks(at_once).for_each(|packets| recorder.received(packets));
        recorder.tick_receiver(Tick::Sample(at(7950)), PlayoutCounters::default());
        let throughput = flow_series(std::slice::from_ref(&recorder)).float("throughput_mbps")?.value(0);
        Some((format!("{:?}", finished(recorder)), throughput))
    };
    let one_by_one = recorded(1);
    assert!(one_by_one.is_some());
    for at_once in [2, 64, packets.len()] {
        assert_eq!(recorded(at_once), one_by_one);
    }
}

#[test]
fn what_an_end_cannot_know_is_absent_and_what_it_knows_may_be_zero() {
    let of = |facts: Facts| {
        let mut recorder = FlowRecorder::new(FlowConfig { facts, ..config() });
        recorder.sent(at(3000), STREAM, Bytes::new(1012), ms(4));
        recorder.received(&[received(at(3000), at(3030), ms(5), Ecn::Ce)]);
        recorder.tick_sender(Tick::Sample(at(3050)), &sender(Shown::default()));
        recorder.tick_receiver(Tick::Sample(at(3050)), PlayoutCounters::default());
        let column = |name: &str| flow_series(std::slice::from_ref(&recorder)).float(name)?.value(0);
        let columns = ["throughput_mbps", "queue_delay_ms", "one_way_delay_ms", "send_rate_mbps"].map(column);
        (columns.map(|cell| cell.is_some()), finished(recorder))
    };
    let (columns, relay) = of(Facts::RELAY);
    assert_eq!(columns, [true, true, false, false]);
    assert_eq!((relay.packets_sent, relay.packets_received, relay.goodput_mbps), (Some(1), Some(1), None));
    assert_eq!((relay.send_queue_delay_ms.mean, relay.frames.captured), (None, None));
    assert_eq!((relay.sampled["one_way_delay_ms"], relay.sampled["queue_delay_ms"]), (None, Some(5.0)));
    let (columns, receiver) = of(Facts::RECEIVER);
    assert_eq!(columns, [true, false, false, false]);
    assert_eq!((receiver.frames.displayed, receiver.frames.captured), (Some(0), None));
    assert_eq!((receiver.packets_sent, receiver.one_way_delay_ms.mean), (Some(1), None));
    let (columns, shared) = of(Facts::RECEIVER.and(Facts::CLOCKS));
    assert_eq!((columns, shared.one_way_delay_ms.mean), ([true, false, true, false], Some(30.0)));
    let (columns, sender) = of(Facts::SENDER_ALONE);
    assert_eq!(columns, [false, false, false, true]);
    assert_eq!((sender.packets_received, sender.throughput_mbps, sender.loss_ratio), (None, None, None));
    assert_eq!((sender.packets_sent, sender.send_queue_delay_ms.mean), (Some(1), Some(4.0)));
}

#[test]
fn every_figure_says_what_it_is() {
    for (table, figures) in crate::TABLES {
        for (index, figure) in figures.iter().enumerate() {
            assert!(figure.definition.ends_with('.') && !figure.title.is_empty(), "{table} {}", figure.name);
            assert!(figure.column.is_some() || figure.summary.is_some(), "{table} {}", figure.name);
            assert_eq!(figure.column.is_some(), figure.cell.is_some(), "{table} {}", figure.name);
            assert!(
                figures[..index].iter().all(|other| other.name != figure.name),
                "{table} {}",
                figure.name
            );
            let half_known = match figure.cell {
                Some(Cell::Sender(_)) => figure.needs.covers(Facts::SENDER),
                Some(Cell::Receiver(_) | Cell::Losses) => {
                    figure.needs.covers(Facts::ARRIVALS) || figure.needs.covers(Facts::DISPLAY)
                }
                _ => true,
            };
            assert!(half_known, "{}: sampled by an end that does not know it", figure.name);
        }
    }
}
