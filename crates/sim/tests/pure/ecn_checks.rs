//! The findings of `rtp.ecn_check` on a path, and their effect: a call of SCReAM with ECT(1), alone or beside NewReno.

use crate::world::{flow, run};
use paceline_sim::Outcome;

/// 20 ms each way at 10 Mbit/s, over a link with this queue.
fn call(link: &str, check: &str, rival: bool) -> Outcome {
    let rival = match rival {
        true => {
            "[flows.tcp]\ntransport = \"tcp\"\ncontroller = \"newreno\"\npath = [\"l\"]\nreturn_delay = \"20ms\"\n\
             ecn = \"classic\"\nsource = { kind = \"bulk\" }\n"
        }
        false => "",
    };
    run(&format!(
        "duration = \"90s\"\nwarmup = \"30s\"\n[links.l]\nrate = \"10Mbps\"\ndelay = \"20ms\"\n{link}\n\
         [flows.f]\ncontroller = \"scream\"\necn = \"l4s\"\npath = [\"l\"]\nreturn_delay = \"20ms\"\n{check}\n\
         source = {{ kind = \"cbr\", rate = \"1Mbps\", adaptive = true, fps = 50 }}\n{rival}"
    ))
}

const PROBE: &str = "rtp = { ecn_check = \"probe\" }";

fn rate(outcome: &Outcome, name: &str) -> f64 {
    flow(outcome, name).throughput_mbps.expect("packets arrived")
}

/// The state in the end, how often ECN was given up, and how often a Classic AQM was found.
fn found(outcome: &Outcome) -> (&'static str, u64, u64) {
    let ecn = flow(outcome, "f").ecn.expect("it is checked");
    (ecn.state, ecn.failures, ecn.classic)
}

#[test]
fn where_l4s_works_the_checks_change_nothing() {
    for link in [
        "queue = { limit = \"300ms\" }\nmark = { kind = \"step\", at = \"1ms\" }",
        "queue = { limit = \"300ms\" }\nmark = { kind = \"ramp\", low = \"2ms\", high = \"10ms\" }",
        "queue = { kind = \"dualpi2\" }",
    ] {
        let (checked, trusted) = (call(link, PROBE, false), call(link, "", false));
        assert_eq!(found(&checked), ("capable", 0, 0), "{link}");
        assert!(flow(&trusted, "f").ecn.is_none());
        let (checked, trusted) = (rate(&checked, "f"), rate(&trusted, "f"));
        assert!((0.99..1.01).contains(&(checked / trusted)), "{link}: {checked} and {trusted} Mbit/s");
    }
}

/// RFC 9331 section 4.3: who asks for L4S coexists with Reno where a Classic AQM is the bottleneck.
#[test]
fn behind_a_classic_queue_marks_are_answered_as_losses_are() {
    for (link, most, least) in
        [("queue = { kind = \"codel\" }", 1.5, 2.5), ("queue = { kind = \"pie\" }", 2.5, 4.0)]
    {
        let (checked, trusted) = (call(link, PROBE, true), call(link, "", true));
        assert_eq!(found(&checked), ("classic", 0, 1), "{link}");
        let (beside, before) = (rate(&checked, "tcp"), rate(&trusted, "tcp"));
        assert!(
            before < most && (least..9.0).contains(&beside),
            "{link}: TCP has {beside}, and {before} Mbit/s"
        );
        assert!(rate(&checked, "f") > 1.5, "{link}: {} Mbit/s", rate(&checked, "f"));
    }
}
