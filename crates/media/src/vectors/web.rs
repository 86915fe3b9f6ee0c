//! Pages of the web, for who has no recording.
//!
//! A connection is a page, fetched over one persistent connection: a request and the main object, then a request and a
//! response for each embedded object, one after the other. Pages begin as a Poisson process whose rate makes the mean of
//! what acceptors send the `load`. Sizes and counts have the distributions of the HTTP model of IEEE 802.16m (IEEE
//! C802.16m-07/182r3, section 10.1; the same as 3GPP2's): lognormal sizes, a Pareto number of objects, both clipped to
//! their ranges, and an exponential time to parse the main object. Round trips are uniform. How long a server thinks, and
//! that a page has one connection, is ours.

use super::{ConnectionVector, ConnectionVectors, DataUnit, Side, Wait};
use alloc::format;
use alloc::vec::Vec;
use paceline_units::param::{ParamError, ParamSet as _};
use paceline_units::{Bitrate, Bytes, RandomStream, TimeDelta, params};

const MODEL: &str = "IEEE C802.16m-07/182r3 10.1";
/// Where the Pareto distribution of the number of objects begins; as many are taken off again.
const PARETO_SCALE: f64 = 2.0;
/// The most data units that are expected of a draw: half of [`ConnectionVectors::MOST_UNITS`].
const MOST_UNITS: f64 = 5e6;
/// The shortest wait behind the other side's unit: ns-2's Tmix takes 0 for no wait, and waits for ever.
const SHORTEST: TimeDelta = TimeDelta::from_micros(1);
/// The largest object.
const LARGEST: f64 = 1e9;

params! {
    /// Distributions of pages.
    pub struct WebParams {
        load: Bitrate = Bitrate::from_mbps(5), in 1_000.0, 1e12, "ours", "Mean rate of what acceptors send, payload";
        rtt_min: TimeDelta = TimeDelta::from_millis(80), in 0.0, 1000.0, "Islam et al. 2014, Figure 13", "Shortest round trip; uniform between both";
        rtt_max: TimeDelta = TimeDelta::from_millis(100), in 0.0, 1000.0, "Islam et al. 2014, Figure 13", "Longest round trip";
        window_initiator: Bytes = Bytes::new(65_535), in 1.0, 1_073_741_824.0, "RFC 9293: the largest without scaling", "Receive window of who fetches, which limits the responses";
        window_acceptor: Bytes = Bytes::new(65_535), in 1.0, 1_073_741_824.0, "RFC 9293: the largest without scaling", "Receive window of the server";
        request: Bytes = Bytes::new(350), in 1.0, LARGEST, "3GPP2 C.R1002; no text at hand", "Payload of a request";
        main_mean: Bytes = Bytes::new(10_710), in 1.0, LARGEST, MODEL, "Mean of the main object's lognormal distribution";
        main_deviation: Bytes = Bytes::new(25_032), in 0.0, LARGEST, MODEL, "Its standard deviation";
        main_min: Bytes = Bytes::new(100), in 1.0, LARGEST, MODEL, "Smallest main object";
        main_max: Bytes = Bytes::new(2_000_000), in 1.0, LARGEST, MODEL, "Largest main object";
        embedded_mean: Bytes = Bytes::new(7_758), in 1.0, LARGEST, MODEL, "Mean of an embedded object's lognormal distribution";
        embedded_deviation: Bytes = Bytes::new(126_168), in 0.0, LARGEST, MODEL, "Its standard deviation";
        embedded_min: Bytes = Bytes::new(50), in 1.0, LARGEST, MODEL, "Smallest embedded object";
        embedded_max: Bytes = Bytes::new(2_000_000), in 1.0, LARGEST, MODEL, "Largest embedded object";
        objects_shape: f64 = 1.1, in 0.1, 100.0, MODEL, "Shape of the Pareto distribution of the number of embedded objects";
        objects_max: u64 = 53, in 0.0, 10_000.0, MODEL, "Most embedded objects of a page; with the shape above 5.64 on average before rounding";
        parsing: TimeDelta = TimeDelta::from_millis(130), in 0.0, 1e6, MODEL, "Mean of the exponential time from the main object to the first request behind it";
        serving: TimeDelta = TimeDelta::from_millis(10), in 0.0, 1e6, "ours", "Mean of the exponential time from a request to its response";
    }
    ordered rtt_min <= rtt_max, main_min <= main_max, embedded_min <= embedded_max;
}

