//! A resolved scenario reads back as itself, and no text makes the reader panic.

use super::bad_input::GOOD;
use crate::{
    FlowSpec, FrameGenerator, RateSpec, Scenario, SourceSpec, StreamLimits, TransportSpec, apply, parse,
    parse_with,
};
use paceline_cc::ControllerParams;
use paceline_link::{QueueConfig, QueueLimit};
use paceline_rtp::FeedbackConfig;
use paceline_units::param::{Kind, ParamSet as _, Value};
use paceline_units::{Bitrate, Bytes, TimeDelta};
use proptest::prelude::*;

/// When the receiver of a flow over RTP reports.
fn feedback(flow: &FlowSpec) -> &FeedbackConfig {
    match &flow.transport {
        TransportSpec::Rtp(session) => &session.feedback,
        other => panic!("a flow over {}", other.name()),
    }
}

/// One of several texts; `#` in each becomes a number.
fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    (0..texts.len(), 1u64..5_000).prop_map(|(index, number)| texts[index].replace('#', &number.to_string()))
}

fn rate() -> impl Strategy<Value = String> {
    one_of(&[
        "\"#kbps\"",
        "\"1.#Mbps\"",
        "{ steps = [[\"0s\", \"#kbps\"], [\"0.#s\", \"0bps\"], [\"5.#s\", \"3Mbps\"]] }",
        "{ steps = [[\"0s\", { trace = \"x\", format = \"mbps-hold\", repeat = true }], [\"9.#s\", { generator = \"mmwave\" }]] }",
        "{ ramp = [[\"0s\", \"#kbps\"], [\"0.#s\", \"0bps\"], [\"5.#s\", \"3Mbps\"]] }",
        "{ trace = \"a b.csv\", format = \"time-mbps\", repeat = true, column = # }",
        "{ trace = 'C:\\x.csv', format = \"mbps\", interval = \"#ms\", column = \"down\\tload\", scale = 0.#, zero = \"#Mbps\" }",
        "{ trace = \"x.json\", offset = \"#us\" }",
        "{ trace = \"x.gz\", format = \"mahimahi\", opportunity = \"#B\" }",
        "{ trace = \"x\", format = \"mbps-hold\", time_column = # }",
        "{ generator = \"mmwave\", seed = #, los = { mean = \"#Mbps\", dwell = \"#ms\" }, outage_ratio = 0.# }",
        "{ generator = \"mmwave\", preset = \"lumos5g-walking\", seed = #, interval = \"#ms\", repeat = true }",
        "{ generator = \"mmwave\", states = [{ name = \"a b\", rates = [\"0bps\", \"#kbps\"], dwell = \"#ms\" }, { name = \"c\", rates = [\"#Mbps\"], dwell = \"#s\", dwell_shape = 0.5, correlation = \"1.#s\", next = { \"a b\" = # } }] }",
        "{ generator = \"mmwave\", length = \"#s\", blocked = { shape = \"normal\", std = \"0bps\" }, scale = # }",
    ])
}

