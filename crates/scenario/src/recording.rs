//! The recorders of what a scenario describes.

use crate::spec::{CouplingSpec, FlowSpec, Scenario};
use paceline_cc::AnyController;
use paceline_metrics::{
    Facts, FlowConfig, FlowRecorder, LinkRecorder, PairsRecorder, RunTimes, Sharing, Window,
};
use paceline_units::Time;

impl Scenario {
    fn times(&self) -> RunTimes {
        RunTimes { duration: self.duration, warmup: self.warmup, sample: self.sample }
    }

    /// The recorder of one of its flows at an end that can know `facts`.
    pub fn flow_recorder(&self, flow: &FlowSpec, facts: Facts) -> FlowRecorder {
        let params = &flow.controller.params;
        FlowRecorder::new(FlowConfig {
            name: flow.name.clone(),
            quality: flow.streams.iter().map(|stream| stream.source.quality()).collect(),
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

    /// The recorder of the decisions on the flows of a coupling, if their groups are not fixed.
    pub fn pairs_recorder(&self, coupling: &CouplingSpec) -> Option<PairsRecorder> {
        coupling.detection.as_ref()?;
        let flows = coupling.groups.concat();
        // A flow in no group shares with nobody: a number of its own, above those of the groups.
        let number = |groups: &[Vec<usize>], place: usize| {
            let found = groups.iter().position(|group| group.contains(&flows[place]));
            found.unwrap_or(groups.len() + place)
        };
        let sharing = coupling.truth.iter().map(|step| Sharing {
            from: Time::ZERO + step.at,
            groups: (0..flows.len()).map(|place| number(&step.groups, place)).collect(),
        });
        let there = |flow: &FlowSpec| Window::new(flow.start, flow.stop.unwrap_or(self.duration));
        let flows = flows.iter().map(|&flow| &self.flows[flow]);
        let flows = flows.map(|flow| (flow.name.clone(), there(flow))).collect();
        Some(PairsRecorder::new(self.times(), flows, &sharing.collect::<Vec<_>>()))
    }

    /// The recorder of the link called `name`.
    pub fn link_recorder(&self, name: &str) -> LinkRecorder {
        LinkRecorder::new(self.times(), name)
    }
}
