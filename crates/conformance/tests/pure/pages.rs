//! The pages about the checks say what the code says.

use paceline_conformance::CHECKS;

const README: &str = include_str!("../../README.md");
const EMBED: &str = include_str!("../../../../docs/embed.md");

#[test]
fn the_readme_lists_every_check() {
    let rows: Vec<String> =
        CHECKS.iter().map(|check| format!("| `{}` | {} |", check.name, check.help)).collect();
    let shown: Vec<&str> = README.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(shown, rows);
}

/// Its code runs as a test of the crate.
#[test]
fn the_page_on_embedding_shows_the_readmes_example() {
    let code = README.split_once("```rust\n").and_then(|(_, rest)| rest.split_once("```"));
    assert!(EMBED.contains(code.expect("an example").0));
}
