//! The controllers, dispatched statically.

use super::{fixed, uncontrolled};
use crate::spec::{DccpSpec, Transport};
use paceline_cc::ccid::{ccid2, ccid3};
use paceline_cc::params::{ParamError, ParamSet, ParamSpec, ParamValue};
use paceline_cc::{
    Annotation, Arrival, Assigned, Controller, Limits, Offered, ReceiverHalf, ReceiverReport,
    ReceiverRequest, Recovery, Report, SendQueueState, SentPacket, Snapshot, StateVariable, StreamId,
    TimeoutReason, Update, bbr, cubic, dctcp, ledbat, rap, reno, scream, tfrc, vegas, window,
};
use paceline_transport::tcp::{EcnEcho, RecoveryKind, TcpConfig};
use paceline_units::{Bitrate, Bytes, Time};

/// What a controller is told of its flow when it is made.
#[derive(Clone, PartialEq, Debug)]
pub struct ControllerSetup {
    /// Whether packets are sent as ECT(1) and marks are answered in proportion.
    pub l4s: bool,
    /// Size on the link of the largest packet, header in.
    pub largest_packet: Bytes,
    /// The priority of each stream.
    pub priorities: Vec<f64>,
    /// First window of the window laws, in largest packets.
    pub initial_window: u64,
    /// No window of theirs above; absent: no limit.
    pub max_window: Option<Bytes>,
}

impl ControllerSetup {
    fn window(&self) -> window::Setup {
        let &ControllerSetup { largest_packet, initial_window, max_window, .. } = self;
        window::Setup { largest_packet, initial_window, max_window }
    }
}

fn new_scream(params: &scream::Params, setup: &ControllerSetup) -> scream::Scream {
    scream::Scream::new(scream::Config {
        params: params.clone(),
        l4s: setup.l4s,
        largest_packet: setup.largest_packet,
        priorities: setup.priorities.clone(),
    })
}

fn new_tfrc(params: &tfrc::Params, setup: &ControllerSetup) -> tfrc::Tfrc {
    tfrc::Tfrc::new(tfrc::Config { params: params.clone(), largest_packet: setup.largest_packet })
}

fn new_ccid2(params: &ccid2::Params, setup: &ControllerSetup) -> ccid2::Ccid2 {
    ccid2::Ccid2::new(ccid2::Config { params: params.clone(), largest_packet: setup.largest_packet })
}

fn new_ccid3(params: &ccid3::Params, setup: &ControllerSetup) -> ccid3::Ccid3 {
    ccid3::Ccid3::new(ccid3::Config { params: params.clone(), largest_packet: setup.largest_packet })
}

fn new_rap(params: &rap::Params, setup: &ControllerSetup) -> rap::Rap {
    rap::Rap::new(rap::Config { params: params.clone(), largest_packet: setup.largest_packet })
}

fn new_fixed(params: &fixed::FixedParams, _setup: &ControllerSetup) -> fixed::Fixed {
    fixed::Fixed::new(params)
}

fn new_uncontrolled(
    _params: &uncontrolled::UncontrolledParams,
    _setup: &ControllerSetup,
) -> uncontrolled::Uncontrolled {
    uncontrolled::Uncontrolled
}

/// Makes a window law for its flow.
macro_rules! window_laws {
    ($( $new:ident: $law:ident::$controller:ident; )*) => {
        $( fn $new(params: &$law::Params, setup: &ControllerSetup) -> $law::$controller {
            $law::$controller::new(params, &setup.window())
        } )*
    };
}

window_laws! {
    new_reno: reno::Reno;
    new_cubic: cubic::Cubic;
    new_vegas: vegas::Vegas;
    new_bbr: bbr::Bbr;
    new_dctcp: dctcp::Dctcp;
    new_ledbat: ledbat::Ledbat;
}

/// The receiver half of a controller, where it has one.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per flow, never moved in the packet path")]
pub enum AnyReceiverHalf {
    /// TFRC's.
    Tfrc(tfrc::TfrcReceiver),
    /// CCID 3's.
    Ccid3(ccid3::Ccid3Receiver),
}

