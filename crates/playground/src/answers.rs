//! Answers to a page's questions.

use crate::question::Question;
use crate::rows::{OF_FLOWS, OF_LINKS, Rows, samples};
use paceline_cc::ControllerParams;
use paceline_scenario::registry::{self, Entry};
use paceline_scenario::{Loaded, Loader, Origin, ScenarioError, Transport, TypedValue, load};
use paceline_sim::{Pace, Simulation};
use paceline_units::TimeDelta;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Name of the page's scenario in messages.
const FILE: &str = "scenario";

/// Answers a page's questions. It holds one run at most.
#[derive(Default)]
pub struct Playground {
    run: Option<Run>,
}

struct Run {
    loaded: Loaded,
    simulation: Simulation,
}

/// An answer, or the message that stands in its place.
type Answer = Result<Value, Value>;

impl Playground {
    /// Answers a question in JSON. An answer with the key `error` says what was wrong, and where.
    pub fn answer(&mut self, question: &[u8]) -> String {
        let question =
            serde_json::from_slice(question).map_err(|error| message(&format!("question: {error}")));
        question.and_then(|question| self.reply(question)).unwrap_or_else(|error| error).to_string()
    }

    fn reply(&mut self, question: Question) -> Answer {
        match question {
            Question::Kinds => Ok(kinds()),
            Question::Read { scenario, files } => read(&scenario, files),
            Question::Begin { scenario, files } => self.begin(&scenario, files),
            Question::Advance { seconds } => self.advance(seconds),
            Question::Rows { after } => Ok(self.rows(after)?),
            Question::Finish => self.finish(),
        }
    }

    fn begin(&mut self, scenario: &str, files: BTreeMap<String, String>) -> Answer {
        let loaded = loaded(scenario, files)?;
        let simulation =
            Simulation::new(&loaded, Pace::Windowed).map_err(|error| message(&error.to_string()))?;
        let flows = loaded.scenario.flows.iter();
        let flows = flows.map(|flow| (flow.name.clone(), flow.controller.params.kind()));
        let answer = json!({
            "name": loaded.scenario.name,
            "duration_s": loaded.scenario.duration.as_secs_f64(),
            "flows": flows.map(|(name, controller)| json!({ "name": name, "controller": controller })).collect::<Vec<_>>(),
            "links": loaded.scenario.links.iter().map(|link| link.name.clone()).collect::<Vec<_>>(),
            "warnings": loaded.parts.warnings,
        });
        self.run = Some(Run { loaded, simulation });
        Ok(answer)
    }

    fn advance(&mut self, seconds: f64) -> Answer {
        let run = self.run.as_mut().ok_or_else(|| message("no run: begin one"))?;
        let span = TimeDelta::from_secs_f64(seconds.clamp(1e-3, 1e6));
        let over = run.simulation.advance(span);
        Ok(
            json!({ "over": over, "progress": run.simulation.progress(), "packets": run.simulation.packets() }),
        )
    }

    fn rows(&self, after: f64) -> Answer {
        let run = self.run.as_ref().ok_or_else(|| message("no run: begin one"))?;
        let (flows, links) = run.simulation.series();
        let rows = Rows {
            flows: samples(&flows, "flow", &OF_FLOWS, after),
            links: samples(&links, "link", &OF_LINKS, after),
        };
        serde_json::to_value(rows).map_err(|error| message(&error.to_string()))
    }

    fn finish(&mut self) -> Answer {
        let Some(Run { loaded, mut simulation }) = self.run.take() else {
            return Err(message("no run: begin one"));
        };
        while !simulation.advance(TimeDelta::from_secs(1)) {}
        let outcome = simulation.finish();
        let warnings = loaded.warnings(&outcome.summary, outcome.warnings);
        Ok(json!({ "summary": outcome.summary, "warnings": warnings, "scenario": loaded.scenario.to_toml() }))
    }
}

/// An answer that says what was wrong.
fn message(text: &str) -> Value {
    json!({ "error": { "message": text } })
}

/// The same of an error in a scenario.
fn located(error: &ScenarioError) -> Value {
    json!({ "error": {
        "message": error.to_string(),
        "line": error.line(),
        "key": error.key,
    } })
}

fn loaded(scenario: &str, files: BTreeMap<String, String>) -> Result<Loaded, Value> {
    let mut loader = Loader::new("", Vec::new());
    loader.at_hand = files.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    let origin = Origin { text: scenario, file: FILE, sets: &[] };
    load(&origin, &loader).map_err(|error| located(&error))
}

/// Every value of a scenario as resolved: its path, its value, and the unit of a quantity.
fn read(scenario: &str, files: BTreeMap<String, String>) -> Answer {
    let loaded = loaded(scenario, files)?;
    let parameters = loaded.scenario.parameters().into_iter().map(|parameter| {
        let value = match parameter.value {
            TypedValue::Integer(value) => json!(value),
            TypedValue::Number(value) => json!(value),
            TypedValue::Flag(value) => json!(value),
            TypedValue::Text(value) => json!(value),
        };
        (parameter.path, json!({ "value": value, "unit": parameter.unit }))
    });
    Ok(json!({ "parameters": parameters.collect::<serde_json::Map<_, _>>() }))
}

/// The controllers and queues that a page lets a person choose from.
fn kinds() -> Value {
    let shown = |entry: &Entry| {
        let profiles = entry.profiles.iter();
        let profiles: Vec<_> =
            profiles.map(|profile| json!({ "name": profile.name, "help": profile.help })).collect();
        json!({ "kind": entry.kind, "help": entry.help, "profiles": profiles, "over": over(entry.kind) })
    };
    let all = |listing: registry::Listing| listing.iter().map(shown).collect::<Vec<_>>();
    json!({
        "controllers": all(registry::controllers()),
        "queues": all(registry::queues()),
        "version": paceline_metrics::version(),
    })
}

/// The transports that carry a controller, the usual one first; none of what is no controller.
fn over(kind: &str) -> Vec<&'static str> {
    let carrying = ControllerParams::of(kind).map_or(Vec::new(), |usual| Transport::carrying(&usual));
    carrying.iter().map(|over| over.name()).collect()
}
