//! Datagrams that unknown peers send, and a receiver that lies.

use super::bytes::Script;
use super::call::{Call, SENDER, SSRC};
use crate::sender::codec::SendingCodec;
use crate::transports::rtp::RtpSendingCodec;
use paceline_cc::{AnyController, Controller, Snapshot, StreamId};
use paceline_ends::SendingEnd;
use paceline_rtp::Ssrcs;
use paceline_rtp::{Header, RtpPacket};
use paceline_units::{Bitrate, Bytes, Ecn, Time};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use paceline_wire::{Reporter, TRANSPORT_WIDE};

const LARGEST_REPORT: Bytes = Bytes::new(1200);

/// State that forged feedback may not change: the controller, targets, when the sender wakes, and what it holds the receiver's clock for.
type View = (Snapshot, Vec<Option<Bitrate>>, Option<Time>, Option<Time>);

impl Call {
    /// Media from anywhere, the sender's own address among them: other SSRCs, numbers and times.
    pub(super) fn forge_media(&mut self, script: &mut Script<'_>) -> Result<(), String> {
        let (port, ssrc) = (SENDER + 2 * u16::from(script.byte() % 3), SSRC + u32::from(script.byte() % 3));
        let packet = RtpPacket {
            stream: StreamId(0),
            sequence: script.word().into(),
            captured: Time::from_nanos(u64::from(script.word()) << 8),
            payload: Bytes::new(u64::from(script.byte() % 60)),
            padding: script.byte() % 2 * 10,
            header: Header::RTP,
            transport: script.word() as u16,
            first: Some(true),
            marker: true,
            key: None,
            annotation: None,
        };
        let timestamp = script.word();
        let mut codec: RtpSendingCodec<AnyController> =
            RtpSendingCodec::new((Ssrcs::new(ssrc, 1), timestamp), 1, self.format, false);
        let mut bytes = Vec::new();
        codec.encode(self.now, &packet, &mut bytes);
        self.arrive(0, port, &bytes, Ecn::NotEct)
    }

    /// Feedback that cannot be the receiver's, though it comes from its address: of another SSRC, on packets never sent, or no
    /// RTCP. It changes nothing but counters.
    pub(super) fn forge_report(&mut self, script: &mut Script<'_>) -> Result<(), String> {
        let before = self.view();
        let kind = script.byte() % 3;
        let bytes = if kind == 2 {
            (0..script.byte()).map(|_| script.byte() & 0x3f).collect()
        } else {
            let (ahead, written) = (u64::from(script.word() % 30_000), u64::from(script.word()) << 14);
            let count = u32::from(script.byte() % 20) + 1;
            let arrival = ArrivalReport::Received { at: Some(Time::from_nanos(written)), ecn: Ecn::Ce };
            let ssrc = if kind == 0 { SSRC + 7 } else { SSRC };
            // Transport-wide numbers are the same whoever had them: of those that were sent only the SSRC can be wrong.
            let begin = if kind == 0 { ahead } else { self.next_number() + ahead };
            self.written(ssrc, begin, vec![arrival; count as usize], Time::from_nanos(written))?
        };
        self.arrive(1, SENDER + 1, &bytes, Ecn::NotEct)?;
        let after = self.view();
        if before == after { Ok(()) } else { Err(format!("forged feedback changes {before:?} to {after:?}")) }
    }

    /// A report on packets that were sent says what it likes: the receiver lies, or somebody who sees its packets.
    pub(super) fn lie(&mut self, script: &mut Script<'_>) -> Result<(), String> {
        let (back, count) = (u64::from(script.byte()), u32::from(script.byte() % 20) + 1);
        let known = self.sender.receiver_time(self.now).unwrap_or(self.now);
        let written = known.as_nanos().wrapping_add(u64::from(script.word()) << (script.byte() % 32));
        let written = Time::from_nanos(written % (1 << 57));
        let arrival = |said: u8| match said % 4 {
            0 => ArrivalReport::Missing,
            1 => ArrivalReport::Received { at: None, ecn: Ecn::from_bits(said >> 2) },
            _ => {
                let before = u64::from(said) << 21;
                let at = Time::from_nanos(written.as_nanos().saturating_sub(before));
                ArrivalReport::Received { at: Some(at), ecn: Ecn::from_bits(said >> 2) }
            }
        };
        let arrivals = (0..count).map(|_| arrival(script.byte())).collect();
        let begin = self.next_number().saturating_sub(back);
        let bytes = self.written(SSRC, begin, arrivals, written)?;
        self.arrive(1, SENDER + 1, &bytes, Ecn::NotEct)
    }

    /// The number of the next packet, as reports count them.
    fn next_number(&self) -> u64 {
        if self.format.is_transport_wide() { self.next.1.into() } else { self.next.0[0] }
    }

    /// A report in the flow's format.
    fn written(
        &self,
        ssrc: u32,
        begin: u64,
        arrivals: Vec<ArrivalReport>,
        written: Time,
    ) -> Result<Vec<u8>, String> {
        let stream = if self.format.is_transport_wide() { TRANSPORT_WIDE } else { StreamId(0) };
        let blocks = vec![FeedbackBlock { stream, begin, count: arrivals.len() as u32 }];
        let (feedback, mut bytes) = (Feedback { written, blocks, arrivals }, Vec::new());
        let reporter = &mut Reporter { ssrc: 1, ..Reporter::default() };
        let encoded = self.format.encode(&feedback, reporter, |_| ssrc, LARGEST_REPORT, &mut bytes);
        encoded.map(|()| bytes).map_err(|error| error.to_string())
    }

    fn view(&self) -> View {
        let due = self.sender.next_timeout().map(|(due, _)| due);
        (
            self.sender.controller().snapshot(),
            self.limits.iter().map(|limits| self.sender.target(limits.stream)).collect(),
            due,
            self.sender.receiver_time(self.now),
        )
    }
}
