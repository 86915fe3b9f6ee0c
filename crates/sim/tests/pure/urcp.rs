//! URCP's profiles beside each other, on links that none of their parameters was chosen on: where what was learned is right
//! `adaptive` must not lose, and where a link changes it must win.

use crate::world::{flow, run};

const NOISE: &str = "{ kind = \"lognormal\", mean = \"12ms\", std = \"8ms\", correlation = \"700ms\" }";

/// Rate in Mbit/s and mean queue delay in ms of each flow of a link, as means over seeds.
fn measured(profile: &str, link: &str, late: bool) -> (f64, f64, f64) {
    let flow_of = |name: &str, start: &str| {
        format!(
            "[flows.{name}]\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\nstart = \"{start}\"\n\
             controller = {{ kind = \"urcp\", profile = \"{profile}\" }}\n"
        )
    };
    let (mut rate, mut queue, mut jain) = (0.0, 0.0, 0.0);
    let seeds = [101, 102, 103, 104];
    for seed in seeds {
        let second = if late { flow_of("b", "60s") } else { String::new() };
        let outcome = run(&format!(
            "duration = \"600s\"\nwarmup = \"300s\"\nsample = \"10s\"\nseed = {seed}\n[links.l]\ndelay = \"35ms\"\n{link}\n{}{second}",
            flow_of("a", "0s")
        ));
        let rates: Vec<f64> =
            outcome.summary.flows.values().filter_map(|figures| figures.throughput_mbps).collect();
        let (sum, squares) = rates.iter().fold((0.0, 0.0), |sum, rate| (sum.0 + rate, sum.1 + rate * rate));
        rate += sum;
        jain += sum * sum / (rates.len() as f64 * squares);
        queue += flow(&outcome, "a").queue_delay_ms.mean.unwrap_or(f64::NAN);
    }
    let count = seeds.len() as f64;
    (rate / count, queue / count, jain / count)
}

fn link(rate: &str, noise: &str) -> String {
    format!("rate = {rate}\nqueue = {{ limit = \"700ms\" }}\nnoise = {noise}")
}

#[test]
fn where_nothing_changes_adaptive_loses_little() {
    for (rate, capacity) in [("\"700kbps\"", 0.7), ("\"3Mbps\"", 3.0), ("\"20Mbps\"", 20.0)] {
        let of = |profile| measured(profile, &link(rate, NOISE), false);
        let (paper, adaptive) = (of("paper"), of("adaptive"));
        let case = format!("{rate}: paper {paper:?}, adaptive {adaptive:?}");
        assert!((0.6..=1.0).contains(&(paper.0 / capacity)), "{case}");
        assert!(adaptive.0 > 0.96 * paper.0 && adaptive.0 / capacity > 0.85, "{case}");
        assert!((-6.0..=12.0).contains(&(adaptive.1 - paper.1)), "{case}");
    }
}

#[test]
fn where_the_capacity_changes_adaptive_wins() {
    let of = |profile, rate| measured(profile, &link(rate, NOISE), false);
    let rises = "{ steps = [[\"0s\", \"600kbps\"], [\"100s\", \"1500kbps\"]] }";
    let (paper, adaptive) = (of("paper", rises), of("adaptive", rises));
    assert!(adaptive.0 > 1.2 * paper.0 && adaptive.0 > 1.1, "rise: paper {paper:?}, adaptive {adaptive:?}");
    let falls = "{ steps = [[\"0s\", \"3Mbps\"], [\"100s\", \"1Mbps\"]] }";
    let (paper, adaptive) = (of("paper", falls), of("adaptive", falls));
    let case = format!("fall: paper {paper:?}, adaptive {adaptive:?}");
    assert!(adaptive.1 < 0.5 * paper.1 && adaptive.0 > 0.85 * paper.0, "{case}");
}

#[test]
fn two_flows_share_in_either_profile() {
    let of = |profile| measured(profile, &link("\"2Mbps\"", NOISE), true);
    let (paper, adaptive) = (of("paper"), of("adaptive"));
    let case = format!("paper {paper:?}, adaptive {adaptive:?}");
    // The paper's flow that comes later has learned less, and keeps less.
    assert!(paper.2 > 0.6 && adaptive.2 > 0.85 && adaptive.2 > paper.2, "{case}");
    assert!(adaptive.1 < 20.0 && adaptive.0 > 0.93 * paper.0, "{case}");
}
