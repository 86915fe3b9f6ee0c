//! The inputs and answers of a law of the rate.

use super::{Flow, SenderParams};
use crate::{CeResponse, StateVariable};
use paceline_units::{Bitrate, Time, TimeDelta};

/// Phases of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Sends little, to learn the delay noise.
    Probe,
    /// The rate grows exponentially, to learn the capacity.
    SlowStart,
    /// The queue that slow start left drains.
    Drain,
    /// The law sets the rate.
    Steady,
}

/// How a flow begins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum First {
    /// With a probe at this rate, for this long and for so many packets at least.
    Probe(Bitrate, TimeDelta, u64),
    /// With slow start from this rate.
    SlowStart(Bitrate),
    /// With a look whether there is more than this rate, which is used: slow start goes on where more than it makes no queue.
    Look(Bitrate),
    /// With the law, at this rate.
    Steady(Bitrate),
}

/// A packet that was reported, and what was seen up to then.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// When its report came.
    pub now: Time,
    /// Seconds since the last sample's packet was sent (Delta T).
    pub elapsed: f64,
    /// The sender's rate in bit/s.
    pub rate: f64,
    /// One-way delay over the smallest one, in seconds.
    pub delta: f64,
    /// Seconds by which the smallest delay fell since the last sample: all delays before were told too small by this. Negative where it
    /// had fallen by a step of the receiver's clock, which is known now.
    pub fell: f64,
    /// Size in bits.
    pub bits: f64,
    /// Whether the packet arrived marked.
    pub marked: bool,
    /// Packets lost since the last sample; below zero where some turned up.
    pub lost: f64,
    /// Smallest round-trip time in seconds.
    pub rtt_min: f64,
    /// Rate in bit/s above which this sample may not raise the rate: what arrives, with head room.
    pub ceiling: f64,
    /// Step of the receiver's clock in seconds.
    pub clock_step: f64,
}

/// The law of the rate.
pub trait Law {
    /// Parameters of the law.
    type Params: Clone;

    /// Its response to packets that arrive marked.
    const CE_RESPONSE: CeResponse;

    /// The law of a flow that has sent nothing.
    fn new(params: &Self::Params) -> Self;

    /// Parameters of the sender around it.
    fn sender(params: &Self::Params) -> SenderParams;

    /// How the flow begins.
    fn first(&self) -> First;

    /// The probe found this average delay noise, in seconds, and this one in its last second. Answers how the flow goes on.
    fn on_noise(&mut self, delta: f64, end: f64) -> First;

    /// Slow start found this capacity, in bit/s, and this delay noise, in seconds, if it was long. Answers how the flow goes on when the
    /// queue has drained.
    fn on_capacity(&mut self, rate: f64, noise: Option<f64>) -> First;

    /// The capacity of the bottleneck in bit/s, as far as it is known.
    fn capacity(&self) -> Option<f64>;

    /// The delay in seconds above which slow start sees a queue at `rate` in bit/s.
    fn queue_seen(&self, rate: f64) -> f64;

    /// A packet was reported while the law sets the rate. Answers the new rate in bit/s.
    fn on_sample(&mut self, sample: &Sample) -> f64;

    /// Whether what was learned is in doubt: how the flow goes on to learn it anew, and whether the path may have become
    /// longer, which the probe that follows decides.
    fn doubts(&mut self, now: Time) -> Option<(First, bool)> {
        let _ = now;
        None
    }

    /// Not half of what is sent arrives: what was given of the path is of another one. Answers how the flow goes on without it.
    fn forget_given(&mut self) -> Option<First> {
        None
    }

    /// The rate in bit/s was set from outside: by coupling, or because no feedback comes.
    fn set_rate(&mut self, rate: f64);

    /// The inner state that a person would plot, by name and unit.
    fn state_variables(&self) -> &'static [StateVariable];

    /// Writes the values of [`Law::state_variables`], in their order.
    fn state(&self, flow: &Flow, values: &mut [Option<f64>]);
}
