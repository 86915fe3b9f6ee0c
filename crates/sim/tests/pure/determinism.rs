//! The same seed gives the same bits, and what has nothing to do with a flow changes none of its bits.

use crate::world::{column, flow, link, run};
use paceline_sim::Outcome;

const VIDEO: &str = "controller = { kind = \"scream\", profile = \"reference-2022\" }\nfeedback = { packets = 1 }\n\
    source = { kind = \"trace-encoder\", generator = \"frames\" }\necn = \"l4s\"\nrecord = true\n";

/// A lossy, noisy, marking link of 8 Mbit/s.
fn a_link(name: &str) -> String {
    format!(
        "[links.{name}]\nrate = \"8Mbps\"\ndelay = \"12ms\"\nqueue = {{ limit = \"150ms\" }}\n\
         loss = {{ kind = \"gilbert-elliott\", p = 0.002, r = 0.5 }}\nmark = {{ kind = \"ramp\", low = \"2ms\", high = \"10ms\" }}\n\
         noise = {{ kind = \"exponential\", mean = \"1ms\", reorder = true }}\n"
    )
}

fn a_flow(name: &str, link: &str) -> String {
    format!("[flows.{name}]\n{VIDEO}path = [\"{link}\"]\n")
}

fn two_calls(seed: u64) -> String {
    let head = format!("duration = \"6s\"\nseed = {seed}\nname = \"calls\"\n");
    head + &a_link("l") + &a_flow("one", "l") + &a_flow("two", "l")
}

fn bits(outcome: &Outcome) -> String {
    format!("{:?}{:?}{:?}", outcome.summary, outcome.flows, outcome.links)
}

#[test]
fn a_seed_says_everything() {
    let first = run(&two_calls(7));
    assert!(bits(&first) == bits(&run(&two_calls(7))), "the same seed, other bits");
    let other = run(&two_calls(8));
    assert!(bits(&first) != bits(&other), "another seed, the same bits");
    assert_ne!(link(&first, "l").lost, 0);
    assert_ne!(flow(&first, "one").queue_delay_ms, flow(&other, "one").queue_delay_ms);
}

#[test]
fn every_link_draws_numbers_of_its_own_and_of_the_seed() {
    // Without reaction, and with a source that draws nothing: only the links' own draws differ.
    let a_flow = |name: &str, link: &str| {
        format!(
            "[flows.{name}]\nsource = {{ kind = \"bulk\" }}\ncontroller = {{ kind = \"fixed\", rate = \"4Mbps\" }}\n\
             path = [\"{link}\"]\n"
        )
    };
    let both = a_link("l") + &a_link("m") + &a_flow("one", "l") + &a_flow("two", "m");
    let without =
        |what: &str| both.lines().filter(|line| !line.starts_with(what)).collect::<Vec<_>>().join("\n");
    let (losses, noise) = (without("noise"), without("loss"));
    let draws = |seed: u64| {
        let head = format!("duration = \"3s\"\nseed = {seed}\n");
        let (lossy, noisy) = (run(&format!("{head}{losses}")), run(&format!("{head}{noise}")));
        ["one", "two"].map(|name| {
            (column(&lossy.flows, "flow", name, "loss_ratio"), flow(&noisy, name).delay_noise_ms.mean)
        })
    };
    let ([one, two], [other, another]) = (draws(1), draws(2));
    for (some, others) in [(&one, &two), (&one, &other), (&two, &another)] {
        assert!(some.0 != others.0, "the same losses");
        assert!(some.1 != others.1, "the same noise");
    }
}

/// All that is said of one flow.
fn said_of(outcome: &Outcome, name: &str) -> String {
    let numbers = outcome.flows.columns.iter().map(|column| column.name.as_str());
    let columns: Vec<_> = numbers
        .filter(|name| outcome.flows.float(name).is_some())
        .map(|number| column(&outcome.flows, "flow", name, number))
        .collect();
    format!("{:?}{columns:?}", flow(outcome, name))
}

#[test]
fn a_flow_elsewhere_changes_nothing() {
    let head = "duration = \"6s\"\nseed = 3\n";
    let mine = a_link("l") + &a_flow("one", "l") + &a_flow("two", "l");
    let alone = run(&format!("{head}{mine}"));
    let others = a_link("m") + &a_flow("three", "m");
    for text in [format!("{head}{mine}{others}"), format!("{head}{others}{mine}")] {
        let together = run(&text);
        for name in ["one", "two"] {
            assert_eq!(said_of(&alone, name), said_of(&together, name));
        }
        assert_eq!(link(&alone, "l"), link(&together, "l"));
        assert!(flow(&together, "three").packets_received > Some(0));
    }
}

#[test]
fn a_link_that_nobody_uses_changes_nothing() {
    let outcome = run(&two_calls(7));
    let unused = run(&(two_calls(7) + &a_link("unused")));
    assert_eq!(said_of(&outcome, "one"), said_of(&unused, "one"));
    assert_eq!((link(&unused, "unused").offered, link(&unused, "unused").utilisation), (0, Some(0.0)));
}

#[test]
fn ties_go_to_the_flow_whose_name_comes_first() {
    // Sent at k ms, packets of the direct flow meet at `b` the ones that have taken 1 + 1 ms over `a`. `early` shares their
    // way from `a` to `b` and comes before both, which must not help them.
    let a_flow = |name: &str, path: &str, start: &str| {
        format!(
            "[flows.{name}]\nsource = {{ kind = \"bulk\" }}\ncontroller = {{ kind = \"fixed\", rate = \"9.696Mbps\" }}\n\
             path = {path}\nstart = \"{start}\"\nreturn_delay = \"99ms\"\n"
        )
    };
    let a_link = |name: &str, rate: &str| {
        format!("[links.{name}]\nrate = \"{rate}\"\ndelay = \"1ms\"\nqueue = {{ packets = 99 }}\n")
    };
    let links = a_link("a", "9.696Mbps") + &a_link("b", "19.392Mbps");
    let early = a_flow("early", "[\"a\", \"b\"]", "799ms");
    let waits = |direct: &str, over_a: &str, written: [usize; 2]| {
        let flows = [a_flow(direct, "[\"b\"]", "0s"), a_flow(over_a, "[\"a\", \"b\"]", "0s")];
        let [first, second] = written.map(|place| flows[place].as_str());
        let outcome = run(&format!("duration = \"0.8s\"\n{links}{early}{first}{second}"));
        [direct, over_a].map(|name| flow(&outcome, name).queue_delay_ms.p50.expect("packets arrived"))
    };
    for written in [[0, 1], [1, 0]] {
        let [direct, over_a] = waits("one", "two", written);
        assert!(direct == 0.0 && (0.49..0.51).contains(&over_a), "{direct} ms, {over_a} ms");
        let [direct, over_a] = waits("two", "one", written);
        assert!((0.49..0.51).contains(&direct) && over_a == 0.0, "{direct} ms, {over_a} ms");
    }
}
