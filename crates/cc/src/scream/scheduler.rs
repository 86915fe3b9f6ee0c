//! Which stream goes next: credit by priority (RFC 8298 section 4.1.2.8).
//!
//! A stream's bytes are credited to all that wait, in proportion to priority, and the sender pays it; the largest
//! credit goes next. In the long run shares are those of the priorities.

use crate::StreamId;

/// The credit of a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamCredit {
    /// Share of the stream, above 0: a larger one goes more often.
    pub priority: f64,
    /// Bytes that wait in the send queue of the stream.
    pub waiting: u64,
    /// Bytes of credit; negative after having sent ahead of its share.
    pub credit: f64,
}

/// `stream` sent `bytes`: all streams that wait are credited, and the sender pays. A stream that does not wait saves no
/// credit.
pub fn on_sent(credits: &mut [StreamCredit], stream: StreamId, bytes: u64) {
    let sender = usize::from(stream.0);
    if sender >= credits.len() {
        return;
    }
    let waits = |index: usize, waiting: u64| waiting > 0 || index == sender;
    let total: f64 = credits
        .iter()
        .enumerate()
        .filter(|(n, one)| waits(*n, one.waiting))
        .map(|(_, one)| one.priority)
        .sum();
    for (n, one) in credits.iter_mut().enumerate() {
        one.credit =
            if waits(n, one.waiting) { one.credit + bytes as f64 * one.priority / total } else { 0.0 };
    }
    let one = &mut credits[sender];
    one.waiting = one.waiting.saturating_sub(bytes);
    one.credit = if one.waiting > 0 { one.credit - bytes as f64 } else { 0.0 };
}

/// The stream that goes next, if any waits: the largest credit, then the highest priority, then the first.
pub fn next(credits: &[StreamCredit]) -> Option<StreamId> {
    let waiting = credits.iter().enumerate().filter(|(_, one)| one.waiting > 0);
    let best = waiting.reduce(|best, one| {
        let rank = |one: &StreamCredit| (one.credit, one.priority);
        if rank(one.1) > rank(best.1) { one } else { best }
    })?;
    Some(StreamId(best.0 as u8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    /// How many of `rounds` packets each stream sends while all wait.
    fn shares(priorities: &[f64], rounds: usize) -> Vec<usize> {
        let mut credits: Vec<StreamCredit> = priorities
            .iter()
            .map(|&priority| StreamCredit { priority, waiting: u64::MAX / 2, credit: 0.0 })
            .collect();
        let mut sent = vec![0; priorities.len()];
        for _ in 0..rounds {
            let stream = next(&credits).expect("all wait");
            sent[stream.0 as usize] += 1;
            on_sent(&mut credits, stream, 1000);
        }
        sent
    }

    #[test]
    fn packets_follow_the_priorities() {
        assert_eq!(shares(&[1.0, 1.0], 100), [50, 50]);
        let two_to_one = shares(&[2.0, 1.0], 300);
        assert!((199..=201).contains(&two_to_one[0]), "{two_to_one:?}");
        let three = shares(&[1.0, 0.5, 0.5], 400);
        assert!((199..=201).contains(&three[0]) && three[1].abs_diff(three[2]) <= 1, "{three:?}");
    }

    #[test]
    fn only_streams_that_wait_go() {
        let mut credits = [
            StreamCredit { priority: 1.0, waiting: 0, credit: 9.0 },
            StreamCredit { priority: 0.1, waiting: 10, credit: 0.0 },
        ];
        assert_eq!(next(&credits), Some(StreamId(1)));
        on_sent(&mut credits, StreamId(1), 10);
        assert_eq!(next(&credits), None);
        assert_eq!(credits[0].credit, 0.0);
    }

    #[test]
    fn a_stream_that_is_not_known_changes_no_credit() {
        let mut credits = [StreamCredit { priority: 1.0, waiting: 10, credit: 3.0 }];
        on_sent(&mut credits, StreamId(1), 10);
        assert_eq!((credits[0].waiting, credits[0].credit), (10, 3.0));
    }
}
