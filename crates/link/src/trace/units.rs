//! The units that a header names, such as those of `time_ms,download (kbit/s)`.

use super::Measure;
use alloc::format;
use paceline_units::text::Dimension;

/// The units of a table's numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Units {
    /// How many of the measure's usual unit the unit of values is.
    pub value: f64,
    /// Seconds of the unit of times and holds.
    pub seconds: f64,
}

impl Units {
    /// Units of the formats: the measure's usual one, and seconds.
    pub const OF_FORMATS: Units = Units { value: 1.0, seconds: 1.0 };

    /// The units in the headings of the value and of the time; a heading without one has the format's.
    pub fn of(measure: Measure, value: &str, time: Option<&str>) -> Units {
        let unit = match measure {
            Measure::Rate => words(value).find_map(mbps),
            Measure::Delay => words(value).find_map(seconds).map(|seconds| seconds * 1e3),
            Measure::Ratio => (value.contains('%') || words(value).any(is_percent)).then_some(0.01),
            Measure::Factor => None,
        };
        let seconds = time.and_then(|time| words(time).find_map(seconds)).unwrap_or(1.0);
        Units { value: unit.unwrap_or(1.0), seconds }
    }
}

/// The words of a heading: `download_kbps`, `Download (kbit/s)` and `throughput[kb/s]` have two each.
fn words(heading: &str) -> impl Iterator<Item = &str> {
    let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '/';
    heading.split(move |letter| !is_of_word(letter)).filter(|word| !word.is_empty())
}

fn is_percent(word: &str) -> bool {
    ["percent", "pct"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// Mbit/s of a unit of rates, if the word is one: `k` and `bit` are none, since they say nothing of time.
fn mbps(word: &str) -> Option<f64> {
    let is_rate = ["/s", "ps", "PS"].iter().any(|end| word.ends_with(end));
    Some(one(Dimension::Rate, word).filter(|_| is_rate)? / 1e6)
}

/// Seconds of a unit of time, if the word is one. Of single letters only `s` is.
fn seconds(word: &str) -> Option<f64> {
    Some(one(Dimension::Time, word).filter(|_| word.len() > 1 || word == "s")? / 1e9)
}

/// Base units of one of a unit, by any name that people give it.
fn one(dimension: Dimension, unit: &str) -> Option<f64> {
    Some(dimension.meant(&format!("1{unit}"))?.ok()? as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_words_of_a_heading() {
        let of = |measure, value, time| {
            let units = Units::of(measure, value, time);
            (units.value, units.seconds)
        };
        let found = |rate, time| of(Measure::Rate, rate, time);
        assert_eq!(found("kbps", Some("time")), (1e-3, 1.0));
        assert_eq!(found("Download (Mbit/s)", Some("time_ms")), (1.0, 1e-3));
        assert_eq!(found("upload_bps", Some("t (us)")), (1e-6, 1e-6));
        assert_eq!(found("rate[MB/s]", Some("minutes")), (8.0, 60.0));
        assert_eq!(found("KBPS", None), (1e-3, 1.0));
        assert_eq!(found("gbps of the second column", Some("s")), (1e3, 1.0));
        assert_eq!(found("rate", Some("items")), (1.0, 1.0), "no unit is named");
        for (measure, heading, value) in [
            (Measure::Delay, "rtt_ms", 1.0),
            (Measure::Delay, "latency [s]", 1e3),
            (Measure::Delay, "owd (us)", 1e-3),
            (Measure::Delay, "delay", 1.0),
            (Measure::Ratio, "loss (%)", 0.01),
            (Measure::Ratio, "loss_pct", 0.01),
            (Measure::Ratio, "loss", 1.0),
        ] {
            assert!((of(measure, heading, None).0 / value - 1.0).abs() < 1e-12, "{heading}");
        }
    }
}
