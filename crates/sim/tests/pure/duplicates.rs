//! Packets that arrive twice: every transport keeps its rate, and the figures count what is lost and what came.

use crate::world::{count, flow, link, run};

/// A flow over two links, both of whose ways copy a part of the packets.
fn text(transport: &str, duplicate: &str) -> String {
    format!(
        "duration = \"30s\"\nwarmup = \"5s\"\nseed = 3\n\
         [links.first]\nrate = \"50Mbps\"\ndelay = \"5ms\"\nqueue = {{ packets = 1000 }}\n{duplicate}\n\
         [links.there]\nrate = \"4Mbps\"\ndelay = \"15ms\"\nqueue = {{ limit = \"200ms\" }}\n{duplicate}\n\
         [links.back]\nrate = \"50Mbps\"\ndelay = \"20ms\"\nqueue = {{ packets = 1000 }}\n{duplicate}\n\
         [flows.f]\n{transport}\npath = [\"first\", \"there\"]\nreturn_path = [\"back\"]\n"
    )
}

const MEDIA: &str = "source = { kind = \"trace-encoder\", generator = \"frames\", fps = 50 }";

/// Set after a first look: one of a hundred packets twice on both links, whose copies the second has to carry too, costs less than 8 %.
#[test]
fn every_transport_keeps_its_rate() {
    let media = |controller: &str| format!("transport = \"rtp\"\ncontroller = {controller}\n{MEDIA}");
    let bulk = |transport: &str, controller: &str| {
        format!("transport = \"{transport}\"\ncontroller = \"{controller}\"\nsource = {{ kind = \"bulk\" }}")
    };
    let flows = [
        media("\"scream\""),
        media("\"gcc\""),
        media("\"urcp\""),
        media("\"tfrc\""),
        bulk("tcp", "newreno"),
        bulk("tcp", "cubic"),
        bulk("tcp", "bbr3"),
        bulk("dccp", "ccid2"),
        bulk("dccp", "ccid3"),
        "transport = \"udp\"\nsource = { kind = \"cbr\", rate = \"2Mbps\" }".into(),
    ];
    for transport in &flows {
        for copies in ["duplicate = { ratio = 0.01 }", "duplicate = { ratio = 0.01, delay = \"4ms\" }"] {
            let (with, without) = (run(&text(transport, copies)), run(&text(transport, "")));
            let goodput = |outcome| flow(outcome, "f").goodput_mbps.unwrap_or(0.0);
            let (rate, usual) = (goodput(&with), goodput(&without));
            println!("{:50} {copies:45} {rate:6.3} of {usual:6.3} Mbit/s", transport.replace('\n', " "));
            assert!(usual > 0.5 && (rate / usual - 1.0).abs() < 0.08, "{transport}: {rate} of {usual}");
            let there = link(&with, "there");
            let part = there.duplicated as f64 / there.delivered as f64;
            assert!((0.004..0.018).contains(&part), "{transport}: {part} of the packets");
            assert_eq!(link(&without, "there").duplicated, 0);
        }
    }
}

/// Without losses all arrives: the packets that were sent, and the copies of both links.
#[test]
fn copies_are_counted_once_by_flows_and_links() {
    let datagrams = "transport = \"udp\"\nsource = { kind = \"cbr\", rate = \"1Mbps\" }\nstop = \"25s\"";
    let outcome = run(
        &text(datagrams, "duplicate = { ratio = 0.3, delay = \"3ms\" }").replace("warmup = \"5s\"\n", "")
    );
    let figures = flow(&outcome, "f");
    let (first, there) = (link(&outcome, "first"), link(&outcome, "there"));
    assert_eq!(
        (first.offered, there.offered),
        (count(figures.packets_sent), first.delivered + first.duplicated)
    );
    // The copy of the last packet may come after the flow has ended.
    let received = count(figures.packets_received);
    assert!((there.delivered + there.duplicated).abs_diff(received) <= 4, "{received} and {there:?}");
    assert_eq!(figures.loss_ratio, Some(0.0));
    // A loss model behind: a packet is lost if all of its copies are. Of n copies 0.5^n, n being 1 for 0.7 of the packets and 2 for 0.3.
    let lossy = text(datagrams, "duplicate = { ratio = 0.3 }")
        .replace("[links.there]", "[links.there]\nloss = { kind = \"bernoulli\", ratio = 0.5 }");
    let ratio = flow(&run(&lossy), "f").loss_ratio.unwrap_or(1.0);
    assert!((ratio - (0.7 * 0.5 + 0.3 * 0.25)).abs() < 0.03, "{ratio}");
}

/// With a copy of every packet on each of six links 64 arrive of one, and none twice at once more.
#[test]
fn copies_of_copies_share_what_they_carry() {
    let names: Vec<_> = (0..6).map(|n| format!("l{n}")).collect();
    let links: String = names
        .iter()
        .map(|name| format!("[links.{name}]\nrate = \"1Gbps\"\ndelay = \"1ms\"\nqueue = {{ packets = 9999 }}\nduplicate = {{ ratio = 1, delay = \"100us\" }}\n"))
        .collect();
    let path = format!("[\"{}\"]", names.join("\", \""));
    for transport in [
        "transport = \"tcp\"\ncontroller = \"newreno\"",
        "transport = \"rtp\"\ncontroller = \"gcc\"",
        "transport = \"dccp\"\ncontroller = \"ccid2\"",
    ] {
        let text = format!(
            "duration = \"3s\"\n{links}[links.back]\nrate = \"1Gbps\"\ndelay = \"1ms\"\nqueue = {{ packets = 9999 }}\nduplicate = {{ ratio = 1 }}\n\
             [flows.f]\n{transport}\nsource = {{ kind = \"cbr\", rate = \"400kbps\", fps = 20 }}\npath = {path}\nreturn_path = [\"back\"]\n"
        );
        let outcome = run(&text);
        let figures = flow(&outcome, "f");
        let copies = count(figures.packets_received) as f64 / count(figures.packets_sent) as f64;
        assert!((55.0..=64.0).contains(&copies), "{transport}: {copies}");
        assert!(
            figures.goodput_mbps.is_some_and(|rate| (0.3..0.45).contains(&rate)),
            "{transport}: {figures:?}"
        );
    }
}
