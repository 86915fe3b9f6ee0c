//! Quantities and parameters with their types.

use super::*;

#[test]
fn quantities_are_numbers_in_base_units() {
    assert_eq!(quantity("5ms"), Some((0.005, "s")));
    assert_eq!(quantity("-20 Mbps"), Some((-20e6, "bit/s")));
    assert_eq!(quantity("1.5kB"), Some((1500.0, "B")));
    assert_eq!(quantity("1/1024s"), Some((1.0 / 1024.0, "s")));
    assert_eq!((quantity("20"), quantity("scream"), quantity("")), (None, None, None));
}

#[test]
fn every_parameter_of_a_scenario_has_a_type() {
    let text = "duration = \"10s\"\nname = \"5ms\"\n[links.\"a.b\"]\nrate = \"8Mbps\"\nqueue = { packets = 9 }\n\
                [flows.f]\ncontroller = \"scream\"\nsource = { kind = \"bulk\" }\npath = [\"a.b\"]\n";
    let parameters = crate::parse(text, "x.toml").expect("right").parameters();
    let of = |path: &str| {
        let found = parameters.iter().find(|parameter| parameter.path == path);
        found.map(|found| (found.value.clone(), found.unit)).unwrap_or_else(|| panic!("no {path}"))
    };
    assert_eq!(of("duration"), (TypedValue::Number(10.0), Some("s")));
    assert_eq!(of("name"), (TypedValue::Text("5ms".into()), None));
    assert_eq!(of("links.\"a.b\".rate"), (TypedValue::Number(8e6), Some("bit/s")));
    assert_eq!(of("links.\"a.b\".queue.packets"), (TypedValue::Integer(9), None));
    assert_eq!(of("flows.f.path"), (TypedValue::Text("[\"a.b\"]".into()), None));
    assert_eq!(of("flows.f.feedback.marker"), (TypedValue::Flag(true), None));
    assert_eq!(of("flows.f.controller.rate_pace_max"), (TypedValue::Number(f64::INFINITY), None));
    assert_eq!(of("flows.f.packet_size"), (TypedValue::Number(1212.0), Some("B")));
}

#[test]
fn names_that_read_like_quantities_stay_names() {
    let text = "duration = \"1s\"\n[links.a]\nfrom = \"5ms\"\nqueue = { packets = 9 }\n\
                rate = { trace = \"1Mbps\", format = \"mbps-hold\", column = \"2B\", time_column = \"3s\" }\n\
                [flows.f]\ncontroller = \"fixed\"\npath = [\"a\"]\n\
                source = { kind = \"trace-encoder\", file = \"4s\", offset = \"4s\" }\n";
    let parameters = crate::parse(text, "x.toml").expect("right").parameters();
    let unit = |path: &str| parameters.iter().find(|found| found.path == path).expect(path).unit;
    for name in [
        "links.a.from",
        "links.a.rate.trace",
        "links.a.rate.column",
        "links.a.rate.time_column",
        "flows.f.source.file",
    ] {
        assert_eq!(unit(name), None, "{name}");
    }
    assert_eq!(unit("flows.f.source.offset"), Some("s"));
}
