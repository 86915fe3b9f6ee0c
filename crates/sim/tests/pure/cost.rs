//! The cost of a simulation beside its events: components that are asked to go on, counted. No clock is asked.

use crate::random::{a_quiet_world, a_world};
use crate::world::loaded;
use paceline_scenario::Loader;
use paceline_sim::{Pace, Simulation};
use paceline_units::TimeDelta;
use proptest::prelude::*;

/// Visits of components for an event, a row of a table and a component of a span. A round over all components has an event for
/// four of them, or is paid for by the visits after it, each of which has an event.
const VISITS: u64 = 6;

/// The parts of a world and what they did.
#[derive(Debug)]
struct Cost {
    visits: u64,
    events: u64,
    rows: u64,
    components: u64,
}

fn cost(text: &str) -> Cost {
    let world = loaded(text, &[], &Loader::default());
    let mut simulation =
        Simulation::new(&world, Pace::Windowed).expect("load has refused what cannot be built");
    simulation.advance(TimeDelta::MAX);
    assert!(simulation.is_over());
    let (visits, events) = (simulation.visits(), simulation.events());
    let outcome = simulation.finish();
    let rows = (outcome.flows.rows() + outcome.links.rows()) as u64;
    let components = 2 * outcome.summary.flows.len() + outcome.summary.links.len();
    Cost { visits, events, rows, components: components as u64 }
}

fn assert_cost_follows_events(text: &str) -> Cost {
    let cost = cost(text);
    let bound = VISITS * (cost.events + cost.rows + cost.components);
    assert!(cost.visits <= bound, "{cost:?}, expected at most {bound} visits\n{text}");
    cost
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn visits_follow_events(text in prop_oneof![a_world(), a_quiet_world()]) {
        assert_cost_follows_events(&text);
    }
}

/// Datagrams at `rate` over two links of this delay.
fn two_links(delay: &str, rate: &str, duration: &str) -> String {
    let link = |name| {
        format!("[links.{name}]\nrate = \"100Mbps\"\ndelay = \"{delay}\"\nqueue = {{ packets = 100 }}\n")
    };
    format!(
        "duration = \"{duration}\"\n{}{}[flows.f]\ntransport = \"udp\"\npacket_size = \"1000B\"\n\
         source = {{ kind = \"cbr\", rate = \"{rate}\" }}\npath = [\"a\", \"b\"]\n",
        link("a"),
        link("b")
    )
}

#[test]
fn delays_do_not_change_what_500_packets_cost() {
    for delay in ["0s", "1ns", "100ns", "1us", "10us", "1ms"] {
        let cost = assert_cost_follows_events(&two_links(delay, "4Mbps", "1s"));
        assert!((2000..2010).contains(&cost.events), "{cost:?}");
    }
}

#[test]
fn twelve_packets_in_half_a_minute_cost_what_twelve_packets_do() {
    let cost = assert_cost_follows_events(&two_links("1us", "3kbps", "30s"));
    assert!(cost.events <= 50 && cost.visits < 400, "{cost:?}");
}

#[test]
fn idle_flows_cost_nothing() {
    let mut text = String::from(
        "duration = \"1s\"\n[links.l]\nrate = \"1Gbps\"\ndelay = \"10us\"\n\
        queue = { packets = 100 }\n",
    );
    for (name, count, start) in [("busy", 2, "0s"), ("idle", 1000, "0.999s")] {
        text += &format!(
            "[flows.{name}]\ncontroller = \"newreno\"\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\n\
             start = \"{start}\"\ncount = {count}\n"
        );
    }
    let cost = assert_cost_follows_events(&text.replace("duration", "sample = \"1s\"\nduration"));
    assert!(cost.components > 2000 && cost.events > 100_000, "{cost:?}");
}
