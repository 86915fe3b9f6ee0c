//! A quantity of a link that changes while it runs: in steps, along ramps, or as it was recorded.

use crate::schedule::{NEVER, nanos, played};
use crate::trace::{Column, Columns, Measure, ROUND_TRIPS, Recorded, TraceError, TraceWarning};
use alloc::boxed::Box;
use alloc::vec::Vec;
use paceline_units::param::{FileName, Kind, ParamError, ParamSet, Parameter, Value};
use paceline_units::{TimeDelta, params};

params! {
    /// How a recording is read and played.
    pub struct Recording {
        column: Option<Column> = None, else "the second, or the only one", "", "Where the values are; numbers count from 0";
        time_column: Option<Column> = None, else "the first, unless `interval` is given", "", "Where the times in seconds are";
        interval: Option<TimeDelta> = None, else "the usual time between values", in 1e-9, 1e6, "", "How long each value holds; beside `time_column`, the last one";
        offset: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "", "Where in the recording the run starts";
        scale: f64 = 1.0, in f64::MIN_POSITIVE, 1e9, "", "Every value is multiplied by this";
        repeat: bool = false, "", "Start over at the end; else the last value holds";
    }
}

impl Recording {
    /// Fails if something is said of a recording where there is none.
    fn is_untouched(&self) -> Result<(), ParamError> {
        let usual = Recording::default();
        let other = Recording::SPECS.iter().find(|spec| self.value(spec.name) != usual.value(spec.name));
        match other.and_then(|spec| Some((spec.name, self.value(spec.name)?))) {
            None => Ok(()),
            Some((name, value)) => Err(ParamError::new(name, value, "nothing: it goes with `trace`")),
        }
    }
}

/// A quantity that a link may be told over time.
pub trait OverTime {
    /// The recording that it names and that was not read yet.
    fn unread(&self) -> Option<&str>;

    /// The name of the recording's file, if there is one.
    fn file_mut(&mut self) -> Option<&mut FileName>;

    /// Reads the recording from the decompressed file. Answers the oddities.
    ///
    /// # Errors
    /// The line that is wrong, and what would be right.
    fn read(&mut self, bytes: &[u8]) -> Result<Vec<TraceWarning>, TraceError>;

    /// When a recording that does not start over ends: from then on its last value holds.
    fn ends(&self) -> Option<TimeDelta>;

    /// Fails unless the changes are in order, and the recording was read and can be played so.
    ///
    /// # Errors
    /// Says which key is wrong, and what would be right.
    fn playable(&self) -> Result<(), ParamError>;
}

