//! `[coupling.NAME]` and `priority`: what may be said, and what is wrong where.

use crate::{Scenario, ScenarioError, parse};
use paceline_cc::{CouplingParams, coupling};
use paceline_units::TimeDelta;

const GOOD: &str = r#"duration = "10s"

[links.bottleneck]
rate = "20Mbps"
queue = { kind = "droptail", limit = "300ms" }

[flows.a]
controller = "tfrc"
source = { kind = "bulk" }
path = ["bottleneck"]
priority = 2

[flows.b]
controller = "rap"
count = 3
source = { kind = "bulk" }
path = ["bottleneck"]

[flows.datagrams]
transport = "udp"
source = { kind = "cbr" }
path = ["bottleneck"]

[flows.web]
controller = "cubic"
source = { kind = "short-transfers" }
path = ["bottleneck"]

[coupling.all]
kind = "conservative"
flows = ["a", "b"]
"#;

/// Line of the flows that share.
const FLOWS: &str = "flows = [\"a\", \"b\"]";

fn read(from: &str, to: &str) -> Result<Scenario, ScenarioError> {
    assert!(GOOD.contains(from), "{from}");
    parse(&GOOD.replace(from, to), "coupled.toml")
}

fn right(from: &str, to: &str) -> Scenario {
    let scenario = read(from, to).unwrap_or_else(|error| panic!("{error}"));
    let again = parse(&scenario.to_toml(), "coupled.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again, Scenario { name: again.name.clone(), ..scenario.clone() }, "{}", scenario.to_toml());
    scenario
}

#[test]
fn a_name_stands_for_a_flow_or_for_all_its_copies() {
    let names = |scenario: &Scenario| -> Vec<Vec<String>> {
        let name = |flow: &usize| scenario.flows[*flow].name.clone();
        scenario.couplings[0].groups.iter().map(|group| group.iter().map(name).collect()).collect()
    };
    assert_eq!(names(&right("", "")), [["a", "b-1", "b-2", "b-3"]]);
    let groups = right(FLOWS, "groups = [[\"b-2\", \"a\"], [\"b-1\"]]");
    assert_eq!(names(&groups), [vec!["b-2", "a"], vec!["b-1"]]);
    let others = GOOD.find("[flows.datagrams]").expect("flows that cannot share");
    let coupling =
        GOOD.replace(FLOWS, "flows = [\"*\"]").split_off(GOOD.find("[coupling").expect("it is there"));
    let all = parse(&format!("{}{coupling}", &GOOD[..others]), "coupled.toml");
    let all = all.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(names(&all), [["a", "b-1", "b-2", "b-3"]]);
    // A flow whose name merely looks like a copy's is none.
    let text = GOOD.replace("[flows.b]", "[flows.a-2]").replace("count = 3\n", "");
    let named = |shared: &str| {
        let text = text.replace(FLOWS, &format!("flows = [{shared}]"));
        names(&parse(&text, "coupled.toml").unwrap_or_else(|error| panic!("{error}")))
    };
    assert_eq!(named("\"a\""), [["a"]]);
    assert_eq!(named("\"a\", \"a-2\""), [["a", "a-2"]]);
}

#[test]
fn a_profile_sets_what_the_keys_do_not() {
    let scenario = right(
        "kind = \"conservative\"",
        "kind = \"conservative\"\nprofile = \"islam2014\"\nleaving = \"subtract\"",
    );
    let CouplingParams::Conservative(params) = &scenario.couplings[0].params else { panic!("another kind") };
    assert!(!params.redistribute && params.growth == coupling::Growth::Divided);
    assert_eq!(params.leaving, coupling::Leaving::Subtract);
}

#[test]
fn a_priority_is_a_number_or_steps() {
    let steps = |scenario: &Scenario| -> Vec<(TimeDelta, f64)> {
        scenario.flows[0].priority.iter().map(|step| (step.at, step.priority.weight())).collect()
    };
    assert_eq!(steps(&right("", "")), [(TimeDelta::ZERO, 2.0)]);
    let changing = right("priority = 2", "priority = [[\"0s\", 1], [\"5s\", 0.25]]");
    assert_eq!(steps(&changing), [(TimeDelta::ZERO, 1.0), (TimeDelta::from_secs(5), 0.25)]);
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_key() {
    for (from, to, line, key, found, expected) in [
        ("priority = 2", "priority = 0", 11, "flows.a.priority", "0", "0.001 to 1000"),
        ("priority = 2", "priority = -1", 11, "flows.a.priority", "-1", "0.001 to 1000"),
        ("priority = 2", "priority = nan", 11, "flows.a.priority", "nan", "0.001 to 1000"),
        ("priority = 2", "priority = inf", 11, "flows.a.priority", "inf", "0.001 to 1000"),
        ("priority = 2", "priority = [[\"0s\", 0]]", 11, "flows.a.priority[0][1]", "0", "0.001 to 1000"),
        ("priority = 2", "priority = []", 11, "flows.a.priority", "a list of 0", "a list of [time, number]"),
        ("priority = 2", "priority = [[\"1s\", 1]]", 11, "flows.a.priority[0][0]", "1s", "\"0s\""),
        (
            "priority = 2",
            "priority = [[\"0s\", 1], [\"0s\", 2]]",
            11,
            "flows.a.priority[1][0]",
            "0s",
            "after that of the step",
        ),
        (
            "\"conservative\"",
            "\"fse\"",
            30,
            "coupling.all.kind",
            "fse",
            "one of \"active\", \"conservative\", \"passive\", \"etcp\", \"efcm\", \"cm\"",
        ),
        (
            "\"conservative\"",
            "\"active\"\nhold = 2",
            31,
            "coupling.all.hold",
            "an unknown key",
            "redistribute",
        ),
        (
            "\"conservative\"",
            "\"active\"\nprofile = \"ns2\"",
            31,
            "coupling.all.profile",
            "ns2",
            "one of \"rfc8699\", \"bounded\", \"islam2014\"",
        ),
        (FLOWS, "flows = []", 31, "coupling.all.flows", "a list of 0", "at least one flow"),
        (FLOWS, "", 29, "coupling.all.flows", "nothing", "either flows"),
        (FLOWS, "flows = [\"a\"]\ngroups = [[\"b\"]]", 32, "coupling.all.groups", "a list", "either flows"),
        (FLOWS, "flows = [\"a\", \"c\"]", 31, "coupling.all.flows[1]", "\"c\"", "one of \"a\", \"b-1\""),
        (FLOWS, "flows = [\"a\", \"a\"]", 31, "coupling.all.flows[1]", "\"a\"", "[coupling.all]"),
        (
            FLOWS,
            "groups = [[\"a\"], [\"b\", \"a\"]]",
            31,
            "coupling.all.groups[1][1]",
            "\"a\"",
            "shares nowhere else",
        ),
        (
            FLOWS,
            "flows = [\"b-2\", \"a\"]\n[coupling.more]\nkind = \"active\"\nflows = [\"b\"]",
            34,
            "coupling.more.flows[0]",
            "\"b\"",
            "shares nowhere else: it does in [coupling.all]",
        ),
        (FLOWS, "flows = [\"*\"]", 31, "coupling.all.flows[0]", "*", "\"none\", of datagrams, does not"),
        (FLOWS, "flows = [\"a\", \"*\"]", 31, "coupling.all.flows[1]", "\"*\"", "shares nowhere else"),
        (FLOWS, "flows = [\"datagrams\"]", 31, "coupling.all.flows[0]", "datagrams", "share with others"),
        (
            "controller = \"tfrc\"",
            "controller = \"sprout\"\ntransport = \"udp\"",
            32,
            "coupling.all.flows[0]",
            "\"a\"",
            "\"sprout\", of a, does not",
        ),
        (FLOWS, "flows = [\"web\"]", 31, "coupling.all.flows[0]", "web", "short-transfers opens many"),
    ] {
        let error = read(from, to).expect_err(to);
        let text = error.to_string();
        assert!(text.contains(&format!("coupled.toml:{line}:")), "{to}: {text}");
        assert_eq!(error.key, key, "{to}: {text}");
        assert!(error.found.contains(found) && error.expected.contains(expected), "{to}: {text}");
    }
}

#[test]
fn flows_that_share_leave_one_node() {
    let other = "[links.bottleneck]\nfrom = \"here\"\n";
    let text = GOOD.replace("[links.bottleneck]\n", other).replace(
        "[flows.a]",
        "[links.far]\nrate = \"1Mbps\"\nfrom = \"there\"\nqueue = { packets = 9 }\n[flows.a]",
    );
    assert!(parse(&text, "coupled.toml").is_ok());
    let apart = text.replacen("path = [\"bottleneck\"]", "path = [\"far\"]", 1);
    let error = parse(&apart, "coupled.toml").expect_err("two hosts");
    assert!(error.expected.contains("leave \"there\" and \"here\""), "{error}");
}

#[test]
fn the_priority_of_a_flow_of_streams_counts_only_where_it_shares() {
    let text = |coupled: &str| {
        format!(
            "duration = \"1s\"\n[links.l]\nrate = \"1Mbps\"\nqueue = {{ packets = 9 }}\n[flows.f]\ncontroller = \"scream\"\npath = [\"l\"]\npriority = 2\n\
             [flows.f.streams.cam]\nsource = {{ kind = \"cbr\" }}\n{coupled}"
        )
    };
    assert!(parse(&text("[coupling.c]\nkind = \"active\"\nflows = [\"f\"]\n"), "streams.toml").is_ok());
    let error = parse(&text(""), "streams.toml").expect_err("it counts for nothing");
    assert!(error.key == "flows.f.priority" && error.expected.contains("no [coupling.NAME]"), "{error}");
}

#[test]
fn detection_finds_the_groups_of_flows_that_tell_of_their_delays() {
    let kind = "kind = \"conservative\"";
    let detecting = |more: &str| format!("{kind}\ndetection = {{ {more} }}");
    let scenario =
        right(kind, &detecting("T = \"500ms\", M = 20, F = 10, p_l = 0.02, invalid = \"left-out\""));
    let detection = scenario.couplings[0].detection.as_ref().expect("it detects");
    assert_eq!((detection.interval, detection.m, detection.p_l), (TimeDelta::from_millis(500), 20, 0.02));
    let leaving = |scenario: &Scenario| match &scenario.couplings[0].params {
        CouplingParams::Conservative(params) => params.leaving,
        _ => panic!("another kind"),
    };
    assert_eq!(leaving(&right("", "")), coupling::Leaving::Keep);
    assert_eq!(leaving(&scenario), coupling::Leaving::Subtract, "who moves takes its rate along");
    assert_eq!(leaving(&right(kind, &(detecting("") + "\nleaving = \"keep\""))), coupling::Leaving::Keep);
    assert!(right("", "").detection_of("a").is_none() && scenario.detection_of("b-2").is_some());
    assert!(scenario.detection_of("web").is_none());
    // tfrc's receiver says nothing of single packets, rap's does.
    let at_sender = detecting("at = \"sender\"");
    assert!(read(FLOWS, "flows = [\"b\"]\ndetection = { at = \"sender\" }").is_ok());
    for (from, to, key, expected) in [
        (
            kind,
            detecting("profile = \"serched\""),
            "coupling.all.detection.profile",
            "one of \"rfc8382\", \"searched\", \"steady\"",
        ),
        (kind, detecting("T = \"1ms\""), "coupling.all.detection.T", "from"),
        (kind, detecting("M = 60"), "coupling.all.detection.M", "at most N, 50"),
        (kind, detecting("p_x = 0.1"), "coupling.all.detection.p_x", "p_s"),
        (kind, detecting("c_s = nan"), "coupling.all.detection.c_s", "number"),
        (kind, at_sender, "coupling.all.detection", "\"a\""),
        (
            FLOWS,
            "groups = [[\"a\"], [\"b\"]]\ndetection = {}".into(),
            "coupling.all.groups",
            "detection forms",
        ),
    ] {
        let error = read(from, &to).expect_err(&to);
        assert!(error.key == key && error.to_string().contains(expected), "{to}: {error}");
    }
    let over_tcp =
        GOOD.replace("controller = \"rap\"", "controller = \"cubic\"").replace(kind, &detecting(""));
    let error = parse(&over_tcp, "coupled.toml").expect_err("cubic goes over tcp");
    assert!(
        error.key == "coupling.all.detection" && error.expected.contains("over rtp or controlled udp;"),
        "{error}"
    );
}

#[test]
fn a_profile_of_detection_is_a_set_of_thresholds_that_keys_override() {
    use paceline_cc::shared_bottleneck::Params;
    use paceline_units::param::Profiles;
    let kind = "kind = \"conservative\"";
    let detected = |more: &str| {
        let scenario = right(kind, &format!("{kind}\ndetection = {{ {more} }}"));
        scenario.couplings[0].detection.clone().expect("it detects")
    };
    let searched = Params::profile("searched").expect("it is listed");
    assert_ne!(searched, Params::default());
    assert_eq!(detected("profile = \"searched\""), searched);
    assert_eq!(detected("profile = \"rfc8382\""), detected(""));
    assert_eq!(detected(""), Params::default());
    assert_eq!(detected("profile = \"searched\", p_s = 0.15"), Params { p_s: 0.15, ..searched });
}

#[test]
fn the_truth_is_steps_of_groups_of_the_couplings_flows() {
    let kind = "kind = \"conservative\"";
    let told = |truth: &str| format!("{kind}\ndetection = {{}}\ntruth = {truth}");
    let scenario = right(
        kind,
        &told("[[\"0s\", [[\"a\", \"b-1\"], [\"b-2\", \"b-3\"]]], [\"5s\", []], [\"6s\", [[\"b\"]]]]"),
    );
    let steps: Vec<_> =
        scenario.couplings[0].truth.iter().map(|step| (step.at, step.groups.clone())).collect();
    let expected = [(0, vec![vec![0, 1], vec![2, 3]]), (5, vec![]), (6, vec![vec![1, 2, 3]])];
    assert_eq!(steps, expected.map(|(at, groups)| (TimeDelta::from_secs(at), groups)));
    assert!(right("", "").couplings[0].truth.is_empty());
    for (from, to, key, expected) in [
        (kind, format!("{kind}\ntruth = [[\"0s\", []]]"), "coupling.all.truth", "without `detection`"),
        (kind, told("[]"), "coupling.all.truth", "steps of a time and groups"),
        (kind, told("[[\"1s\", []]]"), "coupling.all.truth[0][0]", "\"0s\""),
        (kind, told("[[\"0s\", []], [\"0s\", []]]"), "coupling.all.truth[1][0]", "after that of the step"),
        (kind, told("[[\"0s\", [[\"web\"]]]]"), "coupling.all.truth[0][1][0][0]", "one of \"a\", \"b-1\""),
        (
            kind,
            told("[[\"0s\", [[\"a\", \"b\"], [\"b-2\"]]]]"),
            "coupling.all.truth[0][1][1][0]",
            "each once",
        ),
        (kind, told("[[\"0s\", \"a\"]]"), "coupling.all.truth[0][1]", "steps of a time and groups"),
    ] {
        let error = read(from, &to).expect_err(&to);
        assert!(error.key == key && error.to_string().contains(expected), "{to}: {error}");
    }
}
