//! A mind's answer, in the units of people: looked at before it holds.

use paceline_units::{Bitrate, Bytes, Time};

/// The highest rate that an answer may name, in Mbit/s.
const FASTEST_MBPS: f64 = 1e6;
/// The largest window that an answer may name, in bytes.
const LARGEST_WINDOW: f64 = 1e12;
/// The latest time that an answer may name, in seconds.
const LATEST_S: f64 = 1e9;
/// The largest probe that an answer may ask for, in bytes.
const LARGEST_PROBE: f64 = 1e9;

/// A burst that a mind asks for, to learn whether the path carries its rate. A mind's probes are numbered from 1 in their order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Burst {
    /// Rate at which it is sent, in Mbit/s.
    pub mbps: f64,
    /// Bytes on the link that are sent: media first, padding for the rest.
    pub bytes: f64,
}

/// A mind's answer to a call. An absent field stays as it was; an infinite one takes the limit away.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Answer {
    /// Target bitrate of the media, headers in, in Mbit/s.
    pub target_mbps: Option<f64>,
    /// Rate at which packets are spaced, in Mbit/s; infinite: they are not.
    pub pacing_mbps: Option<f64>,
    /// Most bytes in flight, on the link; infinite: no limit.
    pub window_bytes: Option<f64>,
    /// When the mind is to be woken, in seconds of the run; infinite: never.
    pub next_timeout_s: Option<f64>,
    /// A probe to send.
    pub probe: Option<Burst>,
}

/// A number of an answer, or none for an infinite one.
fn within(name: &str, value: f64, (most, unit): (f64, &str)) -> Result<Option<f64>, String> {
    match value {
        f64::INFINITY => Ok(None),
        value if (0.0..=most).contains(&value) => Ok(Some(value)),
        _ => Err(format!("{name}: found {value}, expected {unit} from 0 to {most:.0}")),
    }
}

/// An answer whose numbers were looked at. The outer option is whether it says anything.
#[derive(Clone, Copy, Default)]
pub(crate) struct Checked {
    pub target: Option<Bitrate>,
    pub pacing: Option<Option<Bitrate>>,
    pub window: Option<Option<Bytes>>,
    pub timeout: Option<Option<Time>>,
    pub probe: Option<(Bitrate, Bytes)>,
}

impl Answer {
    /// The answer's values, each within its range.
    pub(crate) fn checked(self) -> Result<Checked, String> {
        let number =
            |name: &str, value: Option<f64>, range| value.map(|value| within(name, value, range)).transpose();
        const MBPS: (f64, &str) = (FASTEST_MBPS, "Mbit/s");
        let rate = |mbps: f64| Bitrate::from_bps_f64(mbps * 1e6);
        let target = match number("target_mbps", self.target_mbps, MBPS)? {
            Some(None) => {
                return Err("target_mbps: found inf, expected Mbit/s: an encoder needs a rate".into());
            }
            target => target.flatten().map(rate),
        };
        let pacing = number("pacing_mbps", self.pacing_mbps, MBPS)?.map(|pacing| pacing.map(rate));
        if pacing == Some(Some(Bitrate::ZERO)) {
            return Err("pacing_mbps: found 0, expected Mbit/s above 0: nothing would ever leave".into());
        }
        let window = number("window_bytes", self.window_bytes, (LARGEST_WINDOW, "bytes"))?;
        let timeout = number("next_timeout_s", self.next_timeout_s, (LATEST_S, "seconds of the run"))?;
        let above_zero = |name: &str, value: f64, (most, unit): (f64, &str)| {
            let expected =
                || format!("probe: {name}: found {value}, expected {unit} above 0, at most {most:.0}");
            (value > 0.0 && value <= most).then_some(value).ok_or_else(expected)
        };
        let burst = |Burst { mbps, bytes }| {
            let bytes = above_zero("bytes", bytes, (LARGEST_PROBE, "bytes"))?;
            Ok::<_, String>((rate(above_zero("mbps", mbps, MBPS)?), Bytes::new(bytes.ceil() as u64)))
        };
        Ok(Checked {
            probe: self.probe.map(burst).transpose()?,
            target,
            pacing,
            window: window.map(|window| window.map(|bytes| Bytes::new(bytes as u64))),
            timeout: timeout.map(|timeout| timeout.map(Time::from_secs_f64)),
        })
    }
}
