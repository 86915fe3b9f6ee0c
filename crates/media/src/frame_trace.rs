//! Traces of frame sizes, and the reader of the formats they come in.
//!
//! | format | line | known from |
//! |---|---|---|
//! | `sizes` | `   1.9312000e+04`: bytes, as an integer or not | the traces of Ericsson's SCReAM |
//! | `syncodecs` | `17 P 51.00 29.09 48`: number, type, two figures (time, or QP and PSNR), bytes | cisco/syncodecs |
//!
//! Lines that are empty or start with `%` or `#` are skipped, line ends may be CRLF. The bytes are the reader's: who
//! opens (and unpacks) files is the driver.

use crate::FrameRate;
use crate::text::{TextError, quoted, text_of};
use alloc::sync::Arc;
use alloc::vec::Vec;
use paceline_units::{Bitrate, names};

names! {
    /// How a frame-size file is written.
    pub enum FrameTraceFormat {
        /// One size in bytes per line.
        Sizes = "sizes",
        /// "Nframe type X time bytes" or "Nframe type QP PSNR bytes"; only type and bytes are used.
        Syncodecs = "syncodecs",
    }
}

/// One frame of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceFrame {
    /// Payload in bytes; may be 0.
    pub bytes: u32,
    /// Whether the file calls it an I frame.
    pub key: bool,
}

/// A trace of frame sizes: at least one frame, and a mean above zero. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameTrace {
    frames: Arc<[TraceFrame]>,
}

const EXPECTED_LINE: &str = "a frame size in bytes, or \"number type X time bytes\"";
const EXPECTED_SIZES: &str = "one frame size in bytes";
const EXPECTED_SYNCODECS: &str = "\"number type X time bytes\" or \"number type QP PSNR bytes\"";
const EXPECTED_BYTES: &str = "bytes from 0 to 4294967295";
const EXPECTED_FRAMES: &str = "at least one frame above 0 bytes";

impl FrameTrace {
    /// A trace of these frames; none if they have no byte among them.
    pub fn new(frames: &[TraceFrame]) -> Option<FrameTrace> {
        let any = frames.iter().any(|frame| frame.bytes > 0);
        any.then(|| FrameTrace { frames: frames.into() })
    }

    /// Reads a file's bytes. Without `format` the first line with data decides. Fractions of a byte are rounded.
    pub fn parse(bytes: &[u8], format: Option<FrameTraceFormat>) -> Result<FrameTrace, TextError> {
        let text = text_of(bytes)?;
        let mut format = format;
        let mut frames = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with(['%', '#']) {
                continue;
            }
            let parsed = parse_line(line, &mut format);
            frames.push(parsed.map_err(|(found, expected)| TextError {
                line: Some(index + 1),
                found: quoted(found),
                expected,
            })?);
        }
        FrameTrace::new(&frames).ok_or_else(|| TextError {
            line: None,
            found: if frames.is_empty() { "no frame".into() } else { "only frames of 0 bytes".into() },
            expected: EXPECTED_FRAMES,
        })
    }

    /// The frames, never none.
    pub fn frames(&self) -> &[TraceFrame] {
        &self.frames
    }

    /// Payload of all frames together.
    fn total(&self) -> u64 {
        self.frames.iter().map(|frame| u64::from(frame.bytes)).sum()
    }

    /// Mean payload of a frame in bytes.
    pub fn mean_bytes_f64(&self) -> f64 {
        self.total() as f64 / self.frames.len() as f64
    }

    /// Mean payload rate when played at `fps`, at least 1 bit/s.
    pub fn mean_rate(&self, fps: FrameRate) -> Bitrate {
        fps.rate_of(self.total(), self.frames.len() as u64).max(Bitrate::from_bps(1))
    }
}

/// One line with data; the error is what was found and what was expected.
fn parse_line<'a>(
    line: &'a str,
    format: &mut Option<FrameTraceFormat>,
) -> Result<TraceFrame, (&'a str, &'static str)> {
    let mut fields = [""; 5];
    let mut count = 0;
    for field in line.split_ascii_whitespace() {
        if let Some(slot) = fields.get_mut(count) {
            *slot = field;
        }
        count += 1;
    }
    let detected = match count {
        1 => FrameTraceFormat::Sizes,
        5 => FrameTraceFormat::Syncodecs,
        _ => return Err((line, expected_line(*format))),
    };
    if *format.get_or_insert(detected) != detected {
        return Err((line, expected_line(*format)));
    }
    match detected {
        FrameTraceFormat::Sizes => Ok(TraceFrame { bytes: parse_bytes(fields[0])?, key: false }),
        FrameTraceFormat::Syncodecs => parse_syncodecs(line, fields),
    }
}

fn parse_syncodecs<'a>(line: &'a str, fields: [&'a str; 5]) -> Result<TraceFrame, (&'a str, &'static str)> {
    let [number, kind, first, second, bytes] = fields;
    let is_figure = |field: &str| field.parse::<f64>().is_ok_and(f64::is_finite);
    let is_kind = kind.len() == 1 && kind.bytes().all(|byte| byte.is_ascii_alphabetic());
    if number.parse::<u64>().is_err() || !is_kind || !is_figure(first) || !is_figure(second) {
        return Err((line, EXPECTED_SYNCODECS));
    }
    Ok(TraceFrame { bytes: parse_bytes(bytes)?, key: kind == "I" })
}

