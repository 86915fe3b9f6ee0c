//! Parameters of controllers as people write and read them.

use crate::quantity::{format_rate, format_size, format_time};
use paceline_cc::params::{ParamKind, ParamSpec, ParamValue};
use paceline_units::{Bitrate, Bytes, TimeDelta};

/// The word for a time, rate or size without limit.
pub const UNLIMITED: &str = "inf";

/// The value that `text` stands for if it says that there is no limit.
pub(crate) fn unlimited(kind: ParamKind, text: &str) -> Option<ParamValue> {
    if text != UNLIMITED {
        return None;
    }
    match kind {
        ParamKind::Time => Some(ParamValue::Time(TimeDelta::MAX)),
        ParamKind::Rate => Some(ParamValue::Rate(Bitrate::MAX)),
        ParamKind::Ramp => Some(ParamValue::Ramp(Bitrate::MAX)),
        ParamKind::Bytes => Some(ParamValue::Bytes(Bytes::MAX)),
        ParamKind::Ratio | ParamKind::Count | ParamKind::Flag => None,
    }
}

/// `value` without quotes, such as `100ms`, `0.8` or `true`.
pub fn text(value: ParamValue) -> String {
    match value {
        ParamValue::Time(TimeDelta::MAX)
        | ParamValue::Rate(Bitrate::MAX)
        | ParamValue::Ramp(Bitrate::MAX)
        | ParamValue::Bytes(Bytes::MAX) => UNLIMITED.into(),
        ParamValue::Time(span) => format_time(span),
        ParamValue::Rate(rate) | ParamValue::Ramp(rate) => format_rate(rate),
        ParamValue::Bytes(size) => format_size(size),
        // The shortest text that reads back as the same number, with a point.
        ParamValue::Ratio(ratio) => format!("{ratio:?}"),
        ParamValue::Count(count) => count.to_string(),
        ParamValue::Flag(flag) => flag.to_string(),
    }
}

/// `value` as TOML.
pub(crate) fn toml(value: ParamValue) -> String {
    match value.kind() {
        ParamKind::Time | ParamKind::Rate | ParamKind::Ramp | ParamKind::Bytes => {
            format!("\"{}\"", text(value))
        }
        ParamKind::Ratio | ParamKind::Count | ParamKind::Flag => text(value),
    }
}

/// A bound of a range, given in base units.
fn bound(kind: ParamKind, base: f64) -> String {
    match kind {
        ParamKind::Time => format_time(TimeDelta::from_secs_f64(base)),
        ParamKind::Rate | ParamKind::Ramp => format_rate(Bitrate::from_bps_f64(base)),
        ParamKind::Bytes => format_size(Bytes::new(base as u64)),
        ParamKind::Ratio | ParamKind::Count | ParamKind::Flag => base.to_string(),
    }
}

/// Where a bound stops being one: no scenario can say more.
fn is_open(kind: ParamKind, base: f64) -> bool {
    match kind {
        ParamKind::Time => base >= 1e9,
        ParamKind::Rate | ParamKind::Ramp => base >= 1e18,
        ParamKind::Bytes => base >= 1e18,
        ParamKind::Ratio | ParamKind::Count | ParamKind::Flag => base.is_infinite(),
    }
}

/// Lower and upper bound for people; the upper is absent where there is none.
pub(crate) fn range(spec: &ParamSpec) -> (String, Option<String>) {
    let (low, high) = spec.range;
    (bound(spec.kind, low), (!is_open(spec.kind, high)).then(|| bound(spec.kind, high)))
}

/// What is expected of a parameter, with its range.
pub(crate) fn expected(spec: &ParamSpec) -> String {
    let what = match spec.kind {
        ParamKind::Time => "a time",
        ParamKind::Rate => "a rate",
        ParamKind::Ramp => "a rate (gained per second)",
        ParamKind::Bytes => "a size",
        ParamKind::Ratio => "a number",
        ParamKind::Count => "a whole number",
        ParamKind::Flag => return "true or false".into(),
    };
    match range(spec) {
        (low, Some(high)) => format!("{what} from {low} to {high}"),
        (low, None) => format!("{what} of {low} or more"),
    }
}

/// The unit of a kind of parameter, for lists.
pub(crate) fn unit(kind: ParamKind) -> &'static str {
    match kind {
        ParamKind::Time => "time",
        ParamKind::Rate => "rate",
        ParamKind::Ramp => "rate per second",
        ParamKind::Bytes => "size",
        ParamKind::Ratio => "ratio",
        ParamKind::Count => "count",
        ParamKind::Flag => "flag",
    }
}
