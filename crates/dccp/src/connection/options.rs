//! Step 8 of RFC 4340 section 8.5: options, in order, and what acknowledgements tell.

use super::state::Numbers;
use super::{Connection, Event, State};
use crate::ccids::{CCID_3, Ccids};
use crate::feature::FeatureId;
use crate::negotiation::{FeatureChange, Location, NegotiationState, reason};
use crate::sent::AckOptions;
use paceline_cc::ccid::{CcidReport, LossInterval, LossIntervalsReport};
use paceline_cc::{Controller, PacketsReport, ReceiverReport, Report};
use paceline_units::{Bitrate, Time, TimeDelta};
use paceline_wire::dccp::{DccpOption, Packet, PacketType, ResetCode, ResetReason};
use paceline_wire::dccp::{from_time_steps, option_type, read_loss_intervals};

/// Bytes of Init Cookies that are echoed at most: with more there is no room for anything else.
const LONGEST_COOKIES: usize = 640;

/// The Sequence Window does not grow beyond: more packets are not remembered.
const WIDEST_WINDOW: u64 = 1 << 18;

/// Options of a packet that are used later.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) ndp_count: u64,
    pub(super) checksum: Option<u32>,
    elapsed: Option<u32>,
    echo: Option<(u32, u32)>,
    slow: bool,
    /// Packets per loss event (RFC 4342 section 8.5).
    loss_event_rate: Option<u32>,
    /// Bytes per second (RFC 4342 section 8.3).
    receive_rate: Option<u32>,
    /// Loss Intervals, the newest first (RFC 4342 section 8.6).
    intervals: Vec<LossInterval>,
    /// The sum of Ack Vectors and Data Dropped so far.
    told: AckOptions,
}

impl Read {
    /// The reading of no options.
    pub(super) const NOTHING: Read = Read {
        ndp_count: 0,
        checksum: None,
        elapsed: None,
        echo: None,
        slow: false,
        loss_event_rate: None,
        receive_rate: None,
        intervals: Vec::new(),
        told: AckOptions::NONE,
    };
}

impl<F: Ccids> Connection<F> {
    #[inline(always)]
    pub(super) fn read_options(
        &mut self,
        now: Time,
        packet: &Packet,
        kind: PacketType,
        numbers: Numbers,
        read: &mut Read,
    ) -> Result<(), ResetReason> {
        let (mut mandatory, mut features) = (false, false);
        if kind == PacketType::Response
            && self.state == State::PartOpen
            && numbers.sequence >= self.sequences.gsr()
        {
            // Cookies are those of the Response that is acknowledged (section 8.1.4).
            self.cookies.clear();
        }
        for option in &packet.options {
            if *option == DccpOption::Mandatory {
                if mandatory {
                    return Err(reason(ResetCode::OPTION_ERROR, option));
                }
                mandatory = kind != PacketType::Data;
                continue;
            }
            let understood = match option {
                DccpOption::ChangeL(_)
                | DccpOption::ChangeR(_)
                | DccpOption::ConfirmL(_)
                | DccpOption::ConfirmR(_) => {
                    if kind != PacketType::Data {
                        features = true;
                        let (sequence, acknowledgment) = (numbers.sequence, numbers.acknowledgment);
                        let change = self.features.receive(option, mandatory, sequence, acknowledgment)?;
                        self.on_feature(now, change);
                    }
                    true
                }
                _ => self.read_option(now, kind, numbers, option, read)?,
            };
            if mandatory && !understood {
                return Err(reason(ResetCode::MANDATORY_ERROR, option));
            }
            mandatory = false;
        }
        if mandatory {
            return Err(reason(ResetCode::OPTION_ERROR, &DccpOption::Mandatory));
        }
        if features {
            self.features.received(numbers.sequence);
        }
        Ok(())
    }

