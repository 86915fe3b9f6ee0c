//! `source = { kind = "tmix" }`: what may be said, and what is wrong where.

use super::loading::Folder;
use crate::transports::{ByteStream, EndsParts, TcpParts};
use crate::{Loader, Origin, Scenario, ScenarioError, load, parse};
use paceline_media::vectors::Side;
use paceline_tcp::conversations::{ConversationsConfig, RttUse};
use paceline_units::{Bytes, TimeDelta};
use std::path::Path;

const GOOD: &str = r#"duration = "10s"

[links.bottleneck]
rate = "20Mbps"
delay = "7ms"
queue = { kind = "droptail", limit = "300ms" }

[flows.web]
transport = "tcp"
controller = "cubic"
path = ["bottleneck"]
source = { kind = "tmix", generator = "web" }
"#;

/// The vectors of The ns Manual, at 6.851 ms and 1.429381 s.
const FILE: &str = "SEQ 6851 1 21217 555382\nw 64800 6432\nr 1176194\nl 0 0\n> 245\nt 51257\n< 510\n\
                    CONC 1429381 1 1 26876 793318\nw 65535 5840\nr 36556\nl 0.125 0\nc> 222\nc< 726\n";

fn with(source: &str) -> String {
    GOOD.replace("{ kind = \"tmix\", generator = \"web\" }", source)
}

fn read(source: &str) -> Result<Scenario, ScenarioError> {
    parse(&with(source), "web.toml")
}

/// A folder with a file of connection vectors.
fn folder(name: &str, text: &str) -> Folder {
    let folder = Folder::new(&format!("tmix-{name}"));
    folder.put("a.cvec", text.as_bytes());
    folder
}

