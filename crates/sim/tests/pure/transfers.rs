//! Bursts of short transfers over TCP, and files that end, against arithmetic.
//!
//! A packet of 1500 B takes 0.1 ms at 120 Mbit/s, and a SYN of 40 B takes 8/3 us.

use crate::world::{assert_near, column, flow, link, run};
use paceline_metrics::TransferSummary;
use paceline_sim::Outcome;

/// Error of a nanosecond and of a histogram's exact largest value, in milliseconds.
const EXACT: f64 = 1e-5;

fn transfers(outcome: &Outcome, name: &str) -> TransferSummary {
    flow(outcome, name).transfers.expect("of files that end")
}

/// One flow over an empty link of 120 Mbit/s with a round trip of 100 ms, every packet acknowledged.
fn over_a_fat_link(duration: &str, source: &str, tcp: &str, rest: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[links.l]\nrate = \"120Mbps\"\ndelay = \"50ms\"\nqueue = {{ packets = 10000 }}\n\
         [flows.f]\ntransport = \"tcp\"\ncontroller = \"sack\"\ntcp = {{ ack_every = 1, {tcp} }}\nsource = {source}\n\
         path = [\"l\"]\n{rest}\n"
    )
}

const ONE_FILE: &str = "{ kind = \"short-transfers\", parallel = 1, size_min = \"40kB\", size_max = \"40kB\", \
                        idle = \"1s\", idle_kind = \"fixed\" }";
const A_SYN: f64 = 40.0 * 8.0 / 120e3;
/// 40 kB are 27 full segments and one of 580 B: 10 of them, then 18 that follow each other on the link.
const TWO_ROUNDS: f64 = 200.0 + 0.1 + 17.0 * 0.1 + THE_LAST;
const THE_LAST: f64 = (580.0 + 40.0) * 8.0 / 120e3;

#[test]
fn a_fetch_takes_its_round_trips_and_its_serialisation() {
    let bulk = "{ kind = \"bulk\", length = \"40kB\" }";
    for source in [ONE_FILE, bulk] {
        for (tcp, expected) in [
            ("handshake = false", TWO_ROUNDS),
            ("", 100.0 + A_SYN + TWO_ROUNDS),
            // 2, 4, 8 and 14 segments, a round trip and a segment apart.
            ("initial_window = 2", 100.0 + A_SYN + 3.0 * 100.1 + 13.0 * 0.1 + THE_LAST + 100.0),
            ("initial_window = 28", 100.0 + A_SYN + 27.0 * 0.1 + THE_LAST + 100.0),
        ] {
            let outcome = run(&over_a_fat_link("1s", source, tcp, ""));
            let found = transfers(&outcome, "f");
            assert_eq!((found.begun, found.completed, found.bytes), (1, 1, 40_000), "{source} {tcp}");
            let times = found.completion_time_ms;
            assert_near(tcp, times.max, expected, EXACT);
            assert_near("the only one is the mean", times.mean, expected, EXACT);
            assert_near("and the median, to 1 %", times.p50, expected, expected / 100.0);
        }
    }
}

#[test]
fn idle_times_lie_between_bursts() {
    // Every 1 s + 301.844 ms one: the eighth begins at 9.113 s and is complete at 9.415 s.
    let outcome = run(&over_a_fat_link("10s", ONE_FILE, "", ""));
    let found = transfers(&outcome, "f");
    assert_eq!((found.begun, found.completed, found.bytes), (8, 8, 320_000));
    assert_eq!(flow(&outcome, "f").packets_received, Some(8 * 28));
    assert_eq!(link(&outcome, "l").offered, 8 * 29, "each with a SYN of its own");
    let each = 100.0 + A_SYN + TWO_ROUNDS;
    assert_near("all alike", found.completion_time_ms.mean, each, EXACT);
    assert_near("to the last", found.completion_time_ms.max, each, EXACT);
    // Off at first: 1 s later, so that the eighth begins after the end.
    let off = ONE_FILE.replace("kind = \"short-transfers\"", "kind = \"short-transfers\", begin = \"off\"");
    let outcome = run(&over_a_fat_link("10s", &off, "", ""));
    assert_eq!(transfers(&outcome, "f").begun, 7);
    assert_eq!(column(&outcome.flows, "flow", "f", "send_rate_mbps")[..20], [0.0; 20]);
}

