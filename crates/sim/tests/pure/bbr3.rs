//! Published figures of BBRv3 and its older version, over whole scenarios: shares beside CUBIC by depth of the buffer, the cycle and
//! ProbeRTT, random losses, fairness, short and long round trips, low and high rates.
//!
//! `cargo test -p paceline-sim --test pure -- bbr3:: --nocapture` prints what `docs/rivals.md` shows. Bands were set by this project
//! after a first look (2026-11-25), but for those of version 1's cycle, which the paper gives.

use crate::world::{cells, column, flow, run};
use paceline_sim::Outcome;

const RTT_MS: u32 = 40;

/// A bottleneck and its flows, which begin together and have much to send.
struct Path<'t> {
    mbps: f64,
    rtt_ms: u32,
    /// Queue as a part of bandwidth x round trip; 2 packets at least.
    depth: f64,
    loss: f64,
    seconds: u32,
    more: &'t str,
}

const USUAL: Path<'static> =
    Path { mbps: 50.0, rtt_ms: RTT_MS, depth: 1.0, loss: 0.0, seconds: 70, more: "record = true" };

impl Path<'_> {
    /// The figures from 10 s on, with flows `f0`, `f1`, ...
    fn run(&self, controllers: &[&str]) -> Outcome {
        let Path { mbps, rtt_ms, depth, loss, seconds, more } = self;
        let packets = (mbps * 1e3 / 8.0 * f64::from(*rtt_ms) / 1500.0 * depth).max(2.0) as u64;
        let mut text = format!(
            "duration = \"{seconds}s\"\nwarmup = \"10s\"\nsample = \"10ms\"\nseed = 1\n[links.l]\nrate = \"{mbps}Mbps\"\n\
             delay = \"{}ms\"\nqueue = {{ packets = {packets} }}\nloss = {{ kind = \"bernoulli\", ratio = {loss} }}\n",
            rtt_ms / 2
        );
        for (number, controller) in controllers.iter().enumerate() {
            let named = format!("\"{controller}\"");
            let controller = if controller.starts_with('{') { controller } else { &*named };
            text += &format!(
                "[flows.f{number}]\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\nreturn_delay = \"{}ms\"\n\
                 controller = {controller}\n{more}\n",
                rtt_ms / 2
            );
        }
        run(&text)
    }
}

fn rate(outcome: &Outcome, number: usize) -> f64 {
    flow(outcome, &format!("f{number}")).throughput_mbps.expect("it sent")
}

fn lost(outcome: &Outcome, number: usize) -> f64 {
    100.0 * flow(outcome, &format!("f{number}")).loss_ratio.expect("it sent")
}

#[track_caller]
fn within(what: &str, found: f64, least: f64, most: f64) {
    println!("{what}: {found:.3} ({least} to {most})");
    assert!((least..=most).contains(&found), "{what}: {found:.3}, expected {least} to {most}");
}

/// Times at which a flow enters a phase, s.
fn entries(outcome: &Outcome, phase: f64) -> Vec<f64> {
    let times = column(&outcome.flows, "flow", "f0", "time_s");
    let phases = cells(&outcome.flows, "flow", "f0", "state.phase");
    let enters = |at: &usize| phases[*at] == Some(phase) && phases[at - 1] != Some(phase);
    (1..phases.len()).filter(enters).map(|at| times[at]).collect()
}

/// Version 1 takes nearly all of a shallow buffer and pays with losses; version 3 leaves CUBIC a quarter and more, and loses less.
/// In deep buffers, where CUBIC keeps its queue, both take less than half.
#[test]
fn version_3_yields_more_to_cubic_in_shallow_buffers_than_version_1() {
    // Buffer in BDP; share of the link of either version; losses of either version, %.
    let expected = [
        (0.25, (0.9, 1.0), (0.4, 0.65), (0.8, 3.0), (0.03, 0.4)),
        (1.0, (0.85, 0.98), (0.5, 0.75), (0.1, 0.8), (0.03, 0.4)),
        (4.0, (0.2, 0.45), (0.35, 0.72), (0.0, 0.4), (0.01, 0.4)),
        (16.0, (0.03, 0.3), (0.25, 0.55), (0.0, 0.6), (0.05, 0.8)),
    ];
    for (depth, share_1, share_3, lost_1, lost_3) in expected {
        for (controller, share, losses) in [("bbr", share_1, lost_1), ("bbr3", share_3, lost_3)] {
            let outcome = Path { depth, ..USUAL }.run(&[controller, "cubic"]);
            let name = format!("{controller} beside CUBIC, {depth} BDP");
            within(&format!("{name}, share"), rate(&outcome, 0) / 50.0, share.0, share.1);
            within(&format!("{name}, lost %"), lost(&outcome, 0), losses.0, losses.1);
            within(
                &format!("{name}, lost % of CUBIC"),
                lost(&outcome, 1),
                0.02,
                if controller == "bbr" { 15.0 } else { 1.0 },
            );
        }
    }
}

