//! A scenario that is too large for a run says how much would fit.

use super::bad_input::GOOD;
use crate::{Place, parse, parse_with};

#[test]
fn a_path_has_a_limit_since_a_packet_counts_its_links_in_a_byte() {
    let links = |count: usize| -> String {
        let link = |i| format!("[links.l{i}]\nrate = \"1Mbps\"\nqueue = {{ packets = 9 }}\n");
        let path: Vec<_> = (0..count).map(|i| format!("\"l{i}\"")).collect();
        let flow = "[flows.f]\ncontroller = \"fixed\"\nsource = { kind = \"bulk\" }\n";
        let path = path.join(", ");
        let (links, paths) =
            ((0..count).map(link).collect::<String>(), format!("path = [{path}]\nreturn_path = [{path}]"));
        format!("duration = \"1s\"\n{links}{flow}{paths}")
    };
    parse(&links(64), "calls.toml").expect("64 are right");
    let error = parse(&links(256), "calls.toml").expect_err("too long");
    assert_eq!(error.key, "flows.f.path");
    assert!(error.found.contains("a list of 256") && error.expected.contains("at most 64 links"), "{error}");
    let text = links(65)
        .replace("path = [\"l0\", ", "path = [")
        .replace("return_path = [", "return_path = [\"l0\", ");
    assert_eq!(parse(&text, "calls.toml").expect_err("too long").key, "flows.f.return_path");
}

#[test]
fn samples_that_no_memory_holds_are_refused_with_an_interval_that_is_right() {
    let set = |sets: &[(&str, &str)]| {
        let sets: Vec<_> = sets.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
        parse_with(GOOD, "calls.toml", &sets)
    };
    // One stream and one link: two rows a sample.
    let error = set(&[("sample", "1us")]).expect_err("20 million rows");
    assert_eq!((&error.place, error.key.as_str()), (&Place::Set("sample".into()), "sample"));
    assert!(error.found.contains("1us, which makes 20000000 rows"), "{error}");
    assert!(
        error.expected.contains("at most 10000000 rows") && error.expected.contains("\"2us\""),
        "{error}"
    );
    set(&[("sample", "2us")]).expect("as it says");
    let error = set(&[("duration", "1e6s")]).expect_err("40 million rows");
    assert_eq!((&error.place, error.key.as_str()), (&Place::Whole, "sample"), "{error}");
    assert!(error.found.contains("50ms, which makes 40000000 rows"), "{error}");
    assert!(error.expected.contains("\"200ms\""), "{error}");
    set(&[("duration", "1e6s"), ("sample", "200ms")]).expect("as it says");
}

#[test]
fn a_seed_is_what_toml_holds() {
    let set = |seed: &str| parse_with(GOOD, "calls.toml", &[("seed".into(), seed.into())]);
    assert_eq!(set("9223372036854775807").map(|scenario| scenario.seed), Ok(i64::MAX as u64));
    for error in [
        set("9223372036854775808").expect_err("too large"),
        parse(&GOOD.replace("warmup", "seed = 9223372036854775808\nwarmup"), "calls.toml")
            .expect_err("too large"),
    ] {
        assert_eq!(error.key, "seed", "{error}");
        assert!(error.found.contains("9223372036854775808"), "{error}");
        assert_eq!(&*error.expected, "a whole number from 0 to 9223372036854775807");
    }
}
