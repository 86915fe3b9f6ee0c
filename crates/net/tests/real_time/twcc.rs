//! `feedback.format = "twcc"` over sockets. `pure/twcc.rs` has it simulated.

use crate::call::formats::scenario;
use crate::call::{flow, loaded};
use crate::ends::{self, Ends};
use crate::lateness::judge_on_time;
use paceline_scenario::Loaded;

#[test]
fn over_sockets_every_packet_is_numbered_and_reported_on() {
    for streams in [1, 2] {
        let loaded = loaded(&scenario("twcc", streams, 6, ""));
        let judge = |ends: &Ends| {
            let (sent, received) = (flow(&ends.sender), flow(&ends.receiver));
            let (packets, arrived) =
                (sent.packets_sent.expect("packets"), received.packets_received.expect("packets"));
            assert!(
                arrived >= 250 && packets - arrived < 50,
                "{streams} streams: {packets} and {arrived} packets"
            );
            assert!(sent.srtt_ms.p50.is_some_and(|srtt| (35.0..120.0).contains(&srtt)), "{:?}", sent.srtt_ms);
        };
        judge_on_time(|| reported_on(&loaded), judge);
    }
}

fn reported_on(loaded: &Loaded) -> Ends {
    let ends = ends::run(loaded, |_, _, _| ());
    assert!(flow(&ends.receiver).packets_received > Some(20), "{:?}", flow(&ends.receiver));
    assert_eq!(ends.receiver.counters.malformed, 0, "each has its number");
    let counters = &ends.sender.counters;
    assert_eq!(
        (counters.malformed, counters.unknown_reports, counters.other_rtcp),
        (0, 0, 0),
        "{counters:?}"
    );
    assert!(flow(&ends.sender).srtt_ms.p50.is_some_and(|srtt| srtt >= 35.0), "{:?}", flow(&ends.sender));
    ends
}
