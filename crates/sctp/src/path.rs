//! The path to the other end: the retransmission timer, HEARTBEATs, and how often in a row nothing was answered.

use super::SctpConfig;
use paceline_ends::{Rto, RtoLimits};
use paceline_units::{RandomStream, Time, TimeDelta};

/// The timers of the only path of an association.
#[derive(Clone, Debug)]
pub(super) struct Path {
    rto: Rto,
    /// When T3-rtx expires; absent while it does not run.
    pub timer: Option<Time>,
    /// The chunk that is timed, and when it left: one in a round trip (RFC 9260 section 6.3.1).
    timed: Option<(u64, Time)>,
    interval: TimeDelta,
    jitter: f64,
    random: RandomStream,
    /// Retransmission timeouts to the next HEARTBEAT, beside the interval.
    timeouts: f64,
    /// When the next HEARTBEAT leaves, if no data does before; absent before the start and after the end.
    beat: Option<Time>,
    /// Until when the last HEARTBEAT may be answered.
    answer_until: Option<Time>,
    /// Timeouts in a row, of data and of HEARTBEATs.
    pub errors: u32,
}

impl Path {
    /// A path before anything was sent.
    pub fn new(config: &SctpConfig, mut random: RandomStream) -> Path {
        let timeouts = timeouts(config.hb_jitter, &mut random);
        let SctpConfig { initial_rto: initial, min_rto: min, max_rto: max, .. } = *config;
        Path {
            rto: Rto::new(RtoLimits { initial, min, max, clock: TimeDelta::ZERO }),
            timer: None,
            timed: None,
            interval: config.hb_interval,
            jitter: config.hb_jitter,
            random,
            timeouts,
            beat: None,
            answer_until: None,
            errors: 0,
        }
    }

    /// T3-rtx begins anew.
    pub fn restart(&mut self, now: Time) {
        self.timer = Some(now + self.rto.timeout);
    }

    /// A new chunk left: it is timed, if none is. The next HEARTBEAT is due a period later.
    pub fn on_sent(&mut self, now: Time, number: u64) {
        self.timed.get_or_insert((number, now));
        if self.timer.is_none() {
            self.restart(now);
        }
    }

    /// Data left, so that the path is not idle.
    pub fn put_off_beat(&mut self, now: Time) {
        let timeouts = TimeDelta::from_secs_f64(self.rto.timeout.as_secs_f64() * self.timeouts);
        self.beat = Some(now + self.interval + timeouts);
    }

    /// A chunk leaves again: its round trip cannot be told (Karn's rule).
    pub fn on_again(&mut self, number: u64) {
        self.timed.take_if(|(timed, _)| *timed == number);
    }

    /// A chunk was acknowledged that left once.
    pub fn on_acked(&mut self, now: Time, number: u64) {
        if let Some((_, sent)) = self.timed.take_if(|(timed, _)| *timed == number) {
            self.rto.sample(now.saturating_since(sent));
        }
    }

    /// The other end has answered: section 8.1.
    pub fn on_answer(&mut self) {
        self.errors = 0;
    }

    /// T3-rtx expired (section 6.3.3, rules E2 and E3).
    pub fn on_expired(&mut self) {
        self.errors = self.errors.saturating_add(1);
        self.rto.back_off();
        (self.timer, self.timed) = (None, None);
    }

    /// When a HEARTBEAT leaves, or the last one was not answered.
    pub fn next_beat(&self) -> Option<Time> {
        self.beat.into_iter().chain(self.answer_until).min()
    }

    /// Whether a HEARTBEAT leaves now. The last one, if it was not answered, counts as a timeout (section 8.3).
    pub fn beats(&mut self, now: Time) -> bool {
        if self.answer_until.take_if(|until| *until <= now).is_some() {
            self.errors = self.errors.saturating_add(1);
            self.rto.back_off();
        }
        let due = self.beat.is_some_and(|beat| beat <= now);
        if due {
            self.answer_until = Some(now + self.rto.timeout);
            self.timeouts = timeouts(self.jitter, &mut self.random);
            self.put_off_beat(now);
        }
        due
    }

    /// A HEARTBEAT of `sent` was answered.
    pub fn on_beat_answered(&mut self, now: Time, sent: Time) {
        // A HEARTBEAT that was never sent has no answer.
        if self.answer_until.take().is_some() && sent <= now {
            self.rto.sample(now - sent);
            self.on_answer();
        }
    }

    /// Nothing is timed any more.
    pub fn end(&mut self) {
        (self.timer, self.beat, self.answer_until) = (None, None, None);
    }
}

/// Section 8.3: a HEARTBEAT comes a timeout after the interval, up to a part of it earlier or later.
fn timeouts(jitter: f64, random: &mut RandomStream) -> f64 {
    1.0 + jitter * (2.0 * random.uniform() - 1.0)
}
