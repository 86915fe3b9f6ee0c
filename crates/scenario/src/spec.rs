//! A scenario as resolved: every default filled in, every name checked, no file opened yet.

use crate::rate::RateSpec;
use crate::source::SourceSpec;
use crate::transports::TransportSpec;
use paceline_cc::guest::Guest;
use paceline_cc::shared_bottleneck;
use paceline_cc::{ControllerParams, CouplingParams, Priority};
use paceline_ends::Exchange;
use paceline_link::{LossConfig, MarkConfig, NoiseConfig, QueueConfig};
use paceline_media::PlayoutConfig;
use paceline_units::param::{ParamSet, Value};
use paceline_units::{Bitrate, Bytes, EcnMode, Stack, Time, TimeDelta};
use std::collections::BTreeMap;

/// Everything a run needs to know, except the contents of the files it names.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// Name of the run; the stem of the scenario's file unless given.
    pub name: String,
    /// How long is simulated; above 0, at most 1e6 s.
    pub duration: TimeDelta,
    /// Time that every statistic leaves out at the beginning; below `duration`.
    pub warmup: TimeDelta,
    /// Root of all random streams; at most 2^63 - 1, what TOML holds.
    pub seed: u64,
    /// Interval of the time series; above 0.
    pub sample: TimeDelta,
    /// The links, by name.
    pub links: Vec<LinkSpec>,
    /// The flows, by name; at least one.
    pub flows: Vec<FlowSpec>,
    /// Which flows share their rates, and how.
    pub couplings: Vec<CouplingSpec>,
}

impl Scenario {
    /// The index of the link called `name`.
    pub fn link_index(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|link| link.name == name)
    }

    /// Whether a controller from outside steers any of its flows.
    pub fn has_guests(&self) -> bool {
        self.guests().next().is_some()
    }

    /// The controllers from outside that steer its flows, one for each such flow.
    fn guests(&self) -> impl Iterator<Item = &dyn Guest> {
        self.flows.iter().filter_map(|flow| match &flow.controller.params {
            ControllerParams::Guest(params) => Some(params.guest()),
            _ => None,
        })
    }

    /// The version of the build that runs it, behind which stand the versions of the controllers from outside.
    pub fn version(&self) -> String {
        let mut version = String::from(paceline_metrics::version());
        let guests: BTreeMap<_, _> = self.guests().map(|guest| (guest.kind(), guest.version())).collect();
        for (kind, of_guest) in guests {
            version.push_str(&format!("~{kind}-{of_guest}"));
        }
        version
    }

    /// How shared bottlenecks of the flow called `name` are detected, if they are.
    pub fn detection_of(&self, name: &str) -> Option<&shared_bottleneck::Params> {
        let has = |flow: &usize| self.flows[*flow].name == name;
        let coupling = self.couplings.iter().find(|coupling| coupling.groups.iter().flatten().any(has));
        coupling?.detection.as_ref()
    }
}

/// Flows of one host that share their rates.
#[derive(Clone, PartialEq, Debug)]
pub struct CouplingSpec {
    /// Name, as the scenario's table has it.
    pub name: String,
    /// How they share.
    pub params: CouplingParams,
    /// The named set its parameters started from.
    pub profile: String,
    /// The groups, each of flows by their numbers; no flow is in two.
    pub groups: Vec<Vec<usize>>,
    /// How it is found out which of its flows share a bottleneck; without, the groups are fixed. With, there is one group.
    pub detection: Option<shared_bottleneck::Params>,
    /// Which of its flows share a bottleneck in truth, over time, to judge the detection by; the first step begins at 0 s.
    /// Empty if unknown.
    pub truth: Vec<TruthStep>,
}

/// Which flows share a bottleneck in truth from a time on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TruthStep {
    /// When it begins.
    pub at: TimeDelta,
    /// Flows that share a bottleneck, by their numbers; those in no group share with nobody.
    pub groups: Vec<Vec<usize>>,
}

impl CouplingSpec {
    /// Its flows by their numbers, and the exchange in which a flow is its place among them.
    pub fn exchange(&self, flows: &[FlowSpec]) -> (Vec<usize>, Exchange) {
        let mut numbers = Vec::new();
        let (mut members, mut steps) = (Vec::new(), Vec::new());
        for (group, &flow) in self
            .groups
            .iter()
            .enumerate()
            .flat_map(|(group, flows)| flows.iter().map(move |flow| (group, flow)))
        {
            let place = numbers.len();
            numbers.push(flow);
            let priorities = &flows[flow].priority;
            members.push((group, priorities.first().map_or(Priority::ONE, |step| step.priority)));
            let later = priorities.iter().skip(1);
            steps.extend(later.map(|step| paceline_ends::PriorityStep {
                at: Time::ZERO + step.at,
                flow: place,
                priority: step.priority,
            }));
        }
        let exchange = match &self.detection {
            None => Exchange::new(&self.params, &members, steps),
            Some(detection) => {
                let priorities: Vec<Priority> = members.iter().map(|&(_, priority)| priority).collect();
                Exchange::detecting(&self.params, detection, &priorities, steps)
            }
        };
        (numbers, exchange)
    }
}

