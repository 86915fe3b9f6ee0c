//! Congestion controllers for real-time media: pure state machines that any world can drive.
//!
//! A controller knows packets as (stream, sequence, size, sent, arrived, ECN) and media as bytes offered. It is told
//! of events with the time at which they happen ([`Controller`]) and answers with what changed ([`Update`]). It reads
//! no clock, opens no socket, allocates nothing per packet once warm, and never panics on any feedback.
#![no_std]

extern crate alloc;

mod answers;
pub mod bbr;
pub mod bbr3;
pub mod bic;
pub mod binomial;
pub mod c4;
pub mod ccid;
pub mod cdg;
pub mod compound;
mod contract;
pub mod copa;
pub mod coupling;
pub mod cubic;
pub mod dctcp;
mod delay_noise;
mod detector;
mod draw;
pub mod fast;
pub mod fixed;
mod forward;
pub mod gaimd;
pub mod gcc;
pub mod guest;
pub mod highspeed;
pub mod htcp;
pub mod hybla;
pub mod illinois;
pub mod ledbat;
pub mod ledbat_pp;
mod marks;
mod media_room;
mod media_streams;
pub mod nada;
mod needs;
mod no_receiver_half;
mod observe;
pub mod one_way_delay;
pub mod prague;
mod queue_delay;
pub mod rap;
pub mod rcp;
mod registry;
pub mod reno;
mod report;
mod ring;
mod said;
pub mod scalable;
pub mod scream;
pub mod scream_v2;
pub mod sctp;
mod session;
pub mod shared_bottleneck;
mod shortfall;
mod silence;
mod spread;
pub mod sprout;
pub mod tempo;
pub mod tfrc;
pub mod um;
pub mod uncontrolled;
mod update;
pub mod urcp;
pub mod utility;
pub mod vegas;
pub mod veno;
pub mod vivace;
pub mod westwood;
pub mod window;
pub mod xcp;
pub mod yeah;

pub use answers::Answers;
pub use contract::{
    Annotation, Arrival, CeResponse, Controller, Limits, Marking, Offered, ReceiverHalf, Recovery,
    SendQueueState, SentPacket, SentRun, StreamChange, StreamId,
};
pub use coupling::{
    AnyCoupling, Assigned, Assignment, Coupling, CouplingParams, FlowId, FlowUpdate, Priority,
};
pub use detector::{Acked, DetectorConfig, LossDetector};
pub use media_room::share_less_waiting;
pub use needs::{EcnEcho, RecoveryKind, TransportNeeds};
pub use no_receiver_half::NoReceiverHalf;
pub use observe::{Snapshot, StateVariable};
pub use registry::{AnyController, AnyReceiverHalf, ControllerParams, FlowSetup, Steers};
pub use report::{PacketResult, PacketsReport, ReceiverReport, Report, Status};
pub use ring::Ring;
pub use session::Session;
pub use update::{
    Allowance, Discard, Pacing, Probe, ReceiverRequest, StreamSet, TargetChange, TimeoutReason, Update, Verb,
};

/// The crate's README, whose code runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
