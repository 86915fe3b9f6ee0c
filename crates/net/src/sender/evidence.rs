//! A flow's own evidence of what its path carries. The exchange of other processes may assign anything, by mistake or on purpose;
//! a flow takes no more of it than its packets bear out.

use paceline_cc::Assigned;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

/// Nanoseconds of sending that are counted together, and how many of these are a second.
const BIN: u64 = 250_000_000;
const SECOND: u64 = 4;
/// Times of sending that are remembered.
const BINS: usize = 16;
/// Bins after the one in which nothing is late any more.
const LATE: u64 = 2;
/// Bytes sent in a second that say something.
const ENOUGH: u64 = 10_000;
/// How long at least the second in which the most arrived counts; twice as long at most.
const MINUTE: TimeDelta = TimeDelta::from_secs(60);
/// Part of a second's bytes that arrives where a path carries the rate, and how long nothing is raised where less did.
const CARRIED: f64 = 0.9;
const CAREFUL: TimeDelta = TimeDelta::from_secs(10);
/// Times what arrived in a second that a flow takes (as RFC 5348 section 4.3 has it), and times its first rate while nothing is known.
const GROWTH: f64 = 2.0;
const FIRST_GROWTH: f64 = 8.0;

/// Bytes sent in one bin, and the part of them that is known to have arrived.
#[derive(Clone, Copy, Default, Debug)]
struct Bin {
    number: u64,
    sent: u64,
    arrived: u64,
}

/// Bytes that were sent and that arrived, by the time of sending.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    bins: [Bin; BINS],
    /// The bin that is judged next.
    next: u64,
    /// Rate in bit/s that the controller had before anything was assigned.
    first: Option<f64>,
    /// The most that arrived in a second, in bit/s, of this minute and the one before, which ends then.
    most: [f64; 2],
    minute_ends: Time,
    careful_until: Time,
}

impl Evidence {
    fn bin(&mut self, number: u64) -> &mut Bin {
        let bin = &mut self.bins[number as usize % BINS];
        if bin.number < number {
            *bin = Bin { number, ..Bin::default() };
        }
        bin
    }

    /// A packet of this size left.
    pub fn sent(&mut self, at: Time, size: Bytes) {
        self.bin(at.as_nanos() / BIN).sent += size.as_u64();
    }

    /// A packet of this size, which was sent at `sent`, has arrived.
    pub fn arrived(&mut self, sent: Time, size: Bytes) {
        let number = sent.as_nanos() / BIN;
        let bin = self.bin(number);
        if bin.number == number {
            bin.arrived += size.as_u64();
        }
        let end = number.saturating_sub(LATE);
        self.next = self.next.max(end.saturating_sub(BINS as u64));
        while self.next < end {
            self.judge(self.next);
            self.next += 1;
        }
    }

    /// Judges the second that this bin ends.
    fn judge(&mut self, last: u64) {
        let first = last.saturating_sub(SECOND - 1);
        let second = self.bins.iter().filter(|bin| (first..=last).contains(&bin.number));
        let (sent, arrived) =
            second.fold((0, 0), |(sent, arrived), bin| (sent + bin.sent, arrived + bin.arrived));
        let now = Time::from_nanos((last + 1) * BIN);
        if now >= self.minute_ends {
            (self.most, self.minute_ends) = ([0.0, self.most[0]], now + MINUTE);
        }
        self.most[0] = self.most[0].max(arrived as f64 * 8.0);
        if sent >= ENOUGH && (arrived as f64) < CARRIED * sent as f64 {
            self.careful_until = now + CAREFUL;
        }
    }

    /// The part of what an exchange assigns at `now` that the flow takes, whose controller steers by `own` and whose smoothed round
    /// trip is `srtt`.
    pub fn bound(
        &mut self,
        now: Time,
        own: Assigned,
        assigned: Assigned,
        srtt: Option<TimeDelta>,
    ) -> Assigned {
        let Some(own) = own.rate_over(srtt) else { return assigned };
        let first = *self.first.get_or_insert(own);
        let most = self.most[0].max(self.most[1]);
        let bound = match (most > 0.0, now < self.careful_until) {
            (_, true) => own,
            (true, _) => own.max(GROWTH * most),
            (false, _) => own.max(FIRST_GROWTH * first),
        };
        let bound = Bitrate::from_bps_f64(bound);
        match (assigned, srtt) {
            (Assigned::Rate(rate), _) => Assigned::Rate(rate.min(bound)),
            (Assigned::Window(window), Some(srtt)) => Assigned::Window(window.min(bound.bytes_in(srtt))),
            (Assigned::Window(_), None) => assigned,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MBPS: u64 = 125_000;

    fn rate(mbps: u64) -> Assigned {
        Assigned::Rate(Bitrate::from_mbps(mbps))
    }

    /// Packets of a tenth of a second each from one time to another, in tenths: so many Mbit/s leave, and so many arrive.
    fn pass(evidence: &mut Evidence, tenths: core::ops::Range<u64>, sent: u64, arrives: u64) {
        for tenth in tenths {
            let at = Time::from_nanos(tenth * 100_000_000);
            evidence.sent(at, Bytes::new(sent * MBPS / 10));
            evidence.arrived(at, Bytes::new(arrives * MBPS / 10));
        }
    }

    fn bound(evidence: &mut Evidence, tenth: u64, own: u64) -> Assigned {
        evidence.bound(Time::from_nanos(tenth * 100_000_000), rate(own), rate(1_000_000), None)
    }

    #[test]
    fn a_flow_takes_what_its_packets_bear_out() {
        let mut evidence = Evidence::default();
        assert_eq!(bound(&mut evidence, 0, 3), rate(24), "nothing has arrived yet");
        assert_eq!(bound(&mut evidence, 1, 24), rate(24), "nor after another assignment");
        pass(&mut evidence, 0..30, 6, 6);
        assert_eq!(bound(&mut evidence, 30, 6), rate(12));
        assert_eq!(
            bound(&mut evidence, 30, 100),
            rate(100),
            "its controller knows more, where an encoder wants little"
        );
        pass(&mut evidence, 30..60, 12, 10);
        assert_eq!(bound(&mut evidence, 60, 11), rate(11), "10 of 12 arrive: it is up to its controller");
        pass(&mut evidence, 60..170, 10, 10);
        assert_eq!(bound(&mut evidence, 170, 10), rate(20), "ten seconds later more is tried");
        pass(&mut evidence, 170..1400, 5, 5);
        assert_eq!(bound(&mut evidence, 1400, 5), rate(10), "what arrived two minutes ago counts no more");
    }

    #[test]
    fn windows_are_rates_over_round_trips() {
        let mut evidence = Evidence::default();
        pass(&mut evidence, 0..30, 8, 8);
        let [own, all] = [100_000, 10_000_000].map(|bytes| Assigned::Window(Bytes::new(bytes)));
        let srtt = Some(TimeDelta::from_millis(100));
        let at = Time::from_nanos(3_000_000_000);
        assert_eq!(evidence.bound(at, own, all, srtt), Assigned::Window(Bytes::new(200_000)));
        assert_eq!(evidence.bound(at, own, own, srtt), own);
        assert_eq!(evidence.bound(at, own, all, None), all, "no rate yet");
    }
}
