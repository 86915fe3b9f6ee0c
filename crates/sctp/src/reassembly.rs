//! Chunks put together to messages, and messages in the order that they ask for.

use super::DataChunk;
use std::collections::BTreeMap;

/// A message that is whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Message {
    /// Its last chunk, which says what the others do.
    pub chunk: DataChunk,
    /// Payload of the message in bytes.
    pub payload: u64,
}

/// Chunks by number, of the unordered messages of the association or of the ordered ones of a stream.
type Chunks = BTreeMap<u64, DataChunk>;

/// A stream of the association at its receiver.
#[derive(Clone, Debug, Default)]
struct Ordered {
    /// Number of the next message.
    next: u16,
    chunks: Chunks,
}

/// Chunks that arrived and are not delivered.
#[derive(Clone, Debug, Default)]
pub(super) struct Reassembly {
    streams: BTreeMap<u8, Ordered>,
    unordered: Chunks,
    /// Payload that is held.
    pub held: u64,
    /// Payload that was dropped because the rest of its message was given up.
    pub dropped: u64,
}

impl Reassembly {
    /// A chunk that had not been there arrived. Tells of the messages that can be delivered now.
    pub fn add(&mut self, number: u64, chunk: DataChunk, mut deliver: impl FnMut(Message)) {
        self.held += u64::from(chunk.payload);
        let held = &mut self.held;
        let mut take = |chunks: &mut Chunks, whole| {
            let message = take_message(chunks, whole);
            *held -= message.payload;
            deliver(message);
        };
        if chunk.unordered {
            self.unordered.insert(number, chunk);
            if let Some(whole) = whole_at(&self.unordered, number) {
                take(&mut self.unordered, whole);
            }
            return;
        }
        let stream = self.streams.entry(chunk.stream).or_default();
        stream.chunks.insert(number, chunk);
        while let Some(whole) = stream.first_whole() {
            stream.next = stream.next.wrapping_add(1);
            take(&mut stream.chunks, whole);
        }
    }

    /// Chunks below `until` that are missing will not come, nor messages of these streams up to these numbers (RFC 3758 section 3.6).
    pub fn skip(&mut self, until: u64, skipped: &[(u8, u16)], mut deliver: impl FnMut(Message)) {
        let dropped = drop_below(&mut self.unordered, until);
        (self.held, self.dropped) = (self.held - dropped, self.dropped + dropped);
        for (id, ssn) in skipped {
            let stream = self.streams.entry(*id).or_default();
            // A number behind what was delivered says nothing.
            if (ssn.wrapping_sub(stream.next) as i16) < 0 {
                continue;
            }
            // Whole messages among those up to the number are delivered: they alone are not given up.
            while let Some((first, chunk)) = stream.chunks.first_key_value()
                && *first < until
                && (chunk.ssn.wrapping_sub(*ssn) as i16) <= 0
            {
                let first = *first;
                match whole_at(&stream.chunks, first) {
                    Some(whole) => {
                        let message = take_message(&mut stream.chunks, whole);
                        self.held -= message.payload;
                        deliver(message);
                    }
                    None => {
                        if let Some(chunk) = stream.chunks.remove(&first) {
                            self.held -= u64::from(chunk.payload);
                            self.dropped += u64::from(chunk.payload);
                        }
                    }
                }
            }
            stream.next = ssn.wrapping_add(1);
            while let Some(whole) = stream.first_whole() {
                stream.next = stream.next.wrapping_add(1);
                let message = take_message(&mut stream.chunks, whole);
                self.held -= message.payload;
                deliver(message);
            }
        }
    }
}

impl Ordered {
    /// The chunks of the message that is next, if it is whole.
    fn first_whole(&self) -> Option<(u64, u64)> {
        let (first, chunk) = self.chunks.first_key_value()?;
        if chunk.ssn == self.next { whole_at(&self.chunks, *first) } else { None }
    }
}

/// The first and last number of the message with this chunk, if it is whole.
fn whole_at(chunks: &Chunks, number: u64) -> Option<(u64, u64)> {
    let mut begin = number;
    while !chunks.get(&begin)?.begins {
        begin = begin.checked_sub(1)?;
    }
    let mut end = number;
    while !chunks.get(&end)?.ends {
        end = end.checked_add(1)?;
    }
    Some((begin, end))
}

/// Takes the chunks from the first to the last number out.
fn take_message(chunks: &mut Chunks, (begin, end): (u64, u64)) -> Message {
    let mut message = Message { chunk: DataChunk::default(), payload: 0 };
    for number in begin..=end {
        if let Some(chunk) = chunks.remove(&number) {
            message = Message { chunk, payload: message.payload + u64::from(chunk.payload) };
        }
    }
    message
}

/// Drops the chunks below `until`; answers their payload.
fn drop_below(chunks: &mut Chunks, until: u64) -> u64 {
    let kept = chunks.split_off(&until);
    std::mem::replace(chunks, kept).values().map(|chunk| u64::from(chunk.payload)).sum()
}
