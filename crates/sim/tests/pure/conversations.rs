//! Connections by vectors, against arithmetic.
//!
//! A packet of 1500 B takes 0.1 ms at 120 Mbit/s, one of 40 B 8/3 us. The path has a round trip of 20 ms, the connections
//! have 100 ms: packets wait 40 ms at each end.

use crate::world::{assert_near, column, flow, link, loaded, simulated};
use paceline_media::ConnectionVectors;
use paceline_media::vectors::{WebParams, web_vectors};
use paceline_metrics::TransferSummary;
use paceline_scenario::Loader;
use paceline_sim::{Outcome, Pace};
use paceline_units::{Bitrate, Bytes, TimeDelta};
use std::path::Path;

/// Error of a nanosecond and of a histogram's exact largest value, in milliseconds.
const EXACT: f64 = 1e-5;
const A_SYN: f64 = 40.0 * 8.0 / 120e3;
/// 40 kB are 27 full segments and one of 580 B: 10 of them, then 18 that follow each other on the link.
const TWO_ROUNDS: f64 = 200.0 + 0.1 + 17.0 * 0.1 + THE_LAST;
const THE_LAST: f64 = (580.0 + 40.0) * 8.0 / 120e3;

fn transfers(outcome: &Outcome) -> TransferSummary {
    flow(outcome, "f").transfers.expect("data units")
}

/// Runs the connections of `vectors` over an empty link, every packet acknowledged.
fn run(name: &str, vectors: &str, source: &str, rest: &str) -> Outcome {
    let text = "duration = \"2s\"\nsample = \"1ms\"\n[links.l]\nrate = \"120Mbps\"\ndelay = \"10ms\"\n\
                queue = { packets = 100000 }\n";
    run_at(Pace::Windowed, name, vectors, text, source, rest)
}

fn run_at(pace: Pace, name: &str, vectors: &str, world: &str, source: &str, rest: &str) -> Outcome {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = format!("{name}.cvec");
    std::fs::write(folder.join(&file), vectors).expect("a folder for tests");
    let text = format!(
        "{world}[flows.f]\ntransport = \"tcp\"\ncontroller = \"sack\"\npath = [\"l\"]\n\
         source = {{ kind = \"tmix\", file = \"{file}\", {source} }}\n{rest}\n\
         tcp.ack_every = 1\n"
    );
    simulated(&loaded(&text, &[], &Loader::new(folder, Vec::new())), pace, TimeDelta::from_secs(1))
}

/// The milliseconds in which the flow's end sends data, where the millisecond before has none.
fn begins(outcome: &Outcome) -> Vec<usize> {
    let rates = column(&outcome.flows, "flow", "f", "send_rate_mbps");
    let sends = |at: usize| rates[at] > 0.0;
    (0..rates.len()).filter(|&at| sends(at) && (at == 0 || !sends(at - 1))).collect()
}

const ONE: &str = "SEQ 0 1 0 1\nw 1000000 1000000\nr 100000\nl 0 0\n> 350\nt 51257\n< 40000\n";
/// SYN 50 ms, SYN-ACK 50 ms and its serialisation, request 50 ms, wait; then 40 ms to the link.
const FIRST: f64 = 150.0 + A_SYN + 51.257 + 40.0;

#[test]
fn a_response_takes_its_round_trips_behind_the_request() {
    let outcome = run("one", ONE, "", "");
    let found = transfers(&outcome);
    assert_eq!((found.begun, found.completed, found.bytes), (1, 1, 40_000));
    assert_near("from handing over to acknowledgement", found.completion_time_ms.max, TWO_ROUNDS, EXACT);
    assert_eq!(flow(&outcome, "f").packets_received, Some(28));
    // And a SYN-ACK and the acknowledgement of the request.
    assert_eq!(link(&outcome, "l").offered, 30);
    // One millisecond and 100.1 ms later the second round; the first lasts until 1 ms.
    assert_eq!(begins(&outcome), [FIRST as usize, (FIRST + 100.1) as usize]);
}

#[test]
fn the_window_of_who_receives_limits_a_response() {
    // Ten segments of 1460 B, and what is left over holds none.
    let ten = ONE.replace("w 1000000 1000000", "w 15000 500");
    let found = transfers(&run("window", &ten, "", ""));
    let three_rounds = 2.0 * 100.1 + 7.0 * 0.1 + THE_LAST + 100.0;
    assert_near("10, 10 and 8 segments", found.completion_time_ms.max, three_rounds, EXACT);
    // A window of less than a segment lets one go.
    let small = ONE.replace("w 1000000 1000000", "w 0 0").replace("< 40000", "< 2920");
    let found = transfers(&run("small", &small, "", ""));
    assert_near("one segment a round", found.completion_time_ms.max, 2.0 * 100.1, EXACT);
    // `max_window` holds too: with this one the second round has 20 segments still.
    let found = transfers(&run("both", ONE, "", "tcp.max_window = \"15kB\"\n").clone());
    assert_near("the smaller one", found.completion_time_ms.max, three_rounds, EXACT);
}

