//! The rate at which packets leave the queue (RFC 8033 section 5.2 and appendix B, `deque`).

use paceline_units::Bytes;

/// How long it takes to drain DQ_THRESHOLD bytes.
#[derive(Clone, Debug)]
pub(crate) struct Departures {
    dq_threshold: u64,
    /// Weight of a sample: DQ_THRESHOLD / 2^16, at most 1.
    weight: f64,
    in_measurement: bool,
    measurement_start: u64,
    dq_count: u64,
    /// In seconds; none before the first sample.
    avg_dq_time: Option<f64>,
}

impl Departures {
    pub(crate) fn new(dq_threshold: Bytes) -> Departures {
        Departures {
            dq_threshold: dq_threshold.as_u64(),
            weight: (dq_threshold.as_f64() / 65_536.0).min(1.0),
            in_measurement: false,
            measurement_start: 0,
            dq_count: 0,
            avg_dq_time: None,
        }
    }

    /// Appendix B, `enque`: PIE turns active.
    pub(crate) fn begin(&mut self, now: u64) {
        self.avg_dq_time = None;
        self.start(now);
    }

    fn start(&mut self, now: u64) {
        (self.in_measurement, self.measurement_start, self.dq_count) = (true, now, 0);
    }

    /// The queue ran empty: the time until more comes is not the link's.
    #[inline]
    pub(crate) fn stop(&mut self) {
        self.in_measurement = false;
    }

    /// A packet of `size` bytes leaves the queue for the server and `left` bytes wait on.
    #[inline]
    pub(crate) fn dequeued(&mut self, now: u64, size: u64, left: u64) {
        if self.in_measurement {
            self.dq_count = self.dq_count.saturating_add(size);
            if self.dq_count >= self.dq_threshold {
                let dq_time = (now - self.measurement_start) as f64 / 1e9;
                self.avg_dq_time = Some(match self.avg_dq_time {
                    None => dq_time,
                    Some(average) => dq_time * self.weight + average * (1.0 - self.weight),
                });
                self.in_measurement = false;
            }
        }
        if !self.in_measurement && left >= self.dq_threshold {
            self.start(now);
        }
    }

    /// Section 5.2: the delay of `bytes` in seconds; 0 while no rate is known.
    pub(crate) fn delay_of(&self, bytes: u64) -> f64 {
        self.avg_dq_time.map_or(0.0, |time| bytes as f64 * time / self.dq_threshold as f64)
    }
}