/// Connections that begin within `duration`. The same seed gives the same connections, and a longer time begins with those
/// of a shorter one.
///
/// # Errors
/// Says which parameter is out of range, or that more would be drawn than memory should hold.
pub fn web_vectors(
    seed: u64,
    duration: TimeDelta,
    params: &WebParams,
) -> Result<ConnectionVectors, ParamError> {
    params.check()?;
    let mut random = RandomStream::new(seed, "media.web_vectors");
    let model = Model::new(params);
    let gap = model.mean_page() * 8.0 / params.load.as_bps_f64();
    let expected = 2.0 * (1.0 + model.mean_objects()) * duration.as_secs_f64() / gap;
    if expected > MOST_UNITS {
        let found = format!("about {expected:.0} requests and responses");
        return Err(ParamError::new("load", found, "at most 5,000,000 of them in the time of the run"));
    }
    let mut vectors = Vec::new();
    let mut start = random.exponential(gap);
    while start < duration.as_secs_f64() {
        vectors.push(model.page(seconds(start), vectors.len() as u64 + 1, &mut random));
        start += random.exponential(gap);
    }
    Ok(ConnectionVectors::new(vectors))
}

/// In whole microseconds, as files have them: a run is the same from a file of its own vectors.
fn seconds(seconds: f64) -> TimeDelta {
    TimeDelta::from_micros((seconds * 1e6) as i64)
}

struct Model<'a> {
    params: &'a WebParams,
    main: Clipped,
    embedded: Clipped,
}

impl<'a> Model<'a> {
    fn new(params: &'a WebParams) -> Model<'a> {
        let main = [params.main_mean, params.main_deviation, params.main_min, params.main_max];
        let embedded =
            [params.embedded_mean, params.embedded_deviation, params.embedded_min, params.embedded_max];
        Model { params, main: Clipped::new(main), embedded: Clipped::new(embedded) }
    }

    /// Expected payload of a page's responses.
    fn mean_page(&self) -> f64 {
        self.main.mean() + self.mean_objects() * self.embedded.mean()
    }

    /// Expected number of embedded objects: the sum of the probabilities that there are at least n.
    fn mean_objects(&self) -> f64 {
        let at_least =
            |n: u64| libm::pow(PARETO_SCALE / (PARETO_SCALE + n as f64 - 0.5), self.params.objects_shape);
        (1..=self.params.objects_max).map(at_least).sum()
    }

    fn objects(&self, random: &mut RandomStream) -> u64 {
        let drawn = PARETO_SCALE / libm::pow(1.0 - random.uniform(), 1.0 / self.params.objects_shape);
        ((drawn - PARETO_SCALE + 0.5) as u64).min(self.params.objects_max)
    }

    fn page(&self, start: TimeDelta, id: u64, random: &mut RandomStream) -> ConnectionVector {
        let params = self.params;
        let exponential = |mean: TimeDelta, random: &mut RandomStream| {
            seconds(random.exponential(mean.as_secs_f64())).max(SHORTEST)
        };
        let (low, high) = (params.rtt_min.as_secs_f64(), params.rtt_max.as_secs_f64());
        let rtt = seconds(low + (high - low) * random.uniform());
        let objects = self.objects(random);
        let mut units = Vec::with_capacity(2 + 2 * objects as usize);
        for object in 0..=objects {
            let (wait, size) = match object {
                0 => (Wait::AfterSent(TimeDelta::ZERO), self.main.draw(random)),
                1 => (Wait::AfterReceived(exponential(params.parsing, random)), self.embedded.draw(random)),
                _ => (Wait::AfterReceived(SHORTEST), self.embedded.draw(random)),
            };
            units.push(DataUnit { side: Side::Initiator, wait, size: params.request });
            let wait = Wait::AfterReceived(exponential(params.serving, random));
            units.push(DataUnit { side: Side::Acceptor, wait, size });
        }
        let windows = [params.window_initiator, params.window_acceptor];
        ConnectionVector { start, id, concurrent: false, windows, mss: None, rtt, loss: [0.0; 2], units }
    }
}

/// A lognormal size, clipped to a range.
struct Clipped {
    mu: f64,
    sigma: f64,
    min: f64,
    max: f64,
}

impl Clipped {
    /// Of this mean and standard deviation before clipping, smallest and largest size.
    fn new([mean, deviation, min, max]: [Bytes; 4]) -> Clipped {
        let ratio = deviation.as_f64() / mean.as_f64();
        let variance = libm::log1p(ratio * ratio);
        let mu = libm::log(mean.as_f64()) - 0.5 * variance;
        Clipped { mu, sigma: libm::sqrt(variance), min: min.as_f64(), max: max.as_f64() }
    }

    fn draw(&self, random: &mut RandomStream) -> Bytes {
        let size = libm::exp(self.mu + self.sigma * random.normal());
        Bytes::new((size + 0.5).clamp(self.min, self.max) as u64)
    }

    /// The mean after clipping.
    fn mean(&self) -> f64 {
        if self.sigma == 0.0 {
            return libm::exp(self.mu).clamp(self.min, self.max);
        }
        let normal = |x: f64| 0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2);
        let scaled = |bound: f64| (libm::log(bound) - self.mu) / self.sigma;
        let (low, high) = (scaled(self.min), scaled(self.max));
        let inside = normal(high - self.sigma) - normal(low - self.sigma);
        let whole = libm::exp(self.mu + 0.5 * self.sigma * self.sigma);
        self.min * normal(low) + whole * inside + self.max * normal(-high)
    }
}
