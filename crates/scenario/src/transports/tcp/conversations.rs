//! The connections of a flow whose source is `tmix`: read or drawn, and put in their place.

use crate::assembly::{Builder, in_file, source_table, within, wrong};
use crate::error::ScenarioError;
use crate::source::{TmixSpec, VectorGenerator};
use crate::spec::FlowSpec;
use paceline_media::vectors::{ConnectionVectors, web_vectors};
use paceline_tcp::conversations::{ConversationsConfig, LossUse, Schedule};
use paceline_units::{RandomStream, Time, TimeDelta};

impl Builder<'_> {
    pub(super) fn conversations(
        &mut self,
        flow: &FlowSpec,
        spec: &TmixSpec,
    ) -> Result<ConversationsConfig, ScenarioError> {
        let table = source_table(flow, &flow.streams[0]);
        let vectors = match &spec.generator {
            Some(VectorGenerator::Web(drawn)) => {
                let seed = self.seed(drawn.seed, &format!("flow.{}.pages", flow.name));
                let drawn = web_vectors(seed, self.drawn_for(flow, spec), &drawn.pages);
                drawn.map_err(|error| within(&format!("{table}.generator"), &error))?
            }
            None => self.recorded_vectors(&spec.file.clone().unwrap_or_default().0, &table)?,
        };
        self.data_units += vectors.data_units();
        if self.data_units > ConnectionVectors::MOST_UNITS as u64 {
            let found = format!("{} data units with the flows before", self.data_units);
            return Err(wrong(table, found, "at most 10,000,000 over all flows"));
        }
        let at = |time: TimeDelta| Time::ZERO + time;
        Ok(ConversationsConfig {
            vectors: placed(&vectors, spec),
            sending: spec.sending.side(),
            rtt: spec.rtt,
            path_rtt: self.path_rtt(flow),
            loss: match spec.loss {
                LossUse::None => None,
                LossUse::Vector => Some(["initiator", "acceptor"].map(|side| {
                    RandomStream::new(self.scenario.seed, &format!("flow.{}.loss.{side}", flow.name))
                })),
            },
            schedule: Schedule {
                start: at(flow.start),
                pauses: flow.pause.iter().map(|&(from, to)| (at(from), at(to))).collect(),
                stop: at(flow.stop.unwrap_or(self.scenario.duration)),
            },
        })
    }

    /// For how long connections are drawn: while the flow is there, in the generator's time.
    fn drawn_for(&self, flow: &FlowSpec, spec: &TmixSpec) -> TimeDelta {
        let there = flow.stop.unwrap_or(self.scenario.duration) - flow.start;
        spec.offset + TimeDelta::from_secs_f64(there.as_secs_f64() / spec.scale)
    }

    fn recorded_vectors(&mut self, file: &str, table: &str) -> Result<ConnectionVectors, ScenarioError> {
        if let Some(vectors) = self.vectors.get(file) {
            return Ok(vectors.clone());
        }
        let key = format!("{table}.file");
        let (bytes, path) = self.read(&key, file)?;
        let vectors = ConnectionVectors::parse(&bytes)
            .map_err(|error| wrong(key.clone(), in_file(&error.found, error.line, &path), error.expected))?;
        self.warnings.extend(vectors.warnings().iter().map(|warning| format!("{key}: {path} {warning}")));
        self.vectors.insert(file.into(), vectors.clone());
        Ok(vectors)
    }

    /// Delays of the links of a flow's path and way back, as they are at the beginning; without those that only recordings tell.
    fn path_rtt(&self, flow: &FlowSpec) -> TimeDelta {
        let links = flow.path.iter().chain(&flow.return_path);
        let delays =
            links.filter_map(|name| self.scenario.links[self.scenario.link_index(name)?].delay.first());
        delays.fold(flow.return_delay, |sum, delay| sum + delay)
    }
}

/// The connections from `offset` on, at times that are scaled.
fn placed(vectors: &ConnectionVectors, spec: &TmixSpec) -> ConnectionVectors {
    if spec.offset == TimeDelta::ZERO && spec.scale == 1.0 {
        return vectors.clone();
    }
    let later = vectors.iter().filter(|vector| vector.start >= spec.offset).cloned();
    let scaled = later.map(|mut vector| {
        let since = (vector.start - spec.offset).as_secs_f64();
        vector.start = TimeDelta::from_secs_f64(since * spec.scale);
        vector
    });
    ConnectionVectors::new(scaled.collect())
}
