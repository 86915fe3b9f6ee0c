//! From a scenario's text to its parts, with files and without.

use super::bad_input::GOOD;
use crate::transports::{EndsParts, RtpParts, TransportSpec};
use crate::{Loaded, Loader, Origin, ScenarioError, load, parse};
use paceline_link::RateProcess;
use paceline_units::{Bitrate, Time, TimeDelta};
use std::io::Write;
use std::path::PathBuf;

/// The ends of the first flow.
fn rtp(loaded: &Loaded) -> &RtpParts {
    let EndsParts::Rtp(rtp) = &loaded.parts.flows[0].ends else { panic!("an RTP flow") };
    rtp
}

/// A folder of this test's own, gone afterwards.
pub(super) struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("paceline-scenario-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    pub fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).expect("a temporary file");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn load_with(sets: &[(&str, &str)], loader: &Loader) -> Result<Loaded, ScenarioError> {
    let sets: Vec<_> = sets.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    load(&Origin { text: GOOD, file: "calls.toml", sets: &sets }, loader)
}

/// The good scenario with a trace, read from `folder`.
fn trace(folder: &Folder, name: &str, format: &str) -> Result<Loaded, ScenarioError> {
    let rate = format!("{{ trace = \"{name}\", format = \"{format}\" }}");
    let text = GOOD.replace("\"20Mbps\"", &rate);
    load(&Origin { text: &text, file: "calls.toml", sets: &[] }, &Loader::new(&folder.0, Vec::new()))
}

#[test]
fn a_scenario_of_generators_needs_no_file() {
    let loaded = load_with(&[("links.bottleneck.rate", "{ generator = \"mmwave\" }")], &Loader::default());
    let loaded = loaded.expect("right");
    assert_eq!((loaded.parts.links.len(), loaded.parts.flows.len()), (1, 1));
    assert_eq!(loaded.parts.flows[0].path, [0]);
    assert_eq!(rtp(&loaded).sender.max_payload.as_u64(), 1000);
    let again = load_with(&[("links.bottleneck.rate", "{ generator = \"mmwave\" }")], &Loader::default());
    assert_eq!(again.expect("right").parts.links, loaded.parts.links, "the same seed, the same rates");
    let other = load_with(
        &[("links.bottleneck.rate", "{ generator = \"mmwave\" }"), ("seed", "2")],
        &Loader::default(),
    );
    assert_ne!(other.expect("right").parts.links, loaded.parts.links);
}

#[test]
fn presets_load_and_are_written_out_in_full() {
    let sets = [
        ("links.bottleneck.rate", "{ generator = \"mmwave\", preset = \"lumos5g-driving\" }"),
        ("flows.video.source.generator", "{ kind = \"frames\", preset = \"trace-key\", mean = \"10kB\" }"),
        ("duration", "2000s"),
        ("sample", "1s"),
    ];
    let loaded = load_with(&sets, &Loader::default()).expect("right");
    let rates = loaded.parts.link_trace(0).expect("a generator");
    assert_eq!(rates.length(), TimeDelta::from_secs(2000));
    assert!((150..450).contains(&(rates.mean().as_bps() / 1_000_000)), "{:?}", rates.mean());
    let frames = loaded.parts.frame_trace(0).expect("an encoder").mean_bytes_f64();
    assert!((9_800.0..10_200.0).contains(&frames), "{frames}");
    let written = loaded.scenario.to_toml();
    assert!(!written.contains("preset") && written.contains("\"fallback\"") && written.contains("after_key"));
    let again = parse(&written, "calls.toml").expect("right");
    assert_eq!(again, loaded.scenario);
    let constant = load_with(&[], &Loader::default()).expect("right");
    assert!(constant.parts.link_trace(0).is_none() && constant.parts.link_trace(1).is_none());
}

/// Packets, milliseconds, marker and overlap of the reports of a flow with this controller.
fn reports(controller: &str, more: &[(&str, &str)]) -> (u32, f64, bool, u32) {
    let mut sets = vec![
        ("links.bottleneck.rate", "\"20Mbps\""),
        ("flows.video.controller", controller),
        ("flows.video.ecn", "\"off\""),
    ];
    sets.extend(more);
    let loaded = load_with(&sets, &Loader::default()).expect("right");
    let feedback = &rtp(&loaded).feedback;
    (feedback.packets, feedback.time.as_millis_f64(), feedback.marker, feedback.overlap)
}

