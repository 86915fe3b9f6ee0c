//! A sender that goes on from another address: its NAT gave it another port, or it is in another network now.
//!
//! The address before is silent, and the packets go on from the newest in number and timestamp: whoever knows only the SSRC would have to
//! guess 19 bits, twice in a row. Packets are held until the address before has been silent for [`SETTLED`], and taken then in their order,
//! each as of its arrival: the call loses none.

use crate::receiver::times::go_together;
use crate::socket::{Datagram, HeldDatagram};
use paceline_cc::StreamId;
use paceline_units::{Time, TimeDelta};
use paceline_wire::MAX_DROPOUT;
use paceline_wire::rtp::RtpHeaderFields;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// For so long the address before is silent while packets come from another: longer than a network reorders.
const SETTLED: TimeDelta = TimeDelta::from_millis(200);
/// Silence after which an address counts as gone.
const GONE: TimeDelta = TimeDelta::from_secs(10);
/// The most datagrams that are held: 200 ms of 50 Mbit/s.
const MOST_HELD: usize = 1024;

/// The newest packet of a stream.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sequence: u16,
    timestamp: u32,
    at: Time,
}

impl Newest {
    /// Whether a packet that arrives at `now` goes on from it: the later, the further ahead.
    fn goes_on(&self, now: Time, header: &RtpHeaderFields) -> bool {
        let waited = now.saturating_since(self.at).as_secs_f64() as u64;
        let furthest = (u64::from(MAX_DROPOUT) * (1 + waited)).min(i16::MAX as u64) as u16;
        let ahead = header.sequence.wrapping_sub(self.sequence);
        (1..=furthest).contains(&ahead) && go_together((self.timestamp, self.at), (header.timestamp, now))
    }
}

/// An address from which a sender's packets may go on.
#[derive(Debug)]
struct Candidate {
    from: SocketAddr,
    /// Its first packet.
    stream: StreamId,
    sequence: u16,
    heard: Time,
    held: VecDeque<HeldDatagram>,
}

/// The meaning of a packet from another address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Elsewhere {
    /// None of the sender's, as far as is known.
    Foreign,
    /// It may be the sender's, and is held.
    Held,
    /// The sender's, which goes on from there: what was held is to be taken, this packet in.
    Moved,
}

/// Watches for a sender's next address.
#[derive(Debug, Default)]
pub(crate) struct NextAddress {
    /// By stream.
    newest: Vec<Option<Newest>>,
    /// When a packet of the sender came last.
    heard: Time,
    candidate: Option<Candidate>,
    /// Datagrams of the sender that have still to be taken.
    taken: VecDeque<HeldDatagram>,
}

impl NextAddress {
    /// Another sender begins.
    pub fn begin(&mut self) {
        *self = NextAddress::default();
    }

    /// A packet came from the sender's address. Answers how many held packets are not the sender's, as is known now.
    pub fn on_packet(&mut self, now: Time, stream: StreamId, header: &RtpHeaderFields) -> u64 {
        let place = usize::from(stream.0);
        if self.newest.len() <= place {
            self.newest.resize(place + 1, None);
        }
        let RtpHeaderFields { sequence, timestamp, .. } = *header;
        let newest = &mut self.newest[place];
        let is_newer = |newest: &Newest| (sequence.wrapping_sub(newest.sequence) as i16) > 0;
        if newest.as_ref().is_none_or(is_newer) {
            *newest = Some(Newest { sequence, timestamp, at: now });
        }
        self.heard = now;
        let Some(candidate) = &self.candidate else { return 0 };
        // A number that the other has used: one of both is not the sender.
        let reaches = candidate.stream == stream && (sequence.wrapping_sub(candidate.sequence) as i16) >= 0;
        if reaches { self.dismiss() } else { 0 }
    }

