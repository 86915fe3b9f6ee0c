//! The controllers there are, chosen by name and dispatched statically. To add one: a folder, and a line in `controllers!`.

use crate::ccid::{ccid2, ccid3};
use crate::forward::{forward, forward_rare};
use crate::guest::{GuestController, GuestParams};
use crate::{
    Annotation, Arrival, Assigned, CeResponse, Controller, CouplingParams, Limits, Marking, Offered,
    ReceiverHalf, ReceiverReport, ReceiverRequest, Recovery, RecoveryKind, Report, SendQueueState,
    SentPacket, SentRun, Snapshot, StateVariable, StreamChange, StreamId, StreamSet, TimeoutReason,
    TransportNeeds, Update, Verb, bbr, bbr3, bic, binomial, c4, cdg, compound, copa, cubic, dctcp, fast,
    fixed, gaimd, gcc, highspeed, htcp, hybla, illinois, ledbat, ledbat_pp, nada, prague, rap, rcp, reno,
    scalable, scream, scream_v2, sctp, sprout, tempo, tfrc, um, uncontrolled, urcp, vegas, veno, vivace,
    westwood, xcp, yeah,
};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::ops::RangeInclusive;
use paceline_units::param::{ParamError, ParamSet, ProfiledKinds, Value, hint, unknown};
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

paceline_units::params! {
    /// The facts of a flow that its controller is told when it is made.
    pub struct FlowSetup {
        largest_packet: Bytes = Bytes::new(1212), in 1.0, 65_535.0, "RFC 768", "Size on the link of the largest packet, header in";
        l4s: bool = false, "RFC 9331 4.1", "Whether packets are sent as ECT(1) and marks are answered in proportion";
        priorities: Vec<f64> = vec![1.0], in *FlowSetup::PRIORITIES.start(), *FlowSetup::PRIORITIES.end(), "RFC 8298 4.1.3", "Priority of each stream, 1 to 64 of them";
        initial_window: u64 = 10, in 1.0, FlowSetup::LARGEST_INITIAL_WINDOW, "RFC 6928", "First window of the window laws, in largest packets";
        max_window: Option<Bytes> = None, else "no limit", "ours", "Largest window of the window laws";
    }
    ordered largest_packet <= max_window;
    check countable;
}

impl FlowSetup {
    /// Most streams that a flow can have.
    pub const MOST_STREAMS: usize = StreamSet::CAPACITY as usize;
    /// The priorities that a stream can have.
    pub const PRIORITIES: RangeInclusive<f64> = 0.001..=1000.0;
    /// Largest first window, in largest packets.
    pub const LARGEST_INITIAL_WINDOW: f64 = 100_000.0;

    /// A flow of one stream with priority 1, without L4S, with ten packets at first and no largest window.
    pub fn new(largest_packet: Bytes) -> FlowSetup {
        FlowSetup { largest_packet, ..FlowSetup::default() }
    }
}

/// Fails if there is no stream, or there are more than an update can name.
fn countable(setup: &FlowSetup) -> Result<(), ParamError> {
    match setup.priorities.len() {
        0 => Err(ParamError::new("priorities", "[]", "one for each stream, such as [1] for a single one")),
        1..=FlowSetup::MOST_STREAMS => Ok(()),
        many => Err(ParamError::new(
            "priorities",
            format!("{many} streams"),
            format!("at most {}", FlowSetup::MOST_STREAMS),
        )),
    }
}

/// The kind of traffic that a controller steers. Crates that know transports map it to them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Steers {
    /// Streams of media that wait in send queues of their own and are discarded when they are too old.
    Media,
    /// The datagrams of any transport whose receiver reports on them.
    Datagrams,
    /// Datagrams on which nobody reports.
    Unreported,
    /// The window of a byte stream whose transport retransmits.
    ByteStream,
    /// A DCCP connection, by this congestion control identifier.
    Ccid(u8),
}

