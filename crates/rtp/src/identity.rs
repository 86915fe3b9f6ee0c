//! The identity of the packets of an RTP session, and its guards.

use super::{CircuitBreakers, EcnChecks};
use paceline_units::{TimeDelta, params};

/// How old a send queue becomes where nothing else is said.
pub(super) const DISCARD_AGE: TimeDelta = TimeDelta::from_secs(2);

params! {
    /// Where the numbers of an RTP session begin. A value that is not given is random, so that nobody who cannot see the packets can
    /// forge one: over sockets from the operating system, in the simulator from the run's seed.
    ///
    /// And how old its send queues become, whether circuit breakers end it ([`super::RtpSender::guard`]), its path is checked for ECN
    /// ([`super::RtpSender::check_ecn`]), and both ends report on it (RTCP).
    #[derive(Copy, Eq)]
    pub struct RtpIdentity {
        ssrc: Option<u32> = None, else "random", in 0.0, 4_294_967_295.0, "RFC 3550 5.1, 8", "SSRC of the first stream; those of further streams count on from it. Over sockets alone: a simulated packet has none";
        first_sequence: Option<u32> = None, else "random", in 0.0, 65_535.0, "RFC 3550 5.1", "Sequence number of each stream's first packet";
        first_timestamp: Option<u32> = None, else "random", in 0.0, 4_294_967_295.0, "RFC 3550 5.1", "RTP timestamp of the flow's zero. Over sockets alone: a simulated packet says its capture time";
        circuit_breaker: Option<CircuitBreakers> = None, else "timeouts over sockets, off in the simulator", "RFC 8083", "End the flow after 15 s without a report and when five reports of 5 s tell of no arrival; `full`: also when more than ten times the rate of TCP is sent into losses for 15 s";
        ecn_check: Option<EcnChecks> = None, else "probe over sockets, off in the simulator", "RFC 6679 7.2, 7.4; RFC 9331 4.3", "With `ecn`: `monitor` lets every packet leave with ECN until reports say that the path clears it, drops such packets or marks all of them; `probe`: at first one in eight, until reports say that ECN arrives. Both tell the controller of a Classic AQM behind ECT(1). Not with a controller whose half at the receiver reports";
        discard_age: TimeDelta = DISCARD_AGE, in 1e-3, 3600.0, "libwebrtc pacing_controller 2024, whose queue is to be empty within 2 s", "The longest that media waits to be sent: what is older is discarded, counted, and the encoder asked for a key frame";
        rtcp: bool = false, "RFC 3550 6", "Both ends send regular RTCP reports beside the reports on packets: sender and receiver reports with a canonical name, and a goodbye. They change nothing that a controller sees. Over sockets alone: a simulated flow has none";
    }
}
