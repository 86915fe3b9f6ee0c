//! C4, Christian's Congestion Control Code: a rate that grows by what is delivered and falls by congestion alone, and a window for the
//! longest round trip without a queue (draft-huitema-ccwg-c4-spec-04 and its working copy after it).
//!
//! Differences from the draft and from its authors' program are in DEVIATIONS.md beside this file and in `window/DEVIATIONS.md`.

mod params;
mod peak;
mod round_trips;
mod signals;
mod states;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::bbr::delivery_rate::{self, DeliveryRate};
use crate::bbr::shared::{assigned_bandwidth, share_of};
use crate::observe::window_variables;
use crate::window::{Ack, Cause, Law, Marks, Sent, Window, WindowSender};
use crate::{Assigned, PacketResult, SentPacket};
use paceline_units::{Bitrate, Time, TimeDelta};
use peak::Peak;
use round_trips::RoundTrips;
use signals::{LossRate, MarkRatio, sensitivity};

/// The sender half. `assign` overwrites the nominal rate; round trips and state stay, and what is measured of packets that left
/// afterwards may raise it again.
pub type C4 = WindowSender<C4Law>;

/// The states of C4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Doubles the rate per round trip while that helps.
    Initial,
    /// A little below the nominal rate for a round trip, to see what came of the state before.
    Recovery,
    /// At the nominal rate.
    Cruising,
    /// A little above it for a round trip.
    Probing,
    /// A quarter above it while it grows.
    Pushing,
}

/// A congestion signal that exceeded its threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Signal {
    Delay,
    Loss,
    Mark,
}

/// The growth since the rate was noted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Growth {
    None,
    Slow,
    Fast,
}

/// The law of C4: a pace, and a window. Rates are bytes per second.
#[derive(Clone, Debug)]
pub struct C4Law {
    params: Params,
    rate: DeliveryRate<f64>,
    peak: Peak,
    trips: RoundTrips,
    losses: LossRate,
    marks: MarkRatio,
    state: State,
    /// `nominal_rate`; 0 before the first measurement.
    nominal: f64,
    alpha: f64,
    /// `alpha_previous`: round trips of this era tell of packets that left at that pace.
    alpha_before: f64,
    /// The first packet of this era: its acknowledgement ends it.
    era: u64,
    /// `initial_cwnd`, and acknowledgements and losses in the initial state.
    initial_cwnd: f64,
    initial_acks: u64,
    /// Eras without growth in the initial state or while pushing.
    flat_eras: u64,
    cruise_left: u64,
    /// Probes and pushes in a row that grew.
    growths: u64,
    /// Whether marks answered the last probe, and the next is smaller.
    after_marks: bool,
    /// Nominal rate and `alpha` that growth is judged by.
    grows_from: (f64, f64),
    /// Largest measurement since the last recovery ended.
    recent: f64,
    /// Recoveries in a row with congestion.
    congestions: u64,
    congested: bool,
    /// Whether the application used the rate since growth is judged.
    used: bool,
    restarts: u64,
    /// When the application had nothing more to send.
    limited_at: Option<Time>,
    /// When the newest packet was sent that was delivered.
    newest: Time,
    /// Losses of packets below were found by a timer, and are no signal.
    deaf_until: u64,
    /// Logarithm of all that assignments changed the nominal rate by.
    assigned: f64,
}

impl C4Law {
    fn sensitivity(&self) -> f64 {
        sensitivity(&self.params, self.nominal)
    }

    /// The rates and round trips that an acknowledgement tells of.
    fn measure(&mut self, window: &Window, ack: &Ack) {
        let Some(sample) = self.rate.sample(TimeDelta::ZERO) else { return };
        self.peak.on_ack(self.rate.delivered, ack.now, self.newest);
        let Some(rate) = sample.rate else { return };
        let mut rate = rate * (1.0 - self.params.overhead.as_f64() / window.mss).max(0.0);
        if self.assigned < sample.extra {
            // Packets that left before a lower assignment arrive at the rate before it.
            rate *= libm::exp(self.assigned - sample.extra);
        }
        self.recent = self.recent.max(rate);
        if rate > self.nominal && !(self.state == State::Recovery && self.congested) {
            (self.nominal, self.used) = (rate, true);
        } else if sample.delivered as f64 > self.trips.running_min * self.nominal {
            self.used = true;
        }
    }