/// "ProbeBW" and "ProbeRTT" of the draft: a probe each 2 to 3 s and 63 round trips at most, ProbeRTT each 5 s.
#[test]
fn the_cycle_and_probe_rtt_have_their_periods() {
    let outcome = USUAL.run(&["bbr3"]);
    let probes = entries(&outcome, 5.0);
    let gaps: Vec<f64> = probes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    // After ProbeRTT, and after each probe, 2 s to 63 round trips go by; ProbeRTT begins the wait anew.
    within("from probe to probe, s", mean, 2.5, 5.25);
    within("the shortest, s", gaps.iter().copied().fold(f64::MAX, f64::min), 2.2, 3.2);
    let probe_rtt = entries(&outcome, 6.0);
    within("ProbeRTT in 70 s", probe_rtt.len() as f64, 11.0, 14.0);
    for pair in probe_rtt.windows(2) {
        within("from ProbeRTT to ProbeRTT, s", pair[1] - pair[0], 5.1, 5.6);
    }
    for end in &probe_rtt {
        let Some(probe) = probes.iter().find(|probe| *probe > end) else { continue };
        within("from ProbeRTT to the next probe, s", probe - end, 2.2, 3.0);
    }
    let min_rtt = column(&outcome.flows, "flow", "f0", "state.min_rtt");
    within("min_rtt at the end, ms", *min_rtt.last().unwrap(), 40.0, 40.6);
    within("use of the link", rate(&outcome, 0) / 50.0, 0.94, 0.98);
    within("lost %", lost(&outcome, 0), 0.0, 0.0);
}