/// Declares a quantity of a type over time: its own type, and that of the keys by which it changes.
macro_rules! over_time {
    (
        $(#[$meta:meta])*
        $vis:vis $name:ident($keys:ident): $type:ty, in $low:expr, $high:expr, $measure:expr, |$value:ident| $base:expr
    ) => {
        params! {
            /// How the quantity changes.
            pub struct $keys {
                {
                    /// The recording, once it is read.
                    recorded: Option<Recorded> = None,
                }
                steps: Vec<(TimeDelta, $type)> = Vec::new(), as OneOf, where no ["ramp", "trace"], in $low, $high, "", "Values, each of which holds from its time on; the first time is 0";
                ramp: Vec<(TimeDelta, $type)> = Vec::new(), as OneOf, where no ["steps", "trace"], in $low, $high, "", "Values at times, the first at 0; between two of them it changes evenly, and the last holds";
                every: Option<TimeDelta> = None, else "never", in 1e-9, 1e6, "", "Steps and a ramp start over after this time, which is behind their last one";
                file("trace"): Option<FileName> = None, as OneOf, where no ["steps", "ramp"], "", "A recording: a table, or a JSON list of objects";
            }
            /// How the recording is read.
            with recording: Recording;
            check $keys::is_one;
        }

        impl $keys {
            fn is_one(&self) -> Result<(), ParamError> {
                let (steps, ramp) = (self.steps.iter().map(|step| step.0), self.ramp.iter().map(|step| step.0));
                if self.file.is_none() {
                    self.recording.is_untouched()?;
                }
                match (self.steps.is_empty(), self.ramp.is_empty(), &self.file) {
                    (true, true, None) => Err(ParamError::new("", "nothing of them", "one of steps, ramp and trace")),
                    (false, ..) => in_order("steps", steps, self.every),
                    (_, false, _) => in_order("ramp", ramp, self.every),
                    _ if self.every.is_some() => {
                        let found = self.every.to_value().unwrap_or(Value::Flag(false));
                        Err(ParamError::new("every", found, "nothing: a recording starts over by repeat = true"))
                    }
                    _ => Ok(()),
                }
            }
        }

        $(#[$meta])*
        #[derive(Clone, PartialEq, Debug)]
        $vis enum $name {
            /// The same all the time.
            Constant($type),
            /// It changes.
            Changes(Box<$keys>),
        }

        impl $name {
            /// Its course: the value at each time, in base units. A recording must have been read.
            pub(crate) fn course(&self) -> Course {
                let base = |$value: $type| $base;
                let points = |values: &[(TimeDelta, $type)]| {
                    values.iter().map(|&(at, value)| (nanos(at), base(value))).collect()
                };
                match self {
                    $name::Constant(value) => Course::new(alloc::vec![(0, base(*value))], false, None),
                    $name::Changes(keys) if !keys.steps.is_empty() => {
                        Course::new(points(&keys.steps), false, keys.every.map(nanos))
                    }
                    $name::Changes(keys) if !keys.ramp.is_empty() => {
                        Course::new(points(&keys.ramp), true, keys.every.map(nanos))
                    }
                    $name::Changes(keys) => match &keys.recorded {
                        Some(recorded) => Course::recorded(recorded, $measure, &keys.recording),
                        None => Course::new(Vec::new(), false, None),
                    },
                }
            }

            /// The value at the beginning; none where a recording tells it.
            pub fn first(&self) -> Option<$type> {
                match self {
                    $name::Constant(value) => Some(*value),
                    $name::Changes(keys) => keys.steps.iter().chain(&keys.ramp).next().map(|point| point.1),
                }
            }
        }

        impl From<$type> for $name {
            fn from(value: $type) -> $name {
                $name::Constant(value)
            }
        }

        impl OverTime for $name {
            fn unread(&self) -> Option<&str> {
                match self {
                    $name::Changes(keys) if keys.recorded.is_none() => keys.file.as_ref().map(|file| file.0.as_str()),
                    _ => None,
                }
            }

            fn file_mut(&mut self) -> Option<&mut FileName> {
                match self {
                    $name::Changes(keys) => keys.file.as_mut(),
                    $name::Constant(_) => None,
                }
            }

            fn read(&mut self, bytes: &[u8]) -> Result<Vec<TraceWarning>, TraceError> {
                let $name::Changes(keys) = self else {
                    return Err(TraceError::whole("a constant", "a recording"));
                };
                let Recording { column, time_column, interval, .. } = &keys.recording;
                let columns = Columns { column: column.as_ref(), time_column: time_column.as_ref(), interval: *interval };
                let (recorded, mut warnings) = Recorded::parse(bytes, &columns, $measure)?;
                let is_scaled = keys.recording.scale != 1.0;
                warnings.retain(|warning| !(is_scaled && warning.what == ROUND_TRIPS));
                keys.recorded = Some(recorded);
                Ok(warnings)
            }

            fn ends(&self) -> Option<TimeDelta> {
                let $name::Changes(keys) = self else { return None };
                let length = keys.recorded.as_ref().filter(|_| !keys.recording.repeat)?.length();
                Some(length - keys.recording.offset)
            }

            fn playable(&self) -> Result<(), ParamError> {
                self.fits()?;
                let $name::Changes(keys) = self else { return Ok(()) };
                if self.unread().is_some() {
                    return Err(ParamError::new("trace", "a recording that was not read", "a recording"));
                }
                if self.ends().is_some_and(|ends| ends <= TimeDelta::ZERO) {
                    let found = Value::Time(keys.recording.offset);
                    return Err(ParamError::new("offset", found, "less than the recording's length, or repeat = true"));
                }
                let spec = $keys::SPECS.iter().find(|spec| spec.name == "steps");
                let highest = self.course().highest();
                let most = spec.map_or(f64::INFINITY, |spec| spec.range.1);
                if highest > most * $measure.base() {
                    return Err(ParamError::new("scale", keys.recording.scale, "a smaller scale: values leave the range"));
                }
                Ok(())
            }
        }

        impl Parameter for $name {
            const KIND: Kind = Kind::Or(&<$type as Parameter>::KIND, &$keys::KIND);

            fn to_value(&self) -> Option<Value> {
                match self {
                    $name::Constant(value) => value.to_value(),
                    $name::Changes(keys) => keys.to_value(),
                }
            }

            fn from_value(value: Value) -> Option<$name> {
                match value {
                    table @ Value::Table(_) => Some($name::Changes(Box::new($keys::from_value(table)?))),
                    value => <$type>::from_value(value).map($name::Constant),
                }
            }

            fn fits(&self) -> Result<(), ParamError> {
                if let $name::Changes(keys) = self { keys.fits() } else { Ok(()) }
            }
        }
    };
}

over_time! {
    /// A delay over time, which a packet has that departs then.
    pub DelayOverTime(DelayChanges): TimeDelta, in 0.0, 1e6, Measure::Delay, |delay| nanos(delay) as f64
}

over_time! {
    /// A part of the packets over time, from 0 to 1.
    pub RatioOverTime(RatioChanges): f64, in 0.0, 1.0, Measure::Ratio, |ratio| ratio
}

over_time! {
    /// A factor over time, from 0 to 1000.
    pub FactorOverTime(FactorChanges): f64, in 0.0, 1000.0, Measure::Factor, |factor| factor
}

/// Fails unless the times begin at 0 and go forward, and all are before they start over.
fn in_order(
    key: &str,
    times: impl Iterator<Item = TimeDelta>,
    every: Option<TimeDelta>,
) -> Result<(), ParamError> {
    let mut before = None;
    for (index, at) in times.enumerate() {
        let expected = match before {
            None if at != TimeDelta::ZERO => "\"0s\": it begins where the run does",
            Some(before) if at <= before => "a time after the one before it",
            _ => {
                before = Some(at);
                continue;
            }
        };
        return Err(ParamError::new(&alloc::format!("{key}[{index}][0]"), Value::Time(at), expected));
    }
    match (every, before) {
        (Some(every), Some(last)) if every <= last => {
            Err(ParamError::new("every", Value::Time(every), "a time behind that of the last value"))
        }
        _ => Ok(()),
    }
}

/// The values of a quantity over time, in base units: nanoseconds, or a ratio. Asked for times that do not run backwards.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// Times in nanoseconds and the values from then on; the first time is 0.
    points: Vec<(u64, f64)>,
    /// Whether it changes evenly from one point to the next.
    ramps: bool,
    /// After how long it starts over; `NEVER` if it does not.
    period: u64,
    /// When the present period began.
    base: u64,
    /// The point that holds.
    place: usize,
}

impl Course {
    fn new(points: Vec<(u64, f64)>, ramps: bool, period: Option<u64>) -> Course {
        Course { points, ramps, period: period.unwrap_or(NEVER), base: 0, place: 0 }
    }

    /// A recording as it is played.
    fn recorded(recorded: &Recorded, measure: Measure, recording: &Recording) -> Course {
        let Recording { offset, scale, repeat, .. } = *recording;
        let values =
            recorded.segments().iter().map(|&(time, value)| (time, measure.of_millionths(value) * scale));
        let (points, period) = played(values, nanos(recorded.length()).max(1), offset, repeat);
        Course::new(points, false, period)
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.points.iter().map(|point| point.1)
    }

    /// The smallest value of all times.
    pub(crate) fn least(&self) -> f64 {
        self.values().fold(f64::INFINITY, f64::min)
    }

    /// The largest value of all times.
    pub(crate) fn highest(&self) -> f64 {
        self.values().fold(0.0, f64::max)
    }

    /// Whether it never changes.
    pub(crate) fn is_constant(&self) -> bool {
        self.points.len() == 1
    }

    /// The value at `now`, in nanoseconds; of a time before the latest one asked for, that of then.
    #[inline]
    pub(crate) fn at(&mut self, now: u64) -> f64 {
        if let [(_, value)] = self.points[..] {
            return value;
        }
        self.seek(now)
    }

    fn seek(&mut self, now: u64) -> f64 {
        while now - self.base.min(now) >= self.period {
            let periods = (now - self.base) / self.period;
            (self.base, self.place) = (self.base + periods * self.period, 0);
        }
        let inside = now.saturating_sub(self.base);
        while self.points.get(self.place + 1).is_some_and(|next| next.0 <= inside) {
            self.place += 1;
        }
        let (from, value) = self.points[self.place];
        match self.points.get(self.place + 1) {
            Some(&(to, next)) if self.ramps => {
                let part = inside.saturating_sub(from) as f64 / (to - from) as f64;
                value + (next - value) * part
            }
            _ => value,
        }
    }
}
