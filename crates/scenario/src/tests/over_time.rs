//! Delays and rates that change while a link runs: as they are read, and as they are refused.

use super::bad_input::{Case, GOOD, check_all};
use crate::{Loader, Origin, load, parse};
use paceline_units::TimeDelta;

const CASES: &[Case] = &[
    (
        "\"10ms\"",
        "{ steps = [[\"1s\", \"10ms\"]] }",
        7,
        "links.bottleneck.delay.steps[0][0]",
        "1s",
        "it begins where the run does",
        None,
    ),
    (
        "\"10ms\"",
        "{ ramp = [[\"0s\", \"10ms\"], [\"2s\", \"20ms\"], [\"1s\", \"5ms\"]] }",
        7,
        "links.bottleneck.delay.ramp[2][0]",
        "1s",
        "a time after the one before it",
        None,
    ),
    (
        "\"10ms\"",
        "{ steps = [[\"0s\", \"-10ms\"]] }",
        7,
        "links.bottleneck.delay.steps[0][1]",
        "-10ms",
        "not below 0",
        None,
    ),
    ("\"10ms\"", "{}", 7, "links.bottleneck.delay", "a table", "one of steps, ramp and trace", None),
    (
        "\"10ms\"",
        "{ steps = [[\"0s\", \"1ms\"]], repeat = true }",
        7,
        "links.bottleneck.delay.repeat",
        "true",
        "it goes with `trace`",
        None,
    ),
    (
        "\"10ms\"",
        "{ steps = [[\"0s\", \"1ms\"]], ramp = [[\"0s\", \"1ms\"]] }",
        7,
        "links.bottleneck.delay.ramp",
        "a list of 1",
        "either steps or ramp, not both",
        None,
    ),
    ("\"10ms\"", "{ step = 1 }", 7, "links.bottleneck.delay.step", "unknown key", "steps", Some("\"steps\"")),
    (
        "\"10ms\"",
        "[\"1ms\"]",
        7,
        "links.bottleneck.delay",
        "a list of 1",
        "a time of 0s or more, or a table",
        Some("{ steps = [...] }"),
    ),
    (
        "\"10ms\"",
        "{ trace = \"d.csv\" }",
        10,
        "flows.video.return_delay",
        "nothing",
        "the delay of link bottleneck is recorded",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ ramp = [[\"0s\", \"1Mbps\"], [\"0s\", \"2Mbps\"]] }",
        6,
        "links.bottleneck.rate.ramp[1][0]",
        "0s",
        "a time after the step before it",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ ramp = [[\"0s\", \"1Mbps\"]], steps = [[\"0s\", \"2Mbps\"]] }",
        6,
        "links.bottleneck.rate.ramp",
        "a list of 1",
        "either steps or ramp, not both",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ trace = \"x.csv\", format = \"mbps\", interval = \"1s\", ramp = [[\"0s\", \"1Mbps\"]] }",
        6,
        "links.bottleneck.rate.trace",
        "x.csv",
        "either ramp or trace, not both",
        None,
    ),
    (
        "\"10ms\"",
        "{ steps = [[\"0s\", \"5ms\"]], ramp = [[\"0s\", \"1ms\"]] }",
        7,
        "links.bottleneck.delay.ramp",
        "a list of 1",
        "either steps or ramp, not both",
        None,
    ),
    (
        "\"10ms\"",
        "{ steps = [[\"0s\", \"5ms\"], [\"2s\", \"5ms\"], [\"1s\", \"5ms\"]] }",
        7,
        "links.bottleneck.delay.steps[2][0]",
        "1s",
        "a time after the one before it",
        None,
    ),
    ("\"10ms\"", "\"-10ms\"", 7, "links.bottleneck.delay", "-10ms", "not below 0", None),
    (
        "\"10ms\"",
        "\"10ms\"\npolicer = { rate = \"5Mbps\" }",
        8,
        "links.bottleneck.policer.burst",
        "nothing",
        "a size",
        None,
    ),
    (
        "\"10ms\"",
        "\"10ms\"\npolicer = \"5Mbps\"",
        8,
        "links.bottleneck.policer",
        "5Mbps",
        "a table { rate, burst, action }",
        None,
    ),
    (
        "\"10ms\"",
        "\"10ms\"\nshaper = { rate = \"5Mbps\", limit = \"50ms\" }",
        8,
        "links.bottleneck.shaper.burst",
        "nothing",
        "a size",
        None,
    ),
    (
        "\"10ms\"",
        "\"10ms\"\nshaper = { rate = \"5Mbps\", burst = \"9kB\" }",
        8,
        "links.bottleneck.shaper",
        "a table",
        "exactly one of limit (a time), packets or bytes",
        None,
    ),
    (
        "\"10ms\"",
        "\"10ms\"\nshaper = { rate = \"5Mbps\", burst = \"9kB\", limit = \"50ms\", packets = 9 }",
        8,
        "links.bottleneck.shaper.packets",
        "9",
        "limit",
        None,
    ),
    (
        "\"10ms\"",
        "\"10ms\"\nduplicate = { delay = \"1ms\" }",
        8,
        "links.bottleneck.duplicate.ratio",
        "nothing",
        "a number from 0 to 1",
        None,
    ),
    ("\"10ms\"", "\"10ms\"\ncorrupt = 1.5", 8, "links.bottleneck.corrupt", "1.5", "from 0 to 1", None),
    (
        "\"10ms\"",
        "\"10ms\"\nloss = { kind = \"bernoulli\", ratio = { steps = [[\"0s\", 0], [\"1s\", 2]] } }",
        8,
        "links.bottleneck.loss.ratio.steps[1][1]",
        "2",
        "from 0 to 1",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ ramp = [[\"0s\", \"0bps\"], [\"1s\", \"0bps\"]] }",
        6,
        "links.bottleneck.rate.ramp",
        "a list of 2",
        "at least one rate above 0",
        None,
    ),
];

#[test]
fn each_wrong_change_is_named_with_its_line() {
    check_all(CASES);
}

fn with_delay(delay: &str) -> String {
    GOOD.replacen("\"10ms\"", delay, 1).replacen("ecn =", "return_delay = \"9ms\"\necn =", 1)
}

fn loaded(text: &str, file: &str) -> Result<Vec<String>, String> {
    let mut loader = Loader::default();
    loader.at_hand.insert("d.csv".into(), file.as_bytes().to_vec());
    let loaded = load(&Origin { text, file: "a.toml", sets: &[] }, &loader);
    loaded.map(|loaded| loaded.parts.warnings).map_err(|error| error.to_string())
}

#[test]
fn the_way_back_has_the_delay_of_the_beginning() {
    let delay = |delay: &str| {
        parse(&GOOD.replacen("\"10ms\"", delay, 1), "a.toml").expect("a scenario").flows[0].return_delay
    };
    assert_eq!(delay("{ steps = [[\"0s\", \"30ms\"], [\"5s\", \"4ms\"]] }"), TimeDelta::from_millis(30));
    assert_eq!(delay("{ ramp = [[\"0s\", \"30ms\"], [\"5s\", \"4ms\"]] }"), TimeDelta::from_millis(30));
}

/// A recording of another program is known by its content.
#[test]
fn recordings_of_other_programs_have_what_a_link_wants() {
    let alphartc = "{\"uplink\": {\"trace_pattern\": [{\"duration\": 20000, \"capacity\": 900, \"rtt\": 40, \"loss\": 0.1}]}}";
    let text = with_delay("{ trace = \"d.json\", scale = 0.5 }\nloss = { kind = \"bernoulli\", ratio = { trace = \"d.json\" } }")
        .replacen("\"20Mbps\"", "{ trace = \"d.json\" }", 1);
    let mut loader = Loader::default();
    loader.at_hand.insert("d.json".into(), alphartc.into());
    let loaded = load(&Origin { text: &text, file: "a.toml", sets: &[] }, &loader).expect("a scenario");
    let link = &loaded.parts.links[0];
    assert_eq!((link.rate.nominal().as_bps(), link.rate.ends()), (900_000, Some(TimeDelta::from_secs(20))));
    let ends: Vec<_> =
        link.clone().over_time().iter().map(|(key, quantity)| (key.clone(), quantity.ends())).collect();
    let recorded = |key: &str| (String::from(key), Some(TimeDelta::from_secs(20)));
    assert_eq!(ends, [recorded("delay"), ("corrupt".into(), None), recorded("loss.ratio")]);
    let said = |text: &str| {
        load(&Origin { text, file: "a.toml", sets: &[] }, &loader).expect("a scenario").parts.warnings
    };
    let of_round_trips = |said: Vec<String>| said.iter().filter(|said| said.contains("round trips")).count();
    let unscaled = text.replace(", scale = 0.5", "");
    assert_eq!((of_round_trips(said(&text)), of_round_trips(said(&unscaled))), (0, 1));
    loader.at_hand.insert("d.json".into(), "PING x\n1: icmp_seq=1 time=3 ms\n".into());
    let error =
        load(&Origin { text: &text, file: "a.toml", sets: &[] }, &loader).expect_err("no rates").to_string();
    assert!(error.contains("links.bottleneck.rate.trace") && error.contains("line 1 of d.json"), "{error}");
}

/// Rate and delay come from two columns of one recording.
#[test]
fn a_recording_is_read_with_its_units_and_its_errors_have_a_line() {
    let file = "t,down_mbps,rtt (s),lost\n0,5,0.04,0\n1,6,0.05,0\n";
    let both = with_delay("{ trace = \"d.csv\", column = \"rtt (s)\" }").replacen(
        "\"20Mbps\"",
        "{ trace = \"d.csv\", format = \"time-mbps\", column = \"down_mbps\" }",
        1,
    );
    let said = loaded(&both, file).expect("a scenario");
    assert!(
        said.iter().any(|text| text.contains("delay.trace: d.csv: line 1: the header names other units")),
        "{said:?}"
    );
    for (delay, file, expected) in [
        (
            "{ trace = \"d.csv\", column = \"ping\" }",
            file,
            "\"t,down_mbps,rtt (s),lost without ping\" in line 1 of d.csv",
        ),
        ("{ trace = \"d.csv\" }", "0 5\n1 -6\n", "\"-6\" in line 2 of d.csv, expected a delay in ms"),
        ("{ trace = \"d.csv\" }", "", "an empty file"),
        ("{ trace = \"e.csv\" }", "", "e.csv"),
        ("{ trace = \"d.csv\", offset = \"9s\" }", "0 5\n1 6\n", "less than the recording's length"),
    ] {
        let error = loaded(&with_delay(delay), file).expect_err(delay);
        assert!(error.contains(expected) && error.contains("links.bottleneck.delay"), "{error}");
    }
}

#[test]
fn a_recording_that_ends_before_the_run_is_said() {
    let short = "0 5\n1 6\n";
    let ends = |delay| loaded(&with_delay(delay), short).expect("a scenario");
    let said = ends("{ trace = \"d.csv\" }");
    assert!(said.iter().any(|text| text.contains("ends after 2s") && text.contains("10s")), "{said:?}");
    assert_eq!(ends("{ trace = \"d.csv\", repeat = true }"), Vec::<String>::new());
}
