//! The next packet to send: RFC 4340 sections 8 and 11, one packet at a time.

use super::options::time_stamp;
use super::{Connection, State};
use crate::ccids::{CCID_3, Ccids};
use crate::feature::FeatureId;
use crate::negotiation::{LONGEST_INTERVAL, Location};
use core::ops::ControlFlow;
use paceline_cc::ccid::{CcidReceiver, LossInterval};
use paceline_cc::{Allowance, Annotation, Controller, ReceiverHalf, ReceiverReport, SentPacket, StreamId};
use paceline_ends::Transmit;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::dccp::LONGEST_HEADER;
use paceline_wire::dccp::{
    Body, DccpOption, Options, Packet, PacketType, Payload, SequenceNumber, loss_intervals_option,
};
use paceline_wire::dccp::{option_type, time_steps};

/// Room for the small options that a packet has besides: Elapsed Time, Timestamp and its echo, NDP Count, Data Checksum,
/// Slow Receiver, CCID 3's rates.
const SMALL_OPTIONS: usize = 52;
/// The most that Ack Vectors and Data Dropped take, each.
const LONGEST_VECTORS: usize = 3 * 255;
/// Room for the longest Loss Intervals, of a receiver half that has some.
const LOSS_INTERVALS: usize = 3 + 9 * LossInterval::MOST;
/// Room for the largest feature option with Mandatory before it.
const LARGEST_FEATURE: usize = 256;
/// Vectors on an acknowledgement have this room however narrow the path is.
const LEAST_VECTORS: usize = 16;
/// An acknowledgement that waited longer says how long.
const WORTH_TELLING: TimeDelta = TimeDelta::from_millis(1);

