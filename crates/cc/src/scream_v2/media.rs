//! Frames of the streams, and the target bitrate (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4.4).

use super::Params;
use crate::SendQueueState;
use paceline_units::{Bytes, Time, TimeDelta};

/// `frame_period` before two frames were seen.
const FIRST_PERIOD: f64 = 0.02;
/// Weight of a frame in `frame_period`.
const PERIOD_GAIN: f64 = 0.125;
/// A longer time between two frames is a pause, in seconds.
const LONGEST_PERIOD: f64 = 1.0;
/// Bounds of `rate_adjust_factor` and `frame_size_dev`.
const MOST_ADJUST: f64 = 0.5;
const MOST_DEV: f64 = 0.2;
/// `ref_wnd_ratio` from which on the target is lower, and by how much at most.
const SMALL_WINDOW: f64 = 0.1;
const MOST_LOWER: f64 = 0.2;
/// Smaller frames say nothing of the encoder: the next packet is as large.
const SMALL_FRAME: f64 = 500.0;

/// The frames of one stream.
#[derive(Clone, Debug)]
pub struct Frames {
    /// Bytes of the frame that is not complete.
    bytes: u64,
    last_end: Option<Time>,
    /// Average time between two frames (`frame_period`), in seconds.
    period: f64,
    /// The last frame over what the target gives it.
    excess: f64,
    rate_adjust_factor: f64,
    frame_size_dev: f64,
}

impl Frames {
    /// A stream that starts.
    pub fn new() -> Frames {
        Frames {
            bytes: 0,
            last_end: None,
            period: FIRST_PERIOD,
            excess: 1.0,
            rate_adjust_factor: 0.0,
            frame_size_dev: 0.0,
        }
    }

    /// Media was offered. Answers whether a frame is complete.
    #[inline]
    pub fn on_offered(&mut self, now: Time, bytes: Bytes, frame_end: bool) -> bool {
        self.bytes = self.bytes.saturating_add(bytes.as_u64());
        if frame_end {
            self.measure(now);
        }
        frame_end
    }

    fn measure(&mut self, now: Time) {
        let since = self.last_end.replace(now).map(|last| now.saturating_since(last).as_secs_f64());
        if let Some(since) = since.filter(|since| *since > 0.0 && *since <= LONGEST_PERIOD) {
            self.period += PERIOD_GAIN * (since - self.period);
        }
    }

    /// A frame of the only stream is complete. `target` is in bit/s.
    fn compensate(&mut self, params: &Params, target: f64, queue: &SendQueueState) {
        let size = core::mem::take(&mut self.bytes) as f64;
        if queue.greedy {
            (self.rate_adjust_factor, self.frame_size_dev, self.excess) = (0.0, 0.0, 1.0);
            return;
        }
        let wait = queue.oldest.unwrap_or(TimeDelta::ZERO).as_secs_f64() / self.period;
        self.rate_adjust_factor = (self.rate_adjust_factor
            + params.rate_adjust_gain * (wait - params.rate_adjust_delay))
            .clamp(0.0, MOST_ADJUST);
        let nominal = target * self.period / 8.0;
        if nominal <= 0.0 {
            return;
        }
        let deviation = (size / nominal - 1.0).max(0.0);
        let weight = params.frame_size_dev_alpha;
        self.frame_size_dev = ((1.0 - weight) * self.frame_size_dev + weight * deviation).min(MOST_DEV);
        let large = size.max(queue.bytes.as_f64());
        self.excess = if nominal > SMALL_FRAME { (large / nominal).max(1.0) } else { 1.0 };
    }
}

/// The media of all streams of a flow.
#[derive(Clone, Debug)]
pub struct Media {
    streams: alloc::vec::Vec<Frames>,
    /// Whether media waits since no reports came, and not for its rate.
    held_up: bool,
}

impl Media {
    /// Streams that start.
    pub fn new(streams: usize) -> Media {
        Media { streams: (0..streams).map(|_| Frames::new()).collect(), held_up: false }
    }

    /// A stream starts, or is gone.
    pub fn restart(&mut self, id: usize) {
        while self.streams.len() <= id {
            self.streams.push(Frames::new());
        }
        self.streams[id] = Frames::new();
    }

    /// The frames of a stream.
    pub fn stream(&mut self, id: usize) -> Option<&mut Frames> {
        self.streams.get_mut(id)
    }

    /// Reports stay away. Until media waits for a frame period at most, its wait says nothing of its rate.
    pub fn on_silence(&mut self) {
        self.held_up = true;
    }

