//! A media receiver's reports on the streams that it hears.

use super::incoming::{Came, IncomingStream, Picture, ReceiverCounters, ReceiverEvent};
use super::nack::Nacks;
use super::outbox::{Events, Outbox};
use super::reception::Reception;
use super::{LARGEST, PICTURES_APART, RtcpConfig};
use paceline_units::{Bitrate, Ecn, Time};
use paceline_wire::rtcp::{self, RtcpPacket, bye, ecn, nack, picture, report, sdes};
use paceline_wire::rtp::{RtpHeaderFields, RtpView};
use paceline_wire::{WireError, rtx, unwrap_sequence};

/// The most streams of a receiver.
const MOST_STREAMS: usize = 256;

#[derive(Clone, Debug)]
struct Incoming {
    config: IncomingStream,
    reception: Reception,
    /// Packets when the last report was written: of a silent stream nothing is said (RFC 3550 section 6.4).
    reported: u64,
    packets: u64,
    nacks: Option<Box<Nacks>>,
    /// SSRC of the stream that it repairs.
    repairs: Option<u32>,
    /// When a picture was last asked for, and which waits to be.
    picture: (Option<Time>, Option<Picture>),
    /// Number of the last FIR.
    request: u8,
}

impl Incoming {
    fn new(config: IncomingStream, repairs: Option<u32>) -> Incoming {
        Incoming {
            config,
            reception: Reception::new(config.clock_rate),
            reported: 0,
            packets: 0,
            nacks: config.repair.map(|repair| Box::new(Nacks::new(repair.deadline))),
            repairs,
            picture: (None, None),
            request: 0,
        }
    }
}

/// The session of a receiver: it is told of RTP packets and of RTCP that comes, and writes what goes back.
#[derive(Clone, Debug)]
pub struct ReceiverSession {
    outbox: Outbox,
    ssrc: u32,
    changed: Option<Time>,
    /// Whether reports have an ECN summary (RFC 6679 section 5.2).
    tells_ecn: bool,
    streams: Vec<Incoming>,
    events: Events<ReceiverEvent>,
    counters: ReceiverCounters,
    blocks: Vec<report::ReportBlock>,
    /// Whether a picture is to be asked for.
    picture_waits: bool,
    /// Numbers that are asked for, to write them.
    lost: Vec<u16>,
}

impl ReceiverSession {
    /// A participant of this SSRC that expects no stream yet.
    pub fn new(config: RtcpConfig, ssrc: u32) -> ReceiverSession {
        ReceiverSession {
            outbox: Outbox::new(config, "rtcp.receiver"),
            ssrc,
            changed: None,
            tells_ecn: false,
            streams: Vec::new(),
            events: Events::new(),
            counters: ReceiverCounters::default(),
            blocks: Vec::new(),
            picture_waits: false,
            lost: Vec::new(),
        }
    }

    /// Adds the ECN summary of RFC 6679 section 5.2 to each report, as both sides agreed on.
    pub fn tell_ecn(&mut self) {
        self.tells_ecn = true;
    }

    /// The session has this bandwidth from the next report on: media whose rate follows the path has no other.
    pub fn set_bandwidth(&mut self, session: Bitrate) {
        self.outbox.interval.set_bandwidth(session);
    }

    /// SSRC of the receiver.
    pub fn ssrc(&self) -> u32 {
        self.ssrc
    }

    /// Counts so far.
    pub fn counters(&self) -> ReceiverCounters {
        let present = self.streams.iter().filter_map(|stream| stream.nacks.as_ref());
        let gave_up = self.counters.gave_up + present.map(|nacks| nacks.gave_up()).sum::<u64>();
        let (sent, events_untaken) = (self.outbox.sent(), self.events.untaken());
        ReceiverCounters { sent, gave_up, events_untaken, ..self.counters }
    }

