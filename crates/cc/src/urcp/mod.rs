//! URCP, the Universal Rate Control Protocol (Xie, Mehrotra, Li and Hu, INFOCOM 2013): a utility-maximising rate whose
//! operating delay follows what the network has without congestion.
//!
//! Open points of the paper, and differences from it, are in DEVIATIONS.md beside this file and in `utility/DEVIATIONS.md`.

mod doubt;
mod params;
mod signal;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::CeResponse;
use crate::observe::state_variables;
use crate::utility::window::{SlidingWindow, Sums};
use crate::utility::{First, Flow, Law, Sample, SenderParams, UtilitySender};
use doubt::{Doubt, Doubts, Learned};
use paceline_units::{Bitrate, Time, TimeDelta};
use signal::{Common, Signal};

/// The sender half. `assign` overwrites the rate of every signal, not what was learned.
pub type Urcp = UtilitySender<UrcpLaw>;

/// Weight of a packet in the part of packets that are lost or marked.
const WEIGHT: f64 = 1.0 / 256.0;
/// Slow start sees a queue when delays exceed twice the noise and this, in seconds.
const QUEUE_SEEN: f64 = 0.002;
/// No queue is larger than this, in seconds, before slow start sees it.
const LARGEST_SEEN: f64 = 0.1;
/// Learning anew raises delta_MIN to no more than this times what it was.
const LARGEST_RISE: f64 = 3.0;
/// A flow whose R_MAX is given starts with no more, in bit/s, until something has arrived.
const FIRST_MOST: f64 = 10e6;
/// The mean delay of a second is that of a noise if it is below this times the noise.
const SAME_NOISE: f64 = 1.5;
/// Two measurements of one capacity differ by less than this part.
const SAME: f64 = 0.05;
/// Length of the first probe where the path may have changed.
const PATH_TIME: TimeDelta = TimeDelta::from_secs(4);

/// URCP's law of the rate: Table I for each congestion signal; the smallest rate holds.
#[derive(Clone, Debug)]
pub struct UrcpLaw {
    params: Params,
    window: SlidingWindow,
    r_max: f64,
    /// Whether R_MAX or delta_MIN are known: given, or measured.
    knows: (bool, bool),
    /// Whether delta_MIN was given: then it does not depend on the smallest delay of this flow.
    is_given: bool,
    doubts: Doubts,
    /// Rate at which slow start begins.
    first_rate: Bitrate,
    r_ave: f64,
    delta_ave: f64,
    delay: Signal,
    loss: Signal,
    ecn: Signal,
    /// Present parts of packets that are lost, and marked.
    now: (f64, f64),
}

impl UrcpLaw {
    fn floor(&self) -> f64 {
        self.params.sender.rate_min.as_bps_f64()
    }

    /// Everything is known: the law takes over.
    fn settle(&mut self) -> First {
        self.knows = (true, true);
        self.doubts.settle(self.learned());
        self.window = SlidingWindow::new(self.params.window);
        First::Steady(Bitrate::from_bps_f64(self.r_max))
    }

    fn learned(&self) -> Learned {
        Learned { r_max: self.r_max, delta_min: self.delay.min }
    }

    /// The probe for the delay noise, at a part of the capacity.
    fn probe(&self) -> First {
        let Params { probe_part, probe_time, probe_packets, .. } = self.params;
        First::Probe(Bitrate::from_bps_f64(self.r_max * probe_part), probe_time, probe_packets)
    }

    /// Stage one: R_AVE and delta_AVE, and what they say of R_MAX and delta_MIN.
    #[inline]
    fn learn(&mut self, sample: &Sample) -> Sums {
        let marked = f64::from(u8::from(sample.marked));
        let Sample { now, rate, delta, bits, lost, fell, .. } = *sample;
        if fell != 0.0 {
            self.window.raise_delays(fell);
            self.delay.min += if self.is_given { 0.0 } else { fell };
        }
        self.window.add(now, Sums { packets: 1.0, rates: rate, delays: delta, bits, lost, marked });
        let sums = self.window.sums();
        let packets = sums.packets.max(1.0);
        (self.r_ave, self.delta_ave) = ((sums.rates / packets).max(self.floor()), sums.delays / packets);
        if self.window.is_full(now) {
            // The controller's rate counts as far as it arrived.
            let arrived = sums.bits / self.window.covered(now) / self.params.sender.media_part;
            self.doubts.on_carried(self.r_ave.min(arrived));
            self.r_max = self.r_max.max(self.r_ave.min(arrived));
            self.delay.min = self.delay.min.min(self.delta_ave);
        }
        let floor = self.params.delta_floor.as_secs_f64().max(sample.clock_step / 2.0);
        self.delay.min = self.delay.min.max(floor);
        sums
    }
}

