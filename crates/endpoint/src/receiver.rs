//! The other end of a sender of ready-made media: datagrams in, packets of media and datagrams back out.

use super::unannounced::{self, Candidates};
use paceline_cc::{FlowSetup, StreamId};
use paceline_ends::Reason;
use paceline_rtp::rtcp::{
    Came, IncomingStream, LARGEST, Picture, ReceiverCounters, ReceiverEvent, ReceiverSession, Reception,
    RtcpConfig,
};
use paceline_rtp::{FeedbackConfig, Noted, PacketReports};
use paceline_units::{Bytes, Ecn, Time};
use paceline_wire::rtp::{self, RtpView};
use paceline_wire::{Reporter, SequenceUnwrapper, rtcp, twcc};

/// Turns of 2^16 that are added to the first number of a stream, for packets from before it and for jumps back.
const TURNS_BEFORE: u32 = 1 << 16;

/// How a receiver of ready-made media reports.
#[derive(Clone, PartialEq, Debug)]
pub struct MediaReceiverConfig {
    /// SSRC of the receiver.
    pub ssrc: u32,
    /// Its part in RTCP.
    pub rtcp: RtcpConfig,
    /// When and in which format it reports on packets.
    pub feedback: FeedbackConfig,
    /// Identifier of the header extension's element with the transport-wide number, 1 to 14, for formats that tell of those.
    pub element: u8,
}

impl MediaReceiverConfig {
    /// RFC 8888 reports as [`FeedbackConfig`] has them by default, and transport-wide numbers, if they are asked for, in element 5.
    pub fn new(ssrc: u32, rtcp: RtcpConfig) -> MediaReceiverConfig {
        MediaReceiverConfig { ssrc, rtcp, feedback: FeedbackConfig::default(), element: 5 }
    }
}

/// Counts of a media receiver, beside those of its RTCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MediaReceiverCounters {
    /// RTP packets of expected streams, retransmissions, padding and duplicates in. Packets of others are counted by
    /// [`ReceiverCounters::unknown_ssrc`], and reports tell of them all the same.
    pub packets: u64,
    /// Bytes of these, headers in.
    pub bytes: u64,
    /// Datagrams that are neither RTP nor RTCP.
    pub malformed: u64,
    /// Packets that no report tells of: those without the transport-wide number that it should have, and of the other format those
    /// too late for any report, or far from the numbers of their stream.
    pub unreported: u64,
    /// RTCP packets with reports on packets that were written.
    pub reports: u64,
}

/// A stream's place in reports.
#[derive(Clone, Copy, Debug)]
struct Place {
    ssrc: u32,
    present: bool,
    /// Whether somebody told of the stream: others are reported on, and that is all.
    announced: bool,
    /// When a packet came last.
    heard: Time,
    numbers: SequenceUnwrapper,
}

/// Receives the ready-made media of one sender: hands its packets on, restored ones among them, reports on them for the sender's
/// controller (RFC 8888 or TWCC), and takes its part in RTCP. Reports tell of packets of streams that are not expected, too: they share
/// the path.
#[derive(Clone, Debug)]
pub struct MediaReceiver {
    session: ReceiverSession,
    reports: PacketReports,
    element: u8,
    /// By stream identifier.
    places: Vec<Place>,
    candidates: Candidates,
    reporter: Reporter,
    /// SSRC that transport-wide reports name: of an expected stream, if packets of one came of late.
    named: u32,
    /// When a packet of an expected stream came last.
    heard: Option<Time>,
    /// Whether the receiver has said goodbye.
    left: bool,
    /// Bytes that a datagram has beside a report.
    frame: usize,
    /// Reports that are to be sent, one RTCP packet after the other, and how much of them is.
    written: Vec<u8>,
    sent: usize,
    counters: MediaReceiverCounters,
}

impl MediaReceiver {
    /// A receiver that expects no stream yet.
    pub fn new(config: MediaReceiverConfig) -> MediaReceiver {
        let MediaReceiverConfig { ssrc, rtcp, feedback, element } = config;
        let session = ReceiverSession::new(rtcp, ssrc);
        MediaReceiver {
            frame: session.beginning(),
            session,
            reports: PacketReports::new(feedback),
            element: element.clamp(1, 14),
            places: Vec::new(),
            candidates: Candidates::default(),
            reporter: Reporter::default(),
            named: 0,
            heard: None,
            left: false,
            written: Vec::with_capacity(LARGEST),
            sent: 0,
            counters: MediaReceiverCounters::default(),
        }
    }

