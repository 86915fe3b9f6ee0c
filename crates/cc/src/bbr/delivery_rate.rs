//! The rate at which packets are delivered, measured over each flight
//! (draft-cheng-iccrg-delivery-rate-estimation-00, no text at hand).

use crate::window::Sent;
use paceline_units::{Time, TimeDelta};

/// State of the connection when a packet was sent; `E` is what its law notes besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Note<E = ()> {
    /// Bytes delivered by then.
    pub(crate) delivered: u64,
    delivered_at: Time,
    /// When the first packet of the flight was sent in which it was.
    first_sent: Time,
    pub(crate) app_limited: bool,
    pub(crate) extra: E,
}

/// The delivery rate that an acknowledgement measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RateSample<E = ()> {
    /// Bytes per second; absent if the interval is impossible.
    pub rate: Option<f64>,
    /// Bytes delivered since the newest packet of it was sent.
    pub delivered: u64,
    /// Bytes that had been delivered when the newest packet of it was sent.
    pub prior_delivered: u64,
    pub app_limited: bool,
    /// The law's note on that packet.
    pub extra: E,
}

/// The connection's count of deliveries.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryRate<E = ()> {
    pub delivered: u64,
    delivered_at: Time,
    first_sent: Time,
    /// Until so much is delivered samples tell of the application.
    app_limited_until: u64,
    newest: Option<(Note<E>, Time)>,
}

impl<E: Copy> DeliveryRate<E> {
    /// A packet leaves; `pipe` is in flight before it.
    #[inline]
    pub fn on_sent(&mut self, now: Time, pipe: u64, extra: E) -> Note<E> {
        if pipe == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Note {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited_until > 0,
            extra,
        }
    }

    /// The application has nothing more to send though the window would let it.
    #[inline]
    pub fn note_app_limited(&mut self, pipe: u64) {
        self.app_limited_until = self.delivered.saturating_add(pipe).max(1);
    }

    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    #[inline]
    pub fn on_delivered(&mut self, now: Time, sent: &Sent<Note<E>>) {
        self.delivered = self.delivered.saturating_add(sent.size);
        self.delivered_at = now;
        let newer = |(newest, at): (Note<E>, Time)| (sent.note.delivered, sent.at) >= (newest.delivered, at);
        if self.newest.is_none_or(newer) {
            self.newest = Some((sent.note, sent.at));
            self.first_sent = sent.at;
        }
    }

    /// After all packets of an acknowledgement.
    #[inline]
    pub fn sample(&mut self, least: TimeDelta) -> Option<RateSample<E>> {
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let (note, sent) = self.newest.take()?;
        let send_elapsed = sent.saturating_since(note.first_sent);
        let ack_elapsed = self.delivered_at.saturating_since(note.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        let delivered = self.delivered.saturating_sub(note.delivered);
        // Faster than a round trip nothing is delivered: clocks or counts are wrong.
        let possible = interval >= least && interval > TimeDelta::ZERO;
        let rate = possible.then(|| delivered as f64 / interval.as_secs_f64());
        let Note { delivered: prior_delivered, app_limited, extra, .. } = note;
        Some(RateSample { rate, delivered, prior_delivered, app_limited, extra })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn packet(at: Time, note: Note) -> Sent<Note> {
        Sent { at, size: 1000, again: false, note }
    }

    #[test]
    fn a_flight_is_delivered_at_the_rate_of_the_slower_side() {
        // Ten packets leave within 1 ms and are acknowledged one every 10 ms: 100 kB/s once a flight has come back.
        let mut rate = DeliveryRate::default();
        let first: [Note; 10] = core::array::from_fn(|n| rate.on_sent(ms(0), n as u64 * 1000, ()));
        let mut second = Note::default();
        for (n, note) in first.iter().enumerate() {
            let now = ms(100 + 10 * n as u64);
            rate.on_delivered(now, &packet(ms(0), *note));
            let sample = rate.sample(TimeDelta::from_millis(100)).unwrap();
            let expected = (n + 1) as f64 * 1000.0 / (0.1 + 0.01 * n as f64);
            assert!((sample.rate.unwrap() - expected).abs() < 1e-6, "{sample:?}");
            if n == 0 {
                second = rate.on_sent(now, 9000, ());
            }
        }
        rate.on_delivered(ms(200), &packet(ms(100), second));
        let sample = rate.sample(TimeDelta::from_millis(100)).unwrap();
        assert!((sample.rate.unwrap() - 100_000.0).abs() < 1e-6, "ten packets in 100 ms: {sample:?}");
        assert_eq!(sample.prior_delivered, 1000);
    }

    #[test]
    fn what_the_application_limits_is_marked_until_it_is_delivered() {
        let mut rate = DeliveryRate::default();
        let note = rate.on_sent(ms(0), 0, ());
        rate.note_app_limited(1000);
        let limited = rate.on_sent(ms(1), 1000, ());
        rate.on_delivered(ms(100), &packet(ms(0), note));
        assert!(!rate.sample(TimeDelta::ZERO).unwrap().app_limited && rate.is_app_limited());
        rate.on_delivered(ms(101), &packet(ms(1), limited));
        assert!(rate.sample(TimeDelta::ZERO).unwrap().app_limited && !rate.is_app_limited());
    }

    #[test]
    fn an_impossible_interval_is_no_rate() {
        let mut rate = DeliveryRate::default();
        let note = rate.on_sent(ms(10), 0, ());
        rate.on_delivered(ms(12), &packet(ms(10), note));
        assert_eq!(rate.sample(TimeDelta::from_millis(100)).unwrap().rate, None);
        assert_eq!(rate.sample(TimeDelta::ZERO), None, "nothing new");
    }
}
