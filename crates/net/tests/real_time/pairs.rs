//! Every controller that is registered, over every transport, on loopback: the pair runs, or it is refused by name.

use crate::call::{anywhere, flow};
use paceline_cc::ControllerParams;
use paceline_net::{Control, NetError, ReceiveOptions, Receiver, SendOptions, Sender};
use paceline_scenario::{Loaded, Loader, Origin, Transport, load};
use std::sync::atomic::AtomicBool;

/// The pair's scenario, if the simulator would run it.
fn scenario(kind: &str, transport: &str) -> Option<Loaded> {
    let source = "{ kind = \"cbr\", rate = \"1Mbps\" }";
    scenario_of(&format!("\"{kind}\""), transport, source)
}

/// The same with the text of a controller and of a source.
fn scenario_of(controller: &str, transport: &str, source: &str) -> Option<Loaded> {
    let text = format!(
        r#"
        duration = "3s"
        [links.bottleneck]
        rate = "4Mbps"
        delay = "10ms"
        queue = {{ kind = "droptail", limit = "200ms" }}
        [flows.only]
        transport = "{transport}"
        controller = {controller}
        source = {source}
        path = ["bottleneck"]
        "#
    );
    load(&Origin { text: &text, file: "pair.toml", sets: &[] }, &Loader::default()).ok()
}

/// Runs a pair; false if it is refused, which names it.
fn runs(kind: &str, transport: &str, loaded: &Loaded) -> bool {
    let receiver = match Receiver::bind(loaded, &ReceiveOptions::on(anywhere())) {
        Ok(receiver) => receiver,
        Err(NetError::Unsupported { what }) => {
            assert!(what.contains(kind) || what.contains(transport), "{kind} over {transport}: {what}");
            return false;
        }
        Err(error) => panic!("{kind} over {transport}: {error}"),
    };
    let to = receiver.address().expect("an address");
    let sender = Sender::bind(loaded, &SendOptions::to(to)).expect("a sender");
    let stop = &AtomicBool::new(false);
    let control = || Control { stop, progress: &|_| () };
    let (sent, received) = std::thread::scope(|scope| {
        let receiver = scope.spawn(move || receiver.run(&control()));
        (sender.run(&control()).expect("sent"), receiver.join().expect("no panic").expect("received"))
    });
    let (sent, received) = (flow(&sent), flow(&received));
    let mbps = received.throughput_mbps.expect("a throughput");
    assert!((0.02..4.0).contains(&mbps), "{kind} over {transport}: {received:?}");
    assert!(sent.packets_sent.is_some_and(|packets| packets > 10), "{kind} over {transport}: {sent:?}");
    true
}

#[test]
fn every_pair_runs_over_loopback_or_is_refused_by_name() {
    let pairs: Vec<_> = ControllerParams::KINDS
        .iter()
        .flat_map(|kind| Transport::NAMES.iter().map(move |transport| (*kind, *transport)))
        .filter_map(|(kind, transport)| Some((kind, transport, scenario(kind, transport)?)))
        .collect();
    let ran = std::thread::scope(|scope| {
        let runs = pairs.iter().map(|(kind, transport, loaded)| {
            (*transport, scope.spawn(move || runs(kind, transport, loaded)))
        });
        let runs: Vec<_> = runs.collect();
        runs.into_iter()
            .filter_map(|(transport, run)| run.join().expect("no panic").then_some(transport))
            .collect::<Vec<_>>()
    });
    assert!(ran.contains(&"rtp") && ran.contains(&"dccp") && !ran.contains(&"tcp"), "{ran:?}");
}

/// GCC's probes leave as bursts of media and padding, whatever the pace is: an encoder follows what they find.
#[test]
fn gcc_follows_its_reports_over_loopback_with_and_without_probes() {
    let source = "{ kind = \"trace-encoder\", generator = \"frames\", fps = 30 }";
    for profile in ["draft", "libwebrtc"] {
        let controller =
            format!("{{ kind = \"gcc\", profile = \"{profile}\", target_bitrate_max = \"3Mbps\" }}");
        let loaded = scenario_of(&controller, "rtp", source).expect("a scenario");
        assert!(runs("gcc", "rtp", &loaded), "{profile} is refused");
    }
}
