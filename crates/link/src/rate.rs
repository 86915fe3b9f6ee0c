//! How fast a link serves over time.

use crate::schedule::{Schedule, played};
use crate::trace::{MAX_RATE, Trace};
use alloc::vec;
use alloc::vec::Vec;
use paceline_units::param::ParamError;
use paceline_units::text;
use paceline_units::{Bitrate, Time, TimeDelta};

/// The most pieces of a sequence: a guard against a repeating trace that no memory holds.
const MAX_PIECES: u64 = 10_000_000;
/// Nanoseconds after which a rate that changes evenly takes its next value: 10 ms.
const RAMP_STEP: u64 = 10_000_000;

/// A piecewise-constant rate over time.
#[derive(Clone, PartialEq, Debug)]
pub enum RateProcess {
    /// One rate for the whole run.
    Constant(Bitrate),
    /// Each rate holds from its time to the next one's; the first time is 0, times increase.
    Steps(Vec<(Time, Bitrate)>),
    /// Rates at times, the first at 0, times increase: between two of them the rate changes evenly, in steps of 10 ms; the last
    /// holds.
    Ramp(Vec<(Time, Bitrate)>),
    /// A recorded or generated rate.
    Trace {
        /// The rates over time, from a file or a generator.
        trace: Trace,
        /// Where in the recording the run starts; past its end only with `repeat`, which wraps.
        offset: TimeDelta,
        /// Every rate is multiplied by this; above 0.
        scale: f64,
        /// Start over at the end; without it the last value holds for ever.
        repeat: bool,
    },
    /// One process after another: each plays from its own start, from its time to the next one's. The first time is 0,
    /// times increase; none is itself a sequence, and a repeating trace has a successor.
    Sequence(Vec<(Time, RateProcess)>),
}

impl RateProcess {
    /// `trace` as recorded, from its start, holding its last value.
    pub fn trace(trace: Trace) -> RateProcess {
        RateProcess::Trace { trace, offset: TimeDelta::ZERO, scale: 1.0, repeat: false }
    }

    /// The rate at which a queue limit in time becomes bytes: the constant, the first step, or the whole trace's mean;
    /// of a sequence, that of its first process.
    pub fn nominal(&self) -> Bitrate {
        match self {
            RateProcess::Constant(rate) => *rate,
            RateProcess::Steps(points) | RateProcess::Ramp(points) => {
                points.first().map_or(Bitrate::ZERO, |&(_, rate)| rate)
            }
            RateProcess::Trace { trace, scale, .. } => scaled(trace.mean(), *scale),
            RateProcess::Sequence(parts) => parts.first().map_or(Bitrate::ZERO, |(_, part)| part.nominal()),
        }
    }

    /// The highest rate before `until`; of a process that repeats, of any time.
    pub fn highest(&self, until: Time) -> Bitrate {
        let (pieces, repeat) = self.pieces();
        let early = |&&(start, _): &&(u64, u64)| repeat.is_some() || start < until.as_nanos().max(1);
        Bitrate::from_bps(pieces.iter().filter(early).map(|&(_, rate)| rate).max().unwrap_or_default())
    }

    /// When a recording that does not start over ends: from then on its last value holds.
    pub fn ends(&self) -> Option<TimeDelta> {
        match self {
            RateProcess::Trace { trace, offset, repeat: false, .. } => Some(trace.length() - *offset),
            RateProcess::Sequence(parts) => {
                let (start, last) = parts.last()?;
                Some(*start - Time::ZERO + last.ends()?)
            }
            _ => None,
        }
    }

    /// Checks what a [`Link`](crate::Link) would refuse.
    pub fn validate(&self) -> Result<(), ParamError> {
        match self {
            RateProcess::Constant(rate) => check_rate("rate", *rate),
            RateProcess::Steps(steps) => check_steps("rate.steps", steps),
            RateProcess::Ramp(points) => check_ramp(points),
            RateProcess::Trace { trace, offset, scale, repeat } => {
                check_trace(trace, *offset, *scale, *repeat)
            }
            RateProcess::Sequence(parts) => check_sequence(parts),
        }
    }

