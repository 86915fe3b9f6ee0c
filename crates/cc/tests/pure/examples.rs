//! The example runs, and the crate's README shows its loop and what it prints.

#[allow(dead_code, reason = "the suite calls what `main` calls")]
#[path = "../../examples/own_loop.rs"]
mod own_loop;

const README: &str = include_str!("../../README.md");
const EXAMPLE: &str = include_str!("../../examples/own_loop.rs");

#[test]
fn the_own_loop_fills_its_link_without_a_long_queue() {
    let (mean, srtt) = own_loop::call("scream").expect("a kind");
    let srtt = srtt.expect("it measured").as_millis_f64();
    assert!((4.5..=5.1).contains(&mean), "{mean} Mbit/s");
    assert!((40.0..=300.0).contains(&srtt), "{srtt} ms");
    let error = own_loop::call("skream").expect_err("no kind");
    assert!(error.to_string().starts_with("kind: found skream, expected scream, "), "{error}");
}

#[test]
fn the_readme_shows_it() {
    let shown =
        EXAMPLE.split_once("// docs: loop\n").and_then(|(_, rest)| rest.split_once("    // docs: end"));
    for line in shown.expect("the section").0.lines() {
        assert!(README.contains(line.trim()), "{line}");
    }
    let said = own_loop::report().expect("kinds");
    assert!(README.contains(&said), "{said}");
}
