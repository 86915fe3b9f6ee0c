//! A controller that ignores marks does not say that its packets can be marked.

use crate::{Loader, Origin, TransportSpec, load};
use paceline_cc::{ControllerParams, Steers};
use paceline_tcp::{EcnEcho, RecoveryKind};
use paceline_units::EcnMode;

/// The message about a flow of the controller `kind` with packets of `ecn`, where it is refused.
fn refusal(params: &ControllerParams, ecn: &str) -> Option<String> {
    let (kind, transport) = (params.kind(), if params.steers() == Steers::Unreported { "udp" } else { "" });
    let transport = if transport.is_empty() { String::new() } else { format!("transport = \"{transport}\"") };
    let text = format!(
        r#"
        duration = "1s"
        [links.bottleneck]
        rate = "1Mbps"
        delay = "1ms"
        queue = {{ kind = "codel" }}
        [flows.video]
        {transport}
        controller = "{kind}"
        ecn = "{ecn}"
        source = {{ kind = "cbr", rate = "1Mbps" }}
        path = ["bottleneck"]
        "#
    );
    let loaded = load(&Origin { text: &text, file: "ecn.toml", sets: &[] }, &Loader::default());
    loaded.err().map(|error| error.to_string())
}

#[test]
fn marks_are_for_those_who_answer_them() {
    for (params, _) in ControllerParams::all() {
        for ecn in ["off", "classic", "l4s"] {
            let refused = refusal(&params, ecn);
            let ignores =
                ["rap", "bbr", "um", "gcc", "copa", "vivace", "sctp", "sprout"].contains(&params.kind());
            assert_eq!(refused.is_some(), ignores && ecn != "off", "{} {ecn}: {refused:?}", params.kind());
            if let Some(message) = refused {
                let pair =
                    [format!("found {ecn}"), format!("the controller {} ignores marks", params.kind())];
                assert!(message.contains("flows.video.ecn"), "{message}");
                assert!(pair.iter().all(|part| message.contains(part)), "{message}");
                assert!(message.contains("ecn.toml:10"), "{message}");
            }
        }
    }
}

/// Under Prague packets are ECT(1), and each mark is told, unless the flow says otherwise; RFC 3168's echo is not enough for L4S.
#[test]
fn prague_is_l4s_by_default_and_wants_each_mark_told() {
    let parse = |more: &str| {
        let text = format!(
            "duration = \"1s\"\n[links.l]\nrate = \"1Mbps\"\nqueue = {{ kind = \"dualpi2\" }}\n[flows.f]\ncontroller = \"prague\"\n\
             source = {{ kind = \"bulk\" }}\npath = [\"l\"]\n{more}\n"
        );
        load(&Origin { text: &text, file: "prague.toml", sets: &[] }, &Loader::default())
    };
    let flow = |more: &str| parse(more).expect("it is right").scenario.flows[0].clone();
    let told = |more: &str| {
        let flow = flow(more);
        let TransportSpec::Tcp(tcp) = flow.transport else { panic!("it is a byte stream") };
        (flow.ecn, tcp.ect, tcp.ecn_echo, tcp.recovery)
    };
    let accurate = |ecn: EcnMode| (ecn, ecn.codepoint(), EcnEcho::Accurate, RecoveryKind::RackTlp);
    assert_eq!(told(""), accurate(EcnMode::L4s));
    assert_eq!(told("ecn = \"classic\""), accurate(EcnMode::Classic));
    assert_eq!(told("tcp = { ecn_echo = \"exact\", recovery = \"sack\" }").2, EcnEcho::Exact);
    assert_eq!(told("ecn = \"classic\"\ntcp = { ecn_echo = \"rfc3168\" }").2, EcnEcho::Rfc3168);
    let error = parse("tcp = { ecn_echo = \"rfc3168\" }").map(drop).expect_err("it contradicts").to_string();
    assert!(error.contains("flows.f.tcp.ecn_echo") && error.contains("RFC 9331"), "{error}");
}

#[test]
fn sctp_tells_no_marks() {
    let refusal = |ecn: &str| {
        let text = format!(
            "duration = \"1s\"\n[links.l]\nrate = \"1Mbps\"\nqueue = {{ kind = \"codel\" }}\n[flows.f]\ntransport = \"sctp\"\n\
             controller = \"cubic\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\necn = \"{ecn}\"\n"
        );
        load(&Origin { text: &text, file: "sctp.toml", sets: &[] }, &Loader::default()).err()
    };
    assert_eq!(refusal("off"), None);
    let error = refusal("classic").expect("refused");
    assert_eq!((error.line(), error.key.as_str()), (Some(10), "flows.f.ecn"), "{error}");
    assert!(error.expected.contains("cubic hears of them over tcp"), "{error}");
}
