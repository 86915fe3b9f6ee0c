//! TFRC: a rate from TCP's throughput equation, for media that want a smooth one (RFC 5348).
//!
//! The receiver half finds the loss event rate and the rate that arrives; the sender half makes a sending rate of them.
//! Differences from the text are in DEVIATIONS.md beside this file.

pub(crate) mod average;
mod controller;
pub(crate) mod data_limited;
pub(crate) mod equation;
pub(crate) mod feedback;
pub(crate) mod loss_history;
mod no_feedback;
mod params;
pub(crate) mod receive_limit;
pub(crate) mod receive_rate;
mod receiver;
pub(crate) mod reception;
mod round_trip;
pub(crate) mod segment;

pub use params::Params;
pub use receiver::TfrcReceiver;

use crate::media_room::MediaRoom;
use crate::silence::Unclear;
use crate::{Allowance, FlowSetup, Pacing, SendQueueState, TargetChange, Update};
use data_limited::DataLimited;
use equation::Equation;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use receive_limit::ReceiveLimit;
use round_trip::RoundTrip;
use segment::SegmentSize;

/// Faster than any link, in bytes per second: rates stay numbers.
const FASTEST: f64 = 1e15;
/// No timer is shorter: it would be due again at once.
const SHORTEST_TIMER: TimeDelta = TimeDelta::from_micros(1);

/// The sender half. Its receiver half is [`TfrcReceiver`], whose reports it lives on.
///
/// `assign` overwrites X until the next feedback packet; the loss history is the receiver's, and stays.
#[derive(Clone, Debug)]
pub struct Tfrc {
    params: Params,
    equation: Equation,
    largest_packet: Bytes,
    segment: SegmentSize,
    round_trip: RoundTrip,
    /// X, the allowed sending rate in bytes per second.
    x: f64,
    /// `X_Bps` at the last feedback packet with losses.
    x_bps: Option<f64>,
    p: f64,
    /// `tld`: when X was last doubled in slow start.
    tld: Time,
    limit: ReceiveLimit,
    data_limited: DataLimited,
    /// Time of the first packet.
    started: Option<Time>,
    /// Time at which the nofeedback timer expires.
    no_feedback: Option<Time>,
    /// Whether anything was sent since that timer was set.
    sent_since: bool,
    /// Whether that timer expired, though something was sent, since the last feedback packet.
    expired: bool,
    /// When the last feedback packet came.
    heard: Option<Time>,
    /// Begins with the first feedback packet after an outage.
    unclear: Unclear,
    /// The nominal send time of the next packet (section 4.6).
    nominal: Time,
    room: MediaRoom,
}

impl Tfrc {
    /// A sender that has sent nothing.
    pub fn new(params: &Params, setup: &FlowSetup) -> Tfrc {
        let (params, largest_packet) = (params.clone(), setup.largest_packet);
        let segment = SegmentSize::new(largest_packet);
        Tfrc {
            equation: Equation::new(&params),
            largest_packet,
            round_trip: RoundTrip::default(),
            // Section 4.2: a packet per second.
            x: params.initial_packet_rate * segment.bytes(),
            segment,
            x_bps: None,
            p: 0.0,
            tld: Time::ZERO,
            limit: ReceiveLimit::new(Time::ZERO),
            data_limited: DataLimited::new(),
            started: None,
            no_feedback: None,
            sent_since: false,
            expired: false,
            heard: None,
            unclear: Unclear::NONE,
            nominal: Time::ZERO,
            room: MediaRoom::new(),
            params,
        }
    }

    /// s/t_mbi, the smallest rate.
    fn slowest(&self) -> f64 {
        self.segment.bytes() / self.params.t_mbi.as_secs_f64()
    }

    /// `initial_rate`, W_init/R (section 4.2).
    fn initial_rate(&self, r: f64) -> f64 {
        let mss = self.largest_packet.as_f64().max(1.0);
        let segments = self.params.w_init_segments as f64;
        let w_init = (segments * mss).min((2.0 * mss).max(self.params.w_init.as_f64()));
        w_init / r
    }

    fn set_x(&mut self, x: f64) {
        self.x = x.max(self.slowest()).min(FASTEST);
    }

    /// `X_inst` (section 4.5).
    fn x_inst(&self) -> f64 {
        let slow_start = self.p <= 0.0 && !self.params.damped_slow_start;
        if !self.params.oscillation_reduction || slow_start {
            return self.x;
        }
        (self.x * self.round_trip.damping()).max(self.slowest()).min(FASTEST)
    }

    /// RTO, without the round trips before there is one (sections 4.3 and 4.4).
    fn restart_no_feedback(&mut self, now: Time) {
        let round_trips = self.params.nofeedback_rtts * self.round_trip.r().unwrap_or(0.0);
        let span = TimeDelta::from_secs_f64(round_trips.max(2.0 * self.segment.bytes() / self.x));
        self.no_feedback = Some(now + span.max(SHORTEST_TIMER));
        self.sent_since = false;
    }

    /// Something waits or was sent for the first time: section 4.2.
    fn ensure_started(&mut self, now: Time) {
        if self.no_feedback.is_none() {
            self.no_feedback = Some(now + self.params.nofeedback_initial.max(SHORTEST_TIMER));
            self.nominal = now;
        }
    }

    /// Whether unused send time is left for another packet (section 4.6).
    fn has_credit(&self, now: Time) -> bool {
        self.params.burst_credit > 0.0 && self.nominal < now
    }

    /// A packet left: its nominal send time is over. Time older than the credit is forgotten.
    fn spend_credit(&mut self, now: Time, size: Bytes) {
        let credit = self.params.burst_credit * self.round_trip.r().unwrap_or(0.0);
        let oldest = now - TimeDelta::from_secs_f64(credit);
        let t_ipi = TimeDelta::from_secs_f64(size.as_f64() / self.x_inst());
        self.nominal = self.nominal.max(oldest) + t_ipi;
    }

    fn pacing(&self, now: Time) -> Pacing {
        if self.has_credit(now) {
            return Pacing::Off;
        }
        Pacing::Rate(Bitrate::from_bps_f64((self.x_inst() * 8.0).max(1.0)))
    }

    /// The encoder's target: no more than leaves.
    fn target(&self) -> Bitrate {
        let rate = if self.room.is_greedy() { self.x } else { self.x.min(self.x_inst()) };
        self.room.target(rate * 8.0, self.params.media_part, self.params.media_drain)
    }

    /// The answer to media that waits, where it changes the target.
    fn answer_queue(&mut self, queue: &SendQueueState) -> Update {
        let before = self.target();
        self.room.on_queue(queue);
        let target = self.target();
        if target == before { Update::none() } else { Update::none().with_target(target) }
    }

    pub(crate) fn answer(&self, now: Time) -> Update {
        Update {
            allowance: Some(Allowance::Unlimited),
            pacing: Some(self.pacing(now)),
            target: TargetChange::Total(self.target()),
            ..Update::none()
        }
    }
}
