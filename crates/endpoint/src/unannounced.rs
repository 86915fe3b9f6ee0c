//! Streams of which nobody told the receiver: another layer of a simulcast, a stream under another SSRC, one whose signalling comes late,
//! or that comes back after a goodbye. Their packets share the path with those of others, so that reports by stream tell of them, too.

use paceline_units::{Time, TimeDelta};

/// Packets of a stream in a row before it is believed (RFC 3550 appendix A.1, MIN_SEQUENTIAL): who makes up SSRCs has none.
const PROBATION: u32 = 2;
/// Streams that are watched at a time.
const WATCHED: usize = 64;
/// The most that are believed at a time.
pub(super) const MOST: usize = 32;
/// A stream that is believed and was silent for so long gives way to another.
pub(super) const SILENT: TimeDelta = TimeDelta::from_secs(3);

/// A stream that is not believed yet.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    ssrc: u32,
    next: u16,
    in_row: u32,
    heard: Time,
}

/// The streams that are watched.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates(Vec<Candidate>);

impl Candidates {
    /// A packet of a stream came that is neither expected nor believed. Whether the stream is believed now.
    pub(super) fn on_packet(&mut self, now: Time, ssrc: u32, number: u16) -> bool {
        let place = self.0.iter().position(|known| known.ssrc == ssrc).unwrap_or_else(|| self.enter());
        let before = self.0.get(place).filter(|known| (known.ssrc, known.next) == (ssrc, number));
        let in_row = 1 + before.map_or(0, |known| known.in_row);
        if in_row >= PROBATION {
            self.0.swap_remove(place);
            return true;
        }
        let candidate = Candidate { ssrc, next: number.wrapping_add(1), in_row, heard: now };
        match self.0.get_mut(place) {
            Some(known) => *known = candidate,
            None => self.0.push(candidate),
        }
        false
    }

    /// The place of another stream: where there is none left, that of the one with the fewest packets in a row, the oldest of these.
    fn enter(&self) -> usize {
        if self.0.len() < WATCHED {
            return self.0.len();
        }
        (0..WATCHED).min_by_key(|place| (self.0[*place].in_row, self.0[*place].heard)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_packets_in_a_row_are_a_stream_among_strangers() {
        let mut candidates = Candidates::default();
        let mut strangers = 1000..;
        for (place, number) in [65_533, 65_535, 9, 10].into_iter().enumerate() {
            let now = Time::from_nanos(place as u64);
            assert_eq!(candidates.on_packet(now, 5, number), number == 10, "at {number}");
            for stranger in strangers.by_ref().take(50) {
                assert!(!candidates.on_packet(now, stranger, 1));
            }
            assert!(candidates.0.len() <= WATCHED);
        }
        assert!(!candidates.on_packet(Time::from_nanos(9), 5, 11), "it is watched anew");
    }
}