/// Calls the half inside.
macro_rules! each_half {
    ($any:expr, $inner:ident => $call:expr) => {
        match $any {
            AnyReceiverHalf::Tfrc($inner) => $call,
            AnyReceiverHalf::Ccid3($inner) => $call,
        }
    };
}

impl ReceiverHalf for AnyReceiverHalf {
    #[inline]
    fn on_arrival(&mut self, now: Time, arrival: &Arrival) -> bool {
        each_half!(self, half => half.on_arrival(now, arrival))
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        each_half!(self, half => half.next_timeout())
    }

    #[inline]
    fn report(&mut self, now: Time) -> Option<ReceiverReport> {
        each_half!(self, half => half.report(now))
    }
}

fn no_half<P>(_params: &P) -> Option<AnyReceiverHalf> {
    None
}

fn tfrc_half(params: &tfrc::Params) -> Option<AnyReceiverHalf> {
    Some(AnyReceiverHalf::Tfrc(tfrc::TfrcReceiver::new(params)))
}

fn ccid3_half(params: &ccid3::Params) -> Option<AnyReceiverHalf> {
    Some(AnyReceiverHalf::Ccid3(ccid3::Ccid3Receiver::new(params)))
}

/// One line per controller: variant, kind, the transports it steers (the usual one first), controller, its parameters,
/// their profiles, how it is made, what it has at the receiver if anything, help.
macro_rules! controllers {
    ($( $variant:ident, $kind:literal over $($transport:ident)|+, $controller:ty, $params:ty, $profiles:expr, $new:path, $half:path, $help:literal; )*) => {
        /// Any controller there is, without a box.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one per flow, never moved in the packet path")]
        pub enum AnyController {
            $( #[doc = $help] $variant($controller), )*
        }

        /// The parameters of any controller there is; which variant says which controller.
        #[derive(Clone, PartialEq, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one per flow, never moved in the packet path")]
        pub enum ControllerParams {
            $( #[doc = $help] $variant($params), )*
        }

        /// The kinds of controllers, as scenarios name them.
        pub fn controller_kinds() -> Vec<&'static str> {
            vec![$( $kind, )*]
        }

        impl ControllerParams {
            /// The parameters of a profile, by default the first, and its name; none if there is no such kind or
            /// profile.
            pub fn new(kind: &str, profile: Option<&str>) -> Option<(ControllerParams, &'static str)> {
                match kind {
                    $( $kind => {
                        let profiles: &'static [(&'static str, &'static str)] = $profiles;
                        let (name, _) = match profile {
                            None => profiles.first()?,
                            Some(wanted) => profiles.iter().find(|(name, _)| *name == wanted)?,
                        };
                        Some((ControllerParams::$variant(<$params>::profile(name)?), name))
                    } )*
                    _ => None,
                }
            }

            /// The kind of controller, as scenarios name it.
            pub fn kind(&self) -> &'static str {
                match self { $( ControllerParams::$variant(_) => $kind, )* }
            }

            /// The transports that such a controller steers, the usual one first.
            pub fn transports(&self) -> &'static [Transport] {
                match self { $( ControllerParams::$variant(_) => &[$( Transport::$transport, )+], )* }
            }

            /// What the controller is, in a line.
            pub fn help(&self) -> &'static str {
                match self { $( ControllerParams::$variant(_) => $help, )* }
            }

            /// The names of its profiles and what they are, the default first.
            pub fn profiles(&self) -> &'static [(&'static str, &'static str)] {
                match self { $( ControllerParams::$variant(_) => $profiles, )* }
            }
        }

        impl ParamSet for ControllerParams {
            fn specs(&self) -> &'static [ParamSpec] {
                match self { $( ControllerParams::$variant(params) => params.specs(), )* }
            }

            fn value(&self, name: &str) -> Option<ParamValue> {
                match self { $( ControllerParams::$variant(params) => params.value(name), )* }
            }

            fn set(&mut self, name: &str, value: ParamValue) -> Result<(), ParamError> {
                match self { $( ControllerParams::$variant(params) => params.set(name, value), )* }
            }

            fn check(&self) -> Result<(), ParamError> {
                match self { $( ControllerParams::$variant(params) => params.validate(), )* }
            }
        }

        impl AnyController {
            /// A controller that has seen nothing.
            pub fn new(params: &ControllerParams, setup: &ControllerSetup) -> AnyController {
                match params {
                    $( ControllerParams::$variant(params) => AnyController::$variant($new(params, setup)), )*
                }
            }

            /// The receiver half of a controller with these parameters, if it has one.
            pub fn receiver_half(params: &ControllerParams) -> Option<AnyReceiverHalf> {
                match params {
                    $( ControllerParams::$variant(params) => $half(params), )*
                }
            }
        }

        /// Calls the controller inside.
        macro_rules! each {
            ($any:expr, $inner:ident => $call:expr) => {
                match $any { $( AnyController::$variant($inner) => $call, )* }
            };
        }
    };
}