/// Cardwell et al. 2016: of eight phases, each as long as the least round trip, one goes a quarter faster and the next a quarter slower;
/// when no shorter round trip was seen for 10 s, the window is four packets for 200 ms and a round trip.
#[test]
fn version_1_has_its_cycle_and_its_probe_rtt() {
    let outcome = USUAL.run(&[r#"{ kind = "bbr", profile = "v1" }"#]);
    let times = column(&outcome.flows, "flow", "f0", "time_s");
    let begins = |of: &str, value: f64| -> Vec<f64> {
        let values = cells(&outcome.flows, "flow", "f0", of);
        let enters = |at: &usize| values[*at] == Some(value) && values[at - 1] != Some(value);
        (1..values.len()).filter(enters).map(|at| times[at]).filter(|at| *at > 12.0).collect()
    };
    let probes = begins("state.pacing_gain", 1.25);
    let mut gaps: Vec<f64> = probes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_by(f64::total_cmp);
    // Acknowledgements end a phase a little later than its round trip does, in a queue of some packets.
    within("version 1, from one faster phase to the next, s", gaps[gaps.len() / 2], 7.9 * 0.04, 8.0 * 0.05);
    let rests = begins("state.phase", 3.0);
    within("version 1, ProbeRTT in 58 s", rests.len() as f64, 5.0, 6.0);
    for pair in rests.windows(2) {
        within("version 1, from ProbeRTT to ProbeRTT, s", pair[1] - pair[0], 10.0, 10.6);
    }
    let phases = column(&outcome.flows, "flow", "f0", "state.phase");
    let resting = phases.iter().zip(&times).filter(|(phase, at)| **phase == 3.0 && **at > 12.0).count();
    within("version 1, how long ProbeRTT lasts, s", 0.01 * resting as f64 / rests.len() as f64, 0.2, 0.32);
}

/// BBR's authors: version 2 and 3 bear about 1 % of losses; beyond 2 % a probe counts every flight as too large, and only version 1
/// goes on.
#[test]
fn version_3_bears_a_percent_of_losses_and_not_fifteen() {
    for (controller, loss, least, most) in [
        ("cubic", 0.01, 0.03, 0.12),
        ("bbr", 0.01, 0.95, 1.0),
        ("bbr3", 0.01, 0.6, 0.95),
        ("bbr", 0.15, 0.7, 0.87),
        ("bbr3", 0.15, 0.001, 0.1),
    ] {
        let outcome = Path { loss, ..USUAL }.run(&[controller]);
        within(&format!("{controller} at {loss}, use of the link"), rate(&outcome, 0) / 50.0, least, most);
    }
}

/// Two share evenly, and ten in a quarter of a BDP, with a tenth of version 1's losses.
#[test]
fn version_3_is_fair_to_itself_in_shallow_buffers() {
    for (controller, flows, depth, jain, losses) in [
        ("bbr3", 2, 0.25, (0.93, 1.0), (0.03, 0.5)),
        ("bbr3", 2, 1.0, (0.97, 1.0), (0.03, 0.6)),
        ("bbr", 10, 0.25, (0.9, 1.0), (5.0, 30.0)),
        ("bbr3", 10, 0.25, (0.9, 1.0), (0.5, 3.0)),
        ("bbr3", 10, 1.0, (0.9, 1.0), (0.3, 2.5)),
    ] {
        let outcome = Path { depth, more: "", ..USUAL }.run(&vec![controller; flows]);
        let fairness = outcome.summary.fairness.jain.expect("several flows");
        let name = format!("{flows} flows of {controller}, {depth} BDP");
        within(&format!("{name}, Jain's index"), fairness, jain.0, jain.1);
        within(&format!("{name}, lost % of the first"), lost(&outcome, 0), losses.0, losses.1);
        let sum: f64 = (0..flows).map(|number| rate(&outcome, number)).sum();
        within(&format!("{name}, use of the link"), sum / 50.0, 0.93, 1.0);
    }
}

/// The link is used with a short queue at any round trip, and at 64 kbit/s. At 1 Gbit/s with a tenth of a BDP the first probes lose
/// retransmissions, which the timer finds: that figure waits for RACK-TLP.
#[test]
#[ignore = "long: make test-all"]
fn rates_and_round_trips_far_apart() {
    for (mbps, rtt_ms, depth, use_of, wait) in [
        (100.0, 10, 1.0, (0.94, 0.99), (0.2, 2.0)),
        (100.0, 100, 1.0, (0.92, 0.99), (3.0, 20.0)),
        (1000.0, 40, 0.1, (0.5, 0.95), (0.02, 1.0)),
        (1000.0, 40, 1.0, (0.92, 0.99), (0.5, 8.0)),
    ] {
        let outcome = Path { mbps, rtt_ms, depth, more: "", ..USUAL }.run(&["bbr3"]);
        let name = format!("{mbps} Mbit/s, {rtt_ms} ms, {depth} BDP");
        within(&format!("{name}, use of the link"), rate(&outcome, 0) / mbps, use_of.0, use_of.1);
        let waits = flow(&outcome, "f0").queue_delay_ms.mean.expect("it sent");
        within(&format!("{name}, mean wait, ms"), waits, wait.0, wait.1);
    }
    // Ten packets are more than the BDP of less than one: six are in flight, 188 ms each.
    let outcome = Path { mbps: 0.064, depth: 50.0, more: "", ..USUAL }.run(&["bbr3"]);
    within("64 kbit/s, use of the link", rate(&outcome, 0) / 0.064, 0.98, 1.001);
    within("64 kbit/s, lost %", lost(&outcome, 0), 0.0, 3.0);
    within(
        "64 kbit/s, mean wait, ms",
        flow(&outcome, "f0").queue_delay_ms.mean.expect("it sent"),
        300.0,
        1300.0,
    );
}

/// A call of `docs/rivals.md` beside either version behind drop-tail of 300 ms, from 40 s on.
#[test]
fn a_call_keeps_two_thirds_beside_either_version() {
    for (controller, share, delay) in
        [("bbr", (0.5, 0.8), (180.0, 300.0)), ("bbr3", (0.5, 0.8), (180.0, 300.0))]
    {
        let outcome = run(&format!(
            "duration = \"100s\"\nwarmup = \"40s\"\nseed = 1\n[links.l]\nrate = \"10Mbps\"\ndelay = \"20ms\"\n\
             queue = {{ kind = \"droptail\", limit = \"300ms\" }}\n[flows.f0]\ntransport = \"rtp\"\npath = [\"l\"]\n\
             controller = {{ kind = \"scream\", profile = \"rfc8298\", target_bitrate_max = \"20Mbps\" }}\n\
             source = {{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }}\n\
             [flows.f1]\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\nstart = \"20s\"\ncontroller = \"{controller}\"\n"
        ));
        within(&format!("call beside {controller}, share"), rate(&outcome, 0) / 10.0, share.0, share.1);
        let waits = flow(&outcome, "f0").frame_delay_ms.p95.expect("frames came");
        within(&format!("call beside {controller}, frame delay p95, ms"), waits, delay.0, delay.1);
    }
}
