//! The send buffer: how much of the stream there is, and since when.

use paceline_media::Source;
use paceline_units::{Bytes, Time};
use std::collections::VecDeque;

/// A part of the stream that the application handed over at once.
#[derive(Clone, Copy, Debug)]
struct Part {
    end: u64,
    since: Time,
}

/// A frame that the application wrote: where it ends in the stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrittenFrame {
    /// Offset behind its last byte.
    pub end: u64,
    /// When it was captured, and written.
    pub captured: Time,
    /// Payload of the frame.
    pub payload: Bytes,
}

/// Bytes that the application has written and the connection has not sent.
#[derive(Clone, Debug)]
pub struct SendBuffer {
    /// The application that writes.
    pub source: Source,
    /// Offset behind everything that was written.
    pub written: u64,
    /// Parts that are not sent whole, in order.
    parts: VecDeque<Part>,
    /// Frames that nobody took yet; none of a bulk source, whose writes are no frames.
    frames_written: VecDeque<WrittenFrame>,
    /// Size of what was written last.
    pub newest: Bytes,
    /// How many times something was written.
    pub frames: u64,
    /// Bytes behind `written` that wait for a release.
    held: u64,
    /// Whether an application outside has said that it writes no more.
    finished: bool,
    stopped: bool,
}

impl SendBuffer {
    /// Nothing written yet.
    pub fn new(source: Source) -> SendBuffer {
        SendBuffer {
            source,
            written: 0,
            parts: VecDeque::new(),
            frames_written: VecDeque::new(),
            newest: Bytes::ZERO,
            frames: 0,
            held: 0,
            finished: false,
            stopped: false,
        }
    }

    /// Writes the data that is due, and returns its size. Call until there is none.
    pub fn write_due(&mut self, now: Time) -> Option<Bytes> {
        self.source.next_capture().filter(|due| *due <= now)?;
        let frame = self.source.capture(now);
        self.write(now, frame.payload);
        Some(frame.payload)
    }

    /// Keeps an endless source's buffer filled, with `sent` sent; answers what was written. Call until there is none.
    #[inline]
    pub fn refill(&mut self, now: Time, sent: u64) -> Option<Bytes> {
        if !matches!(self.source, Source::Bulk(_)) {
            return None;
        }
        let frame = self.source.refill(now, Bytes::new(self.written - sent))?;
        self.write(now, frame.payload);
        Some(frame.payload)
    }

    /// An application outside writes `payload`, which is no frame, and nothing after it if that is the `last`.
    pub fn append(&mut self, now: Time, payload: Bytes, last: bool) {
        self.written += payload.as_u64();
        self.parts.push_back(Part { end: self.written, since: now });
        self.finished |= last;
    }

    fn write(&mut self, now: Time, payload: Bytes) {
        self.frames += 1;
        self.newest = payload;
        if payload > Bytes::ZERO {
            self.written += payload.as_u64();
            self.parts.push_back(Part { end: self.written, since: now });
            if !matches!(self.source, Source::Bulk(_)) {
                self.frames_written.push_back(WrittenFrame { end: self.written, captured: now, payload });
            }
        }
    }

    /// Since when the byte at `offset` waits; what lies before it is sent.
    #[inline]
    pub fn since(&mut self, offset: u64) -> Option<Time> {
        while let Some(part) = self.parts.front() {
            if part.end > offset {
                return Some(part.since);
            }
            self.parts.pop_front();
        }
        None
    }

    /// The next frame that ends at or before the offset `received`. Each is answered once.
    #[inline]
    pub fn take_frame(&mut self, received: u64) -> Option<WrittenFrame> {
        self.frames_written.front().filter(|frame| frame.end <= received)?;
        self.frames_written.pop_front()
    }

    /// Since when the oldest byte waits that is not sent, of which `sent` are.
    pub fn oldest(&self, sent: u64) -> Option<Time> {
        self.parts.iter().find(|part| part.end > sent).map(|part| part.since)
    }

    /// The application ends; what is not sent, from `sent` on, is dropped.
    pub fn stop(&mut self, sent: u64) {
        self.source.stop();
        (self.written, self.held) = (self.written.min(sent), 0);
        self.parts.clear();
        let written = self.written;
        self.frames_written.retain(|frame| frame.end <= written);
        self.stopped = true;
    }

    /// The application writes no more, and what is not sent, from `sent` on, is kept back.
    pub fn hold(&mut self, sent: u64) {
        self.source.pause();
        self.held += self.written - sent;
        self.written = sent;
    }

    /// The application goes on, and what was kept back may go.
    pub fn release(&mut self, now: Time) {
        self.source.resume(now);
        self.written += std::mem::take(&mut self.held);
    }

    /// Whether nothing will ever be written again.
    #[inline]
    pub fn is_finished(&self) -> bool {
        let finished = match &self.source {
            Source::Bulk(bulk) => bulk.is_finished(),
            _ => self.finished,
        };
        self.stopped || self.held == 0 && finished
    }
}
