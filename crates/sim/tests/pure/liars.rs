//! Receivers that do not comply (RFC 9743 section 7.6): their reports conceal losses and marks, and figures of the run do not.

use crate::world::{flow, run};

/// A call of 30 s over 5 Mbit/s and 50 ms: its part of the link, and of its packets that is lost.
fn call(controller: &str, link: &str, more: &str, feedback: &str) -> (f64, f64) {
    let outcome = run(&format!(
        "duration = \"30s\"\nwarmup = \"10s\"\n\
         [links.l]\nrate = \"5Mbps\"\ndelay = \"25ms\"\nqueue = {{ limit = \"300ms\" }}\n{link}\n\
         [flows.call]\ncontroller = {controller}\npath = [\"l\"]\n{more}\nfeedback = {{ {feedback} }}\n\
         bitrate = {{ min = \"100kbps\", start = \"1Mbps\", max = \"4Mbps\" }}\n\
         source = {{ kind = \"trace-encoder\", generator = \"frames\", fps = 30 }}\n"
    ));
    let call = flow(&outcome, "call");
    (call.throughput_mbps.expect("packets arrived") / 5.0, call.loss_ratio.expect("packets were sent"))
}

const LOSSES: &str = "loss = { kind = \"bernoulli\", ratio = 0.2 }";

/// By reports on packets of both formats, and by a receiver half that counts losses itself.
#[test]
fn a_call_whose_losses_are_concealed_goes_on_as_if_nothing_were_lost() {
    let scream = "{ kind = \"scream\", profile = \"rfc8298\" }";
    for (controller, format) in [(scream, "rfc8888"), ("\"gcc\"", "twcc"), ("\"tfrc\"", "rfc8888")] {
        let format = format!("format = \"{format}\"");
        let (clean, none) = call(controller, "", "", &format);
        let (honest, lost) = call(controller, LOSSES, "", &format);
        let (lying, also_lost) = call(controller, LOSSES, "", &format!("{format}, conceals = \"losses\""));
        assert!(none == 0.0 && lost > 0.15 && also_lost > 0.15, "{controller}: {none}, {lost}, {also_lost}");
        assert!(honest < 0.7 * clean, "{controller}: {honest} of {clean} with losses");
        assert!(
            lying > 0.9 * (1.0 - also_lost) * clean,
            "{controller}: {lying} of {clean} with losses that are concealed"
        );
    }
}

/// An L4S call over a link that marks each packet that waits.
#[test]
fn a_call_whose_marks_are_concealed_takes_more() {
    let link = "mark = { kind = \"step\", at = \"0s\" }";
    let rate = |feedback| call("\"scream-v2\"", link, "ecn = \"l4s\"", feedback).0;
    let (honest, lying) = (rate(""), rate("conceals = \"marks\""));
    assert!(lying > 1.3 * honest, "{lying} of the link, honest {honest}");
    assert_eq!(rate("conceals = \"losses\""), honest, "nothing is lost");
}

/// A transfer of 30 s over 5 Mbit/s and 50 ms: its part of the link.
fn transfer(transport: &str, controller: &str, link: &str, more: &str) -> f64 {
    let outcome = run(&format!(
        "duration = \"30s\"\nwarmup = \"10s\"\n\
         [links.l]\nrate = \"5Mbps\"\ndelay = \"25ms\"\nqueue = {{ limit = \"300ms\" }}\n{link}\n\
         [flows.file]\ntransport = \"{transport}\"\ncontroller = \"{controller}\"\nsource = {{ kind = \"bulk\" }}\n\
         path = [\"l\"]\n{more}\n"
    ));
    flow(&outcome, "file").throughput_mbps.expect("packets arrived") / 5.0
}

/// Loss-based windows take a lossy link as if it were clean.
#[test]
fn a_transfer_whose_losses_are_concealed_fills_a_link_that_loses_a_fifth() {
    for transport in ["tcp", "sctp"] {
        let rate = |conceals| {
            transfer(transport, "newreno", LOSSES, &format!("{transport} = {{ conceals = \"{conceals}\" }}"))
        };
        let (honest, lying) = (rate("nothing"), rate("losses"));
        assert!(
            honest < 0.1 && lying > 0.79,
            "{transport}: {honest} of the link, {lying} with losses that are concealed"
        );
        assert_eq!(rate("all"), lying, "nothing is marked");
    }
}

/// By each way in which a receiver tells marks: it tells of none.
#[test]
fn a_transfer_whose_marks_are_concealed_takes_all() {
    let link = "mark = { kind = \"classic\", at = \"0s\", for = \"0s\" }";
    for (controller, ecn) in [("newreno", "classic"), ("dctcp", "l4s"), ("prague", "l4s")] {
        let rate = |conceals| {
            let more = format!("ecn = \"{ecn}\"\ntcp = {{ conceals = \"{conceals}\" }}");
            transfer("tcp", controller, link, &more)
        };
        let (honest, lying) = (rate("nothing"), rate("marks"));
        assert!(
            honest < 0.9 * lying,
            "{controller}: {honest} of the link, {lying} with marks that are concealed"
        );
        assert!(lying > 0.95, "{controller}: {lying}");
    }
}
