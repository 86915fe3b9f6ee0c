//! Transport-wide numbers at the sender: one sequence for the packets of all streams, and which packet had which.

use super::sender::RtpSender;
use super::streams::Streams;
use paceline_cc::{Controller, PacketResult, Status, StreamId};
use paceline_units::Ecn;
use paceline_wire::ccfb::{ArrivalReport, FeedbackBlock};
use paceline_wire::unwrap_sequence;

/// Half the numbers there are: those that a report can mean without doubt.
const REMEMBERED: usize = 1 << 15;

/// The packets that had the last transport-wide numbers.
#[derive(Clone, Debug)]
pub(super) struct TransportHistory {
    /// Stream and sequence number, by how many were sent before modulo [`REMEMBERED`]. Its memory is there from the beginning, and
    /// untouched until it is needed.
    ring: Vec<(StreamId, u64)>,
    first: u64,
    next: u64,
}

impl TransportHistory {
    fn starting_at(first: u64) -> TransportHistory {
        TransportHistory { ring: Vec::with_capacity(REMEMBERED), first, next: first }
    }

    /// A packet leaves: its transport-wide number as the wire has it.
    pub(super) fn push(&mut self, stream: StreamId, sequence: u64) -> u16 {
        let number = self.next;
        let place = self.place(number);
        match self.ring.get_mut(place) {
            Some(oldest) => *oldest = (stream, sequence),
            None => self.ring.push((stream, sequence)),
        }
        self.next += 1;
        number as u16
    }

    /// Where in the ring a number from the first on is.
    fn place(&self, number: u64) -> usize {
        (number - self.first) as usize % REMEMBERED
    }

    /// The packet that had this number, if it is not too long ago.
    fn packet(&self, number: u64) -> Option<(StreamId, u64)> {
        let oldest = self.next.saturating_sub(REMEMBERED as u64).max(self.first);
        (oldest..self.next).contains(&number).then(|| self.ring[self.place(number)])
    }

    /// Adds stream, sequence number, size and send time to what a report says of transport-wide numbers, of which the low 16 bits
    /// count: as on the wire they are the nearest to what was sent last. Hands each result to `known`; answers how many are unknown.
    pub(super) fn complete(
        &self,
        streams: &mut Streams,
        (block, entries): (&FeedbackBlock, &[ArrivalReport]),
        mut known: impl FnMut(PacketResult),
    ) -> u64 {
        let last = self.next.saturating_sub(1);
        let begin = unwrap_sequence(last, block.begin as u16).unwrap_or(u64::MAX);
        let mut unknown = 0;
        for (offset, arrival) in entries.iter().enumerate() {
            let number = begin.saturating_add(offset as u64);
            let packet = self.packet(number).and_then(|(id, sequence)| {
                let history = streams.by_id_mut(id)?.history();
                let known = !history.reported(sequence, 1).is_empty();
                known.then(|| (id, sequence, history.packet(sequence)))
            });
            let Some((stream, sequence, (sent, size))) = packet else {
                unknown += 1;
                continue;
            };
            let status = match *arrival {
                ArrivalReport::Missing => Status::Missing,
                ArrivalReport::Received { at, .. } => Status::Received { arrived: at, ecn: Ecn::NotEct },
            };
            known(PacketResult { stream, sequence, size, sent, status });
        }
        unknown
    }
}

impl<C: Controller> RtpSender<C> {
    /// Numbers the packets of all streams together, from `first` on, for reports that tell of such numbers. Before anything is
    /// sent.
    pub fn number_transport_wide(&mut self, first: u16) {
        self.transport = Some(Box::new(TransportHistory::starting_at(first.into())));
    }
}
