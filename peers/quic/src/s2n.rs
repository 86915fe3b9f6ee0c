//! The controllers of s2n-quic-core, called as its recovery manager calls them.

use crate::adapter::{Law, Packet};
use crate::random::Random;
use num_rational::Ratio;
use paceline_cc::FlowSetup;
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::random::Generator;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::bbr::BbrCongestionController;
use s2n_quic_core::recovery::congestion_controller::Publisher;
use s2n_quic_core::recovery::{CongestionController, CubicCongestionController, RttEstimator};
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use std::time::Duration;

pub struct S2n<C> {
    controller: C,
    round_trips: RttEstimator,
    paced: Paced,
    random: Random,
    /// Number of the packet that was lost last.
    lost: Option<u64>,
}

fn s2n<C>(controller: C) -> S2n<C> {
    // RFC 9002, section 6.2.2, as s2n-quic has it.
    S2n {
        controller,
        round_trips: RttEstimator::new(Duration::from_millis(333)),
        paced: Paced(None),
        random: Random::new(),
        lost: None,
    }
}

fn mtu(setup: &FlowSetup) -> u16 {
    setup.largest_packet.as_u64() as u16
}

pub fn cubic(setup: &FlowSetup) -> S2n<CubicCongestionController> {
    s2n(CubicCongestionController::new(mtu(setup), Default::default()))
}

pub fn bbr(setup: &FlowSetup) -> S2n<BbrCongestionController> {
    s2n(BbrCongestionController::new(mtu(setup), Default::default()))
}

fn stamp(time: Duration) -> Timestamp {
    NoopClock.get_time() + time
}

/// The pacing rate that the controller published last, in bits per second.
struct Paced(Option<f64>);

impl Publisher for Paced {
    fn on_slow_start_exited(&mut self, _cause: SlowStartExitCause, _congestion_window: u32) {}

    fn on_delivery_rate_sampled(&mut self, _rate_sample: RateSample) {}

    fn on_pacing_rate_updated(&mut self, pacing_rate: Bandwidth, _burst_size: u32, _pacing_gain: Ratio<u64>) {
        self.0 = Some(8.0 * pacing_rate.as_bytes_per_second() as f64);
    }

    fn on_bbr_state_changed(&mut self, _state: BbrState) {}
}

impl Generator for Random {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        self.fill(dest);
    }

    fn private_random_fill(&mut self, dest: &mut [u8]) {
        self.fill(dest);
    }
}

impl<C> Law for S2n<C>
where
    C: CongestionController + Sync,
    C::PacketInfo: Sync,
{
    type Info = C::PacketInfo;

    fn on_sent(&mut self, now: Duration, _number: u64, bytes: u64, app_limited: bool) -> Self::Info {
        let (now, bytes, limited) = (stamp(now), bytes as usize, Some(app_limited));
        self.controller.on_packet_sent(now, bytes, limited, &self.round_trips, &mut self.paced)
    }

    fn on_acked(
        &mut self,
        now: Duration,
        packets: &[Packet<Self::Info>],
        _in_flight: u64,
        rtt: Option<Duration>,
    ) {
        let Some(newest) = packets.last() else { return };
        let (now, sent) = (stamp(now), stamp(newest.sent));
        if let Some(rtt) = rtt {
            let space = PacketNumberSpace::ApplicationData;
            self.round_trips.update_rtt(Duration::ZERO, rtt, now, true, space);
            self.controller.on_rtt_update(sent, now, &self.round_trips, &mut self.paced);
        }
        let bytes = packets.iter().map(|packet| packet.bytes as usize).sum();
        let Self { controller, round_trips, paced, random, .. } = self;
        controller.on_ack(sent, bytes, newest.info, round_trips, random, now, paced);
    }

    fn on_lost(&mut self, now: Duration, packets: &[Packet<Self::Info>], persistent: bool) {
        for packet in packets {
            let begins_burst = self.lost.is_none_or(|lost| lost + 1 != packet.number);
            self.lost = Some(packet.number);
            let (bytes, now) = (packet.bytes as u32, stamp(now));
            let Self { controller, paced, random, .. } = self;
            controller.on_packet_lost(bytes, packet.info, persistent, begins_burst, random, now, paced);
        }
        if persistent {
            self.round_trips.on_persistent_congestion();
        }
    }

    fn on_marked(&mut self, now: Duration, _newest_sent: Duration, count: u64) {
        self.controller.on_explicit_congestion(count, stamp(now), &mut self.paced);
    }

    fn on_replaced(&mut self, packet: &Packet<Self::Info>) {
        self.controller.on_packet_discarded(packet.bytes as usize, &mut self.paced);
    }

    fn window(&self) -> u64 {
        self.controller.congestion_window().into()
    }

    fn pacing(&self) -> Option<f64> {
        self.paced.0
    }
}
