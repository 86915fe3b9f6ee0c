//! Sans-I/O transport endpoints: they are handed time and packets, and answer packets and timeouts.

pub mod dccp;
mod desired;
mod ecn_state;
mod ends;
mod exchange;
mod pacer;
mod path_probe;
mod plan;
pub mod rtp;
pub mod tcp;
pub mod udp;

pub use ecn_state::{EcnCounters, EcnFault, EcnState};
pub use ends::{
    Follows, FrameCounters, Next, PathFacts, Reason, Received, ReceivingEnd, Run, SendingEnd, Transfer,
    TransferCounters, Transmit,
};
pub use exchange::{Coupled, CoupledEnds, CoupledShare, Exchange, PriorityStep};
pub use pacer::Pacer;
pub use path_probe::{Observation, PathProbe, ProbePlan, ProbeRecord};
pub use plan::{Plan, Planned, StreamSpan};
