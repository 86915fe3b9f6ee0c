//! Any bytes are what happens to the two ends of an RTP session: datagrams that are lost, doubled, reordered, changed and
//! forged, receivers that lie, applications that pause and change their limits. Everything of a session but sockets and clocks
//! is in it: whom receiver and relay listen to, the receiver's intake and playout, the reader of reports, the sender's endpoint
//! with its queues, a controller and a circuit breaker.
//!
//! For the tests of this crate and the fuzz target `rtp_session`.

mod bytes;
mod call;
mod forged;
#[cfg(test)]
mod tests;

use bytes::Script;
pub use call::FLOWS;
use call::{Beginnings, Call};
use paceline_cc::{Controller, Limits, StreamId};
use paceline_ends::SendingEnd;
use paceline_units::{Bitrate, Ecn, TimeDelta};

/// An unknown peer that took a silent sender's place gives it back after a second of silence; another second is for numbers that
/// were led astray.
const RECOVERY: TimeDelta = TimeDelta::from_secs(2);
/// Most packets of a stream that may go unreported once nobody interferes: one is refused for an unknown peer that was there
/// before, or for numbers that were led astray (RFC 3550 appendix A.1), and one for timestamps.
const LED_BACK: usize = 2;
/// A sender that has nothing in its way sends within so long and so many of the round trips that it has seen: before that what
/// is outstanding may be reported yet, however long ago it was sent.
const PATIENCE: (TimeDelta, i64) = (TimeDelta::from_secs(10), 8);
const STEP: TimeDelta = TimeDelta::from_millis(10);
/// Live bytes that a session may add.
const MEMORY: i64 = 16 << 20;

/// Runs `bytes`; the first says which of the flows it is, and whether there is a relay between its ends, the next where clocks and
/// numbers begin. Afterwards the path is good, and
/// what is sent must be reported in full. `live` tells the bytes that are allocated, if anybody counts them.
///
/// # Errors
/// Says which promise was broken. A panic is a broken promise too.
pub fn drive(bytes: &[u8], live: fn() -> i64) -> Result<(), String> {
    let mut script = Script { bytes, at: 0 };
    let choice = usize::from(script.byte());
    let beginnings = Beginnings::read(&mut script);
    let mut call = Call::new(choice & 0x7f, choice & 0x80 != 0, beginnings);
    let before = live();
    call.start()?;
    while script.at < bytes.len() {
        call.operation(&mut script)?;
        call.settle()?;
        if live() - before > MEMORY {
            return Err(format!("{} B of memory after {} bytes of script", live() - before, script.at));
        }
    }
    call.finish()
}

impl Call {
    fn operation(&mut self, script: &mut Script<'_>) -> Result<(), String> {
        let operation = script.byte();
        let way = usize::from(operation >> 7);
        match operation & 0x1f {
            0..6 => self.deliver(way, 0, false).map(drop),
            6 => self.deliver(way, script.byte().into(), false).map(drop),
            7 => self.deliver(way, script.byte().into(), true).map(drop),
            8 => {
                self.ways[way].pop_front();
                Ok(())
            }
            9 => {
                self.change(way, script);
                Ok(())
            }
            10..16 => self.pass(TimeDelta::from_millis(script.byte().into())),
            16 => self.pass(TimeDelta::from_secs(i64::from(script.byte() % 8))),
            17 => self.forge_media(script),
            18 | 19 => self.forge_report(script),
            20 => self.lie(script),
            21 => {
                self.sender.pause(self.now);
                Ok(())
            }
            22 => {
                self.sender.resume(self.now);
                Ok(())
            }
            23 => {
                self.limit(script);
                Ok(())
            }
            _ => self.deliver_all(way),
        }
    }

    /// The next datagram is cut short, has other bytes, or is marked.
    fn change(&mut self, way: usize, script: &mut Script<'_>) {
        let (at, value) = (usize::from(script.byte()), script.byte());
        let Some((bytes, ecn)) = self.ways[way].front_mut() else { return };
        match at {
            0xff => bytes.truncate(value.into()),
            0xfe => *ecn = Ecn::from_bits(value),
            _ if bytes.is_empty() => {}
            at => {
                let at = at % bytes.len();
                bytes[at] ^= value;
            }
        }
    }

    fn limit(&mut self, script: &mut Script<'_>) {
        let stream = usize::from(script.byte()) % self.limits.len();
        let min = u64::from(script.byte()) * 1000 + 10_000;
        let max = min + u64::from(script.byte()) * 10_000;
        let (min, max) = (Bitrate::from_bps(min), Bitrate::from_bps(max));
        self.limits[stream] = Limits { stream: StreamId(stream as u8), min, max };
        self.sender.set_limits(self.now, &self.limits[stream]);
    }

    /// The path is good from now on: after [`RECOVERY`] every packet is reported as received, but for the first of each stream
    /// by which a receiver is led back ([`LED_BACK`]).
    fn finish(&mut self) -> Result<(), String> {
        self.sender.resume(self.now);
        self.quiet(RECOVERY)?;
        self.sent.clear();
        let srtt = self.sender.controller().snapshot().srtt.unwrap_or(TimeDelta::ZERO);
        let patience = PATIENCE.0 + srtt * PATIENCE.1;
        let until = self.now + patience;
        while self.now < until && self.sent.values().all(|numbers| numbers.len() <= LED_BACK) {
            self.quiet(TimeDelta::from_secs(1))?;
        }
        if self.is_over() {
            return Ok(());
        }
        let sent = std::mem::take(&mut self.sent);
        self.quiet(TimeDelta::from_millis(500))?;
        if sent.is_empty() {
            return Err(format!("nothing was sent for {patience:?} on a good path"));
        }
        for (stream, numbers) in sent {
            let missing = |sent: &&(u64, bool)| sent.1 && self.outstanding.contains((stream, sent.0));
            let missing: Vec<_> = numbers.iter().skip(LED_BACK).filter(missing).collect();
            if let Some((first, _)) = missing.first() {
                let (all, count) = (numbers.len(), missing.len());
                return Err(format!(
                    "of {all} packets of {stream:?} {count} are not reported, such as {first}"
                ));
            }
        }
        Ok(())
    }

    fn quiet(&mut self, span: TimeDelta) -> Result<(), String> {
        let until = self.now + span;
        while self.now < until {
            self.pass(STEP)?;
            for way in 0..2 {
                self.deliver_all(way)?;
                self.settle()?;
            }
        }
        Ok(())
    }
}
