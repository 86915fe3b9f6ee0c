//! The priorities of a flow among others, over time.

use paceline_cc::Priority;
use paceline_units::TimeDelta;
use paceline_units::param::{Kind, ParamError, Parameter, Value};
use std::ops::Deref;

/// The priority of a flow from a time on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PriorityStep {
    /// When it begins.
    pub at: TimeDelta,
    /// Priority among the flows that it shares with.
    pub priority: Priority,
}

/// The priorities of a flow, over time; the first step begins at 0 s.
#[derive(Clone, PartialEq, Debug)]
pub struct Priorities(pub Vec<PriorityStep>);

impl Deref for Priorities {
    type Target = [PriorityStep];

    fn deref(&self) -> &[PriorityStep] {
        &self.0
    }
}

impl Default for Priorities {
    fn default() -> Priorities {
        Priorities(vec![PriorityStep { at: TimeDelta::ZERO, priority: Priority::ONE }])
    }
}

/// One for ever, or steps of a time and a priority.
impl Parameter for Priorities {
    const KIND: Kind = Kind::Or(&Kind::Ratio, &Vec::<(TimeDelta, f64)>::KIND);

    fn to_value(&self) -> Option<Value> {
        match self.0.as_slice() {
            [only] => only.priority.weight().to_value(),
            steps => {
                let steps: Vec<_> = steps.iter().map(|step| (step.at, step.priority.weight())).collect();
                steps.to_value()
            }
        }
    }

    fn from_value(value: Value) -> Option<Priorities> {
        let steps = match value {
            Value::Ratio(weight) => vec![(TimeDelta::ZERO, weight)],
            steps => Vec::from_value(steps).filter(|steps| !steps.is_empty())?,
        };
        let step = |(at, weight)| Some(PriorityStep { at, priority: Priority::new(weight)? });
        steps.into_iter().map(step).collect::<Option<_>>().map(Priorities)
    }

    fn fits(&self) -> Result<(), ParamError> {
        let at = |step: usize| self.0[step].at;
        let wrong = |step: usize, expected: &'static str| {
            Err(ParamError::new(&format!("[{step}][0]"), Value::Time(at(step)), expected))
        };
        if at(0) != TimeDelta::ZERO {
            return wrong(0, "\"0s\": the first priority is that from the beginning");
        }
        let late = (1..self.0.len()).find(|&step| at(step) <= at(step - 1));
        late.map_or(Ok(()), |step| wrong(step, "a time after that of the step before"))
    }
}
