//! A packet arrives: the sixteen steps of RFC 4340 section 8.5. Step 1 is `wire`'s, step 3 [`crate::Host`]'s.

use super::options::Read;
use super::state::Numbers;
use super::{Connection, Event, Repeat, State};
use crate::acknowledge::Acknowledge;
use crate::ccids::Ccids;
use crate::feature::FeatureId;
use crate::negotiation::Location;
use crate::received::Arrived;
use paceline_cc::ccid::DropCode;
use paceline_cc::ccid::{CcidReceiver, CcidReport};
use paceline_cc::{Annotation, Arrival, ReceiverHalf, Report, StreamId};
use paceline_units::{Ecn, Time};
use paceline_wire::dccp::{
    Body, DccpOption, Packet, PacketType, Payload, ResetCode, ResetReason, SequenceNumber,
};

/// Numbers count from the first packet on: what is further ahead no sender reaches by sending, and it must not overflow.
const FARTHEST: i64 = 1 << 62;

/// A valid packet, as its history, its options and IP show it.
struct Accepted {
    numbers: Numbers,
    arrived: Arrived,
    /// Packets without data directly before it, as it says (section 7.7).
    ndp_count: u64,
    /// Whether a Data Checksum says that the payload is not what was sent (section 9.3).
    corrupt: bool,
    ecn: Ecn,
}

/// A packet's payload is for the application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    /// Whether it is not what was sent.
    pub(super) corrupt: bool,
}

impl<F: Ccids> Connection<F> {
    /// A packet arrived, with this mark. Whatever it says, nothing panics; what is invalid gets the answer that the RFC
    /// prescribes, which is often none.
    pub fn on_packet(&mut self, now: Time, packet: Packet, ecn: Ecn) {
        if let Some(delivered) = self.take_packet(now, &packet, ecn) {
            let sequence = packet.full_sequence(self.newest_received());
            self.keep_delivered(sequence, packet.payload, delivered);
        }
    }

    /// As [`Connection::on_packet`], for an application that takes at once what is for it: the payload, if it is delivered.
    /// Compiled for each type that an open connection mostly sees, and once for all others: what depends on the type is decided
    /// here.
    #[inline(always)]
    pub(crate) fn take_packet(&mut self, now: Time, packet: &Packet, ecn: Ecn) -> Option<Delivered> {
        match packet.packet_type() {
            PacketType::Data => self.take_plain_data(now, packet, ecn),
            PacketType::Ack => self.take_ack(now, packet, ecn),
            kind => self.take_other(now, packet, kind, ecn),
        }
    }

    #[inline(never)]
    fn take_plain_data(&mut self, now: Time, packet: &Packet, ecn: Ecn) -> Option<Delivered> {
        self.take(now, packet, PacketType::Data, ecn)
    }

    #[inline(never)]
    fn take_ack(&mut self, now: Time, packet: &Packet, ecn: Ecn) -> Option<Delivered> {
        self.take(now, packet, PacketType::Ack, ecn)
    }

    #[inline(never)]
    fn take_other(&mut self, now: Time, packet: &Packet, kind: PacketType, ecn: Ecn) -> Option<Delivered> {
        self.take(now, packet, kind, ecn)
    }

    #[inline(always)]
    fn take(&mut self, now: Time, packet: &Packet, kind: PacketType, ecn: Ecn) -> Option<Delivered> {
        if packet.ports != self.ports.reversed() || packet.short && !kind.may_be_short() {
            self.counters.ignored += 1;
            return None;
        }
        // Step 2.
        if matches!(self.state, State::Closed | State::TimeWait) {
            self.answer_without_connection(now, packet);
            return None;
        }
        // Step 4.
        if self.state == State::Request && !self.prepare_request(now, packet) {
            self.counters.ignored += 1;
            return None;
        }
        let Some(numbers) = self.validate(now, packet, kind) else {
            self.counters.ignored += 1;
            return None;
        };
        self.heard.on_valid(now);
        // Step 7.
        if self.is_unexpected(kind, numbers.sequence) {
            self.counters.ignored += 1;
            self.sync(now, Some(packet.full_sequence(self.newest_received())));
            return None;
        }
        self.accept_valid(now, packet, kind, numbers, ecn)
    }