#[test]
fn the_receiver_reports_as_the_controller_asks_unless_the_scenario_says() {
    assert_eq!(reports("\"scream\"", &[]), (16, 40.0, true, 0));
    assert_eq!(reports("\"rap\"", &[]), (1, 40.0, false, 3));
    let own = [("flows.video.feedback", "{ packets = 4, overlap = 0 }")];
    assert_eq!(reports("\"rap\"", &own), (4, 40.0, false, 0));
}

#[test]
fn over_rtp_only_tfrc_has_a_receiver_half() {
    for (controller, expected) in [("tfrc", true), ("rap", false), ("scream", false), ("fixed", false)] {
        let controller = format!("\"{controller}\"");
        let sets = [
            ("links.bottleneck.rate", "\"20Mbps\""),
            ("flows.video.controller", &*controller),
            ("flows.video.ecn", "\"off\""),
        ];
        let loaded = load_with(&sets, &Loader::default()).expect("right");
        assert_eq!(rtp(&loaded).receiver_half.is_some(), expected, "{controller}");
    }
}

#[test]
fn files_are_found_in_the_scenarios_folder_then_in_the_data_folders() {
    let (own, data) = (Folder::new("own"), Folder::new("data"));
    own.put("both.txt", b"1");
    data.put("both.txt", b"2");
    data.put("data.txt", b"3");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"unpacked").expect("packs");
    data.put("packed.txt.gz", &packed.finish().expect("packs"));
    let loader = Loader::new(&own.0, vec![data.0.clone()]);
    let read = |file: &str| loader.read(file).map(|(bytes, _)| bytes);
    assert_eq!(read("both.txt"), Ok(b"1".to_vec()));
    assert_eq!(read("data.txt"), Ok(b"3".to_vec()));
    assert_eq!(read("packed.txt.gz"), Ok(b"unpacked".to_vec()));
    assert_eq!(read("packed.txt"), Ok(b"unpacked".to_vec()), "packed where the plain file is not");
    let error = read("none.txt").expect_err("it is not there").to_string();
    let shown = |folder: &Folder| folder.0.display().to_string();
    assert!(
        error.contains(&shown(&own)) && error.contains(&shown(&data)) && error.contains("PACELINE_DATA"),
        "{error}"
    );
    let absolute = own.0.join("none.txt").display().to_string();
    let error = read(&absolute).expect_err("it is not there").to_string();
    assert!(error.contains(&format!("no file \"{absolute}\", expected")), "no folder is searched: {error}");
    own.put("broken.gz", b"no gzip");
    assert!(read("broken.gz").is_err());
}

#[test]
fn a_malformed_trace_is_named_with_file_line_and_key() {
    let folder = Folder::new("bad");
    let cases: [(&[u8], &str); 6] = [
        (b"0 20\n1 nan\n", "line 2"),
        (b"0 20\n1 -3\n", "line 2"),
        (b"", "empty"),
        (b"\x00\x01\x02", "NUL"),
        (b"time,rate\n", "header"),
        (b"0 20\r\n1 x\r\n", "line 2"),
    ];
    for (bytes, found) in cases {
        folder.put("t.csv", bytes);
        let error = trace(&folder, "t.csv", "time-mbps").expect_err("it is malformed");
        assert_eq!((error.line(), error.key.as_str()), (Some(6), "links.bottleneck.rate.trace"), "{error}");
        assert!(error.found.contains(found) && error.found.contains("t.csv"), "{error}");
    }
    folder.put("t.csv", b"0 20\r\n1 10\r\n");
    assert!(trace(&folder, "t.csv", "time-mbps").is_ok(), "CRLF alone is no fault");
    let error = trace(&folder, "none.csv", "time-mbps").expect_err("it is missing");
    assert_eq!(error.line(), Some(6), "{error}");
    let error =
        load_with(&[("flows.video.source.file", "gone.txt")], &Loader::default()).expect_err("it is missing");
    assert!(error.to_string().starts_with("calls.toml: --set flows.video.source.file: "), "{error}");
}

