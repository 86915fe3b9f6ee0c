//! The loss detector against a naive model that keeps every packet for ever in a map.

use paceline_cc::{Acked, DetectorConfig, LossDetector, PacketResult, Status, StreamId};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PacketState {
    Outstanding,
    /// Reported missing.
    Missing,
    Arrived,
    /// Arrived with CE.
    Marked,
    Lost(Time),
    /// Left the flight, and no report had named it.
    Unreported,
    /// Given up by order: nothing in flight, no verdict any more.
    Forgotten,
}

/// Written from the contract, with no thought of speed.
struct Model {
    config: DetectorConfig,
    window: TimeDelta,
    packets: BTreeMap<u64, (Time, u64, PacketState)>,
    /// One above the highest acknowledged number.
    acknowledged: u64,
    newest_sent: Time,
}

impl Model {
    fn in_flight(&self) -> u64 {
        self.packets.range(self.acknowledged..).map(|(_, (_, size, _))| size).sum()
    }

    fn forget(&mut self) {
        self.acknowledged = self.packets.last_key_value().map_or(0, |(last, _)| last + 1);
        for (_, _, state) in self.packets.values_mut() {
            if matches!(*state, PacketState::Outstanding | PacketState::Missing) {
                *state = PacketState::Forgotten;
            }
        }
    }

    fn release_tail(&mut self, now: Time, before: Time) -> Acked {
        let mut acked = Acked::default();
        for (sequence, (sent, _, state)) in self.packets.range_mut(self.acknowledged..) {
            if *sent >= before {
                break;
            }
            if matches!(*state, PacketState::Outstanding | PacketState::Missing) {
                *state = PacketState::Lost(now);
                acked.lost += 1;
            }
            self.acknowledged = sequence + 1;
        }
        self.declare(now, &mut acked);
        acked
    }

    fn report(&mut self, now: Time, results: &[PacketResult]) -> Acked {
        let mut acked = Acked::default();
        for result in results {
            let Some((sent, size, state)) = self.packets.get_mut(&result.sequence) else { continue };
            let Status::Received { arrived, ecn } = result.status else {
                match *state {
                    PacketState::Outstanding => *state = PacketState::Missing,
                    PacketState::Unreported => {
                        *state = PacketState::Lost(now);
                        acked.lost += 1;
                    }
                    _ => {}
                }
                continue;
            };
            match *state {
                PacketState::Arrived if ecn.is_ce() => {
                    *state = PacketState::Marked;
                    acked.delivered_ce += Bytes::new(*size);
                    acked.delivered_ce_packets += 1;
                    continue;
                }
                PacketState::Arrived | PacketState::Marked => continue,
                PacketState::Lost(when) => {
                    acked.spurious += 1;
                    let late = self.window + now.saturating_since(when);
                    self.window = self.window.max(late.min(self.config.reorder_window_max));
                }
                PacketState::Outstanding
                | PacketState::Missing
                | PacketState::Unreported
                | PacketState::Forgotten => {}
            }
            if *state != PacketState::Unreported {
                acked.presumed += Bytes::new(*size);
            }
            *state = if ecn.is_ce() { PacketState::Marked } else { PacketState::Arrived };
            acked.delivered += Bytes::new(*size);
            acked.delivered_ce += Bytes::new(if ecn.is_ce() { *size } else { 0 });
            acked.delivered_packets += 1;
            acked.delivered_ce_packets += u32::from(ecn.is_ce());
            if *sent >= self.newest_sent {
                (acked.newest, self.newest_sent) = (Some((*sent, arrived)), *sent);
            }
            if result.sequence >= self.acknowledged {
                let passed = self.packets.range(self.acknowledged..=result.sequence);
                acked.newly_acked += passed.map(|(_, (_, size, _))| Bytes::new(*size)).sum();
                self.acknowledged = result.sequence + 1;
            }
        }
        self.declare(now, &mut acked);
        acked
    }