    /// Step 4: only a Response and a Reset that acknowledge a Request are valid in REQUEST.
    #[cold]
    fn prepare_request(&mut self, now: Time, packet: &Packet) -> bool {
        let acknowledged = self.acknowledged(packet).is_some_and(|number| self.acknowledgment_window(number));
        match packet.packet_type() {
            PacketType::Response if acknowledged => self.sequences.begin(packet.sequence, true),
            PacketType::Reset if acknowledged => self.sequences.begin(packet.sequence, false),
            // No reset answers a reset: two ends in REQUEST would go on for ever.
            PacketType::Reset => return false,
            kind => {
                self.refuse_in_request(now, packet, ResetReason::packet_error(kind), acknowledged);
                return false;
            }
        }
        true
    }

    /// Section 7.5.6's last example. A packet that acknowledges a Request gets a reset with our next number. Another packet says
    /// where the other end believes us to be, which may be far from there: its numbers are taken (section 8.3.1).
    fn refuse_in_request(&mut self, now: Time, packet: &Packet, reason: ResetReason, acknowledged: bool) {
        if !self.resets.allows(now, &mut self.counters.limited) {
            return;
        }
        self.pending.reset = if acknowledged || packet.body.acknowledgment().is_none() {
            let body = Body::Reset { acknowledgment: packet.sequence, reason };
            Some(self.emit(now, body, Payload::EMPTY).packet)
        } else {
            packet.reset_without_connection(reason)
        };
    }

    #[inline(always)]
    fn acknowledged(&self, packet: &Packet) -> Option<i64> {
        let reference = self.sequences.newest_sent();
        packet.body.acknowledgment().map(|number| {
            let number = if packet.short { SequenceNumber::extend(number.low(), reference) } else { number };
            self.sequences.of_sent(number)
        })
    }

    pub(super) fn window(&self, location: Location) -> i64 {
        // At most 2^46 - 1 (section 7.5.2).
        self.features.value(location, FeatureId::SequenceWindow) as i64
    }

    /// [SWL, SWH] (section 7.5.1).
    pub(super) fn sequence_window(&self) -> (i64, i64) {
        self.sequences.sequence_window(self.window(Location::Remote))
    }

    /// AWL <= number <= AWH (section 7.5.1).
    fn acknowledgment_window(&self, number: i64) -> bool {
        self.sequences.is_in_acknowledgment_window(number, self.window(Location::Local))
    }

    /// Steps 5 and 6: the packet's numbers if they are valid.
    #[inline(always)]
    fn validate(&mut self, now: Time, packet: &Packet, kind: PacketType) -> Option<Numbers> {
        if packet.short && !self.features.is_on(Location::Remote, FeatureId::AllowShortSeqnos) {
            return None;
        }
        let newest = self.newest_received();
        let numbers = Numbers {
            sequence: self.sequences.of_received(packet.full_sequence(newest)),
            acknowledgment: self.acknowledged(packet),
        };
        let (sequence, acknowledgment) = (numbers.sequence, numbers.acknowledgment);
        let (low, high) = self.sequence_window();
        let acknowledges = acknowledgment.is_none_or(|number| self.acknowledgment_window(number));
        let (low, high, acknowledges) = match kind {
            // More stringent while packets arrive (section 7.5.3).
            PacketType::Sync | PacketType::SyncAck => {
                let active = self.heard.silence(now) <= self.rtt() * 3 && self.received.newest().is_some();
                (low, if active { high } else { FARTHEST }, acknowledges)
            }
            // From GAR on, though that be before AWL.
            PacketType::CloseReq | PacketType::Close | PacketType::Reset => {
                let known = acknowledgment.is_some_and(|number| self.sequences.is_from_gar(number));
                (self.sequences.gsr() + 1, high, known)
            }
            _ => (low, high, acknowledges),
        };
        if sequence > FARTHEST {
            return None;
        }
        if !acknowledges || !(low..=high).contains(&sequence) {
            // Section 7.5.4.
            if !matches!(kind, PacketType::Sync | PacketType::SyncAck) {
                let number = (kind != PacketType::Reset).then(|| packet.full_sequence(newest));
                self.sync(now, number);
            }
            return None;
        }
        self.sequences.count_received(sequence, acknowledgment.filter(|_| kind != PacketType::Sync));
        Some(numbers)
    }

