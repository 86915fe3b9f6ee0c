//! Calls by `live`, whose three ends are threads of one process.

use crate::call::loaded;
use crate::lateness::judge_on_time;
use paceline_net::{Control, LiveOptions, LiveOutput, NetError, live};
use paceline_scenario::Loaded;
use std::sync::atomic::AtomicBool;

fn scenario(changed: &str) -> Loaded {
    scenario_at("5Mbps", changed)
}

fn scenario_at(rate: &str, changed: &str) -> Loaded {
    let text = format!(
        "name = \"live\"\nduration = \"3s\"\n[links.path]\nrate = \"{rate}\"\ndelay = \"10ms\"\n\
         queue = {{ limit = \"100ms\" }}\n[flows.video]\ncontroller = \"scream\"\n\
         source = {{ kind = \"bulk\" }}\npath = [\"path\"]\n{changed}"
    );
    loaded(&text)
}

fn run(loaded: &Loaded) -> Result<LiveOutput, NetError> {
    let stop = AtomicBool::new(false);
    live(loaded, &LiveOptions::default(), &Control { stop: &stop, progress: &|_| () })
}

#[test]
fn each_end_knows_its_part_of_the_call() {
    judge_on_time(known, |output| {
        let flow = &output.sender.summary.flows["video"];
        assert!(flow.srtt_ms.mean.is_some_and(|srtt| srtt < 150.0), "{flow:?}");
        let ends = [&output.sender, &output.link, &output.receiver];
        assert!(ends.iter().all(|end| end.summary.packets > Some(20)));
    });
}

fn known() -> LiveOutput {
    let output = run(&scenario("")).expect("a call");
    let ends = [&output.sender, &output.link, &output.receiver];
    for end in ends {
        assert!(end.summary.packets.is_some_and(|packets| packets > 0), "{:?}", end.summary);
    }
    let [sender, link, receiver] = ends.map(|end| &end.summary.flows["video"]);
    assert!(sender.srtt_ms.mean.is_some_and(|srtt| srtt >= 20.0));
    assert!(link.queue_delay_ms.mean.is_some() && output.link.summary.links.contains_key("path"));
    assert!(receiver.one_way_delay_ms.mean.is_some_and(|delay| delay >= 10.0), "one machine, one clock");
    output
}

#[test]
fn coupled_flows_have_ports_in_a_row() {
    let other = "[flows.slides]\ncontroller = \"scream\"\nsource = { kind = \"bulk\" }\npath = [\"path\"]\n\
                 [coupling.both]\nkind = \"active\"\ngroups = [[\"video\", \"slides\"]]\n";
    let loaded = scenario(other);
    let output = run(&loaded).expect("a call");
    for name in ["video", "slides"] {
        assert!(output.receiver.summary.flows[name].packets_received.is_some_and(|packets| packets > 5));
    }
}

/// More than the few whose sockets a relay reads without asking; the link takes what all of them send at their beginning.
#[test]
fn flows_that_share_nothing_but_a_link_all_run() {
    judge_on_time(nine_run, |used| assert!(*used > 0.3, "{used}"));
}

/// The utilisation of the link of nine flows, of which each is carried however late the machine is.
fn nine_run() -> f64 {
    let others = (0..8).map(|n| {
        format!(
            "[flows.other-{n}]\ncontroller = \"scream\"\nsource = {{ kind = \"bulk\" }}\npath = [\"path\"]\n"
        )
    });
    let loaded = scenario_at("20Mbps", &others.collect::<String>());
    let output = run(&loaded).expect("calls");
    for end in [&output.sender, &output.link, &output.receiver] {
        assert_eq!(end.summary.flows.len(), 9);
        for (name, flow) in &end.summary.flows {
            assert!(flow.packets_received.is_some_and(|packets| packets > 0), "{name}: {flow:?}");
        }
    }
    let link = output.link.summary.links["path"];
    link.utilisation.expect("a utilisation")
}