    /// A delay is a signal where packets left faster than the nominal rate; by the text in any state.
    fn heed_delay(&mut self, window: &Window, rtt: TimeDelta) {
        let insensitive = 1.0 - self.sensitivity();
        let part = self.params.delay_part + self.params.delay_part_insensitive * insensitive;
        let threshold = (part, self.params.delay_most.as_secs_f64());
        self.trips.sample(&self.params, rtt.as_secs_f64().max(1e-9), threshold);
        if self.trips.excess == 0.0 {
            return;
        }
        if self.state == State::Initial {
            self.end_initial_if_flat(window);
        } else if self.alpha_before > 1.0 || self.params.delay_in_cruise {
            let most = part * self.trips.nominal_max;
            let part = self.trips.excess / most.min(threshold.1);
            self.on_signal(window, Signal::Delay, part.min(self.params.beta));
        }
    }

    fn heed_marks(&mut self, window: &Window, ack: &Ack) {
        self.marks.count(ack.marked, ack.delivered);
        if ack.marked == 0 {
            return;
        }
        self.marks.update(&self.params);
        let threshold = (2.0 - self.sensitivity()) * self.params.ce_threshold;
        let excess = self.marks.ratio / threshold - 1.0;
        if excess > 0.0 && self.state == State::Initial {
            if self.trips.excess > 0.0 {
                self.end_initial_if_flat(window);
            }
        } else if excess > 0.0 {
            self.on_signal(window, Signal::Mark, excess.min(self.params.beta));
        }
    }

    /// The window at this rate, and the pace (section "Setting pacing rate, congestion window and quantum").
    fn window(&mut self, window: &Window) -> f64 {
        let known = self.trips.nominal_max > 0.0 && self.nominal > 0.0;
        let pace = self.alpha * self.nominal;
        let cwnd = if known { pace * self.trips.nominal_max } else { window.initial };
        if self.state == State::Initial {
            let half =
                if self.peaks(pace) { 0.5 * self.peak.rate * window.round_trip.seconds() } else { 0.0 };
            self.initial_cwnd = self.initial_cwnd.max(cwnd).max(half);
            return self.initial_cwnd;
        }
        let margin = self.params.margin.as_secs_f64().min(self.params.margin_part * self.trips.nominal_max);
        // A probe has a packet more at least.
        let more = (self.alpha - 1.0) * self.nominal * self.trips.nominal_max;
        let is_above = matches!(self.state, State::Probing | State::Pushing);
        let packet = if is_above { (window.mss - more).max(0.0) } else { 0.0 };
        (cwnd + margin * pace + packet).max(self.params.cwnd_min as f64 * window.mss)
    }

    fn peaks(&self, pace: f64) -> bool {
        self.params.initial_peak && self.initial_acks > 0 && self.peak.rate > pace
    }

    /// Bytes per second; absent before anything is known.
    fn pace(&self) -> Option<f64> {
        let pace = self.alpha * self.nominal;
        if self.state != State::Initial {
            return Some(pace);
        }
        if self.initial_acks == 0 {
            return (pace > 0.0).then_some(pace);
        }
        let pace = pace.max(self.params.initial_pace.as_bps_f64() / 8.0);
        Some(if self.peaks(pace) { (pace + self.peak.rate) / 2.0 } else { pace })
    }
}

impl Law for C4Law {
    type Params = Params;
    /// `assigned` when the packet was sent, beside what the sampler of rates notes.
    type Note = delivery_rate::Note<f64>;
    const MARKS: Marks = Marks::BesideLoss;
    const GROWS_BESIDE_MARKS: bool = true;
    const WINDOW_IS_STATE: bool = false;
    const RULES_RECOVERY: bool = true;
    const HEARS_LOST_PACKETS: bool = true;

