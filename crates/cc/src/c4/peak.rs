//! The largest rate of delivery over intervals of a millisecond at least (picoquic d199d45, frames.c).

use paceline_units::{Time, TimeDelta};

/// The shortest interval.
const LEAST: TimeDelta = TimeDelta::from_millis(1);

/// The peak, and the acknowledgement that the present interval began with.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peak {
    /// Bytes per second; 0 before the first interval.
    pub rate: f64,
    began: Option<(u64, Time, Time)>,
}

impl Peak {
    /// An acknowledgement: bytes delivered so far, its time, and when its newest packet was sent.
    pub fn on_ack(&mut self, delivered: u64, now: Time, sent: Time) {
        if let Some((before, acked, left)) = self.began {
            let interval = now.saturating_since(acked);
            if interval <= LEAST || sent < left {
                return;
            }
            let interval = interval.max(sent.saturating_since(left));
            self.rate = self.rate.max((delivered - before) as f64 / interval.as_secs_f64());
        }
        self.began = Some((delivered, now, sent));
    }
}
