//! The smallest delays of each 50 ms of sending.

use super::{Both, Packet};

/// Nanoseconds of sending in a span, and between candidates for a step.
pub(super) const SPAN: i64 = 50_000_000;
/// Spans that are remembered: 4.8 s at least.
const SPANS: usize = 96;
/// How many windows tell by how much they differ.
const WINDOWS_BEFORE: i64 = 5;

/// The smallest delays of a span, both ways, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Span {
    /// When its first packet was sent.
    pub(super) at: i64,
    pub(super) least: Both,
}

/// The smallest delays of the last spans.
#[derive(Clone, Debug)]
pub(super) struct Spans {
    /// In order of sending; the newest is the `count`th.
    spans: [Span; SPANS],
    count: usize,
}

impl Spans {
    /// Spans without a packet.
    pub(super) fn new() -> Spans {
        Spans { spans: [Span { at: i64::MIN, least: Both::NONE }; SPANS], count: 0 }
    }

    /// The `n`th newest span; absent if it is forgotten or never was.
    pub(super) fn newest(&self, n: usize) -> Option<&Span> {
        (n < self.count.min(SPANS)).then(|| &self.spans[(self.count - 1 - n) % SPANS])
    }

    pub(super) fn newest_first(&self) -> impl Iterator<Item = &Span> {
        (0..).map_while(|n| self.newest(n))
    }

    /// The smallest delays of what was sent from `from` on and before `to`.
    pub(super) fn least(&self, from: i64, to: i64) -> Both {
        let spans = self.newest_first().skip_while(|span| span.at >= to).take_while(|span| span.at >= from);
        spans.fold(Both::NONE, |least, span| least.min(span.least))
    }

    /// By how much the levels of windows before `end` differ at most.
    pub(super) fn unrest(&self, end: i64, window: i64) -> Both {
        let levels = (1..=WINDOWS_BEFORE).map(|n| {
            let from = end.saturating_sub(n * window);
            self.least(from, from.saturating_add(window))
        });
        let none = (Both::NONE, Both { forward: i64::MIN, backward: i64::MIN });
        let (least, most) = levels
            .filter(|level| *level != Both::NONE)
            .fold(none, |(least, most), level| (least.min(level), most.max(level)));
        if least == Both::NONE { Both { forward: 0, backward: 0 } } else { most.less(least) }
    }

    /// Takes the delays of a packet of the newest span in.
    #[inline]
    pub(super) fn note(&mut self, delays: Both) {
        let newest = &mut self.spans[self.count.wrapping_sub(1) % SPANS];
        newest.least = newest.least.min(delays);
    }

    /// Takes the delays of any packet in.
    pub(super) fn add(&mut self, packet: &Packet, begins_span: bool) {
        let Packet { at, delays } = *packet;
        match self.newest(0) {
            Some(newest) if at < newest.at => {
                let place = self.newest_first().position(|span| span.at <= at);
                if let Some(n) = place {
                    let span = &mut self.spans[(self.count - 1 - n) % SPANS];
                    span.least = span.least.min(delays);
                }
            }
            Some(newest) if at < newest.at.saturating_add(SPAN) && !begins_span => self.note(delays),
            _ => {
                self.spans[self.count % SPANS] = Span { at, least: delays };
                self.count += 1;
            }
        }
    }

    /// Delays of the spans that begin at `from` or later were too large forward by so many nanoseconds, which are told by the beginning.
    pub(super) fn correct(&mut self, from: i64, by: impl Fn(i64) -> i64) {
        for span in self.spans.iter_mut().filter(|span| span.at >= from) {
            span.least = span.least.stepped(by(span.at));
        }
    }
}
