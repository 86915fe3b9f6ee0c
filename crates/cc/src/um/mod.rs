//! UM: rate control by utility maximisation from one-way delay with constant parameters (equation 6 of Xie, Mehrotra, Li
//! and Hu, INFOCOM 2013), the baseline that URCP adapts.

#[cfg(test)]
mod tests;

use crate::CeResponse;
use crate::observe::state_variables;
use crate::utility::{First, Flow, Law, Sample, SenderParams, UtilitySender};
use paceline_units::{Bitrate, Bytes, params};

params! {
    /// Every constant of UM.
    pub struct Params {
        k0: Bytes = Bytes::new(2000), in 1.0, 1e9, "URCP 2013 VII (16000 bit)", "Rate times delay at which the rate stays";
        k2: f64 = 0.6, in 1e-6, 1e6, "URCP 2013 VII", "How fast the rate moves, in 1/s^2";
        first_rate: Bitrate = Bitrate::from_kbps(50), in 1e3, 1e12, "ours", "First rate";
        slow_start: bool = true, "ours: eq. 6 alone gains 9.6 kbit/s in a second", "Begin with slow start, as URCP does";
    }
    /// Parameters of the sender beside the law of the rate.
    with sender: SenderParams;
    profiles {
        "paper": "The baseline of the paper: k0 = 16000 bit, k2 = 0.6" => Params::default,
    }
}

/// The sender half. `assign` overwrites the rate.
pub type Um = UtilitySender<UmLaw>;

/// Slow start sees a queue when delays exceed the operating delay twice and this, in seconds.
const QUEUE_SEEN: f64 = 0.002;

/// Equation 6.
#[derive(Clone, Debug)]
pub struct UmLaw {
    params: Params,
    rate: f64,
    /// Capacity that slow start measured.
    capacity: Option<f64>,
}

impl Law for UmLaw {
    type Params = Params;
    const CE_RESPONSE: CeResponse = CeResponse::Ignored;

    fn new(params: &Params) -> UmLaw {
        UmLaw { params: params.clone(), rate: 0.0, capacity: None }
    }

    fn sender(params: &Params) -> SenderParams {
        params.sender.clone()
    }

    fn first(&self) -> First {
        let rate = self.params.first_rate;
        if self.params.slow_start { First::SlowStart(rate) } else { First::Steady(rate) }
    }

    fn on_noise(&mut self, _delta: f64, _end: f64) -> First {
        self.first()
    }

    fn on_capacity(&mut self, rate: f64, _noise: Option<f64>) -> First {
        self.capacity = Some(rate);
        First::Steady(Bitrate::from_bps_f64(rate))
    }

    #[inline]
    fn capacity(&self) -> Option<f64> {
        self.capacity
    }

    fn queue_seen(&self, rate: f64) -> f64 {
        2.0 * self.params.k0.as_bits_f64() / rate + QUEUE_SEEN
    }

    #[inline]
    fn on_sample(&mut self, sample: &Sample) -> f64 {
        let Params { k0, k2, .. } = &self.params;
        let change = k2 * (k0.as_bits_f64() - sample.delta * self.rate) * sample.elapsed;
        let most = sample.ceiling.max(self.rate);
        self.rate = (self.rate + change).max(0.0).min(most).max(self.params.sender.rate_min.as_bps_f64());
        self.rate
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    state_variables! { |self, flow: Flow|
        phase: "" = f64::from(flow.phase as u8), "0 probe, 1 slow start, 2 drain, 3 steady";
        rate: "Mbit/s" = flow.rate * 1e-6, "R, the rate that packets are paced at";
        delta: "ms" = flow.delta.map(|delta| delta * 1e3), "Delay measure of the newest packet: one-way delay over the smallest";
        rtt_min: "ms" = flow.rtt_min.map(|rtt| rtt.as_millis_f64()), "RTT_min";
        skew: "ppm" = flow.delays.skew_ppm(), "By how much the receiver's clock is taken to run faster";
    }
}