fn parse_bytes(field: &str) -> Result<u32, (&str, &'static str)> {
    match field.parse::<f64>() {
        Ok(value) if (0.0..=f64::from(u32::MAX)).contains(&value) => Ok((value + 0.5) as u32),
        _ => Err((field, EXPECTED_BYTES)),
    }
}

fn expected_line(format: Option<FrameTraceFormat>) -> &'static str {
    match format {
        None => EXPECTED_LINE,
        Some(FrameTraceFormat::Sizes) => EXPECTED_SIZES,
        Some(FrameTraceFormat::Syncodecs) => EXPECTED_SYNCODECS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes_of(text: &str) -> Vec<u32> {
        let trace = FrameTrace::parse(text.as_bytes(), None).expect(text);
        trace.frames().iter().map(|frame| frame.bytes).collect()
    }

    #[test]
    fn the_formats_of_the_known_traces_are_read() {
        assert_eq!(bytes_of("   1.9312000e+04\n   1.5995000e+04\n"), [19_312, 15_995]);
        assert_eq!(bytes_of("20000\r\n\r\n  20001"), [20_000, 20_001]);
        assert_eq!(bytes_of("\u{feff}% bytes\n# more\n7.6\n"), [8]);
        let chat = "% Nframe | type | X | timestamp | size (Bytes)\n0 U 0. 0.000000 0\n1 U 0. 0.005826 410\n";
        assert_eq!(bytes_of(chat), [0, 410]);
        let psnr = "% Nframe | type | QP | PSNR | size (Bytes) \n0 I 49.53 29.26 4062\n1 P 51.00 29.09 48\n";
        let trace = FrameTrace::parse(psnr.as_bytes(), Some(FrameTraceFormat::Syncodecs)).expect("psnr");
        let expected = [TraceFrame { bytes: 4062, key: true }, TraceFrame { bytes: 48, key: false }];
        assert_eq!(trace.frames(), expected);
    }

    #[test]
    fn the_mean_is_over_all_frames() {
        let trace = FrameTrace::parse(b"10000\n30000\n", None).expect("valid");
        assert_eq!(trace.mean_bytes_f64(), 20_000.0);
        assert_eq!(trace.mean_rate(FrameRate::per_second(50)), Bitrate::from_mbps(8));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let cases: [(&[u8], &str); 16] = [
            (b"", "found no frame, expected at least one frame above 0 bytes"),
            (b"% header\r\n\r\n", "found no frame, expected at least one frame above 0 bytes"),
            (b"0\n0\n", "found only frames of 0 bytes, expected at least one frame above 0 bytes"),
            (b"100\nabc\n", "line 2: found `abc`, expected bytes from 0 to 4294967295"),
            (b"100\n-5\n", "line 2: found `-5`, expected bytes from 0 to 4294967295"),
            (b"NaN\n", "line 1: found `NaN`, expected bytes from 0 to 4294967295"),
            (b"inf\n", "line 1: found `inf`, expected bytes from 0 to 4294967295"),
            (b"1e300\n", "line 1: found `1e300`, expected bytes from 0 to 4294967295"),
            (
                b"1 2\n",
                "line 1: found `1 2`, expected a frame size in bytes, or \"number type X time bytes\"",
            ),
            (b"1\n\n1 2\n", "line 3: found `1 2`, expected one frame size in bytes"),
            (b"1\n0 I 1 2 3\n", "line 2: found `0 I 1 2 3`, expected one frame size in bytes"),
            (b"0 I 1 2 -3\n", "line 1: found `-3`, expected bytes from 0 to 4294967295"),
            (
                b"0 I nan 2 3\n",
                "line 1: found `0 I nan 2 3`, expected \"number type X time bytes\" or \"number type QP PSNR bytes\"",
            ),
            (b"1\n\x1f\x8b\x08", "line 2: found byte 0x8b, expected text"),
            (b"1\n2\n\xff\xfe", "line 3: found byte 0xff, expected text"),
            (b"12\x00", "line 1: found byte 0x00, expected text"),
        ];
        for (bytes, message) in cases {
            let error = FrameTrace::parse(bytes, None).expect_err(message);
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn a_format_asked_for_is_insisted_on() {
        let error = FrameTrace::parse(b"100\n", Some(FrameTraceFormat::Syncodecs)).expect_err("one field");
        assert_eq!((error.line, error.expected), (Some(1), EXPECTED_SYNCODECS));
    }

    #[test]
    fn a_long_line_is_shortened() {
        let error = FrameTrace::parse("ä".repeat(500).as_bytes(), None).expect_err("no number");
        assert_eq!(error.found.chars().count(), 43);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = FrameTrace::parse(&bytes, None);
        }

        #[test]
        fn no_text_panics(text in "[0-9IP .eE%#+\\-\n\r\tnaif]{0,80}") {
            if let Ok(trace) = FrameTrace::parse(text.as_bytes(), None) {
                prop_assert!(trace.mean_bytes_f64() > 0.0 && trace.mean_rate(FrameRate::NTSC) > Bitrate::ZERO);
            }
        }

        #[test]
        fn sizes_survive(sizes in prop::collection::vec(1u32..=u32::MAX, 1..50)) {
            let text: String = sizes.iter().map(|size| format!("{size}\r\n")).collect();
            prop_assert_eq!(bytes_of(&text), sizes);
        }
    }
}
