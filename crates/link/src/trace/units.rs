//! The units that a header names, such as those of `time_ms,download (kbit/s)`.

use super::Measure;
use alloc::format;
use paceline_units::text::{Dimension, PER_SECOND};

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
            Measure::Rate => rate_unit(value),
            Measure::Delay => time_unit(value).map(|seconds| seconds * 1e3),
            Measure::Ratio => (value.contains('%') || words(value).any(is_percent)).then_some(0.01),
            Measure::Factor => None,
        };
        let seconds = time.and_then(time_unit).unwrap_or(1.0);
        Units { value: unit.unwrap_or(1.0), seconds }
    }

    /// The unit that a heading should name instead, if its unit is one that the measure cannot have.
    pub fn refused(measure: Measure, value: &str) -> Option<&'static str> {
        let has = |is_unit: fn(&str) -> bool| words(value).any(is_unit);
        let (rate, time) = (rate_unit(value).is_some(), has(is_short_time));
        let (percent, other) = (value.contains('%') || has(is_percent), has(is_other));
        let (own, others, expected) = match measure {
            Measure::Rate => {
                (rate, time || percent, "a column of rates, in bit/s, kbit/s or Mbit/s; `column` says which")
            }
            Measure::Delay => {
                (time, rate || percent, "a column of delays, in ms, us or s; `column` says which")
            }
            Measure::Ratio => (percent, rate || time, "a column of ratios or percents; `column` says which"),
            Measure::Factor => (false, rate || time || percent, "a column of numbers; `column` says which"),
        };
        (!own && (others || other)).then_some(expected)
    }

    /// The same of the heading of times.
    pub fn refused_time(time: &str) -> Option<&'static str> {
        let is_rate = rate_unit(time).is_some();
        (is_rate || words(time).any(is_other) || time.contains('%'))
            .then_some("a column of times, in s or ms; `time_column` says which")
    }
}

/// The words of a heading: `download_kbps`, `Download (kbit/s)` and `throughput[kb/s]` have two each.
fn words(heading: &str) -> impl Iterator<Item = &str> + Clone {
    let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '/';
    heading.split(move |letter| !is_of_word(letter)).filter(|word| !word.is_empty())
}

fn is_percent(word: &str) -> bool {
    ["percent", "pct"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// A unit of time that is no word of another meaning, as `s`, `us` and `min` are.
fn is_short_time(word: &str) -> bool {
    ["ms", "msec", "usec", "milliseconds", "microseconds"].iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// A unit of neither rates nor times.
fn is_other(word: &str) -> bool {
    const OTHERS: [&str; 10] =
        ["dbm", "db", "hz", "mhz", "pps", "fps", "packets/s", "pkts/s", "frames/s", "km/h"];
    OTHERS.iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// The unit of rates that a heading names, in Mbit/s; absent if it names none. `rate_mbit_s` and `rate_mbit_per_s` name one, too.
pub fn rate_unit(heading: &str) -> Option<f64> {
    let mut rest = words(heading);
    while let Some(word) = rest.next() {
        let mut next = rest.clone().skip_while(|word| word.eq_ignore_ascii_case("per"));
        let is_each_second = next.next().is_some_and(|next| ["s", "sec"].contains(&next));
        let found = mbps(word).or_else(|| mbps(&format!("{word}/s")).filter(|_| is_each_second));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The unit of times that a heading names, in seconds; absent if it names none.
pub fn time_unit(heading: &str) -> Option<f64> {
    words(heading).find_map(seconds)
}

/// Mbit/s of a unit of rates, if the word is one: `k` and `bit` are none, since they say nothing of time, and neither is `gps`, which says
/// nothing of data.
fn mbps(word: &str) -> Option<f64> {
    let data = PER_SECOND.iter().find_map(|end| word.strip_suffix(end))?;
    Some(one(Dimension::Rate, word).filter(|_| data.contains(['b', 'B']))? / 1e6)
}

/// Seconds of a unit of time, if the word is one. Of single letters only `s` and `h` are.
fn seconds(word: &str) -> Option<f64> {
    Some(one(Dimension::Time, word).filter(|_| word.len() > 1 || ["s", "h"].contains(&word))? / 1e9)
}

/// Base units of one of a unit, by any name that people give it.
fn one(dimension: Dimension, unit: &str) -> Option<f64> {
    Some(dimension.meant(&format!("1{unit}"))?.ok()? as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_cannot_be_is_refused() {
        for (measure, heading) in [
            (Measure::Rate, "rtt_ms"),
            (Measure::Rate, "loss (%)"),
            (Measure::Rate, "RSRP [dBm]"),
            (Measure::Rate, "rate (packets/s)"),
            (Measure::Delay, "download_kbps"),
            (Measure::Delay, "load_percent"),
            (Measure::Ratio, "latency (ms)"),
            (Measure::Ratio, "lost pps"),
            (Measure::Factor, "factor %"),
        ] {
            assert!(Units::refused(measure, heading).is_some(), "{measure:?} {heading}");
        }
        for (measure, heading) in [
            (Measure::Rate, "rate"),
            (Measure::Rate, "kbps over 100 ms"),
            (Measure::Rate, "dl_min"),
            (Measure::Rate, "rate_us"),
            (Measure::Delay, "delay_ms"),
            (Measure::Delay, "delay (s)"),
            (Measure::Ratio, "loss [%]"),
            (Measure::Factor, "factor"),
        ] {
            assert_eq!(Units::refused(measure, heading), None, "{measure:?} {heading}");
        }
        assert!(Units::refused_time("kbps").is_some() && Units::refused_time("time_ms").is_none());
    }

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
        assert_eq!(found("throughput [kbits/sec]", Some("time_h")), (1e-3, 3600.0));
        assert_eq!(found("rate_kbit_s", Some("t")), (1e-3, 1.0));
        assert_eq!(found("rate kbit per s", Some("m")), (1e-3, 1.0));
        assert_eq!([rate_unit("gps"), rate_unit("kbit"), rate_unit("laps_s")], [None; 3]);
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