impl Law for UrcpLaw {
    type Params = Params;
    const CE_RESPONSE: CeResponse = CeResponse::Reduces;

    fn new(params: &Params) -> UrcpLaw {
        let (r_max, delta_min) = (params.r_max.as_bps_f64(), params.delta_min.as_secs_f64());
        UrcpLaw {
            params: params.clone(),
            window: SlidingWindow::new(params.window),
            r_max,
            knows: (r_max > 0.0, delta_min > 0.0),
            is_given: delta_min > 0.0,
            doubts: Doubts::new(),
            first_rate: params.first_rate,
            r_ave: 0.0,
            delta_ave: 0.0,
            delay: Signal::new(params.beta, delta_min),
            loss: Signal::new(params.beta, params.loss_min),
            ecn: Signal::new(params.ecn_beta, params.ecn_min),
            now: (0.0, 0.0),
        }
    }

    fn sender(params: &Params) -> SenderParams {
        params.sender.clone()
    }

    fn first(&self) -> First {
        let Params { first_rate, first_time, probe_part, probe_time, probe_packets, start_part, .. } =
            self.params;
        let given = |part: f64| Bitrate::from_bps_f64((self.r_max * part).min(FIRST_MOST));
        match self.knows {
            (true, true) => First::Steady(given(start_part)),
            (true, false) => First::Probe(given(probe_part), probe_time, probe_packets),
            (false, true) => First::SlowStart(first_rate),
            (false, false) => First::Probe(first_rate, first_time, probe_packets),
        }
    }

    fn on_noise(&mut self, delta: f64, end: f64) -> First {
        let delta = delta.max(self.params.delta_floor.as_secs_f64());
        if !self.knows.0 {
            self.delay.min = delta;
            if let Some((Doubt::Path, before)) = self.doubts.acting {
                // The queue was drained at the end of the probe: if delays are as before then, the noise is, too.
                let same = end < SAME_NOISE * before.delta_min;
                self.delay.min = if same { before.delta_min } else { delta };
                self.knows.1 = same;
            }
            return First::SlowStart(self.first_rate);
        }
        self.delay.min = match self.doubts.acting {
            Some((Doubt::More, before)) => delta.min(before.delta_min),
            Some((Doubt::Path, before)) => delta.min(LARGEST_RISE * before.delta_min),
            None => delta,
        };
        self.settle()
    }

    fn on_capacity(&mut self, rate: f64, noise: Option<f64>) -> First {
        self.r_max = rate.max(self.floor());
        self.knows.0 = true;
        if let Some(noise) = noise {
            self.delay.min = noise.max(self.params.delta_floor.as_secs_f64());
            self.knows.1 = true;
        }
        if let Some((Doubt::More, before)) = self.doubts.acting {
            self.r_max = self.r_max.max(before.r_max);
            let known = self.doubts.known_before(self.r_max);
            if let Some(known) = known {
                self.delay.min = self.delay.min.min(known.delta_min);
                // The same capacity as it was measured before, but for the error of measuring.
                let same = self.r_max > (1.0 - SAME) * known.r_max;
                self.r_max = if same { self.r_max.max(known.r_max) } else { self.r_max };
            }
            // Where no more was found, a second short probe knows the noise no better than the first.
            self.knows.1 |= known.is_some() || !before.is_below(self.r_max);
        }
        if self.knows.1 { self.settle() } else { self.probe() }
    }

    fn doubts(&mut self, now: Time) -> Option<(First, bool)> {
        if self.params.reprobe_after == TimeDelta::ZERO {
            return None;
        }
        let learned = self.learned();
        let doubt = if self.doubts.may_have_recovered(now, &learned) {
            Doubt::More
        } else if self.window.is_full(now) {
            let (rate, delay) = (self.r_ave / self.r_max, self.delta_ave / self.delay.min);
            self.doubts.look(&self.params, now, rate, delay)?
        } else {
            return None;
        };
        self.doubts.acting = Some((doubt, learned));
        (self.knows, self.is_given) = ((false, false), false);
        Some(match doubt {
            Doubt::Path => {
                let Params { probe_part, probe_packets, .. } = self.params;
                self.first_rate = Bitrate::from_bps_f64(self.r_ave * probe_part);
                (First::Probe(self.first_rate, PATH_TIME, probe_packets), true)
            }
            Doubt::More => (First::Look(Bitrate::from_bps_f64(self.r_ave)), false),
        })
    }

