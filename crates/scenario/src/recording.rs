//! The recorders of what a scenario describes.

use crate::spec::{FlowSpec, Scenario};
use paceline_cc::AnyController;
use paceline_metrics::{Facts, FlowConfig, FlowRecorder, LinkRecorder, RunTimes};

impl Scenario {
    fn times(&self) -> RunTimes {
        RunTimes { duration: self.duration, warmup: self.warmup, sample: self.sample }
    }

    /// The recorder of one of its flows at an end that can know `facts`.
    pub fn flow_recorder(&self, flow: &FlowSpec, facts: Facts) -> FlowRecorder {
        let params = &flow.controller.params;
        FlowRecorder::new(FlowConfig {
            name: flow.name.clone(),
            streams: flow.streams.iter().map(|stream| stream.label().to_string()).collect(),
            controller: params.kind(),
            profile: flow.controller.profile.clone(),
            states: AnyController::states_of(params),
            recorded: flow.record.clone(),
            start: flow.start,
            stop: flow.stop.unwrap_or(self.duration),
            times: self.times(),
            facts,
        })
    }

    /// The recorder of the link called `name`.
    pub fn link_recorder(&self, name: &str) -> LinkRecorder {
        LinkRecorder::new(self.times(), name)
    }
}