    /// Whether media waits for reports, or waited.
    pub fn is_held_up(&self) -> bool {
        self.held_up
    }

    /// The frame of a stream is complete, and `target` that of all streams, bit/s. Waits and frames of several lower the target of none but
    /// the own stream ([`crate::Controller::media_drain`]): one that does not follow would lower that of all.
    pub fn on_frame(&mut self, params: &Params, id: usize, target: f64, queue: &SendQueueState) {
        let is_one = self.streams.len() == 1;
        let Some(frames) = self.streams.get_mut(id) else { return };
        self.held_up &= queue.oldest.unwrap_or(TimeDelta::ZERO).as_secs_f64() > frames.period;
        if self.held_up || !is_one {
            frames.bytes = 0;
        } else {
            frames.compensate(params, target, queue);
        }
    }

    /// The only stream.
    fn one(&self) -> Option<&Frames> {
        if let [frames] = &self.streams[..] { Some(frames) } else { None }
    }

    /// The factor for media that waits (`rate_adjust_factor`).
    pub fn rate_adjust_factor(&self) -> f64 {
        self.one().map_or(0.0, |frames| frames.rate_adjust_factor)
    }

    /// The deviation of frames above their nominal size (`frame_size_dev`).
    pub fn frame_size_dev(&self) -> f64 {
        self.one().map_or(0.0, |frames| frames.frame_size_dev)
    }

    /// By how much the last frame is larger than the target's.
    pub fn excess(&self) -> f64 {
        self.one().map_or(1.0, |frames| frames.excess)
    }

    /// The longest `frame_period` of the streams.
    pub fn period(&self) -> TimeDelta {
        let longest =
            self.streams.iter().filter(|frames| frames.last_end.is_some()).map(|frames| frames.period);
        TimeDelta::from_secs_f64(longest.fold(0.0, f64::max))
    }

    /// The part of what the window lets through that is the target.
    pub fn target_part(&self, params: &Params, ratio: f64, mss: f64) -> f64 {
        let small = 1.0 - (ratio - SMALL_WINDOW).clamp(0.0, MOST_LOWER);
        let overhead = mss / (mss + params.packet_overhead.as_f64());
        small * overhead / (params.target_rate_headroom + self.rate_adjust_factor() + self.frame_size_dev())
    }
}

/// `acked_bitrate`: over two frame periods, or a round trip where that is longer.
#[derive(Clone, Debug, Default)]
pub struct AckedBitrate {
    bytes: u64,
    since: Option<Time>,
    /// The rate, bit/s; absent before it was measured.
    pub rate: Option<f64>,
}

impl AckedBitrate {
    /// A report told of bytes that arrived; the rate is over `span` at least.
    #[inline]
    pub fn on_report(&mut self, now: Time, bytes: Bytes, span: TimeDelta) {
        let Some(since) = self.since else {
            // Of the first report it is not known since when its packets arrived.
            self.since = Some(now);
            return;
        };
        self.bytes += bytes.as_u64();
        let elapsed = now.saturating_since(since);
        if elapsed >= span && elapsed > TimeDelta::ZERO {
            self.rate = Some(self.bytes as f64 * 8.0 / elapsed.as_secs_f64());
            (self.bytes, self.since) = (0, Some(now));
        }
    }

