//! Deployed transports that profiles imitate.

crate::names! {
    /// The implementation of a transport whose settings come with a profile: its timers, its acknowledgements, its headers. Crates that
    /// know transports have the settings.
    pub enum Stack {
        /// The documents of today.
        Standard = "standard",
        /// The documents before losses were found by time (RFC 8985): selective acknowledgements (RFC 6675).
        Rfc6675 = "rfc6675",
        /// The kernel of Linux: its timers, acknowledgements and pacing.
        Linux = "linux",
        /// The usual settings of QUIC (RFC 9002).
        Quic = "quic",
        /// ns-2.35: packets, timers and acknowledgements as its agents have them.
        Ns2 = "ns2",
    }
}