#[test]
fn a_loaded_scenario_can_be_run_from_anywhere() {
    let folder = Folder::new("anywhere");
    folder.put("t.csv", b"0 20\n1 10\n");
    let loaded = trace(&folder, "t.csv", "time-mbps").expect("right");
    assert!(
        matches!(&loaded.parts.links[0].rate, RateProcess::Trace { trace, .. } if trace.segments().len() == 2)
    );
    let text = loaded.scenario.to_toml();
    let again = load(&Origin { text: &text, file: "elsewhere/scenario.toml", sets: &[] }, &Loader::default());
    let again = again.expect("absolute names need no folder");
    assert_eq!(again.parts.links, loaded.parts.links);
    assert_eq!(again.scenario, loaded.scenario);
    assert_eq!(parse(&text, "x.toml"), Ok(loaded.scenario));
}

#[test]
fn a_longer_run_changes_nothing_but_its_end() {
    let sets = [("flows.video.stop", "4s"), ("duration", "5s")];
    let stopped = load_with(&sets, &Loader::default()).expect("right").lasting(TimeDelta::from_secs(60));
    assert_eq!(stopped.expect("not too long").parts.flows[0].stop, Time::from_nanos(4_000_000_000));
    let loaded = load_with(&[], &Loader::default()).expect("right");
    let longer = loaded.lasting(TimeDelta::from_secs(60)).expect("not too long");
    assert_eq!(longer.parts.flows[0].stop, Time::from_nanos(60_000_000_000));
    assert_eq!(longer.parts.links, loaded.parts.links);
    assert_eq!(longer.scenario.duration, TimeDelta::from_secs(60));
    let error = loaded.lasting(TimeDelta::from_secs(1_000_000)).expect_err("too many samples");
    assert_eq!(error.key, "sample", "{error}");
    assert!(
        error.to_string().starts_with("a call: sample: found 50ms, which makes 40000000 rows"),
        "{error}"
    );
}

#[test]
fn zeros_of_a_trace_are_another_rate_if_one_is_said() {
    let folder = Folder::new("zeros");
    folder.put("t.csv", b"0 20\n1 0\n2 20\n");
    let rates = |zero: &str| {
        let rate = format!("{{ trace = \"t.csv\", format = \"time-mbps\"{zero} }}");
        let text = GOOD.replace("\"20Mbps\"", &rate);
        let origin = Origin { text: &text, file: "calls.toml", sets: &[] };
        let loaded = load(&origin, &Loader::new(&folder.0, Vec::new())).expect("right");
        loaded.parts.link_trace(0).expect("a trace").segments()[1].1
    };
    assert_eq!([rates(""), rates(", zero = \"3kbps\"")], [Bitrate::ZERO, Bitrate::from_kbps(3)]);
}

#[test]
fn a_ramp_has_its_points() {
    let ramp = "{ ramp = [[\"0s\", \"1Mbps\"], [\"4s\", \"3Mbps\"]] }";
    let loaded = load_with(&[("links.bottleneck.rate", ramp)], &Loader::default()).expect("right");
    let points =
        [(0, 1), (4, 3)].map(|(at, mbps)| (Time::ZERO + TimeDelta::from_secs(at), Bitrate::from_mbps(mbps)));
    assert_eq!(loaded.parts.links[0].rate, RateProcess::Ramp(points.to_vec()));
}

#[test]
fn a_rate_of_datagrams_that_no_grid_counts_is_refused() {
    let load = |rate: &str| {
        let text = format!(
            "duration = \"1s\"\n[links.l]\nrate = \"1Gbps\"\nqueue = {{ packets = 9 }}\n[flows.f]\ntransport = \"udp\"\n\
             source = {{ kind = \"cbr\", rate = \"{rate}\" }}\npath = [\"l\"]\n"
        );
        load(&Origin { text: &text, file: "f.toml", sets: &[] }, &Loader::default()).map(|_| ())
    };
    for right in ["1bps", "999999999989bps", "1000Gbps"] {
        load(right).expect(right);
    }
    let error = load("900000000000001bps").expect_err("too many packets in whole seconds");
    assert_eq!((error.line(), error.key.as_str()), (Some(7), "flows.f.source.rate"), "{error}");
    assert_eq!(&*error.expected, "at most 1000Gbps");
}

