//! The units that a header names, such as those of `time_ms,download (kbit/s)`.

/// The units of a table's numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Units {
    /// Mbit/s of the unit of rates.
    pub mbps: f64,
    /// Seconds of the unit of times and holds.
    pub seconds: f64,
}

impl Units {
    /// Units of the formats: Mbit/s and seconds.
    pub const OF_FORMATS: Units = Units { mbps: 1.0, seconds: 1.0 };

    /// The units in the headings of the rate and of the time; a heading without one has the format's.
    pub fn of(rate: &str, time: Option<&str>) -> Units {
        let mbps = words(rate).find_map(mbps).unwrap_or(1.0);
        let seconds = time.and_then(|time| words(time).find_map(seconds)).unwrap_or(1.0);
        Units { mbps, seconds }
    }
}

/// The words of a heading: `download_kbps`, `Download (kbit/s)` and `throughput[kb/s]` have two each.
fn words(heading: &str) -> impl Iterator<Item = &str> {
    let is_of_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '/';
    heading.split(move |letter| !is_of_word(letter)).filter(|word| !word.is_empty())
}

/// Mbit/s of a unit of rates, if the word is one. A capital B is a byte, unless the whole word is in capitals.
fn mbps(word: &str) -> Option<f64> {
    let (unit, factor) = match word.as_bytes().first()? {
        b'k' | b'K' => (&word[1..], 1e-3),
        b'm' | b'M' => (&word[1..], 1.0),
        b'g' | b'G' => (&word[1..], 1e3),
        _ => (word, 1e-6),
    };
    match unit {
        "bps" | "BPS" | "b/s" | "bit/s" | "bits/s" | "Bit/s" | "Bits/s" => Some(factor),
        "Bps" | "B/s" | "byte/s" | "bytes/s" | "Byte/s" | "Bytes/s" => Some(8.0 * factor),
        _ => None,
    }
}

/// Seconds of a unit of time, if the word is one.
fn seconds(word: &str) -> Option<f64> {
    match word {
        "s" | "sec" | "seconds" => Some(1.0),
        "ms" | "msec" | "millis" | "milliseconds" => Some(1e-3),
        "us" | "microseconds" => Some(1e-6),
        "ns" | "nanoseconds" => Some(1e-9),
        "min" | "minutes" => Some(60.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_words_of_a_heading() {
        let found = |rate, time| {
            let units = Units::of(rate, time);
            (units.mbps, units.seconds)
        };
        assert_eq!(found("kbps", Some("time")), (1e-3, 1.0));
        assert_eq!(found("Download (Mbit/s)", Some("time_ms")), (1.0, 1e-3));
        assert_eq!(found("upload_bps", Some("t (us)")), (1e-6, 1e-6));
        assert_eq!(found("rate[MB/s]", Some("minutes")), (8.0, 60.0));
        assert_eq!(found("KBPS", None), (1e-3, 1.0));
        assert_eq!(found("gbps of the second column", Some("s")), (1e3, 1.0));
        assert_eq!(found("rate", Some("items")), (1.0, 1.0), "no unit is named");
    }
}
