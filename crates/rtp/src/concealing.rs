//! A receiver that does not comply (RFC 9743 section 7.6): its reports conceal losses, marks or both.
//!
//! Reports, and the controller's half at this end, are told that each missing packet arrived when the packet after it did, and that a
//! marked packet came as the one before it that was not marked, the first ones as they left. Playout takes the packets that came.

use super::packet::RtpPacket;
use paceline_cc::{Arrival, ReceiverHalf, StreamId};
use paceline_ends::Conceals;
use paceline_units::Time;
use paceline_wire::ccfb::{ArrivalReport, Feedback};

/// More missing packets in a row are no loss but a new beginning.
const LONGEST_GAP: u64 = 1000;

/// The state of a receiver that conceals something.
#[derive(Clone, Debug)]
pub(super) struct Concealing {
    conceals: Conceals,
    /// One above the highest sequence number of each stream; absent before its first packet.
    ends: Vec<Option<u64>>,
}

impl Concealing {
    /// Of a receiver of `streams` streams that conceals something; absent for one that complies.
    pub(super) fn new(conceals: Conceals, streams: u8) -> Option<Box<Concealing>> {
        let ends = vec![None; streams.into()];
        (conceals != Conceals::Nothing).then(|| Box::new(Concealing { conceals, ends }))
    }

    /// Hands a receiver half the packets that are missing before `packet`, as if each were like it.
    pub(super) fn fill<H: ReceiverHalf>(
        &mut self,
        now: Time,
        packet: &RtpPacket,
        arrival: &Arrival,
        half: &mut H,
    ) {
        let Some(end) = self.ends.get_mut(usize::from(packet.stream.0)) else { return };
        let next = packet.sequence.saturating_add(1);
        let known = end.replace(end.map_or(next, |end| end.max(next))).unwrap_or(packet.sequence);
        if self.conceals.losses() && packet.sequence.saturating_sub(known) <= LONGEST_GAP {
            for sequence in known..packet.sequence {
                half.on_arrival(now, &Arrival { sequence, ..*arrival });
            }
        }
    }

    /// The numbers of a stream go on elsewhere.
    pub(super) fn resynchronise(&mut self, id: StreamId) {
        if let Some(end) = self.ends.get_mut(usize::from(id.0)) {
            *end = None;
        }
    }
}

