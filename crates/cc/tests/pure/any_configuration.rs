//! No configuration makes a controller fail later: what cannot be is refused when it is made, and what is accepted survives
//! whatever the contract can tell it.

use paceline_cc::{AnyController, ControllerParams, FlowSetup, fixed, gcc, scream, tfrc};
use paceline_conformance::Violation;
use paceline_conformance::hostile::{Flight, drive_half, survive};
use paceline_units::param::{Kind, ParamSet, Spec, Value};
use paceline_units::{Bitrate, Bytes, RandomStream, TimeDelta};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Operations that each accepted configuration survives.
const OPERATIONS: usize = 3000;

/// Values that nobody would write for a parameter of this kind, and the ends of its range.
fn absurd(spec: &Spec) -> Vec<Value> {
    let ends = [spec.range.0, spec.range.1];
    let counts = [0, u64::MAX].into_iter().chain(ends.map(|end| end as u64));
    match spec.kind {
        Kind::Time => {
            let spans = [i64::MIN, -1, 0, 1, i64::MAX].map(TimeDelta::from_nanos);
            spans.into_iter().chain(ends.map(TimeDelta::from_secs_f64)).map(Value::Time).collect()
        }
        Kind::Rate => counts.map(|bps| Value::Rate(Bitrate::from_bps(bps))).collect(),
        Kind::Ramp => counts.map(|bps| Value::Ramp(Bitrate::from_bps(bps))).collect(),
        Kind::Size => counts.map(|bytes| Value::Size(Bytes::new(bytes))).collect(),
        Kind::Count => counts.map(Value::Count).collect(),
        Kind::Ratio => {
            let odd = [f64::NAN, f64::NEG_INFINITY, f64::INFINITY, -1.0, -0.0, f64::MIN_POSITIVE, 1e308];
            odd.into_iter().chain(ends).map(Value::Ratio).collect()
        }
        Kind::Flag => [false, true].map(Value::Flag).to_vec(),
        Kind::Name(names) => names.iter().map(|name| Value::Name(name)).collect(),
        Kind::List(of) => {
            let items = absurd(&Spec { kind: *of, ..*spec });
            let lists = [0, 2, 64, 65].into_iter();
            lists
                .flat_map(|many| items.iter().map(move |item| Value::List(vec![item.clone(); many])))
                .collect()
        }
        Kind::Text(..)
        | Kind::Pair(..)
        | Kind::Or(..)
        | Kind::Table(_)
        | Kind::Family(_)
        | Kind::Other(_) => Vec::new(),
    }
}

/// Counts of accepted and refused configurations.
#[derive(Default)]
struct Tally {
    survived: usize,
    refused: usize,
    broken: Vec<String>,
}

impl Tally {
    /// Makes the controller, and its receiver half, and tells both whatever `bytes` say.
    fn try_out(&mut self, params: &ControllerParams, setup: &FlowSetup, bytes: &[u8]) {
        let Ok(mut controller) = AnyController::new(params, setup) else {
            self.refused += 1;
            return;
        };
        let run = || {
            let mut half = AnyController::receiver_half(params);
            let flight = Flight::of(params.steers(), half.is_some());
            let broken = |violation: Violation| violation.to_string();
            let operations = survive(&mut controller, flight, bytes).map_err(broken)?;
            if operations < OPERATIONS {
                return Err(format!("{operations} operations alone"));
            }
            let bytes = &bytes[..bytes.len() / 4];
            half.as_mut().map_or(Ok(()), |half| drive_half(half, bytes).map_err(broken))
        };
        match catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("it panicked".into())) {
            Ok(()) => self.survived += 1,
            Err(why) => self.broken.push(format!("{why}: {params:?} {setup:?}")),
        }
    }

    fn is_good(&self, survived: usize, refused: usize) {
        assert!(self.broken.is_empty(), "{} broke, among them {}", self.broken.len(), self.broken[0]);
        assert!(self.survived >= survived && self.refused >= refused, "{} {}", self.survived, self.refused);
    }
}