controllers! {
    Scream, "scream" over Rtp, scream::Scream, scream::Params, scream::PROFILES, new_scream, no_half,
        "SCReAM v1 (RFC 8298): window and media rate follow queue delay, loss and ECN";
    Tfrc, "tfrc" over Rtp | Udp, tfrc::Tfrc, tfrc::Params, tfrc::PROFILES, new_tfrc, tfrc_half,
        "TFRC (RFC 5348): the rate of TCP's throughput equation, from a loss event rate that the receiver measures";
    Ccid2, "ccid2" over Dccp, ccid2::Ccid2, ccid2::Params, ccid2::PROFILES, new_ccid2, no_half,
        "CCID 2 (RFC 4341): DCCP's TCP-like window of packets, with congestion control of acknowledgements";
    Ccid3, "ccid3" over Dccp, ccid3::Ccid3, ccid3::Params, ccid3::PROFILES, new_ccid3, ccid3_half,
        "CCID 3 (RFC 4342): DCCP's TFRC, whose receiver counts loss intervals by a window counter";
    Rap, "rap" over Rtp | Udp, rap::Rap, rap::Params, rap::PROFILES, new_rap, no_half,
        "RAP (1999): a gap between packets, with additive increase and multiplicative decrease of the rate";
    Fixed, "fixed" over Rtp | Udp, fixed::Fixed, fixed::FixedParams, fixed::PROFILES, new_fixed, no_half,
        "A constant rate without any reaction: a baseline, and a probe of links";
    Uncontrolled, "none" over Udp, uncontrolled::Uncontrolled, uncontrolled::UncontrolledParams,
        uncontrolled::PROFILES, new_uncontrolled, no_half, "No control at all: what the source gives leaves at once";
    Tahoe, "tahoe" over Tcp, reno::Reno, reno::Params, reno::PROFILES, new_reno, no_half,
        "Reno's window law (RFC 5681) under Tahoe's recovery: every loss is answered like a timeout";
    Reno, "reno" over Tcp, reno::Reno, reno::Params, reno::PROFILES, new_reno, no_half,
        "Reno's window law and recovery (RFC 5681): half the flight after a loss, a packet more per round trip";
    NewReno, "newreno" over Tcp, reno::Reno, reno::Params, reno::PROFILES, new_reno, no_half,
        "Reno's window law under NewReno's recovery (RFC 6582)";
    Sack, "sack" over Tcp, reno::Reno, reno::Params, reno::PROFILES, new_reno, no_half,
        "Reno's window law under recovery with selective acknowledgements (RFC 6675)";
    Cubic, "cubic" over Tcp, cubic::Cubic, cubic::Params, cubic::PROFILES, new_cubic, no_half,
        "CUBIC (RFC 8312): the window is a cubic function of the time since the last loss";
    Vegas, "vegas" over Tcp, vegas::Vegas, vegas::Params, vegas::PROFILES, new_vegas, no_half,
        "Vegas (1995): keeps a few packets in the queue, told by the round-trip time";
    Bbr, "bbr" over Tcp, bbr::Bbr, bbr::Params, bbr::PROFILES, new_bbr, no_half,
        "BBR version 1: paces at the bandwidth that it measures, whatever is lost or marked";
    Dctcp, "dctcp" over Tcp, dctcp::Dctcp, dctcp::Params, dctcp::PROFILES, new_dctcp, no_half,
        "DCTCP (RFC 8257): Reno whose answer to marks is in proportion to how many there are";
    Ledbat, "ledbat" over Tcp, ledbat::Ledbat, ledbat::Params, ledbat::PROFILES, new_ledbat, no_half,
        "LEDBAT (RFC 6817): yields, by keeping the queue delay that it adds at a target";
}

