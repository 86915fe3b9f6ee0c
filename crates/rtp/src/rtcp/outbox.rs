//! The common part of the sessions of both ends: when reports are due, which SSRCs say goodbye, and the events for the application.

use super::interval::ReportInterval;
use super::{MOST_EVENTS, RtcpConfig};
use paceline_units::Time;
use paceline_wire::rtcp::{bye, report, sdes};
use std::collections::VecDeque;

/// A participant's packets, and when they are due.
#[derive(Clone, Debug)]
pub(super) struct Outbox {
    pub(super) config: RtcpConfig,
    pub(super) interval: ReportInterval,
    due: Option<Time>,
    /// The stream that the next datagram of this round of reports begins with.
    cursor: Option<usize>,
    /// SSRCs of ours that end.
    ended: Vec<u32>,
    /// Datagrams that were written.
    sent: u64,
}

impl Outbox {
    /// Of a participant whose draws are named so.
    pub(super) fn new(config: RtcpConfig, name: &str) -> Outbox {
        let interval = ReportInterval::new(&config, name);
        Outbox { config, interval, due: None, cursor: None, ended: Vec::new(), sent: 0 }
    }

    /// The first report is due some time after the session began.
    pub(super) fn start(&mut self, now: Time) {
        if self.due.is_none() {
            self.due = Some(self.interval.next(now));
        }
    }

    /// No report is due any more.
    pub(super) fn stop(&mut self) {
        (self.due, self.cursor) = (None, None);
    }

    /// An SSRC of ours ends: it says so at once (RFC 3550 section 6.3.7, of few participants).
    pub(super) fn end(&mut self, ssrc: u32) {
        if self.ended.len() < bye::MOST_SOURCES {
            self.ended.push(ssrc);
        }
    }

    /// When something is to be written.
    pub(super) fn next_timeout(&self) -> Option<Time> {
        let at_once = self.cursor.is_some() || !self.ended.is_empty();
        if at_once { Some(Time::ZERO) } else { self.due }
    }

    /// The stream that the next datagram of reports begins with, if one is due.
    pub(super) fn round(&mut self, now: Time) -> Option<usize> {
        if self.due.is_some_and(|due| due <= now) {
            self.due = Some(self.interval.next(now));
            self.cursor = Some(0);
        }
        self.cursor
    }

    /// The round goes on with this stream, or is over.
    pub(super) fn go_on(&mut self, cursor: Option<usize>) {
        self.cursor = cursor;
    }

    /// Says goodbye for what ended; false if nothing did.
    pub(super) fn write_goodbye(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(&ssrc) = self.ended.first() else { return false };
        self.begin_compound(ssrc, out);
        // No more end than it can say.
        let _ = bye::encode(&self.ended, None, out);
        self.ended.clear();
        true
    }

    /// The beginning of a compound packet without reports.
    pub(super) fn begin_compound(&self, ssrc: u32, out: &mut Vec<u8>) {
        // No blocks are too many for no report, and no name is longer than its field.
        let _ = report::encode(ssrc, None, &[], out);
        let _ = sdes::encode_cname(ssrc, self.config.name(), out);
    }

    /// Counts the datagram that `out` has from `start` on; false if there is none.
    pub(super) fn finish(&mut self, start: usize, out: &[u8]) -> bool {
        let size = out.len() - start;
        if size > 0 {
            self.interval.on_packet(size);
            self.sent += 1;
        }
        size > 0
    }

    /// Datagrams that were written.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }
}

/// Events for the application, of which the oldest is dropped where nobody asks.
#[derive(Clone, Debug)]
pub(super) struct Events<E> {
    waiting: VecDeque<E>,
    untaken: u64,
}

impl<E> Events<E> {
    pub(super) fn new() -> Events<E> {
        Events { waiting: VecDeque::new(), untaken: 0 }
    }

    pub(super) fn push(&mut self, event: E) {
        if self.waiting.len() >= MOST_EVENTS {
            self.waiting.pop_front();
            self.untaken += 1;
        }
        self.waiting.push_back(event);
    }

    pub(super) fn pop(&mut self) -> Option<E> {
        self.waiting.pop_front()
    }

    /// Events that the application did not take in time.
    pub(super) fn untaken(&self) -> u64 {
        self.untaken
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}
