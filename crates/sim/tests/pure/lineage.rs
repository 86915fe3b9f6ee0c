//! The laws that differ from Reno in avoidance alone, over paths that lose at random: beside the windows of ns-2.35, and beside what their
//! own equations come to. `docs/known-results.md` has the figures and says how ns-2 was run.

use crate::world::{count, flow, run};
use paceline_units::RandomStream;

/// Packets per round trip that arrive of a flow of 1000 B packets, of which each is lost with probability `p`: over two seeds about `losses`
/// each, at a mean window of about `expected`.
fn window(controller: &str, rtt_ms: u64, p: f64, losses: f64, expected: f64) -> f64 {
    let rtt = rtt_ms as f64 / 1e3;
    let (warm_up, seconds) =
        ((180 * rtt_ms / 100).max(40), (losses / p / expected * rtt).ceil().max(20.0) as u64);
    let one = |seed: u64| {
        let outcome = run(&format!(
            "seed = {seed}\nduration = \"{}s\"\nwarmup = \"{warm_up}s\"\nsample = \"1s\"\n\
             [links.l]\nrate = \"10Gbps\"\ndelay = \"{}ms\"\nqueue = {{ packets = 100000 }}\n\
             loss = {{ kind = \"bernoulli\", ratio = {p} }}\n\
             [flows.f]\ntransport = \"tcp\"\nsource = {{ kind = \"bulk\" }}\npacket_size = \"1000B\"\npath = [\"l\"]\nreturn_delay = \"{}ms\"\n\
             controller = {controller}\ntcp = {{ ack_every = 1, min_rto = \"200ms\" }}\n",
            warm_up + seconds,
            rtt_ms / 2,
            rtt_ms / 2,
        ));
        count(flow(&outcome, "f").packets_received) as f64 / seconds as f64 * rtt
    };
    (one(1) + one(2)) / 2.0
}

/// Fails unless a controller comes to `expected` packets per round trip, to a part of `within`.
#[track_caller]
fn check(name: &str, controller: &str, rtt_ms: u64, p: f64, expected: f64, within: f64) {
    let found = window(controller, rtt_ms, p, 500.0, expected);
    let ratio = found / expected;
    println!("| {name} | {rtt_ms} | {p} | {expected:.1} | {found:.1} | {:+.1} % |", (ratio - 1.0) * 100.0);
    assert!(
        (ratio - 1.0).abs() <= within,
        "{name}, {rtt_ms} ms, p {p}: {found:.1}, expected {expected:.1}, x{ratio:.3}"
    );
}

/// Mean window in packets of a law in continuous time whose growth in a round trip and whose window after a loss are functions of the window,
/// over losses at random.
fn ideal(p: f64, growth: impl Fn(f64) -> f64, left: impl Fn(f64) -> f64) -> f64 {
    let mut random = RandomStream::new(1, "losses");
    let (mut window, mut rounds, mut packets): (f64, f64, f64) = (10.0, 0.0, 0.0);
    for loss in 0..20_000 {
        let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let mut until = -uniform.ln() / p;
        while until > 0.0 {
            // A twentieth of a round trip.
            let step = 0.05;
            window += growth(window) * step;
            until -= window * step;
            if loss >= 200 {
                (rounds, packets) = (rounds + step, packets + window * step);
            }
        }
        window = left(window).max(2.0);
    }
    packets / rounds
}

/// Loss ratios of the measurements.
const LOSSES: [f64; 4] = [3e-4, 1e-3, 3e-3, 1e-2];