fn bytes(seed: u64) -> Vec<u8> {
    let mut random = RandomStream::new(seed, "operations");
    (0..OPERATIONS * 34).map(|_| random.next_u64() as u8).collect()
}

/// The kinds whose place in the registry leaves `rest` when divided by 2: the halves run at the same time.
fn one_parameter_at_a_time(rest: usize) {
    let (mut tally, bytes) = (Tally::default(), bytes(1));
    for (_, kind) in ControllerParams::KINDS.iter().enumerate().filter(|(n, _)| n % 2 == rest) {
        let (usual, _) = ControllerParams::with_profile(kind, None).expect("a kind");
        for spec in usual.specs() {
            for value in absurd(spec) {
                let mut params = usual.clone();
                match params.set(spec.name, value) {
                    Ok(()) => tally.try_out(&params, &FlowSetup::default(), &bytes),
                    Err(_) => tally.refused += 1,
                }
            }
        }
    }
    tally.is_good(300, 400);
}

#[test]
fn any_value_of_a_parameter_is_refused_or_survived() {
    one_parameter_at_a_time(0);
}

#[test]
fn so_it_is_for_the_other_kinds() {
    one_parameter_at_a_time(1);
}

/// Sets about a third of the parameters to absurd values that their ranges allow.
fn scatter(params: &mut impl ParamSet, random: &mut RandomStream) {
    for spec in params.specs() {
        let values = absurd(spec);
        if !values.is_empty() && random.chance(0.3) {
            let _ = params.set(spec.name, values[random.next_u64() as usize % values.len()].clone());
        }
    }
}

#[test]
fn any_values_together_are_refused_or_survived() {
    let (mut tally, mut random) = (Tally::default(), RandomStream::new(1, "configurations"));
    for (usual, _) in ControllerParams::all() {
        for n in 0..12 {
            let (mut params, mut setup) = (usual.clone(), FlowSetup::default());
            scatter(&mut params, &mut random);
            scatter(&mut setup, &mut random);
            tally.try_out(&params, &setup, &bytes(n));
        }
    }
    tally.is_good(200, 50);
}

/// The fields of parameters are open: what was put there past `set` is found when the controller is made.
#[test]
fn what_is_out_of_range_is_refused_by_name() {
    let refused = |params: ControllerParams, setup: FlowSetup, name: &str| {
        let error = AnyController::new(&params, &setup).expect_err(name);
        assert_eq!(error.name, name, "{error}");
        assert!(!error.found.is_empty() && !error.expected.is_empty(), "{error}");
    };
    let setup = FlowSetup::default;
    let scream = |params| ControllerParams::Scream(params);
    let usual = scream::Params::default;
    refused(scream(scream::Params { beta_loss: f64::NAN, ..usual() }), setup(), "beta_loss");
    refused(
        scream(scream::Params { qdelay_target_lo: TimeDelta::from_nanos(-1), ..usual() }),
        setup(),
        "qdelay_target_lo",
    );
    let crossed = scream::Params { target_bitrate_max: Bitrate::from_bps(1000), ..usual() };
    refused(scream(crossed), setup(), "target_bitrate_max");
    let crossed = gcc::Params { capacity_deviation_min: 3.0, ..gcc::Params::default() };
    refused(ControllerParams::Gcc(crossed), setup(), "capacity_deviation_max");
    let params = fixed::Params { rate: Bitrate::ZERO, ..fixed::Params::default() };
    refused(ControllerParams::Fixed(params), setup(), "rate");
    let tfrc = || ControllerParams::Tfrc(tfrc::Params::default());
    refused(tfrc(), FlowSetup::new(Bytes::ZERO), "largest_packet");
    refused(tfrc(), FlowSetup { priorities: vec![f64::INFINITY], ..setup() }, "priorities");
    refused(tfrc(), FlowSetup { priorities: vec![1.0; 65], ..setup() }, "priorities");
    refused(tfrc(), FlowSetup { priorities: vec![], ..setup() }, "priorities");
    refused(tfrc(), FlowSetup { initial_window: 0, ..setup() }, "initial_window");
    refused(tfrc(), FlowSetup { max_window: Some(Bytes::new(1000)), ..setup() }, "max_window");
}