fn link() -> impl Strategy<Value = String> {
    let queue = one_of(&[
        "limit = \"#us\"",
        "kind = \"droptail\", packets = #",
        "bytes = \"#kB\"",
        "packets = #, scale = { ramp = [[\"0s\", 1], [\"#s\", 0.#]] }",
        "kind = \"codel\", scale = { trace = \"x.csv\", column = \"limit\" }",
        "kind = \"red\", max_th = 1#, q_w = 0.#, gentle = false, mean_pktsize = \"#B\"",
        "kind = \"codel\", target = \"#us\", ecn = false",
        "kind = \"fq-codel\", ce_threshold = \"#us\", flows = #, bytes = \"#kB\"",
        "kind = \"pie\", estimate = \"dequeue-rate\", alpha = 0.#, limit = \"#ms\"",
        "kind = \"dualpi2\", scheduler = \"ts-fifo\", tupdate = \"#us\", p_cmax = 0.#",
    ]);
    let extra = one_of(&[
        "",
        "delay = \"#us\"\noverhead = \"#B\"",
        "delay = { steps = [[\"0s\", \"#ms\"], [\"1.#s\", \"#us\"]] }\novertake = true",
        "corrupt = 0.#\npolicer = { rate = \"#kbps\", burst = \"#B\", action = \"mark\" }",
        "shaper = { rate = \"#kbps\", burst = \"#B\", limit = \"#ms\" }",
        "duplicate = { ratio = { steps = [[\"0s\", 0.#], [\"1s\", 0]] }, delay = \"#us\" }",
        "shaper = { rate = \"#kbps\", burst = \"#B\", packets = # }\npolicer = { rate = \"#kbps\", burst = \"#B\" }",
        "loss = { kind = \"bernoulli\", ratio = { trace = \"x.csv\", column = \"loss\", interval = \"1s\" } }",
        "noise = { kind = \"uniform\", max = \"#ms\", scale = { ramp = [[\"0s\", 0.#], [\"2s\", 3]], every = \"5s\" } }",
        "delay = { ramp = [[\"0s\", \"#ms\"], [\"1.#s\", \"#us\"]] }",
        "delay = { trace = \"x y.csv\", column = \"rtt\", time_column = #, offset = \"#ms\", scale = 0.#, repeat = true }",
        "mark = { kind = \"step\", at = \"#us\" }\nloss = { kind = \"bernoulli\", ratio = 0.# }",
        "mark = { kind = \"ramp\", low = \"#us\", high = \"#ms\" }\nnoise = { kind = \"rfc8868\", n_std = # }",
        "mark = { kind = \"classic\", at = \"5ms\", for = \"#ms\" }\nnoise = { kind = \"uniform\", max = \"#us\" }",
        "loss = { kind = \"gilbert-elliott\", p = 0.#, r = 0.5 }\nnoise = { kind = \"exponential\", mean = \"#us\" }",
        "noise = [{ kind = \"grant\", period = \"#us\" }, { kind = \"empirical\", quantiles = [\"#us\", \"1s\"], correlation = \"#ms\" }]",
        "noise = [{ kind = \"retransmission\", p = 0.#, round = \"#us\", bad = \"#s\", good = \"1s\" }]",
        "noise = { kind = \"exponential\", mean = \"#us\", max = \"1s\", reorder = true }\ndown = [[\"#us\", \"1s\"]]",
    ]);
    (rate(), queue, extra)
        .prop_map(|(rate, queue, extra)| format!("rate = {rate}\nqueue = {{ {queue} }}\n{extra}\n"))
}

fn source() -> impl Strategy<Value = String> {
    one_of(&[
        "{ kind = \"bulk\" }",
        "{ kind = \"bulk\", length = \"#kB\" }",
        "{ kind = \"cbr\", rate = \"#kbps\", fps = 29.97, adaptive = true }",
        "{ kind = \"trace-encoder\", file = \"f.txt\", fps = #, offset = \"#ms\" }",
        "{ kind = \"trace-encoder\", file = \"f.txt\", format = \"syncodecs\", nominal_gain = 0.#, nominal_start = \"#kbps\" }",
        "{ kind = \"trace-encoder\", generator = \"frames\", key_frame_scale = 1.# }",
        "{ kind = \"trace-encoder\", generator = { kind = \"frames\", mean = \"#kB\", sigma = 0.#, seed = # } }",
        "{ kind = \"trace-encoder\", generator = { kind = \"frames\", preset = \"trace-key\", mean = \"#kB\", count = # } }",
        "{ kind = \"trace-encoder\", generator = { kind = \"frames\", sizes = [0.#, #], correlation = 0.5, correlation2 = 0.3, key_sigma = 0.#, after_key = [0.#, 2] } }",
        "{ kind = \"rfc8593\", model = \"statistical\", tau_v = \"#ms\", k_d = #, k_b = \"#B\", scale_t = 0.#, scale_b = 0.# }",
        "{ kind = \"rfc8593\", model = \"statistical\", r_min = \"0bps\", r_max = \"#Mbps\", transient_change = 0.#, seed = #, fps = 29.97 }",
        "{ kind = \"rfc8593\", model = \"trace\", ladder = [{ rate = \"#kbps\", file = \"a b\" }, { rate = \"9Mbps\", file = 'c', format = \"sizes\" }], skip_frames = # }",
        "{ kind = \"rfc8593\", model = \"trace\", generator = \"frames\", rates = [\"#bps\", \"1Mbps\"], fs_min = \"#B\", r_min = \"#kbps\" }",
        "{ kind = \"rfc8593\", model = \"hybrid\", generator = { kind = \"frames\", count = #, sigma = 0.#, seed = # }, r_max = \"#kbps\", fs_max = \"#kB\" }",
        "{ kind = \"rfc8593\", model = \"hybrid\", generator = { kind = \"frames\", key_interval = #, scene_change = 0.# }, tau_v = \"#ms\", fps = # }",
    ])
}

