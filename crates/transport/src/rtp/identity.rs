//! What identifies the packets of an RTP session.

use paceline_units::params;

params! {
    /// Where the numbers of an RTP session begin. What is not said is random, so that nobody who cannot see the packets can
    /// forge one: over sockets from the operating system, in the simulator from the run's seed.
    #[derive(Copy, Eq)]
    pub struct RtpIdentity {
        ssrc: Option<u32> = None, else "random", in 0.0, 4_294_967_295.0, "RFC 3550 5.1, 8", "SSRC of the first stream; those of further streams count on from it. Over sockets alone: a simulated packet has none";
        first_sequence: Option<u32> = None, else "random", in 0.0, 65_535.0, "RFC 3550 5.1", "Sequence number of each stream's first packet";
        first_timestamp: Option<u32> = None, else "random", in 0.0, 4_294_967_295.0, "RFC 3550 5.1", "RTP timestamp of the flow's zero. Over sockets alone: a simulated packet says its capture time";
    }
}
