//! Paths over named links, transports, pauses and copies: what is right, and what is said of what is wrong.

use crate::Transport;
use crate::{ScenarioError, parse};
use paceline_cc::AnyController;
use paceline_units::TimeDelta;

const LINKS: &str = r#"
duration = "10s"
[links.ab]
from = "a"
to = "b"
rate = "10Mbps"
queue = { packets = 9 }
[links.bc]
from = "b"
to = "c"
rate = "10Mbps"
queue = { packets = 9 }
[links.ca]
from = "c"
to = "a"
rate = "10Mbps"
queue = { packets = 9 }
[links.anywhere]
rate = "10Mbps"
queue = { packets = 9 }
"#;

fn flow(keys: &str) -> Result<crate::Scenario, ScenarioError> {
    parse(&format!("{LINKS}[flows.f]\nsource = {{ kind = \"cbr\", rate = \"1Mbps\" }}\n{keys}"), "t.toml")
}

fn wrong(keys: &str, key: &str, expected: &str) {
    let error = flow(keys).expect_err(keys);
    assert_eq!(error.key, key, "{error}");
    assert!(error.line().is_some() && error.expected.contains(expected), "{error}");
}

#[test]
fn a_path_reaches_from_node_to_node() {
    for right in [
        "path = [\"ab\", \"bc\"]\nreturn_path = [\"ca\"]",
        "path = [\"ab\", \"anywhere\"]",
        "path = [\"anywhere\"]\nreturn_path = [\"ab\"]",
    ] {
        flow(&format!("transport = \"udp\"\n{right}")).expect(right);
    }
    let udp = "transport = \"udp\"\n";
    wrong(
        &format!("{udp}path = [\"ab\", \"ca\"]"),
        "flows.f.path[1]",
        "\"ab\" ends at \"b\", and \"ca\" begins at \"c\"",
    );
    wrong(&format!("{udp}path = [\"ab\", \"bc\", \"ca\"]"), "flows.f.path[2]", "has been at \"a\" before");
    wrong(&format!("{udp}path = [\"ab\"]\nreturn_path = [\"ca\"]"), "flows.f.return_path", "links that join");
    wrong(&format!("{udp}path = [\"ab\", \"ab\"]"), "flows.f.path[1]", "each link once");
    wrong(&format!("{udp}path = [\"bd\"]"), "flows.f.path[0]", "bc");
    let error = parse(&LINKS.replace("to = \"b\"", "to = \"a\""), "t.toml").expect_err("a link to itself");
    assert_eq!((error.key.as_str(), error.line()), ("links.ab.to", Some(5)), "{error}");
}

#[test]
fn datagrams_need_no_controller_but_a_source_with_a_rate() {
    let scenario = flow("transport = \"udp\"\npath = [\"ab\"]").expect("datagrams");
    let flow_spec = &scenario.flows[0];
    assert_eq!((flow_spec.transport.choice(), flow_spec.controller.params.kind()), (Transport::Udp, "none"));
    assert_eq!(flow_spec.packet_size.as_u64(), 1500);
    wrong("path = [\"ab\"]", "flows.f.controller", "a controller such as");
    let media = flow("transport = \"rtp\"\npath = [\"ab\"]").expect("media");
    assert_eq!(media.flows[0].controller.params.kind(), AnyController::USUAL);
    wrong("transport = \"udp\"\ncontroller = \"scream\"\npath = [\"ab\"]", "flows.f.transport", "rtp");
    wrong("transport = \"udp\"\nfeedback = { packets = 1 }\npath = [\"ab\"]", "flows.f.feedback", "rtp");
    let bulk =
        format!("{LINKS}[flows.f]\ntransport = \"udp\"\nsource = {{ kind = \"bulk\" }}\npath = [\"ab\"]\n");
    let error = parse(&bulk, "t.toml").expect_err("it would never end");
    assert_eq!((error.key.as_str(), error.line().is_some()), ("flows.f.source", true), "{error}");
}