fn loaded(text: &str, folder: &Path) -> Result<ConversationsConfig, ScenarioError> {
    let loader = Loader::new(folder, Vec::new());
    let mut loaded = load(&Origin { text, file: "web.toml", sets: &[] }, &loader)?;
    match loaded.parts.flows.remove(0).ends {
        EndsParts::Tcp(TcpParts { carried: ByteStream::Conversations(conversations), .. }) => {
            Ok(conversations)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_is_read_and_placed() {
    let folder = folder("good", FILE);
    let whole = loaded(&with("{ kind = \"tmix\", file = \"a.cvec\" }"), &folder.0).expect("right");
    assert_eq!((whole.vectors.len(), whole.sending, whole.rtt), (2, Side::Acceptor, RttUse::Whole));
    assert_eq!(whole.path_rtt, TimeDelta::from_millis(14), "there, and as long back");
    assert_eq!(whole.vectors[0].windows, [64_800, 6432].map(Bytes::new));
    let text = with(
        "{ kind = \"tmix\", file = \"a.cvec\", offset = \"1s\", scale = 2, rtt = \"added\", sending = \"initiator\" }",
    );
    let part = loaded(&text, &folder.0).expect("right");
    assert_eq!((part.vectors.len(), part.sending, part.rtt), (1, Side::Initiator, RttUse::Added));
    assert_eq!(part.vectors[0].start, TimeDelta::from_micros(2 * 429_381));
}

#[test]
fn drawn_pages_follow_the_seed_and_the_flows_name() {
    let drawn = |text: &str| loaded(text, Path::new(".")).expect("right").vectors;
    let usual = drawn(GOOD);
    assert!(usual.len() > 20, "{}", usual.len());
    assert_eq!(usual, drawn(GOOD));
    assert_ne!(usual, drawn(&format!("seed = 2\n{GOOD}")));
    assert_ne!(usual, drawn(&GOOD.replace("flows.web", "flows.other")));
    let seeded = with("{ kind = \"tmix\", generator = { kind = \"web\", seed = 5, load = \"1Mbps\" } }");
    assert_eq!(drawn(&seeded), drawn(&format!("seed = 2\n{seeded}")));
    // They begin while the flow is there, whatever its times are.
    let moved = drawn(&with("{ kind = \"tmix\", generator = \"web\", offset = \"20s\", scale = 0.5 }"));
    let last = moved.last().expect("many").start;
    assert!(moved.len() > usual.len() && last > TimeDelta::from_secs(9) && last < TimeDelta::from_secs(10));
}

#[test]
fn what_is_wrong_is_told_with_its_key() {
    for (source, key, found, expected) in [
        ("", "", "neither", "either file = FILE or generator = \"web\""),
        (", file = \"a\", generator = \"web\"", ".generator", "web", "either file or generator, not both"),
        (", generator = \"pages\"", ".generator", "pages", "\"web\""),
        (", generator = 3", ".generator", "3 (a number)", "\"web\", or { kind = \"web\", ... }"),
        (", generator = { kind = \"frames\" }", ".generator.kind", "frames", "\"web\""),
        (", generator = { kind = \"web\", load = 5 }", ".generator.load", "5 (a number)", "a rate"),
        (", generator = { kind = \"web\", rtt_min = \"1s\" }", ".generator.rtt_min", "1s", "at most rtt_max"),
        (", generator = { kind = \"web\", lod = 5 }", ".generator.lod", "an unknown key", "load"),
        (", generator = \"web\", rtt = \"none\"", ".rtt", "none", "\"whole\", \"added\", \"path\""),
        (", generator = \"web\", loss = 0.1", ".loss", "0.1 (a number)", "\"none\", \"vector\""),
        (", generator = \"web\", sending = \"both\"", ".sending", "both", "\"acceptor\", \"initiator\""),
        (", generator = \"web\", scale = 0", ".scale", "0", "a number from 0.000001"),
        (", generator = \"web\", offset = 3", ".offset", "3 (a number)", "a time"),
        (", generator = \"web\", idle = \"1s\"", ".idle", "an unknown key", "file, generator, sending"),
    ] {
        let error = read(&format!("{{ kind = \"tmix\"{source} }}")).expect_err(source);
        assert_eq!(error.key, format!("flows.web.source{key}"), "{error}");
        assert!(error.line() == Some(12) && error.found.contains(found), "{error}");
        assert!(error.expected.contains(expected), "{error}");
    }
}

#[test]
fn a_wrong_file_is_told_with_its_line() {
    let text = with("{ kind = \"tmix\", file = \"a.cvec\" }");
    for (name, file, found, expected) in [
        ("cut", &FILE[..FILE.len() - 2], "the end of the file within `c< 72`", "the file is cut"),
        ("line", &FILE.replace("r 36556", "r x"), "`r x`", "whole microseconds"),
        ("empty", "", "no connection", "SEQ start exchanges id id"),
    ] {
        let error = loaded(&text, &folder(name, file).0).expect_err(name);
        assert_eq!((error.key.as_str(), error.line()), ("flows.web.source.file", Some(12)), "{error}");
        assert!(error.found.contains(found) && error.expected.contains(expected), "{error}");
        assert!(error.found.contains("a.cvec"), "{error}");
        assert_eq!(error.found.contains("line "), name != "empty", "{error}");
    }
    let error = loaded(&text, &folder("there", FILE).0.join("missing")).expect_err("no file");
    assert!(error.key == "flows.web.source.file" && error.found.contains("a.cvec"), "{error}");
    // A wrong statement of a file about itself is a warning.
    let folder = folder("short", &format!("# Number of Cvecs: 3\n{FILE}"));
    let loader = Loader::new(&folder.0, Vec::new());
    let loaded = load(&Origin { text: &text, file: "web.toml", sets: &[] }, &loader).expect("right");
    let [warning] = loaded.parts.warnings.as_slice() else { panic!("{:?}", loaded.parts.warnings) };
    assert!(warning.contains("a.cvec says that it has 3 connections, and has 2"), "{warning}");
}

#[test]
fn only_tcp_has_connections_and_a_group_has_none() {
    let text = GOOD.replace("\"tcp\"", "\"rtp\"").replace("\"cubic\"", "\"scream\"");
    let error = parse(&text, "web.toml").expect_err("rtp");
    assert!(error.key == "flows.web.source.kind" && error.found.contains("tmix"), "{error}");
    assert!(error.expected.contains("\"bulk\": tmix goes with transport tcp"), "{error}");
    let text = format!("{GOOD}[coupling.all]\nkind = \"conservative\"\nflows = [\"web\"]\n");
    let error = parse(&text, "web.toml").expect_err("coupled");
    assert!(error.expected.contains("tmix opens many"), "{error}");
}

#[test]
fn more_than_memory_holds_is_refused() {
    let fast = with("{ kind = \"tmix\", generator = { kind = \"web\", load = \"100Gbps\" } }");
    let error = loaded(&fast, Path::new(".")).expect_err("too many");
    assert!(error.key == "flows.web.source.generator.load" && error.line() == Some(12), "{error}");
    let many = with("{ kind = \"tmix\", generator = { kind = \"web\", load = \"6Gbps\" } }");
    let error = loaded(&format!("{many}count = 6\n"), Path::new(".")).expect_err("too many");
    assert!(error.found.contains("data units with the flows before"), "{error}");
}

#[test]
fn what_is_resolved_reads_back() {
    for source in [
        "generator = \"web\"",
        "generator = { kind = \"web\", seed = 3, load = \"700kbps\", serving = \"20ms\", objects_max = 3 }",
        "file = \"a.cvec\", sending = \"initiator\", rtt = \"path\", loss = \"vector\", offset = \"3s\", scale = 0.25",
    ] {
        let scenario = read(&format!("{{ kind = \"tmix\", {source} }}")).expect(source);
        let resolved = scenario.to_toml();
        assert_eq!(parse(&resolved, "web.toml"), Ok(scenario), "{resolved}");
    }
}
