//! Every wrong scenario says where, which key, what was found and what was expected.

use crate::{Place, ScenarioError, parse, parse_with};

/// The scenario that each case spoils. Line numbers below refer to it.
pub(super) const GOOD: &str = r#"name = "a call"
duration = "10s"
warmup = "1s"

[links.bottleneck]
rate = "20Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "300ms" }

[flows.video]
controller = { kind = "scream", profile = "rfc8298" }
source = { kind = "trace-encoder", generator = "frames", fps = 50 }
ecn = "l4s"
path = ["bottleneck"]
"#;

/// What is replaced, by what, and the error: line, key, a part of what was found, of what was expected, the hint.
type Case =
    (&'static str, &'static str, usize, &'static str, &'static str, &'static str, Option<&'static str>);

const CASES: &[Case] = &[
    (
        "\"20Mbps\"",
        "\"20 Mbqs\"",
        6,
        "links.bottleneck.rate",
        "\"20 Mbqs\" (text)",
        "Mbps",
        Some("\"20Mbps\""),
    ),
    ("\"20Mbps\"", "20", 6, "links.bottleneck.rate", "20 (a number)", "units: bps kbps Mbps Gbps", None),
    ("\"20Mbps\"", "\"-20Mbps\"", 6, "links.bottleneck.rate", "-20Mbps", "not below 0", None),
    ("\"20Mbps\"", "\"0Mbps\"", 6, "links.bottleneck.rate", "0Mbps", "above 0", None),
    ("\"20Mbps\"", "\"20ms\"", 6, "links.bottleneck.rate", "20ms", "a rate", None),
    ("\"20Mbps\"", "{ steps = [] }", 6, "links.bottleneck.rate.steps", "a list of 0", "rate above 0", None),
    (
        "\"20Mbps\"",
        "{ steps = [[\"1s\", \"20Mbps\"]] }",
        6,
        "links.bottleneck.rate.steps[0][0]",
        "1s",
        "\"0s\"",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ steps = [\n[\"0s\", \"20Mbps\"],\n[\"0s\", \"1Mbps\"]] }",
        8,
        "links.bottleneck.rate.steps[1][0]",
        "0s",
        "after the step before",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ trace = \"x.csv\" }",
        6,
        "links.bottleneck.rate.format",
        "nothing",
        "\"time-mbps\"",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ trace = \"x.csv\", format = \"time-mbs\" }",
        6,
        "links.bottleneck.rate.format",
        "time-mbs",
        "one of",
        Some("\"time-mbps\""),
    ),
    (
        "\"20Mbps\"",
        "{ generator = \"mmwave\", preset = \"lumos5g-walkin\" }",
        6,
        "links.bottleneck.rate.preset",
        "lumos5g-walkin",
        "one of \"lumos5g-walking\"",
        Some("\"lumos5g-walking\""),
    ),
    (
        "\"20Mbps\"",
        "{ generator = \"mmwave\", preset = \"lumos5g-walking\", states = [] }",
        6,
        "links.bottleneck.rate.states",
        "a list of 0",
        "not both",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ generator = \"mmwave\", preset = \"lumos5g-walking\", los = { dwell = \"1s\" } }",
        6,
        "links.bottleneck.rate.los",
        "a table",
        "do not go with `preset`",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ generator = \"mmwave\", ramps = true }",
        6,
        "links.bottleneck.rate.ramps",
        "true",
        "goes with states",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ generator = \"mmwave\", states = [{ name = \"a\", rates = [\"1Mbps\"], dwell = \"1s\" }] }",
        6,
        "links.bottleneck.rate.states",
        "a list of 1",
        "at least two states",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ generator = \"mmwave\", states = [{ name = \"a\", rates = [\"1Mbps\"], dwell = \"1s\" }, { name = \"a\", rates = [\"1Mbps\"], dwell = \"1s\" }] }",
        6,
        "links.bottleneck.rate.states[1].name",
        "\"a\"",
        "another name",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ generator = \"mmwave\", states = [{ name = \"a\", rates = [\"1Mbps\"], dwell = \"1s\" }, { name = \"b\", dwell = \"1s\" }] }",
        6,
        "links.bottleneck.rate.states[1].rates",
        "nothing",
        "quantiles of the state",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ generator = \"mmwave\", states = [{ name = \"a\", rates = [\"1Mbps\"], dwell = \"1s\" }, { name = \"b\", dwell = \"1s\", rates = [\"2Mbps\", \"1Mbps\"] }] }",
        6,
        "links.bottleneck.rate.states[1].rates[1]",
        "1Mbps",
        "quantiles do not fall",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ generator = \"mmwave\", states = [{ name = \"a\", rates = [\"1Mbps\"], dwell = \"1s\" }, { name = \"b\", dwell = \"1s\", rates = [\"2Mbps\"], next = { b = 1 } }] }",
        6,
        "links.bottleneck.rate.states[1].next.b",
        "1",
        "weights of the other states (\"a\")",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ generator = \"mmwave\", states = [{ name = \"a\", rates = [\"1Mbps\"], dwell = \"1s\" }, { name = \"b\", dwell = \"1s\", rates = [\"2Mbps\"], dwell_shape = 20 }] }",
        6,
        "links.bottleneck.rate.states[1].dwell_shape",
        "20",
        "from 0.1 to 10",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"trace-encoder\", generator = { kind = \"frames\", preset = \"trace-keys\" }, fps = 50 }",
        12,
        "flows.video.source.generator.preset",
        "trace-keys",
        "\"trace-key\"",
        Some("\"trace-key\""),
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"trace-encoder\", generator = { kind = \"frames\", preset = \"trace-key\", sigma = 0.2 }, fps = 50 }",
        12,
        "flows.video.source.generator.sigma",
        "0.2",
        "how ordinary frames vary",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"trace-encoder\", generator = { kind = \"frames\", sizes = [2, 1] }, fps = 50 }",
        12,
        "flows.video.source.generator.sizes",
        "a list of 2",
        "sizes that do not fall",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"trace-encoder\", generator = { kind = \"frames\", correlation = 0.9, correlation2 = 0.5 }, fps = 50 }",
        12,
        "flows.video.source.generator.correlation2",
        "0.5",
        "above 2 correlation² - 1",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ trace = \"x\", format = \"mahimahi\", interval = \"1s\" }",
        6,
        "links.bottleneck.rate.interval",
        "1s",
        "goes with the format mbps or time-mbps",
        None,
    ),
    (
        "\"20Mbps\"",
        "{ trace = \"x\", format = \"mbps\" }",
        6,
        "links.bottleneck.rate.interval",
        "nothing",
        "1s",
        None,
    ),
    (
        "delay",
        "dellay",
        7,
        "links.bottleneck.dellay",
        "an unknown key",
        "rate, delay, queue",
        Some("\"delay\""),
    ),
    ("\"10ms\"", "10", 7, "links.bottleneck.delay", "10 (a number)", "a time such as", None),
    ("\"10ms\"", "\"10msec\"", 7, "links.bottleneck.delay", "10msec", "a time", Some("\"10ms\"")),
    ("\"droptail\"", "\"kodel\"", 8, "links.bottleneck.queue.kind", "kodel", "dualpi2", Some("\"codel\"")),
    ("limit = \"300ms\"", "packets = 0", 8, "links.bottleneck.queue.packets", "0", "1 or more", None),
    ("limit = \"300ms\"", "limit = \"0s\"", 8, "links.bottleneck.queue.limit", "0s", "above 0", None),
    (
        "\"droptail\"",
        "\"dorptail\"",
        8,
        "links.bottleneck.queue.kind",
        "dorptail",
        "droptail",
        Some("\"droptail\""),
    ),
    (", limit = \"300ms\"", "", 8, "links.bottleneck.queue", "none of them", "exactly one of", None),
    ("limit", "packets = 9, limit", 8, "links.bottleneck.queue", "several", "exactly one of", None),
    (
        "\n[flows.video]",
        "mark = { kind = \"step\" }\n[flows.video]",
        9,
        "links.bottleneck.mark.at",
        "nothing",
        "time",
        None,
    ),
    (
        "\n[flows.video]",
        "mark = { kind = \"ramp\", low = \"5ms\", high = \"2ms\" }\n[flows.video]",
        9,
        "links.bottleneck.mark.high",
        "2ms",
        "at least low",
        None,
    ),
    (
        "\n[flows.video]",
        "loss = { kind = \"bernoulli\", ratio = 1.5 }\n[flows.video]",
        9,
        "links.bottleneck.loss.ratio",
        "1.5",
        "from 0 to 1",
        None,
    ),
    (
        "\n[flows.video]",
        "down = [[\"3s\", \"2s\"]]\n[flows.video]",
        9,
        "links.bottleneck.down[0][1]",
        "2s",
        "after the beginning",
        None,
    ),
    ("\"10s\"", "\"0s\"", 2, "duration", "0s", "above 0", None),
    ("\"10s\"", "\"-1s\"", 2, "duration", "-1s", "not below 0", None),
    ("\"10s\"", "\"2e9s\"", 2, "duration", "2e9s", "a time", None),
    ("\"10s\"", "\"1000001s\"", 2, "duration", "1000001s", "at most 1000000s", None),
    ("\"1s\"", "\"10s\"", 3, "warmup", "10s", "below the duration", None),
    ("warmup = \"1s\"", "seed = -1", 3, "seed", "-1", "a whole number", None),
    ("warmup = \"1s\"", "sample = \"0s\"", 3, "sample", "0s", "above 0", None),
    ("warmup", "warm_up", 3, "warm_up", "an unknown key", "warmup", Some("\"warmup\"")),
    (
        "[\"bottleneck\"]",
        "[\"botleneck\"]",
        14,
        "flows.video.path[0]",
        "botleneck",
        "bottleneck",
        Some("\"bottleneck\""),
    ),
    (
        "[\"bottleneck\"]",
        "[\"bottleneck\", \"bottleneck\"]",
        14,
        "flows.video.path[1]",
        "bottleneck",
        "once",
        None,
    ),
    ("[\"bottleneck\"]", "[]", 14, "flows.video.path", "a list of 0", "at least one link", None),
    ("\"l4s\"", "\"l4\"", 13, "flows.video.ecn", "l4", "classic", Some("\"l4s\"")),
    ("\"scream\"", "\"screem\"", 11, "flows.video.controller.kind", "screem", "fixed", Some("\"scream\"")),
    ("\"scream\"", "\"gcc\"", 11, "flows.video.controller.kind", "gcc", "not in this version yet", None),
    (
        "\"rfc8298\"",
        "\"rfc8928\"",
        11,
        "flows.video.controller.profile",
        "rfc8928",
        "reference-2022",
        Some("\"rfc8298\""),
    ),
    (
        "profile = \"rfc8298\"",
        "qdelay_target_low = \"1s\"",
        11,
        "flows.video.controller.qdelay_target_low",
        "an unknown key",
        "qdelay_target_hi",
        Some("\"qdelay_target_lo\""),
    ),
    (
        "profile = \"rfc8298\"",
        "qdelay_target_lo = 0.1",
        11,
        "flows.video.controller.qdelay_target_lo",
        "0.1 (a number)",
        "a time",
        None,
    ),
    (
        "profile = \"rfc8298\"",
        "qdelay_target_lo = \"20s\"",
        11,
        "flows.video.controller.qdelay_target_lo",
        "20s",
        "a time from 1ms to 10s",
        None,
    ),
    (
        "profile = \"rfc8298\"",
        "beta_loss = 1.5",
        11,
        "flows.video.controller.beta_loss",
        "1.5",
        "a number from 0 to 1",
        None,
    ),
    (
        "profile = \"rfc8298\"",
        "target_bitrate_min = \"5Mbps\", target_bitrate_max = \"2Mbps\"",
        11,
        "flows.video.controller.target_bitrate_max",
        "2Mbps",
        "at least target_bitrate_min, which is 5Mbps",
        None,
    ),
    (
        "ecn = \"l4s\"",
        "packet_size = \"900B\"\nx = 1",
        14,
        "flows.video.x",
        "an unknown key",
        "packet_size",
        None,
    ),
    ("ecn = \"l4s\"", "packet_size = \"12B\"", 13, "flows.video.packet_size", "12B", "13B", None),
    (
        "\"trace-encoder\"",
        "\"codec\"",
        12,
        "flows.video.source.kind",
        "codec",
        "not in this version yet",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\" }",
        12,
        "flows.video.source.model",
        "nothing",
        "\"statistical\", \"trace\", \"hybrid\"",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", modle = \"trace\" }",
        12,
        "flows.video.source.modle",
        "an unknown key",
        "model",
        Some("\"model\""),
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"hybird\" }",
        12,
        "flows.video.source.model",
        "hybird",
        "one of",
        Some("\"hybrid\""),
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"statistical\", generator = \"frames\" }",
        12,
        "flows.video.source.generator",
        "an unknown key",
        "scale_b",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"hybrid\", generator = \"frames\", scale_b = 0.1 }",
        12,
        "flows.video.source.scale_b",
        "an unknown key",
        "scale_t",
        Some("\"scale_t\""),
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"trace\", generator = \"frames\", tau_v = \"1s\" }",
        12,
        "flows.video.source.tau_v",
        "an unknown key",
        "skip_frames",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"statistical\", tau_v = \"61s\" }",
        12,
        "flows.video.source.tau_v",
        "61s",
        "from 0s to 60s",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"statistical\", k_d = 0 }",
        12,
        "flows.video.source.k_d",
        "0 (a number)",
        "from 1 to 10000",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"statistical\", k_b = \"0B\" }",
        12,
        "flows.video.source.k_b",
        "0B",
        "from 1B",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"statistical\", scale_t = nan }",
        12,
        "flows.video.source.scale_t",
        "nan",
        "from 0 to 1",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"statistical\", scale_b = 1.5 }",
        12,
        "flows.video.source.scale_b",
        "1.5",
        "from 0 to 1",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"statistical\", transient_change = -0.1 }",
        12,
        "flows.video.source.transient_change",
        "-0.1",
        "from 0 to 100",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"statistical\", r_min = \"2Mbps\" }",
        12,
        "flows.video.source.r_min",
        "2Mbps",
        "at most r_max, which is 1.5Mbps",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"statistical\", r_max = \"100kbps\" }",
        12,
        "flows.video.source.r_max",
        "100kbps",
        "at least r_min, which is 150kbps",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"statistical\", fps = 0 }",
        12,
        "flows.video.source.fps",
        "0",
        "0.001",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"hybrid\" }",
        12,
        "flows.video.source",
        "neither",
        "ladder = [",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"trace\", generator = \"frames\", ladder = [] }",
        12,
        "flows.video.source.generator",
        "frames",
        "either ladder",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"trace\", generator = \"frames\", rates = [\"1Mbps\"] }",
        12,
        "flows.video.source.rates",
        "a list of 1",
        "from 2 to 64",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"trace\", generator = \"frames\", rates = [\"1Mbps\", \"1Mbps\"] }",
        12,
        "flows.video.source.rates[1]",
        "1Mbps",
        "above the one before",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"trace\", generator = { kind = \"frames\", mean = \"1kB\" } }",
        12,
        "flows.video.source.generator.mean",
        "an unknown key",
        "sigma",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"trace\", generator = { kind = \"frames\", count = 9000000 } }",
        12,
        "flows.video.source",
        "count 9000000 for 7 rates",
        "count = 1428571 or less",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"trace\", ladder = [{ rate = \"1Mbps\", file = \"a\" }] }",
        12,
        "flows.video.source.ladder",
        "a list of 1",
        "from 2 to 64",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"trace\", ladder = [{ rate = \"1Mbps\", file = \"a\" }, { rate = \"2Mbps\" }] }",
        12,
        "flows.video.source.ladder[1].file",
        "nothing",
        "a file",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"trace\", ladder = [{ rate = \"2Mbps\", file = \"a\" }, { rate = \"1Mbps\", file = \"b\" }] }",
        12,
        "flows.video.source.ladder[1].rate",
        "1Mbps",
        "above the one before",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"trace\", rates = [], ladder = [{ rate = \"2Mbps\", file = \"a\" }, { rate = \"3Mbps\", file = \"b\" }] }",
        12,
        "flows.video.source.rates",
        "a list of 0",
        "goes with a generator",
        None,
    ),
    (
        "{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
        "{ kind = \"rfc8593\", model = \"trace\", generator = \"frames\", fs_min = \"2MB\" }",
        12,
        "flows.video.source.fs_min",
        "2MB",
        "at most fs_max, which is 1000kB",
        None,
    ),
    ("generator = \"frames\", ", "", 12, "flows.video.source", "neither", "file = FILE or generator", None),
    ("fps = 50", "fps = \"50\"", 12, "flows.video.source.fps", "\"50\" (text)", "a number", None),
    ("fps = 50", "fps = nan", 12, "flows.video.source.fps", "nan", "a number", None),
    ("ecn = \"l4s\"", "transport = \"tcp\"", 13, "flows.video.transport", "tcp", "\"rtp\"", None),
    ("ecn = \"l4s\"", "start = \"10s\"", 13, "flows.video.start", "10s", "before the end", None),
    (
        "ecn = \"l4s\"",
        "start = \"5s\"\nstop = \"5s\"",
        14,
        "flows.video.stop",
        "5s",
        "after the flow's start",
        None,
    ),
    ("ecn = \"l4s\"", "feedback = { packets = 0 }", 13, "flows.video.feedback.packets", "0", "from 1", None),
    (
        "ecn = \"l4s\"",
        "feedback = { clock = \"1/0s\" }",
        13,
        "flows.video.feedback.clock",
        "1/0s",
        "1/1024s",
        None,
    ),
    ("ecn = \"l4s\"", "record = [\"qdelay\"]", 13, "flows.video.record[0]", "qdelay", "qdelay_trend", None),
    (
        "ecn = \"l4s\"",
        "playout = { kind = \"fixed\" }",
        13,
        "flows.video.playout.delay",
        "nothing",
        "100ms",
        None,
    ),
    ("ecn = \"l4s\"", "ecn = \"off\"\nstreams = 3", 14, "flows.video.streams", "3", "either source", None),
    ("[\"bottleneck\"]", "[", 14, "", "array", "valid TOML", None),
    ("[links.bottleneck]", "[links.bottleneck", 5, "", "unclosed", "valid TOML", None),
];

fn check(error: &ScenarioError, case: &Case) {
    let &(_, _, line, key, found, expected, hint) = case;
    assert_eq!((error.place.clone(), error.key.as_str()), (Place::Line(line), key), "{error}");
    assert!(error.found.contains(found) && error.expected.contains(expected), "{error}");
    assert_eq!(error.hint.as_deref(), hint, "{error}");
    assert!(error.to_string().starts_with(&format!("calls.toml:{line}: ")), "{error}");
}

#[test]
fn each_wrong_key_and_value_is_named_with_its_line() {
    parse(GOOD, "calls.toml").expect("the unspoilt scenario is right");
    for case in CASES {
        let spoilt = GOOD.replacen(case.0, case.1, 1);
        assert_ne!(spoilt, GOOD, "{}", case.0);
        match parse(&spoilt, "calls.toml") {
            Ok(_) => panic!("accepted: {}", case.1),
            Err(error) => check(&error, case),
        }
    }
}

#[test]
fn what_is_missing_altogether_is_named_without_a_line() {
    let missing = |text: &str| parse(text, "calls.toml").expect_err("something is missing");
    let error = missing("");
    assert_eq!((error.place.clone(), error.key.as_str()), (Place::Whole, "duration"), "{error}");
    let error = missing("duration = \"1s\"");
    assert_eq!((error.place.clone(), error.key.as_str()), (Place::Whole, "flows"), "{error}");
    let error = missing("duration = \"1s\"\n[flows]");
    assert_eq!((error.place.clone(), error.key.as_str()), (Place::Line(2), "flows"), "{error}");
    assert!(error.found.contains("no flow"), "{error}");
    let error = missing(
        "duration = \"1s\"\n[flows.a]\ncontroller = \"fixed\"\nsource = { kind = \"bulk\" }\npath = [\"x\"]",
    );
    assert!(error.expected.contains("there is none"), "{error}");
    let error = missing("duration = \"1s\"\n\n[flows.a]\npath = []");
    assert_eq!((error.place.clone(), error.key.as_str()), (Place::Line(3), "flows.a.controller"), "{error}");
}

#[test]
fn contradicting_packet_sizes_are_found() {
    let with =
        |replacement: &str| parse(&GOOD.replacen("profile = \"rfc8298\" }", replacement, 1), "calls.toml");
    let error = with("mss = \"1000B\" }\npacket_size = \"1200B\"").expect_err("they contradict");
    assert_eq!((error.line(), error.key.as_str()), (Some(12), "flows.video.packet_size"), "{error}");
    assert!(error.expected.contains("1012B"), "{error}");
    let agree = with("mss = \"1000B\" }\npacket_size = \"1012B\"").expect("they agree");
    assert_eq!(agree.flows[0].packet_size.as_u64(), 1012);
}

#[test]
fn a_wrong_set_names_its_path() {
    let set = |path: &str, value: &str| {
        parse_with(GOOD, "calls.toml", &[(path.into(), value.into())]).expect_err("it is wrong")
    };
    let cases = [
        ("links.bottleneck.rate", "20Mbqs", "links.bottleneck.rate", "20Mbqs", "a rate"),
        ("links.bottleneck.rat", "20Mbps", "links.bottleneck.rat", "an unknown key", "rate, delay"),
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
        assert!(error.to_string().contains(&format!("--set {path}: ")), "{error}");
    }
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