    /// The rate is not known any more.
    pub fn forget(&mut self) {
        *self = AckedBitrate::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StreamId;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Frames of so many bytes each 40 ms under a target of 1 Mbit/s, whose nominal size is 5,000 B, that find a wait of so many ms.
    fn frames(params: &Params, count: u64, size: u64, wait: i64) -> Media {
        let mut media = Media::new(1);
        for n in 0..count {
            let queue = SendQueueState {
                stream: StreamId(0),
                bytes: Bytes::new(size),
                oldest: Some(TimeDelta::from_millis(wait)),
                ..SendQueueState::default()
            };
            let ends = media.stream(0).expect("it is there").on_offered(at(n * 40), Bytes::new(size), true);
            assert!(ends);
            media.on_frame(params, 0, 1e6, &queue);
        }
        media
    }

    /// Section 4.4.
    #[test]
    fn the_target_is_a_part_of_what_the_window_lets_through() {
        let (params, media) = (Params::draft(), Media::new(1));
        let part = |ratio: f64| libm::round(media.target_part(&params, ratio, 1000.0) * 1e4);
        assert_eq!(part(0.01), 8170.0, "1000/1020/1.2");
        assert_eq!([part(0.2), part(1.0)], [7353.0, 6536.0], "0.9 and 0.8 of it");
        assert_eq!(media.target_part(&Params::libwebrtc(), 0.1, 1280.0), 1.0);
        let ericsson = media.target_part(&Params::ericsson(), 0.01, 1200.0);
        assert!((ericsson - 1200.0 / 1220.0 / 1.1).abs() < 1e-12);
    }

    #[test]
    fn media_that_waits_lowers_the_target_by_an_integral() {
        let params = Params::draft();
        // An excess of half a period, of which a sixteenth counts; the period comes from 20 to 40 ms meanwhile.
        let factors = [100, 200, 1000].map(|count| frames(&params, count, 5000, 12).rate_adjust_factor());
        assert!(factors[0] > 0.1 && factors[0] < factors[1], "{factors:?}");
        assert_eq!(factors[2], 0.5, "no more than that");
        assert_eq!(
            frames(&params, 1000, 5000, 9).rate_adjust_factor(),
            0.0,
            "a quarter of a period may wait"
        );
        assert_eq!(frames(&Params::libwebrtc(), 1000, 5000, 30).rate_adjust_factor(), 0.0);
    }

    #[test]
    fn a_wait_for_reports_lowers_nothing() {
        let params = Params::draft();
        let mut media = frames(&params, 100, 5000, 0);
        media.on_silence();
        let wait = |media: &mut Media, millis: i64| {
            let oldest = Some(TimeDelta::from_millis(millis));
            let queue = SendQueueState { bytes: Bytes::new(5000), oldest, ..SendQueueState::default() };
            media.on_frame(&params, 0, 1e6, &queue);
            media.rate_adjust_factor()
        };
        assert_eq!(wait(&mut media, 1000), 0.0);
        assert!((wait(&mut media, 39) - (39.0 / 40.0 - 0.25) / 16.0).abs() < 1e-4);
        assert!(wait(&mut media, 1000) > 0.4, "its wait counts again");
    }

    #[test]
    fn frames_above_their_nominal_size_lower_the_target() {
        let params = Params::draft();
        assert!((frames(&params, 2000, 5500, 0).frame_size_dev() - 0.1).abs() < 1e-3);
        assert_eq!(frames(&params, 2000, 50_000, 0).frame_size_dev(), 0.2, "no more than that");
        assert!(frames(&params, 2000, 4000, 0).frame_size_dev() < 1e-9);
        assert!((frames(&params, 100, 7500, 0).excess() - 1.5).abs() < 1e-3);
    }

    /// Greedy media has no frames that an encoder made.
    #[test]
    fn greedy_media_lowers_nothing() {
        let params = Params::draft();
        let mut media = frames(&params, 1000, 7500, 12);
        assert!(media.rate_adjust_factor() > 0.1 && media.frame_size_dev() > 0.1 && media.excess() > 1.1);
        let queue = SendQueueState { bytes: Bytes::new(9000), greedy: true, ..SendQueueState::default() };
        media.on_frame(&params, 0, 1e6, &queue);
        let lowers = [media.rate_adjust_factor(), media.frame_size_dev(), media.excess()];
        assert_eq!(lowers, [0.0, 0.0, 1.0]);
    }

    #[test]
    fn of_several_streams_none_lowers_the_target_of_all() {
        let params = Params::draft();
        let mut media = Media::new(2);
        let oldest = Some(TimeDelta::from_secs(2));
        for n in 0..2000u64 {
            for (id, size) in [(0, 90_000), (1, 1000)] {
                let (stream, bytes) = (StreamId(id), Bytes::new(size));
                let queue = SendQueueState { stream, bytes, oldest, ..SendQueueState::default() };
                media.stream(id.into()).expect("it is there").on_offered(at(n * 40), bytes, true);
                media.on_frame(&params, id.into(), 2e6, &queue);
            }
        }
        assert_eq!([media.rate_adjust_factor(), media.frame_size_dev(), media.excess()], [0.0, 0.0, 1.0]);
        assert_eq!(media.period(), TimeDelta::from_millis(40));
    }

    #[test]
    fn the_acknowledged_rate_is_over_the_span() {
        let mut acked = AckedBitrate::default();
        let rates = [0, 20, 40, 60].map(|now| {
            acked.on_report(at(now), Bytes::new(5000), TimeDelta::from_millis(40));
            acked.rate
        });
        assert_eq!(rates, [None, None, Some(2e6), Some(2e6)]);
    }
}
