//! Packets neither vanish nor multiply: sent = arrived + dropped + lost + under way, exactly.

use crate::world::{assert_near, column, count, flow, link, loaded, run, run_at, simulated};
use paceline_metrics::LinkSummary;
use paceline_scenario::Loader;
use paceline_sim::Pace;
use paceline_units::TimeDelta;
use proptest::prelude::*;

/// A flow of a packet per ms over one link.
fn one_flow(duration: &str, link: &str, flow: &str) -> String {
    format!(
        "duration = \"{duration}\"\n[links.l]\ndelay = \"7.5ms\"\n{link}\n[flows.f]\nsource = {{ kind = \"bulk\" }}\n\
         controller = {{ kind = \"fixed\", rate = \"9.696Mbps\" }}\npath = [\"l\"]\n{flow}\n"
    )
}

#[test]
fn an_overflowing_queue_drops_what_it_cannot_hold_and_no_more() {
    // Of every 2 ms one packet is served and another comes too many; the queue fills at once: 10 wait, 1 in service.
    let outcome = run(&one_flow("2s", "rate = \"4.848Mbps\"\nqueue = { packets = 10 }", ""));
    let (flow, link) = (flow(&outcome, "f"), link(&outcome, "l"));
    assert_eq!((flow.packets_sent, link.offered, link.lost), (Some(2000), 2000, 0));
    assert_eq!(link.queue_packets.max, 10);
    // Departures at 2, 4, ... 1998 ms, of which those until 1992 ms have arrived.
    assert_eq!((outcome.summary.packets, flow.packets_received), (Some(996), Some(996)));
    let (under_way, waits_or_in_service) = (999 - 996, 10 + 1);
    assert_eq!(link.dropped, 2000 - 996 - under_way - waits_or_in_service);
    // Packets under way are neither lost nor not.
    let lost = link.dropped as f64;
    assert_near("loss ratio", flow.loss_ratio, lost / (lost + 996.0), 1e-12);
    let dropped: f64 = column(&outcome.links, "link", "l", "dropped").iter().sum();
    // The packet that leaves at 2 s makes room in the last row, but nothing comes any more.
    assert_eq!(dropped, lost);
}

#[test]
fn when_all_is_quiet_everything_sent_has_arrived_or_is_lost() {
    for (link_text, lossy, overflows) in [
        (
            "rate = \"20Mbps\"\nqueue = { packets = 10 }\nloss = { kind = \"bernoulli\", ratio = 0.1 }",
            true,
            false,
        ),
        (
            "rate = \"5Mbps\"\nqueue = { limit = \"20ms\" }\nloss = { kind = \"gilbert-elliott\", p = 0.02, r = 0.3 }",
            true,
            true,
        ),
        (
            "rate = \"5Mbps\"\nqueue = { bytes = \"30kB\" }\nnoise = { kind = \"exponential\", mean = \"3ms\", reorder = true }",
            false,
            true,
        ),
        (
            "rate = \"9Mbps\"\nqueue = { packets = 30 }\ndown = [[\"0.5s\", \"0.7s\"], [\"1s\", \"1.1s\"]]",
            false,
            true,
        ),
        ("rate = { generator = \"mmwave\", scale = 0.005 }\nqueue = { packets = 30 }", false, true),
        ("rate = \"8Mbps\"\nqueue = { kind = \"red\" }", false, true),
        ("rate = \"8Mbps\"\nqueue = { kind = \"codel\" }\ndown = [[\"0.5s\", \"0.7s\"]]", false, true),
        ("rate = \"8Mbps\"\nqueue = { kind = \"fq-codel\", packets = 90 }", false, true),
        (
            "rate = \"8Mbps\"\nqueue = { kind = \"pie\" }\nloss = { kind = \"bernoulli\", ratio = 0.1 }",
            true,
            true,
        ),
        ("rate = \"8Mbps\"\nqueue = { kind = \"dualpi2\" }", false, true),
    ] {
        let outcome = run(&one_flow("9s", link_text, "stop = \"3s\""));
        let (flow, link) = (flow(&outcome, "f"), link(&outcome, "l"));
        assert_eq!(flow.packets_sent, Some(3000));
        assert_eq!((link.lost > 0, link.dropped > 0), (lossy, overflows), "{link_text}: it tests something");
        let missing = link.lost + link.dropped;
        assert_eq!(count(outcome.summary.packets) + missing, count(flow.packets_sent), "{link_text}");
        assert_eq!(link.offered, count(flow.packets_sent), "{link_text}");
        assert_eq!((link.offered - missing, 0), (link.delivered, link.waiting), "{link_text}");
        assert_eq!(flow.loss_ratio, Some(missing as f64 / 3000.0), "{link_text}");
    }
}

