//! Every controller that is registered, over every transport there is: the pair runs, or it is refused by name.

use crate::world::{count, flow, link, simulated};
use paceline_cc::ControllerParams;
use paceline_scenario::{Loader, Origin, Transport, load};
use paceline_sim::Pace;
use paceline_units::TimeDelta;

/// A source that every transport takes, and those that only TCP does.
const SOURCES: [&str; 3] = [
    r#"{ kind = "cbr", rate = "1Mbps" }"#,
    r#"{ kind = "short-transfers", parallel = 2, size_min = "30kB", size_max = "50kB", idle = "500ms" }"#,
    r#"{ kind = "tmix", generator = { kind = "web", load = "1Mbps" } }"#,
];

fn scenario(kind: &str, transport: &str, source: &str) -> String {
    format!(
        r#"
        duration = "5s"
        [links.bottleneck]
        rate = "4Mbps"
        delay = "10ms"
        queue = {{ kind = "droptail", limit = "200ms" }}
        [flows.only]
        transport = "{transport}"
        controller = "{kind}"
        source = {source}
        path = ["bottleneck"]
        pause = [["3s", "4s"]]
        "#
    )
}

/// Runs a pair; false if it is refused, which names both.
fn runs(kind: &str, transport: &str, source: &str) -> bool {
    let text = scenario(kind, transport, source);
    let origin = Origin { text: &text, file: "pair.toml", sets: &[] };
    let loaded = match load(&origin, &Loader::default()) {
        Ok(loaded) => loaded,
        Err(error) => {
            let said = error.to_string();
            assert!(said.contains(kind) && said.contains(transport), "{kind} over {transport}: {said}");
            return false;
        }
    };
    let outcome = simulated(&loaded, Pace::Windowed, TimeDelta::from_secs(1));
    let (figures, link) = (flow(&outcome, "only"), link(&outcome, "bottleneck"));
    let said = format!("{kind} over {transport}: {figures:?}");
    let (throughput, goodput) = (figures.throughput_mbps.expect(&said), figures.goodput_mbps.expect(&said));
    assert!((0.05..4.0).contains(&throughput) && goodput > 0.0 && goodput <= throughput, "{said}");
    let (sent, received) = (count(figures.packets_sent), count(figures.packets_received));
    assert!(received > 50 && received <= sent, "{said}");
    assert!(figures.loss_ratio.is_some_and(|ratio| ratio < 0.5), "{said}");
    assert!(figures.one_way_delay_ms.mean.is_some_and(|delay| (10.0..300.0).contains(&delay)), "{said}");
    assert!(link.utilisation.is_some_and(|used| (0.01..=1.0).contains(&used)), "{said}");
    true
}

#[test]
fn every_controller_over_every_transport_runs_or_is_refused_by_name() {
    let mut pairs = Vec::new();
    for kind in ControllerParams::KINDS {
        let over = Transport::NAMES.iter().filter(|transport| runs(kind, transport, SOURCES[0]));
        let over: Vec<_> = over.collect();
        assert!(!over.is_empty(), "{kind} runs over nothing");
        pairs.extend(over.into_iter().map(|transport| (kind, transport)));
    }
    // Each transport has somebody to run over it.
    for transport in Transport::NAMES {
        assert!(pairs.iter().any(|(_, over)| *over == transport), "nothing runs over {transport}");
    }
    for (kind, _) in pairs.iter().filter(|(_, over)| **over == "tcp") {
        assert!(SOURCES[1..].iter().all(|source| runs(kind, "tcp", source)), "many connections under {kind}");
    }
}
