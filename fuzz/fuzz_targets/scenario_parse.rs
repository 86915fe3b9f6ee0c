//! Scenario files: any text is read or refused with its place, and what is read, written out, is read as the same.
//!
//! An input may end in a zero byte and a `--set`: path, `=`, value.
#![cfg_attr(fuzzing, no_main)]

use paceline_scenario::{Scenario, ScenarioError, parse, parse_with};

paceline_fuzz::target!(scenario_parse);

fn scenario_parse(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (text, set) = text.split_once('\0').unwrap_or((&text, ""));
    judge(text, parse(text, "fuzz/calls.toml"));
    if let Some((path, value)) = set.split_once('=') {
        let sets = [(path.to_string(), value.to_string())];
        // Where a set is wrong, the message speaks of the set; where it is right, the scenario is one like others.
        match parse_with(text, "calls.toml", &sets) {
            Ok(scenario) => written_again(&scenario),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

fn judge(text: &str, parsed: Result<Scenario, ScenarioError>) {
    match parsed {
        Ok(scenario) => written_again(&scenario),
        Err(error) => {
            assert!(error.line().is_none_or(|line| 0 < line && line <= text.lines().count() + 1), "{error}");
            assert!(!error.to_string().is_empty());
        }
    }
}

fn written_again(scenario: &Scenario) {
    assert!(!scenario.flows.is_empty() && scenario.warmup < scenario.duration);
    let resolved = scenario.to_toml();
    let again = parse(&resolved, "other.toml").unwrap_or_else(|error| panic!("{error}\n{resolved}"));
    assert_eq!(&again, scenario, "{resolved}");
    assert_eq!(again.to_toml(), resolved);
}