    /// A Sync is to go, limited in rate (section 7.5.4).
    #[cold]
    fn sync(&mut self, now: Time, number: Option<SequenceNumber>) {
        if self.syncs.allows(now, &mut self.counters.limited) {
            self.pending.sync = Some(number);
        }
    }

    /// Step 7.
    #[inline(always)]
    fn is_unexpected(&self, kind: PacketType, sequence: i64) -> bool {
        let late = self.state >= State::Open && self.sequences.is_since_open(sequence);
        match kind {
            PacketType::CloseReq => self.server,
            PacketType::Response => self.server || late,
            PacketType::Request => !self.server || late,
            PacketType::Data => self.state == State::Respond,
            _ => false,
        }
    }

    /// Step 2: no reset answers a reset, and they are limited in rate.
    #[cold]
    fn answer_without_connection(&mut self, now: Time, packet: &Packet) {
        self.counters.ignored += 1;
        let answer = packet.reset_without_connection(ResetReason::new(ResetCode::NO_CONNECTION));
        if answer.is_some() && self.resets.allows(now, &mut self.counters.limited) {
            self.pending.reset = answer;
        }
    }

    /// Steps 8 to 16.
    #[inline(always)]
    fn accept_valid(
        &mut self,
        now: Time,
        packet: &Packet,
        kind: PacketType,
        numbers: Numbers,
        ecn: Ecn,
    ) -> Option<Delivered> {
        let arrived = self.received.look(numbers.sequence);
        // In PARTOPEN any packet says that the server is there, with the number of a forgotten Response too.
        let duplicate = matches!(arrived, Arrived::Duplicate);
        if duplicate && kind.may_be_short() && self.state != State::PartOpen {
            self.counters.duplicates += 1;
            return None;
        }
        // Step 8.
        let mut said;
        let read = if packet.options.is_empty() && kind.may_be_short() {
            const { &Read::NOTHING }
        } else {
            said = Read::NOTHING;
            if let Err(reason) = self.read_options(now, packet, kind, numbers, &mut said) {
                self.reset(now, reason);
                return None;
            }
            &said
        };
        self.counters.received += 1;
        let corrupt = read.checksum.is_some_and(|checksum| checksum != packet.payload.crc32c());
        let accepted = Accepted { numbers, arrived, ndp_count: read.ndp_count, corrupt, ecn };
        self.mark(now, kind, &accepted);
        if !kind.may_be_short() && self.is_ended_by(now, packet) {
            return None;
        }
        let first_response = self.state == State::Request;
        if self.state < State::Open || self.server && !self.proven {
            self.advance(now, kind, numbers);
        }
        // After that: the packet that opens a server may be the first with data.
        if !duplicate {
            self.tell_receiver(now, packet, kind, &accepted);
        }
        // A client that returns a cookie is in PARTOPEN, whatever it acknowledges: forgotten Responses have numbers too.
        let cookie = |option: &DccpOption| matches!(option, DccpOption::InitCookie(_));
        if self.server && self.state == State::Open && packet.options.iter().any(cookie) {
            self.acks.at_once(now);
        }
        self.tell_acknowledged(now, packet, kind, numbers, read);
        if !kind.may_be_short() && self.is_closed_by(now, packet) {
            return None;
        }
        // Step 16.
        self.take_data(now, packet, kind, &accepted, first_response)
    }

