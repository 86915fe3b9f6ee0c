//! The congestion window itself, and what every law needs to know to move it.

use super::growth::Growth;
use super::{RoundTrip, WindowGrowth};
use crate::FlowSetup;
use paceline_units::{Bitrate, params};

params! {
    /// The pace of a window law: an option of the laws whose RFCs send in bursts. In slow start the window doubles in a round
    /// trip; after it the pace is enough that the window limits.
    #[derive(Copy)]
    pub struct WindowPacing {
        pacing: bool = false, "ours", "Packets are spaced over the round trip";
        pacing_gain_slow_start: f64 = 2.0, in 1.0, 100.0, "ours", "Pace in slow start, windows per round trip";
        pacing_gain: f64 = 1.2, in 1.0, 100.0, "ours", "Pace after it, windows per round trip";
    }
}

/// The window, its threshold and its use. Bytes; fractions of a packet accumulate.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// `cwnd` (RFC 5681 section 2).
    pub cwnd: f64,
    /// `ssthresh`; infinite until something was lost.
    pub ssthresh: f64,
    /// Size of the largest packet in bytes (SMSS with its header).
    pub mss: f64,
    /// The smoothed round-trip time.
    pub round_trip: RoundTrip,
    /// Bytes in flight: what the transport believes in the network.
    pub pipe: u64,
    /// Bytes sent and not acknowledged cumulatively (RFC 5681 section 2, FlightSize).
    pub flight_size: u64,
    /// One more than the highest sequence number sent.
    pub next: u64,
    /// Between [`crate::Recovery::Entered`] and [`crate::Recovery::Left`].
    pub recovering: bool,
    /// Packets sent before the last reduction are below: a loss of theirs asks for no other.
    pub reduced_until: u64,
    /// Only whole packets of the window may be sent.
    pub whole_packets: bool,
    /// Whether a window that was idle for longer than a retransmission timeout starts anew (RFC 5681 section 4.1).
    pub restart_after_idle: bool,
    /// Whether packets are spaced over the round trip, and how.
    pub pacing: WindowPacing,
    /// The first window in bytes.
    pub initial: f64,
    max: f64,
    /// Packets below left while the window was in use; all did where it grows unused.
    pub(super) used_until: u64,
    /// Bounds of growth beside the law.
    pub(super) growth: Growth,
}

impl Window {
    pub(super) fn new(setup: &FlowSetup) -> Window {
        let mss = setup.largest_packet.as_f64().max(1.0);
        let max = setup.max_window.map_or(MOST, |max| max.as_f64()).max(mss);
        let initial = (setup.initial_window.max(1) as f64 * mss).min(max);
        Window {
            cwnd: initial,
            ssthresh: f64::INFINITY,
            mss,
            round_trip: RoundTrip::default(),
            pipe: 0,
            flight_size: 0,
            next: 0,
            recovering: false,
            reduced_until: 0,
            whole_packets: false,
            restart_after_idle: true,
            pacing: WindowPacing::default(),
            initial,
            max,
            used_until: 0,
            growth: Growth::new(WindowGrowth::default()),
        }
    }

    /// The initial window of a connection whose SYN was lost (RFC 5681 section 3.1).
    pub(super) fn begin_with_one_packet(&mut self) {
        self.initial = self.mss;
        self.set(self.mss);
    }

    /// Whether the window is below its threshold (RFC 5681 section 3.1).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The window in largest packets.
    #[inline]
    pub fn packets(&self) -> f64 {
        self.cwnd / self.mss
    }

    /// Sets the window, at least one packet and at most the largest there may be.
    #[inline]
    pub fn set(&mut self, cwnd: f64) {
        // So an impossible number becomes one packet.
        let cwnd = if cwnd > self.mss { cwnd } else { self.mss };
        self.cwnd = if cwnd < self.max { cwnd } else { self.max };
    }

    /// Takes an assigned window that is near the present one, at most two packets above it or one below, as when a group
    /// shares what an acknowledgement adds: then the phase goes on, and slow start stays slow start. Otherwise nothing
    /// happens and the answer is `false`.
    pub(super) fn follow(&mut self, cwnd: f64) -> bool {
        let near = (-1.0..=2.0).contains(&((cwnd - self.cwnd) / self.mss));
        if near {
            let slow_start = self.in_slow_start();
            self.set(cwnd);
            if !slow_start {
                self.ssthresh = self.ssthresh.min(self.cwnd);
            }
        }
        near
    }

    /// Equation 4's FlightSize. Packets that limited transmit sent beyond the window are not in it (section 3.2, step 2).
    #[inline]
    pub fn flight(&self) -> f64 {
        (self.flight_size as f64).min(self.cwnd)
    }

    /// The bytes that may be in flight.
    #[inline]
    pub fn bytes(&self) -> u64 {
        if self.whole_packets {
            (self.packets() as u64).saturating_mul(self.mss as u64)
        } else {
            // It is at least a packet and at most 2^53: signed is the cheaper conversion.
            (self.cwnd as i64).max(0) as u64
        }
    }

    /// The pace now, where there is one.
    #[inline(always)]
    pub(crate) fn pacing_rate(&self) -> Option<Bitrate> {
        if self.pacing.pacing { self.pace() } else { None }
    }

    /// The pace with pacing on. Before the first round trip is known the window alone limits.
    fn pace(&self) -> Option<Bitrate> {
        let WindowPacing { pacing: _, pacing_gain_slow_start, pacing_gain } = self.pacing;
        let srtt = self.round_trip.seconds();
        if srtt == 0.0 {
            return None;
        }
        let gain = if self.in_slow_start() { pacing_gain_slow_start } else { pacing_gain };
        let rate = Bitrate::from_bps_f64(gain * 8.0 * self.cwnd / srtt);
        Some(rate.max(Bitrate::from_bps(1)))
    }

    /// The threshold in largest packets; absent until there is one.
    pub(crate) fn threshold(&self) -> Option<f64> {
        self.ssthresh.is_finite().then_some(self.ssthresh / self.mss)
    }

    /// Notes, after a packet left, whether the window is in use: full, or half full while it doubles, or `by_half` (RFC 7661
    /// section 4.3: a flight of half the window validates it).
    #[inline]
    pub(super) fn note_use(&mut self, by_half: bool) {
        let flight = self.pipe as f64;
        let half = by_half || self.in_slow_start();
        let used = if half { 2.0 * flight >= self.cwnd } else { flight + self.mss > self.cwnd };
        if used && self.used_until < self.next {
            self.used_until = self.next;
        }
    }

    /// Whether the window was in use after a packet left, before it was acknowledged.
    #[inline]
    pub(super) fn was_used_after(&self, sequence: u64) -> bool {
        sequence < self.used_until
    }
}

/// Where a count in floating point still holds every byte.
const MOST: f64 = (1u64 << 53) as f64;
