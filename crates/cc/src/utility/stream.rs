//! The results of one stream's packets in reports: which are news, and which were missing.

/// Packets that are remembered as missing.
const REMEMBERED: usize = 1024;

/// The news of a packet in a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum News {
    /// Nothing that was not known.
    None,
    /// It arrived, and nothing sent later was reported before; so many sent between it and the last that was are in no report.
    Arrived(u64),
    /// It was reported as missing, and arrived behind later ones.
    Late,
    /// It is missing.
    Missing,
}

/// The packets of one stream. A packet that no report covered counts neither as arrived nor as missing: the report was lost.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    /// One above the highest number that was sent.
    sent: u64,
    /// One above the highest number that was reported.
    reported: u64,
    /// Whether a packet was reported as missing, by its number modulo their count.
    missing: [u64; REMEMBERED / 64],
}

impl Stream {
    pub(super) fn new() -> Stream {
        Stream { sent: 0, reported: 0, missing: [0; REMEMBERED / 64] }
    }

    #[inline]
    pub(super) fn on_sent(&mut self, sequence: u64) {
        if self.sent == 0 {
            // Numbers begin anywhere: those below it were never sent.
            self.reported = sequence;
        }
        self.sent = self.sent.max(sequence.saturating_add(1));
    }

    /// Whether something is under way: sent after the newest that was reported.
    pub(super) fn is_under_way(&self) -> bool {
        self.sent > self.reported
    }

    #[inline]
    pub(super) fn on_result(&mut self, sequence: u64, received: bool) -> News {
        if sequence >= self.sent {
            return News::None;
        }
        if sequence >= self.reported {
            let unreported = sequence - self.reported;
            self.skip_to(sequence);
            self.reported = sequence + 1;
            self.set(sequence, !received);
            return if received { News::Arrived(unreported) } else { News::Missing };
        }
        if !received || self.reported - sequence > REMEMBERED as u64 || !self.is_missing(sequence) {
            return News::None;
        }
        self.set(sequence, false);
        News::Late
    }

    fn skip_to(&mut self, sequence: u64) {
        if sequence - self.reported >= REMEMBERED as u64 {
            self.missing = [0; REMEMBERED / 64];
        } else {
            (self.reported..sequence).for_each(|skipped| self.set(skipped, false));
        }
    }

    #[inline]
    fn set(&mut self, sequence: u64, missing: bool) {
        let at = sequence as usize % REMEMBERED;
        let (word, bit) = (at / 64, 1u64 << (at % 64));
        if missing {
            self.missing[word] |= bit;
        } else {
            self.missing[word] &= !bit;
        }
    }

    fn is_missing(&self, sequence: u64) -> bool {
        let at = sequence as usize % REMEMBERED;
        self.missing[at / 64] >> (at % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missing_and_turns_up_is_taken_back_once() {
        let mut stream = Stream::new();
        (0..10).for_each(|sequence| stream.on_sent(sequence));
        let said = [(0, true), (1, false), (2, true), (1, true), (1, true), (2, true), (1, false)];
        let news = said.map(|(sequence, received)| stream.on_result(sequence, received));
        let expected = [
            News::Arrived(0),
            News::Missing,
            News::Arrived(0),
            News::Late,
            News::None,
            News::None,
            News::None,
        ];
        assert_eq!(news, expected);
    }

    #[test]
    fn what_a_lost_report_covered_is_neither_missing_nor_late() {
        let mut stream = Stream::new();
        (0..5000).for_each(|sequence| stream.on_sent(sequence));
        assert_eq!(stream.on_result(1, false), News::Missing);
        assert_eq!(stream.on_result(1000, true), News::Arrived(998));
        assert_eq!(stream.on_result(500, true), News::None);
        assert_eq!(stream.on_result(1, true), News::Late);
        assert_eq!(stream.on_result(4000, true), News::Arrived(2999));
        assert_eq!(stream.on_result(3999, true), News::None);
    }

    #[test]
    fn numbers_below_the_first_were_never_sent() {
        let mut stream = Stream::new();
        (42_000..42_010).for_each(|sequence| stream.on_sent(sequence));
        assert_eq!(stream.on_result(42_001, true), News::Arrived(1));
        assert_eq!(stream.on_result(41_999, true), News::None);
    }

    #[test]
    fn what_was_never_sent_says_nothing() {
        let mut stream = Stream::new();
        assert!(!stream.is_under_way());
        stream.on_sent(0);
        assert!(stream.is_under_way());
        assert_eq!(stream.on_result(1, true), News::None);
        assert_eq!(stream.on_result(u64::MAX, true), News::None);
        assert_eq!(stream.on_result(0, true), News::Arrived(0));
        assert!(!stream.is_under_way());
    }
}
