//! A flow's plan, executed by the same code in every world.

use crate::{Next, Reason, Run, SendingEnd};
use paceline_cc::StreamId;
use paceline_units::Time;

/// A planned step of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Start,
    Pause,
    Resume,
    /// A stream is there from now on, or no longer.
    Presence(StreamId, bool),
    Stop,
}

/// When one of several streams is part of its flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamSpan {
    /// The stream that joins and leaves.
    pub stream: StreamId,
    /// When it joins; the flow's start where that is later.
    pub from: Time,
    /// When it leaves; the flow's stop where that is earlier.
    pub to: Time,
}

/// When a flow starts, when its application is silent, when its streams join and leave, and when it stops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// In order of time.
    steps: Vec<(Time, Step)>,
}

impl Plan {
    /// A flow from `start` to `stop` whose application is silent in `pauses`, which follow each other.
    pub fn new(start: Time, pauses: &[(Time, Time)], stop: Time) -> Plan {
        let mut steps = vec![(start, Step::Start)];
        for &(from, to) in pauses {
            steps.extend([(from, Step::Pause), (to, Step::Resume)]);
        }
        steps.push((stop, Step::Stop));
        Plan { steps }
    }

    /// The same with streams that are not there all the time. At the start its end must expect those that join later.
    pub fn with_streams(mut self, spans: &[StreamSpan]) -> Plan {
        let [first, .., last] = self.steps[..] else { return self };
        for &StreamSpan { stream, from, to } in spans {
            let changes = [(from, Step::Presence(stream, true)), (to, Step::Presence(stream, false))];
            let within = changes.into_iter().filter(|(at, _)| first.0 < *at && *at < last.0);
            let place = self.steps.len() - 1;
            self.steps.splice(place..place, within);
        }
        self.steps.sort_by_key(|(at, _)| *at);
        self
    }

    /// When a step is taken; `Time::MAX` if there is none of this number.
    fn time_of(&self, step: usize) -> Time {
        self.steps.get(step).map_or(Time::MAX, |(at, _)| *at)
    }
}

/// A sending end that follows a plan. Before the plan starts it, it does nothing.
#[derive(Clone, Debug)]
pub struct Planned<S> {
    end: S,
    plan: Plan,
    /// How many steps of the plan were taken.
    taken: usize,
    /// When the next is; `Time::MAX` if there is none.
    step: Time,
}

impl<S: SendingEnd> Planned<S> {
    /// An end that has not started.
    pub fn new(end: S, plan: Plan) -> Planned<S> {
        let step = plan.time_of(0);
        Planned { end, plan, taken: 0, step }
    }

    /// The end, to look at.
    #[inline]
    pub fn end(&self) -> &S {
        &self.end
    }

    /// The end, to hand packets in and take packets out.
    #[inline]
    pub fn end_mut(&mut self) -> &mut S {
        &mut self.end
    }

    /// When to call [`Planned::handle_timeout`] and [`SendingEnd::poll_transmit`], and why.
    #[inline(always)]
    pub fn next_timeout(&self) -> Option<(Time, Reason)> {
        let own = if self.taken == 0 { None } else { self.end.next_timeout() };
        match own {
            Some((due, why)) if due < self.step => Some((due, why)),
            _ => (self.step != Time::MAX).then_some((self.step, Reason::Plan)),
        }
    }

    /// As [`SendingEnd::next`]; a step of the plan comes first.
    #[inline(always)]
    pub fn next(&self, until: Time) -> Next {
        if self.taken == 0 {
            return Next::Due(self.step);
        }
        match self.end.next(until.min(self.step)) {
            Next::Due(due) => Next::Due(due.min(self.step)),
            paced => paced,
        }
    }

    /// As [`SendingEnd::poll_run`]; a step of the plan comes first.
    #[inline(always)]
    pub fn poll_run(&mut self, until: Time) -> Option<Run<S::Data>> {
        if self.taken == 0 { None } else { self.end.poll_run(until.min(self.step)) }
    }

    /// Takes the step of the plan that is due at `now`, or does what else is due if none is.
    #[inline]
    pub fn handle_timeout(&mut self, now: Time) {
        match self.plan.steps.get(self.taken) {
            Some(&(_, step)) if self.step <= now => self.take(now, step),
            _ => self.end.handle_timeout(now),
        }
    }

    fn take(&mut self, now: Time, step: Step) {
        self.taken += 1;
        self.step = self.plan.time_of(self.taken);
        match step {
            Step::Start => self.end.start(now),
            Step::Pause => self.end.pause(now),
            Step::Resume => self.end.resume(now),
            Step::Presence(stream, there) => self.end.set_presence(now, stream, there),
            Step::Stop => self.end.stop(now),
        }
    }

    /// Whether the flow sends by plan: it has started, and neither pauses nor is over.
    #[inline]
    pub fn is_active(&self) -> bool {
        let taken = self.plan.steps[..self.taken].iter().rev();
        let last = taken.map(|(_, step)| step).find(|step| !matches!(step, Step::Presence(..)));
        last.is_some_and(|step| matches!(step, Step::Start | Step::Resume))
    }

    /// Whether the plan has stopped the end.
    pub fn is_stopped(&self) -> bool {
        self.taken == self.plan.steps.len()
    }

    /// Stops the end before its time: nothing of the plan happens any more.
    pub fn stop(&mut self, now: Time) {
        (self.taken, self.step) = (self.plan.steps.len(), Time::MAX);
        self.end.stop(now);
    }
}