/// One line per controller: documentation, which is its help, and `Variant("kind", module with Params, controller, what it
/// steers, its receiver half if it has one, its needs of a transport if it has any)`. A controller is made by `new(&Params, &FlowSetup)`, its half by
/// `new(&Params)`.
macro_rules! controllers {
    ($(
        $(#[doc = $help:literal])+
        $variant:ident($kind:literal, $module:ident::$controller:ident, $steers:expr $(, half $half:ident)? $(, needs $needs:expr)?),
    )*) => {
        /// Any controller there is, without a box.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one per flow, never moved in the packet path")]
        pub enum AnyController {
            $( $(#[doc = $help])+ $variant($module::$controller), )*
            /// A controller from outside.
            Guest(GuestController),
        }

        /// The receiver half of any controller that has one.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one per flow, never moved in the packet path")]
        pub enum AnyReceiverHalf {
            $($( #[doc = concat!("The half of the controller `", $kind, "`.")] $variant($module::$half), )?)*
        }

        paceline_units::profiled_kinds! {
            /// The parameters of any controller there is; which variant says which controller.
            pub enum ControllerParams {
                $( $(#[doc = $help])+ $variant($kind, $module::Params), )*
            }
            /// A controller from outside.
            open Guest(GuestParams);
        }

        impl ControllerParams {
            /// The quantity that such a controller steers.
            pub fn steers(&self) -> Steers {
                match self {
                    $( ControllerParams::$variant(_) => $steers, )*
                    ControllerParams::Guest(params) => params.steers(),
                }
            }

            /// Whether flows under such a controller can be coupled ([`Controller::shares`]).
            pub fn can_share(&self) -> bool {
                match self {
                    $( ControllerParams::$variant(_) => <$module::$controller as Controller>::shares(), )*
                    ControllerParams::Guest(_) => GuestController::shares(),
                }
            }

            /// The settings of a transport that such a controller needs.
            pub fn needs(&self) -> TransportNeeds {
                match self {
                    $( ControllerParams::$variant(_) => {
                        paceline_units::param_or!([$($needs)?] TransportNeeds::NONE)
                    } )*
                    ControllerParams::Guest(params) => params.guest().needs(),
                }
            }
        }

        impl AnyController {
            /// Whether flows under it can be coupled ([`Controller::shares`]).
            pub fn can_share(&self) -> bool {
                match self {
                    $( AnyController::$variant(_) => <$module::$controller as Controller>::shares(), )*
                    AnyController::Guest(_) => GuestController::shares(),
                }
            }

            fn made(params: &ControllerParams, setup: &FlowSetup) -> AnyController {
                match params {
                    $( ControllerParams::$variant(params) => {
                        AnyController::$variant($module::$controller::new(params, setup))
                    } )*
                    ControllerParams::Guest(params) => AnyController::Guest(params.controller(setup)),
                }
            }

            /// The receiver half of a controller with these parameters, if it has one.
            pub fn receiver_half(params: &ControllerParams) -> Option<AnyReceiverHalf> {
                match params {
                    $($( ControllerParams::$variant(params) => {
                        Some(AnyReceiverHalf::$variant($module::$half::new(params)))
                    } )?)*
                    _ => None,
                }
            }
        }

        /// Calls the controller inside.
        macro_rules! each {
            ($any:expr, $inner:ident => $call:expr) => {
                match $any {
                    $( AnyController::$variant($inner) => $call, )*
                    AnyController::Guest($inner) => $call,
                }
            };
        }

        /// Calls the half inside.
        macro_rules! each_half {
            (@ $type:ident $call:expr) => {
                $call
            };
            ($any:expr, $inner:ident => $call:expr) => {
                match $any { $($( AnyReceiverHalf::$variant($inner) => each_half!(@ $half $call), )?)* }
            };
        }
    };
}

controllers! {
    /// SCReAM v1 (RFC 8298): window and media rate follow queue delay, loss and ECN
    Scream("scream", scream::Scream, Steers::Media),
    /// SCReAM v2 (draft-ietf-ccwg-rfc8298bis-screamv2-01): a reference window follows marks, losses and queue delay, and the target is what it lets through
    ScreamV2("scream-v2", scream_v2::ScreamV2, Steers::Media),
    /// TFRC (RFC 5348): the rate of TCP's throughput equation, from a loss event rate that the receiver measures
    Tfrc("tfrc", tfrc::Tfrc, Steers::Datagrams, half TfrcReceiver),
    /// CCID 2 (RFC 4341): DCCP's TCP-like window of packets, with congestion control of acknowledgements
    Ccid2("ccid2", ccid2::Ccid2, Steers::Ccid(2)),
    /// CCID 3 (RFC 4342): DCCP's TFRC, whose receiver counts loss intervals by a window counter
    Ccid3("ccid3", ccid3::Ccid3, Steers::Ccid(3), half Ccid3Receiver),
    /// GCC (draft-ietf-rmcat-gcc-02, libwebrtc): the rate follows the trend of the one-way delay, bounded by losses
    Gcc("gcc", gcc::Gcc, Steers::Datagrams),
    /// NADA (RFC 8698): the rate follows one signal of queue delay, losses and marks
    Nada("nada", nada::Nada, Steers::Datagrams),
    /// Sprout (2013): a cautious forecast of the link's deliveries, from a distribution of its rate, says what may be under way
    Sprout("sprout", sprout::Sprout, Steers::Datagrams),
    /// Tempo (ours): the rate grows until a queue stands, and lets it drain
    Tempo("tempo", tempo::Tempo, Steers::Datagrams),
    /// RAP (1999): a gap between packets, with additive increase and multiplicative decrease of the rate
    Rap("rap", rap::Rap, Steers::Datagrams),
    /// URCP (2013): learns capacity and delay noise, and adapts a utility-maximising rate to them
    Urcp("urcp", urcp::Urcp, Steers::Datagrams),
    /// UM: the utility-maximising rate from one-way delay with constant parameters, which URCP adapts
    Um("um", um::Um, Steers::Datagrams),
    /// A constant rate without any reaction: a baseline, and a probe of links
    Fixed("fixed", fixed::Fixed, Steers::Datagrams),
    /// No control at all: what the source gives leaves at once
    Uncontrolled("none", uncontrolled::Uncontrolled, Steers::Unreported),
    /// Reno's window law (RFC 5681) under Tahoe's recovery: every loss is answered like a timeout
    Tahoe("tahoe", reno::Reno, Steers::ByteStream, needs TransportNeeds::recovery(RecoveryKind::Tahoe)),
    /// Reno's window law and recovery (RFC 5681): half the flight after a loss, a packet more per round trip
    Reno("reno", reno::Reno, Steers::ByteStream, needs TransportNeeds::recovery(RecoveryKind::Reno)),
    /// Reno's window law under NewReno's recovery (RFC 6582)
    NewReno("newreno", reno::Reno, Steers::ByteStream, needs TransportNeeds::recovery(RecoveryKind::NewReno)),
    /// Reno's window law under recovery with selective acknowledgements (RFC 6675)
    Sack("sack", reno::Reno, Steers::ByteStream, needs TransportNeeds::recovery(RecoveryKind::Sack)),
    /// CUBIC (RFC 8312): the window is a cubic function of the time since the last loss
    Cubic("cubic", cubic::Cubic, Steers::ByteStream),
    /// Vegas (1995): keeps a few packets in the queue, told by the round-trip time
    Vegas("vegas", vegas::Vegas, Steers::ByteStream),
    /// BBR version 1: paces at the bandwidth that it measures, whatever is lost or marked
    Bbr("bbr", bbr::Bbr, Steers::ByteStream),
    /// BBR version 3 (draft-ietf-ccwg-bbr-06): bandwidth and flight by a model of the path, bounded by losses and marks
    Bbr3("bbr3", bbr3::Bbr3, Steers::ByteStream),
    /// DCTCP (RFC 8257): Reno that reduces its window in proportion to the share of marked bytes
    Dctcp("dctcp", dctcp::Dctcp, Steers::ByteStream, needs TransportNeeds::EXACT_MARKS),
    /// Prague (draft-briscoe-iccrg-prague-congestion-control-04): DCTCP for L4S, nearly independent of the round trip; Reno after losses
    Prague("prague", prague::Prague, Steers::ByteStream, needs TransportNeeds::L4S),
    /// LEDBAT (RFC 6817): yields, by keeping the queue delay that it adds at a target
    Ledbat("ledbat", ledbat::Ledbat, Steers::ByteStream),
    /// HighSpeed TCP (RFC 3649): Reno whose increase and decrease depend on the window
    HighSpeed("highspeed", highspeed::HighSpeed, Steers::ByteStream),
    /// Scalable TCP (2003): growth in proportion to the window
    Scalable("scalable", scalable::Scalable, Steers::ByteStream),
    /// BIC (2004): a binary search for the window of the last loss
    Bic("bic", bic::Bic, Steers::ByteStream),
    /// H-TCP (2004): the window grows faster the longer ago the last loss is
    Htcp("htcp", htcp::Htcp, Steers::ByteStream),
    /// TCP-Illinois (2008): losses say when to move, queue delay says by how much
    Illinois("illinois", illinois::Illinois, Steers::ByteStream),
    /// Westwood+ (2004): a loss leaves the bandwidth that was measured, times the smallest round trip
    Westwood("westwood", westwood::Westwood, Steers::ByteStream),
    /// Veno (2003): the queue tells losses of congestion from others
    Veno("veno", veno::Veno, Steers::ByteStream),
    /// YeAH (2007): Scalable TCP while its queue is short, Reno while it is not
    Yeah("yeah", yeah::Yeah, Steers::ByteStream),
    /// Hybla (2004): Reno whose rate does not fall with a long round trip
    Hybla("hybla", hybla::Hybla, Steers::ByteStream),
    /// GAIMD (2000): additive increase and multiplicative decrease with any two constants
    Gaimd("gaimd", gaimd::Gaimd, Steers::ByteStream),
    /// Binomial laws (2001), SQRT and IIAD: increase and decrease by powers of the window
    Binomial("binomial", binomial::Binomial, Steers::ByteStream),
    /// FAST TCP (2004): an equation leads the window to a number of packets in the queue
    Fast("fast", fast::Fast, Steers::ByteStream),
    /// Compound TCP (2006): Reno's window, and another that grows while no queue is seen
    Compound("compound", compound::Compound, Steers::ByteStream),
    /// CDG (2011): shrinks at random while round trips get longer; losses without a full queue do not count
    Cdg("cdg", cdg::Cdg, Steers::ByteStream),
    /// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-06): LEDBAT that is slower, shrinks in proportion and slows down to see the path without its queue
    LedbatPp("ledbat-pp", ledbat_pp::LedbatPp, Steers::ByteStream),
    /// Copa (2018): the window moves towards a rate of one packet for each delta times the queue delay
    Copa("copa", copa::Copa, Steers::ByteStream),
    /// PCC Vivace (2018): follows the gradient of a utility of rate, losses and growth of the round trip, told by trials
    Vivace("vivace", vivace::Vivace, Steers::ByteStream),
    /// C4 (draft, 2026): a rate that grows by what is delivered and falls by congestion alone, with a window for the longest round trip without a queue
    C4("c4", c4::C4, Steers::ByteStream),
    /// XCP (2002): routers write into a congestion header by how much the window is to change; Reno where none does
    Xcp("xcp", xcp::Xcp, Steers::ByteStream),
    /// RCP (2007): routers write the sender's rate into a congestion header; Reno where none does
    Rcp("rcp", rcp::Rcp, Steers::ByteStream),
    /// SCTP's window (RFC 9260, no text at hand): slow start and avoidance by bytes, half after a loss
    Sctp("sctp", sctp::Sctp, Steers::ByteStream),
}

/// The parameters that say the least, the first and the highest target bitrate.
const LIMITS: [&str; 3] = ["target_bitrate_min", START, "target_bitrate_max"];
const START: &str = "target_bitrate_start";

impl ControllerParams {
    /// Its parameters that are the least, the first and the highest bitrate of the media. Where it has none for the least or the
    /// highest, the sender alone holds that limit.
    pub fn bitrate_names(&self) -> [Option<&'static str>; 3] {
        let known = |names: &[&'static str]| names.iter().copied().find(|name| self.value(name).is_some());
        let [min, start, max] = LIMITS;
        [known(&[min]), known(&[start, "first_rate"]), known(&[max])]
    }

    /// Moves the first target bitrate within its limits, where the controller has such parameters.
    pub fn start_within_limits(&mut self) {
        let rate = |name: &str| match self.value(name) {
            Some(Value::Rate(rate)) => Some(rate),
            _ => None,
        };
        let [min, start, max] = LIMITS.map(rate);
        if let (Some(min), Some(start), Some(max)) = (min, start, max) {
            // Within two values that were accepted, so it is accepted.
            let _ = self.set(START, Value::Rate(start.max(min).min(max)));
        }
    }
}

impl AnyController {
    /// Kind of the controller of media of which nobody says another: docs/which-controller.md.
    pub const USUAL: &str = "tempo";

    /// A controller that has seen nothing.
    ///
    /// # Errors
    /// If a parameter or a value of the setup is out of range, or two of them contradict each other.
    pub fn new(params: &ControllerParams, setup: &FlowSetup) -> Result<AnyController, ParamError> {
        params.check()?;
        setup.check()?;
        Ok(AnyController::made(params, setup))
    }

    /// A controller that has seen nothing, by names alone, for programs whose configuration is text: each setting is a parameter of
    /// the controller or of [`FlowSetup`] and its value, such as `("target_bitrate_max", "5Mbps")`. A first target that is not
    /// among them is moved within the limits that are.
    ///
    /// # Errors
    /// If there is no such kind, profile or parameter, a value is none or out of range, or two contradict each other.
    pub fn configured<'t>(
        kind: &str,
        profile: Option<&str>,
        settings: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<AnyController, ParamError> {
        let (params, setup) = configured(kind, profile, settings)?;
        AnyController::new(&params, &setup)
    }

    /// Whether controllers of this kind go by the messages of a receiver half of their own ([`AnyReceiverHalf`]), and not by
    /// reports on packets alone.
    pub fn needs_receiver_half(kind: &str) -> bool {
        let usual = ControllerParams::with_profile(kind, None);
        usual.is_some_and(|(params, _)| AnyController::receiver_half(&params).is_some())
    }

    /// The inner states that a controller with these parameters offers for recording.
    pub fn states_of(params: &ControllerParams) -> &'static [StateVariable] {
        AnyController::example(params).state_variables()
    }

    /// The words of the contract that a controller with these parameters says; none of a guest, whose are known once it is made.
    pub fn verbs_of(params: &ControllerParams) -> &'static [Verb] {
        match params {
            ControllerParams::Guest(_) => &[],
            params => AnyController::example(params).verbs(),
        }
    }

    /// The request of a controller with these parameters to its receiver when it is first told of media: the one that the two ends agree on
    /// when a session is set up.
    pub fn first_request(params: &ControllerParams) -> Option<ReceiverRequest> {
        let bytes = Bytes::new(1212);
        let offered = Offered { stream: StreamId(0), bytes, frame_end: true };
        let queue = SendQueueState { bytes, packets: 1, newest_frame: bytes, ..SendQueueState::default() };
        AnyController::example(params).on_offered(Time::ZERO, &offered, &queue).receiver
    }

    fn example(params: &ControllerParams) -> AnyController {
        AnyController::made(params, &FlowSetup::default())
    }
}

/// The parameters of a kind under a profile, by default its first.
fn profiled<P: ProfiledKinds>(
    what: &'static str,
    kinds: &[&str],
    kind: &str,
    profile: Option<&str>,
) -> Result<P, ParamError> {
    let known =
        |found, known: &[&str]| format!("one of {}{}", known.join(", "), hint(found, known.iter().copied()));
    let (usual, _) =
        P::with_profile(kind, None).ok_or_else(|| ParamError::new(what, kind, known(kind, kinds)))?;
    let found = profile.unwrap_or_default();
    let profiles: Vec<_> = usual.profiles().iter().map(|(name, _)| *name).collect();
    let (params, _) = P::with_profile(kind, profile)
        .ok_or_else(|| ParamError::new("profile", found, known(found, &profiles)))?;
    Ok(params)
}

impl CouplingParams {
    /// The parameters of a coupling, its kind, profile and settings given by name.
    ///
    /// # Errors
    /// A name is unknown, or a value is none of its parameter's.
    pub fn configured<'t>(
        kind: &str,
        profile: Option<&str>,
        settings: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<CouplingParams, ParamError> {
        let mut params: CouplingParams = profiled("coupling", CouplingParams::KINDS, kind, profile)?;
        for (name, text) in settings {
            let spec = params.specs().iter().find(|spec| spec.name == name);
            let spec = spec.ok_or_else(|| unknown(name, params.specs(), None))?;
            params.set(name, spec.read(text)?)?;
        }
        params.check()?;
        Ok(params)
    }
}

/// Parameters and setup of a flow by names alone.
fn configured<'t>(
    kind: &str,
    profile: Option<&str>,
    settings: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Result<(ControllerParams, FlowSetup), ParamError> {
    let mut params: ControllerParams = profiled("controller", &ControllerParams::kinds(), kind, profile)?;
    let (mut setup, mut starts) = (FlowSetup::default(), true);
    for (name, text) in settings {
        starts &= name != START;
        if let Some(spec) = params.specs().iter().find(|spec| spec.name == name) {
            params.set(name, spec.read(text)?)?;
        } else if let Some(spec) = FlowSetup::SPECS.iter().find(|spec| spec.name == name) {
            setup.set(name, spec.read(text)?)?;
        } else {
            let listed = format!("`paceline list {kind}`");
            return Err(unknown(name, params.specs().iter().chain(FlowSetup::SPECS), Some(&listed)));
        }
    }
    if starts {
        params.start_within_limits();
    }
    Ok((params, setup))
}

impl AnyReceiverHalf {
    /// The receiver half of a controller, by the names that [`AnyController::configured`] makes the controller of.
    ///
    /// # Errors
    /// As there, or if controllers of this kind have no receiver half.
    pub fn configured<'t>(
        kind: &str,
        profile: Option<&str>,
        settings: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<AnyReceiverHalf, ParamError> {
        let (params, setup) = configured(kind, profile, settings)?;
        params.check()?;
        setup.check()?;
        let have = || ControllerParams::KINDS.iter().filter(|kind| AnyController::needs_receiver_half(kind));
        let expected = || have().copied().collect::<Vec<_>>().join(" or ");
        AnyController::receiver_half(&params).ok_or_else(|| ParamError::new("controller", kind, expected()))
    }
}

impl ReceiverHalf for AnyReceiverHalf {
    forward! { each_half(self), inline;
        (&mut self) on_arrival(now: Time, arrival: &Arrival) -> bool;
        (&self) next_timeout() -> Option<Time>;
        (&mut self) report(now: Time) -> Option<ReceiverReport>;
    }
}

impl Controller for AnyController {
    // Where a transport calls these, for each packet, the variant is asked: a function of their own would hand the answer on.
    forward! { each(self), inline(always);
        (&mut self) on_run(run: &SentRun) -> Option<Update>;
    }

    #[inline(always)]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        each!(self, inner => on_sent_apart(inner, now, packet))
    }

    #[inline(always)]
    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        each!(self, inner => on_report_apart(inner, now, report))
    }

    forward_rare! { each }
}

/// [`Controller::on_sent`] as a function of each controller: where any may be, none is compiled in line.
#[inline(never)]
fn on_sent_apart<C: Controller>(controller: &mut C, now: Time, packet: &SentPacket) -> Update {
    controller.on_sent(now, packet)
}

/// The same of [`Controller::on_report`].
#[inline(never)]
fn on_report_apart<C: Controller>(controller: &mut C, now: Time, report: &Report<'_>) -> Update {
    controller.on_report(now, report)
}