    #[inline]
    fn capacity(&self) -> Option<f64> {
        self.knows.0.then_some(self.r_max)
    }

    fn queue_seen(&self, _rate: f64) -> f64 {
        (2.0 * self.delay.min + QUEUE_SEEN).min(LARGEST_SEEN)
    }

    fn on_sample(&mut self, sample: &Sample) -> f64 {
        let sums = self.learn(sample);
        self.doubts.note(sample.now, sample.rate, sample.delta);
        let marked = f64::from(u8::from(sample.marked));
        self.now.0 += WEIGHT * (sample.lost.clamp(-1.0, 64.0) - self.now.0);
        self.now.0 = self.now.0.clamp(0.0, 1.0);
        self.now.1 += WEIGHT * (marked - self.now.1);
        let common = Common {
            r_max: self.r_max.max(self.floor()),
            r_ave: self.r_ave,
            rtt_min: sample.rtt_min,
            elapsed: sample.elapsed,
            ceiling: sample.ceiling.max(self.r_max),
            floor: self.floor(),
        };
        let packets = sums.packets.max(1.0);
        let lost = (sums.lost / (packets + sums.lost.max(0.0))).max(0.0);
        self.delay.adapt(self.params.m, &common, self.delta_ave, sample.delta);
        self.loss.adapt(self.params.m, &common, lost, self.now.0);
        self.ecn.adapt(self.params.m, &common, sums.marked / packets, self.now.1);
        self.delay.rate.min(self.loss.rate).min(self.ecn.rate)
    }

    fn forget_given(&mut self) -> Option<First> {
        if !self.knows.0 || self.params.r_max == Bitrate::ZERO {
            return None;
        }
        (self.knows, self.is_given) = ((false, false), false);
        Some(First::SlowStart(self.first_rate))
    }

    fn set_rate(&mut self, rate: f64) {
        for signal in [&mut self.delay, &mut self.loss, &mut self.ecn] {
            signal.rate = rate;
        }
    }

    state_variables! { |self, flow: Flow|
        phase: "" = f64::from(flow.phase as u8), "0 probe, 1 slow start, 2 drain, 3 steady";
        rate: "Mbit/s" = flow.rate * 1e-6, "R, the rate that packets are paced at";
        r_max: "Mbit/s" = self.knows.0.then_some(self.r_max * 1e-6), "R_MAX, the capacity of the bottleneck as it was learned";
        r_ave: "Mbit/s" = (self.r_ave > 0.0).then_some(self.r_ave * 1e-6), "R_AVE, the mean rate over the window";
        delta: "ms" = flow.delta.map(|delta| delta * 1e3), "Delay measure of the newest packet: one-way delay over the smallest";
        delta_min: "ms" = self.knows.1.then_some(self.delay.min * 1e3), "delta_MIN, the delay noise as it was learned";
        delta_ave: "ms" = (self.r_ave > 0.0).then_some(self.delta_ave * 1e3), "delta_AVE, the mean delay measure over the window";
        k0: "bit" = (self.delay.k0 > 0.0).then_some(self.delay.k0), "k0 of the delay's controller";
        k2: "1/s^2" = (self.delay.k2 > 0.0).then_some(self.delay.k2), "k2 of the delay's controller";
        rate_delay: "Mbit/s" = (self.delay.rate > 0.0).then_some(self.delay.rate * 1e-6), "Rate that the delay allows";
        rate_loss: "Mbit/s" = (self.loss.rate > 0.0).then_some(self.loss.rate * 1e-6), "Rate that losses allow";
        rate_ecn: "Mbit/s" = (self.ecn.rate > 0.0).then_some(self.ecn.rate * 1e-6), "Rate that marks allow";
        rtt_min: "ms" = flow.rtt_min.map(|rtt| rtt.as_millis_f64()), "RTT_min";
        skew: "ppm" = flow.delays.skew_ppm(), "By how much the receiver's clock is taken to run faster";
    }
}
