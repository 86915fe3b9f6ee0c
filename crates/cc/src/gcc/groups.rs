//! Pre-filtering: packets that are sent, or arrive, in a burst are one group (draft-ietf-rmcat-gcc-02 sections 5.1, 5.2).

use super::Params;
use paceline_units::{Bytes, Time, TimeDelta};

/// How a group came after the one before it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct InterGroup {
    /// Time from the departure of one group's last packet to that of the other's.
    pub(super) departure: TimeDelta,
    /// The same of their arrivals.
    pub(super) arrival: TimeDelta,
    /// How many bytes it is larger.
    pub(super) size_change: f64,
}

impl InterGroup {
    /// The inter-group delay variation d(i) in milliseconds.
    pub(super) fn delay_variation(&self) -> f64 {
        self.arrival.as_millis_f64() - self.departure.as_millis_f64()
    }
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Time,
    last_sent: Time,
    first_arrived: Time,
    size: Bytes,
    /// Arrival of the packet that was told of last.
    complete: Time,
    /// When that packet was reported, by the sender's clock.
    reported: Time,
}

/// The present group and the one before.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    burst_time: TimeDelta,
    burst_longest: TimeDelta,
    current: Option<Group>,
    previous: Option<Group>,
    /// Groups in a row that arrived before the one that they follow.
    reordered: u32,
}

/// The receiver's clock has jumped when it runs ahead of the sender's by so much between two groups.
const CLOCK_JUMP: TimeDelta = TimeDelta::from_secs(3);
/// After so many groups in the wrong order all is forgotten.
const MOST_REORDERED: u32 = 3;

impl Groups {
    pub(super) fn new(params: &Params) -> Groups {
        let (burst_time, burst_longest) = (params.burst_time, params.burst_longest);
        Groups { burst_time, burst_longest, current: None, previous: None, reordered: 0 }
    }

    /// A packet that arrived was reported. If it begins a group, the one before it is complete, and how that came after its
    /// own predecessor is the answer.
    pub(super) fn on_packet(
        &mut self,
        sent: Time,
        arrived: Time,
        reported: Time,
        size: Bytes,
    ) -> Option<InterGroup> {
        let fresh = Group {
            first_sent: sent,
            last_sent: sent,
            first_arrived: arrived,
            size,
            complete: arrived,
            reported,
        };
        let Some(current) = &mut self.current else {
            self.current = Some(fresh);
            return None;
        };
        if sent < current.first_sent {
            return None;
        }
        if belongs(self.burst_time, self.burst_longest, current, sent, arrived) {
            current.last_sent = current.last_sent.max(sent);
            (current.complete, current.reported) = (arrived, reported);
            current.size += size;
            return None;
        }
        let current = *current;
        let mut complete = None;
        if let Some(previous) = self.previous {
            let departure = current.last_sent - previous.last_sent;
            let arrival = current.complete - previous.complete;
            if arrival - (current.reported - previous.reported) >= CLOCK_JUMP {
                self.forget();
                return None;
            }
            if arrival.is_negative() {
                self.reordered += 1;
                if self.reordered >= MOST_REORDERED {
                    self.forget();
                }
                return None;
            }
            self.reordered = 0;
            let size_change = current.size.as_f64() - previous.size.as_f64();
            complete = Some(InterGroup { departure, arrival, size_change });
        }
        (self.previous, self.current) = (Some(current), Some(fresh));
        complete
    }

    fn forget(&mut self) {
        (self.current, self.previous, self.reordered) = (None, None, 0);
    }
}

/// Whether a packet is part of the group: sent within `burst_time`, or arrived in one burst with it.
fn belongs(burst_time: TimeDelta, longest: TimeDelta, group: &Group, sent: Time, arrived: Time) -> bool {
    let (departure, arrival) = (sent - group.last_sent, arrived - group.complete);
    let queued = arrival < departure && arrival <= burst_time && arrived - group.first_arrived < longest;
    departure == TimeDelta::ZERO || queued || sent - group.first_sent <= burst_time
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    fn variations(packets: &[(u64, u64)]) -> alloc::vec::Vec<(i64, i64)> {
        let mut groups = Groups::new(&Params::default());
        let told = packets.iter().filter_map(|(sent, arrived)| {
            groups.on_packet(us(*sent), us(*arrived), us(*arrived + 10_000), Bytes::new(1200))
        });
        told.map(|told| (told.departure.as_nanos() / 1000, told.arrival.as_nanos() / 1000)).collect()
    }

    #[test]
    fn packets_sent_within_the_burst_time_are_one_group() {
        // Groups of two packets every 10 ms, the second packet of each 5 ms after the first.
        let packets: alloc::vec::Vec<_> =
            (0..4).flat_map(|n| [(n * 10_000, n * 11_000), (n * 10_000 + 5000, n * 11_000 + 5500)]).collect();
        assert_eq!(variations(&packets), [(10_000, 11_000), (10_000, 11_000)]);
    }

    #[test]
    fn packets_that_arrive_in_a_burst_are_one_group() {
        // After an outage five packets sent every 20 ms arrive 1 ms apart: one group with the first of them.
        let held = (0..5).map(|n| (20_000 + n * 20_000, 200_000 + n * 1000));
        let packets: alloc::vec::Vec<_> =
            [(0, 0)].into_iter().chain(held).chain([(120_000, 220_000), (140_000, 240_000)]).collect();
        assert_eq!(variations(&packets), [(100_000, 204_000), (20_000, 16_000)]);
    }

    #[test]
    fn packets_that_arrive_out_of_order_are_left_out() {
        let mut packets: alloc::vec::Vec<_> = (0..6).map(|n| (n * 10_000, n * 10_000)).collect();
        packets.insert(4, (10_000, 39_000));
        assert!(variations(&packets).iter().all(|variation| *variation == (10_000, 10_000)));
    }

    #[test]
    fn a_jump_of_the_receivers_clock_is_no_delay() {
        let mut groups = Groups::new(&Params::default());
        for n in 0..40u64 {
            let jump = if n < 20 { 0 } else { 3_600_000_000 };
            let told =
                groups.on_packet(us(n * 10_000), us(n * 10_000 + jump), us(n * 10_000 + 50_000), Bytes::ZERO);
            assert!(told.is_none_or(|told| told.arrival == TimeDelta::from_millis(10)), "{n}: {told:?}");
        }
    }
}
