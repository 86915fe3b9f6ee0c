//! Functions of the summary's structs. Their fields stand in the [`table`](crate::table).
//!
//! Times are in milliseconds, rates in Mbit/s, ratios from 0 to 1. A figure that does not exist is `null`, never NaN.

use crate::histogram::Histogram;
use crate::table::{Distribution, Fairness, FlowSummary, NetCounters, Summary};

impl Summary {
    /// The summary as one JSON document, `summary.json`.
    pub fn to_json(&self) -> String {
        // Only maps with keys that are no text can fail; there are none.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
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

impl Fairness {
    /// Jain's index of these flows. Flows without a throughput (no time in the window) do not count.
    pub fn of<'f>(flows: impl IntoIterator<Item = &'f FlowSummary>) -> Fairness {
        let rates: Vec<f64> = flows.into_iter().filter_map(|flow| flow.throughput_mbps).collect();
        let (sum, squares) =
            rates.iter().fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
        Fairness { jain: (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares)) }
    }
}

impl NetCounters {
    /// Adds what the sockets of another flow saw.
    pub fn add(&mut self, other: NetCounters) {
        let NetCounters {
            received,
            sent,
            unsendable,
            malformed,
            unknown_peers,
            second_senders,
            sender_moves,
            unknown_ssrc,
            ssrc_collisions,
            out_of_sequence,
            resynchronised,
            out_of_time,
            other_rtcp,
            keep_alives,
            restored,
            resent,
            unknown_reports,
            impossible_times,
            unanswered,
            duplicates,
            overflowed,
            circuit_breakers,
            failed_programs,
            failed_captures,
            unanswered_flows,
            late_p50_ms,
            late_p95_ms,
            late_p99_ms,
            late_max_ms,
            late_share,
            rtcp_reports,
            rtcp_round_trip_ms,
            rtcp_jitter_ms,
            rtcp_lost,
        } = other;
        self.received += received;
        self.sent += sent;
        self.unsendable += unsendable;
        self.malformed += malformed;
        self.unknown_peers += unknown_peers;
        self.second_senders += second_senders;
        self.sender_moves += sender_moves;
        self.unknown_ssrc += unknown_ssrc;
        self.ssrc_collisions += ssrc_collisions;
        self.out_of_sequence += out_of_sequence;
        self.resynchronised += resynchronised;
        self.out_of_time += out_of_time;
        self.other_rtcp += other_rtcp;
        self.keep_alives += keep_alives;
        self.restored += restored;
        self.resent += resent;
        self.unknown_reports += unknown_reports;
        self.impossible_times += impossible_times;
        self.unanswered += unanswered;
        self.duplicates += duplicates;
        self.overflowed += overflowed;
        self.circuit_breakers += circuit_breakers;
        self.rtcp_reports += rtcp_reports;
        let longest = |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::max);
        self.failed_programs += failed_programs;
        self.failed_captures += failed_captures;
        self.unanswered_flows += unanswered_flows;
        self.late_p50_ms = longest(self.late_p50_ms, late_p50_ms);
        self.late_p95_ms = longest(self.late_p95_ms, late_p95_ms);
        self.late_p99_ms = longest(self.late_p99_ms, late_p99_ms);
        self.late_max_ms = longest(self.late_max_ms, late_max_ms);
        self.late_share = longest(self.late_share, late_share);
        self.rtcp_round_trip_ms = longest(self.rtcp_round_trip_ms, rtcp_round_trip_ms);
        self.rtcp_jitter_ms = longest(self.rtcp_jitter_ms, rtcp_jitter_ms);
        self.rtcp_lost = self.rtcp_lost.into_iter().chain(rtcp_lost).reduce(|one, other| one + other);
    }
}
