//! Which stream goes next: credit by priority (RFC 8298 section 4.1.2.8).
//!
//! What a stream sends is credited to all that wait, in proportion to priority, and the sender pays it; the largest
//! credit goes next. In the long run shares are those of the priorities.

use crate::StreamId;

/// A stream's place in the schedule.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Share of the stream, above 0: a larger one goes more often.
    pub priority: f64,
    /// Bytes that wait in the send queue of the stream.
    pub waiting: u64,
    /// Bytes of credit; negative after having sent ahead of its share.
    pub credit: f64,
}

/// `stream` sent `bytes`: all that wait are credited, the sender pays. Credit is for waiting: others save none up.
pub fn on_sent(turns: &mut [Turn], stream: StreamId, bytes: u64) {
    let sender = usize::from(stream.0);
    if sender >= turns.len() {
        return;
    }
    let waits = |turn: usize, waiting: u64| waiting > 0 || turn == sender;
    let total: f64 = turns
        .iter()
        .enumerate()
        .filter(|(n, turn)| waits(*n, turn.waiting))
        .map(|(_, turn)| turn.priority)
        .sum();
    for (n, turn) in turns.iter_mut().enumerate() {
        turn.credit =
            if waits(n, turn.waiting) { turn.credit + bytes as f64 * turn.priority / total } else { 0.0 };
    }
    let turn = &mut turns[sender];
    turn.waiting = turn.waiting.saturating_sub(bytes);
    turn.credit = if turn.waiting > 0 { turn.credit - bytes as f64 } else { 0.0 };
}

/// The stream that goes next, if any waits: the largest credit, then the highest priority, then the first.
pub fn next(turns: &[Turn]) -> Option<StreamId> {
    let waiting = turns.iter().enumerate().filter(|(_, turn)| turn.waiting > 0);
    let best = waiting.reduce(|best, turn| {
        let rank = |turn: &Turn| (turn.credit, turn.priority);
        if rank(turn.1) > rank(best.1) { turn } else { best }
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
        let mut turns: Vec<Turn> = priorities
            .iter()
            .map(|&priority| Turn { priority, waiting: u64::MAX / 2, credit: 0.0 })
            .collect();
        let mut sent = vec![0; priorities.len()];
        for _ in 0..rounds {
            let stream = next(&turns).expect("all wait");
            sent[stream.0 as usize] += 1;
            on_sent(&mut turns, stream, 1000);
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
        let mut turns = [
            Turn { priority: 1.0, waiting: 0, credit: 9.0 },
            Turn { priority: 0.1, waiting: 10, credit: 0.0 },
        ];
        assert_eq!(next(&turns), Some(StreamId(1)));
        on_sent(&mut turns, StreamId(1), 10);
        assert_eq!(next(&turns), None);
        assert_eq!(turns[0].credit, 0.0);
    }
}