    fn new(params: &Params, window: &mut Window) -> C4Law {
        // The pace is the law's: a pause ends with no burst.
        window.restart_after_idle = false;
        C4Law {
            rate: DeliveryRate::default(),
            peak: Peak::default(),
            trips: RoundTrips::NEW,
            losses: LossRate::default(),
            marks: MarkRatio::default(),
            state: State::Initial,
            nominal: 0.0,
            alpha: params.alpha_initial,
            alpha_before: params.alpha_initial,
            era: 0,
            initial_cwnd: window.initial,
            initial_acks: 0,
            flat_eras: 0,
            cruise_left: 0,
            growths: 0,
            after_marks: false,
            grows_from: (0.0, params.alpha_initial),
            recent: 0.0,
            congestions: 0,
            congested: false,
            used: false,
            restarts: params.restarts,
            limited_at: None,
            newest: Time::ZERO,
            deaf_until: 0,
            assigned: 0.0,
            params: params.clone(),
        }
    }

    #[inline]
    fn on_sent(&mut self, window: &mut Window, now: Time, packet: &SentPacket) -> Self::Note {
        let pipe = window.pipe.saturating_add(packet.size.as_u64());
        if packet.app_limited && (pipe as f64) < window.cwnd {
            self.limited_at = Some(now);
        }
        self.rate.on_sent(now, window.pipe, self.assigned)
    }

    #[inline]
    fn on_delivered(&mut self, _window: &Window, now: Time, _packet: &PacketResult, sent: &Sent<Self::Note>) {
        self.newest = self.newest.max(sent.at);
        self.rate.on_delivered(now, sent);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.heed_delay(window, rtt);
        }
        self.measure(window, ack);
        self.heed_marks(window, ack);
        self.on_progress(window, ack);
        let most = self.window(window);
        window.set(most.min(window.cwnd + ack.delivered as f64));
    }

    /// Losses count one by one, and marks by their ratio.
    fn on_congestion(&mut self, _window: &mut Window, _now: Time, _cause: Cause) {}

    fn on_packet_lost(&mut self, window: &Window, _now: Time, sequence: u64, _sent: &Sent<Self::Note>) {
        let before = self.state == State::Recovery && sequence < self.era;
        if sequence < self.deaf_until || before {
            return;
        }
        self.losses.on_lost(&self.params, sequence);
        let insensitive = 1.0 - self.sensitivity();
        if self.losses.rate <= self.params.loss_threshold + self.params.loss_insensitive * insensitive {
            return;
        }
        if self.state == State::Initial {
            self.initial_acks += 1;
            if self.initial_acks > self.params.initial_acks {
                self.end_initial(window);
            }
        } else {
            let part = 1.0 - insensitive * (1.0 - self.params.beta_loss_insensitive);
            self.on_signal(window, Signal::Loss, self.params.beta * part);
        }
    }

    fn on_timed_out(&mut self, window: &mut Window, _now: Time, _again: bool) {
        // Section "Do not react to Probe Time Out": the rate stays.
        self.deaf_until = window.next;
        window.set(window.mss);
    }

    fn share(&self) -> Option<Assigned> {
        share_of(self.nominal)
    }

    fn on_assigned(&mut self, window: &mut Window, assigned: Assigned) {
        let Some(rate) = assigned_bandwidth(assigned, window) else { return };
        if self.nominal > 0.0 {
            self.assigned += libm::log(rate / self.nominal);
        }
        self.nominal = rate;
        let most = self.window(window);
        window.set(most);
    }

    #[inline]
    fn pacing_rate(&self, _window: &Window) -> Option<Bitrate> {
        self.pace().map(|pace| Bitrate::from_bps_f64(pace * 8.0).max(Bitrate::from_bps(1)))
    }

    window_variables! { |self, _window|
        nominal_rate: "Mbps" = Some(self.nominal * 8e-6).filter(|rate| *rate > 0.0), "Rate that the path is taken to carry";
        nominal_max_rtt: "ms" = Some(self.trips.nominal_max * 1e3).filter(|rtt| *rtt > 0.0), "Longest round trip without a queue by its estimate";
        running_min_rtt: "ms" = Some(self.trips.running_min * 1e3).filter(|rtt| rtt.is_finite()), "Least round trip by its estimate";
        phase: "" = f64::from(self.state as u8), "0 Initial, 1 Recovery, 2 Cruising, 3 Probing, 4 Pushing";
        alpha: "" = self.alpha, "Pace over the nominal rate";
        loss_rate: "" = self.losses.rate, "Smoothed ratio of lost packets";
        ecn_alpha: "" = self.marks.ratio, "Smoothed ratio of marked bytes";
    }
}
