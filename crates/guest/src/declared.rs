//! The declaration of a kind whose parameters are known when the program runs, not when it is compiled.

use paceline_cc::Steers;
use paceline_units::param::{Kind, Need, Spec, Value};
use paceline_units::{Bitrate, Bytes, TimeDelta};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A parameter that a mind declares: name, usual value, help.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Declared {
    /// Name, as scenarios write it.
    pub name: String,
    /// Usual value as scenarios write it, which says the kind: `true`, `10`, `0.8`, `20ms`, `2Mbps`, `1200B`, or a word.
    pub value: String,
    /// Its description, in a line; may be empty.
    pub help: String,
}

/// Which calls a mind wants beside [`Mind::start`](crate::Mind::start) and [`Mind::report`](crate::Mind::report).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hears {
    /// [`Mind::sent`](crate::Mind::sent).
    pub sent: bool,
    /// [`Mind::timeout`](crate::Mind::timeout).
    pub timeout: bool,
    /// [`Mind::recovery`](crate::Mind::recovery).
    pub recovery: bool,
    /// [`Mind::assigned`](crate::Mind::assigned).
    pub assigned: bool,
    /// Whether a program is told of packets sent without being waited for: what it answers then holds from its next answer on.
    pub unanswered: bool,
}

/// A kind of controller from outside.
#[derive(Clone, Debug)]
pub struct Description {
    /// Name of the kind in scenarios.
    pub kind: String,
    /// Its description, in a line.
    pub help: String,
    /// Its version, which results name.
    pub version: String,
    /// The quantity that it steers: [`Steers::Media`], [`Steers::Datagrams`] or [`Steers::ByteStream`].
    pub steers: Steers,
    /// Which calls it wants to hear.
    pub hears: Hears,
    /// The parameters that a scenario may set, with their usual values.
    pub parameters: Vec<Declared>,
}

/// The kind and the value that a text writes.
fn typed(text: &str) -> (Kind, Value) {
    const KINDS: [Kind; 6] = [Kind::Flag, Kind::Count, Kind::Ratio, Kind::Time, Kind::Rate, Kind::Size];
    const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
    let read = |kind: Kind| Spec { kind, range: ANY, ..Spec::by_hand("", "", "", "") }.read(text).ok();
    let known = KINDS.into_iter().find_map(|kind| Some((kind, read(kind)?)));
    known.unwrap_or((Kind::Text("text", "a text"), Value::Text(text.into())))
}

impl Declared {
    /// The value that a number of the messages means: seconds, Mbit/s, bytes, or a number without unit.
    pub(crate) fn of_number(&self, number: f64) -> Value {
        match typed(&self.value).1 {
            Value::Time(_) => Value::Time(TimeDelta::from_secs_f64(number)),
            Value::Rate(_) => Value::Rate(Bitrate::from_bps_f64(number * 1e6)),
            Value::Size(_) => Value::Size(Bytes::new(number as u64)),
            Value::Count(_) => Value::Count(number as u64),
            Value::Flag(_) => Value::Flag(number != 0.0),
            _ => Value::Ratio(number),
        }
    }
}

/// The parameters as a registry holds them, for as long as the program runs, and their usual values.
///
/// The same declarations are kept once: a notebook that declares its controller again and again keeps one set for each that differs.
pub(crate) fn specs(parameters: &[Declared]) -> (&'static [Spec], Vec<Option<Value>>) {
    static KEPT: Mutex<BTreeMap<Vec<Declared>, &'static [Spec]>> = Mutex::new(BTreeMap::new());
    let values = parameters.iter().map(|parameter| Some(typed(&parameter.value).1)).collect();
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let specs = *kept.entry(parameters.to_vec()).or_insert_with(|| {
        let spec = |parameter: &Declared| {
            let (kind, _) = typed(&parameter.value);
            let (name, help) = (interned(&parameter.name), interned(&parameter.help));
            Spec { kind, need: Need::Optional, ..Spec::by_hand(name, "", "", help) }
        };
        parameters.iter().map(spec).collect::<Vec<_>>().leak()
    });
    (specs, values)
}

/// A text for as long as the program runs; the same text once.
pub(crate) fn interned(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeMap<String, &'static str>> = Mutex::new(BTreeMap::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.entry(text.into()).or_insert_with(|| String::from(text).leak())
}
