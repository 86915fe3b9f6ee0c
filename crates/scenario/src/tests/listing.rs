//! Each entry of the listing says everything of itself.

use crate::registry::*;

#[test]
fn every_parameter_says_what_it_is_and_json_can_carry_it() {
    for (family, listing) in families() {
        assert!(!listing.is_empty(), "{family}");
        for parameter in listing.iter().flat_map(|entry| &entry.parameters) {
            assert!(!parameter.help.is_empty() && !parameter.unit.is_empty(), "{}", parameter.name);
        }
        assert!(serde_json::to_string(&listing).is_ok());
    }
}

#[test]
fn each_family_is_found_by_its_name() {
    assert_eq!(family_names().collect::<Vec<_>>(), families().map(|(name, _)| name).collect::<Vec<_>>());
    for (family, listing) in families() {
        let kinds = |listing: Listing| listing.into_iter().map(|entry| entry.kind).collect::<Vec<_>>();
        assert_eq!(named(family).map(kinds), Some(kinds(listing)), "{family}");
    }
    assert!(named("controllers of all").is_none());
}

#[test]
fn what_may_be_left_out_says_what_happens_then() {
    let need = |listing: Listing, kind: &str, name: &str| {
        let entry = listing.into_iter().find(|entry| entry.kind == kind).expect(kind);
        entry.parameters.into_iter().find(|parameter| parameter.name == name).expect(name).need
    };
    assert_eq!(need(traces(), "mbps", "interval"), Need::Required);
    assert_eq!(need(traces(), "time-mbps", "interval"), Need::Optional);
    assert_eq!(need(traces(), "mbps-hold", "time_column"), Need::Optional);
    assert_eq!(need(traces(), "mmwave", "seed"), Need::Optional);
    assert_eq!(need(queues(), "droptail", "packets"), Need::OneOf);
    assert_eq!(need(sources(), "trace-encoder", "generator"), Need::OneOf);
    assert_eq!(need(sources(), "bulk", "length"), Need::Optional);
    assert_eq!(need(tables(), "flow", "path"), Need::Required);
    let entries = families().flat_map(|(_, listing)| listing);
    for parameter in entries.flat_map(|entry| entry.parameters) {
        let is_told = parameter.default.is_some() || parameter.help.contains("left out: ");
        assert_eq!(is_told, parameter.need == Need::Optional, "{}", parameter.name);
    }
}

#[test]
fn profiles_show_where_they_differ() {
    let listing = controllers();
    let scream = listing.iter().find(|entry| entry.kind == "scream").expect("is there");
    assert_eq!(scream.profiles[0].name, "robust");
    let lo =
        scream.parameters.iter().find(|parameter| parameter.name == "qdelay_target_lo").expect("is there");
    assert_eq!(lo.default.as_deref(), Some("60ms"));
    assert_eq!(lo.profiles.get("rfc8298").map(String::as_str), Some("100ms"));
    assert_eq!((lo.min.as_deref(), lo.max.as_deref()), (Some("1ms"), Some("10s")));
    assert_eq!(traces().len(), 7);
}

#[test]
fn the_tables_of_a_scenario_have_their_defaults_as_values_with_ranges() {
    let listing = tables();
    let shown = |kind: &str, name: &str| {
        let entry = listing.iter().find(|entry| entry.kind == kind).expect(kind);
        let parameter = entry.parameters.iter().find(|parameter| parameter.name == name).expect(name);
        let range = [&parameter.min, &parameter.max].map(|bound| bound.clone().unwrap_or_default());
        (parameter.default.clone().unwrap_or_default(), range.join(" to "))
    };
    for (kind, name, default, range) in [
        ("scenario", "sample", "50ms", "1ns to "),
        ("scenario", "seed", "1", "0 to 9223372036854775807"),
        ("link", "delay", "0s", "0s to "),
        ("link", "down", "[]", " to "),
        ("link", "mark", "", " to "),
        ("flow", "priority", "1.0", "0.001 to 1000"),
        ("flow", "count", "1", "1 to 10000"),
        ("flow", "stop", "", "0s to "),
        ("stream", "priority", "1.0", "0.001 to 1000"),
    ] {
        assert_eq!(shown(kind, name), (default.into(), range.into()), "{kind}.{name}");
    }
}