#[test]
fn what_a_link_finds_wrong_has_a_line_too() {
    let folder = Folder::new("offset");
    folder.put("t.csv", b"0 20\n1 10\n");
    let rate = "{ trace = \"t.csv\", format = \"time-mbps\", offset = \"9s\" }";
    let text = GOOD.replace("\"20Mbps\"", rate);
    let error =
        load(&Origin { text: &text, file: "calls.toml", sets: &[] }, &Loader::new(&folder.0, Vec::new()));
    let error = error.expect_err("the trace is shorter");
    assert_eq!((error.line(), error.key.as_str()), (Some(6), "links.bottleneck.rate.offset"), "{error}");
}

/// The good scenario with an RFC 8593 source, in a folder.
fn video(folder: &Folder, source: &str) -> Result<Loaded, ScenarioError> {
    load_with(
        &[("flows.video.source", &format!("{{ kind = \"rfc8593\", {source} }}"))],
        &Loader::new(&folder.0, Vec::new()),
    )
}

/// The first payloads of the first stream.
fn payloads(loaded: &Loaded, count: usize) -> Vec<u64> {
    let mut source = rtp(loaded).streams[0].source.clone();
    source.start(Time::ZERO);
    (0..count).map(|_| source.next_capture().map_or(0, |due| source.capture(due).payload.as_u64())).collect()
}

const TWO_RUNGS: &str = "model = \"trace\", fps = 25, skip_frames = 1, \
                         ladder = [{ rate = \"400kbps\", file = \"low\" }, { rate = \"1200kbps\", file = \"high\" }]";

/// Scenarios that are no error, and hardly meant.
#[test]
fn a_least_bitrate_above_the_link_and_rates_in_another_unit_are_said() {
    let folder = Folder::new("odd");
    folder.put("bps.csv", b"5000000\n6000000\n");
    let said = |rate: &str, more: &str| {
        let text = format!(
            "duration = \"3s\"\n[links.l]\nrate = {rate}\nqueue = {{ packets = 9 }}\n[flows.f]\npath = [\"l\"]\n{more}\n"
        );
        let loader = Loader::new(folder.0.clone(), Vec::new());
        load(&Origin { text: &text, file: "odd.toml", sets: &[] }, &loader).expect("right").parts.warnings
    };
    let own = |min: &str| {
        format!(
            "controller = {{ kind = \"scream\", target_bitrate_min = \"{min}\", target_bitrate_start = \"5Mbps\" }}\nsource = {{ kind = \"bulk\" }}"
        )
    };
    let least = [
        "flows.f: found a least bitrate of 3Mbps, expected at most the 2Mbps of link l: its queue stays full",
    ];
    let steps = "{ steps = [[\"0s\", \"1Mbps\"], [\"1s\", \"2Mbps\"], [\"4s\", \"9Mbps\"]] }";
    assert_eq!(said(steps, &own("3Mbps")), least);
    assert_eq!(said(steps, &own("2Mbps")), [""; 0]);
    assert_eq!(said(steps, "controller = \"fixed\"\nsource = { kind = \"bulk\" }"), [""; 0]);
    let [usual] = &said("\"100kbps\"", "controller = \"nada\"\nsource = { kind = \"bulk\" }")[..] else {
        panic!("one warning")
    };
    assert!(usual.contains("a least bitrate of 150kbps, expected at most the 100kbps"), "{usual}");
    let stream = |name: &str| {
        format!(
            "[flows.f.streams.{name}]\nsource = {{ kind = \"cbr\", rate = \"1Mbps\" }}\ntarget_bitrate_min = \"1.5Mbps\"\ntarget_bitrate_start = \"2Mbps\"\n"
        )
    };
    assert_eq!(said(steps, &format!("controller = \"scream\"\n{}{}", stream("a"), stream("b"))), least);
    let trace = |scale: &str| {
        format!("{{ trace = \"bps.csv\", format = \"mbps\", interval = \"1s\", repeat = true{scale} }}")
    };
    let [unit] = &said(&trace(""), &own("1Mbps"))[..] else { panic!("one warning") };
    assert!(unit.starts_with("links.l.rate: found rates up to 6000Gbps, expected Mbit/s"), "{unit}");
    assert_eq!(said(&trace(", scale = 0.000001"), &own("1Mbps")), [""; 0]);
}

