//! The room that an encoder's target leaves in the rate at which packets may leave.
//!
//! A rate is all that a window or a pace lets through over time. Told the whole of it, an encoder fills the send queue: packets have
//! headers, frames vary, and what waits when the rate falls never leaves. The target is therefore a part of the rate, less what lets the
//! send queue leave soon (RFC 8698 section 5.2.2, equation 11, without its bound of 5 %, which would take 20 s for each second that waits).
//!
//! Of several streams each has its own share lowered by what waits of it, by the endpoint that divides the target
//! ([`crate::Controller::media_drain`]): an encoder that does not follow takes nothing from those that do.

use crate::{SendQueueState, StreamChange, StreamId, StreamSet};
use alloc::vec::Vec;
use paceline_units::{Bitrate, Bytes, TimeDelta};

/// However much waits, the encoder is told this part of the rate: frames keep coming.
const LEAST: f64 = 0.1;

/// The share of a stream of which `late` waits behind its newest frame, less what lets that leave within `drain`.
pub fn share_less_waiting(share: Bitrate, late: Bytes, drain: TimeDelta) -> Bitrate {
    less_waiting(share.as_bps_f64(), 1.0, late.as_bits_f64(), drain)
}

/// This part of a rate, less what lets so many bits leave within `drain`.
fn less_waiting(rate: f64, part: f64, waiting: f64, drain: TimeDelta) -> Bitrate {
    let drained = if waiting > 0.0 { waiting / drain.as_secs_f64() } else { 0.0 };
    Bitrate::from_bps_f64((part * rate - drained).max(LEAST * rate))
}

/// The media that waits in the send queues of a flow.
#[derive(Clone, Debug)]
pub(crate) struct MediaRoom {
    /// Bits that wait of each stream without its newest frame, which is on its way out.
    waiting: Vec<f64>,
    /// Whether there is always something to send: nothing waits for being late then.
    greedy: bool,
}

impl MediaRoom {
    /// Nothing is known to wait: the whole rate is the target.
    pub(crate) fn new() -> MediaRoom {
        MediaRoom { waiting: Vec::new(), greedy: true }
    }

    /// The state of a send queue.
    pub(crate) fn on_queue(&mut self, queue: &SendQueueState) {
        self.greedy = queue.greedy;
        let late = queue.bytes.saturating_sub(queue.newest_frame).as_bits_f64();
        self.set(queue.stream, if queue.greedy { 0.0 } else { late });
    }

    /// The queue of a stream that left never leaves.
    pub(crate) fn on_stream(&mut self, stream: StreamId, change: StreamChange) {
        if !matches!(change, StreamChange::Priority(_)) && stream.0 < StreamSet::CAPACITY {
            self.set(stream, 0.0);
        }
    }

    fn set(&mut self, stream: StreamId, bits: f64) {
        let id = usize::from(stream.0);
        if self.waiting.len() <= id {
            self.waiting.resize(id + 1, 0.0);
        }
        self.waiting[id] = bits;
    }

    /// Whether a source that always has data, and that no target steers, fills the queue.
    pub(crate) fn is_greedy(&self) -> bool {
        self.greedy
    }

    /// Bits that wait in all send queues, without the newest frame of each; none of a source that always has data.
    pub(crate) fn waiting(&self) -> f64 {
        self.waiting.iter().sum()
    }

    /// The encoder's target where `rate` may leave: this part of it, less what lets the queue leave within `drain` if there is one alone.
    pub(crate) fn target(&self, rate: f64, part: f64, drain: TimeDelta) -> Bitrate {
        if self.greedy {
            return Bitrate::from_bps_f64(rate);
        }
        let waiting = if let [waiting] = self.waiting[..] { waiting } else { 0.0 };
        less_waiting(rate, part, waiting, drain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAIN: TimeDelta = TimeDelta::from_millis(500);

    fn queue(stream: u8, bytes: u64, newest: u64) -> SendQueueState {
        let (bytes, newest_frame) = (Bytes::new(bytes), Bytes::new(newest));
        SendQueueState { stream: StreamId(stream), bytes, newest_frame, ..SendQueueState::default() }
    }

    fn kbps(room: &MediaRoom) -> f64 {
        room.target(1e6, 0.9, DRAIN).as_bps_f64() / 1e3
    }

    #[test]
    fn the_target_is_a_part_of_the_rate_less_what_waits_behind_the_newest_frame() {
        let mut room = MediaRoom::new();
        assert_eq!(kbps(&room), 1000.0, "nothing is offered");
        room.on_queue(&queue(0, 5000, 5000));
        assert_eq!(kbps(&room), 900.0, "a frame on its way out");
        room.on_queue(&queue(0, 17_500, 5000));
        assert_eq!(kbps(&room), 700.0, "12,500 B leave in half a second");
        room.on_queue(&queue(0, 1_000_000, 0));
        assert_eq!(kbps(&room), 100.0, "frames keep coming");
        room.on_queue(&queue(2, 12_500, 0));
        assert_eq!(kbps(&room), 900.0, "of several streams each drains its own");
        let share = Bitrate::from_kbps(450);
        let told = |late| share_less_waiting(share, Bytes::new(late), DRAIN).as_bps_f64() / 1e3;
        assert_eq!([told(0), told(12_500), told(1_000_000)], [450.0, 250.0, 45.0]);
    }

    #[test]
    fn a_file_that_waits_is_not_late() {
        let mut room = MediaRoom::new();
        room.on_queue(&SendQueueState { greedy: true, ..queue(0, 80_000, 0) });
        assert_eq!(kbps(&room), 1000.0);
    }
}