/// Says of each packet that a report misses that it came when the packet after it did. The last packet of a block has come.
pub(super) fn say_all_came(feedback: &mut Feedback) {
    let mut rest = &mut feedback.arrivals[..];
    for block in &feedback.blocks {
        let (entries, others) = rest.split_at_mut(rest.len().min(block.count as usize));
        rest = others;
        let mut after = ArrivalReport::Missing;
        for entry in entries.iter_mut().rev() {
            match entry {
                ArrivalReport::Missing => *entry = after,
                ArrivalReport::Received { .. } => after = *entry,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FeedbackConfig, Header, PacketReports, RtpReceiver};
    use paceline_cc::ReceiverReport;
    use paceline_ends::{PathFacts, ReceivingEnd};
    use paceline_media::PlayoutConfig;
    use paceline_units::{Bytes, Ecn};
    use paceline_wire::FeedbackFormat;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Packets of two streams; the transport-wide numbers are those that the sender gave in turn.
    fn packet(stream: u8, sequence: u64) -> RtpPacket {
        RtpPacket {
            stream: StreamId(stream),
            sequence,
            captured: at(1),
            payload: Bytes::new(1000),
            padding: 0,
            header: Header::RTP,
            transport: (sequence * 2 + u64::from(stream)) as u16,
            first: None,
            marker: false,
            key: None,
            annotation: None,
        }
    }

    /// Packets 10, 11, 14 and 16 of both streams come, of which 11 and 16 are marked. Reports without playout say the same.
    fn told(conceals: Conceals, format: FeedbackFormat) -> Vec<ArrivalReport> {
        let config = FeedbackConfig {
            packets: 8,
            time: at(9000) - Time::ZERO,
            conceals,
            format,
            ..FeedbackConfig::default()
        };
        let mut reports = PacketReports::new(config.clone());
        (0..2).for_each(|_| reports.add_stream());
        let mut receiver = RtpReceiver::new(config, 2, PlayoutConfig::IMMEDIATE);
        for (sequence, ecn) in [(10, Ecn::Ect1), (11, Ecn::Ce), (14, Ecn::Ect1), (16, Ecn::Ce)] {
            for stream in [0, 1] {
                let RtpPacket { stream: id, transport, .. } = packet(stream, sequence);
                reports.note(at(sequence), (id, sequence), Some(transport), ecn);
                reports.schedule(at(sequence), || Bytes::new(1000), false);
                receiver.receive(at(sequence), packet(stream, sequence), ecn, PathFacts::default());
            }
        }
        let report = receiver.poll_transmit(at(20)).expect("a report on eight packets").packet;
        let mut single = Feedback::default();
        let told = report.on_packets(&mut single).expect("on packets").arrivals.clone();
        assert_eq!(reports.write(at(20)).arrivals, told);
        told
    }

    fn counts(arrivals: &[ArrivalReport]) -> [usize; 3] {
        let missing = arrivals.iter().filter(|told| **told == ArrivalReport::Missing).count();
        let marked =
            arrivals.iter().filter(|told| matches!(told, ArrivalReport::Received { ecn: Ecn::Ce, .. }));
        [arrivals.len(), missing, marked.count()]
    }

    #[test]
    fn reports_conceal_what_they_are_asked_to() {
        for format in [FeedbackFormat::Rfc8888, FeedbackFormat::Twcc] {
            let marks = |count| if format.tells_ecn() { count } else { 0 };
            for (conceals, missing, marked) in [
                (Conceals::Nothing, 6, 4),
                (Conceals::Losses, 0, 6),
                (Conceals::Marks, 6, 0),
                (Conceals::All, 0, 0),
            ] {
                let found = counts(&told(conceals, format));
                assert_eq!(found, [14, missing, marks(marked)], "{conceals:?} in {format:?}");
            }
        }
    }

    /// A packet that is said to have come did so when the next one did: the times of a report never fall.
    #[test]
    fn a_missing_packet_comes_with_the_next_one() {
        let honest = told(Conceals::Nothing, FeedbackFormat::Rfc8888);
        let lies = told(Conceals::Losses, FeedbackFormat::Rfc8888);
        let time = |told: &ArrivalReport| match told {
            ArrivalReport::Received { at, .. } => *at,
            ArrivalReport::Missing => None,
        };
        assert!(lies.iter().all(|told| time(told).is_some()));
        assert_eq!(time(&lies[2]), time(&honest[4]));
        assert_eq!(time(&lies[5]), time(&honest[6]));
        assert!(lies[..7].is_sorted_by_key(time));
    }

    #[derive(Default)]
    struct Heard(Vec<(u64, Ecn)>);

    impl ReceiverHalf for Heard {
        fn on_arrival(&mut self, _now: Time, arrival: &Arrival) -> bool {
            self.0.push((arrival.sequence, arrival.ecn));
            false
        }

        fn next_timeout(&self) -> Option<Time> {
            None
        }

        fn report(&mut self, _now: Time) -> Option<ReceiverReport> {
            None
        }
    }

    /// Before a packet without a mark came, marked ones are said to have come as packets leave.
    #[test]
    fn marks_of_the_first_packets_are_concealed_by_what_packets_leave_with() {
        let config = FeedbackConfig { conceals: Conceals::Marks, ..FeedbackConfig::default() };
        for (leaves, then) in [(Ecn::Ect0, Ecn::Ect1), (Ecn::Ect1, Ecn::Ect0), (Ecn::NotEct, Ecn::Ect0)] {
            let mut receiver =
                RtpReceiver::with_half(config.clone(), 1, PlayoutConfig::IMMEDIATE, Some(Heard::default()));
            receiver.expect_ecn(leaves);
            for (sequence, ecn) in [(5, Ecn::Ce), (6, Ecn::Ce), (7, then), (8, Ecn::Ce)] {
                receiver.receive(at(sequence), packet(0, sequence), ecn, PathFacts::default());
            }
            let heard = &receiver.receiver_half().expect("a half").0;
            let told: Vec<Ecn> = heard.iter().map(|(_, ecn)| *ecn).collect();
            assert_eq!(told, [leaves, leaves, then, then]);
        }
    }

    /// A half that counts losses at the receiver counts none; numbers that go on elsewhere are not filled up.
    #[test]
    fn a_receiver_half_hears_of_every_packet() {
        let config = FeedbackConfig { conceals: Conceals::All, ..FeedbackConfig::default() };
        let mut receiver =
            RtpReceiver::with_half(config, 1, PlayoutConfig::IMMEDIATE, Some(Heard::default()));
        let arrivals = [(5, Ecn::Ect0), (8, Ecn::Ce), (7, Ecn::Ce), (9, Ecn::Ect0), (2_000, Ecn::Ect0)];
        for (sequence, ecn) in arrivals {
            receiver.receive(at(sequence), packet(0, sequence), ecn, PathFacts::default());
        }
        for (elsewhere, millis) in [(2_500, 2_001), (1_000, 2_003)] {
            receiver.resynchronise(at(millis), StreamId(0), elsewhere);
            receiver.receive(at(millis + 1), packet(0, elsewhere), Ecn::Ect0, PathFacts::default());
        }
        let heard = &receiver.receiver_half().expect("a half").0;
        let numbers: Vec<u64> = heard.iter().map(|(sequence, _)| *sequence).collect();
        assert_eq!(numbers, [5, 6, 7, 8, 7, 9, 2_000, 2_500, 1_000]);
        assert!(heard.iter().all(|(_, ecn)| *ecn == Ecn::Ect0));
    }

    /// A thousand packets in a row are lost; more are a new beginning.
    #[test]
    fn a_longer_gap_is_not_filled_up() {
        for (last, filled) in [(1_001, 1_002), (1_002, 2)] {
            let config = FeedbackConfig { conceals: Conceals::Losses, ..FeedbackConfig::default() };
            let mut receiver =
                RtpReceiver::with_half(config, 1, PlayoutConfig::IMMEDIATE, Some(Heard::default()));
            for sequence in [0, last] {
                receiver.receive(at(sequence), packet(0, sequence), Ecn::Ce, PathFacts::default());
            }
            let heard = &receiver.receiver_half().expect("a half").0;
            assert_eq!(heard.len(), filled, "{last}");
            assert!(heard.iter().all(|(_, ecn)| *ecn == Ecn::Ce), "marks are told");
        }
    }
}
