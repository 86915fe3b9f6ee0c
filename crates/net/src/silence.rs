//! How long nothing has come from the other end though the scenario plans it, and what is said of that.

use crate::NetCounters;
use crate::choice::ChosenFlow;
use paceline_units::{Time, TimeDelta};
use std::net::SocketAddr;

/// If the other end says nothing for so long, people should know.
const SILENCE: TimeDelta = TimeDelta::from_secs(5);
/// Likewise if it has never said anything: it is started after this one, by hand.
pub(crate) const LATE: TimeDelta = TimeDelta::from_secs(10);
/// A run that flaps for days does not fill the memory with warnings.
const MOST_WARNINGS: usize = 20;

/// When a flow sends nothing by plan: before it starts, in its pauses, while a link of its path is down, while none of its streams is there,
/// and after it stops. In order, without overlaps.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedSilence(Vec<(Time, Time)>);

impl PlannedSilence {
    /// Of a flow of the scenario.
    pub fn of(flow: &ChosenFlow<'_>) -> PlannedSilence {
        let parts = flow.parts;
        let mut silent = vec![(Time::ZERO, parts.start), (parts.stop, Time::MAX)];
        silent.extend_from_slice(&parts.pauses);
        for link in parts.path.iter().map(|place| &flow.scenario.links[*place]) {
            silent.extend(link.down.iter().map(|&(from, to)| (Time::ZERO + from, Time::ZERO + to)));
        }
        if let Some(there) = flow.over.streams_there() {
            let there = merged(there);
            let ends = there.iter().map(|(_, to)| *to).chain([Time::MAX]);
            silent.extend(
                std::iter::once(Time::ZERO)
                    .chain(ends.clone())
                    .zip(there.iter().map(|(from, _)| *from).chain([Time::MAX])),
            );
        }
        PlannedSilence(merged(silent))
    }

    #[cfg(test)]
    pub fn from_spans(spans: &[(Time, Time)]) -> PlannedSilence {
        PlannedSilence(merged(spans.to_vec()))
    }

    /// How long a silence from `from` to `to` was beyond what is planned.
    pub fn unplanned(&self, from: Time, to: Time) -> TimeDelta {
        let within = |&(begin, end): &(Time, Time)| to.min(end).saturating_since(from.max(begin));
        self.0.iter().map(within).fold(to.saturating_since(from), |left, planned| left - planned)
    }

    /// How long it lasts from `from` on without a break.
    pub fn lasts(&self, from: Time) -> TimeDelta {
        let around = self.0.iter().find(|(begin, end)| *begin <= from && from < *end);
        around.map_or(TimeDelta::ZERO, |(_, end)| *end - from)
    }
}

/// Spans of time in order, those that touch as one; none is empty.
fn merged(mut spans: Vec<(Time, Time)>) -> Vec<(Time, Time)> {
    spans.retain(|(from, to)| from < to);
    spans.sort_unstable();
    let mut merged: Vec<(Time, Time)> = Vec::with_capacity(spans.len());
    for (from, to) in spans {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// The awaited thing that did not come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Awaited {
    /// Packets of a flow, at a receiver or a relay.
    Packets,
    /// Reports, at a sender.
    Feedback,
}

impl Awaited {
    fn absent(self) -> &'static str {
        match self {
            Awaited::Packets => "nothing arrived",
            Awaited::Feedback => "no feedback",
        }
    }

    fn present(self) -> &'static str {
        match self {
            Awaited::Packets => "packets come again",
            Awaited::Feedback => "feedback comes again",
        }
    }
}

/// The silences of one flow's other end.
#[derive(Clone, Debug)]
pub(crate) struct Silences {
    awaited: Awaited,
    planned: PlannedSilence,
    /// When something came last, if anything did.
    heard: Option<Time>,
    /// Whether people were told that nothing comes.
    told: bool,
    warnings: Vec<String>,
}

impl Silences {
    /// Nothing has come yet, which is no silence.
    pub fn new(awaited: Awaited, planned: PlannedSilence) -> Silences {
        Silences { awaited, planned, heard: None, told: false, warnings: Vec::new() }
    }

    /// The silence that is planned.
    pub fn planned(&self) -> &PlannedSilence {
        &self.planned
    }

    /// When something came last.
    pub fn heard(&self) -> Option<Time> {
        self.heard
    }

    /// Something came at `now`. Answers that it does again, if people were told that nothing comes.
    pub fn on_heard(&mut self, now: Time) -> Option<String> {
        let ended = self.end(now).map(|(_, span)| {
            let (seconds, span) = (now.as_secs_f64(), span.as_secs_f64());
            format!("{} at {seconds:.1} s, after {span:.1} s", self.awaited.present())
        });
        self.heard = self.heard.max(Some(now));
        ended
    }

    /// How long nothing has come at `now` beyond what is planned.
    pub fn unplanned(&self, now: Time) -> TimeDelta {
        self.heard.map_or(TimeDelta::ZERO, |heard| self.planned.unplanned(heard, now))
    }

