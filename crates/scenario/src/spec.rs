//! A scenario as resolved: every default filled in, every name checked, no file opened yet.

use crate::priorities::Priorities;
use crate::rate::RateSpec;
use crate::schema::BitrateKeys;
use crate::source::SourceSpec;
use crate::transports::TransportSpec;
use paceline_cc::guest::Guest;
use paceline_cc::shared_bottleneck;
use paceline_cc::{ControllerParams, CouplingParams, FlowSetup, Priority};
use paceline_ends::Exchange;
use paceline_link::{
    DelayOverTime, DuplicateConfig, LossConfig, MarkConfig, NoiseConfig, OverTime, PolicerConfig,
    QueueConfig, RatioOverTime, ShaperConfig,
};
use paceline_media::PlayoutConfig;
use paceline_units::param::{Kind, ParamError, ParamSet, Parameter, Reason, Value};
use paceline_units::{Bitrate, Bytes, EcnMode, Stack, Time, TimeDelta, params};
use std::collections::BTreeMap;

params! {
    /// Everything a run needs to know, except the contents of the files it names.
    pub struct Scenario {
        {
            /// The links, by name.
            links: Vec<LinkSpec> = Vec::new(),
            /// The flows, by name; at least one.
            flows: Vec<FlowSpec> = Vec::new(),
            /// Which flows share their rates, and how.
            couplings: Vec<CouplingSpec> = Vec::new(),
        }
        name: String = String::new(), else "the file's stem", "", "Name of the run";
        duration: TimeDelta = TimeDelta::ZERO, as Required, in 1e-9, 1e6, "", "How long is simulated; above 0, at most 1e6 s";
        warmup: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "", "Left out of every statistic; below `duration`";
        seed: u64 = 1, in 0.0, i64::MAX as f64, "", "Of all random draws; the largest is what TOML holds";
        sample: TimeDelta = TimeDelta::from_millis(50), in 1e-9, 1e6, "", "Interval of the time series. A row is one link or stream at one sample; an interval that makes more than 10 million rows is refused, and the message names one that does not";
    }
    check warmup_ends;
}

fn warmup_ends(scenario: &Scenario) -> Result<(), ParamError> {
    let Scenario { warmup, duration, .. } = scenario;
    if warmup < duration || *warmup == TimeDelta::ZERO {
        return Ok(());
    }
    wrong("warmup", *warmup, "a time below the duration")
}