    /// A packet of one of the sender's streams came from another address. Answers also how many held packets are not the sender's, as is
    /// known now.
    pub fn on_elsewhere(
        &mut self,
        now: Time,
        datagram: &Datagram<'_>,
        stream: StreamId,
        header: &RtpHeaderFields,
    ) -> (Elsewhere, u64) {
        let newest = self.newest.get(usize::from(stream.0)).copied().flatten();
        let goes_on = newest.is_some_and(|newest| newest.goes_on(now, header));
        let is_gone = |candidate: &Candidate| now.saturating_since(candidate.heard) >= GONE;
        let is_other = |candidate: &Candidate| candidate.from != datagram.from;
        let mut dismissed = 0;
        match &self.candidate {
            Some(candidate) if is_other(candidate) && !is_gone(candidate) => return (Elsewhere::Foreign, 0),
            Some(candidate) if is_other(candidate) || !goes_on => dismissed = self.dismiss(),
            _ => {}
        }
        if !goes_on {
            return (Elsewhere::Foreign, dismissed);
        }
        let candidate = self.candidate.get_or_insert_with(|| Candidate {
            from: datagram.from,
            stream,
            sequence: header.sequence,
            heard: now,
            held: VecDeque::new(),
        });
        candidate.heard = now;
        if candidate.held.len() == MOST_HELD {
            dismissed += 1;
            candidate.held.pop_front();
        }
        candidate.held.push_back(HeldDatagram::of(datagram));
        if candidate.held.len() < 2 || now.saturating_since(self.heard) < SETTLED {
            return (Elsewhere::Held, dismissed);
        }
        self.taken.append(&mut candidate.held);
        self.candidate = None;
        (Elsewhere::Moved, dismissed)
    }

    /// The next datagram that was held and is the sender's, in the order in which they came.
    pub fn poll(&mut self) -> Option<HeldDatagram> {
        self.taken.pop_front()
    }

    /// Forgets who may have been the sender elsewhere. Answers how many of its packets were held.
    fn dismiss(&mut self) -> u64 {
        self.candidate.take().map_or(0, |candidate| candidate.held.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use crate::agreed::Agreed;
    use crate::output::NetCounters;
    use crate::peer::SenderFilter;
    use crate::socket::Datagram;
    use crate::socket::tests::datagram;
    use paceline_units::Time;
    use paceline_wire::rtp::{self, RtpHeaderFields};
    use std::net::SocketAddr;

    struct Filtered {
        filter: SenderFilter,
        counters: NetCounters,
        /// Numbers of the packets that were admitted, in their order, and whether a sender began with each.
        admitted: Vec<(u16, bool)>,
    }

    impl Filtered {
        fn new() -> Filtered {
            Filtered {
                filter: SenderFilter::new(None, 1),
                counters: NetCounters::default(),
                admitted: Vec::new(),
            }
        }

        fn admit(&mut self, millis: u64, datagram: &Datagram<'_>) {
            let now = Time::from_nanos(millis * 1_000_000);
            if let Some(packet) = self.filter.admit(now, datagram, &mut self.counters) {
                self.admitted.push((packet.view.header.sequence, packet.new));
            }
        }

        /// A packet of SSRC 7 from a port, with this number and timestamp.
        fn packet(&mut self, millis: u64, port: u16, sequence: u16, timestamp: u32) {
            let (mut bytes, from) = (Vec::new(), SocketAddr::from(([192, 0, 2, 1], port)));
            let payload_type = Agreed::OWN.payload_type;
            let header = RtpHeaderFields { payload_type, ssrc: 7, sequence, timestamp, marker: false };
            rtp::encode(&header, 10, 0, &mut bytes).expect("a header");
            self.admit(millis, &Datagram { from, ..datagram(&bytes) });
            while let Some(held) = self.filter.poll_held() {
                self.admit(millis, &held.datagram());
            }
        }

        /// Packets from a port, one each 10 ms, which all come; the timestamps are those of 90 kHz.
        fn packets(&mut self, port: u16, sequences: std::ops::Range<u16>) {
            for sequence in sequences {
                self.packet(u64::from(sequence) * 10, port, sequence, u32::from(sequence) * 900);
            }
        }

        fn numbers(&self) -> Vec<u16> {
            self.admitted.iter().map(|(number, _)| *number).collect()
        }

        fn said(&self) -> String {
            self.filter.warnings().collect::<Vec<_>>().join("; ")
        }
    }

    #[test]
    fn a_sender_goes_on_from_another_address_and_no_packet_is_lost() {
        let mut call = Filtered::new();
        call.packets(1, 0..100);
        call.packets(2, 100..119);
        assert_eq!(call.numbers(), (0..100).collect::<Vec<_>>(), "not silent for long enough");
        call.packets(2, 119..200);
        assert_eq!(call.numbers(), (0..200).collect::<Vec<_>>());
        assert_eq!(call.admitted.iter().filter(|(_, new)| *new).count(), 1, "one sender");
        assert_eq!((call.counters.sender_moves, call.counters.unknown_peers), (1, 0));
        assert_eq!(call.filter.address().map(|address| address.port()), Some(2));
        assert!(call.said().contains("went on from 192.0.2.1:2 at 1.2 s"), "{}", call.said());
        // And back, after an outage.
        call.packets(1, 400..500);
        assert_eq!(call.numbers(), (0..200).chain(400..500).collect::<Vec<_>>());
        assert_eq!((call.counters.sender_moves, call.counters.unknown_peers), (2, 0));
    }

    /// Packets under way from the address before come among the packets from the next.
    #[test]
    fn packets_of_both_addresses_overtake_each_other() {
        let mut call = Filtered::new();
        call.packets(1, 0..100);
        for late in 0..10 {
            call.packet(1000 + 10 * u64::from(late), 2, 110 + late, 99_000);
            call.packet(1005 + 10 * u64::from(late), 1, 100 + late, 90_000);
        }
        call.packets(2, 120..200);
        let mut numbers = call.numbers();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..200).collect::<Vec<_>>());
        assert_eq!((call.counters.sender_moves, call.counters.unknown_peers), (1, 0));
    }

