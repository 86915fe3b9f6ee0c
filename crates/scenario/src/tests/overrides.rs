//! Values set from outside a scenario: what is wrong with them is said of them, not of the file.

use super::bad_input::GOOD;
use crate::{Place, parse_with};

#[test]
fn a_wrong_set_names_its_path() {
    let set = |path: &str, value: &str| {
        parse_with(GOOD, "calls.toml", &[(path.into(), value.into())]).expect_err("it is wrong")
    };
    let cases = [
        ("links.bottleneck.rate", "20Mbqs", "links.bottleneck.rate", "20Mbqs", "a rate"),
        ("links.bottleneck.rat", "20Mbps", "links.bottleneck.rat", "an unknown key", "a key such as rate"),
        ("links.bottle.rate", "20Mbps", "", "no links.bottle in the scenario", "bottleneck"),
        ("link.bottleneck.rate", "20Mbps", "", "no link in the scenario", "links"),
        ("flows.audio.ecn", "off", "", "no flows.audio", "video"),
        ("flows.video.streams.cam.priority", "1", "", "no flows.video.streams in", "ecn"),
        ("flows.video.controller.gian", "1", "flows.video.controller.gian", "an unknown key", "gain"),
        ("flows.video.ecn.kind", "off", "", "\"l4s\" (text) at flows.video.ecn", "a table"),
        ("links.bottleneck.rate.steps", "[]", "", "\"20Mbps\" (text) at links.bottleneck.rate", "a table"),
        ("duration", "0s", "duration", "0s", "above 0"),
        ("durations", "1s", "durations", "an unknown key", "duration"),
        ("a..b", "1", "", "\"a..b\"", "a dotted path"),
        ("", "1", "", "", "a dotted path"),
    ];
    for (path, value, key, found, expected) in cases {
        let error = set(path, value);
        assert_eq!((&error.place, error.key.as_str()), (&Place::Set(path.into()), key), "{error}");
        assert!(error.found.contains(found) && error.expected.contains(expected), "{error}");
        assert!(
            error.to_string().contains(&format!("--set {path}: found ")),
            "the path is said once: {error}"
        );
    }
}

#[test]
fn no_stream_begins_by_a_set() {
    let (source, rest) = (
        "source = { kind = \"trace-encoder\", generator = \"frames\", fps = 50 }\n",
        "path = [\"bottleneck\"]\n",
    );
    let text =
        GOOD.replace(source, "").replace(rest, &format!("{rest}[flows.video.streams.camera]\n{source}"));
    let set = |path: &str| parse_with(&text, "calls.toml", &[(path.into(), "2".into())]);
    set("flows.video.streams.camera.priority").expect("it is there");
    let error = set("flows.video.streams.camra.priority").expect_err("it is not");
    assert!(
        error.found.starts_with("no flows.video.streams.camra") && error.expected.contains("camera"),
        "{error}"
    );
}

#[test]
fn an_error_of_the_file_keeps_its_line_whatever_is_set() {
    let spoilt = GOOD.replace("\"l4s\"", "\"l4\"");
    let sets = [("seed".into(), "7".into()), ("links.bottleneck.overhead".into(), "28B".into())];
    let error = parse_with(&spoilt, "calls.toml", &sets).expect_err("ecn is wrong");
    assert_eq!((error.line(), error.key.as_str()), (Some(13), "flows.video.ecn"), "{error}");
    // A value that was right until another was set: the line is the file's.
    let error =
        parse_with(GOOD, "calls.toml", &[("duration".into(), "1s".into())]).expect_err("warmup is too long");
    assert_eq!((error.line(), error.key.as_str()), (Some(3), "warmup"), "{error}");
}

#[test]
fn two_sets_that_exclude_each_other_are_an_error() {
    let set = |one: &str, other: &str| {
        let value = |path: &str| (path.to_string(), "\"9\"".to_string());
        parse_with(GOOD, "calls.toml", &[value(one), value(other)]).expect_err("they are wrong together")
    };
    let cases = [
        ("links.bottleneck.queue.packets", "links.'bottleneck'.queue.limit", "links.bottleneck.queue"),
        ("flows.video.source.generator", "flows.video.source.file", "flows.video.source"),
        ("flows.video.streams", "flows.video.source", "flows.video"),
    ];
    for (one, other, table) in cases {
        let error = set(one, other);
        assert_eq!((&error.place, error.key.as_str()), (&Place::Set(other.into()), table), "{error}");
        assert!(error.found.contains("both set") && error.expected.contains("excludes"), "{error}");
    }
}
