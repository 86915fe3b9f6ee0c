//! The record of one link.

use super::measures::ratio;
use super::rows::Rows;
use super::{RunTimes, Tick, Ticker, Window};
use crate::figure::{Cell, Facts};
use crate::histogram::Histogram;
use crate::table::LinkSummary;
use paceline_link::{Link, LinkCounters, Service, Transit};
use paceline_units::{Time, TimeDelta};

/// A link's sample at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkSample {
    /// Length of the interval.
    pub(crate) seconds: f64,
    /// Work that the link could do in it.
    pub(crate) capacity_bits: f64,
    /// The counters at its end.
    pub(crate) now: LinkCounters,
    last: LinkCounters,
}

impl LinkSample {
    /// How much a counter has grown in the interval.
    pub(crate) fn counted(&self, counter: fn(&LinkCounters) -> u64) -> Option<f64> {
        Some(counter(&self.now).saturating_sub(counter(&self.last)) as f64)
    }

    /// Sizes of the packets whose last bit left in the interval.
    pub(crate) fn delivered_bits(&self) -> f64 {
        (self.now.departed_bytes - self.last.departed_bytes).as_bits_f64()
    }
}

/// The columns that are sampled at a link.
fn columns() -> impl Iterator<Item = fn(&LinkSample) -> Option<f64>> {
    LinkSummary::FIGURES.iter().filter_map(|figure| match figure.cell {
        Some(Cell::Link(cell)) => Some(cell),
        _ => None,
    })
}

/// A link's state where the window begins or ends.
#[derive(Clone, Copy, Debug, Default)]
struct LinkEdge {
    at: Time,
    counters: LinkCounters,
    service: Service,
}

impl LinkEdge {
    fn of<P: Transit>(at: Time, link: &mut Link<P>) -> LinkEdge {
        LinkEdge { at, counters: link.counters(), service: link.service(at) }
    }
}

/// Records one link. The driver settles the link before `begin`, `sample` and `end`.
#[derive(Clone, Debug)]
pub struct LinkRecorder {
    pub(super) name: String,
    pub(super) rows: Rows,
    times: RunTimes,
    window: Window,
    pub(crate) queue_delay: Histogram,
    /// The link's state when the window began; none if it has not.
    begin: Option<LinkEdge>,
    /// Its state when the window ended; until then, when it began.
    end: LinkEdge,
    last: LinkCounters,
    last_sample: Time,
}

impl LinkRecorder {
    /// A recorder of the link called `name`, which counts from warm-up to the end.
    pub fn new(times: RunTimes, name: &str) -> LinkRecorder {
        LinkRecorder {
            name: name.into(),
            rows: Rows::new(columns().count()),
            times,
            window: times.window(),
            queue_delay: Histogram::new(),
            begin: None,
            end: LinkEdge::default(),
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

    /// The window begins or ends, or a row is appended; the link has settled.
    pub fn tick<P: Transit>(&mut self, tick: Tick, link: &mut Link<P>) {
        match tick {
            Tick::Begin(at) => self.begin(at, link),
            Tick::Sample(at) => self.sample(at, link),
            Tick::End(at) => self.end(at, link),
        }
    }

    /// The window begins; the link starts a new maximum of its queue.
    fn begin<P: Transit>(&mut self, at: Time, link: &mut Link<P>) {
        link.reset_max();
        self.end = LinkEdge::of(at, link);
        self.begin = Some(self.end);
    }

    /// Appends a row: the interval since the last sample ends at `at`.
    fn sample<P: Transit>(&mut self, at: Time, link: &mut Link<P>) {
        let seconds = (at - self.last_sample).as_secs_f64();
        let capacity_bits = link.capacity_bits(self.last_sample, at);
        let now = link.counters();
        let sample = LinkSample { seconds, capacity_bits, now, last: self.last };
        self.rows.push(at, 0, columns().map(|cell| cell(&sample)));
        self.last = now;
        self.last_sample = at;
    }

    /// The window, or the run, ends.
    pub fn end<P: Transit>(&mut self, at: Time, link: &mut Link<P>) {
        // A run that is stopped during warm-up has no statistics.
        if self.begin.is_some() {
            self.end = LinkEdge::of(at, link);
        }
    }

    /// The figures. To be asked for when the window has ended.
    pub fn summary(&self) -> LinkSummary {
        LinkSummary::of(self, Facts::ALL)
    }

    /// How much a counter has grown in the window.
    pub(crate) fn counted(&self, counter: fn(&LinkCounters) -> u64) -> u64 {
        counter(&self.end.counters).saturating_sub(self.begin.map_or(0, |begin| counter(&begin.counters)))
    }

    /// How many packets more are in the queue and in service at the end of the window than at its beginning.
    pub(crate) fn waiting(&self) -> i64 {
        let there = |edge: LinkEdge| (edge.counters.queue_packets + edge.counters.in_service) as i64;
        there(self.end) - self.begin.map_or(0, there)
    }

    pub(crate) fn utilisation(&self) -> Option<f64> {
        self.end.service.utilisation_since(&self.begin?.service)
    }

    /// Waiting packets, averaged over time.
    pub(crate) fn mean_queue(&self) -> Option<f64> {
        let (begin, end) = (self.begin?, &self.end);
        let waiting = end.counters.queue_packet_ns.saturating_sub(begin.counters.queue_packet_ns) as f64;
        ratio(waiting, (end.at - begin.at).as_nanos() as f64)
    }

    /// The most packets that waited at once.
    pub(crate) fn longest_queue(&self) -> u64 {
        self.end.counters.queue_packets_max
    }
}
