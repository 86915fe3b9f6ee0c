//! Selective acknowledgements at the sender: what each block tells that others did not (RFC 2018, RFC 2883).

use super::acks::AckSummary;
use super::scoreboard::State;
use super::segment::{SackBlocks, Segment};
use super::sender::TcpSender;
use paceline_cc::{Controller, Recovery};
use paceline_units::Time;

/// The blocks of the last acknowledgement: the segments in them were looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SeenBlocks([(u64, u64); SackBlocks::MOST]);

impl SeenBlocks {
    /// The first block that touches the bytes from `begin` to `end`.
    fn overlapping(&self, begin: u64, end: u64) -> Option<(u64, u64)> {
        self.0.iter().copied().find(|(from, to)| begin <= *to && *from <= end && from < to)
    }
}

impl<C: Controller> TcpSender<C> {
    /// The blocks of an acknowledgement, of which only what was not looked at before costs anything.
    #[cold]
    pub(super) fn take_blocks(
        &mut self,
        now: Time,
        segment: Segment,
        offset: u64,
        mut acked: AckSummary,
    ) -> AckSummary {
        let mut seen = SeenBlocks::default();
        for (place, (begin, end)) in segment.sack.iter().enumerate() {
            let range = self
                .offset_of(begin)
                .zip(self.offset_of(end))
                .filter(|(begin, end)| begin < end && *end <= self.board.end_offset);
            let Some((begin, end)) = range else {
                // A duplicate of what is acknowledged lies below, perhaps before anything that has an offset.
                self.counters.impossible_blocks += 1;
                continue;
            };
            if place == 0 && self.is_duplicate(&segment, (begin, end), offset) {
                self.take_duplicate(now, (begin, end));
                continue;
            }
            if begin < offset {
                continue;
            }
            match self.seen.overlapping(begin, end) {
                Some((from, to)) => {
                    self.take_range(begin, from.min(end), &mut acked);
                    self.take_range(to.max(begin), end, &mut acked);
                }
                None => self.take_range(begin, end, &mut acked),
            }
            seen.0[place] = (begin, end);
        }
        self.seen = seen;
        acked
    }

    /// Whether the first block tells of a duplicate: it lies below the acknowledgement, or within the second block
    /// (RFC 2883 section 4).
    fn is_duplicate(&self, segment: &Segment, (begin, end): (u64, u64), offset: u64) -> bool {
        let within = |(from, to): (u32, u32)| {
            self.offset_of(from).zip(self.offset_of(to)).is_some_and(|(from, to)| from <= begin && end <= to)
        };
        end <= offset || segment.sack.iter().nth(1).is_some_and(within)
    }

    /// Whole segments within [begin, end) have arrived.
    fn take_range(&mut self, begin: u64, end: u64, acked: &mut AckSummary) {
        if begin >= end || self.board.is_empty() {
            return;
        }
        let mut number = self.board.find(begin.max(self.board.first_offset));
        while number < self.board.end {
            let sent = *self.board.sent(number);
            if sent.end() > end {
                break;
            }
            if sent.start >= begin && sent.state != State::Delivered {
                self.deliver(number, &sent, acked);
                self.board.set(number, State::Delivered);
                acked.new_blocks = true;
            }
            number += 1;
        }
    }

    /// A copy arrived of what was there. When every retransmission since the reduction has been answered so, none of them
    /// was needed: the reduction was for nothing (RFC 2883 section 5, RFC 3708; no text at hand of the latter).
    fn take_duplicate(&mut self, now: Time, duplicate: (u64, u64)) {
        if let Some(rack) = &mut self.rack {
            rack.duplicate = Some(duplicate);
        }
        if self.progress.on_duplicate() {
            self.counters.spurious += 1;
            self.tell(now, Recovery::Spurious);
        }
    }
}
