//! TFRC and RAP on the dumbbell on which ns-2 was measured: N senders - 1 Gbit/s, 1 ms - 10 Mbit/s, drop-tail - 1 Gbit/s,
//! 1 ms - N receivers; 1000 B on the wire, starts within the first second, 300 s of which the first 30 are left out.

use crate::world::run;
use paceline_units::RandomStream;
use std::fmt::Write;

/// A line of the measurements.
struct Point {
    rtt_ms: u64,
    /// Packets that may wait: one less than ns-2's limit.
    queue: u64,
    flows: u64,
    mean_queue: f64,
    loss_ratio: f64,
}

const fn point(rtt_ms: u64, queue: u64, flows: u64, mean_queue: f64, loss_ratio: f64) -> Point {
    Point { rtt_ms, queue, flows, mean_queue, loss_ratio }
}

const TFRC: [Point; 10] = [
    point(10, 12, 1, 10.057, 0.00228),
    point(10, 12, 2, 10.292, 0.00734),
    point(10, 12, 3, 10.455, 0.01272),
    point(10, 12, 5, 10.420, 0.02250),
    point(10, 12, 8, 10.268, 0.03440),
    point(100, 61, 1, 46.322, 0.00005),
    point(100, 61, 2, 53.535, 0.00020),
    point(100, 61, 3, 55.287, 0.00046),
    point(100, 61, 5, 57.160, 0.00127),
    point(100, 61, 8, 57.767, 0.00321),
];

const RAP: [Point; 10] = [
    point(10, 12, 1, 3.154, 0.04889),
    point(10, 12, 2, 5.909, 0.09743),
    point(10, 12, 3, 7.426, 0.13109),
    point(10, 12, 5, 9.510, 0.15847),
    point(10, 12, 8, 10.731, 0.18765),
    point(100, 61, 1, 3.815, 0.00187),
    point(100, 61, 2, 8.140, 0.00559),
    point(100, 61, 3, 10.733, 0.00978),
    point(100, 61, 5, 14.525, 0.01954),
    point(100, 61, 8, 18.904, 0.03610),
];

fn scenario(controller: &str, point: &Point, seed: u64) -> String {
    let delay = point.rtt_ms / 2 - 2;
    let mut text = format!(
        "name = \"dumbbell\"\nduration = \"300s\"\nwarmup = \"30s\"\nseed = {seed}\nsample = \"1s\"\n\
         [links.bottleneck]\nrate = \"10Mbps\"\ndelay = \"{delay}ms\"\nqueue = {{ kind = \"droptail\", packets = {} }}\n",
        point.queue
    );
    let mut starts = RandomStream::new(seed, "starts");
    for flow in 0..point.flows {
        for side in ["in", "out"] {
            write!(
                text,
                "[links.{side}{flow}]\nrate = \"1Gbps\"\ndelay = \"1ms\"\n\
                 queue = {{ kind = \"droptail\", packets = 1000 }}\n"
            )
            .expect("a string takes all");
        }
        let start = starts.next_u64() % 1_000_000;
        write!(
            text,
            "[flows.f{flow}]\ncontroller = {controller}\nsource = {{ kind = \"bulk\" }}\npacket_size = \"1000B\"\n\
             path = [\"in{flow}\", \"bottleneck\", \"out{flow}\"]\nstart = \"{start}us\"\n"
        )
        .expect("a string takes all");
    }
    text
}

/// Mean queue and loss ratio, over three seeds.
fn measured(controller: &str, point: &Point) -> (f64, f64) {
    let mut sums = (0.0, 0.0);
    for seed in 1..=3 {
        let outcome = run(&scenario(controller, point, seed));
        let link = crate::world::link(&outcome, "bottleneck");
        sums.0 += link.queue_packets.mean.expect("a queue") / 3.0;
        sums.1 += link.dropped as f64 / link.offered as f64 / 3.0;
    }
    sums
}

/// How far two figures are apart, as a part of the expected one.
fn apart(found: f64, expected: f64) -> f64 {
    (found / expected - 1.0).abs()
}

/// Fails unless mean queue and loss ratio are within 10 % of ns-2's.
fn compare(kind: &str, points: &[Point]) {
    for point in points {
        let (queue, loss) = measured(&format!("{{ kind = \"{kind}\", profile = \"ns2\" }}"), point);
        let (rtt, flows) = (point.rtt_ms, point.flows);
        assert!(apart(queue, point.mean_queue) < 0.1, "{kind} {flows} x {rtt} ms: mean queue {queue}");
        assert!(apart(loss, point.loss_ratio) < 0.1, "{kind} {flows} x {rtt} ms: loss ratio {loss}");
    }
}

#[test]
#[ignore = "long: make test-all"]
fn tfrc_is_where_ns_2_is() {
    compare("tfrc", &TFRC);
}

#[test]
#[ignore = "long: make test-all"]
fn rap_is_where_ns_2_is() {
    // One flow at RTT 100 ms falls in step with an exact queue, in ns-2 and here: what is measured there is where it falls.
    let locked = |point: &&Point| point.rtt_ms == 100 && point.flows == 1;
    let points: Vec<Point> = RAP.into_iter().filter(|point| !locked(&point)).collect();
    assert_eq!(points.len(), 9);
    compare("rap", &points);
}

#[test]
fn the_rfc_s_t_rto_is_where_the_profiles_differ_most() {
    // 8 flows at RTT 10 ms: without the floor under t_RTO the equation allows more, and more is lost.
    let point = &TFRC[4];
    let (_, floored) = measured("{ kind = \"tfrc\", profile = \"ns2\" }", point);
    let (_, plain) = measured("{ kind = \"tfrc\", profile = \"ns2\", t_rto_min = \"0s\" }", point);
    assert!((1.5..=2.6).contains(&(plain / floored)), "{floored} with, {plain} without");
}
