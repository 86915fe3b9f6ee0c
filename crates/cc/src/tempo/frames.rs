//! How often frames come: the longest gap of a stream that makes a good part of the media. A camera's frames make queues, and speech
//! beside it does not.

use super::recent::Gaps;
use crate::StreamId;
use alloc::vec::Vec;
use paceline_units::{Bytes, Time, TimeDelta};

/// A stream counts that has this part of the media, at least.
const PART: f64 = 0.25;
/// Media counts that came in the present span of this length, and in the one before.
const SPAN: TimeDelta = TimeDelta::from_secs(2);

/// Frames of one stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    gaps: Gaps,
    /// Bits in the present span and in the one before.
    present: f64,
    before: f64,
}

impl Stream {
    const NONE: Stream = Stream { gaps: Gaps::NONE, present: 0.0, before: 0.0 };

    fn bits(&self) -> f64 {
        self.present + self.before
    }
}

/// Frames of all streams, by number.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    streams: Vec<Stream>,
    /// When the present span began; none before the first media.
    since: Option<Time>,
}

impl Frames {
    /// No frame came.
    pub(super) fn new() -> Frames {
        Frames { streams: alloc::vec![Stream::NONE], since: None }
    }

    /// Media came, with which a frame may be complete (`ends`).
    pub(super) fn note(&mut self, now: Time, stream: StreamId, bytes: Bytes, ends: bool) {
        let id = usize::from(stream.0);
        if self.streams.len() <= id {
            self.streams.resize(id + 1, Stream::NONE);
        }
        if now.saturating_since(*self.since.get_or_insert(now)) >= SPAN {
            self.since = Some(now);
            for stream in &mut self.streams {
                (stream.before, stream.present) = (stream.present, 0.0);
            }
        }
        let stream = &mut self.streams[id];
        stream.present += bytes.as_bits_f64();
        if ends {
            stream.gaps.note(now);
        }
    }

    /// The longest gap in seconds; 0 if there is none.
    pub(super) fn longest(&self) -> f64 {
        let fewest = PART * self.streams.iter().map(Stream::bits).sum::<f64>();
        let count = self.streams.iter().filter(|stream| stream.bits() >= fewest);
        count.map(|stream| stream.gaps.longest()).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of these streams for four seconds: number, interval in ms, bytes.
    fn frames(streams: &[(u8, u64, u64)]) -> Frames {
        let mut frames = Frames::new();
        for millis in 0..4000 {
            for &(id, _, bytes) in streams.iter().filter(|stream| millis % stream.1 == 0) {
                frames.note(Time::from_nanos(millis * 1_000_000), StreamId(id), Bytes::new(bytes), true);
            }
        }
        frames
    }

    #[test]
    fn the_gap_is_that_of_streams_that_make_much_of_the_media() {
        assert_eq!(frames(&[]).longest(), 0.0);
        assert_eq!(frames(&[(0, 33, 5000)]).longest(), 0.033);
        assert_eq!(frames(&[(0, 20, 160), (1, 200, 20_000)]).longest(), 0.2, "a camera beside speech");
        assert_eq!(frames(&[(1, 200, 20_000)]).longest(), 0.2, "the first stream has not joined");
        assert_eq!(frames(&[(0, 33, 5000), (1, 500, 5000)]).longest(), 0.033, "few slides beside a camera");
    }

    #[test]
    fn a_stream_that_ended_counts_no_more() {
        let mut frames = frames(&[(0, 33, 5000), (1, 200, 30_000)]);
        assert_eq!(frames.longest(), 0.2);
        for n in 0..150 {
            frames.note(
                Time::from_nanos(4_000_000_000 + n * 33_000_000),
                StreamId(0),
                Bytes::new(5000),
                true,
            );
        }
        assert_eq!(frames.longest(), 0.033, "4 s after");
    }
}
