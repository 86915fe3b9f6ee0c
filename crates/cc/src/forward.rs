//! The calls of the contract, handed on to a controller inside.

/// Methods that call the same of the controller inside, each compiled as `inline` says: the receiver in parentheses, then name,
/// arguments and answer. The first word is a macro that takes `self`, a name for the controller inside, and the call.
macro_rules! forward {
    ($each:ident($self:ident), $inline:meta; $(
        ($($receiver:tt)+) $method:ident($($arg:ident: $type:ty),*) -> $answer:ty;
    )*) => {
        $(
            #[$inline]
            fn $method($($receiver)+, $($arg: $type),*) -> $answer {
                $each!($self, inner => inner.$method($($arg),*))
            }
        )*
    };
}

/// All calls of [`crate::Controller`] but those for each packet and report.
macro_rules! forward_rare {
    ($each:ident) => {
        $crate::forward::forward! { $each(self), inline;
            (&mut self) on_offered(now: Time, offered: &Offered, queue: &SendQueueState) -> Update;
            (&mut self) on_recovery(now: Time, recovery: Recovery) -> Update;
            (&mut self) on_send_queue(now: Time, queue: &SendQueueState) -> Update;
            (&mut self) on_limits(now: Time, limits: &Limits) -> Update;
            (&mut self) on_stream(now: Time, stream: StreamId, change: StreamChange) -> Update;
            (&mut self) on_marking(now: Time, marking: Marking) -> Update;
            (&mut self) on_opened(now: Time, rtt: TimeDelta) -> Update;
            (&mut self) on_rates_exchanged() -> ();
            (&mut self) assign(now: Time, assigned: Assigned) -> Update;
            (&self) next_timeout() -> Option<(Time, TimeoutReason)>;
            (&mut self) on_timeout(now: Time) -> Update;
            (&self) verbs() -> &'static [Verb];
            (&self) ce_response() -> CeResponse;
            (&self) rules_recovery() -> bool;
            (&self) annotation(now: Time, stream: StreamId) -> Option<Annotation>;
            (&self) congestion_header() -> Option<paceline_units::CongestionHeader>;
            (&self) target_bitrate(stream: StreamId) -> Option<Bitrate>;
            (&self) media_drain() -> Option<TimeDelta>;
            (&self) share() -> Option<Assigned>;
            (&self) snapshot() -> Snapshot;
            (&self) srtt_and_target() -> (Option<TimeDelta>, Option<Bitrate>);
            (&self) state_variables() -> &'static [StateVariable];
            (&self) state(values: &mut [Option<f64>]) -> ();
        }
    };
}

pub(crate) use {forward, forward_rare};
