//! `summary.json`: the figures of a run. Times in milliseconds, rates in Mbit/s, ratios from 0 to 1.
//!
//! A figure that does not exist is `null`, never NaN: every number that may not exist is an `Option`.

use crate::histogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything that is said about a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// The scenario's name.
    pub name: String,
    /// Root of the random streams.
    pub seed: u64,
    /// How long was simulated, in seconds.
    pub duration_s: f64,
    /// How long the event loop took, in seconds.
    pub wall_s: f64,
    /// Data packets that reached a receiver, over the whole run.
    pub packets: u64,
    /// Events that were handled, over the whole run.
    pub events: u64,
    /// The flows, by name.
    pub flows: BTreeMap<String, FlowSummary>,
    /// The links, by name.
    pub links: BTreeMap<String, LinkSummary>,
    /// How evenly the flows share.
    pub fairness: Fairness,
    /// The version that made this.
    pub version: &'static str,
}

impl Summary {
    /// As one JSON document.
    pub fn to_json(&self) -> String {
        // Only maps with keys that are no text can fail; there are none.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// The figures of a flow.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowSummary {
    /// The kind of controller.
    pub controller: &'static str,
    /// The profile of its parameters.
    pub profile: String,
    /// Sizes on the link of what arrived, duplicates in, per time.
    pub throughput_mbps: Option<f64>,
    /// Payload that arrived, used once, per time.
    pub goodput_mbps: Option<f64>,
    /// Time average of the sender's target, over all streams.
    pub target_bitrate_mbps: Option<f64>,
    /// What delivered packets waited in link queues.
    pub queue_delay_ms: Distribution,
    /// What delay noise added to delivered packets.
    pub delay_noise_ms: Distribution,
    /// From sending to arrival.
    pub one_way_delay_ms: Distribution,
    /// By how much a packet's one-way delay differs from that of the one that arrived before it, whichever is longer
    /// (RFC 3393); duplicates left out.
    pub delay_variation_ms: Distribution,
    /// The estimate of RFC 3550 section 6.4.1 after each packet: the mean of these differences over about 16. Its
    /// timestamps are here the times of sending.
    pub jitter_ms: Distribution,
    /// Over time: the sender's smoothed round-trip time.
    pub srtt_ms: Distribution,
    /// What sent packets waited in the send queue.
    pub send_queue_delay_ms: Distribution,
    /// From capture to display.
    pub frame_delay_ms: Distribution,
    /// The means of its parts.
    pub frame_delay_parts_ms: FrameDelayMeans,
    /// Of packets sent in the window, those that never arrive; packets still under way are in neither.
    pub loss_ratio: Option<f64>,
    /// Of packets that arrived, those marked CE.
    pub ce_ratio: Option<f64>,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets that arrived.
    pub packets_received: u64,
    /// What happened to frames.
    pub frames: FrameCounts,
    /// Files sent whole; absent where what is sent does not end.
    pub transfers: Option<TransferSummary>,
    /// The mean of each numeric column over the rows of the time series.
    pub sampled: BTreeMap<String, Option<f64>>,
}

/// A distribution in milliseconds; every figure is absent if nothing was recorded.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Distribution {
    /// Mean, exact.
    pub mean: Option<f64>,
    /// Median, to 1 %.
    pub p50: Option<f64>,
    /// 95th percentile, to 1 %.
    pub p95: Option<f64>,
    /// 99th percentile, to 1 %.
    pub p99: Option<f64>,
    /// Largest, exact.
    pub max: Option<f64>,
}

impl From<&Histogram> for Distribution {
    fn from(histogram: &Histogram) -> Distribution {
        let quantile = |q: f64| histogram.quantile(q).map(|span| span.as_millis_f64());
        Distribution {
            mean: histogram.mean_nanos().map(|nanos| nanos / 1e6),
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max: histogram.max().map(|span| span.as_millis_f64()),
        }
    }
}

/// Mean parts of the delay of frames, in milliseconds; they add up to the mean of `frame_delay_ms` where all are known.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct FrameDelayMeans {
    /// Encoder, send queue and pacer.
    pub send_queue: Option<f64>,
    /// Waiting in the queues of links.
    pub link_queue: Option<f64>,
    /// Serialisation, propagation and noise.
    pub path: Option<f64>,
    /// De-jitter buffer.
    pub dejitter: Option<f64>,
}

/// What happened to frames in the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct FrameCounts {
    /// Captured by the source.
    pub captured: u64,
    /// Displayed, late ones in.
    pub displayed: u64,
    /// Displayed after their playout time.
    pub late: u64,
    /// Given up although some of their packets arrived.
    pub incomplete: u64,
    /// Discarded from the send queue.
    pub discarded: u64,
    /// Gaps in the display (webrtc-stats, `freezeCount`).
    pub freezes: u64,
}

/// Files that a flow sent whole over TCP.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TransferSummary {
    /// Whose connection began in the window.
    pub begun: u64,
    /// That were complete in the window, wherever they began.
    pub completed: u64,
    /// Payload of those that were complete.
    pub bytes: u64,
    /// Of those that were complete: from the connection's first segment (its SYN where there is a handshake) to the
    /// acknowledgement of the last byte at the sender.
    pub completion_time_ms: Distribution,
}

/// The figures of a link.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LinkSummary {
    /// Bytes out over the integral of capacity.
    pub utilisation: Option<f64>,
    /// Packets that waited.
    pub queue_packets: QueuePackets,
    /// The wait of departures.
    pub queue_delay_ms: Distribution,
    /// Dropped by the queue.
    pub dropped: u64,
    /// Lost by the loss model.
    pub lost: u64,
    /// Marked CE by this link.
    pub marked: u64,
    /// Offered to the queue.
    pub offered: u64,
}

/// How many packets waited.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct QueuePackets {
    /// Over time.
    pub mean: Option<f64>,
    /// The most at once.
    pub max: u64,
}

/// How evenly the flows share.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Fairness {
    /// Jain's index of the flows' throughput; absent if nothing was delivered.
    pub jain: Option<f64>,
}

impl Fairness {
    /// Of these flows. Flows without a throughput (no time in the window) do not count.
    pub fn of<'f>(flows: impl IntoIterator<Item = &'f FlowSummary>) -> Fairness {
        let rates: Vec<f64> = flows.into_iter().filter_map(|flow| flow.throughput_mbps).collect();
        let (sum, squares) =
            rates.iter().fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
        Fairness { jain: (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares)) }
    }
}

/// `numerator` over `denominator`, if that exists.
pub(crate) fn ratio(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator).filter(|ratio| ratio.is_finite())
}