    /// Adds the ECN summary of RFC 6679 section 5.2 to each regular report, as both sides agreed on.
    pub fn tell_ecn(&mut self) {
        self.session.tell_ecn();
    }

    /// SSRC of the receiver.
    pub fn ssrc(&self) -> u32 {
        self.session.ssrc()
    }

    /// Counts so far.
    pub fn counters(&self) -> MediaReceiverCounters {
        self.counters
    }

    /// Counts of its RTCP so far.
    pub fn rtcp_counters(&self) -> ReceiverCounters {
        self.session.counters()
    }

    /// A stream is expected, and its retransmissions if it has any. False if one of them is already, or there is no room: a flow has
    /// 64 streams at most, retransmissions in.
    pub fn add_stream(&mut self, config: IncomingStream) -> bool {
        let needed = 1 + usize::from(config.repair.is_some());
        if needed > self.room() {
            // Streams that nobody told of give way.
            self.places.iter_mut().for_each(|place| place.present &= place.announced);
        }
        if needed > self.room() || !self.session.add_stream(config) {
            return false;
        }
        for ssrc in [Some(config.ssrc), config.repair.map(|repair| repair.ssrc)].into_iter().flatten() {
            match self.places.iter_mut().find(|place| place.present && place.ssrc == ssrc) {
                Some(place) => place.announced = true,
                None => drop(self.place(ssrc, true)),
            }
        }
        true
    }

    /// How many streams more there may be.
    fn room(&self) -> usize {
        let free = (0..self.places.len()).filter(|place| self.is_free(*place)).count();
        FlowSetup::MOST_STREAMS - self.places.len() + free
    }

    /// A stream is expected no more, nor its retransmissions. False if it was not.
    pub fn remove_stream(&mut self, ssrc: u32) -> bool {
        let removed = self.session.remove_stream(ssrc);
        self.find_gone();
        removed
    }

    /// Whether a stream may take this place: who had it is gone, and all of its packets are reported.
    fn is_free(&self, place: usize) -> bool {
        !self.places[place].present && !self.reports.any_new(StreamId(place as u8))
    }

    /// Gives a stream a place, for which there is room.
    fn place(&mut self, ssrc: u32, announced: bool) -> usize {
        let numbers = SequenceUnwrapper::after_turns(TURNS_BEFORE);
        let new = Place { ssrc, present: true, announced, heard: Time::ZERO, numbers };
        match (0..self.places.len()).find(|place| self.is_free(*place)) {
            Some(place) => {
                self.places[place] = new;
                place
            }
            None => {
                self.reports.add_stream();
                self.places.push(new);
                self.places.len() - 1
            }
        }
    }

    /// Streams that the session let go have no place.
    fn find_gone(&mut self) {
        for place in &mut self.places {
            place.present &= !place.announced || self.session.reception(place.ssrc).is_some();
        }
    }

    /// A place for a stream that nobody told of, once its packets are believed to be one.
    fn admit(&mut self, now: Time, ssrc: u32, number: u16) -> Option<usize> {
        if self.left || !self.candidates.on_packet(now, ssrc, number) {
            return None;
        }
        let others = || self.places.iter().filter(|place| place.present && !place.announced);
        if others().count() >= unannounced::MOST {
            let oldest = others()
                .map(|place| place.heard)
                .min()
                .filter(|heard| *heard + unannounced::SILENT <= now)?;
            self.places.iter_mut().for_each(|place| place.present &= place.announced || place.heard > oldest);
        }
        (self.room() > 0).then(|| self.place(ssrc, false))
    }

    /// Figures of a stream that is expected.
    pub fn reception(&self, ssrc: u32) -> Option<&Reception> {
        self.session.reception(ssrc)
    }