#[test]
fn segments_are_no_larger_than_the_vector_says() {
    // 7 segments of 536 B, 576 B on the link, and nothing of `A` in the request.
    let small = "S 0 1 0 1\nm 20 536\nw 1000000 1000000\nr 100000\nI 0 0 100\nA 0 0 3752\n";
    let outcome = run("segments", small, "", "");
    assert_eq!(flow(&outcome, "f").packets_received, Some(7));
    // The acknowledgements of the request's 5 segments go first.
    let expected = 5.0 * A_SYN + 7.0 * 576.0 * 8.0 / 120e3 + 100.0;
    assert_near("one round", transfers(&outcome).completion_time_ms.max, expected, EXACT);
    assert_eq!(link(&outcome, "l").offered, 7 + 1 + 5);
}

#[test]
fn the_round_trip_is_the_vectors_or_the_paths() {
    let rounds = |rtt: f64| TWO_ROUNDS - 200.0 + 2.0 * rtt;
    for (rtt, expected) in [("whole", 100.0), ("added", 120.0), ("path", 20.0)] {
        let outcome = run(rtt, ONE, &format!("rtt = \"{rtt}\""), "");
        assert_near(rtt, transfers(&outcome).completion_time_ms.max, rounds(expected), EXACT);
    }
    // No connection is faster than the path.
    let near = ONE.replace("r 100000", "r 1000");
    assert_near("near", transfers(&run("near", &near, "", "")).completion_time_ms.max, rounds(20.0), EXACT);
}

#[test]
fn a_request_follows_the_response_after_its_wait() {
    let two =
        "S 0 2 0 1\nw 1000000 1000000\nr 100000\nI 0 0 350\nA 0 51257 1460\nI 0 200000 350\nA 0 10000 1460\n";
    let outcome = run("two", two, "", "");
    assert_eq!(transfers(&outcome).completed, 2);
    // The response needs 50.1 ms, the request 50 ms.
    let second = FIRST + 50.1 + 200.0 + 50.0 + 10.0;
    assert_eq!(begins(&outcome), [FIRST as usize, second as usize]);
    // Nothing waits for the handshake without one.
    let outcome = run("bare", two, "", "tcp.handshake = false\n");
    let first = 50.0 + 51.257 + 40.0;
    assert_eq!(begins(&outcome), [first as usize, (first + second - FIRST) as usize]);
}

#[test]
fn sides_of_a_concurrent_connection_send_by_their_own_clocks() {
    let text = "CONC 100500 1 3 0 1\nw 1000000 1000000\nr 100000\nc> 222\nc< 100\nt< 30000\nc< 100\nt< 400000\nc< 100\n";
    // The acceptor is connected one and a half round trips after the beginning; then its packets wait at its end.
    for (rtt, round_trip, wait) in [("whole", 100.0, 40.0), ("added", 120.0, 50.0), ("path", 20.0, 0.0)] {
        let outcome = run(&format!("concurrent-{rtt}"), text, &format!("rtt = \"{rtt}\""), "");
        assert_eq!((transfers(&outcome).completed, transfers(&outcome).bytes), (3, 300));
        let first = 100.5 + 1.5 * round_trip + wait;
        assert_eq!(begins(&outcome), [first, first + 30.0, first + 430.0].map(|at| at as usize), "{rtt}");
    }
}

#[test]
fn the_flow_may_carry_what_initiators_send() {
    let upload = "S 0 1 0 1\nw 1000000 1000000\nr 100000\nI 0 0 40000\nA 0 51257 350\n";
    let outcome = run("upload", upload, "sending = \"initiator\"", "");
    let found = transfers(&outcome);
    assert_eq!((found.completed, found.bytes), (1, 40_000));
    let with_handshake = 100.0 + A_SYN + TWO_ROUNDS;
    assert_near(
        "the first unit waits for the handshake",
        found.completion_time_ms.max,
        with_handshake,
        EXACT,
    );
    // The SYN takes the path, the SYN-ACK comes back: then 40 ms to the link.
    assert_eq!(begins(&outcome)[0], (100.0 + A_SYN + 40.0) as usize);
    // Of the other way only the request is seen.
    let down = run("download", upload, "", "");
    assert_eq!((transfers(&down).completed, transfers(&down).bytes), (1, 350));
}