/// A law, the controller, and for each round trip in ms the windows at `LOSSES`.
type Measured = (&'static str, &'static str, &'static [(u64, [f64; 4])]);

/// Windows of ns-2.35 in packets per round trip: `Agent/TCP/Linux` with that `select_ca`, timestamps and `Agent/TCPSink/Sack1`, for GAIMD
/// `Agent/TCP/Sack1` with `increase_num_` 0.31 and `decrease_num_` 0.875, for the profile `rfc3649` with `windowOption_` 8; packets of 1000 B,
/// 10 Gbit/s, no queue that matters, an `ErrorModel` in packets with a uniform variable; `ack_` after the first 15 to 120 s over the round trips since, mean of two seeds of about 300 losses each.
const NS2: [Measured; 8] = [
    (
        "htcp, linux",
        "{ kind = \"htcp\", profile = \"linux\" }",
        &[(20, [77.2, 39.8, 23.3, 11.8]), (100, [184.8, 70.3, 31.6, 12.9])],
    ),
    (
        "gaimd",
        "\"gaimd\"",
        &[(20, [88.3, 47.1, 26.6, 14.0]), (100, [88.1, 46.8, 27.1, 13.6]), (300, [88.2, 46.6, 27.1, 13.7])],
    ),
    ("hybla", "\"hybla\"", &[(20, [64.9, 36.8, 22.0, 11.8]), (100, [289.6, 152.8, 86.3, 42.5])]),
    (
        "highspeed, rfc3649",
        "\"highspeed\"",
        &[
            (20, [110.3, 42.4, 22.3, 11.2]),
            (100, [110.4, 42.2, 22.5, 11.2]),
            (300, [109.7, 42.0, 22.4, 11.3]),
        ],
    ),
    (
        "highspeed, linux",
        "{ kind = \"highspeed\", profile = \"linux\" }",
        &[
            (20, [136.9, 55.3, 25.4, 12.8]),
            (100, [136.4, 55.1, 25.4, 12.7]),
            (300, [136.6, 54.9, 25.4, 12.8]),
        ],
    ),
    (
        "veno",
        "\"veno\"",
        &[
            (20, [127.0, 66.2, 38.2, 19.8]),
            (100, [125.6, 65.6, 38.0, 20.1]),
            (300, [125.7, 65.4, 37.6, 19.5]),
        ],
    ),
    (
        "yeah",
        "\"yeah\"",
        &[
            (20, [246.5, 82.8, 46.8, 23.7]),
            (100, [242.8, 81.8, 47.0, 23.7]),
            (300, [243.2, 81.5, 46.7, 23.7]),
        ],
    ),
    // Three seeds of about 1000 losses each.
    (
        "compound, linux",
        "{ kind = \"compound\", profile = \"linux\" }",
        &[
            (20, [171.2, 58.5, 25.3, 12.9]),
            (50, [171.5, 58.2, 25.3, 12.9]),
            (100, [171.3, 58.2, 25.2, 12.8]),
            (300, [171.5, 58.1, 25.0, 12.7]),
        ],
    ),
];

fn beside_ns2(chosen: impl Fn(u64, f64) -> bool) {
    for (name, controller, rows) in NS2 {
        for &(rtt_ms, windows) in rows {
            for (p, expected) in LOSSES.into_iter().zip(windows) {
                if chosen(rtt_ms, p) {
                    check(name, controller, rtt_ms, p, expected, band(name, rtt_ms, p));
                }
            }
        }
    }
}

/// 10 %, for Compound TCP everywhere; for others more where several round trips in ten lose something, and for Hybla at 20 ms, which is Reno there and has Reno's window here: ns-2 is
/// below by up to that much, for causes that were not traced. Over 300 ms Hybla and H-TCP, which lose in most round trips, are further above.
fn band(name: &str, rtt_ms: u64, p: f64) -> f64 {
    match name {
        "compound, linux" => 0.1,
        "htcp, linux" if rtt_ms == 100 && p > 5e-4 => 0.18,
        "hybla" if rtt_ms == 20 => 0.2,
        "yeah" if rtt_ms == 300 => 0.2,
        _ if p > 5e-3 => 0.2,
        _ => 0.1,
    }
}

#[test]
fn windows_at_random_losses_are_those_of_ns2() {
    beside_ns2(|rtt_ms, p| rtt_ms == 100 && p > 2e-3);
}

#[test]
#[ignore = "long: make test-all"]
fn so_they_are_at_other_round_trips_and_fewer_losses_beside_ns2() {
    beside_ns2(|rtt_ms, p| p > 5e-4 && (rtt_ms != 100 || p < 2e-3));
}

#[test]
#[ignore = "two minutes, by hand"]
fn few_losses_beside_ns2() {
    beside_ns2(|_, p| p < 5e-4);
}

/// The model is right where it can be: Reno's 1.31 over the root of p.
#[test]
fn the_equations_of_reno_at_random_losses_are_the_square_root_law() {
    let ratio = ideal(1e-3, |_| 1.0, |window| window / 2.0) / (1.31 / 1e-3f64.sqrt());
    assert!((ratio - 1.0).abs() < 0.03, "x{ratio:.3}");
}

/// RFC 3649 section 5: growth and decrease of a window above 38 packets.
fn highspeed(window: f64) -> (f64, f64) {
    if window <= 38.0 {
        return (1.0, 0.5);
    }
    let b = 0.5 - 0.4 * (window / 38.0).ln() / (83_000.0f64 / 38.0).ln();
    let p = 0.078 / window.powf(1.2);
    ((window * window * p * 2.0 * b / (2.0 - b)).max(1.0), b)
}

fn equations(name: &str, p: f64) -> f64 {
    match name {
        "highspeed" => ideal(p, |w| highspeed(w).0, |w| w * (1.0 - highspeed(w).1)),
        "scalable" => ideal(
            p,
            |w| if w <= 16.0 { 1.0 } else { 0.01 * w },
            |w| if w <= 16.0 { w / 2.0 } else { 0.875 * w },
        ),
        "gaimd" => ideal(p, |_| 0.31, |w| 0.875 * w),
        "sqrt" => ideal(p, |w| 1.0 / w.sqrt(), |w| w - w.sqrt() / 1.5),
        "iiad" => ideal(p, |w| 1.0 / w, |w| w - 1.0 / 1.5),
        "veno" => ideal(p, |_| 1.0, |w| 0.8 * w),
        "compound" => ideal(p, |w| (0.125 * w.powf(0.75)).max(1.0), |w| w / 2.0),
        "cdg, linux" => ideal(p, |_| 1.0, |w| w / 2.0),
        other => panic!("no equations of {other}"),
    }
}

/// The name of the equations, the controller and the round trips.
const BY_EQUATION: [(&str, &str); 7] = [
    ("highspeed", "\"highspeed\""),
    ("scalable", "\"scalable\""),
    ("gaimd", "\"gaimd\""),
    ("sqrt", "\"binomial\""),
    ("veno", "\"veno\""),
    ("compound", "\"compound\""),
    ("cdg, linux", "{ kind = \"cdg\", profile = \"linux\" }"),
];

#[test]
fn windows_at_random_losses_are_those_of_the_equations() {
    for (name, controller) in BY_EQUATION {
        for p in [1e-3, 3e-3] {
            check(name, controller, 100, p, equations(name, p), 0.1);
        }
    }
}

#[test]
#[ignore = "long: make test-all"]
fn so_they_are_by_the_equations_at_other_round_trips() {
    by_equations(&[2e-3]);
}

#[test]
#[ignore = "two minutes, by hand"]
fn few_losses_by_the_equations() {
    by_equations(&[2e-4, 5e-4]);
}

fn by_equations(losses: &[f64]) {
    for (name, controller) in BY_EQUATION {
        for rtt_ms in [20, 50, 300] {
            for &p in losses {
                check(name, controller, rtt_ms, p, equations(name, p), 0.1);
            }
        }
    }
}