/// A flow's controller: any parameter with any value in its range.
fn controller() -> impl Strategy<Value = String> {
    let all: Vec<_> = ControllerParams::all().filter(|(params, _)| !params.specs().is_empty()).collect();
    let any = (prop::sample::select(all), any::<prop::sample::Index>(), 0.0f64..1.0);
    let any = any.prop_map(|((params, profile), index, part)| {
        let spec = params.specs()[index.index(params.specs().len())];
        let (low, high) = (spec.range.0, spec.range.1.min(1e6));
        let base = low + part * (high - low);
        let value = match spec.kind {
            Kind::Time => Value::Time(TimeDelta::from_secs_f64(base)),
            Kind::Ratio => Value::Ratio(base),
            Kind::Flag => Value::Flag(part > 0.5),
            kind => kind.of_base(base as u64),
        };
        let (kind, value) = (params.kind(), crate::params::toml(&value));
        format!("{{ kind = \"{kind}\", profile = \"{profile}\", {} = {value} }}", spec.name)
    });
    prop_oneof![
        any,
        one_of(&["\"scream\"", "\"fixed\"", "{ kind = \"fixed\", rate = \"#kbps\" }", "\"none\""])
    ]
}

fn flow() -> impl Strategy<Value = String> {
    let extra = one_of(&[
        "",
        "ecn = \"l4s\"\nreturn_path = [\"back\"]",
        "ecn = \"classic\"\nreturn_delay = \"#us\"\nstart = \"0.#s\"\nstop = \"7.#s\"",
        "feedback = { packets = #, time = \"#ms\", marker = false, clock = \"1/#s\", overlap = # }\nrecord = true",
        "feedback = { skew = -2.5, clock_steps = [[\"1s\", \"-#s\"], [\"3s\", \"0.#s\"]] }",
        "feedback = { by_rate = true, reorder_time = \"#ms\", overlap = # }",
        "playout = { kind = \"adaptive\", smoothing = # }\noverhead = \"28B\"",
        "playout = { kind = \"fixed\", delay = \"#ms\" }\ntransport = \"rtp\"",
        "pause = [[\"1.#s\", \"3.#s\"]]\ncount = 3\nstart_within = \"0.#s\"",
    ]);
    let media = prop_oneof![
        source().prop_map(|source| (format!("source = {source}\npriority = 0.7\n"), String::new())),
        (source(), source()).prop_map(|(one, two)| {
            let tables = format!("[NAME.streams.cam]\nsource = {one}\npriority = 2\n[NAME.streams.'slide show']\nsource = {two}\nstart = \"4.5s\"\nstop = \"6.5s\"\n");
            (String::new(), tables)
        }),
    ];
    let dccp = (source(), dccp())
        .prop_map(|(source, dccp)| format!("path = [\"a.b\"]\nsource = {source}\n{dccp}\n"));
    let others = (controller(), media, extra).prop_map(|(controller, (source, streams), extra)| {
        format!("controller = {controller}\npath = [\"a.b\"]\n{source}{extra}\n{streams}")
    });
    prop_oneof![7 => others, 1 => dccp]
}