#[test]
fn a_ladder_is_read_from_its_files_and_named_absolutely() {
    let folder = Folder::new("ladder");
    folder.put("low", b"9000\n2000\n2100\n");
    folder.put("high", b"0 I 1 2 9000\n1 P 1 2 6000\n2 P 1 2 6300\n");
    let loaded = video(&folder, TWO_RUNGS).expect("right");
    // 1 Mbit/s, the first target, is three quarters of the way up.
    assert_eq!(payloads(&loaded, 5), [9_000, 5_000, 5_250, 5_000, 5_250]);
    // 13,100 B in three frames at 25 fps; those of the other rung make 1.42 Mbit/s, which is near enough.
    let expected =
        "flows.video.source.ladder[0]: the sizes make 873.333kbps at 25 frames per second, not 400kbps";
    assert_eq!(loaded.parts.warnings, [expected]);
    let text = loaded.scenario.to_toml();
    let again = load(&Origin { text: &text, file: "elsewhere.toml", sets: &[] }, &Loader::default());
    assert_eq!(payloads(&again.expect("absolute names"), 5), payloads(&loaded, 5));
}

#[test]
fn what_is_wrong_with_a_ladder_names_the_rung_and_the_file() {
    let folder = Folder::new("rungs");
    folder.put("low", b"1\n2\n");
    let error = video(&folder, TWO_RUNGS).expect_err("one is missing");
    assert_eq!(error.key, "flows.video.source.ladder[1].file", "{error}");
    folder.put("high", b"1\n2\n3\n");
    let error = video(&folder, TWO_RUNGS).expect_err("one is longer");
    assert_eq!(error.key, "flows.video.source.ladder[1]", "{error}");
    assert!(error.found.contains("3 frames in high") && error.expected.contains("2 frames"), "{error}");
    folder.put("high", b"1\nx\n");
    let error = video(&folder, TWO_RUNGS).expect_err("one is malformed");
    assert!(error.found.contains("line 2") && error.found.contains("high"), "{error}");
    folder.put("high", b"1\n2\n");
    let error =
        video(&folder, &TWO_RUNGS.replace("skip_frames = 1", "skip_frames = 2")).expect_err("all skipped");
    assert_eq!(error.key, "flows.video.source.skip_frames", "{error}");
    let drawn = "model = \"trace\", generator = \"frames\", rates = [\"1bps\", \"1Mbps\"]";
    let error = video(&folder, drawn).expect_err("frames of no byte");
    assert_eq!(error.key, "flows.video.source.rates", "{error}");
    // In the file itself the line is the source's.
    let text = GOOD.replace(
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        &format!("{{ kind = \"rfc8593\", {TWO_RUNGS} }}"),
    );
    let error = load(&Origin { text: &text, file: "calls.toml", sets: &[] }, &Loader::default())
        .expect_err("no files");
    assert_eq!(error.line(), Some(12), "{error}");
}

#[test]
fn the_models_need_no_file_and_follow_the_seed() {
    let folder = Folder::new("models");
    for source in [
        "model = \"statistical\"",
        "model = \"trace\", generator = \"frames\"",
        "model = \"hybrid\", generator = \"frames\"",
    ] {
        let made = |more: &str| payloads(&video(&folder, &format!("{source}{more}")).expect("right"), 100);
        assert_eq!(made(""), made(""), "{source}");
        let seeded = format!("{{ kind = \"rfc8593\", {source} }}");
        let other = load_with(&[("flows.video.source", &*seeded), ("seed", "2")], &Loader::default());
        assert_ne!(payloads(&other.expect("right"), 100), made(""), "{source}");
    }
    let own = |seed: u64| {
        payloads(&video(&folder, &format!("model = \"statistical\", seed = {seed}")).expect("right"), 100)
    };
    assert_ne!(own(1), own(2));
}

#[test]
fn frames_of_a_codec_without_pictures_follow_the_seed() {
    let frames = |seed: &str| {
        let source = "{ kind = \"codec-model\", preset = \"sports\" }";
        let sets = [("flows.video.source", source), ("seed", seed)];
        payloads(&load_with(&sets, &Loader::default()).expect("right"), 50)
    };
    assert_eq!(frames("1"), frames("1"));
    assert_ne!(frames("1"), frames("2"));
}