#[test]
fn random_losses_are_as_many_as_the_ratio_says() {
    let link_text =
        "rate = \"20Mbps\"\nqueue = { packets = 10 }\nloss = { kind = \"bernoulli\", ratio = 0.1 }";
    let outcome = run(&one_flow("20s", link_text, ""));
    // Four standard deviations of 20,000 draws.
    assert_near("lost", link(&outcome, "l").lost as f64, 2000.0, 4.0 * (20_000.0_f64 * 0.1 * 0.9).sqrt());
}

#[test]
fn packets_lost_on_the_second_hop_are_lost_to_the_flow() {
    let text = "duration = \"3s\"\n\
        [links.a]\nrate = \"20Mbps\"\ndelay = \"2ms\"\nqueue = { packets = 9 }\nloss = { kind = \"bernoulli\", ratio = 0.02 }\n\
        [links.b]\nrate = \"8Mbps\"\ndelay = \"3ms\"\nqueue = { packets = 9 }\n\
        [flows.f]\nsource = { kind = \"bulk\" }\npath = [\"a\", \"b\"]\nstop = \"2s\"\n\
        controller = { kind = \"fixed\", rate = \"9.696Mbps\" }\n";
    let outcome = run(text);
    let (a, b, flow) = (link(&outcome, "a"), link(&outcome, "b"), flow(&outcome, "f"));
    assert!(a.lost > 0 && a.dropped == 0 && b.dropped > 0 && b.lost == 0);
    assert_eq!(
        (a.offered, b.offered),
        (2000, a.delivered),
        "what the first lets through is offered to the second"
    );
    assert_eq!(count(outcome.summary.packets) + a.lost + b.dropped, 2000);
    assert_near("ratio", flow.loss_ratio, (a.lost + b.dropped) as f64 / 2000.0, 1e-12);
}

/// A call of one small packet per frame, a report per packet, and a way back of its own.
fn call(back: &str) -> String {
    format!(
        "duration = \"5s\"\n[links.l]\nrate = \"9.696Mbps\"\ndelay = \"10ms\"\nqueue = {{ packets = 50 }}\n\
         [links.back]\n{back}\nqueue = {{ packets = 50 }}\n[flows.f]\nsource = {{ kind = \"cbr\", rate = \"480kbps\", fps = 50 }}\n\
         controller = {{ kind = \"scream\", profile = \"reference-2022\" }}\npath = [\"l\"]\nreturn_path = [\"back\"]\n\
         feedback = {{ packets = 1 }}\nstop = \"4s\"\n"
    )
}

#[test]
fn reports_take_their_time_over_links_too() {
    // A report on one packet is 24 B: 1 ms at 192 kbit/s.
    let outcome = run(&call("rate = \"192kbps\"\ndelay = \"4ms\""));
    let (flow, back) = (flow(&outcome, "f"), link(&outcome, "back"));
    assert_near("one way", flow.one_way_delay_ms.max, 1.0 + 10.0, 1e-9);
    assert_near("round trip", flow.srtt_ms.mean, 11.0 + 1.0 + 4.0, 1e-3);
    assert_eq!((back.offered, flow.packets_sent), (200, Some(200)));
}

#[test]
fn lost_reports_are_not_lost_packets() {
    let some =
        run(&call("rate = \"192kbps\"\ndelay = \"4ms\"\nloss = { kind = \"bernoulli\", ratio = 0.3 }"));
    let back = link(&some, "back");
    assert!((30..90).contains(&back.lost), "{} of about 200 x 0.3", back.lost);
    assert_eq!(back.offered, count(some.summary.packets), "a report for every packet");
    assert_eq!(flow(&some, "f").loss_ratio, Some(0.0));

    let all = run(&call("rate = \"192kbps\"\ndelay = \"4ms\"\nloss = { kind = \"bernoulli\", ratio = 1 }"));
    let deaf = flow(&all, "f");
    assert_eq!((deaf.loss_ratio, deaf.srtt_ms.mean), (Some(0.0), None));
    assert!(deaf.packets_sent < some.summary.flows["f"].packets_sent, "nothing opens the window again");
}