/// The error of a time at a key.
fn wrong(key: &str, at: TimeDelta, expected: &'static str) -> Result<(), ParamError> {
    Err(ParamError::new(key, Value::Time(at), expected))
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

params! {
    /// One direction of a link.
    pub struct LinkSpec {
        {
            /// Name, as the scenario's table has it.
            name: String = String::new(),
        }
        from: Option<String> = None, type NODE, else "it fits everywhere", "", "The node where the link begins. A path over links with nodes must join, and pass each node once";
        to: Option<String> = None, type NODE, else "it fits everywhere", "", "The node where the link ends";
        rate: RateSpec = RateSpec::Constant(Bitrate::ZERO), as Required, "", "How fast the link serves: see below; a network has one";
        delay: DelayOverTime = DelayOverTime::Constant(TimeDelta::ZERO), in 0.0, 1e6, "", "Propagation, one way, of a packet that leaves the server then: see below";
        overtake: bool = false, "", "Whether packets over a route that became shorter arrive before those still on the longer one; else behind them";
        queue: QueueConfig = QueueConfig::DropTail(Default::default()), as Required, "", "`{ limit = \"300ms\" }`, `{ packets = 100 }` or `{ bytes = \"150kB\" }`, exactly one of them and above 0. It limits what waits; the packet in service does not count. A time is turned into bytes once, at the constant rate, the first step's, or the trace's mean. A `kind` that manages its queue has a limit of its own: see [queues](queues.md)";
        mark: Option<MarkConfig> = None, else "no marks", "", "ECN marks: see below";
        loss: Option<LossConfig> = None, else "no loss", "", "Loss before the queue: see below";
        policer: Option<PolicerConfig> = None, else "no policer", "", "Drops or marks what comes faster than a rate, behind `loss` and before the queue: see below";
        shaper: Option<ShaperConfig> = None, else "no shaper", "", "Holds back what comes faster than a rate, behind `policer` and before the queue, and drops what it has no room for: see below";
        corrupt: RatioOverTime = RatioOverTime::Constant(0.0), in 0.0, 1.0, "", "Part of the packets that are damaged behind the server, so that nobody gets them; may change, as `delay` does";
        duplicate: Option<DuplicateConfig> = None, else "no duplicates", "", "Part of the packets of which a copy arrives as well, at once or later: see below";
        noise: Vec<NoiseConfig> = Vec::new(), type Kind::Other("table with kind, or list"), else "no noise", "", "Delay noise, or a list of noises that a packet passes in turn: see below";
        down: Vec<(TimeDelta, TimeDelta)> = Vec::new(), "", "Failures from a time to another: `[[\"30s\", \"31s\"]]`. Nothing is served meanwhile; the queue keeps its packets and takes what fits";
        overhead: Bytes = Bytes::ZERO, in 0.0, MAX_OVERHEAD, "", "Added to each packet's size here, such as `\"28B\"` for IPv4 and UDP";
    }
    check link_fits;
}

impl LinkSpec {
    /// The quantities that may change, by their keys.
    pub(crate) fn over_time(&mut self) -> Vec<(String, &mut dyn OverTime)> {
        let LinkSpec { delay, corrupt, duplicate, queue, loss, noise, .. } = self;
        paceline_link::over_time((delay, corrupt, duplicate), queue, loss, noise)
    }
}

const NODE: Kind = Kind::Text("name", "the name of a node");
/// The most that a link or a flow may add to a packet.
const MAX_OVERHEAD: f64 = 65_535.0;

fn link_fits(link: &LinkSpec) -> Result<(), ParamError> {
    if let (Some(from), Some(to)) = (&link.from, &link.to)
        && from == to
    {
        return Err(ParamError::new("to", to, "another node than where the link begins"));
    }
    match link.down.iter().enumerate().find(|(_, (from, to))| to <= from) {
        Some((index, &(_, to))) => {
            wrong(&format!("down[{index}][1]"), to, "a time after the beginning of the failure")
        }
        None => Ok(()),
    }
}

params! {
    /// One flow from a sender to a receiver.
    pub struct FlowSpec {
        {
            /// Name, as the scenario's table has it.
            name: String = String::new(),
            /// Transport of the flow, with its settings.
            transport: TransportSpec = TransportSpec::default(),
            /// Controller of the flow, with its parameters.
            controller: ControllerSpec = ControllerSpec::default(),
            /// Streams of media by name; one without a name where the scenario says `source`.
            streams: Vec<StreamSpec> = Vec::new(),
            /// Names of the inner states of the controller that are recorded.
            record: Vec<String> = Vec::new(),
        }
        priority: Priorities = Priorities::default(), in *FlowSetup::PRIORITIES.start(), *FlowSetup::PRIORITIES.end(), "", "Weight among the flows that it shares with (`[coupling.NAME]`); or steps: `[[\"0s\", 1], [\"100s\", 0.5]]`";
        ecn: EcnMode = EcnMode::Off, else "off; under prague l4s", "", "The ECN field that packets leave with: `\"classic\"` is ECT(0), `\"l4s\"` ECT(1). With a controller that ignores marks it is `\"off\"`";
        path: Vec<String> = Vec::new(), type NAMES, as Required, "", "The links from sender to receiver, 1 to 64";
        return_path: Vec<String> = Vec::new(), type NAMES, "", "The links back, at most 64. Without any the way back is unlimited and lossless, with `return_delay`";
        return_delay: TimeDelta = TimeDelta::ZERO, else "the sum of the forward delays, as they are at the beginning", in 0.0, 1e6, "", "Delay of an empty return path";
        start: TimeDelta = TimeDelta::ZERO, in 0.0, 1e6, "", "When the flow begins; its samples before have no target and no state";
        stop: Option<TimeDelta> = None, else "at the end of the run", in 0.0, 1e6, "", "When the flow ends; its samples after have no target and no state";
        pause: Vec<(TimeDelta, TimeDelta)> = Vec::new(), else "it never pauses", "", "From a time to another, `[[\"30s\", \"40s\"]]`, the application is silent; what waits to be sent still leaves. In order, between `start` and `stop`";
        packet_size: Bytes = Bytes::ZERO, else "the controller's `mss` and the header, else 1212 B over rtp and 1500 B over others", in 1.0, 65_535.0, "", "The largest packet, transport header in. Given, it sets `mss`";
        overhead: Bytes = Bytes::ZERO, in 0.0, MAX_OVERHEAD, "", "Added to each packet's size on every link";
        playout: PlayoutConfig = PlayoutConfig::IMMEDIATE, else "as soon as it is complete", "", "When a frame is shown: see below";
    }
    idle elsewhere;
}

const NAMES: Kind = Kind::Other("list of names");

fn elsewhere(flow: &FlowSpec, name: &str) -> Option<Reason> {
    match name {
        "return_delay" if !flow.return_path.is_empty() => {
            Some(Reason::Useless("nothing: the links of return_path have delays".into()))
        }
        "playout" => flow.transport.choice().refuses_playout(flow.controller.params.steers()),
        _ => None,
    }
}

impl FlowSpec {
    /// Fails unless it starts, pauses and stops in order, within a run of this length.
    pub(crate) fn in_time(&self, duration: TimeDelta) -> Result<(), ParamError> {
        let stop = self.stop.unwrap_or(duration);
        if self.start >= duration {
            return wrong("start", self.start, "a time before the end of the run");
        }
        if stop <= self.start {
            return wrong("stop", stop, "a time after the flow's start");
        }
        if stop > duration {
            return wrong("stop", stop, "a time not after the end of the run");
        }
        let mut free = self.start;
        for (index, &(from, to)) in self.pause.iter().enumerate() {
            let [begin, end] = [0, 1].map(|side| format!("pause[{index}][{side}]"));
            if from < free {
                let expected =
                    "a time not before the flow's start, nor before the end of the pause before it";
                return wrong(&begin, from, expected);
            }
            if to <= from {
                return wrong(&end, to, "a time after the beginning of the pause");
            }
            if to > stop {
                return wrong(&end, to, "a time not after the flow's stop");
            }
            free = to;
        }
        Ok(())
    }
}

/// The controller of a flow; by default none.
#[derive(Clone, PartialEq, Debug)]
pub struct ControllerSpec {
    /// The named set its parameters started from.
    pub profile: String,
    /// Its kind and the values of all its parameters.
    pub params: ControllerParams,
}

impl Default for ControllerSpec {
    fn default() -> ControllerSpec {
        ControllerSpec {
            profile: "default".into(),
            params: ControllerParams::Uncontrolled(Default::default()),
        }
    }
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

params! {
    /// One stream of media.
    pub struct StreamSpec {
        {
            /// Its name; none for a flow's only stream given as `source`.
            name: Option<String> = None,
        }
        source: SourceSpec = SourceSpec::Bulk(Default::default()), as Required, "", "Where the media comes from";
        priority: f64 = 1.0, in *FlowSetup::PRIORITIES.start(), *FlowSetup::PRIORITIES.end(), "", "Share beside other streams";
        limits("bitrate"): Option<StreamLimits> = None, else "the flow's, or the controller's", "", "Limits of its target, as `bitrate` of the flow";
        start: Option<TimeDelta> = None, else "with the flow", in 0.0, 1e6, "", "When the stream joins the flow; its samples before have no target";
        stop: Option<TimeDelta> = None, else "with the flow", in 0.0, 1e6, "", "When the stream leaves the flow: what waits of it is discarded, what is under way is still reported on";
    }
}

impl StreamSpec {
    /// Its name in results.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or("0")
    }

    /// Fails unless it joins and leaves in order, while its flow is there.
    pub(crate) fn in_time(&self, (from, to): (TimeDelta, TimeDelta)) -> Result<(), ParamError> {
        match (self.start, self.stop) {
            (Some(start), _) if start < from || to < start => {
                wrong("start", start, "a time between the flow's start and its stop")
            }
            (start, Some(stop)) if stop <= start.unwrap_or(from) || to < stop => {
                wrong("stop", stop, "a time after the stream's start, and not after the flow's stop")
            }
            _ => Ok(()),
        }
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

/// Read as `BitrateKeys`, which it is written as.
impl Parameter for StreamLimits {
    const KIND: Kind = Kind::Other("table");

    fn to_value(&self) -> Option<Value> {
        self.said().to_value()
    }

    fn from_value(_: Value) -> Option<StreamLimits> {
        None
    }
}

impl StreamLimits {
    /// The keys that say them.
    pub(crate) fn said(&self) -> BitrateKeys {
        BitrateKeys {
            min: Some(self.min).filter(|min| *min > Bitrate::ZERO),
            start: Some(self.start),
            max: Some(self.max).filter(|max| *max < Bitrate::MAX),
        }
    }

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
