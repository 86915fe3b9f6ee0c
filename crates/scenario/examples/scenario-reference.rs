//! Prints a page of the scenario reference, such as `scenario-reference reference-links`: the prose of its file in `reference` beside this crate,
//! with the tables of everything that is declared in the places of its `<!-- table -->` lines. `make docs` writes the pages, `make lint`
//! says when one is stale.

use paceline_cc::ControllerParams;
use paceline_scenario::Transport;
use paceline_scenario::registry::{self, Entry, Listing, Need, Parameter};

/// The pages by name, and their prose.
const PAGES: [(&str, &str); 6] = [
    ("scenario-reference", include_str!("../reference/scenario-reference.md")),
    ("reference-links", include_str!("../reference/reference-links.md")),
    ("reference-flows", include_str!("../reference/reference-flows.md")),
    ("reference-sources", include_str!("../reference/reference-sources.md")),
    ("reference-coupling", include_str!("../reference/reference-coupling.md")),
    ("reference-controllers", include_str!("../reference/reference-controllers.md")),
];

fn main() -> Result<(), String> {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let names = PAGES.map(|(name, _)| name).join(", ");
    let page = PAGES.iter().find(|(name, _)| *name == wanted);
    let (_, prose) = page.ok_or_else(|| format!("page \"{wanted}\": expected one of {names}"))?;
    for line in prose.lines() {
        match line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) {
            Some(table) => print!("{}", tables(table)?),
            None => println!("{line}"),
        }
    }
    Ok(())
}

/// The tables in the place of a line: a family, or one of it.
fn tables(wanted: &str) -> Result<String, String> {
    let (family, kind) = wanted.split_once(' ').map_or((wanted, None), |(family, kind)| (family, Some(kind)));
    if family == "overview" {
        return Ok(overview());
    }
    let listing = registry::named(family).ok_or_else(|| format!("the prose: no family \"{family}\""))?;
    match kind {
        None if listing.iter().any(|entry| !entry.profiles.is_empty()) => Ok(profiled(listing)),
        None => Ok(all(&listing)),
        Some(kind) => {
            let entry = listing.iter().find(|entry| entry.kind == kind);
            entry
                .map(|entry| profiles(entry) + &table(entry))
                .ok_or_else(|| format!("the prose: no \"{kind}\" of {family}"))
        }
    }
}

fn all(listing: &Listing) -> String {
    let entries = listing.iter().map(|entry| {
        let heading = format!("`kind = \"{}\"`: {}.\n", entry.kind, entry.help);
        if entry.parameters.is_empty() { heading } else { format!("{heading}\n{}", table(entry)) }
    });
    entries.collect::<Vec<_>>().join("\n")
}

/// The parameters of one kind.
fn table(entry: &Entry) -> String {
    let rows: String = entry.parameters.iter().map(row).collect();
    format!("| key | default | allowed | effect |\n|---|---|---|---|\n{rows}")
}

fn row(parameter: &Parameter) -> String {
    let shown = |value: &str| match &*parameter.unit {
        "ratio" | "count" | "number" | "flag" | "ratio or list of [time, ratio]" => format!("`{value}`"),
        unit if unit.starts_with("list of ") => format!("`{value}`"),
        _ => format!("`\"{value}\"`"),
    };
    let usual = match (&parameter.default, parameter.need) {
        (Some(value), _) => shown(value),
        (None, Need::Required) => "required".into(),
        (None, Need::OneOf) => "one of these".into(),
        (None, Need::Optional) => "none".into(),
    };
    let profiles =
        parameter.profiles.iter().map(|(profile, value)| format!("; `{profile}`: {}", shown(value)));
    let range = match (&parameter.min, &parameter.max) {
        (None, None) => String::new(),
        (Some(low), None) => format!(", from {low}"),
        (None, Some(high)) => format!(", up to {high}"),
        (Some(low), Some(high)) => format!(", {low} to {high}"),
    };
    let source = if parameter.source.is_empty() { String::new() } else { format!(" ({})", parameter.source) };
    format!(
        "| `{}` | {usual}{} | {}{range} | {}{source} |\n",
        parameter.name,
        profiles.collect::<String>(),
        parameter.unit.replace('|', "\\|"),
        parameter.help.replace('|', "\\|"),
    )
}

/// Kinds, transports and profiles of the controllers.
fn overview() -> String {
    let mut page = String::from("| kind | over | profiles, the default first | |\n|---|---|---|---|\n");
    for entry in registry::controllers() {
        let over = ControllerParams::of(entry.kind).map_or(Vec::new(), |usual| Transport::carrying(&usual));
        let over = over.iter().map(|over| format!("`{}`", over.name()));
        let profiles = entry.profiles.iter().map(|profile| format!("`{}`", profile.name));
        let (over, profiles) = (over.collect::<Vec<_>>().join(", "), profiles.collect::<Vec<_>>().join(", "));
        page.push_str(&format!("| `{}` | {over} | {profiles} | {} |\n", entry.kind, entry.help));
    }
    page
}

/// Kinds with profiles; those with the same parameters stand together.
fn profiled(listing: Listing) -> String {
    let mut alike: Vec<(Vec<&str>, Entry)> = Vec::new();
    for entry in listing.into_iter().filter(|entry| !entry.parameters.is_empty()) {
        match alike.iter_mut().find(|(_, other)| other.parameters == entry.parameters) {
            Some((kinds, _)) => kinds.push(entry.kind),
            None => alike.push((vec![entry.kind], entry)),
        }
    }
    let sections = alike.iter().map(|(kinds, entry)| {
        let kinds: Vec<_> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
        format!("## {}\n\n{}{}", kinds.join(", "), profiles(entry), table(entry))
    });
    sections.collect::<Vec<_>>().join("\n")
}

/// The profiles of a kind as a list, and an empty line; nothing if it has none.
fn profiles(entry: &Entry) -> String {
    let lines = entry.profiles.iter().map(|profile| format!("- `{}`: {}\n", profile.name, profile.help));
    lines.chain((!entry.profiles.is_empty()).then(|| String::from("\n"))).collect()
}