impl ControllerParams {
    /// What a DCCP connection under such a controller does unless it is told otherwise.
    pub fn dccp(&self, profile: &str) -> DccpSpec {
        let usual = if profile == "ns2" { DccpSpec::ns2() } else { DccpSpec::default() };
        DccpSpec { ack_vector: matches!(self, ControllerParams::Ccid2(_)), ..usual }
    }

    /// What a TCP connection under such a controller does unless it is told otherwise.
    pub fn tcp(&self, profile: &str) -> TcpConfig {
        let usual = if profile == "ns2" { TcpConfig::ns2() } else { TcpConfig::default() };
        let recovery = match self {
            ControllerParams::Tahoe(_) => RecoveryKind::Tahoe,
            ControllerParams::Reno(_) => RecoveryKind::Reno,
            ControllerParams::NewReno(_) => RecoveryKind::NewReno,
            _ => RecoveryKind::Sack,
        };
        let ecn_echo = match self {
            ControllerParams::Dctcp(_) => EcnEcho::Exact,
            _ => usual.ecn_echo,
        };
        TcpConfig { recovery, ecn_echo, ..usual }
    }
}

impl AnyController {
    /// The inner states that a controller with these parameters offers for recording.
    pub fn states_of(params: &ControllerParams) -> &'static [StateVariable] {
        AnyController::example(params).state_variables()
    }

    /// What a controller with these parameters asks of its receiver when it is first told of media: what the two ends
    /// agree on when a session is set up.
    pub fn first_request(params: &ControllerParams) -> Option<ReceiverRequest> {
        let bytes = Bytes::new(1212);
        let offered = Offered { stream: StreamId(0), bytes, frame_end: true };
        let queue = SendQueueState { bytes, packets: 1, newest_frame: bytes, ..SendQueueState::default() };
        AnyController::example(params).on_offered(Time::ZERO, &offered, &queue).receiver
    }

    fn example(params: &ControllerParams) -> AnyController {
        let setup = ControllerSetup {
            l4s: false,
            largest_packet: Bytes::new(1212),
            priorities: vec![1.0],
            initial_window: 10,
            max_window: None,
        };
        AnyController::new(params, &setup)
    }
}

impl Controller for AnyController {
    #[inline]
    fn on_offered(&mut self, now: Time, offered: &Offered, queue: &SendQueueState) -> Update {
        each!(self, inner => inner.on_offered(now, offered, queue))
    }

    #[inline]
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        each!(self, inner => inner.on_sent(now, packet))
    }

    #[inline]
    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        each!(self, inner => inner.on_report(now, report))
    }

    #[inline]
    fn on_recovery(&mut self, now: Time, recovery: Recovery) -> Update {
        each!(self, inner => inner.on_recovery(now, recovery))
    }

    #[inline]
    fn on_send_queue(&mut self, now: Time, queue: &SendQueueState) -> Update {
        each!(self, inner => inner.on_send_queue(now, queue))
    }

    #[inline]
    fn on_limits(&mut self, now: Time, limits: &Limits) -> Update {
        each!(self, inner => inner.on_limits(now, limits))
    }

    #[inline]
    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        each!(self, inner => inner.assign(now, assigned))
    }

    #[inline]
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        each!(self, inner => inner.next_timeout())
    }

    #[inline]
    fn on_timeout(&mut self, now: Time) -> Update {
        each!(self, inner => inner.on_timeout(now))
    }

    #[inline]
    fn annotation(&self, now: Time, stream: StreamId) -> Option<Annotation> {
        each!(self, inner => inner.annotation(now, stream))
    }

    #[inline]
    fn target_bitrate(&self, stream: StreamId) -> Option<Bitrate> {
        each!(self, inner => inner.target_bitrate(stream))
    }

    #[inline]
    fn snapshot(&self) -> Snapshot {
        each!(self, inner => inner.snapshot())
    }

    #[inline]
    fn state_variables(&self) -> &'static [StateVariable] {
        each!(self, inner => inner.state_variables())
    }

    #[inline]
    fn state(&self, values: &mut [Option<f64>]) {
        each!(self, inner => inner.state(values))
    }
}
