//! Recordings as other programs write them: AlphaRTC's traces, `iperf3 --json`, `ping`.

use crate::Trace;
use crate::trace::{Column, Columns, Measure, Recorded, TraceError, TraceFormat, TraceOptions};
use paceline_units::TimeDelta;

/// After the files of OpenNetLab's gym: both directions, and keys that no link has.
const ALPHARTC: &str = r#"{
    "type": "video",
    "downlink": { "trace_pattern": [ { "duration": 5000, "capacity": 2500.5 } ] },
    "uplink": {
        "trace_pattern": [
            { "duration": 2896, "capacity": 179, "loss": 0, "rtt": 89, "jitter": 0, "time": 0.0 },
            { "duration": 613.5, "capacity": 1000, "loss": 0.2, "rtt": 103, "jitter": [0, {"a": 1}] }
        ]
    }
}"#;

/// As iperf 3.12 writes it, with `-i 0.5 -O 1 --bidir`, and less at the end of each object.
const IPERF3: &str = r#"{
	"start":	{ "connected":	[{ "socket":	5, "local_host":	"192.0.2.1" }], "version":	"iperf 3.12" },
	"intervals":	[{
			"streams":	[{ "socket":	5, "start":	0, "end":	0.500077, "seconds":	0.5, "bits_per_second":	1, "rtt":	50 }],
			"sum":	{ "start":	0, "end":	0.500077, "seconds":	0.5, "bytes":	393216, "bits_per_second":	9000000, "omitted":	true, "sender":	true },
			"sum_bidir_reverse":	{ "seconds":	0.5, "bits_per_second":	7e5, "omitted":	true }
		}, {
			"streams":	[],
			"sum":	{ "start":	0, "end":	0.500077, "seconds":	0.5000770092010498, "bytes":	393216, "bits_per_second":	6290487.1492208485, "lost_packets": 1, "lost_percent": 12.5, "omitted":	false },
			"sum_bidir_reverse":	{ "seconds":	0.5, "bits_per_second":	8e5, "omitted":	false }
		}, {
			"sum":	{ "seconds":	0.5, "bits_per_second":	4194279, "lost_percent": 0, "omitted":	false }
		}],
	"end":	{ "sum_sent":	{ "seconds":	2.000164, "bits_per_second":	5242450.1 }, "sender_tcp_congestion":	"bbr" }
}"#;

fn rates(text: &str, column: Option<Column>) -> Result<Vec<(f64, u64)>, TraceError> {
    let options = TraceOptions { column, ..TraceOptions::new(TraceFormat::Json) };
    let trace = Trace::parse(text.as_bytes(), &options)?;
    Ok(trace.segments().iter().map(|&(time, rate)| (time.as_millis_f64(), rate.as_bps())).collect())
}

/// Milliseconds and values of a recording, and its oddities.
type Values = (Vec<(f64, f64)>, Vec<String>);

fn recorded(text: &str, measure: Measure) -> Result<Values, TraceError> {
    let columns = Columns { column: None, time_column: None, interval: None };
    let (recorded, odd) = Recorded::parse(text.as_bytes(), &columns, measure)?;
    let values = recorded.segments().iter();
    let values = values.map(|&(time, value)| (time.as_millis_f64(), value as f64 / 1e6)).collect();
    Ok((values, odd.iter().map(ToString::to_string).collect()))
}

fn named(name: &str) -> Option<Column> {
    Some(Column::Name(name.into()))
}

