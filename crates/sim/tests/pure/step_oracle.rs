//! The step engine as oracle: whatever the world, running components alone over windows changes no bit of the outcome.
//!
//! Nor does the size of the spans that a driver advances by, nor a second run.

use crate::random::{a_quiet_world, a_world};
use crate::world::{differs, flow, loaded, run_at, simulated};
use paceline_scenario::Loader;
use paceline_sim::Pace;
use paceline_units::TimeDelta;
use proptest::prelude::*;

proptest! {
    #[test]
    fn windows_spans_and_repetitions_change_no_bit(text in a_world(), span in 1u64..400_000_000) {
        let world = loaded(&text, &[], &Loader::default());
        let windowed = simulated(&world, Pace::Windowed, TimeDelta::from_secs(1));
        let stepped = simulated(&world, Pace::Stepped, TimeDelta::from_secs(1));
        prop_assert_eq!(differs(&windowed, &stepped), None, "stepped\n{}", text);
        let span = TimeDelta::from_nanos(span.max(100_000) as i64);
        let chunked = simulated(&world, Pace::Windowed, span);
        prop_assert_eq!(differs(&windowed, &chunked), None, "in spans of {:?}\n{}", span, text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn going_on_one_by_one_changes_no_bit(text in a_quiet_world()) {
        let world = loaded(&text, &[("duration", "0.7s"), ("sample", "50ms")], &Loader::default());
        let windowed = simulated(&world, Pace::Windowed, TimeDelta::from_secs(1));
        let stepped = simulated(&world, Pace::Stepped, TimeDelta::from_secs(1));
        prop_assert_eq!(differs(&windowed, &stepped), None, "stepped\n{}", text);
    }
}

/// Without any delay, and with acknowledgements that take no time on their way either: what `acked` may send because of one
/// meets at the same nanosecond on the link what `timed` sends by its clock.
#[test]
fn what_happens_at_once_happens_in_the_order_of_the_oracle() {
    let link = |name, rate| {
        format!("[links.{name}]\nrate = \"{rate}\"\ndelay = \"0s\"\nqueue = {{ packets = 9 }}\n")
    };
    let text = format!(
        "duration = \"0.5s\"\n{}{}[flows.acked]\ncontroller = \"newreno\"\nsource = {{ kind = \"bulk\" }}\n\
         path = [\"there\"]\nreturn_path = [\"back\"]\ntcp = {{ ack_every = 1, handshake = false }}\n\
         [flows.timed]\ntransport = \"udp\"\nsource = {{ kind = \"cbr\", rate = \"6Mbps\" }}\n\
         packet_size = \"1500B\"\npath = [\"there\"]\n",
        link("back", "900Gbps"),
        link("there", "12Mbps"),
    );
    let (windowed, stepped) = (run_at(&text, Pace::Windowed), run_at(&text, Pace::Stepped));
    assert!(flow(&stepped, "acked").packets_received > Some(100));
    assert_eq!(differs(&windowed, &stepped), None);
}

/// Frames of two datagrams, which leave at once: one is copied and arrives, the other's copies are lost, and the engines hear of losses
/// at other times.
#[test]
fn copies_of_datagrams_of_one_frame_are_told_apart() {
    let text = "duration = \"1s\"\nseed = 165\n\
        [links.copies]\nrate = \"700kbps\"\nqueue = { packets = 3 }\nduplicate = { ratio = 0.3, delay = \"3ms\" }\n\
        [links.drops]\nrate = \"600kbps\"\nqueue = { packets = 3 }\n\
        [links.loses]\nrate = \"800kbps\"\nqueue = { packets = 3 }\nloss = { kind = \"bernoulli\", ratio = 0.05 }\n\
        noise = { kind = \"rfc8868\", std = \"1ms\" }\n\
        [flows.frames]\ntransport = \"udp\"\nsource = { kind = \"cbr\", rate = \"610kbps\", fps = 50 }\n\
        path = [\"copies\", \"drops\", \"loses\"]\n";
    let (windowed, stepped) = (run_at(text, Pace::Windowed), run_at(text, Pace::Stepped));
    assert!(windowed.summary.links["copies"].duplicated > 10 && windowed.summary.links["drops"].dropped > 10);
    assert_eq!(differs(&windowed, &stepped), None);
}

#[test]
fn random_worlds_are_worth_comparing() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut packets, mut marks, mut drops, mut losses, mut shapers, mut flows) = (0, 0, 0, 0, 0, 0);
    for _ in 0..40 {
        let text = a_world().new_tree(&mut runner).expect("generates").current();
        let world = loaded(&text, &[], &Loader::default());
        let summary = simulated(&world, Pace::Windowed, TimeDelta::from_secs(1)).summary;
        let links = || summary.links.values();
        packets += summary.packets.unwrap_or(0);
        flows += summary.flows.len();
        marks += links().filter(|link| link.marked > 0).count();
        drops += links().filter(|link| link.dropped > 0).count();
        losses += links().filter(|link| link.lost > 0).count();
        shapers += links().filter(|link| link.shaped > 0).count();
    }
    assert!(packets > 10_000 && flows > 80, "{packets} packets of {flows} flows");
    assert!(marks > 5 && drops > 10 && losses > 10, "links: {marks} mark, {drops} drop, {losses} lose");
    assert!(shapers > 5, "{shapers} links hold packets back");
}