impl<F: Ccids> Connection<F> {
    /// The next packet to send now. Call until there is none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Packet>> {
        if self.state != State::Open
            || self.pending.has_packets()
            || self.close_requested
            || self.path.due.is_some()
        {
            match self.poll_control(now) {
                ControlFlow::Break(out) => return out,
                ControlFlow::Continue(()) => {}
            }
        }
        if self.pacer.next() <= now && self.data_due().is_some() {
            return self.poll_data(now);
        }
        self.poll_acknowledgment(now)
    }

    /// A packet that goes before data and acknowledgements; none, where they may not go.
    #[inline(never)]
    fn poll_control(&mut self, now: Time) -> ControlFlow<Option<Transmit<Packet>>> {
        if self.pending.reset.is_some() {
            return ControlFlow::Break(self.poll_reset(now));
        }
        match self.state {
            State::Closed | State::TimeWait => return ControlFlow::Break(None),
            State::Request => {
                let body = Body::Request { service: self.service };
                let out = self.repeats(now).then(|| self.emit(now, body, self.early.clone()));
                return ControlFlow::Break(out);
            }
            State::Respond if core::mem::take(&mut self.pending.response) => {
                let body = Body::Response { acknowledgment: self.acknowledgment(), service: self.service };
                return ControlFlow::Break(Some(self.emit(now, body, Payload::EMPTY)));
            }
            _ => {}
        }
        if self.pending.sync.is_some() || self.pending.sync_ack.is_some() {
            return ControlFlow::Break(self.poll_sync(now));
        }
        match self.state {
            State::Respond => return ControlFlow::Break(None),
            State::Open if self.close_requested && self.queue.is_empty() => self.begin_close(now),
            _ => {}
        }
        if matches!(self.state, State::CloseReq | State::Closing) && self.repeats(now) {
            let acknowledgment = self.acknowledgment();
            let body = match self.state {
                State::CloseReq => Body::CloseReq { acknowledgment },
                _ => Body::Close { acknowledgment },
            };
            return ControlFlow::Break(Some(self.emit(now, body, Payload::EMPTY)));
        }
        if self.state == State::Open
            && let Some(size) = self.path.poll(now)
        {
            return ControlFlow::Break(Some(self.probe(now, size)));
        }
        ControlFlow::Continue(())
    }

    #[cold]
    fn poll_reset(&mut self, now: Time) -> Option<Transmit<Packet>> {
        let packet = self.pending.reset.take()?;
        let (size, stream) = (self.size_of(&packet), StreamId(0));
        Some(Transmit { packet, size, ecn: Ecn::NotEct, stream, queued: now })
    }

    #[cold]
    fn poll_sync(&mut self, now: Time) -> Option<Transmit<Packet>> {
        if let Some(number) = self.pending.sync.take() {
            self.counters.syncs += 1;
            let acknowledgment = number.unwrap_or(self.sequences.on_wire(self.sequences.gsr().max(0)));
            return Some(self.emit(now, Body::Sync { acknowledgment }, Payload::EMPTY));
        }
        let acknowledgment = self.pending.sync_ack.take()?;
        Some(self.emit(now, Body::SyncAck { acknowledgment }, Payload::EMPTY))
    }

    /// Section 8.3.
    fn begin_close(&mut self, now: Time) {
        let state = if self.server && !self.config.hold_timewait { State::CloseReq } else { State::Closing };
        self.enter_closing(now, state);
    }

    /// Whether it is time to send again; backs off.
    fn repeats(&mut self, now: Time) -> bool {
        match &mut self.repeat {
            Some(repeat) if repeat.due <= now => {
                repeat.due = now + repeat.interval;
                repeat.interval = (repeat.interval * 2).min(LONGEST_INTERVAL.max(repeat.interval));
                true
            }
            _ => false,
        }
    }

    /// A padded Sync that asks whether the path takes more (section 14.1).
    fn probe(&mut self, now: Time, size: u64) -> Transmit<Packet> {
        let header = PacketType::Sync.fixed_header(false) as u64;
        let padding = u32::try_from(size.saturating_sub(header)).unwrap_or(0);
        let body = Body::Sync { acknowledgment: self.acknowledgment() };
        let mut probe = self.emit(now, body, Payload::dummy(padding, now));
        // Options are within the size, not on top.
        let over = probe.packet.size().as_u64().saturating_sub(size);
        probe.packet.payload = Payload::dummy(padding.saturating_sub(over as u32), now);
        self.counters.syncs += 1;
        self.path.on_probe(now, self.sequences.gss(), size, self.rtt() * 3);
        probe.size = self.size_of(&probe.packet);
        probe
    }

    /// When the datagram at the head of the queue may leave; none if there is none, or only a report changes that.
    #[inline]
    pub(crate) fn data_due(&self) -> Option<Time> {
        let head = self.queue.front()?;
        // Only a window in bytes asks how large it is.
        let in_bytes = matches!(self.allowance, Allowance::Bytes(_));
        let size = if in_bytes { self.on_link(&head.payload) } else { Bytes::ZERO };
        (self.allowance.admits(size) && self.may_send_data()).then(|| self.pacer.next())
    }

    /// The datagram at the head of the queue is due.
    #[inline(never)]
    fn poll_data(&mut self, now: Time) -> Option<Transmit<Packet>> {
        let acknowledges = self.state == State::PartOpen || self.has_news(now);
        if acknowledges && !self.fits_with_acknowledgment() {
            // Section 11.2: the acknowledgement goes by itself. In PARTOPEN the data waits for OPEN.
            if self.state == State::Open {
                self.acks.at_once(now);
            }
            return self.poll_acknowledgment(now);
        }
        let size = self.on_link(&self.queue.front()?.payload);
        let (payload, since) = self.queue.pop(size)?;
        if acknowledges {
            let body = Body::DataAck { acknowledgment: self.acknowledgment() };
            return Some(self.emit_apart(now, body, payload, since));
        }
        Some(self.emit_queued(now, Body::Data, payload, since))
    }

    /// Whether the datagram at the head of the queue fits into a packet with all that is to be acknowledged.
    pub(super) fn fits_with_acknowledgment(&self) -> bool {
        let payload = self.queue.front().map_or(0, |queued| queued.payload.len());
        let mut vectors = Options::new();
        self.vectors(&mut vectors);
        let options: usize = vectors.iter().map(DccpOption::encoded_len).sum();
        let header = PacketType::DataAck.fixed_header(self.is_short(PacketType::DataAck))
            + (self.cookies_len() + options + self.small_options()).next_multiple_of(4);
        header <= LONGEST_HEADER && (header + payload) as u64 <= self.path.mtu
    }

    /// Room that is kept for the small options and for a report.
    fn small_options(&self) -> usize {
        SMALL_OPTIONS + if self.receiver.is_some() { LOSS_INTERVALS } else { 0 }
    }

    /// Whether a data packet had better acknowledge (sections 11.1 and 11.2). Acknowledgements are acknowledged with data
    /// as long as the other end sends any, and once a round trip when it is quiescent.
    fn has_news(&self, now: Time) -> bool {
        let of_acknowledgment = self.acks.of_acknowledgment
            && self.acks.last.is_none_or(|last| now.saturating_since(last) >= self.rtt())
            && self.is_peer_quiescent(now);
        self.acks.unacknowledged > 0
            || self.acks.is_due(now)
            || self.report_is_due(now)
            || of_acknowledgment
            || self.features.wants_packet(now)
    }

    #[inline(always)]
    fn tell_sent(&mut self, now: Time, size: Bytes) {
        self.pacer.on_sent(now, size);
        self.allowance = match self.allowance {
            Allowance::Bytes(left) => Allowance::Bytes(left - size),
            Allowance::Packets(left) => Allowance::Packets(left.saturating_sub(1)),
            Allowance::Unlimited => Allowance::Unlimited,
        };
        // Under a slow receiver the rate must not grow (section 11.6): controllers do not grow what is not used.
        let app_limited = self.queue.is_empty() || self.is_peer_slow(now);
        let packet = SentPacket {
            stream: StreamId(0),
            sequence: self.sequences.gss() as u64,
            size,
            probe: None,
            app_limited,
        };
        self.steer(now, |sender| sender.on_sent(now, &packet));
    }

    fn report_is_due(&self, now: Time) -> bool {
        let timer = || self.receiver.as_ref().and_then(ReceiverHalf::next_timeout);
        self.pending.report || timer().is_some_and(|due| due <= now)
    }

    fn cookies_len(&self) -> usize {
        self.cookies.iter().map(|cookie| cookie.len() + 2).sum()
    }

    #[inline]
    fn poll_acknowledgment(&mut self, now: Time) -> Option<Transmit<Packet>> {
        let again = self.state == State::PartOpen && self.repeats(now);
        if !again && !self.acks.is_due(now) && !self.report_is_due(now) {
            if !self.features.wants_packet_alone(now, || self.rtt()) {
                return None;
            }
            self.features.on_packet_alone(now);
        }
        Some(self.emit_acknowledgment(now))
    }

    #[inline(never)]
    pub(crate) fn emit_acknowledgment(&mut self, now: Time) -> Transmit<Packet> {
        let body = Body::Ack { acknowledgment: self.acknowledgment() };
        self.emit_queued(now, body, Payload::EMPTY, now)
    }

    /// The greatest number received of an acknowledgeable packet; zero before there is one.
    pub(super) fn acknowledgment(&self) -> SequenceNumber {
        self.received.newest().map_or(SequenceNumber::ZERO, |newest| self.sequences.on_wire(newest))
    }

    fn is_short(&self, kind: PacketType) -> bool {
        kind.may_be_short() && self.state == State::Open && self.sends_short()
    }

    /// Whether data has short numbers in OPEN (section 7.6.2).
    #[inline]
    pub(super) fn sends_short(&self) -> bool {
        self.features.sends_short
    }

    /// Ack Vectors and Data Dropped for everything that is to be told.
    fn vectors(&self, out: &mut Options) {
        if self.features.is_on(Location::Local, FeatureId::SendAckVector) {
            self.received.ack_vectors(LONGEST_VECTORS, out);
        }
        self.received.data_dropped(LONGEST_VECTORS, out);
    }

    /// Makes the next packet, which never waited.
    pub(super) fn emit(&mut self, now: Time, body: Body, payload: Payload) -> Transmit<Packet> {
        self.emit_apart(now, body, payload, now)
    }

    /// As [`Connection::emit_queued`], compiled once for all packets but Data and Ack.
    #[inline(never)]
    fn emit_apart(&mut self, now: Time, body: Body, payload: Payload, queued: Time) -> Transmit<Packet> {
        self.emit_queued(now, body, payload, queued)
    }

    /// Makes the next packet, whose payload waits since `queued`: its number, its options, and what is remembered of it.
    #[inline(always)]
    fn emit_queued(&mut self, now: Time, body: Body, payload: Payload, queued: Time) -> Transmit<Packet> {
        let (kind, length) = (body.packet_type(), payload.len());
        let number = self.sequences.count_sent();
        let short = self.is_short(kind);
        let mut options = Options::new();
        if kind != PacketType::Data || self.may_have_small_options() {
            self.write_options(now, (kind, short), &payload, &mut options);
        }
        let data = matches!(kind, PacketType::Data | PacketType::DataAck);
        let (mut coverage, mut ccval) = (0, 0);
        if data {
            coverage = self.coverage(length);
            let annotation = self.sender.as_ref().and_then(|sender| sender.annotation(now, StreamId(0)));
            if let Some(Annotation::Counter(counter)) = annotation {
                ccval = counter & 15;
            }
        }
        if matches!(kind, PacketType::Ack | PacketType::DataAck) {
            self.received.told_in(number);
            self.acks.on_acknowledged(now);
        }
        if self.state == State::PartOpen {
            self.put_repeat_off(now);
        }
        self.ndp_run = if kind.is_data() { 0 } else { self.ndp_run + 1 };
        self.counters.sent += 1;
        let size = self.counted_size(kind.header_with(short, &options), short, length);
        self.sent.push(number, now, size, kind);
        if data {
            self.counters.data_sent += 1;
            self.tell_sent(now, size);
        }
        let (ports, sequence) = (self.ports, self.sequences.newest_sent());
        // Made last: a packet is large, and lies where it is returned.
        Transmit {
            packet: Packet { ports, ccval, coverage, short, sequence, body, options, payload },
            size,
            ecn: self.ecn(kind),
            stream: StreamId(0),
            queued,
        }
    }

    /// The ECN codepoint of a packet.
    #[inline]
    fn ecn(&self, kind: PacketType) -> Ecn {
        let incapable = self.features.is_on(Location::Remote, FeatureId::EcnIncapable);
        if kind.may_be_fragmented() || incapable { Ecn::NotEct } else { self.config.ect }
    }

    /// A packet that is sent again in PARTOPEN waits anew whenever a packet is sent (section 8.1.5).
    #[cold]
    fn put_repeat_off(&mut self, now: Time) {
        if let Some(repeat) = &mut self.repeat {
            repeat.due = repeat.due.max(now + self.config.partopen_interval);
        }
    }

    /// The options of a packet: Data has small ones alone.
    #[inline(always)]
    fn write_options(
        &mut self,
        now: Time,
        (kind, short): (PacketType, bool),
        payload: &Payload,
        options: &mut Options,
    ) {
        if kind == PacketType::Data {
            return self.write_small_options(now, (kind, short), payload, options);
        }
        let has_numbers = matches!(kind, PacketType::Ack | PacketType::DataAck);
        if self.state == State::PartOpen && !self.server {
            options.extend(self.cookies.iter().cloned().map(DccpOption::InitCookie));
        }
        let (fixed, cookies) = (kind.fixed_header(short) + self.small_options(), self.cookies_len());
        let mut room = LONGEST_HEADER - fixed - cookies.min(LONGEST_HEADER - fixed);
        if kind == PacketType::DataAck {
            let taken = (fixed + cookies + payload.len()) as u64;
            room = room.min(self.path.mtu.saturating_sub(taken) as usize);
        }
        let mut vectors = Options::new();
        if has_numbers {
            self.vectors(&mut vectors);
        } else if kind == PacketType::Response {
            self.received.data_dropped(LONGEST_VECTORS, &mut vectors);
        }
        let used: usize = vectors.iter().map(DccpOption::encoded_len).sum();
        if kind != PacketType::Reset && !self.features.is_settled() {
            // Features come first: what they do not fit into, they would ask for again.
            let reserved = if kind == PacketType::DataAck { used } else { 0 };
            let before = options.len();
            let handshake = matches!(kind, PacketType::Request | PacketType::Response);
            let confirms = kind.has_acknowledgment();
            let feature_room = room.saturating_sub(reserved).min(3 * LARGEST_FEATURE);
            let rtt = self.rtt();
            self.features.attach(
                now,
                self.sequences.gss(),
                rtt,
                (handshake, confirms),
                feature_room,
                options,
            );
            room -= options[before..].iter().map(DccpOption::encoded_len).sum::<usize>().min(room);
        }
        if kind == PacketType::Ack {
            // Nor is an acknowledgement larger than the path takes.
            let written = options.iter().map(DccpOption::encoded_len).sum::<usize>();
            let taken = kind.fixed_header(short) + payload.len() + written + self.small_options();
            let left = self.path.mtu.saturating_sub(taken as u64) as usize;
            room = room.min(left.max(LEAST_VECTORS));
        }
        if used > room {
            self.shorten_vectors(room, has_numbers, &mut vectors);
        }
        if options.is_empty() {
            *options = vectors;
        } else {
            options.append(&mut vectors);
        }
        if has_numbers {
            let waited = self.heard.waited(now);
            let reported = self.report_is_due(now) && self.write_report(now, options);
            if reported || waited >= WORTH_TELLING {
                options.push(DccpOption::ElapsedTime(time_steps(waited)));
            }
        }
        if self.may_have_small_options() {
            self.write_small_options(now, (kind, short), payload, options);
        }
    }

    /// Writes the vectors anew where there is so little room.
    #[cold]
    fn shorten_vectors(&self, room: usize, has_numbers: bool, vectors: &mut Options) {
        vectors.clear();
        if self.features.is_on(Location::Local, FeatureId::SendAckVector) && has_numbers {
            self.received.ack_vectors(room, vectors);
        }
        let used: usize = vectors.iter().map(DccpOption::encoded_len).sum();
        self.received.data_dropped(room - used.min(room), vectors);
    }

    /// Whether a packet may have a small option. Mostly none has.
    fn may_have_small_options(&self) -> bool {
        self.listeners.is_own_slow()
            || self.ndp_run > 0 && self.features.is_on(Location::Local, FeatureId::SendNdpCount)
            || self.config.data_checksum
            || self.pending.echo.is_some()
            || self.config.timestamps
    }

    #[cold]
    fn write_small_options(
        &mut self,
        now: Time,
        (kind, short): (PacketType, bool),
        payload: &Payload,
        options: &mut Options,
    ) {
        let mut room = match kind {
            PacketType::Data => {
                let used = kind.fixed_header(short) + payload.len();
                self.path.mtu.saturating_sub(used as u64) as usize
            }
            _ => SMALL_OPTIONS,
        };
        let mut small = |option: DccpOption, needed: bool| {
            let fits = needed || option.encoded_len().next_multiple_of(4) + 12 <= room;
            if fits {
                room = room.saturating_sub(option.encoded_len());
                options.push(option);
            }
            fits
        };
        if self.listeners.is_own_slow() {
            small(DccpOption::SlowReceiver, false);
        }
        if self.ndp_run > 0 && self.features.is_on(Location::Local, FeatureId::SendNdpCount) {
            small(DccpOption::NdpCount(self.ndp_run), true);
        }
        if self.config.data_checksum && kind.is_data() && !payload.is_empty() {
            small(DccpOption::DataChecksum(payload.crc32c()), true);
        }
        if let Some((echo, at)) = self.pending.echo {
            let elapsed = time_steps(now.saturating_since(at));
            if small(DccpOption::TimestampEcho { echo, elapsed }, false) {
                self.pending.echo = None;
            }
        }
        let data = matches!(kind, PacketType::Data | PacketType::DataAck);
        if self.config.timestamps
            && data
            && self.timestamp_sent.is_none_or(|then| now.saturating_since(then) >= self.rtt())
            && small(DccpOption::Timestamp(time_stamp(now)), false)
        {
            self.timestamp_sent = Some(now);
        }
    }

    /// CCID 3's report (RFC 4342 section 8), which is due; true if there is one.
    #[cold]
    fn write_report(&mut self, now: Time, options: &mut Options) -> bool {
        self.pending.report = false;
        let ccid_3 = self.ccid(Location::Remote) == CCID_3;
        let Some(receiver) = &mut self.receiver else { return false };
        let Some(ReceiverReport::Tfrc { loss_event_rate, receive_rate, .. }) = receiver.report(now) else {
            return false;
        };
        if !ccid_3 {
            return false;
        }
        // Rounded up; all ones without losses (section 8.5).
        let inverse = if loss_event_rate > 0.0 { (1.0 / loss_event_rate).ceil() } else { f64::INFINITY };
        let rate = u32::try_from(receive_rate.as_bps() / 8).unwrap_or(u32::MAX);
        let mut number = |kind, value: u32| {
            options.push(DccpOption::Other { kind, data: value.to_be_bytes().to_vec() });
        };
        number(option_type::LOSS_EVENT_RATE, inverse as u32);
        number(option_type::RECEIVE_RATE, rate);
        let found = receiver.loss_intervals();
        if !found.intervals.is_empty() {
            options.push(loss_intervals_option(&found));
        }
        true
    }

    /// The coverage of so much payload: what is configured, if the other end accepts it and it fits (section 9.2).
    fn coverage(&self, payload: usize) -> u8 {
        let wanted = self.config.coverage;
        let minimum = self.features.value(Location::Remote, FeatureId::MinimumCoverage);
        let accepted = minimum > 0 && u64::from(wanted) >= minimum;
        if (1..=15).contains(&wanted) && accepted && usize::from(wanted - 1) * 4 <= payload {
            wanted
        } else {
            0
        }
    }
}
