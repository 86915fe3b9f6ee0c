//! Whatever the number of threads, the outcome is that of one thread to the bit.

use crate::random::{a_quiet_world, a_world};
use crate::world::{differs, loaded, simulated};
use paceline_scenario::{Loaded, Loader};
use paceline_sim::{Outcome, Pace, Simulation};
use paceline_units::TimeDelta;
use proptest::prelude::*;

/// Runs a scenario on threads that share every round with as many events; how many rounds they shared.
fn shared(world: &Loaded, threads: usize, events: u64) -> (Outcome, u64) {
    let mut simulation =
        Simulation::new(world, Pace::Windowed).expect("load has refused what cannot be built");
    simulation.share_rounds(threads, events);
    while !simulation.advance(TimeDelta::from_millis(500)) {}
    let rounds = simulation.shared_rounds();
    (simulation.finish(), rounds)
}

proptest! {
    #[test]
    #[ignore = "long: make test-all"]
    fn threads_change_no_bit(
        text in prop_oneof![3 => a_world(), 1 => a_quiet_world()],
        threads in 2usize..5,
        events in 1u64..30,
    ) {
        let world = loaded(&text, &[("duration", "1s")], &Loader::default());
        let alone = simulated(&world, Pace::Windowed, TimeDelta::from_secs(1));
        let (together, _) = shared(&world, threads, events);
        prop_assert_eq!(differs(&alone, &together), None, "{} threads\n{}", threads, text);
    }
}

/// Twenty flows of each kind, five flows of two kinds under one exchange, over two links that they share.
#[test]
fn a_crowd_is_shared_and_changes_no_bit() {
    let mut text = String::from(
        "duration = \"2s\"\n[links.all]\nrate = \"300Mbps\"\ndelay = \"5ms\"\nqueue = { limit = \"20ms\" }\n\
         [links.access]\nrate = \"1Gbps\"\ndelay = \"2ms\"\nqueue = { packets = 50 }\n\
         noise = { kind = \"exponential\", mean = \"1ms\", reorder = true }\n\
         [coupling.five]\nkind = \"active\"\nflows = [\"call1\", \"call2\", \"file2\", \"call4\", \"file5\"]\n",
    );
    for (name, flow) in [
        (
            "call",
            "controller = \"scream\"\nsource = { kind = \"trace-encoder\", generator = \"frames\" }\necn = \"l4s\"",
        ),
        ("clock", "transport = \"udp\"\nsource = { kind = \"cbr\", rate = \"1Mbps\" }"),
        ("datagrams", "transport = \"dccp\"\ncontroller = \"ccid2\"\nsource = { kind = \"bulk\" }"),
        ("file", "controller = \"newreno\"\nsource = { kind = \"bulk\" }\nreturn_path = [\"access\"]"),
        ("files", "controller = \"cubic\"\nsource = { kind = \"short-transfers\", idle = \"30ms\" }"),
    ] {
        for number in 0..20 {
            let start = format!("start = \"{number}ms\"");
            text += &format!("[flows.{name}{number}]\n{flow}\npath = [\"access\", \"all\"]\n{start}\n");
        }
    }
    let world = loaded(&text, &[], &Loader::default());
    let alone = simulated(&world, Pace::Windowed, TimeDelta::from_secs(1));
    for threads in [2, 3, 7] {
        let (together, rounds) = shared(&world, threads, 200);
        assert_eq!(differs(&alone, &together), None, "{threads} threads");
        assert!(rounds > 100, "{rounds} rounds were shared");
    }
}
