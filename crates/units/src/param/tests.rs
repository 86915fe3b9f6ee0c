//! A set of everything that can be declared, set and refused.

use super::*;
use crate::{Bitrate, Bytes, Stack, TimeDelta};
use alloc::string::{String, ToString};
use alloc::vec;

crate::names! {
    /// A shape.
    enum Shape {
        /// All weights are alike.
        Flat = "flat",
        /// Each weight is above the one before.
        Steep = "steep",
    }
}

crate::params! {
    /// Of one side.
    struct Side {
        shape: Shape = Shape::Flat, "ours", "Shape of the side";
        weights: Vec<f64> = Vec::new(), else "all alike", in 0.0, 9.0, "ours", "Weights in order";
    }
}

crate::params! {
    /// Parameters of every kind.
    struct Whole {
        { plain: u8 = 7, }
        lasting("for"): TimeDelta = TimeDelta::ZERO, as Required, in 1e-9, f64::INFINITY, "ours", "How long it lasts";
        speed: Ramp = Ramp(Bitrate::from_kbps(200)), in 1e3, 1e12, "ours", "Gain of the rate";
        most: Option<Bytes> = None, else "no limit", in 1.0, 1e9, "ours", "Largest size";
        left: Side = Side { shape: Shape::Steep, ..Side::default() }, "ours", "The left side";
        small: u16 = 3, in 0.0, 1e9, "ours", "A small number";
        smaller: u16 = 2, in 0.0, 1e9, "ours", "A smaller number";
    }
    ordered smaller <= small;
    check fits;
}

fn fits(whole: &Whole) -> Result<(), ParamError> {
    if whole.lasting > TimeDelta::from_secs(9) {
        return Err(ParamError::new("for", whole.small, "a shorter time"));
    }
    Ok(())
}

crate::kinds! {
    /// One or the other.
    enum Either {
        /// The one with parameters of every kind.
        Whole("whole", Whole),
        /// A side.
        Side("side", Side),
    }
}

fn spec(name: &str) -> &'static Spec {
    Whole::SPECS.iter().find(|spec| spec.name == name).expect(name)
}

#[test]
fn what_is_set_reads_back_and_what_is_wrong_changes_nothing() {
    let mut whole = Whole::default();
    let second = Value::Time(TimeDelta::from_secs(1));
    assert_eq!(whole.set("for", second.clone()), Ok(()));
    assert_eq!((whole.value("for"), whole.lasting), (Some(second.clone()), TimeDelta::from_secs(1)));
    assert_eq!(whole.value("most"), None);
    assert_eq!(whole.set("most", Value::Size(Bytes::new(5))), Ok(()));
    let before = whole.clone();
    let errors = [
        (whole.set("lasting", second.clone()), "an unknown parameter", "one of the parameters for, speed"),
        (whole.set("most", second), "1s", "a size from 1B to 1000MB"),
        (whole.set("most", Value::Size(Bytes::ZERO)), "0B", "a size from 1B to 1000MB"),
        (whole.set("for", Value::Time(TimeDelta::ZERO)), "0s", "a time above 0"),
        (whole.set("small", Value::Count(70_000)), "70000", "a whole number from 0"),
        (whole.set("speed", Value::Ratio(f64::NAN)), "NaN", "a rate (gained per second) from 1kbps"),
    ];
    for (error, found, expected) in errors {
        let error = error.expect_err(expected);
        assert!(error.found.contains(found) && error.expected.contains(expected), "{error}");
    }
    assert_eq!((&whole, whole.plain), (&before, 7));
}

#[test]
fn tables_names_and_lists_keep_what_they_are_not_told() {
    let mut whole = Whole::default();
    let list = Value::List(vec![Value::Ratio(1.0), Value::Ratio(2.0)]);
    assert_eq!(whole.set("left", table([("weights", list)])), Ok(()));
    assert_eq!((whole.left.shape.name(), whole.left.weights.as_slice()), ("steep", &[1.0, 2.0][..]));
    let wrong = table([("weights", Value::List(vec![Value::Ratio(10.0)]))]);
    assert!(whole.set("left", wrong).is_err());
    assert!(whole.set("left", table([("shape", Value::Name("round"))])).is_err());
    assert_eq!(spec("left").kind.unit(), "{ shape, weights }");
    assert_eq!(Shape::KIND.unit(), "flat or steep");
    assert_eq!(Shape::ALL.iter().map(|shape| shape.name()).collect::<Vec<_>>(), Shape::NAMES);
}