#[test]
fn alphartc_has_rates_delays_and_losses_of_two_directions() {
    assert_eq!(rates(ALPHARTC, None).expect("a trace"), [(2896.0, 179_000), (613.5, 1_000_000)]);
    assert_eq!(rates(ALPHARTC, named("downlink")).expect("a trace"), [(5000.0, 2_500_500)]);
    let error = recorded(ALPHARTC, Measure::Delay).expect_err("one direction has none");
    assert_eq!((error.line, error.found.as_str()), (Some(3), "an object without them"));
    let uplink =
        ALPHARTC.replace("{ \"trace_pattern\": [ { \"duration\": 5000, \"capacity\": 2500.5 } ] }", "{}");
    let (delays, odd) = recorded(&uplink, Measure::Delay).expect("delays");
    assert_eq!(delays, [(2896.0, 89.0), (613.5, 103.0)]);
    assert!(odd[0].contains("delays are round trips"), "{odd:?}");
    assert_eq!(recorded(&uplink, Measure::Ratio).expect("losses").0, [(2896.0, 0.0), (613.5, 0.2)]);
    let error = rates(ALPHARTC, named("sideways")).expect_err("no such direction");
    assert_eq!(error.to_string(), "found \"sideways\", expected a column, one of downlink, uplink");
    assert!(
        recorded(&uplink.replace("0.2", "20"), Measure::Ratio)
            .expect_err("percents")
            .to_string()
            .contains("a ratio")
    );
}

/// A sender of TCP tells its smoothed round trip in microseconds, for each stream and for no sum; a receiver has none.
#[test]
fn iperf3_has_the_round_trips_of_its_senders_streams() {
    let stream = |more: &str| format!("{{ \"socket\": 5, \"seconds\": 0.5, \"bits_per_second\": 1{more} }}");
    let interval = |streams: &[String]| {
        format!(
            "{{ \"streams\": [{}], \"sum\": {{ \"seconds\": 0.5, \"bits_per_second\": 2 }} }}",
            streams.join(",")
        )
    };
    let text = |intervals: &[String]| format!("{{ \"intervals\": [{}] }}", intervals.join(","));
    let (back, omitted) = (stream(", \"sender\": false"), stream(", \"rtt\": 9000, \"omitted\": true"));
    let sent = |rtt: u32| stream(&format!(", \"rtt\": {rtt}, \"rttvar\": 4, \"omitted\": false"));
    let whole = text(&[
        interval(&[omitted]),
        interval(&[back.clone(), sent(40_250), sent(90_000)]),
        interval(&[sent(60_000)]),
    ]);
    let (delays, odd) = recorded(&whole, Measure::Delay).expect("round trips");
    assert_eq!(delays, [(500.0, 40.25), (500.0, 60.0)]);
    assert!(odd.iter().any(|said| said.contains("delays are round trips")), "{odd:?}");
    assert!(odd.iter().any(|said| said.contains("iperf3 omits")), "{odd:?}");
    assert_eq!(rates(&whole, None).expect("a trace"), [(1500.0, 2)]);
    for (without, expected) in [(text(&[interval(&[back])]), "senders of TCP"), (text(&[]), "senders of TCP")]
    {
        let error = recorded(&without, Measure::Delay).expect_err(&without);
        assert!(error.to_string().contains(expected), "{error}");
    }
    let negative = text(&[interval(&[stream(", \"rtt\": -1")])]);
    assert!(recorded(&negative, Measure::Delay).is_err());
}

#[test]
fn iperf3_has_a_rate_for_each_interval() {
    assert_eq!(rates(IPERF3, None).expect("a trace"), [(500.077009, 6_290_487), (500.0, 4_194_279)]);
    assert_eq!(rates(IPERF3, named("sum_bidir_reverse")).expect("a trace"), [(500.0, 800_000)]);
    let trace = Trace::parse(IPERF3.as_bytes(), &TraceOptions::new(TraceFormat::Json)).expect("a trace");
    assert!(trace.warnings()[0].what.contains("iperf3 omits"));
    let losses = recorded(
        &IPERF3.replace("\"bits_per_second\":\t9", "\"lost_percent\": 3, \"bits_per_second\":\t9"),
        Measure::Ratio,
    );
    assert!(losses.is_err(), "the way back is TCP and has none");
    let error = recorded(IPERF3, Measure::Factor).expect_err("no factors");
    assert!(error.to_string().contains("iperf3 has no others"), "{error}");
    for (text, expected) in [
        ("{}", "AlphaRTC"),
        ("{\"intervals\": []}", "AlphaRTC"),
        ("{\"intervals\": [{\"sum\": {\"seconds\": 1}}]}", "seconds and bits_per_second"),
        ("7", "AlphaRTC"),
        ("{\"error\": \"unable to connect\"", "the end of the file"),
    ] {
        assert!(rates(text, None).expect_err(text).to_string().contains(expected), "{text}");
    }
    let deep = "[".repeat(100);
    assert!(rates(&format!("{{\"end\": {deep}"), None).is_err());
}