    /// The process as the server walks it, without failures. The process must have been validated.
    pub(crate) fn schedule(&self, down: &[(Time, Time)]) -> Schedule {
        let (pieces, repeat) = self.pieces();
        Schedule::new(pieces, repeat, down)
    }

    /// Start times and rates, and the period where the process repeats; a sequence has none inside it.
    fn pieces(&self) -> (Vec<(u64, u64)>, Option<u64>) {
        match self {
            RateProcess::Constant(rate) => (vec![(0, rate.as_bps())], None),
            RateProcess::Steps(steps) => {
                (steps.iter().map(|&(time, rate)| (time.as_nanos(), rate.as_bps())).collect(), None)
            }
            RateProcess::Ramp(points) => (ramp_pieces(points), None),
            RateProcess::Trace { trace, offset, scale, repeat } => {
                let rates =
                    trace.segments().iter().map(|&(time, rate)| (time, scaled(rate, *scale).as_bps()));
                played(rates, period(trace), *offset, *repeat)
            }
            RateProcess::Sequence(parts) => (sequence_pieces(parts), None),
        }
    }
}

fn scaled(rate: Bitrate, scale: f64) -> Bitrate {
    if scale == 1.0 { rate } else { Bitrate::from_bps_f64(rate.as_bps_f64() * scale + 0.5) }
}

fn check_rate(key: &'static str, rate: Bitrate) -> Result<(), ParamError> {
    if rate.as_bps() > MAX_RATE {
        Err(ParamError::new(key, text::format_rate(rate), "at most 1 Pbit/s"))
    } else {
        Ok(())
    }
}

fn check_steps(key: &'static str, steps: &[(Time, Bitrate)]) -> Result<(), ParamError> {
    check_times(key, steps.iter().map(|&(time, _)| time))?;
    steps.iter().try_for_each(|&(_, rate)| check_rate(key, rate))
}

fn check_ramp(points: &[(Time, Bitrate)]) -> Result<(), ParamError> {
    check_steps("rate.ramp", points)?;
    let longest = MAX_PIECES * RAMP_STEP;
    match points.last().filter(|(time, _)| time.as_nanos() > longest) {
        None => Ok(()),
        Some((time, _)) => {
            let found = format_args!("{} s", time.as_secs_f64());
            Err(ParamError::new("rate.ramp", found, "a last point within 100000 s"))
        }
    }
}

fn check_times(key: &'static str, mut times: impl Iterator<Item = Time>) -> Result<(), ParamError> {
    let Some(mut last) = times.next() else {
        return Err(ParamError::new(key, "none", "at least one step"));
    };
    if last != Time::ZERO {
        return Err(ParamError::new(key, format_args!("{} s", last.as_secs_f64()), "a first step at 0 s"));
    }
    for time in times {
        if time <= last {
            return Err(ParamError::new(
                key,
                format_args!("{} s", time.as_secs_f64()),
                "steps in increasing order of time",
            ));
        }
        last = time;
    }
    Ok(())
}

fn check_sequence(parts: &[(Time, RateProcess)]) -> Result<(), ParamError> {
    check_times("rate.steps", parts.iter().map(|&(time, _)| time))?;
    for (index, (_, part)) in parts.iter().enumerate() {
        match part {
            RateProcess::Sequence(_) => {
                return Err(ParamError::new("rate.steps", "steps", "a rate or a trace in each step"));
            }
            RateProcess::Trace { repeat: true, .. } if index + 1 == parts.len() => {
                return Err(ParamError::new("rate.steps", "repeat", "no repeating trace in the last step"));
            }
            part => part.validate()?,
        }
    }
    let pieces = sequence_size(parts);
    if pieces > MAX_PIECES {
        let found = format_args!("traces that repeat to {pieces} values");
        let expected = "at most 10 million values: a longer interval, or steps that follow sooner";
        return Err(ParamError::new("rate.steps", found, expected));
    }
    Ok(())
}