    /// Step 9, and a Response for another service: whether the connection is over.
    #[cold]
    fn is_ended_by(&mut self, now: Time, packet: &Packet) -> bool {
        match packet.body {
            Body::Reset { reason, .. } => self.end(now, State::TimeWait, reason, true),
            Body::Response { service, .. } if self.state == State::Request && service != self.service => {
                self.reset(now, ResetReason::new(ResetCode::BAD_SERVICE_CODE));
            }
            _ => return false,
        }
        true
    }

    /// Steps 13 to 15: whether the connection is over.
    #[cold]
    fn is_closed_by(&mut self, now: Time, packet: &Packet) -> bool {
        match packet.packet_type() {
            PacketType::CloseReq if self.state < State::CloseReq => self.enter_closing(now, State::Closing),
            PacketType::Close => {
                self.reset(now, ResetReason::new(ResetCode::CLOSED));
                return true;
            }
            PacketType::Sync => self.pending.sync_ack = Some(packet.sequence),
            _ => {}
        }
        false
    }

    /// Marks the packet as acknowledgeable (section 7.4).
    #[inline(always)]
    fn mark(&mut self, now: Time, kind: PacketType, accepted: &Accepted) {
        let &Accepted { numbers, arrived, ndp_count, ecn, .. } = accepted;
        let marked = self.reads_as_marked(ecn);
        self.received.accept(numbers.sequence, arrived, marked);
        match arrived {
            Arrived::New { missing } => {
                self.heard.on_newest(now);
                if missing > 0 && i128::from(ndp_count) < i128::from(missing) {
                    self.counters.data_gaps += 1;
                }
            }
            Arrived::Late => {}
            Arrived::Duplicate => return,
        }
        // Nobody asks for old states where there are no Ack Vectors.
        if !self.features.is_on(Location::Local, FeatureId::SendAckVector) {
            let kept = self.window(Location::Remote) / 4 + 1;
            self.received.keep(kept);
        }
        let acknowledgments = self.ack_path.on_packet(numbers.sequence as u64, marked && !kind.is_data());
        if let Some(report) = acknowledgments {
            self.report(now, &Report::Ccid(CcidReport::AckPath(report)));
        }
    }

    fn reads_as_marked(&self, ecn: Ecn) -> bool {
        ecn.is_ce() && self.features.value(Location::Local, FeatureId::EcnIncapable) == 0
    }

    /// The receiver half sees each number, and of data what the sender put on it.
    #[inline(always)]
    fn tell_receiver(&mut self, now: Time, packet: &Packet, kind: PacketType, accepted: &Accepted) {
        if self.receiver.is_none() {
            return;
        }
        let (marked, header) =
            (self.reads_as_marked(accepted.ecn), kind.header_with(packet.short, &packet.options));
        let size = self.counted_size(header, packet.short, packet.payload.len());
        let sequence = accepted.numbers.sequence as u64;
        let Some(receiver) = &mut self.receiver else { return };
        self.pending.report |= match kind {
            PacketType::Data | PacketType::DataAck => {
                let ecn = if marked || accepted.corrupt { Ecn::Ce } else { Ecn::NotEct };
                let annotation = Some(Annotation::Counter(packet.ccval));
                let arrival = Arrival { stream: StreamId(0), sequence, size, sent: None, ecn, annotation };
                receiver.on_arrival(now, &arrival)
            }
            _ => receiver.on_non_data(now, sequence),
        };
    }