#[test]
fn bursts_that_are_none_are_warned_of() {
    let folder = Folder::new("bursts");
    let warnings = |source: &str| video(&folder, source).expect("right").parts.warnings;
    let expected = "flows.video.source.k_b: 13500B is no larger than a mean frame from 3.24Mbps on, where there are no bursts";
    assert_eq!(warnings("model = \"statistical\", r_max = \"20Mbps\""), [expected]);
    let hybrid = "model = \"hybrid\", generator = \"frames\", rates = [\"1Mbps\", \"20Mbps\"]";
    assert_eq!(warnings(hybrid), [expected]);
    for source in [
        "model = \"statistical\"",
        "model = \"hybrid\", generator = \"frames\"",
        &format!("{hybrid}, r_max = \"3Mbps\""),
    ] {
        assert!(warnings(source).is_empty(), "{source}");
    }
}

#[test]
fn a_source_of_pictures_names_what_its_encoder_has_to_know() {
    let source = |more: &str| format!("{{ kind = \"codec\", generator = \"sports\", fps = 25{more} }}");
    let playout = ("flows.video.playout", "{ kind = \"fixed\", delay = \"80ms\" }");
    let sizes = |sets: &[(&str, &str)]| {
        let mut loaded = load_with(sets, &Loader::default()).expect("right");
        let [codec] = &loaded.parts.codecs[..] else { panic!("one stream of pictures") };
        assert_eq!((codec.flow, codec.stream, codec.max_payload.as_u64()), (0, 0, 1000));
        let sizes = codec.spec.dejitter.clone();
        let lacking = loaded.parts.check_encoders().expect_err("no encoder yet").to_string();
        assert!(lacking.contains("paceline[video]"), "{lacking}");
        loaded.parts.codec_mut(0, 0).expect("a source of pictures").attach(std::sync::Arc::new(Nothing));
        assert!(loaded.parts.check_encoders().is_ok() && loaded.parts.codec_mut(0, 1).is_none());
        sizes
    };
    let ms = TimeDelta::from_millis;
    assert_eq!(sizes(&[("flows.video.source", &source(""))]), [ms(200)]);
    assert_eq!(sizes(&[("flows.video.source", &source("")), playout]), [ms(80)]);
    let two = source(", dejitter = [\"50ms\", \"0s\"]");
    assert_eq!(sizes(&[("flows.video.source", &two), playout]), [ms(50), ms(0)]);
}

/// An encoder that skips every frame.
#[derive(Debug)]
struct Nothing;

impl paceline_media::FrameEncoder for Nothing {
    fn encode(&self, _request: &paceline_media::FrameRequest) -> paceline_media::EncodedFrame {
        paceline_media::EncodedFrame { payload: paceline_units::Bytes::ZERO, key: false }
    }
}

#[test]
fn numbers_of_a_session_are_said_or_drawn_from_the_seed() {
    let of = |seed: u64, rtp: &str| {
        let text = format!(
            "duration = \"1s\"\nseed = {seed}\n[links.l]\nrate = \"1Mbps\"\nqueue = {{ packets = 9 }}\n[flows.f]\n\
             source = {{ kind = \"bulk\" }}\npath = [\"l\"]\ncontroller = \"scream\"\n{rtp}\n"
        );
        load(&Origin { text: &text, file: "session.toml", sets: &[] }, &Loader::default())
    };
    let drawn = |seed| rtp(&of(seed, "").expect("right")).first_sequences.clone();
    assert_eq!(drawn(1), drawn(1));
    assert!((2..9).any(|seed| drawn(seed) != drawn(1)));
    let said = of(1, "rtp = { ssrc = 4294967295, first_sequence = 65535 }").expect("right");
    let RtpParts { identity, first_sequences, .. } = rtp(&said);
    assert_eq!(
        (identity.ssrc, identity.first_timestamp, &first_sequences[..]),
        (Some(u32::MAX), None, &[65_535][..])
    );
    let again = parse(&said.scenario.to_toml(), "again.toml").expect("right");
    let TransportSpec::Rtp(session) = &again.flows[0].transport else { panic!("an RTP flow") };
    assert_eq!(session.identity, *identity, "written back");
    let error = of(1, "rtp = { first_sequence = 65536 }").map(|_| ()).expect_err("out of range");
    assert!(error.to_string().contains("first_sequence") && error.to_string().contains("65535"), "{error}");
}