#[test]
fn times_of_the_file_are_moved_and_scaled() {
    let at = |micros: u32| ONE.replace("SEQ 0 ", &format!("SEQ {micros} "));
    let text = format!("{}{}{}", at(300_000), at(1_000_000), at(1_400_000));
    let whole = |begin: f64| [begin + FIRST, begin + FIRST + 100.1].map(|at| at as usize);
    let outcome = run("moved", &text, "offset = \"900ms\"", "");
    assert_eq!(begins(&outcome), [whole(100.0), whole(500.0)].concat());
    let outcome = run("scaled", &text, "offset = \"300ms\", scale = 0.5", "");
    assert_eq!(begins(&outcome), [whole(0.0), whole(350.0), whole(550.0)].concat());
    let outcome = run("later", &text, "offset = \"300ms\"", "start = \"200ms\"");
    assert_eq!(begins(&outcome), [whole(200.0), whole(900.0), whole(1300.0)].concat());
}

#[test]
fn a_flow_that_stops_begins_nothing_and_says_nothing_new() {
    let at = |micros: u32| ONE.replace("SEQ 0 ", &format!("SEQ {micros} "));
    let text = format!("{}{}{}", at(0), at(200_000), at(400_000));
    let outcome = run("stopped", &text, "", "stop = \"300ms\"");
    // The second one has been asked and does not answer; of the first one the second round is not sent.
    assert_eq!((transfers(&outcome).begun, begins(&outcome)), (1, vec![FIRST as usize]));
    // In a pause none begins, and who would answer in it does so behind it.
    let outcome = run("paused", &text, "", "pause = [[\"190ms\", \"350.5ms\"]]");
    assert_eq!(transfers(&outcome).begun, 2);
    assert_eq!(begins(&outcome)[0], 390);
}

/// The outcome of drawn pages that lose packets both ways, in front of the links and there, at a pace.
fn lossy(pace: Pace, vectors: &ConnectionVectors) -> Outcome {
    let link = "rate = \"10Mbps\"\ndelay = \"20ms\"\nqueue = { packets = 30 }\n\
                loss = { kind = \"bernoulli\", ratio = 0.02 }\n";
    let world = format!("duration = \"400s\"\nsample = \"1s\"\n[links.l]\n{link}[links.back]\n{link}");
    let text = vectors.to_text().replace("l 0.000000 0.000000", "l 0.01 0.01");
    let source = "loss = \"vector\"";
    run_at(pace, &format!("lossy-{pace:?}"), &text, &world, source, "return_path = [\"back\"]")
}

#[test]
fn every_byte_arrives_once_whatever_is_lost_at_any_pace() {
    let params = WebParams { load: Bitrate::from_mbps(6), ..WebParams::default() };
    let vectors = web_vectors(1, TimeDelta::from_secs(40), &params).expect("usual");
    let [_, payload] = vectors.payload().map(Bytes::as_u64);
    let outcome = lossy(Pace::Windowed, &vectors);
    let (found, link) = (transfers(&outcome), link(&outcome, "l"));
    assert!(link.dropped > 100 && link.lost > 100, "{link:?}");
    assert_eq!((found.begun, found.completed), (vectors.data_units() / 2, vectors.data_units() / 2));
    assert_eq!(found.bytes, payload);
    let received = flow(&outcome, "f").goodput_mbps.expect("delivered") * 400e6 / 8.0;
    assert_near("payload that was used", received, payload as f64, 0.5);
    let same = lossy(Pace::Stepped, &vectors);
    assert_eq!(format!("{:?}", outcome.summary.flows), format!("{:?}", same.summary.flows));
}

#[test]
fn loss_ratios_hold_where_they_are_asked_for() {
    // Of 2000 packets, each alone in its connection and not sent again in time: within four deviations.
    let each =
        |loss: &str| format!("S 0 1 0 1\nw 65535 65535\nr 100000\nl {loss}\nA 0 0 1000\n").repeat(2000);
    let offered = |loss: &str, source: &str| {
        let rest = "tcp.handshake = false\ntcp.initial_rto = \"10s\"";
        link(&run("ratios", &each(loss), source, rest), "l").offered
    };
    assert_eq!(offered("0 0.3", ""), 2000);
    let kept = offered("0 0.3", "loss = \"vector\"");
    assert!((1318..1482).contains(&kept), "{kept}");
    assert_eq!(offered("0 0.3", "loss = \"vector\""), kept);
    assert_eq!(offered("0 1", "loss = \"vector\""), 0);
    assert_eq!(offered("1 0", "loss = \"vector\""), 2000, "the ratio of the other way");
}

#[test]
fn connections_wait_for_a_place_where_all_are_taken() {
    // 40,000 at once, and 32,768 places: each has a round for SYN and SYN-ACK, and one for request and response.
    let each = "S 0 1 0 1\nw 65535 65535\nr 100000\nI 0 0 1\nA 0 0 1\n";
    let outcome = run("many", &each.repeat(40_000), "", "");
    let found = transfers(&outcome);
    assert_eq!((found.begun, found.completed, found.bytes), (40_000, 40_000, 40_000));
}