    #[test]
    fn who_copies_a_sender_that_is_there_does_not_become_it() {
        let mut call = Filtered::new();
        call.packets(1, 0..100);
        for sequence in 100..400u16 {
            let (millis, timestamp) = (u64::from(sequence) * 10, u32::from(sequence) * 900);
            call.packet(millis, 2, sequence + 1, timestamp);
            call.packet(millis + 5, 1, sequence, timestamp);
        }
        assert_eq!(call.numbers(), (0..400).collect::<Vec<_>>());
        assert_eq!((call.counters.sender_moves, call.counters.second_senders), (0, 0));
        assert!(call.counters.unknown_peers >= 299, "{:?}", call.counters);
    }

    /// A stranger who knows the SSRC and not the numbers does not take over a call that pauses for less than a second, and begins another
    /// after that.
    #[test]
    fn who_knows_the_ssrc_alone_does_not_go_on_with_a_call() {
        let mut call = Filtered::new();
        call.packets(1, 30_000..30_100);
        for guess in 0..6000u16 {
            // Each from a port of its own; every number is near for some of them, and every timestamp far.
            let timestamp = u32::from(guess).wrapping_mul(1_000_003).wrapping_add(1 << 31);
            call.packet(301_000 + u64::from(guess) / 8, 3 + guess, guess.wrapping_mul(11), timestamp);
        }
        assert_eq!(call.counters.sender_moves, 0);
        call.packets(1, 30_180..30_200);
        assert_eq!(call.numbers(), (30_000..30_100).chain(30_180..30_200).collect::<Vec<_>>());
        // From one address, for long.
        for n in 0..20u16 {
            call.packet(303_500 + 10 * u64::from(n), 2, 5000 + n, 7);
        }
        assert_eq!(call.counters.sender_moves, 0);
        assert_eq!(call.admitted.last(), Some(&(5019, false)));
        assert!(call.said().contains("fell silent"), "{}", call.said());
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut call = Filtered::new();
        call.packets(1, 0..10);
        for n in 0..5000u16 {
            let millis = 90 + u64::from(n) / 50;
            call.packet(millis, 2, 10 + n % 2000, 9000);
        }
        assert_eq!((call.admitted.len(), call.counters.unknown_peers), (10, 5000 - 1024));
    }
}
