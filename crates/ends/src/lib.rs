//! The common part of the two ends of every transport, sans I/O: the calls that drive them, the pacer, a flow's plan, and who carries coupling out.
//! The ends themselves are in `paceline-rtp`, `paceline-tcp`, `paceline-sctp` and `paceline-dccp`.

mod conceals;
mod desired;
mod detection;
mod ecn_state;
mod ends;
mod exchange;
mod hearing;
mod pacer;
mod pair_probe;
mod path_probe;
mod plan;
mod ranges;
mod rto;
mod session_group;

pub use conceals::Conceals;
pub use desired::{OfferedRate, WantedRate, window_target};
pub use detection::Detection;
pub use ecn_state::{EcnCounters, EcnFault, EcnState};
pub use ends::{
    Follows, FrameCounters, Next, PathFacts, Reason, Received, ReceivingEnd, Run, SendingEnd, Transfer,
    TransferCounters, Transmit,
};
pub use exchange::{Coupled, CoupledEnds, CoupledShare, Exchange, PriorityStep};
pub use hearing::Hearing;
pub use pacer::Pacer;
pub use pair_probe::{PairPlan, PairProbe};
pub use path_probe::{Observation, PathProbe, ProbePlan, ProbeRecord, Prober};
pub use plan::{Plan, Planned, StreamSpan};
pub use ranges::Ranges;
pub use rto::{Rto, RtoLimits};
pub use session_group::{CoupledSession, GroupError, SessionGroup, Told, priority};