#[test]
fn a_contradiction_is_found_and_so_is_what_code_set_out_of_range() {
    let mut whole = Whole { lasting: TimeDelta::from_secs(10), ..Whole::default() };
    assert_eq!(whole.check().map_err(|error| error.name), Err("for".into()));
    whole.small = 1;
    let error = whole.check().expect_err("2 is above 1");
    assert_eq!(error.to_string(), "small: found 1, expected at least smaller, which is 2");
    whole = Whole { lasting: TimeDelta::ZERO, ..Whole::default() };
    assert!(whole.check().is_err_and(|error| error.expected.contains("above 0")));
    assert_eq!((spec("for").need, spec("most").without), (Need::Required, "no limit"));
}

#[test]
fn a_family_knows_its_kinds() {
    assert_eq!(Either::KINDS, ["whole", "side"]);
    let side = Either::of("side").expect("it is there");
    assert_eq!((side.kind(), side.help(), side.specs().len()), ("side", "A side.", 2));
    assert!(Either::of("both").is_none());
}

#[test]
fn values_without_limit_have_a_word() {
    assert_eq!(Value::unlimited(Kind::Rate).map(|value| value.to_string()).as_deref(), Some(UNLIMITED));
    assert_eq!(Value::unlimited(Kind::Count), None);
    assert_eq!(spec("most").bounds(), (Some("1B".into()), Some("1000MB".into())));
}

crate::params! {
    /// A group of which only some is of use.
    struct Including {
        own: u64 = 1, in 1.0, 9.0, "ours", "A count of its own";
    }
    /// The group that is included, but for one parameter.
    with whole: Whole, without "most";
    profiles {
        "usual": "one" => Including::default,
        "quic": "called after a stack" => Including::default,
        "more": "two", over Stack::Linux => || Including { own: 2, ..Including::default() },
    }
}

#[test]
fn a_profile_imitates_the_stack_that_it_says_and_none_that_it_is_called_after() {
    let stacks = ["usual", "quic", "more", "unknown"].map(Including::stack);
    assert_eq!(stacks, [Stack::Standard, Stack::Standard, Stack::Linux, Stack::Standard]);
}

#[test]
fn an_included_group_is_set_by_its_own_names_but_for_what_is_left_out() {
    let mut all = Including::default();
    assert_eq!(all.specs().len(), Whole::SPECS.len());
    assert_eq!((all.specs()[0].name, all.specs().iter().any(|spec| spec.name == "most")), ("own", false));
    assert_eq!((all.set("own", Value::Count(3)), all.own), (Ok(()), 3));
    assert_eq!((all.set("small", Value::Count(1)), all.whole.small), (Ok(()), 1));
    assert_eq!(all.value("small"), Some(Value::Count(1)));
    assert_eq!(all.value("most"), None);
    assert!(all.set("most", Value::Size(Bytes::new(1))).is_err_and(|error| error.expected.contains("own")));
    assert_eq!(all.contradiction(), all.whole.contradiction());
    assert!(all.contradiction().is_err());
    assert_eq!(Including::profile("more").map(|more| more.own), Some(2));
}

crate::params! {
    /// The keys in one table with a side.
    struct Beside {
        colour: Option<u64> = None, as OneOf, where no ["shade"], "ours", "Colour of it";
        shade: Option<u64> = None, as OneOf, where no ["colour"], in 0.0, 9.0, "ours", "Shade of it";
        rows: Vec<Side> = Vec::new(), else "none", "ours", "Sides inside";
    }
    /// The side itself.
    with side: Side;
    idle flat_has_no_weights;
}

fn flat_has_no_weights(beside: &Beside, name: &str) -> Option<Reason> {
    let is_useless = name == "weights" && beside.side.shape == Shape::Flat;
    is_useless.then(|| Reason::Useless("nothing: a flat side has none".into()))
}

