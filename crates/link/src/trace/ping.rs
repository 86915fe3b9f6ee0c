//! The output of `ping`: round trips, each until the next.

use super::error::{ROUND_TRIPS, warn};
use super::held::{self, Held};
use super::rows::{lines, text};
use super::tables::Reading;
use super::{Measure, TraceError, TraceWarning};
use alloc::vec::Vec;
use paceline_units::TimeDelta;

const UNANSWERED: &str = "echo requests without an answer; the last delay holds";
const EXPECTED: &str = "lines of ping such as \"64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=12.3 ms\"";
/// The time between requests of `ping` where nothing else is said.
const USUAL: TimeDelta = TimeDelta::from_secs(1);
/// The most requests without an answer in a row: a number that jumps further is none of the same recording.
const MOST: u64 = 1_000_000;

/// Whether a file begins as `ping` does, on Unix or Windows.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    let begin = bytes.trim_ascii_start();
    begin.starts_with(b"PING ") || begin.starts_with(b"Pinging ")
}

/// An answer of the peer.
struct Answer {
    line: usize,
    /// When it came, where the line says so (`ping -D`).
    at: Option<f64>,
    /// Number of the request, where the line says so.
    number: Option<u64>,
    /// Millionths of a millisecond.
    delay: u64,
}

/// Durations of round trips: until the next answer by the clock (`-D`), else an interval for each request.
pub(super) fn parse(bytes: &[u8], reading: &Reading<'_>) -> Result<Held, TraceError> {
    if reading.measure != Measure::Delay {
        return Err(TraceError::whole(
            "the output of ping",
            "a recording with such values: ping has delays alone",
        ));
    }
    if reading.options.column.is_some() || reading.options.time_column.is_some() {
        return Err(TraceError::whole("a column", "nothing: the output of ping is no table"));
    }
    let interval = reading.options.interval.unwrap_or(USUAL);
    let mut answers: Vec<Answer> = Vec::new();
    for (line, content) in lines(text(bytes)?) {
        if let Some(mut answer) = answer(line, content)? {
            // A second answer to a request is a duplicate.
            let is_first = match (answer.number, answers.last().and_then(|last| last.number)) {
                (Some(number), Some(last)) => {
                    answer.number = following(last, number);
                    answer.number.is_some()
                }
                _ => true,
            };
            answers.extend(is_first.then_some(answer));
        }
    }
    let mut warnings = Vec::new();
    let mut rows: Vec<held::Row> = Vec::with_capacity(answers.len());
    for (place, Answer { line, at, number, delay }) in answers.iter().enumerate() {
        let next = answers.get(place + 1);
        let requests = match (number, next.and_then(|next| next.number)) {
            (Some(number), Some(next)) => (next - number).min(MOST),
            _ => 1,
        };
        if requests > 1 {
            warn(&mut warnings, *line, UNANSWERED);
        }
        let by_clock =
            next.and_then(|next| Some(TimeDelta::from_secs_f64((next.at? - (*at)?).clamp(0.0, 3e9))));
        rows.push((by_clock.unwrap_or(interval * requests as i64), Some(*delay), *line));
    }
    match rows.first() {
        Some(&(_, _, line)) => {
            warnings.insert(0, TraceWarning { line, count: rows.len(), what: ROUND_TRIPS })
        }
        None => return Err(TraceError::whole("no answers", EXPECTED)),
    }
    held::filled(rows, warnings)
}

/// The number of a request that came after the one with number `last`; none if it is not later. Programs that write 16 bits begin
/// again at 0.
fn following(last: u64, number: u64) -> Option<u64> {
    const TURN: u64 = 1 << 16;
    let (turn, place) = (last / TURN, last % TURN);
    let found = match () {
        () if number >= TURN => number,
        () if place >= number + TURN / 2 => (turn + 1) * TURN + number,
        // Of the turn before, and late.
        () if turn > 0 && number >= place + TURN / 2 => return None,
        () => turn * TURN + number,
    };
    (found > last).then_some(found)
}

/// The answer in a line, if there is one.
fn answer(line: usize, content: &str) -> Result<Option<Answer>, TraceError> {
    let behind = |marks: [&str; 2]| {
        let at = marks.iter().find_map(|mark| Some(content.find(mark)? + mark.len()))?;
        let end = content[at..].find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        Some(&content[at..end.map_or(content.len(), |end| at + end)])
    };
    // "0% packet loss, time 417ms" ends the output.
    let Some(delay) = behind(["time=", "time<"]) else { return Ok(None) };
    let delay = Measure::Delay.read(line, delay, 1.0)?;
    let number = behind(["icmp_seq=", "seq="]).and_then(|number| number.parse().ok());
    let clock = content.trim_start().strip_prefix('[').and_then(|inside| inside.split(']').next());
    let at = clock.and_then(|clock| clock.parse::<f64>().ok()).filter(|at| at.is_finite());
    Ok(Some(Answer { line, at, number, delay }))
}
