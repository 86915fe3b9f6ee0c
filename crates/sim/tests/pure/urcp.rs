//! URCP's profiles beside each other, on links that none of their parameters was chosen on: where what was learned is right
//! `adaptive` must not lose, and where a link changes it must win.

use crate::world::{column, flow, run};

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
#[ignore = "long: make test-all"]
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

/// A camera over a link; rates and queue delays of each second.
fn camera(profile: &str, more: &str, seconds: u32, link: &str) -> (Vec<f64>, Vec<f64>) {
    let outcome = run(&format!(
        "duration = \"{seconds}s\"\nsample = \"1s\"\n[links.l]\ndelay = \"25ms\"\nqueue = {{ limit = \"300ms\" }}\n{link}\n\
         [flows.f]\nsource = {{ kind = \"trace-encoder\", generator = \"frames\" }}\npath = [\"l\"]\n\
         controller = {{ kind = \"urcp\", profile = \"{profile}\"{more} }}\n"
    ));
    let rows = |name| column(&outcome.flows, "flow", "f", name);
    (rows("throughput_mbps"), rows("queue_delay_ms"))
}

fn mean(rows: &[f64], seconds: std::ops::Range<usize>) -> f64 {
    let count = seconds.len() as f64;
    rows[seconds].iter().sum::<f64>() / count
}

const PROFILES: [&str; 2] = ["paper", "adaptive"];

/// Frames that grow in slow start have packets that grow, and take longer over the link: that is no queue.
#[test]
fn few_frames_a_second_are_no_queue() {
    for profile in PROFILES {
        for (fps, rate) in [(5, 500), (5, 2000), (10, 500), (30, 2000)] {
            let outcome = run(&format!(
                "duration = \"40s\"\nwarmup = \"20s\"\n[links.l]\nrate = \"{rate}kbps\"\ndelay = \"20ms\"\nqueue = {{ limit = \"300ms\" }}\n\
                 [flows.f]\nsource = {{ kind = \"cbr\", rate = \"1Mbps\", adaptive = true, fps = {fps} }}\npath = [\"l\"]\n\
                 controller = {{ kind = \"urcp\", profile = \"{profile}\" }}\n"
            ));
            let rates = column(&outcome.flows, "flow", "f", "throughput_mbps");
            let used = mean(&rates, 200..400) * 1e3 / f64::from(rate);
            assert!(used > 0.85, "{profile}, {fps} fps over {rate} kbit/s: {used:.2} of the link");
        }
    }
}

/// A highest rate below the link's makes no queue, so that slow start goes on: what it measures in a dip is not R_MAX.
#[test]
fn a_dip_does_not_hide_the_capacity_that_was_used_before() {
    let link = "rate = { steps = [[\"0s\", \"10Mbps\"], [\"60s\", \"1Mbps\"], [\"80s\", \"10Mbps\"]] }";
    for profile in PROFILES {
        let (rates, _) = camera(profile, ", rate_max = \"3Mbps\"", 120, link);
        let case = format!("{profile}: {rates:.2?}");
        assert!((2.7..=3.0).contains(&mean(&rates, 40..60)) && mean(&rates, 65..80) > 0.6, "{case}");
        assert!(mean(&rates, 87..95) > 2.6 && mean(&rates, 100..120) > 2.6, "{case}");
    }
}

/// Packets that waited for the end of an outage tell no noise of the path.
#[test]
fn an_outage_leaves_no_queue() {
    for profile in PROFILES {
        let (rates, queues) = camera(profile, "", 150, "rate = \"5Mbps\"\ndown = [[\"60s\", \"72s\"]]");
        let case = format!("{profile}: {:.1?} {:.0?}", &rates[72..90], &queues[72..90]);
        assert!((4.5..=5.0).contains(&mean(&rates, 76..90)) && mean(&queues, 76..150) < 10.0, "{case}");
    }
}

/// The rate that the path carried before a dip is tried again as soon as it is clear.
#[test]
fn adaptive_is_back_ten_seconds_after_a_dip_and_loses_little() {
    for (length, rates_mbps) in [(60, [4, 1, 4]), (30, [4, 1, 4]), (100, [10, 2, 10])] {
        let [before, dip, after] = rates_mbps;
        let (fall, rise) = (length, 2 * length);
        let link = format!(
            "rate = {{ steps = [[\"0s\", \"{before}Mbps\"], [\"{fall}s\", \"{dip}Mbps\"], [\"{rise}s\", \"{after}Mbps\"]] }}"
        );
        let of = |profile| camera(profile, "", 3 * length, &link);
        let ((paper, paper_queue), (adaptive, queue)) = (of("paper"), of("adaptive"));
        let (rise, end) = (rise as usize, 3 * length as usize);
        let case = format!("{before}, {dip}, {after}, {length} s: {adaptive:.2?}, the paper's {paper:.2?}");
        assert!(mean(&adaptive, rise + 10..end) > 0.9 * f64::from(after), "{case}");
        assert!(mean(&adaptive, 0..end) > 0.92 * mean(&paper, 0..end), "{case}");
        let dip = fall as usize + 5..rise;
        assert!(mean(&queue, dip.clone()) <= mean(&paper_queue, dip) + 1.0, "{case}");
    }
}

/// Arrivals of less than half of the packets tell that a given R_MAX is another path's: it costs no time, and is measured.
#[test]
fn an_absurd_r_max_is_forgotten() {
    for profile in PROFILES {
        for r_max in ["100Mbps", "10Gbps", "1000Gbps"] {
            let (rates, queues) = camera(profile, &format!(", r_max = \"{r_max}\""), 40, "rate = \"5Mbps\"");
            let case = format!("{profile}, {r_max}: {rates:.2?} {queues:.0?}");
            assert!((4.2..=5.0).contains(&mean(&rates, 15..40)) && mean(&queues, 15..40) < 10.0, "{case}");
        }
    }
}