    /// A stream is expected, and its retransmissions if it has any. False if one of them is already, or 256 are.
    pub fn add_stream(&mut self, config: IncomingStream) -> bool {
        let repair = config.repair.map(|repair| repair.ssrc);
        let taken = |ssrc: u32| ssrc == self.ssrc || self.find(ssrc).is_some();
        if taken(config.ssrc) || repair.is_some_and(|repair| taken(repair) || repair == config.ssrc) {
            return false;
        }
        if self.streams.len() + 1 >= MOST_STREAMS {
            return false;
        }
        self.streams.push(Incoming::new(config, None));
        if let Some(ssrc) = repair {
            let repairs = IncomingStream { ssrc, repair: None, ..config };
            self.streams.push(Incoming::new(repairs, Some(config.ssrc)));
        }
        true
    }

    /// A stream is expected no more, nor its retransmissions. False if it was not.
    pub fn remove_stream(&mut self, ssrc: u32) -> bool {
        let before = self.streams.len();
        let leaves = self.find(ssrc).and_then(|place| self.streams[place].nacks.as_ref());
        self.counters.gave_up += leaves.map_or(0, |nacks| nacks.gave_up());
        self.streams.retain(|stream| stream.config.ssrc != ssrc && stream.repairs != Some(ssrc));
        // A stream that comes behind it may be reported on twice or not at all, once.
        before != self.streams.len()
    }

    /// How many streams are expected, retransmissions in.
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// Figures of a stream.
    pub fn reception(&self, ssrc: u32) -> Option<&Reception> {
        self.find(ssrc).map(|place| &self.streams[place].reception)
    }

    fn find(&self, ssrc: u32) -> Option<usize> {
        self.streams.iter().position(|stream| stream.config.ssrc == ssrc)
    }