#[test]
fn a_world_without_any_delay_ends_and_agrees_with_single_steps() {
    let flow = |name: &str, controller: &str, extra: &str| {
        format!(
            "[flows.{name}]\nsource = {{ kind = \"trace-encoder\", generator = \"frames\" }}\npath = [\"l\"]\n\
             return_delay = \"0s\"\ncontroller = {{ kind = \"scream\", profile = \"{controller}\" }}\n{extra}\n"
        )
    };
    let text = format!(
        "duration = \"2s\"\n[links.l]\nrate = \"3Mbps\"\ndelay = \"0s\"\nqueue = {{ limit = \"100ms\" }}\n{}{}",
        flow("one", "rfc8298", "feedback = { packets = 1 }"),
        flow("two", "reference-2022", "start = \"0.5s\"")
    );
    let windowed = run(&text);
    assert_eq!(windowed.summary, run_at(&text, Pace::Stepped).summary);
    let used = link(&windowed, "l").utilisation.expect("time passed");
    assert!((0.2..=1.0).contains(&used), "something happened: {used}");
}

#[test]
fn delays_of_nanoseconds_take_no_longer_than_none() {
    // Windows of 2 ns would be 500 million a second, also beside a world of its own with long ones.
    let a_call = |name: &str, delay: &str| {
        format!(
            "[links.{name}]\nrate = \"3Mbps\"\ndelay = \"{delay}\"\nqueue = {{ limit = \"100ms\" }}\n[flows.{name}]\n\
             source = {{ kind = \"trace-encoder\", generator = \"frames\" }}\npath = [\"{name}\"]\n\
             controller = {{ kind = \"scream\", profile = \"reference-2022\" }}\n"
        )
    };
    let text = "duration = \"20s\"\n".to_string() + &a_call("near", "1ns") + &a_call("far", "30ms");
    let windowed = run(&text);
    assert_eq!(windowed.summary, run_at(&text, Pace::Stepped).summary);
    assert!(windowed.summary.packets > Some(5000));
}

/// Packets that came to a link are delivered, dropped, lost or still there, and the link serves no more than it can.
fn adds_up(link: &LinkSummary) -> bool {
    let gone = (link.delivered + link.dropped + link.lost) as i64;
    link.offered as i64 == gone + link.waiting && link.utilisation.is_none_or(|used| used <= 1.0)
}

