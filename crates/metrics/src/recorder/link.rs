//! What happens to one link.

use super::rows::Rows;
use super::{RunTimes, Ticker, Window};
use crate::histogram::Histogram;
use crate::summary::{Distribution, LinkSummary, QueuePackets, ratio};
use paceline_link::{Link, LinkCounters, Transit};
use paceline_units::{Bytes, Time, TimeDelta};

/// Records one link. Whoever drives settles the link before `begin`, `sample` and `end`.
#[derive(Clone, Debug)]
pub struct LinkRecorder {
    pub(super) name: String,
    pub(super) rows: Rows,
    times: RunTimes,
    window: Window,
    queue_delay: Histogram,
    /// Whether the window began; the counters then, and when it ended; and the capacity between, in bits.
    begun: bool,
    begin: LinkCounters,
    begin_time: Time,
    end: LinkCounters,
    end_time: Time,
    capacity_bits: f64,
    last: LinkCounters,
    last_sample: Time,
}

impl LinkRecorder {
    /// The columns after time and link.
    pub const COLUMNS: [&'static str; 6] =
        ["capacity_mbps", "throughput_mbps", "queue_packets", "queue_bytes", "dropped", "marked"];

    /// A recorder of the link called `name`, which counts from warm-up to the end.
    pub fn new(times: RunTimes, name: &str) -> LinkRecorder {
        LinkRecorder {
            name: name.into(),
            rows: Rows::new(Self::COLUMNS.len()),
            times,
            window: times.window(),
            queue_delay: Histogram::new(),
            begun: false,
            begin: LinkCounters::default(),
            begin_time: Time::ZERO,
            end: LinkCounters::default(),
            end_time: Time::ZERO,
            capacity_bits: 0.0,
            last: LinkCounters::default(),
            last_sample: Time::ZERO,
        }
    }

    /// When it is to look at the link.
    pub fn ticker(&self) -> Ticker {
        self.times.ticker(&self.window)
    }

    /// A packet departs at `at`, perhaps in the future, after it waited.
    #[inline]
    pub fn departed(&mut self, at: Time, wait: TimeDelta) {
        if self.window.contains(at) {
            self.queue_delay.record(wait);
        }
    }

    /// The window begins; the link starts a new maximum of its queue.
    pub fn begin<P: Transit>(&mut self, at: Time, link: &mut Link<P>) {
        link.reset_max();
        self.begin = link.counters();
        self.begin_time = at;
        self.begun = true;
    }

    /// Appends a row: the interval since the last sample ends at `at`.
    pub fn sample<P: Transit>(&mut self, at: Time, link: &mut Link<P>) {
        let seconds = (at - self.last_sample).as_secs_f64();
        let capacity = link.capacity_bits(self.last_sample, at);
        let now = link.counters();
        let bytes: Bytes = now.departed_bytes - self.last.departed_bytes;
        let since = |now: u64, before: u64| Some(now.saturating_sub(before) as f64);
        let cells = [
            ratio(capacity / 1e6, seconds),
            ratio(bytes.as_bits_f64() / 1e6, seconds),
            Some(now.queue_packets as f64),
            Some(now.queue_bytes.as_f64()),
            since(now.dropped, self.last.dropped),
            since(now.marked, self.last.marked),
        ];
        self.rows.push(at, 0, cells);
        self.last = now;
        self.last_sample = at;
    }

    /// The window, or the run, ends.
    pub fn end<P: Transit>(&mut self, at: Time, link: &mut Link<P>) {
        // A run that is stopped during warm-up has no statistics.
        if !self.begun {
            return;
        }
        self.end = link.counters();
        self.end_time = at;
        self.capacity_bits = link.capacity_bits(self.begin_time, at);
    }

    /// The figures. To be asked for when the window has ended.
    pub fn summary(&self) -> LinkSummary {
        let (now, before) = (&self.end, &self.begin);
        let bits = (now.departed_bytes - before.departed_bytes).as_bits_f64();
        let waiting = now.queue_packet_ns.saturating_sub(before.queue_packet_ns) as f64;
        let nanos = (self.end_time - self.begin_time).as_nanos() as f64;
        LinkSummary {
            utilisation: ratio(bits, self.capacity_bits),
            queue_packets: QueuePackets { mean: ratio(waiting, nanos), max: now.queue_packets_max },
            queue_delay_ms: Distribution::from(&self.queue_delay),
            dropped: now.dropped.saturating_sub(before.dropped),
            lost: now.lost.saturating_sub(before.lost),
            marked: now.marked.saturating_sub(before.marked),
            offered: now.offered.saturating_sub(before.offered),
        }
    }
}