#[test]
fn pauses_lie_in_order_between_start_and_stop() {
    let base = "transport = \"udp\"\npath = [\"ab\"]\nstart = \"1s\"\nstop = \"9s\"\n";
    let spec = flow(&format!("{base}pause = [[\"2s\", \"3s\"], [\"3s\", \"9s\"]]")).expect("right");
    let second = TimeDelta::from_secs;
    assert_eq!(spec.flows[0].pause, [(second(2), second(3)), (second(3), second(9))]);
    wrong(&format!("{base}pause = [[\"0s\", \"3s\"]]"), "flows.f.pause[0][0]", "start");
    wrong(
        &format!("{base}pause = [[\"2s\", \"4s\"], [\"3s\", \"5s\"]]"),
        "flows.f.pause[1][0]",
        "pause before it",
    );
    wrong(&format!("{base}pause = [[\"3s\", \"3s\"]]"), "flows.f.pause[0][1]", "after the beginning");
    wrong(&format!("{base}pause = [[\"3s\", \"9.5s\"]]"), "flows.f.pause[0][1]", "stop");
}

#[test]
fn a_stream_joins_and_leaves_between_its_flow_s_start_and_stop() {
    let media = "source = { kind = \"cbr\", rate = \"1Mbps\" }\n";
    let text = |stream: &str| {
        format!(
            "{LINKS}[flows.f]\ncontroller = \"scream\"\npath = [\"ab\"]\nstart = \"1s\"\nstop = \"9s\"\n[flows.f.streams.a]\n{media}\
             [flows.f.streams.b]\n{media}{stream}\n"
        )
    };
    let spec = parse(&text("start = \"2s\"\nstop = \"9s\""), "t.toml").expect("right");
    let second = TimeDelta::from_secs;
    let times = |stream: usize| (spec.flows[0].streams[stream].start, spec.flows[0].streams[stream].stop);
    assert_eq!([times(0), times(1)], [(None, None), (Some(second(2)), Some(second(9)))]);
    for (wrong, key, expected) in [
        ("start = \"500ms\"", "start", "between the flow's start and its stop"),
        ("start = \"9500ms\"", "start", "between the flow's start and its stop"),
        ("start = \"3s\"\nstop = \"3s\"", "stop", "after the stream's start"),
        ("stop = \"1s\"", "stop", "after the stream's start"),
        ("stop = \"9500ms\"", "stop", "not after the flow's stop"),
    ] {
        let error = parse(&text(wrong), "t.toml").expect_err(wrong);
        assert_eq!(error.key, format!("flows.f.streams.b.{key}"), "{error}");
        assert!(error.line().is_some() && error.expected.contains(expected), "{error}");
    }
}

#[test]
fn one_table_may_stand_for_many_flows_that_start_at_times_of_their_own() {
    let base = "transport = \"udp\"\npath = [\"ab\"]\nstart = \"1s\"\n";
    let many = flow(&format!("{base}count = 12\nstart_within = \"2s\"")).expect("twelve").flows;
    assert_eq!((many.len(), many[0].name.as_str(), many[11].name.as_str()), (12, "f-01", "f-12"));
    let second = TimeDelta::from_secs;
    let starts: Vec<_> = many.iter().map(|flow| flow.start).collect();
    assert!(starts.iter().all(|start| (second(1)..second(3)).contains(start)), "{starts:?}");
    let middle = starts.iter().filter(|start| **start < second(2)).count();
    assert!((2..=10).contains(&middle), "spread over the whole: {starts:?}");
    let again = flow(&format!("{base}count = 12\nstart_within = \"2s\"")).expect("twelve").flows;
    assert_eq!(again, many, "the same seed, the same starts");
    assert_eq!(flow(base).expect("one").flows[0].name, "f", "one keeps its name");
    wrong(&format!("{base}start_within = \"9.5s\""), "flows.f.start_within", "before the flow stops");
    wrong(&format!("{base}count = 0"), "flows.f.count", "1 to 10000");
    let taken = format!("{base}count = 2\n[flows.f-1]\nsource = {{ kind = \"cbr\" }}\n{base}");
    let error = flow(&taken).expect_err("the name is taken");
    assert!(error.expected.contains("\"f-1\""), "{error}");
}