fn dccp() -> impl Strategy<Value = String> {
    let controller = one_of(&[
        "\"ccid2\"",
        "\"ccid3\"",
        "{ kind = \"ccid2\", profile = \"ns2\", numdupack = 5 }",
        "{ kind = \"ccid3\", profile = \"ns2\", p_tolerance = 0.01 }",
    ]);
    let connection = one_of(&[
        "ecn = \"classic\"",
        "dccp = { sequence_window = 1#, ack_delay = \"#ms\", service = \"SC=#\" }",
        "dccp = { handshake = false, short_numbers = true, options = \"9B\", header = \"40B\" }\npacket_size = \"9#B\"",
    ]);
    (controller, connection)
        .prop_map(|(controller, connection)| format!("controller = {controller}\n{connection}"))
}

fn scenario() -> impl Strategy<Value = String> {
    (link(), link(), flow(), flow(), 0u64..1_000_000).prop_map(|(forward, back, one, two, seed)| {
        let flow = |name: &str, flow: &str| {
            format!("[flows.{name}]\n{}", flow.replace("NAME", &format!("flows.{name}")))
        };
        format!(
            "duration = \"9.25s\"\nseed = {seed}\n[links.\"a.b\"]\n{forward}[links.back]\n{back}{}{}",
            flow("one", &one),
            flow("'flow \"two\"'", &two)
        )
    })
}