#[test]
fn what_begins_before_the_window_and_ends_in_it_counts_as_completed() {
    let text = over_a_fat_link("10s", ONE_FILE, "", "");
    let found = transfers(&run(&format!("warmup = \"200ms\"\n{text}")), "f");
    assert_eq!((found.begun, found.completed), (7, 8));
    // The last one begins and does not end.
    let found = transfers(&run(&text.replace("\"10s\"", "\"9.2s\"")), "f");
    assert_eq!((found.begun, found.completed), (8, 7));
}

#[test]
fn flows_without_an_end_have_no_transfers() {
    for source in ["{ kind = \"bulk\" }", "{ kind = \"cbr\", rate = \"1Mbps\" }"] {
        assert_eq!(flow(&run(&over_a_fat_link("1s", source, "", "")), "f").transfers, None);
    }
    // A file that is stopped is not sent whole.
    let bulk = "{ kind = \"bulk\", length = \"40kB\" }";
    let found = transfers(&run(&over_a_fat_link("1s", bulk, "", "stop = \"150ms\"")), "f");
    assert_eq!((found.begun, found.completed, found.bytes), (1, 0, 0));
    assert_eq!(found.completion_time_ms.mean, None);
}

/// RFC 8868's user on a link of 20 Mbit/s.
fn a_user(duration: &str, source: &str, rest: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[links.l]\nrate = \"20Mbps\"\ndelay = \"10ms\"\nqueue = {{ limit = \"300ms\" }}\n\
         [flows.web]\ntransport = \"tcp\"\ncontroller = \"cubic\"\nsource = {{ kind = \"short-transfers\"{source} }}\n\
         path = [\"l\"]\n{rest}\n"
    )
}

#[test]
fn sizes_and_idle_times_have_the_means_of_the_text() {
    // Of 1200 idle times with a mean of 10 s the mean is within 9 % (three deviations), of 36,000 sizes within 0.3 %.
    let outcome = run(&format!("sample = \"10s\"\n{}", a_user("12600s", "", "")));
    let found = transfers(&outcome, "web");
    let bursts = found.begun as f64 / 30.0;
    let burst_s = found.completion_time_ms.max.expect("completed") / 1e3;
    let idle = 12_600.0 / bursts;
    assert!(
        (9.1..11.0 + burst_s).contains(&idle),
        "{idle} s from burst to burst, of which at most {burst_s} s busy"
    );
    assert_eq!(found.begun % 30, 0);
    assert!(found.begun - found.completed <= 30, "{found:?}");
    assert_near("size", found.bytes as f64 / found.completed as f64, 40_000.0, 120.0);
    // 30 x 40 kB and their headers take half a second at 20 Mbit/s.
    assert_near("busy", flow(&outcome, "web").goodput_mbps, found.bytes as f64 * 8.0 / 1e6 / 12_600.0, 0.01);
    let times = found.completion_time_ms;
    assert!(times.p50 < times.p95 && times.p95 < times.p99 && times.p99 <= times.max, "{times:?}");
}

#[test]
fn every_byte_of_a_file_arrives_once_whatever_is_lost() {
    let text = a_user("60s", ", idle = \"500ms\"", "").replace("\"300ms\"", "\"20ms\"");
    let text = text.replace("[flows.web]", "loss = { kind = \"bernoulli\", ratio = 0.03 }\n[flows.web]");
    let outcome = run(&format!("{text}stop = \"50s\"\n"));
    let (web, link) = (flow(&outcome, "web"), link(&outcome, "l"));
    let found = transfers(&outcome, "web");
    assert!(link.dropped > 100 && link.lost > 100 && web.loss_ratio > Some(0.02), "{web:?} {link:?}");
    let bursts = found.begun / 30;
    assert!(bursts > 5 && found.begun - found.completed <= 30, "{found:?}");
    let received = web.goodput_mbps.expect("delivered") * 50e6 / 8.0;
    // Transfers under way at the stop are the only difference.
    let open = (found.begun - found.completed) as f64 * 50_000.0;
    assert!((0.0..=open + 0.5).contains(&(received - found.bytes as f64)), "{received} B, {found:?}");
    // A lost SYN costs a second, lost data less than that in most cases.
    assert!(found.completion_time_ms.max > Some(1_000.0), "{found:?}");
}