    /// Answers once in each silence that it is one.
    pub fn check(&mut self, now: Time) -> Option<String> {
        let heard = self.heard.filter(|_| !self.told && self.warnings.len() < MOST_WARNINGS)?;
        if now.saturating_since(heard) < SILENCE || self.unplanned(now) < SILENCE {
            return None;
        }
        self.told = true;
        Some(format!("{} since {:.1} s", self.awaited.absent(), heard.as_secs_f64()))
    }

    /// The run is over at `now`: a silence ends with it. Messages on all of them.
    pub fn finish(&mut self, now: Time) -> Vec<String> {
        let _ = self.check(now);
        self.end(now);
        std::mem::take(&mut self.warnings)
    }

    /// A silence that people were told of ends at `now`. Answers when it began and how long it was.
    fn end(&mut self, now: Time) -> Option<(Time, TimeDelta)> {
        let heard = self.heard.filter(|_| std::mem::take(&mut self.told))?;
        let span = now.saturating_since(heard);
        let (from, seconds) = (heard.as_secs_f64(), span.as_secs_f64());
        self.warnings.push(format!("{} from {from:.1} s on, for {seconds:.1} s", self.awaited.absent()));
        Some((heard, span))
    }
}

/// Message that the sender of a flow has not come.
pub(crate) fn never_came(address: SocketAddr, counters: &NetCounters) -> String {
    match counters.received {
        0 => format!("nothing has arrived at {address}"),
        others => {
            format!("nothing of the flow has arrived at {address}, and {others} datagrams that are not of it")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::ChosenFlow;
    use paceline_scenario::{Loader, Origin, load};

    fn at(seconds: f64) -> Time {
        Time::from_secs_f64(seconds)
    }

    fn planned(flow: &str) -> PlannedSilence {
        let text = format!(
            "duration = \"60s\"\n[links.l]\nrate = \"1Mbps\"\nqueue = {{ packets = 9 }}\ndown = [[\"14s\", \"20s\"]]\n\
             [flows.f]\ncontroller = \"scream\"\npath = [\"l\"]\n{flow}"
        );
        let loaded = load(&Origin { text: &text, file: "silent.toml", sets: &[] }, &Loader::default());
        let loaded = loaded.expect("a sound scenario");
        PlannedSilence::of(&ChosenFlow::of(&loaded, None).expect("the only one"))
    }

    fn spans(planned: &PlannedSilence) -> Vec<(f64, f64)> {
        planned.0.iter().map(|(from, to)| (from.as_secs_f64(), to.as_secs_f64().min(1e6))).collect()
    }

    #[test]
    fn a_scenario_plans_silence() {
        let one = "source = { kind = \"bulk\" }\nstart = \"1s\"\nstop = \"50s\"\npause = [[\"3s\", \"16s\"], [\"30s\", \"31s\"]]\n";
        assert_eq!(spans(&planned(one)), [(0.0, 1.0), (3.0, 20.0), (30.0, 31.0), (50.0, 1e6)]);
        let two = "[flows.f.streams.a]\nsource = { kind = \"cbr\", rate = \"1Mbps\" }\nstop = \"10s\"\n\
                   [flows.f.streams.b]\nsource = { kind = \"cbr\", rate = \"1Mbps\" }\nstart = \"40s\"\n";
        assert_eq!(spans(&planned(two)), [(10.0, 40.0), (60.0, 1e6)]);
        assert_eq!(planned(one).lasts(at(4.0)), TimeDelta::from_secs(16));
        assert_eq!(planned(one).lasts(at(2.0)), TimeDelta::ZERO);
    }

    #[test]
    fn what_is_planned_is_no_silence_and_the_rest_is_said_once() {
        let mut silences =
            Silences::new(Awaited::Packets, PlannedSilence::from_spans(&[(at(3.0), at(16.0))]));
        assert_eq!(silences.check(at(9.0)), None, "nothing was expected yet");
        assert_eq!(silences.on_heard(at(2.9)), None);
        assert_eq!(silences.check(at(20.8)), None);
        assert_eq!(silences.unplanned(at(20.0)), TimeDelta::from_millis(4100));
        assert_eq!(silences.check(at(20.9)).as_deref(), Some("nothing arrived since 2.9 s"));
        assert_eq!(silences.check(at(21.0)), None);
        let again = silences.on_heard(at(38.9));
        assert_eq!(again.as_deref(), Some("packets come again at 38.9 s, after 36.0 s"));
        assert_eq!((silences.on_heard(at(39.0)), silences.check(at(43.9))), (None, None));
        let said = silences.finish(at(45.0));
        assert_eq!(
            said,
            ["nothing arrived from 2.9 s on, for 36.0 s", "nothing arrived from 39.0 s on, for 6.0 s"]
        );
    }

    #[test]
    fn what_is_said_is_bounded() {
        let mut silences = Silences::new(Awaited::Feedback, PlannedSilence::default());
        let told = (0..1000).filter(|n| {
            let began = silences.check(at(f64::from(*n) * 10.0)).is_some();
            silences.on_heard(at(f64::from(*n) * 10.0));
            began
        });
        assert_eq!(told.count(), MOST_WARNINGS);
        assert_eq!(silences.finish(at(1e5)).len(), MOST_WARNINGS);
    }
}