    /// A datagram came from the sender, with this ECN field. Answers the packet of media that it is, or restores; none of RTCP, of
    /// what is not expected, and of what was restored before. A packet of padding alone has an empty payload.
    pub fn receive<'a>(&mut self, now: Time, datagram: &'a [u8], ecn: Ecn) -> Option<Came<'a>> {
        if rtp::is_rtcp(datagram) {
            self.session.on_rtcp(now, datagram);
            self.find_gone();
            return None;
        }
        let Ok(packet) = rtp::decode(datagram) else {
            self.counters.malformed += 1;
            return None;
        };
        self.note(now, &packet, datagram.len(), ecn);
        self.session.on_rtp(now, &packet, ecn)
    }

    /// Notes a packet for the next report on packets.
    fn note(&mut self, now: Time, packet: &RtpView<'_>, size: usize, ecn: Ecn) {
        let header = packet.header;
        let transport = packet.extension.as_ref().and_then(|own| twcc::number_of(own, self.element));
        let by_stream = !self.reports.format().is_transport_wide();
        let known = self.places.iter().position(|place| place.present && place.ssrc == header.ssrc);
        let id =
            if by_stream { known.or_else(|| self.admit(now, header.ssrc, header.sequence)) } else { known };
        let Some(id) = id else {
            if let Some(number) = transport.filter(|_| !self.left) {
                self.note_unannounced(now, number, packet, size);
            }
            return;
        };
        (self.named, self.heard) = (header.ssrc, Some(now));
        self.places[id].heard = now;
        if self.places[id].announced {
            self.counters.packets += 1;
            self.counters.bytes += size as u64;
        }
        let place = &mut self.places[id];
        let (id, jumps, begins) =
            (StreamId(id as u8), place.numbers.jumps(), place.numbers.highest().is_none());
        let number = place.numbers.unwrap(header.sequence);
        if let Some(number) = number.filter(|_| begins || place.numbers.jumps() != jumps) {
            self.reports.resynchronise(id, number, true);
        }
        let noted = number.map(|number| self.reports.note(now, (id, number), transport, ecn));
        if noted.is_none_or(|noted| noted == Noted::TooOld) {
            if let Some(number) = transport {
                self.reports.note_refused(now, number, true);
            }
            self.counters.unreported += u64::from(by_stream || transport.is_none());
            return;
        }
        if transport.is_none() && !by_stream {
            self.counters.unreported += 1;
            return;
        }
        self.reports.schedule(now, || Bytes::new(size as u64), header.marker);
    }

    /// Notes a packet of a stream that nobody announced, whose transport-wide number is this.
    fn note_unannounced(&mut self, now: Time, number: u16, packet: &RtpView<'_>, size: usize) {
        let (ssrc, marker) = (packet.header.ssrc, packet.header.marker);
        let told = self.reports.note_unannounced(now, (ssrc, number), Bytes::new(size as u64), marker);
        if told && self.heard.is_none_or(|heard| now.saturating_since(heard) >= PacketReports::CURRENT) {
            self.named = ssrc;
        }
    }

    /// Asks for a picture of a stream with the next datagram. False if that is not expected, or one was asked for less than
    /// 300 ms ago.
    pub fn ask_for_picture(&mut self, now: Time, ssrc: u32, picture: Picture) -> bool {
        self.session.ask_for_picture(now, ssrc, picture)
    }

    /// The receiver ends: it says so (RFC 3550 section 6.6), and reports no more.
    pub fn leave(&mut self) {
        self.session.leave();
        self.places.iter_mut().for_each(|place| place.present = false);
        self.left = true;
        self.reports.end();
        self.written.clear();
        self.sent = 0;
    }

    /// The next event of the session. Call until there is nothing.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.session.poll_event()
    }

    /// When to call [`MediaReceiver::poll_transmit`], and why.
    pub fn next_timeout(&self) -> Option<(Time, Reason)> {
        let waiting = (self.sent < self.written.len()).then_some(Time::ZERO);
        let due = [self.session.next_timeout(), self.reports.due(), waiting];
        due.into_iter().flatten().min().map(|due| (due, Reason::Report))
    }

    /// Appends the next datagram that is due to `out`: it goes back to the sender. Call until there is none.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        if self.session.poll_transmit(now, out) {
            return true;
        }
        if self.sent == self.written.len() {
            self.written.clear();
            self.sent = 0;
            if self.reports.due().is_some_and(|due| due <= now) {
                self.write_report(now);
            }
        }
        let Some(Ok(packet)) = rtcp::packets(&self.written[self.sent..]).next() else { return false };
        self.sent += packet.bytes.len();
        self.counters.reports += 1;
        self.session.write(packet.bytes, out);
        true
    }

    /// Writes a report on packets, as one RTCP packet or several.
    fn write_report(&mut self, now: Time) {
        let feedback = self.reports.write(now);
        self.reporter.ssrc = self.session.ssrc();
        let (places, room) = (&self.places, Bytes::new((LARGEST - self.frame) as u64));
        let format = self.reports.format();
        let named = format.is_transport_wide().then_some(self.named);
        let ssrc_of =
            |id: StreamId| named.unwrap_or(places.get(usize::from(id.0)).map_or(0, |place| place.ssrc));
        let encoded = format.encode(&feedback, &mut self.reporter, ssrc_of, room, &mut self.written);
        debug_assert!(encoded.is_ok(), "the endpoint's reports add up");
        self.reports.recycle(feedback);
    }
}
