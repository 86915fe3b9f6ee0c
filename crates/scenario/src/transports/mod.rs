//! The transports of flows, as scenarios know them: a file or a folder each, and a line in `transports!`.
//!
//! A transport says which controllers it carries, which keys of a flow are its own and what holds without them, how long its header is, and
//! of which parts its two ends are made. The simulator and the network have a list of their own, of how its packets travel there.

mod dccp;
mod rtp;
mod sctp;
mod tcp;
mod udp;

pub use dccp::{DccpParts, DccpSpec, FlowCcids, Halves};
pub use rtp::{ReceivingParts, RtpParts, RtpSpec, SendingWorld};
pub use sctp::SctpParts;
pub use tcp::{ByteStream, TcpParts};
pub use udp::{UdpParts, UdpSpec};

use crate::assembly::Builder;
use crate::error::ScenarioError;
use crate::reader::{Node, Table};
use crate::registry::Entry;
use crate::schema::source;
use crate::source::SourceSpec;
use crate::spec::{ControllerSpec, FlowSpec, StreamSpec};
use paceline_cc::{AnyController, ControllerParams, FlowSetup, Steers, StreamId, Verb};
use paceline_ends::{Plan, StreamSpan};
use paceline_media::{ConnectionVectors, Source};
use paceline_sctp::SctpConfig;
use paceline_tcp::TcpConfig;
use paceline_units::param::{Reason, Spec, joined};
use paceline_units::{Bytes, EcnMode, Time, TimeDelta, names};
use std::ops::{Deref, DerefMut};

/// A flow's table when everything is read but the keys of its transport.
pub(crate) struct FlowTable<'a> {
    pub table: &'a Table<'a>,
    pub controller: &'a ControllerSpec,
    pub packet_size: Bytes,
    pub ecn: EcnMode,
    pub streams: &'a [StreamSpec],
}

/// A flow's transport with its settings, as a scenario says them.
pub(crate) trait Configured: Sized {
    /// Header on a packet, without options.
    const HEADER: Bytes;
    /// Usual size on the link of the largest packet: it fills the path (RFC 8868 section 5.3).
    const PACKET_SIZE: Bytes = Bytes::new(1500);
    /// Keys of a flow that are this transport's.
    const KEYS: &'static [Spec] = &[];
    /// Kind of the controller of a flow that names none; absent if a flow must name one.
    const USUAL_CONTROLLER: Option<&'static str> = None;
    /// Whether a flow may have several streams.
    const SEVERAL_STREAMS: bool = false;
    /// Whether a flow over sockets is a connection, whose ends have whole figures once it is closed.
    const CLOSES: bool = false;

    /// Whether a controller that steers this may run over it.
    fn carries(steers: Steers) -> bool;

    /// The words of the contract that its sending end executes under a controller that steers this.
    fn executes(steers: Steers) -> &'static [Verb];

    /// Whether reports on its packets come back under a controller that steers this, and an encoder is told a target.
    fn reports(_steers: Steers) -> bool {
        false
    }

    /// Whether its receiver plays media out under a controller that steers this.
    fn plays_out(steers: Steers) -> bool {
        Self::reports(steers)
    }

    /// Whether it has the key of this name, which may be another transport's, too.
    fn has_key(key: &str, _steers: Steers) -> bool {
        Self::KEYS.iter().any(|spec| spec.name == key)
    }

    /// The tables among its keys, for `paceline list transports`.
    fn tables() -> Vec<Entry> {
        Vec::new()
    }

    /// The only source of a flow, if it can carry that under a controller that steers this.
    fn source(node: &Node<'_>, _steers: Steers) -> Result<SourceSpec, ScenarioError> {
        source::parse_without_connections(node)
    }

    /// The settings under a controller, where the scenario says nothing else: those of its profile's stack, and what it needs.
    fn usual(controller: &ControllerSpec) -> Self;

    /// Reads its keys.
    fn read(flow: &FlowTable<'_>) -> Result<Self, ScenarioError>;

    /// Writes its keys into the table of a resolved flow.
    fn write(&self, table: &mut toml_edit::Table);

    /// Tells the controller what it knows of a flow.
    fn set_up(&self, _setup: &mut FlowSetup) {}

    /// Makes the parts of both ends.
    fn build(
        &self,
        flow: &FlowSpec,
        controller: &AnyController,
        builder: &mut Builder<'_>,
    ) -> Result<EndsParts, ScenarioError>;
}

/// The parts of a flow's two ends, whatever its transport.
pub trait FlowEnds {
    /// The source of a stream; none where connections come and go.
    fn source(&self, stream: usize) -> Option<&Source>;

    /// The same, to attach an encoder to.
    fn source_mut(&mut self, stream: usize) -> Option<&mut Source>;

    /// Whether media is played out at the receiver by the transport itself.
    fn plays_out(&self) -> bool {
        false
    }

    /// The flow's plan with that of its streams.
    fn plan(&self, plan: Plan) -> Plan {
        plan
    }

    /// The flow lasts until `duration`, if it has no end of its own.
    fn last(&mut self, _flow: &FlowSpec, _duration: TimeDelta) {}