/// Where each part of a sequence ends.
fn part_end(parts: &[(Time, RateProcess)], index: usize) -> u64 {
    parts.get(index + 1).map_or(u64::MAX, |(next, _)| next.as_nanos())
}

/// At least as many pieces as the parts have together, without laying them out.
fn sequence_size(parts: &[(Time, RateProcess)]) -> u64 {
    let size = |(index, (start, part)): (usize, &(Time, RateProcess))| match part {
        RateProcess::Trace { trace, repeat, .. } => {
            // An offset may cut one segment in two.
            let pieces = trace.segments().len() as u64 + 1;
            let span = part_end(parts, index) - start.as_nanos();
            let periods = if *repeat { span.div_ceil(period(trace)) } else { 1 };
            pieces.saturating_mul(periods)
        }
        RateProcess::Steps(steps) => steps.len() as u64,
        RateProcess::Ramp(points) => {
            points.last().map_or(0, |(time, _)| time.as_nanos() / RAMP_STEP) + points.len() as u64
        }
        RateProcess::Constant(_) | RateProcess::Sequence(_) => 1,
    };
    parts.iter().enumerate().map(size).fold(0, u64::saturating_add)
}

/// After how many nanoseconds a trace starts over.
fn period(trace: &Trace) -> u64 {
    trace.length().as_nanos().max(1) as u64
}

/// The pieces of all parts one after another; a trace that repeats is unrolled up to the next part.
fn sequence_pieces(parts: &[(Time, RateProcess)]) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    for (index, (start, part)) in parts.iter().enumerate() {
        let start = start.as_nanos();
        let end = part_end(parts, index);
        let (pieces, period) = part.pieces();
        let mut base = start;
        loop {
            let placed = pieces.iter().map(|&(time, rate)| (base.saturating_add(time), rate));
            all.extend(placed.take_while(|&(time, _)| time < end));
            match period {
                Some(period) if base.saturating_add(period) < end => base += period,
                _ => break,
            }
        }
    }
    all
}

fn check_trace(trace: &Trace, offset: TimeDelta, scale: f64, repeat: bool) -> Result<(), ParamError> {
    if offset.is_negative() {
        return Err(ParamError::new("rate.offset", text::format_time(offset), "a time of 0 or more"));
    }
    if !(scale > 0.0 && scale.is_finite()) {
        return Err(ParamError::new("rate.scale", scale, "a number above 0"));
    }
    let fastest = scaled(trace.max(), scale);
    check_rate("rate.scale", fastest)?;
    if fastest == Bitrate::ZERO {
        return Err(ParamError::new("rate.scale", scale, "a scale that leaves some rate above 0"));
    }
    if !repeat && offset >= trace.length() {
        return Err(ParamError::new(
            "rate.offset",
            text::format_time(offset),
            "less than the trace's length, or repeat = true",
        ));
    }
    Ok(())
}

/// Pieces of a rate that changes evenly from point to point: each has the rate of its middle, so that the work is that of the ramp.
fn ramp_pieces(points: &[(Time, Bitrate)]) -> Vec<(u64, u64)> {
    let mut pieces = Vec::new();
    for pair in points.windows(2) {
        let [(from, first), (to, last)] = [pair[0], pair[1]].map(|(time, rate)| (time.as_nanos(), rate));
        let (length, change) = ((to - from) as f64, last.as_bps_f64() - first.as_bps_f64());
        for start in (from..to).step_by(RAMP_STEP as usize) {
            let middle = (start + (start + RAMP_STEP).min(to)) as f64 / 2.0 - from as f64;
            let rate = Bitrate::from_bps_f64(first.as_bps_f64() + change * (middle / length) + 0.5);
            pieces.push((start, rate.as_bps()));
        }
    }
    pieces.extend(points.last().map(|&(time, rate)| (time.as_nanos(), rate.as_bps())));
    pieces
}