    /// An RTP packet came. Answers what it is, or restores; none of what is not expected.
    pub fn on_rtp<'a>(&mut self, now: Time, packet: &RtpView<'a>, ecn: Ecn) -> Option<Came<'a>> {
        let header = packet.header;
        if header.ssrc == self.ssrc {
            self.on_collision(now);
            return None;
        }
        let Some(place) = self.find(header.ssrc) else {
            self.counters.unknown_ssrc += 1;
            return None;
        };
        self.outbox.start(now);
        let stream = &mut self.streams[place];
        let restarts = stream.reception.restarts();
        let came = stream.reception.on_packet(now, (header.sequence, header.timestamp), ecn);
        let Some((number, first)) = came else {
            self.counters.out_of_sequence += 1;
            return None;
        };
        stream.packets += 1;
        if let Some(nacks) = &mut stream.nacks {
            if stream.reception.restarts() != restarts {
                nacks.restart();
            }
            nacks.on_packet(now, number);
        }
        match stream.repairs {
            None => Some(Came { packet: *packet, number, first, repaired: false }),
            Some(original) => self.restore(now, packet, original),
        }
    }

    /// The packet that a retransmission of a stream restores (RFC 4588 section 4).
    fn restore<'a>(&mut self, now: Time, packet: &RtpView<'a>, original: u32) -> Option<Came<'a>> {
        let restored = self.find(original).and_then(|place| {
            let stream = &mut self.streams[place];
            let (repair, nacks) = (stream.config.repair?, stream.nacks.as_mut()?);
            let (osn, payload) = rtx::split(packet.payload).ok()?;
            let number = unwrap_sequence(nacks.highest()?, osn)?;
            let of_this = packet.header.payload_type == repair.payload_type;
            if !of_this || !nacks.on_repair(now, number) {
                return None;
            }
            let header = RtpHeaderFields {
                payload_type: repair.original,
                ssrc: original,
                sequence: osn,
                ..packet.header
            };
            let packet = RtpView { header, payload, padding: 0, ..*packet };
            Some(Came { packet, number, first: true, repaired: true })
        });
        match restored {
            Some(_) => self.counters.restored += 1,
            None => self.counters.useless_repairs += 1,
        }
        restored
    }

    /// Asks for a picture of a stream with the next datagram. False if that is not expected, or one was asked for less than
    /// 300 ms ago.
    pub fn ask_for_picture(&mut self, now: Time, ssrc: u32, picture: Picture) -> bool {
        let Some(place) = self.find(ssrc) else { return false };
        let stream = &mut self.streams[place];
        let (last, _) = stream.picture;
        if last.is_some_and(|last| now.saturating_since(last) < PICTURES_APART) {
            return false;
        }
        stream.picture = (Some(now), Some(picture));
        self.picture_waits = true;
        true
    }

    /// RTCP of the sender came.
    pub fn on_rtcp(&mut self, now: Time, datagram: &[u8]) {
        if !self.outbox.config.reduced_size && rtcp::expect_compound(datagram).is_err() {
            self.counters.malformed += 1;
            return;
        }
        self.outbox.interval.on_packet(datagram.len());
        for packet in rtcp::packets(datagram) {
            let Ok(packet) = packet else {
                self.counters.malformed += 1;
                return;
            };
            self.counters.received += 1;
            self.counters.malformed += u64::from(self.read(now, &packet).is_err());
        }
    }

    fn read(&mut self, now: Time, packet: &RtcpPacket<'_>) -> Result<(), WireError> {
        match packet.packet_type {
            report::SENDER_REPORT | report::RECEIVER_REPORT => {
                let report = report::decode(packet)?;
                match (self.find(report.ssrc), report.sender) {
                    _ if report.ssrc == self.ssrc => self.on_collision(now),
                    (Some(place), Some(info)) => {
                        self.counters.reports += 1;
                        self.streams[place].reception.on_sender_report(now, info);
                    }
                    (Some(_), None) => {}
                    (None, _) => self.counters.unknown_ssrc += 1,
                }
            }
            sdes::PACKET_TYPE => drop(sdes::decode(packet)?),
            bye::PACKET_TYPE => {
                for ssrc in bye::decode(packet)?.sources() {
                    match self.remove_stream(ssrc) {
                        true => self.events.push(ReceiverEvent::Ended { ssrc }),
                        false => self.counters.unknown_ssrc += 1,
                    }
                }
            }
            _ => self.counters.other += 1,
        }
        Ok(())
    }

    /// Another participant has our SSRC: we say goodbye and take another (RFC 3550 section 8.2).
    fn on_collision(&mut self, now: Time) {
        self.counters.collisions += 1;
        let apart = super::CHANGES_APART;
        if self.changed.is_some_and(|changed| now.saturating_since(changed) < apart) {
            return;
        }
        let from = self.ssrc;
        let mut draws = self.outbox.interval.draws_of_ssrc();
        let Some(to) = draws.find(|ssrc| *ssrc != from && self.find(*ssrc).is_none()) else { return };
        (self.ssrc, self.changed) = (to, Some(now));
        self.leave_as(from);
        self.events.push(ReceiverEvent::SsrcChanged { from, to });
    }

    fn leave_as(&mut self, ssrc: u32) {
        if self.outbox.sent() > 0 {
            self.outbox.end(ssrc);
        }
    }

    /// The receiver ends: it says so (RFC 3550 section 6.6), and reports no more.
    pub fn leave(&mut self) {
        self.leave_as(self.ssrc);
        self.streams.clear();
        self.outbox.stop();
    }

    /// The next event. Call until there is nothing.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop()
    }

    #[cfg(test)]
    pub(super) fn events_waiting(&self) -> usize {
        self.events.len()
    }

    /// When to call [`ReceiverSession::poll_transmit`].
    pub fn next_timeout(&self) -> Option<Time> {
        if self.picture_waits {
            return Some(Time::ZERO);
        }
        let nacks = self.streams.iter().filter_map(|stream| stream.nacks.as_ref()?.due());
        nacks.chain(self.outbox.next_timeout()).min()
    }

    /// Appends the next datagram that is due to `out`. Call until there is none.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        if !self.outbox.write_goodbye(out) && !self.write_nack(now, out) && !self.write_picture(out) {
            let round = self.outbox.round(now);
            let next = round.and_then(|first| self.write_report(now, first, out));
            self.outbox.go_on(next);
        }
        self.outbox.finish(start, out)
    }

    /// Appends a datagram with this RTCP packet, and before it what both sides agreed on.
    pub fn write(&mut self, packet: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        self.begin(out);
        out.extend_from_slice(packet);
        self.outbox.finish(start, out);
    }

    /// Bytes that a datagram has before its RTCP packet.
    pub fn beginning(&self) -> usize {
        let mut out = Vec::new();
        self.begin(&mut out);
        out.len()
    }

    /// The beginning of feedback without a regular report.
    fn begin(&self, out: &mut Vec<u8>) {
        if !self.outbox.config.reduced_size {
            self.outbox.begin_compound(self.ssrc, out);
        }
    }

    /// Asks for what is missing of one stream.
    fn write_nack(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        let is_due = |stream: &Incoming| stream.nacks.as_ref().and_then(|nacks| nacks.due());
        for place in 0..self.streams.len() {
            if is_due(&self.streams[place]).is_none_or(|due| due > now) {
                continue;
            }
            let media_ssrc = self.streams[place].config.ssrc;
            let (lost, stream) = (&mut self.lost, &mut self.streams[place]);
            lost.clear();
            if let Some(nacks) = &mut stream.nacks {
                nacks.ask(now, |number| lost.push(number));
            }
            if self.lost.is_empty() {
                continue;
            }
            self.begin(out);
            let asked = nack::encode((self.ssrc, media_ssrc), self.lost.iter().copied(), out);
            self.counters.asked += asked as u64;
            return true;
        }
        false
    }

    /// Asks for the picture of one stream.
    fn write_picture(&mut self, out: &mut Vec<u8>) -> bool {
        if !self.picture_waits {
            return false;
        }
        let waits = |stream: &Incoming| stream.picture.1.is_some();
        let Some(place) = self.streams.iter().position(waits) else {
            self.picture_waits = false;
            return false;
        };
        self.begin(out);
        let (sender_ssrc, stream) = (self.ssrc, &mut self.streams[place]);
        let media_ssrc = stream.config.ssrc;
        match stream.picture.1.take() {
            Some(Picture::Full) => {
                stream.request = stream.request.wrapping_add(1);
                picture::encode_fir(sender_ssrc, (media_ssrc, stream.request), out);
            }
            _ => picture::encode_pli(picture::PictureLoss { sender_ssrc, media_ssrc }, out),
        }
        self.counters.pictures += 1;
        true
    }

    /// A report on as many streams as a datagram holds, from this one on. Answers the stream that the next begins with.
    fn write_report(&mut self, now: Time, first: usize, out: &mut Vec<u8>) -> Option<usize> {
        // Bytes of a report without blocks, and of each block.
        let name = self.outbox.config.name().len() + 16;
        let (fixed, each) = match self.tells_ecn {
            true => (8 + name + 12, report::BLOCK + ecn::SUMMARY_ENTRY),
            false => (8 + name, report::BLOCK),
        };
        let room = (LARGEST.saturating_sub(fixed) / each).clamp(1, report::MOST_BLOCKS);
        self.blocks.clear();
        let mut place = first;
        while place < self.streams.len() && self.blocks.len() < room {
            let stream = &mut self.streams[place];
            if stream.packets != stream.reported {
                stream.reported = stream.packets;
                self.blocks.push(stream.reception.block(now, stream.config.ssrc));
            }
            place += 1;
        }
        let more = place < self.streams.len();
        // Without anything to say a participant still reports that it is there.
        if first == 0 || !self.blocks.is_empty() {
            let _ = report::encode(self.ssrc, None, &self.blocks, out);
            let _ = sdes::encode_cname(self.ssrc, self.outbox.config.name(), out);
            if self.tells_ecn {
                let counts = |block: &report::ReportBlock| {
                    let counts = self.reception(block.ssrc).map(Reception::ecn_counts);
                    (block.ssrc, counts.unwrap_or_default())
                };
                let _ = ecn::encode_summary(self.ssrc, self.blocks.iter().map(counts), out);
            }
        }
        more.then_some(place)
    }
}