/// The priority of a flow from a time on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PriorityStep {
    /// When it begins.
    pub at: TimeDelta,
    /// Priority among the flows that it shares with.
    pub priority: Priority,
}

/// One direction of a link.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkSpec {
    /// Name, as the scenario's table has it.
    pub name: String,
    /// Rate over time.
    pub rate: RateSpec,
    /// The node where it begins; default none: it fits everywhere.
    pub from: Option<String>,
    /// The node where it ends; default none.
    pub to: Option<String>,
    /// Propagation, one way; default 0 s.
    pub delay: TimeDelta,
    /// The queue before the server.
    pub queue: QueueConfig,
    /// ECN marks; default none.
    pub mark: Option<MarkConfig>,
    /// Loss before the queue; default none.
    pub loss: Option<LossConfig>,
    /// Delay noises, which a packet passes in turn; default none.
    pub noise: Vec<NoiseConfig>,
    /// Intervals [from, to) of failure, in order.
    pub down: Vec<(TimeDelta, TimeDelta)>,
    /// Added to each packet's size on this link; default 0 B.
    pub overhead: Bytes,
}

/// One flow from a sender to a receiver.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowSpec {
    /// Name, as the scenario's table has it.
    pub name: String,
    /// Transport of the flow, with its settings.
    pub transport: TransportSpec,
    /// Controller of the flow, with its parameters.
    pub controller: ControllerSpec,
    /// Its priority among the flows that it shares with, over time; the first step begins at 0 s.
    pub priority: Vec<PriorityStep>,
    /// Streams of media by name; one without a name where the scenario says `source`.
    pub streams: Vec<StreamSpec>,
    /// ECN field that packets leave with.
    pub ecn: EcnMode,
    /// Names of the links from sender to receiver; at least one.
    pub path: Vec<String>,
    /// Names of the links back; none: unlimited and lossless, with `return_delay`.
    pub return_path: Vec<String>,
    /// Delay of an empty return path; default: the sum of the forward delays. 0 with a return path.
    pub return_delay: TimeDelta,
    /// When it starts.
    pub start: TimeDelta,
    /// When it stops; none: at the end of the run, however long that is.
    pub stop: Option<TimeDelta>,
    /// Intervals [from, to) in which its application is silent, in order, without overlap, between start and stop.
    pub pause: Vec<(TimeDelta, TimeDelta)>,
    /// Size on the link of the largest packet, transport header in.
    pub packet_size: Bytes,
    /// Added to each packet's size on every link; default 0 B.
    pub overhead: Bytes,
    /// When a frame is displayed; default: as soon as it is complete.
    pub playout: PlayoutConfig,
    /// Names of the inner states of the controller that are recorded.
    pub record: Vec<String>,
}

/// The controller of a flow.
#[derive(Clone, PartialEq, Debug)]
pub struct ControllerSpec {
    /// The named set its parameters started from.
    pub profile: String,
    /// Its kind and the values of all its parameters.
    pub params: ControllerParams,
}

impl ControllerSpec {
    /// The transport's implementation that its profile imitates.
    pub fn stack(&self) -> Stack {
        self.params.stack(&self.profile)
    }

    /// Whether parameters of the controller limit the media of its flow.
    pub(crate) fn has_limits(&self) -> bool {
        self.params.bitrate_names()[2].is_some()
    }

    /// ECN of packets under the controller unless the flow is told otherwise.
    pub fn usual_ecn(&self) -> EcnMode {
        self.params.needs().ecn
    }
}

/// One stream of media.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamSpec {
    /// Its name; none for a flow's only stream given as `source`.
    pub name: Option<String>,
    /// Where its media comes from.
    pub source: SourceSpec,
    /// Its share beside other streams; default 1.
    pub priority: f64,
    /// Its limits: its own, those of its flow, or those of the controller's parameters; absent where there are none.
    pub limits: Option<StreamLimits>,
    /// When it joins the flow, if that is not with its start.
    pub start: Option<TimeDelta>,
    /// When it leaves the flow, if that is not with its stop.
    pub stop: Option<TimeDelta>,
}

impl StreamSpec {
    /// Its name in results.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or("0")
    }
}

/// Limits of a stream's target bitrate, headers in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamLimits {
    /// Lowest target bitrate; 0 where nothing limits it.
    pub min: Bitrate,
    /// First target bitrate.
    pub start: Bitrate,
    /// Highest target bitrate; [`Bitrate::MAX`] where nothing limits it.
    pub max: Bitrate,
}

impl StreamLimits {
    /// The limits of a stream under a controller whose parameters have none.
    pub(crate) const NONE: StreamLimits =
        StreamLimits { min: Bitrate::ZERO, start: Bitrate::from_mbps(1), max: Bitrate::MAX };

    /// As the controller's parameters say them, those that it has.
    pub(crate) fn of(params: &ControllerParams) -> StreamLimits {
        let rates = params.bitrate_names().map(|name| match params.value(name?) {
            Some(Value::Rate(rate)) => Some(rate),
            _ => None,
        });
        let [min, start, max] = rates;
        let (min, max) = (min.unwrap_or(Self::NONE.min), max.unwrap_or(Self::NONE.max));
        StreamLimits { min, start: start.unwrap_or(Self::NONE.start), max }
    }
}
