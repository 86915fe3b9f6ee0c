//! Words of the contract that a transport cannot execute.

use crate::assembly::check_verbs;
use crate::transports::Transport;
use crate::{Loader, Origin, load};
use paceline_cc::{ControllerParams, Verb};

/// Of a controller that used one of `verbs` over `transport`: which of them are refused.
fn refused(transport: &str, kind: &str, verbs: &[Verb]) -> Vec<Verb> {
    let text = format!(
        r#"
        duration = "1s"
        [links.bottleneck]
        rate = "1Mbps"
        delay = "1ms"
        queue = {{ kind = "droptail", packets = 10 }}
        [flows.video]
        transport = "{transport}"
        controller = "{kind}"
        source = {{ kind = "cbr", rate = "1Mbps" }}
        path = ["bottleneck"]
        "#
    );
    let loaded = load(&Origin { text: &text, file: "verbs.toml", sets: &[] }, &Loader::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let flow = &loaded.scenario.flows[0];
    let executed = flow.transport.choice().executes(flow.controller.params.steers());
    let refuses = |verb: &&Verb| {
        let checked = check_verbs(flow, &[Verb::Discard, **verb], &[&[Verb::Discard], executed].concat());
        if let Err(error) = &checked {
            assert_eq!((error.key.as_str(), error.found.as_str()), ("flows.video.controller", kind));
            assert!(error.expected.contains(verb.name()) && error.expected.contains(transport), "{error}");
        }
        checked.is_err()
    };
    verbs.iter().filter(refuses).copied().collect()
}

#[test]
fn what_a_transport_cannot_execute_is_refused_by_name() {
    let verbs = [Verb::Probe, Verb::ReportInterval, Verb::CounterAnnotation];
    let headers = [Verb::CongestionHeader];
    assert_eq!(refused("tcp", "xcp", &headers), []);
    assert_eq!(refused("tcp", "rcp", &headers), []);
    assert_eq!(refused("rtp", "scream", &headers), headers);
    assert_eq!(refused("dccp", "ccid2", &headers), headers);
    assert_eq!(refused("rtp", "scream", &verbs), []);
    assert_eq!(refused("udp", "rap", &verbs), [Verb::Probe, Verb::CounterAnnotation]);
    assert_eq!(refused("dccp", "ccid2", &verbs), [Verb::Probe, Verb::ReportInterval]);
    assert_eq!(refused("tcp", "cubic", &verbs), verbs);
    assert_eq!(refused("udp", "none", &verbs), verbs);
}

/// Whether a flow of such a controller under one of its profiles can be made over a transport.
fn is_made(params: &ControllerParams, transport: Transport) -> bool {
    let makes = |(profile, _): &(&str, &str)| {
        let text = format!(
            r#"
            duration = "1s"
            links.bottleneck = {{ rate = "1Mbps", delay = "1ms", queue = {{ kind = "droptail", packets = 10 }} }}
            [flows.data]
            transport = "{}"
            controller = {{ kind = "{}", profile = "{profile}" }}
            ecn = "off"
            source = {{ kind = "cbr", rate = "1Mbps" }}
            path = ["bottleneck"]
            "#,
            transport.name(),
            params.kind()
        );
        load(&Origin { text: &text, file: "carried.toml", sets: &[] }, &Loader::default()).is_ok()
    };
    params.profiles().iter().any(makes)
}

#[test]
fn the_transports_listed_for_a_controller_are_those_that_take_it() {
    for params in ControllerParams::KINDS.iter().filter_map(|kind| ControllerParams::of(kind)) {
        let made = Transport::ALL.iter().copied().filter(|transport| is_made(&params, *transport));
        assert_eq!(Transport::carrying(&params), made.collect::<Vec<_>>(), "{}", params.kind());
    }
}