/// A link of any queue, slow or fast, with or without losses and failures.
fn any_link() -> impl Strategy<Value = String> {
    let rate = prop_oneof![
        (4u32..30).prop_map(|kbps| format!("\"{kbps}kbps\"")),
        (300u32..20_000).prop_map(|kbps| format!("\"{kbps}kbps\"")),
        (5u32..900, 5u32..9000).prop_map(|(one, other)| {
            format!("{{ steps = [[\"0s\", \"{one}kbps\"], [\"700ms\", \"{other}kbps\"]] }}")
        }),
    ];
    const QUEUES: [&str; 8] = ["droptail", "red", "codel", "fq-codel", "pie", "dualpi2", "xcp", "rcp"];
    let more = prop_oneof![
        2 => Just(String::new()),
        1 => (0.0f64..0.5).prop_map(|ratio| format!("loss = {{ kind = \"bernoulli\", ratio = {ratio:.3} }}")),
        1 => (0u32..1500, 1u32..2000).prop_map(|(from, span)| {
            format!("down = [[\"{from}ms\", \"{}ms\"]]", from + span)
        }),
    ];
    (rate, prop::sample::select(&QUEUES[..]), 1u32..40, more).prop_map(|(rate, kind, packets, more)| {
        format!(
            "rate = {rate}\ndelay = \"5ms\"\nqueue = {{ kind = \"{kind}\", packets = {packets} }}\n{more}\n"
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_link_adds_up_in_any_window(
        links in (any_link(), any_link()), kbps in (20u32..2000, 20u32..2000),
        warmup in prop_oneof![Just(0u32), 1u32..1500], length in 1u32..1500, seed in 0u64..1000,
    ) {
        let text = format!(
            "duration = \"{}ms\"\nwarmup = \"{warmup}ms\"\nseed = {seed}\n[links.a]\n{}[links.b]\n{}\
             [flows.f]\nsource = {{ kind = \"bulk\" }}\ncontroller = {{ kind = \"fixed\", rate = \"{}kbps\" }}\n\
             path = [\"a\", \"b\"]\n[flows.g]\nsource = {{ kind = \"bulk\" }}\npath = [\"b\"]\n\
             controller = {{ kind = \"fixed\", rate = \"{}kbps\" }}\n",
            warmup + length, links.0, links.1, kbps.0, kbps.1,
        );
        let outcome = run(&text);
        for name in ["a", "b"] {
            prop_assert!(adds_up(link(&outcome, name)), "{}\n{:?}", text, link(&outcome, name));
        }
    }
}

#[test]
fn a_link_is_used_no_more_than_wholly_however_slow_it_is() {
    // 1212 B at 8 kbit/s take 1.212 s: the window ends in the first packet's service, or begins in a later one's.
    for (warmup, duration) in [("0s", "1s"), ("1.2s", "1.3s"), ("5s", "5.1s"), ("3.636s", "9s")] {
        let text = one_flow(duration, "rate = \"8kbps\"\nqueue = { packets = 10 }", "");
        let outcome = run(&format!("warmup = \"{warmup}\"\n{text}"));
        let link = link(&outcome, "l");
        assert!(adds_up(link), "{link:?}");
        assert_near("it was never idle", link.utilisation, 1.0, 1e-12);
    }
}

/// Each flow that had a second or more and of which nothing arrived is said, with a link that takes no packet in that time.
#[test]
fn a_flow_of_which_nothing_arrives_is_said() {
    for (rate, times, said) in [
        ("20Mbps", "", vec![]),
        (
            "1kbps",
            "",
            vec![
                "flow f: none of 3000 packets arrived in 3.0 s; link l takes 3000 bits in that time, and a packet has 9696",
            ],
        ),
        (
            "1kbps",
            "start = \"1s\"\nstop = \"2500ms\"",
            vec![
                "flow f: none of 1500 packets arrived in 1.5 s; link l takes 1500 bits in that time, and a packet has 9696",
            ],
        ),
        ("1kbps", "start = \"2001ms\"", vec![]),
        ("20Mbps", "stop = \"5ms\"\nstart = \"1ms\"", vec![]),
    ] {
        let text = one_flow("3s", &format!("rate = \"{rate}\"\nqueue = {{ packets = 10 }}"), times);
        let loaded = loaded(&text, &[], &Loader::default());
        let outcome = simulated(&loaded, Pace::Windowed, TimeDelta::from_secs(1));
        assert_eq!(loaded.nothing_arrived(&outcome.summary), said, "{text}");
    }
}

/// A camera at twice the link's rate, whose send queue is cut by age in the middle of frames; the link loses nothing. After a pause that
/// empties it half a second of frames, 13, may be under way.
#[test]
fn each_frame_has_one_outcome() {
    for flow_keys in [
        "controller = \"scream\"\nrtp = { discard_age = \"100ms\" }",
        "controller = \"ccid2\"\ndccp = { discard_age = \"150ms\" }",
        "controller = \"ccid3\"\ndccp = { discard_age = \"150ms\" }",
        "transport = \"sctp\"\nsctp = { lifetime = \"150ms\" }",
    ] {
        let outcome = run(&format!(
            "duration = \"60s\"\n[links.l]\nrate = \"500kbps\"\ndelay = \"20ms\"\nqueue = {{ packets = 10000 }}\n[flows.f]\n\
             path = [\"l\"]\npause = [[\"20s\", \"59500ms\"]]\nsource = {{ kind = \"cbr\", rate = \"1Mbps\", fps = 25, adaptive = false }}\n{flow_keys}\n"
        ));
        let frames = &flow(&outcome, "f").frames;
        let [captured, displayed] = [count(frames.captured), count(frames.displayed)];
        let [incomplete, discarded] = [count(frames.incomplete), count(frames.discarded)];
        println!(
            "{flow_keys}: {captured} captured, {displayed} displayed, {incomplete} incomplete, {discarded} discarded"
        );
        let ended = displayed + incomplete + discarded;
        assert!((ended..=ended + 13).contains(&captured), "{flow_keys}: {frames:?}");
    }
}