#[test]
fn sets_that_stand_in_one_table_are_one_set() {
    let names: Vec<_> = Beside::SPECS.iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["colour", "shade", "rows", "shape", "weights"]);
    assert_eq!(Beside::SPECS[0].excludes, ["shade"]);
    let mut beside = Beside::default();
    beside.set("shape", Value::Name("steep")).expect("a part's");
    beside.set("shade", Value::Count(3)).expect("its own");
    assert_eq!((beside.side.shape, beside.value("shape")), (Shape::Steep, Some(Value::Name("steep"))));
    assert_eq!(
        beside.set("weights", Value::List(vec![Value::Ratio(10.0)])).expect_err("too large").name,
        "weights"
    );
    assert_eq!(
        beside.set("size", Value::Count(1)).expect_err("unknown").expected,
        "one of the parameters colour, shade, rows, shape, weights"
    );
}

#[test]
fn what_does_nothing_is_not_among_the_values() {
    let mut beside = Beside { side: Side { shape: Shape::Steep, weights: vec![1.0] }, ..Beside::default() };
    let names = |beside: &Beside| values(beside).map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(&beside), ["shape", "weights"]);
    beside.side.shape = Shape::Flat;
    assert_eq!(names(&beside), ["shape"]);
}

#[test]
fn a_value_deep_inside_is_checked_and_named_with_its_place() {
    let rows = vec![Side::default(), Side { weights: vec![1.0, 11.0], ..Side::default() }];
    let error = Beside { rows, ..Beside::default() }.check().expect_err("above 9");
    assert_eq!(error.name, "rows[1].weights");
}

crate::params! {
    /// Lists of pairs, and a value or such a list.
    struct Course {
        name: String = String::new(), type Kind::Text("name", "a node's name"), else "no name", "", "Name of it";
        gaps: Vec<(TimeDelta, TimeDelta)> = Vec::new(), "", "When it stands still";
        weights: Vec<(TimeDelta, f64)> = Vec::new(), type WEIGHTS, else "1", in 0.5, 9.0, "", "Weights over time";
        owned: Vec<String> = Vec::new(), type Kind::Other("list of names"), as Required, "", "Names";
    }
}

const WEIGHTS: Kind = Kind::Or(&Kind::Ratio, &Kind::List(&Kind::Pair(&Kind::Time, &Kind::Ratio)));

#[test]
fn pairs_and_alternatives_are_values_like_others() {
    let mut course = Course::default();
    let at = |seconds: i64| Value::Time(TimeDelta::from_secs(seconds));
    let list = |values: &[Value]| Value::List(values.to_vec());
    let spec = |name: &str| Course::SPECS.iter().find(|spec| spec.name == name).expect(name);
    // A list without words for its absence is a value where it is empty.
    assert_eq!(values(&course).map(|(name, _)| name).collect::<Vec<_>>(), ["name", "gaps"]);
    let gaps = list(&[list(&[at(1), at(2)])]);
    assert_eq!((course.set("gaps", gaps.clone()), course.value("gaps")), (Ok(()), Some(gaps)));
    assert!(course.set("gaps", list(&[list(&[at(1)])])).is_err());
    // The range is that of the weight, not of its time.
    assert_eq!(course.set("weights", list(&[list(&[at(0), Value::Ratio(2.0)])])), Ok(()));
    let error = course.set("weights", list(&[list(&[at(1), Value::Ratio(0.1)])])).expect_err("too small");
    let expected = "a number from 0.5 to 9, or a list of [time, number], such as [[\"0s\", 1]]";
    assert_eq!(error.expected, expected);
    assert!(spec("weights").check(&Value::Ratio(3.0)).is_ok() && spec("weights").check(&at(3)).is_err());
    assert_eq!(
        (spec("weights").kind.unit(), spec("gaps").kind.unit()),
        ("ratio or list of [time, ratio]".into(), "list of [time, time]".into())
    );
    assert_eq!(
        (spec("name").expected(), spec("owned").kind),
        ("a node's name".into(), Kind::Other("list of names"))
    );
}