    /// Steps 10 to 12: the handshake goes on.
    #[cold]
    fn advance(&mut self, now: Time, kind: PacketType, numbers: Numbers) {
        match self.state {
            State::Request => {
                self.enter(now, State::PartOpen);
                self.repeat = Some(Repeat { due: now, interval: self.config.partopen_interval });
                self.make_halves(now);
                self.events.push(Event::Connected);
            }
            State::Respond if kind == PacketType::Request => self.pending.response = true,
            State::Respond => {
                self.enter_open(now, numbers.sequence);
                self.make_halves(now);
                self.events.push(Event::Connected);
                // The client waits in PARTOPEN for any packet from OPEN (section 8.1, line 4).
                self.answer_part_open(now, kind);
            }
            State::PartOpen if kind == PacketType::Response => self.acks.at_once(now),
            State::PartOpen if kind != PacketType::Sync => {
                self.enter_open(now, numbers.sequence);
                self.cookies = Vec::new();
            }
            _ => {}
        }
        if let Some(number) = numbers.acknowledgment.filter(|_| self.server && !self.proven) {
            // A client that had but a Sync from OPEN is in PARTOPEN still (step 12).
            self.proven = self.sequences.was_sent_open(number) && self.sent.was_no_sync(number);
            if !self.proven
                && self.state == State::Open
                && matches!(kind, PacketType::Ack | PacketType::DataAck)
            {
                // Still in PARTOPEN: what we sent was lost.
                self.answer_part_open(now, kind);
            }
        }
    }

    /// Data is acknowledged in any case, if only after a while.
    fn answer_part_open(&mut self, now: Time, kind: PacketType) {
        if self.config.ack_at_once || kind != PacketType::DataAck {
            self.acks.at_once(now);
        }
    }

    fn enter_open(&mut self, now: Time, sequence: i64) {
        self.sequences.open(sequence);
        self.enter(now, State::Open);
    }

    /// Application data: step 16, checksums, drop codes, and when to acknowledge.
    #[inline(always)]
    fn take_data(
        &mut self,
        now: Time,
        packet: &Packet,
        kind: PacketType,
        accepted: &Accepted,
        first_response: bool,
    ) -> Option<Delivered> {
        let &Accepted { numbers, arrived, corrupt, ecn, .. } = accepted;
        let data = match kind {
            PacketType::Data | PacketType::DataAck => true,
            PacketType::Request | PacketType::Response => !packet.payload.is_empty(),
            _ => {
                if corrupt {
                    // Section 9.3: reported though the area means nothing.
                    self.received.set_dropped(numbers.sequence, DropCode::Corrupt);
                    self.counters.data_dropped += 1;
                }
                return None;
            }
        };
        let mut delivered = None;
        if data && !matches!(arrived, Arrived::Duplicate) {
            self.heard.on_data(now, numbers.sequence);
            let once = match kind {
                PacketType::Request => self.state == State::Respond && !self.early_received,
                PacketType::Response => first_response,
                _ => true,
            };
            let verdict = if once && self.accepts_data(packet) {
                self.early_received = true;
                self.deliver(corrupt)
            } else {
                Err(DropCode::ProtocolConstraints)
            };
            delivered = verdict.ok();
            if let Some(code) = verdict.err().or(corrupt.then_some(DropCode::DeliveredCorrupt)) {
                self.received.set_dropped(numbers.sequence, code);
                self.counters.data_dropped += 1;
            }
        }
        if !matches!(kind, PacketType::Data | PacketType::DataAck) || self.receiver.is_some() {
            return delivered;
        }
        let at_once = self.config.ack_at_once;
        let out_of_order = at_once && !matches!(arrived, Arrived::New { missing: 0 });
        let marked = at_once && ecn.is_ce();
        let ratio = self.features.value(Location::Remote, FeatureId::AckRatio);
        let (delay, rtt) = (self.config.ack_delay, self.rtt());
        Acknowledge::on_data(&mut self.acks, now, ratio, delay, out_of_order, marked, rtt);
        delivered
    }

    /// Whether the protocol lets this packet's data in (sections 9.2.1 and 12.1).
    #[inline]
    fn accepts_data(&self, packet: &Packet) -> bool {
        let minimum = self.features.value(Location::Local, FeatureId::MinimumCoverage);
        let covered = packet.coverage == 0 || minimum > 0 && u64::from(packet.coverage) >= minimum;
        let marks_agreed =
            !self.config.ecn_incapable || self.features.is_on(Location::Local, FeatureId::EcnIncapable);
        covered && marks_agreed
    }

    /// The greatest number received.
    fn newest_received(&self) -> SequenceNumber {
        self.sequences.newest_received()
    }
}