    /// The connections that a flow plays, offset and scaled.
    fn connection_vectors(&self) -> Option<&ConnectionVectors> {
        None
    }
}

/// One line for each transport: its documentation, and `Variant("name", settings, parts)`, which are [`Configured`] and [`FlowEnds`].
/// Where a controller fits several, the first is its usual one.
macro_rules! transports {
    ($( $(#[$doc:meta])+ $variant:ident($name:literal, $settings:ty, $parts:ty), )*) => {
        names! {
            /// The protocol of a flow.
            pub enum Transport { $( $(#[$doc])+ $variant = $name, )* }
        }

        /// The protocol of a flow with its settings.
        #[derive(Clone, PartialEq, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one per flow")]
        pub enum TransportSpec { $( $(#[$doc])+ $variant($settings), )* }

        /// The parts of a flow's two ends, by transport.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one per flow")]
        pub enum EndsParts { $( $(#[$doc])+ $variant($parts), )* }

        impl Deref for EndsParts {
            type Target = dyn FlowEnds;

            fn deref(&self) -> &(dyn FlowEnds + 'static) {
                match self { $( EndsParts::$variant(parts) => parts, )* }
            }
        }

        impl DerefMut for EndsParts {
            fn deref_mut(&mut self) -> &mut (dyn FlowEnds + 'static) {
                match self { $( EndsParts::$variant(parts) => parts, )* }
            }
        }

        impl TransportSpec {
            /// The transport, without its settings.
            pub fn choice(&self) -> Transport {
                match self { $( TransportSpec::$variant(_) => Transport::$variant, )* }
            }
        }

        impl Transport {
            /// The keys of a flow that are those of one transport.
            pub(crate) const KEYS: &'static [Spec] = &joined::<{ 0 $( + <$settings as Configured>::KEYS.len() )* }>(&[
                $( (<$settings as Configured>::KEYS, ""), )*
            ]);

            /// Reads its keys in a flow's table.
            pub(crate) fn read(self, flow: &FlowTable<'_>) -> Result<TransportSpec, ScenarioError> {
                match self {
                    $( Transport::$variant => <$settings as Configured>::read(flow).map(TransportSpec::$variant), )*
                }
            }
        }

        /// Asks the settings' type of a transport.
        macro_rules! of {
            ($transport:expr, $type:ident => $call:expr) => {
                match $transport { $( Transport::$variant => { type $type = $settings; $call } )* }
            };
        }

        /// Calls the settings inside.
        macro_rules! each {
            ($any:expr, $inner:ident => $call:expr) => {
                match $any { $( TransportSpec::$variant($inner) => $call, )* }
            };
        }
    };
}

transports! {
    /// RTP with RFC 8888 feedback.
    Rtp("rtp", RtpSpec, RtpParts),
    /// TCP, which carries a stream of bytes.
    Tcp("tcp", TcpConfig, TcpParts),
    /// Datagrams without a header of their own.
    Udp("udp", UdpSpec, UdpParts),
    /// DCCP, whose congestion control is negotiated by its number (CCID).
    Dccp("dccp", DccpSpec, DccpParts),
    /// SCTP, which carries messages of several streams that do not wait for each other.
    Sctp("sctp", SctpConfig, SctpParts),
}

impl Transport {
    /// All that there are, in order.
    fn all() -> impl Iterator<Item = Transport> {
        Transport::ALL.iter().copied()
    }

    /// The transports of a controller of this kind, the usual one first: each carries it, and executes all its words under one of its
    /// profiles.
    pub fn carrying(params: &ControllerParams) -> Vec<Transport> {
        let (kind, steers) = (params.kind(), params.steers());
        let executes = |transport: Transport, profile| {
            let profiled = ControllerParams::with_profile(kind, Some(profile));
            let said = profiled.map_or(&[][..], |(params, _)| AnyController::verbs_of(&params));
            said.iter().all(|verb| transport.executes(steers).contains(verb))
        };
        let carries = |transport: &Transport| {
            of!(transport, T => T::carries(steers))
                && params.profiles().iter().any(|(profile, _)| executes(*transport, profile))
        };
        Transport::all().filter(carries).collect()
    }

    /// The words of the contract that its sending end executes under a controller that steers this.
    pub(crate) fn executes(self, steers: Steers) -> &'static [Verb] {
        of!(self, T => T::executes(steers))
    }

    /// The transport of such a controller where nobody says another: the one whose usual controller it is, or the first.
    pub(crate) fn usual_of(params: &ControllerParams) -> Transport {
        let offered = Transport::carrying(params);
        let own = offered.iter().find(|transport| transport.usual_controller() == Some(params.kind()));
        *own.unwrap_or(&offered[0])
    }

    /// Header on a packet, without options.
    pub fn header(self) -> Bytes {
        of!(self, T => T::HEADER)
    }

    /// Usual size on the link of a flow's largest packet.
    pub(crate) fn packet_size(self) -> Bytes {
        of!(self, T => T::PACKET_SIZE)
    }

    /// Kind of the controller of a flow that names none; absent if a flow must name one.
    pub(crate) fn usual_controller(self) -> Option<&'static str> {
        of!(self, T => T::USUAL_CONTROLLER)
    }

    /// Whether a flow over sockets is a connection, whose ends have whole figures once it is closed.
    pub fn closes(self) -> bool {
        of!(self, T => T::CLOSES)
    }

    /// Whether reports come back under a controller that steers this.
    pub fn reports(self, steers: Steers) -> bool {
        of!(self, T => T::reports(steers))
    }

    /// Whether its receiver plays media out under a controller that steers this.
    pub fn plays_out(self, steers: Steers) -> bool {
        of!(self, T => T::plays_out(steers))
    }

    /// Why its receiver does not play media out under a controller that steers this, if it does not.
    pub(crate) fn refuses_playout(self, steers: Steers) -> Option<Reason> {
        let expected =
            || format!("nothing: playout goes with transport {}", named_under(Transport::plays_out));
        (!self.plays_out(steers)).then(|| Reason::Useless(expected().into()))
    }

    pub(crate) fn has_several_streams(self) -> bool {
        of!(self, T => T::SEVERAL_STREAMS)
    }

    /// The only source of a flow.
    pub(crate) fn source(self, node: &Node<'_>, steers: Steers) -> Result<SourceSpec, ScenarioError> {
        of!(self, T => T::source(node, steers))
    }

    /// The tables among the keys of all transports, for lists.
    pub(crate) fn tables() -> impl Iterator<Item = Entry> {
        Transport::all().flat_map(|transport| of!(transport, T => T::tables()))
    }

    /// Refuses keys of a flow that its transport does not have under a controller that steers this.
    pub(crate) fn check_keys(self, table: &Table<'_>, steers: Steers) -> Result<(), ScenarioError> {
        for spec in Transport::KEYS {
            if let Some(node) =
                table.find(spec.name).filter(|_| !of!(self, T => T::has_key(spec.name, steers)))
            {
                let has = |transport, steers| of!(transport, T => T::has_key(spec.name, steers));
                return Err(node.fail(&format!(
                    "nothing: {} goes with transport {}",
                    spec.name,
                    named_under(has)
                )));
            }
        }
        // A key of every transport that tells an encoder a target.
        if let Some(node) = table.find("bitrate").filter(|_| !self.reports(steers)) {
            return Err(
                node.fail(&format!("nothing: bitrate goes with transport {}", Transport::reporting()))
            );
        }
        Ok(())
    }

    /// The names of the transports that report, at least on controlled datagrams.
    pub(crate) fn reporting() -> String {
        named_under(Transport::reports)
    }

    /// The names of the transports that carry several streams.
    pub(crate) fn of_several_streams() -> String {
        named(Transport::has_several_streams)
    }
}

/// The names of the transports of which something is so.
fn named(is: impl Fn(Transport) -> bool) -> String {
    let names: Vec<_> = Transport::all().filter(|transport| is(*transport)).map(Transport::name).collect();
    names.join(" or ")
}

/// The names of the transports of which something is so, of some under a controller alone.
fn named_under(is: impl Fn(Transport, Steers) -> bool) -> String {
    let name = |transport: Transport| match is(transport, Steers::Unreported) {
        true => Some(transport.name().into()),
        false => is(transport, Steers::Datagrams).then(|| format!("controlled {}", transport.name())),
    };
    Transport::all().filter_map(name).collect::<Vec<_>>().join(" or ")
}

/// Datagrams without reports.
impl Default for TransportSpec {
    fn default() -> TransportSpec {
        TransportSpec::Udp(UdpSpec { feedback: None })
    }
}

impl TransportSpec {
    /// Name of the transport, as scenarios write it.
    pub fn name(&self) -> &'static str {
        self.choice().name()
    }

    /// Writes its keys into the table of a resolved flow.
    pub(crate) fn write(&self, table: &mut toml_edit::Table) {
        each!(self, settings => settings.write(table));
    }

    /// Tells the controller what it knows of a flow.
    pub(crate) fn set_up(&self, setup: &mut FlowSetup) {
        each!(self, settings => settings.set_up(setup));
    }

    /// Makes the parts of both ends.
    pub(crate) fn build(
        &self,
        flow: &FlowSpec,
        controller: &AnyController,
        builder: &mut Builder<'_>,
    ) -> Result<EndsParts, ScenarioError> {
        each!(self, settings => settings.build(flow, controller, builder))
    }
}

impl EndsParts {
    /// The sources of its streams, in order; none where connections come and go.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &Source> {
        (0..).map_while(|stream| self.source(stream))
    }
}

/// When the streams of a flow are there that join or leave while it runs.
pub(crate) fn spans(flow: &FlowSpec, end: TimeDelta) -> Vec<StreamSpan> {
    let streams = (0..).map(StreamId).zip(&flow.streams);
    let comes_or_goes = streams.filter(|(_, stream)| stream.start.is_some() || stream.stop.is_some());
    let span = |(id, stream): (StreamId, &StreamSpec)| StreamSpan {
        stream: id,
        from: Time::ZERO + stream.start.unwrap_or(flow.start),
        to: Time::ZERO + stream.stop.unwrap_or(end),
    };
    comes_or_goes.map(span).collect()
}
