//! `transport = "dccp"`: what may be said, and what is wrong where.

use crate::transports::{DccpSpec, EndsParts, TransportSpec};
use crate::{Loader, Origin, Scenario, ScenarioError, Transport, load, parse};
use paceline_dccp::CCID_3;
use paceline_media::PlayoutConfig;
use paceline_units::{Bytes, TimeDelta};
use paceline_wire::dccp::ServiceCode;

const GOOD: &str = r#"duration = "10s"

[links.bottleneck]
rate = "20Mbps"
queue = { kind = "droptail", limit = "300ms" }

[flows.call]
transport = "dccp"
controller = { kind = "ccid2" }
path = ["bottleneck"]
source = { kind = "bulk" }
dccp = {}
"#;

fn read(changes: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let text = changes.iter().fold(GOOD.to_string(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    parse(&text, "call.toml")
}

fn spec(changes: &[(&str, &str)]) -> DccpSpec {
    match &read(changes).expect("right").flows[0].transport {
        TransportSpec::Dccp(spec) => *spec,
        other => panic!("a flow over {}", other.name()),
    }
}

#[test]
fn defaults_follow_the_controller() {
    let file = DccpSpec { rtp: false, discard_age: None, ..DccpSpec::default() };
    assert_eq!(spec(&[]), file);
    assert_eq!(spec(&[("dccp = {}\n", "")]), file);
    let media = ("\"bulk\"", "\"cbr\", rate = \"1Mbps\"");
    let video = DccpSpec { service: ServiceCode::RTP_VIDEO, ..DccpSpec::default() };
    assert_eq!((spec(&[media]), "SC:RTPV".parse()), (video, Ok(ServiceCode::RTP_VIDEO)));
    assert_eq!(
        spec(&[media, ("dccp = {}", "dccp = { rtp = false }")]),
        DccpSpec { rtp: false, ..DccpSpec::default() }
    );
    // The controller says DCCP.
    let usual = read(&[("transport = \"dccp\"\n", "")]).expect("right");
    assert_eq!(usual.flows[0].transport.choice(), Transport::Dccp);
    assert_eq!(usual.flows[0].packet_size, Bytes::new(1500));
    assert_eq!(spec(&[("\"ccid2\"", "\"ccid3\"")]), DccpSpec { ack_vector: false, ..file });
    let ns2 = spec(&[("\"ccid2\"", "\"ccid2\", profile = \"ns2\""), media]);
    assert_eq!(ns2, DccpSpec { header: Some(Bytes::new(32)), ack_at_once: false, ..file });
}

#[test]
fn every_key_is_taken() {
    let all = "dccp = { sequence_window = 500, ack_vector = true, handshake = false, short_numbers = true, \
               ack_delay = \"50ms\", ack_at_once = false, service = \"SC:call\", options = \"100B\", header = \"32B\", \
               rtp = true, discard_age = \"400ms\" }\nplayout = { kind = \"fixed\", delay = \"100ms\" }";
    let media = ("\"bulk\"", "\"trace-encoder\", generator = \"frames\"");
    let changes = [("dccp = {}", all), ("\"ccid2\"", "\"ccid3\""), media];
    let expected = DccpSpec {
        sequence_window: 500,
        ack_vector: true,
        handshake: false,
        short_numbers: true,
        ack_delay: TimeDelta::from_millis(50),
        ack_at_once: false,
        service: "SC:call".parse::<ServiceCode>().expect("a code"),
        options: Bytes::new(100),
        header: Some(Bytes::new(32)),
        rtp: true,
        discard_age: Some(TimeDelta::from_millis(400)),
    };
    assert_eq!(spec(&changes), expected);
    let scenario = read(&changes).expect("right");
    assert_eq!(scenario.flows[0].playout, PlayoutConfig::fixed(TimeDelta::from_millis(100)));
    let again = parse(&scenario.to_toml(), "again.toml").expect("what is written can be read");
    assert_eq!(again, scenario);
}

#[test]
fn ends_are_built_as_it_says() {
    let text = GOOD.replace("ccid2", "ccid3").replace("dccp = {}", "dccp = { header = \"32B\" }");
    let origin = Origin { text: &text, file: "call.toml", sets: &[] };
    let loaded = load(&origin, &Loader::default()).expect("right");
    let EndsParts::Dccp(parts) = &loaded.parts.flows[0].ends else { panic!("not dccp") };
    assert_eq!((parts.ccids.ccid(), parts.carried.max_payload), (CCID_3, Bytes::new(1468)));
    assert_eq!(
        (parts.config.send_ccids.as_slice(), parts.config.mtu),
        ([CCID_3].as_slice(), Bytes::new(1884))
    );
    // Of media the RTP header is payload to DCCP.
    let text = text
        .replace("\"bulk\"", "\"trace-encoder\", generator = \"frames\"")
        .replace("\"32B\"", "\"32B\", rtp = true");
    let loaded =
        load(&Origin { text: &text, file: "call.toml", sets: &[] }, &Loader::default()).expect("right");
    let EndsParts::Dccp(parts) = &loaded.parts.flows[0].ends else { panic!("not dccp") };
    assert_eq!((parts.carried.max_payload, parts.carried.rtp_header), (Bytes::new(1456), Bytes::new(12)));
    assert_eq!(parts.config.mtu, Bytes::new(1884));
    assert!(loaded.parts.frame_trace(0).is_some());
}

#[test]
fn what_is_wrong_is_told_with_its_key() {
    for (keys, key, found, expected) in [
        ("sequence_window = 31", ".sequence_window", "31", "a whole number from 32 to"),
        ("ack_vector = false", ".ack_vector", "false", "true: ccid2 lives on Ack Vectors"),
        ("ack_vector = 1", ".ack_vector", "1 (a number)", "true or false"),
        ("handshake = \"no\"", ".handshake", "\"no\" (text)", "true or false"),
        ("ack_delay = \"0s\"", ".ack_delay", "0s", "above 0"),
        ("ack_at_once = 0", ".ack_at_once", "0 (a number)", "true or false"),
        ("service = \"call\"", ".service", "call", "a service code such as"),
        ("service = 42", ".service", "42 (a number)", "a service code such as"),
        ("service = \"SC=4294967295\"", ".service", "SC=4294967295", "a service code such as"),
        ("rtp = true", ".rtp", "true", "false: a file has no frames"),
        ("discard_age = \"1s\"", ".discard_age", "1s", "a file is sent however old it is"),
        ("options = \"1021B\"", ".options", "1021B", "1020B"),
        ("header = 32", ".header", "32 (a number)", "a size"),
        ("seqence_window = 100", ".seqence_window", "an unknown key", "sequence_window"),
    ] {
        let error = read(&[("dccp = {}", &format!("dccp = {{ {keys} }}"))]).expect_err(keys);
        assert_eq!((error.line(), error.key.as_str()), (Some(12), format!("flows.call.dccp{key}").as_str()));
        assert!(error.found.contains(found) && error.expected.contains(expected), "{error}");
    }
}

#[test]
fn dccp_and_its_controllers_belong_together() {
    for (changes, key, expected) in [
        (("\"dccp\"", "\"rtp\""), "flows.call.transport", "\"dccp\", with the controller ccid2"),
        (("\"ccid2\"", "\"scream\""), "flows.call.transport", "with the controller scream"),
        (
            ("\"ccid2\"", "\"newreno\""),
            "flows.call.transport",
            "\"tcp\", \"sctp\", with the controller newreno",
        ),
        (("dccp = {}", "tcp = { ack_every = 1 }"), "flows.call.tcp", "nothing: tcp goes with transport tcp"),
        (("dccp = {}", "rtp = { ssrc = 1 }"), "flows.call.rtp", "nothing: rtp goes with transport rtp"),
        (
            ("dccp = {}", "feedback = { packets = 3 }"),
            "flows.call.feedback",
            "goes with transport rtp or controlled udp",
        ),
        (
            ("dccp = {}", "bitrate = { max = \"1Mbps\" }"),
            "flows.call.bitrate",
            "goes with transport rtp or controlled udp",
        ),
        (("\"bulk\"", "\"short-transfers\""), "flows.call.source", "transport tcp"),
        (("dccp = {}", "packet_size = \"16B\""), "flows.call.packet_size", "17B"),
    ] {
        let error = read(&[changes]).expect_err(key);
        assert!(error.key.starts_with(key) && error.expected.contains(expected), "{changes:?}: {error}");
    }
    let small = read(&[("dccp = {}", "dccp = { header = \"100B\" }\npacket_size = \"100B\"")]);
    let error = small.expect_err("no room");
    assert!(error.found.contains("\"100B\"") && error.expected.contains("the header of \"100B\""), "{error}");
    let rtp = GOOD.replace("\"ccid2\"", "\"scream\"").replace("\"dccp\"", "\"rtp\"");
    let error = parse(&rtp, "call.toml").expect_err("dccp over rtp");
    assert_eq!(
        (error.key.as_str(), &*error.expected),
        ("flows.call.dccp", "nothing: dccp goes with transport dccp")
    );
}