#[test]
fn a_list_of_ghent_is_read_as_json_too() {
    let text = "[{\"duration_ms\": 741, \"bandwidth_kbps\": 14489, \"latency_ms\": 20}]";
    assert_eq!(rates(text, None).expect("a trace"), [(741.0, 14_489_000)]);
    let error = rates(text, named("bandwidth_kbps")).expect_err("no columns");
    assert!(error.to_string().contains("keys of their own"), "{error}");
}

#[test]
fn ping_has_round_trips() {
    let unix = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n\
        64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=12.3 ms\n\
        64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=12.9 ms (DUP!)\n\
        no answer yet for icmp_seq=2\n\
        64 bytes from 192.0.2.1: icmp_seq=4 ttl=57 time=150 ms\n\
        \n--- 192.0.2.1 ping statistics ---\n\
        4 packets transmitted, 2 received, +1 duplicates, 50% packet loss, time 3004ms\n\
        rtt min/avg/max/mdev = 12.3/58.4/150.0/64.8 ms\n";
    let (delays, odd) = recorded(unix, Measure::Delay).expect("delays");
    assert_eq!(delays, [(3000.0, 12.3), (1000.0, 150.0)]);
    assert!(
        odd.iter().any(|odd| odd.contains("without an answer")) && odd[0].contains("round trips"),
        "{odd:?}"
    );
    let columns = Columns { column: None, time_column: None, interval: Some(TimeDelta::from_millis(200)) };
    let (faster, _) = Recorded::parse(unix.as_bytes(), &columns, Measure::Delay).expect("delays");
    assert_eq!(faster.length(), TimeDelta::from_millis(800));
    let clock = "PING a (127.0.0.1) 56(84) bytes of data.\n\
        [1795791734.065803] 64 bytes from 127.0.0.1: icmp_seq=1 ttl=64 time=0.031 ms\n\
        [1795791734.275803] 64 bytes from 127.0.0.1: icmp_seq=2 ttl=64 time=0.053 ms\n";
    let (delays, _) = recorded(clock, Measure::Delay).expect("delays");
    assert!(
        (delays[0].0 - 210.0).abs() < 0.001 && delays[0].1 == 0.031 && delays[1] == (1000.0, 0.053),
        "{delays:?}"
    );
    let windows = "\nPinging 192.0.2.1 with 32 bytes of data:\nReply from 192.0.2.1: bytes=32 time=14ms TTL=57\n\
        Request timed out.\nReply from 192.0.2.1: bytes=32 time<1ms TTL=57\n";
    assert_eq!(recorded(windows, Measure::Delay).expect("delays").0, [(1000.0, 14.0), (1000.0, 1.0)]);
    // A day of requests: numbers of 16 bits begin again.
    let line = |number: u32| format!("64 bytes from 192.0.2.1: icmp_seq={number} ttl=57 time=5 ms\n");
    let day: String = [65_534, 65_535, 65_534, 1, 65_535, 2, 1, 3].map(line).concat();
    let (delays, _) = recorded(&format!("PING a\n{day}"), Measure::Delay).expect("delays");
    assert_eq!(delays.iter().map(|(span, _)| *span).sum::<f64>(), 6000.0, "{delays:?}");
    for (text, measure, expected) in [
        (unix, Measure::Ratio, "ping has delays alone"),
        ("PING x\nno answer\n", Measure::Delay, "no answers"),
        ("PING x\n1 time=-5 ms\n", Measure::Delay, "a delay in ms"),
    ] {
        assert!(recorded(text, measure).expect_err(text).to_string().contains(expected));
    }
}
