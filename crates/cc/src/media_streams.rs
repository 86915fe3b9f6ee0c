//! The streams of a flow whose controller names one target for all of them: their limits together, and the packets of each.

use crate::{
    Acked, DetectorConfig, FlowSetup, Limits, LossDetector, PacketsReport, StreamChange, StreamId, StreamSet,
};
use alloc::vec::Vec;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// No rate is lower, in bit/s: it would hardly leave room for a packet a second.
pub(crate) const LOWEST: f64 = 5e3;
/// No limit is higher, in bit/s.
const HIGHEST: f64 = 1e12;

/// Limits and packets of each stream.
#[derive(Clone, Debug)]
pub(crate) struct MediaStreams {
    /// Of a stream that says nothing else.
    usual: (Bitrate, Bitrate),
    /// Of each stream, zero once it left.
    limits: Vec<Limits>,
    detectors: Vec<LossDetector>,
    config: DetectorConfig,
}

impl MediaStreams {
    /// The streams of a flow that begins, each with these limits, and the reordering window and its largest value.
    pub(crate) fn new(
        setup: &FlowSetup,
        usual: (Bitrate, Bitrate),
        reorder_window: (TimeDelta, TimeDelta),
    ) -> MediaStreams {
        let streams = setup.priorities.len().clamp(1, FlowSetup::MOST_STREAMS) as u8;
        let (min, max) = usual;
        let config = DetectorConfig {
            packet_threshold: None,
            reorder_window: reorder_window.0,
            reorder_window_max: reorder_window.1,
            unreported_is_lost: false,
        };
        let limits: Vec<_> = (0..streams).map(|id| Limits { stream: StreamId(id), min, max }).collect();
        let detectors = limits.iter().map(|_| LossDetector::new(config)).collect();
        MediaStreams { usual, limits, detectors, config }
    }

    /// How many streams there were at a time.
    pub(crate) fn count(&self) -> usize {
        self.limits.len()
    }

    /// Lowest and highest target of all streams together in bit/s; those of a single one while there is none, so that the next one goes
    /// on with the rate.
    pub(crate) fn targets(&self) -> (f64, f64) {
        let sum =
            |rate: fn(&Limits) -> Bitrate| self.limits.iter().map(|limits| rate(limits).as_bps_f64()).sum();
        match (sum(|limits| limits.min), sum(|limits| limits.max)) {
            (_, 0.0) => (self.usual.0.as_bps_f64(), self.usual.1.as_bps_f64()),
            sums => sums,
        }
    }

    /// The same as limits of a rate that is never zero.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        let (min, max) = self.targets();
        let min = min.clamp(LOWEST, HIGHEST);
        (min, max.clamp(min, HIGHEST))
    }

    /// The application allows a stream this. Answers whether there is such a stream.
    pub(crate) fn on_limits(&mut self, limits: &Limits) -> bool {
        let Some(stream) = self.limits.get_mut(usize::from(limits.stream.0)) else { return false };
        *stream = limits.within(self.usual.0, self.usual.1);
        true
    }

    /// A stream adds its limits to those of the others, and takes them along. Answers whether they changed.
    pub(crate) fn on_stream(&mut self, stream: StreamId, change: StreamChange) -> bool {
        let (min, max) = match change {
            StreamChange::Joined(_) => self.usual,
            StreamChange::Left => (Bitrate::ZERO, Bitrate::ZERO),
            StreamChange::Priority(_) => return false,
            StreamChange::Gone => {
                self.detectors.get_mut(usize::from(stream.0)).into_iter().for_each(LossDetector::forget);
                return false;
            }
        };
        for id in self.limits.len() as u8..=stream.0.min(StreamSet::CAPACITY - 1) {
            self.limits.push(Limits { stream: StreamId(id), min: Bitrate::ZERO, max: Bitrate::ZERO });
            self.make_room(usize::from(id));
        }
        let Some(limits) = self.limits.get_mut(usize::from(stream.0)) else { return false };
        *limits = Limits { stream, min, max };
        true
    }

    /// The packets of a stream, also of one that never joined; none of a stream that no update can name.
    #[inline]
    pub(crate) fn sent_by(&mut self, stream: StreamId) -> Option<&mut LossDetector> {
        let id = usize::from(stream.0);
        if id >= usize::from(StreamSet::CAPACITY) {
            return None;
        }
        self.make_room(id);
        self.detectors.get_mut(id)
    }

    #[inline]
    fn make_room(&mut self, id: usize) {
        if self.detectors.len() <= id {
            self.detectors.resize_with(id + 1, || LossDetector::new(self.config));
        }
    }

    /// Takes a report. Of several streams, the tail of one that fell silent is lost once it is overdue by this: no report names it.
    #[inline(always)]
    pub(crate) fn acknowledge(&mut self, now: Time, report: &PacketsReport<'_>, overdue: TimeDelta) -> Acked {
        match (&mut self.detectors[..], report.packets) {
            ([detector], [packet]) if packet.stream == StreamId(0) => detector.on_packet(now, packet),
            ([detector], _) => detector.on_report(now, report.of_stream(0)),
            _ => self.acknowledge_all(now, report, overdue),
        }
    }

    fn acknowledge_all(&mut self, now: Time, report: &PacketsReport<'_>, overdue: TimeDelta) -> Acked {
        let detectors = &mut self.detectors;
        let each = detectors.iter_mut().enumerate();
        let acked = each.map(|(id, detector)| detector.on_report(now, report.of_stream(id)));
        let acked = acked.reduce(Acked::and).unwrap_or_default();
        acked.and(self.release_tails(now, overdue))
    }

    /// Of several streams, the tail of one that fell silent is lost once it is overdue by this: no report names it.
    pub(crate) fn release_tails(&mut self, now: Time, overdue: TimeDelta) -> Acked {
        let detectors = &mut self.detectors;
        let newest = detectors.iter().map(LossDetector::newest_acked_sent).max().unwrap_or(Time::ZERO);
        let release = |detector: &mut LossDetector| {
            detector.release_tail(now, newest - overdue - detector.reorder_window())
        };
        detectors.iter_mut().map(release).reduce(Acked::and).unwrap_or_default()
    }

    /// The packets of a stream that joined or sent some.
    #[inline]
    pub(crate) fn reported_of(&mut self, stream: StreamId) -> Option<&mut LossDetector> {
        self.detectors.get_mut(usize::from(stream.0))
    }

    /// The packets of each stream.
    #[inline]
    pub(crate) fn detectors(&mut self) -> &mut [LossDetector] {
        &mut self.detectors
    }

    /// Bytes in flight of all streams.
    #[inline]
    pub(crate) fn in_flight(&self) -> Bytes {
        match &self.detectors[..] {
            [detector] => detector.in_flight(),
            detectors => detectors.iter().map(LossDetector::in_flight).sum(),
        }
    }
}