    fn declare(&mut self, now: Time, acked: &mut Acked) {
        let limit = self.newest_sent - self.window;
        for (sequence, (sent, size, state)) in self.packets.range_mut(..self.acknowledged) {
            let later = self.acknowledged - 1 - sequence;
            let many = self.config.packet_threshold.is_some_and(|threshold| later >= threshold);
            let undecided = matches!(*state, PacketState::Outstanding | PacketState::Missing);
            if !undecided || *sent >= limit && !many {
                continue;
            }
            if *state == PacketState::Missing || self.config.unreported_is_lost {
                *state = PacketState::Lost(now);
                acked.lost += 1;
            } else {
                *state = PacketState::Unreported;
                acked.presumed += Bytes::new(*size);
                acked.unreported += Bytes::new(*size);
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Send { gap: u64, size: u64 },
    SendOld(u64),
    Report(Vec<(u64, bool, bool)>),
    Beyond(u64),
    Forget,
    ReleaseTail(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    let entry = (0u64..40, any::<bool>(), prop::bool::weighted(0.1));
    prop_oneof![
        12 => (prop_oneof![9 => Just(0u64), 1 => 0u64..4], 0u64..3000).prop_map(|(gap, size)| Operation::Send { gap, size }),
        1 => any::<u64>().prop_map(Operation::SendOld),
        8 => prop::collection::vec(entry, 0..12).prop_map(Operation::Report),
        1 => prop_oneof![0u64..5, Just(u64::MAX)].prop_map(Operation::Beyond),
        1 => (0u64..40).prop_map(Operation::ReleaseTail),
        1 => prop::bool::weighted(0.05).prop_map(|forget| if forget { Operation::Forget } else { Operation::Beyond(0) }),
    ]
}

fn result(sequence: u64, heard: bool, ce: bool, now: Time) -> PacketResult {
    let ecn = if ce { Ecn::Ce } else { Ecn::Ect1 };
    let status = if heard { Status::Received { arrived: Some(now), ecn } } else { Status::Missing };
    PacketResult { stream: StreamId(0), sequence, size: Bytes::new(7), sent: Time::MAX, status }
}

fn config() -> impl Strategy<Value = DetectorConfig> {
    (prop::option::of(1u64..8), 0i64..20, 0i64..60, any::<bool>()).prop_map(
        |(packet_threshold, window, most, lost)| DetectorConfig {
            packet_threshold,
            reorder_window: TimeDelta::from_millis(window),
            reorder_window_max: TimeDelta::from_millis(most),
            unreported_is_lost: lost,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_agrees_with_the_naive_model(
        config in config(),
        start in prop_oneof![Just(0u64), 0u64..100_000],
        steps in prop::collection::vec((operation(), 0u64..4000), 0..400),
    ) {
        let mut detector = LossDetector::new(config);
        let window = config.reorder_window;
        let mut model =
            Model { config, window, packets: BTreeMap::new(), acknowledged: 0, newest_sent: Time::ZERO };
        let (mut now, mut next) = (Time::ZERO, start);
        for (operation, micros) in steps {
            // Whole milliseconds half of the time, as the windows are: what is exactly at the limit must be seen too.
            now += TimeDelta::from_micros(if micros % 2 == 0 { micros / 1000 * 1000 } else { micros } as i64);
            match operation {
                Operation::Send { gap, size } => {
                    next += gap;
                    detector.on_sent(now, next, Bytes::new(size));
                    model.packets.insert(next, (now, size, PacketState::Outstanding));
                    next += 1;
                }
                Operation::SendOld(any) if next > start => {
                    detector.on_sent(now, start + any % (next - start), Bytes::new(1));
                }
                Operation::SendOld(_) => {}
                Operation::Report(entries) => {
                    // Back from the newest, further than the flight; in any order, some twice.
                    let results: Vec<_> =
                        entries.iter().filter(|(back, ..)| back + start < next)
                            .map(|(back, heard, ce)| result(next - 1 - back, *heard, *ce, now)).collect();
                    prop_assert_eq!(detector.on_report(now, results.iter()), model.report(now, &results));
                }
                Operation::Beyond(far) => {
                    let never = [result(next.saturating_add(far), true, true, now)];
                    prop_assert_eq!(detector.on_report(now, never.iter()), Acked::default());
                }
                Operation::ReleaseTail(millis) => {
                    let before = now - TimeDelta::from_millis(millis as i64);
                    prop_assert_eq!(detector.release_tail(now, before), model.release_tail(now, before));
                }
                Operation::Forget => {
                    detector.forget();
                    model.forget();
                }
            }
            prop_assert_eq!(detector.in_flight(), Bytes::new(model.in_flight()));
            prop_assert_eq!(detector.reorder_window(), model.window);
        }
    }

    #[test]
    fn any_number_can_be_sent_and_reported(numbers in prop::collection::vec((any::<u64>(), any::<bool>()), 0..60)) {
        let mut detector = LossDetector::new(DetectorConfig {
            packet_threshold: Some(3),
            reorder_window: TimeDelta::ZERO,
            reorder_window_max: TimeDelta::MAX,
            unreported_is_lost: false,
        });
        for (number, extreme) in numbers {
            let number = if extreme { number | u64::MAX << 3 } else { number };
            detector.on_sent(Time::from_nanos(number), number, Bytes::new(number));
            let before = detector.in_flight();
            detector.on_sent(Time::from_nanos(number), number, Bytes::new(1000));
            prop_assert_eq!(detector.in_flight(), before, "the same number again is no packet");
            let _ = detector.on_report(Time::MAX, [result(number, true, false, Time::ZERO)].iter());
        }
    }
}