    /// One option that negotiates nothing; false if it means nothing here.
    #[inline(always)]
    fn read_option(
        &mut self,
        now: Time,
        kind: PacketType,
        numbers: Numbers,
        option: &DccpOption,
        read: &mut Read,
    ) -> Result<bool, ResetReason> {
        // The number of a Sync or SyncAck need not be the greatest received: nothing counts back from it.
        let counts_back =
            kind.has_acknowledgment() && !matches!(kind, PacketType::Sync | PacketType::SyncAck);
        // Nor is anything told of packets before the first (sections 11.4 and 11.7).
        let known =
            |told: i64| counts_back && numbers.acknowledgment.is_some_and(|newest| told <= newest + 1);
        match option {
            DccpOption::SlowReceiver => read.slow = true,
            DccpOption::InitCookie(cookie) => {
                return self.read_cookie(kind, numbers.sequence, option, cookie);
            }
            DccpOption::NdpCount(count) => read.ndp_count = *count,
            DccpOption::AckVector { vector, .. } => {
                read.told.add_vector(vector);
                return Ok(known(read.told.covered));
            }
            DccpOption::DataDropped(blocks) => {
                read.told.add_dropped(blocks);
                return Ok(known(read.told.dropped));
            }
            // The newest packet's is echoed: a late packet's is older.
            DccpOption::Timestamp(value)
                if numbers.sequence >= self.sequences.gsr() || self.pending.echo.is_none() =>
            {
                self.pending.echo = Some((*value, now));
            }
            DccpOption::Timestamp(_) => {}
            DccpOption::TimestampEcho { echo, elapsed } => read.echo = Some((*echo, *elapsed)),
            DccpOption::ElapsedTime(elapsed) if kind.has_acknowledgment() => read.elapsed = Some(*elapsed),
            DccpOption::DataChecksum(checksum) => read.checksum = Some(*checksum),
            DccpOption::Other { kind: number, data }
                if self.ccid(Location::Local) == CCID_3 && counts_back =>
            {
                let value = data.as_slice().try_into().ok().map(u32::from_be_bytes);
                match (*number, value) {
                    (option_type::LOSS_EVENT_RATE, Some(value)) => read.loss_event_rate = Some(value),
                    (option_type::RECEIVE_RATE, Some(value)) => read.receive_rate = Some(value),
                    (option_type::LOSS_INTERVALS, _) => match read_loss_intervals(data) {
                        // A second option goes on where the first left off, and skips nothing (section 8.6.1).
                        Some((skip, found)) if read.intervals.is_empty() || skip == 0 => {
                            read.intervals.extend(found);
                        }
                        _ => return Ok(false),
                    },
                    _ => return Ok(false),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Section 8.1.4: a client keeps a Response's cookies; elsewhere they are ignored.
    #[cold]
    fn read_cookie(
        &mut self,
        kind: PacketType,
        sequence: i64,
        option: &DccpOption,
        cookie: &[u8],
    ) -> Result<bool, ResetReason> {
        let newest = match self.state {
            State::Request => true,
            State::PartOpen => sequence >= self.sequences.gsr(),
            _ => false,
        };
        if kind == PacketType::Response && newest {
            let length: usize = self.cookies.iter().map(|cookie| cookie.len() + 2).sum();
            if length + option.encoded_len() > LONGEST_COOKIES {
                return Err(reason(ResetCode::OPTION_ERROR, option));
            }
            self.cookies.push(cookie.to_vec());
        }
        Ok(true)
    }

    #[cold]
    fn on_feature(&mut self, now: Time, change: Option<FeatureChange>) {
        let Some(change) = change else { return };
        if change.feature == FeatureId::Ccid && self.state >= State::PartOpen {
            match change.location {
                Location::Local => self.make_sender(now),
                Location::Remote => self.make_receiver(),
            }
        }
        let of_header = match change.feature {
            FeatureId::AllowShortSeqnos | FeatureId::SendNdpCount => change.location == Location::Local,
            FeatureId::SequenceWindow => true,
            _ => false,
        };
        if of_header {
            // Headers are longer or shorter now.
            self.count_queue();
            self.discard_too_large(now);
        }
        self.events.notice(Event::Feature(change));
    }

    /// Tells the packet's acknowledgements to the histories and to congestion control.
    #[inline(always)]
    pub(super) fn tell_acknowledged(
        &mut self,
        now: Time,
        packet: &Packet,
        kind: PacketType,
        numbers: Numbers,
        read: &Read,
    ) {
        if let Some((echo, elapsed)) = read.echo {
            // The clock of both ends wraps after 12 hours; what says more than a minute is not believed.
            let span = from_time_steps(time_stamp(now).wrapping_sub(echo)) - from_time_steps(elapsed);
            if !span.is_negative() && span < TimeDelta::from_secs(60) {
                self.sample(span);
            }
        }
        if read.slow {
            self.listeners.set_peer_slow(now + self.rtt());
            self.report(now, &Report::Ccid(CcidReport::SlowReceiver));
        }
        let Some(acknowledgment) = numbers.acknowledgment else { return };
        if kind == PacketType::SyncAck
            && let Some(sent) = self.sent.sent_at(acknowledgment)
        {
            self.sample(now.saturating_since(sent));
            if self.path.on_sync_ack(now, acknowledgment) {
                let max = self.max_datagram();
                self.events.notice(Event::MaxDatagram(max));
            }
        }
        if matches!(kind, PacketType::Sync | PacketType::SyncAck) {
            return;
        }
        let told = self.sent.on_acknowledged(acknowledgment, &packet.options, &read.told);
        let elapsed = from_time_steps(read.elapsed.unwrap_or(0));
        if let Some(sent) = told.newest_sent {
            self.sample(now.saturating_since(sent) - elapsed);
        }
        self.received.on_acknowledged(acknowledgment);
        self.acks.of_acknowledgment |= read.told.any;
        if told.not_listening && self.listeners.stop_peer() {
            self.discard_queue(now);
            self.events.notice(Event::NotListening);
        }
        self.tell_sender(now, acknowledgment, read);
        self.widen_window(now, acknowledgment);
        // A packet before the window of acknowledgements is never asked for again.
        self.sent.forget_before(self.sequences.gss() + 1 - 2 * self.window(Location::Local));
    }

    /// The Sequence Window is to be about five times what is sent in a round trip (section 7.5.2).
    fn widen_window(&mut self, now: Time, acknowledgment: i64) {
        let lately = |sent: Time| now.saturating_since(sent) <= self.rtt() * 2;
        let (location, window) = (Location::Local, FeatureId::SequenceWindow);
        let (wanted, value) = (
            5 * (self.sequences.gss() - acknowledgment).unsigned_abs(),
            self.features.value(location, window),
        );
        let stable = self.features.state(location, window) == NegotiationState::Stable;
        if value < wanted.min(WIDEST_WINDOW)
            && stable
            && self.sent.sent_at(acknowledgment).is_some_and(lately)
        {
            self.features.announce(window, wanted.next_power_of_two().min(WIDEST_WINDOW));
        }
    }

    /// Something came back for congestion control.
    #[inline(never)]
    pub(super) fn report(&mut self, now: Time, report: &Report<'_>) {
        self.steer(now, |sender| sender.on_report(now, report));
    }

    /// Drops come before the report of the same acknowledgement.
    #[inline(always)]
    fn tell_sender(&mut self, now: Time, acknowledgment: i64, read: &Read) {
        let tfrc = self.ccid(Location::Local) == CCID_3;
        let Some(sender) = &mut self.sender else { return };
        let dropped = self.sent.dropped.as_slice();
        if !dropped.is_empty() {
            let update = sender.on_report(now, &Report::Ccid(CcidReport::DataDropped(dropped)));
            self.apply(now, update);
        }
        if tfrc {
            self.tell_feedback(now, acknowledgment, read);
            return;
        }
        let packets = self.sent.results.as_slice();
        if let (Some(sender), false) = (&mut self.sender, packets.is_empty()) {
            let report = PacketsReport { packets, clock_step: TimeDelta::ZERO, ambiguous: false };
            let update = sender.on_report(now, &Report::Packets(report));
            self.apply(now, update);
        }
    }

    /// CCID 3's feedback packet (RFC 4342 section 6): what is no such packet lacks the receive rate or the time elapsed.
    #[cold]
    fn tell_feedback(&mut self, now: Time, acknowledgment: i64, read: &Read) {
        let Some(newest_sent) = self.sent.sent_at(acknowledgment) else { return };
        let Some(rate) = read.receive_rate else { return };
        let Some(elapsed) = read.elapsed.or(read.echo.map(|(_, elapsed)| elapsed)) else { return };
        let elapsed = from_time_steps(elapsed);
        let receive_rate = Bitrate::from_bps(u64::from(rate) * 8);
        if !read.intervals.is_empty() {
            let intervals = read.intervals.as_slice();
            let report = LossIntervalsReport { intervals, receive_rate, newest_sent, elapsed };
            self.report(now, &Report::Ccid(CcidReport::LossIntervals(report)));
        } else if let Some(inverse) = read.loss_event_rate {
            let loss_event_rate = if inverse == u32::MAX { 0.0 } else { 1.0 / f64::from(inverse.max(1)) };
            let newest_sent = Some(newest_sent);
            let report = ReceiverReport::Tfrc { loss_event_rate, receive_rate, newest_sent, delay: elapsed };
            self.report(now, &Report::Receiver(report));
        }
    }
}

/// The clock of our Timestamp options: steps of 10 us.
pub(super) fn time_stamp(now: Time) -> u32 {
    (now.as_nanos() / 10_000) as u32
}