#[test]
fn a_seed_says_what_is_fetched_and_nothing_else_does() {
    let said = |text: &str| {
        let outcome = run(text);
        format!("{:?}{:?}", flow(&outcome, "web"), column(&outcome.flows, "flow", "web", "send_rate_mbps"))
    };
    let text = a_user("60s", "", "");
    let first = said(&text);
    assert_eq!(first, said(&text));
    assert_ne!(first, said(&format!("seed = 2\n{text}")));
    let elsewhere = "[links.m]\nrate = \"1Mbps\"\nqueue = { packets = 9 }\n[flows.another]\ntransport = \"tcp\"\n\
        controller = \"cubic\"\nsource = { kind = \"short-transfers\" }\npath = [\"m\"]\n";
    assert_eq!(first, said(&format!("{text}{elsewhere}")));
    // Copies are users of their own.
    let two = run(&format!("{text}count = 2\n"));
    assert_ne!(transfers(&two, "web-1").bytes, transfers(&two, "web-2").bytes);
}

#[test]
fn a_user_that_stops_begins_nothing_and_sends_nothing_new() {
    let outcome = run(&a_user("30s", ", idle = \"100ms\"", "stop = \"0.3s\""));
    let found = transfers(&outcome, "web");
    assert_eq!(found.begun, 30);
    assert!(found.completed < 30, "{found:?}");
    let sent = column(&outcome.flows, "flow", "web", "send_rate_mbps");
    assert!(sent[..6].iter().all(|rate| *rate > 0.0), "{:?}", &sent[..6]);
    assert!(sent[6..].iter().all(|rate| *rate == 0.0), "{:?}", &sent[6..20]);
}

#[test]
fn a_user_that_pauses_goes_on_where_it_was() {
    let without = transfers(&run(&a_user("5s", ", idle = \"100s\"", "")), "web");
    let outcome = run(&a_user("5s", ", idle = \"100s\"", "pause = [[\"0.2s\", \"2s\"]]"));
    let found = transfers(&outcome, "web");
    assert_eq!((found.begun, found.completed, found.bytes), (30, 30, without.bytes), "nothing is forgotten");
    let sent = column(&outcome.flows, "flow", "web", "send_rate_mbps");
    // A sample covers what happens at its time: that of 2 s is the first with something again.
    assert!(sent[..4].iter().all(|rate| *rate > 0.0) && sent[39] > 0.0, "{:?}", &sent[..40]);
    assert!(sent[4..39].iter().all(|rate| *rate == 0.0), "{:?}", &sent[4..39]);
    let (with, without) = (found.completion_time_ms.max, without.completion_time_ms.max);
    let longer = with.zip(without).map(|(with, without)| with - without);
    assert!(
        longer > Some(1_500.0) && longer < Some(1_800.0),
        "{longer:?} ms: the queue serves on in the pause"
    );
    // An idle time that ends in the pause ends with it.
    let outcome =
        run(&a_user("5s", ", idle = \"1s\", idle_kind = \"fixed\"", "pause = [[\"1.2s\", \"3s\"]]"));
    let sent = column(&outcome.flows, "flow", "web", "send_rate_mbps");
    assert!(sent[24..60].iter().all(|rate| *rate == 0.0), "{sent:?}");
    assert!(sent[60..62].iter().any(|rate| *rate > 0.0), "after the handshake: {sent:?}");
}

#[test]
fn every_connection_begins_anew() {
    // A window that a first burst opened far would let the second one go in a single round.
    let outcome = run(&over_a_fat_link("10s", &ONE_FILE.replace("\"40kB\"", "\"2MB\""), "", ""));
    let times = transfers(&outcome, "f").completion_time_ms;
    assert!(transfers(&outcome, "f").completed > 3);
    assert_near("the mean is the largest", times.mean, times.max.unwrap_or(0.0), EXACT);
}