proptest! {
    #[test]
    fn a_resolved_scenario_reads_back_as_itself(text in scenario()) {
        // A random value may contradict another; that is an answer too.
        if let Ok(scenario) = parse(&text, "some/where/calls.toml") {
            prop_assert_eq!(&scenario.name, "calls");
            let resolved = scenario.to_toml();
            let again = parse(&resolved, "other.toml").map_err(|error| TestCaseError::fail(format!("{error}\n{resolved}")))?;
            prop_assert_eq!(&again, &scenario);
            prop_assert_eq!(again.to_toml(), resolved);
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC*", path in "[a-z.\\[\\]\"' ]{0,30}", value in "\\PC{0,20}") {
        let _ = parse(&text, "x.toml");
        let _ = parse_with(&text, "x.toml", &[(path.clone(), value.clone())]);
        let _ = parse_with(GOOD, "x.toml", &[(path, value)]);
    }

    #[test]
    fn no_spoilt_scenario_panics(at in any::<prop::sample::Index>(), cut in 0usize..20, put in "\\PC{0,6}") {
        let at = at.index(GOOD.len());
        let text = format!("{}{put}{}", &GOOD[..at], &GOOD[(at + cut).min(GOOD.len())..]);
        if let Err(error) = parse(&text, "x.toml") {
            prop_assert!(error.line().is_none_or(|line| line <= text.lines().count() + 1), "{}", error);
        }
    }

    #[test]
    fn a_value_that_is_set_is_the_value_that_is_read(seed in 0u64..1_000_000, kbps in 1u64..10_000_000) {
        let sets = [("seed".into(), seed.to_string()), ("links.bottleneck.rate".into(), format!("{kbps}kbps"))];
        let scenario = parse_with(GOOD, "x.toml", &sets).expect("both are right");
        prop_assert_eq!(scenario.seed, seed);
        prop_assert_eq!(&scenario.links[0].rate, &RateSpec::Constant(Bitrate::from_kbps(kbps)));
        // Twice the same changes nothing more.
        let once = apply(GOOD, "x.toml", &sets).expect("right");
        prop_assert_eq!(apply(&once, "x.toml", &sets).expect("right"), once);
    }
}

fn with(sets: &[(&str, &str)]) -> Scenario {
    let sets: Vec<_> = sets.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    parse_with(GOOD, "calls.toml", &sets).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn most_random_scenarios_are_right() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let right = (0..300).filter(|_| {
        let text = scenario().new_tree(&mut runner).expect("generates").current();
        parse(&text, "x.toml").is_ok()
    });
    let right = right.count();
    assert!(right > 100, "{right} of 300: the round trip tests too little");
}

#[test]
fn tables_of_a_link_or_flow_are_made_where_they_are_set() {
    let scenario = with(&[
        ("flows.video.feedback.packets", "1"),
        ("links.bottleneck.mark", "{ kind = \"step\", at = \"1ms\" }"),
        ("flows.video.controller.qdelay_target_lo", "60ms"),
        ("flows.video.controller.gain", "2"),
        ("links.bottleneck.loss.kind", "bernoulli"),
        ("links.bottleneck.loss.ratio", "0.01"),
    ]);
    assert_eq!(feedback(&scenario.flows[0]).packets, 1);
    assert!(scenario.links[0].mark.is_some() && scenario.links[0].loss.is_some());
    let params = &scenario.flows[0].controller.params;
    assert_eq!(params.value("qdelay_target_lo"), Some(Value::Time(TimeDelta::from_millis(60))));
    assert_eq!(params.value("gain"), Some(Value::Ratio(2.0)));
}

#[test]
fn what_excludes_a_key_that_is_set_goes() {
    let queue = |scenario: &Scenario| scenario.links[0].queue.clone();
    let packets = with(&[("links.bottleneck.queue.packets", "13")]);
    assert_eq!(queue(&packets), QueueConfig::droptail(QueueLimit::Packets(13)));
    let time = with(&[("links.bottleneck.queue.limit", "2s"), ("links.bottleneck.queue.limit", "1s")]);
    assert_eq!(queue(&time), QueueConfig::droptail(QueueLimit::Time(TimeDelta::from_secs(1))));
    let file = with(&[("flows.video.source.file", "x.txt")]);
    let SourceSpec::TraceEncoder(encoder) = &file.flows[0].streams[0].source else { panic!("an encoder") };
    assert_eq!(encoder.frames.file.as_ref().map(|file| file.0.as_str()), Some("x.txt"));
    assert_eq!(encoder.frames.generator, None);
    // In a feedback, packets excludes nothing.
    let both = with(&[("flows.video.feedback.time", "5ms"), ("flows.video.feedback.packets", "3")]);
    assert_eq!(
        (feedback(&both.flows[0]).packets, feedback(&both.flows[0]).time),
        (3, TimeDelta::from_millis(5))
    );
}

#[test]
fn a_ladder_and_its_generator_exclude_each_other() {
    const LADDER: &str = "[{ rate = \"1kbps\", file = \"a\" }, { rate = \"2kbps\", file = \"b\" }]";
    const DRAWN: &str =
        "{ kind = \"rfc8593\", model = \"trace\", generator = \"frames\", rates = [\"1kbps\", \"2kbps\"] }";
    let ladder = |sets: &[(&str, &str)]| {
        let SourceSpec::Rfc8593(spec) = with(sets).flows.remove(0).streams.remove(0).source else { panic!() };
        spec.ladder
    };
    let files = ladder(&[("flows.video.source", DRAWN), ("flows.video.source.ladder", LADDER)]);
    assert_eq!((files.ladder.len(), files.ladder[1].file.0.as_str(), files.generator), (2, "b", None));
    let files = format!("{{ kind = \"rfc8593\", model = \"hybrid\", ladder = {LADDER} }}");
    let drawn = ladder(&[("flows.video.source", &files), ("flows.video.source.generator", "frames")]);
    let FrameGenerator::Frames(frames) = drawn.generator.expect("a generator");
    assert_eq!((drawn.ladder.len(), drawn.rates.len(), frames.count), (0, 7, 7_200));
}

/// The statistical model's limits are figure 2's, the others have none.
#[test]
fn limits_depend_on_the_model() {
    let limits = |source: &str| {
        let scenario = with(&[("flows.video.source", source)]);
        let SourceSpec::Rfc8593(spec) = &scenario.flows[0].streams[0].source else { panic!("a model") };
        assert_eq!(spec.params.k_b, Bytes::new(13_500));
        (spec.params.r_min, spec.params.r_max)
    };
    let statistical = limits("{ kind = \"rfc8593\", model = \"statistical\" }");
    assert_eq!(statistical, (Some(Bitrate::from_kbps(150)), Some(Bitrate::from_kbps(1_500))));
    for model in ["trace", "hybrid"] {
        let source = format!("{{ kind = \"rfc8593\", model = \"{model}\", generator = \"frames\" }}");
        assert_eq!(limits(&source), (None, None));
    }
}

/// The text of `paceline list` and of the reference on the RFC 8593 source is true.
#[test]
fn listed_defaults_of_the_video_models_are_the_defaults() {
    let listing = crate::registry::sources();
    let entry = listing.iter().find(|entry| entry.kind == "rfc8593").expect("it is listed");
    let reference = include_str!("../../../../docs/reference-sources.md");
    let section = reference.split("## RFC 8593").nth(1).expect("a section");
    let section = section.split("\n##").next().expect("its text");
    let models = [
        "model = \"statistical\"",
        "model = \"trace\", generator = \"frames\"",
        "model = \"hybrid\", generator = \"frames\"",
    ];
    let parsed = |source: &str| {
        let sets = [("flows.video.source".to_string(), format!("{{ kind = \"rfc8593\", {source} }}"))];
        parse_with(GOOD, "x.toml", &sets)
    };
    for parameter in &entry.parameters {
        assert!(
            section.contains(&format!("`{}", parameter.name)),
            "{} is not in the reference",
            parameter.name
        );
        let Some(default) = &parameter.default else { continue };
        let is_bare = matches!(&*parameter.unit, "number" | "count" | "ratio");
        let value = if is_bare { default.clone() } else { format!("\"{default}\"") };
        assert!(section.contains(&value), "{} = {value} is not in the reference", parameter.name);
        let known = models.into_iter().filter_map(|model| {
            Some((model, parsed(&format!("{model}, {} = {value}", parameter.name)).ok()?))
        });
        let known: Vec<_> = known.collect();
        assert!(!known.is_empty(), "no model knows {} = {value}", parameter.name);
        for (model, scenario) in known {
            assert_eq!(Ok(scenario), parsed(model), "{}", parameter.name);
        }
    }
}

#[test]
fn a_resolved_scenario_may_be_made_longer_or_shorter() {
    let resolved = with(&[]).to_toml();
    for duration in ["5s", "20s"] {
        let sets = [("duration".to_string(), duration.to_string())];
        let scenario = parse_with(&resolved, "scenario.toml", &sets).expect("nothing ends at 10 s");
        assert_eq!(scenario.flows[0].stop, None);
    }
    let stopped = with(&[("flows.video.stop", "10s")]);
    assert_eq!(stopped.flows[0].stop, Some(TimeDelta::from_secs(10)));
    assert_eq!(parse(&stopped.to_toml(), "scenario.toml"), Ok(stopped));
}

#[test]
fn defaults_are_those_of_the_contract() {
    let scenario =
        parse(&GOOD.replace("name = \"a call\"\n", "").replace("warmup = \"1s\"\n", ""), "dir/calls.toml");
    let scenario = scenario.expect("right");
    assert_eq!((scenario.name.as_str(), scenario.seed), ("calls", 1));
    assert_eq!((scenario.warmup, scenario.sample), (TimeDelta::ZERO, TimeDelta::from_millis(50)));
    let flow = &scenario.flows[0];
    assert_eq!(
        (flow.start, flow.stop, flow.return_delay),
        (TimeDelta::ZERO, None, TimeDelta::from_millis(10))
    );
    let feedback = feedback(flow);
    assert_eq!((feedback.packets, feedback.time, feedback.marker), (16, TimeDelta::from_millis(40), true));
    assert_eq!(feedback.clock.ticks_per_second(), 1024);
    assert_eq!(flow.streams[0].priority, 1.0);
}

#[test]
fn packet_size_and_mss_follow_each_other() {
    let size = |sets: &[(&str, &str)]| {
        let flow = with(sets).flows.remove(0);
        let mss = flow.controller.params.value("mss").and_then(|mss| mss.number());
        (flow.packet_size.as_u64(), mss)
    };
    assert_eq!(size(&[]), (1012, Some(1000.0)));
    assert_eq!(size(&[("flows.video.controller.profile", "reference-2022")]), (1212, Some(1200.0)));
    assert_eq!(size(&[("flows.video.controller.mss", "900B")]), (912, Some(900.0)));
    assert_eq!(size(&[("flows.video.packet_size", "1412B")]), (1412, Some(1400.0)));
    assert_eq!(size(&[("flows.video.controller", "fixed")]), (1212, None));
}

#[test]
fn a_first_target_follows_the_limits_unless_given() {
    let limits = with(&[("flows.video.controller.target_bitrate_min", "5Mbps")]).flows[0].streams[0].limits;
    let limits = limits.expect("scream has limits");
    assert_eq!(
        (limits.min, limits.start, limits.max),
        (Bitrate::from_mbps(5), Bitrate::from_mbps(5), Bitrate::from_mbps(100))
    );
}

/// Whatever the controller calls them, and though it has no such parameters: the sender holds them then.
#[test]
fn bitrate_of_a_flow_is_what_its_controller_calls_so() {
    const GIVEN: &str = "{ min = \"100kbps\", start = \"400kbps\", max = \"2Mbps\" }";
    let kbps = |value: u64| Bitrate::from_kbps(value);
    let given = StreamLimits { min: kbps(100), start: kbps(400), max: kbps(2000) };
    for controller in ["scream", "scream-v2", "gcc", "nada", "tempo", "urcp", "um", "tfrc", "rap"] {
        let scenario = with(&[("flows.video.controller", controller), ("flows.video.bitrate", GIVEN)]);
        let flow = &scenario.flows[0];
        assert_eq!(flow.streams[0].limits, Some(given), "{controller}");
        let own = flow.controller.params.bitrate_names().map(|name| flow.controller.params.value(name?));
        let rates = [given.min, given.start, given.max].map(|rate| Some(Value::Rate(rate)));
        assert!(
            own.iter().zip(rates).all(|(own, rate)| own.is_none() || *own == rate),
            "{controller}: {own:?}"
        );
        assert_eq!(own[2].is_some(), ["scream", "scream-v2", "gcc", "nada", "tempo"].contains(&controller));
        assert_eq!(parse(&scenario.to_toml(), "calls.toml").as_ref(), Ok(&scenario), "{controller}");
    }
}

#[test]
fn what_a_controller_has_by_itself_gives_way_to_the_bitrate_that_is_said() {
    let low = with(&[("flows.video.bitrate", "{ max = \"200kbps\" }")]).flows[0].streams[0].limits;
    assert_eq!(
        low.map(|limits| (limits.min, limits.start, limits.max)),
        Some([200; 3].map(Bitrate::from_kbps).into())
    );
    let high = with(&[("flows.video.bitrate", "{ min = \"200Mbps\" }")]).flows[0].streams[0].limits;
    assert_eq!(high.map(|limits| (limits.min, limits.max)), Some([200; 2].map(Bitrate::from_mbps).into()));
}

#[test]
fn bitrate_of_a_flow_is_the_default_of_its_streams() {
    let flow = "[flows.f]\ncontroller = \"tfrc\"\npath = [\"l\"]\nbitrate = { max = \"2Mbps\" }\n\
                [flows.f.streams.a]\nsource = \"frames\"\n[flows.f.streams.b]\nsource = \"frames\"\nbitrate = { start = \"300kbps\" }\n";
    let flow = flow.replace("\"frames\"", "{ kind = \"trace-encoder\", generator = \"frames\", fps = 30 }");
    let text =
        format!("duration = \"1s\"\n[links.l]\nrate = \"9Mbps\"\nqueue = {{ limit = \"300ms\" }}\n{flow}");
    let scenario = parse(&text, "calls.toml").expect("right");
    let limits = |place: usize| scenario.flows[0].streams[place].limits.expect("given");
    assert_eq!((limits(0).start, limits(0).max), (Bitrate::from_mbps(1), Bitrate::from_mbps(2)));
    assert_eq!((limits(1).start, limits(1).max), (Bitrate::from_kbps(300), Bitrate::from_mbps(2)));
    assert_eq!(parse(&scenario.to_toml(), "calls.toml"), Ok(scenario));
}
