//! Sequence numbers of both ends (RFC 4340 section 7.1). They count from the first packet of each, so that ISS and ISR are 0 and
//! nothing wraps.

use paceline_wire::dccp::SequenceNumber;

/// The numbers that one end has sent and received.
#[derive(Clone, Debug)]
pub(super) struct Sequences {
    iss: SequenceNumber,
    isr: SequenceNumber,
    gss: i64,
    gsr: i64,
    gar: i64,
    osr: i64,
    /// Our first number in OPEN.
    first_open: i64,
}

impl Sequences {
    /// Nothing was sent or received; the first packet will have the number `iss`.
    pub(super) fn new(iss: SequenceNumber) -> Sequences {
        Sequences { iss, isr: SequenceNumber::ZERO, gss: -1, gsr: -1, gar: 0, osr: 0, first_open: i64::MAX }
    }

    /// The first packet will have this number.
    pub(super) fn set_iss(&mut self, iss: SequenceNumber) {
        self.iss = iss;
    }

    /// The other end's first packet has this number, and was received or not.
    pub(super) fn begin(&mut self, isr: SequenceNumber, received: bool) {
        (self.isr, self.gsr) = (isr, if received { 0 } else { -1 });
    }

    /// The greatest number sent; below 0 before any.
    #[inline]
    pub(super) fn gss(&self) -> i64 {
        self.gss
    }

    /// The greatest number received; below 0 before any.
    #[inline]
    pub(super) fn gsr(&self) -> i64 {
        self.gsr
    }

    /// The greatest number sent, as the wire has it.
    #[inline]
    pub(super) fn newest_sent(&self) -> SequenceNumber {
        self.iss.plus(self.gss)
    }

    /// The greatest number received, as the wire has it.
    #[inline]
    pub(super) fn newest_received(&self) -> SequenceNumber {
        self.on_wire(self.gsr)
    }

    /// A number of the other end, as the wire has it.
    #[inline]
    pub(super) fn on_wire(&self, number: i64) -> SequenceNumber {
        self.isr.plus(number)
    }

    /// The number of a packet of ours.
    #[inline]
    pub(super) fn of_sent(&self, sequence: SequenceNumber) -> i64 {
        self.gss + sequence.since(self.newest_sent())
    }

    /// The number of a packet of the other end.
    #[inline]
    pub(super) fn of_received(&self, sequence: SequenceNumber) -> i64 {
        self.gsr + sequence.since(self.newest_received())
    }

    /// A packet leaves: its number.
    #[inline]
    pub(super) fn count_sent(&mut self) -> i64 {
        self.gss += 1;
        self.gss
    }

    /// A valid packet arrived that acknowledges this number.
    #[inline]
    pub(super) fn count_received(&mut self, sequence: i64, acknowledged: Option<i64>) {
        self.gsr = self.gsr.max(sequence);
        if let Some(number) = acknowledged {
            self.gar = self.gar.max(number);
        }
    }

    /// The state OPEN begins with the packet of this number.
    pub(super) fn open(&mut self, sequence: i64) {
        (self.osr, self.first_open) = (sequence, self.gss + 1);
    }

    /// Whether a packet of the other end is not older than its first in OPEN.
    #[inline]
    pub(super) fn is_since_open(&self, sequence: i64) -> bool {
        sequence >= self.osr
    }

    /// Whether we sent a packet in OPEN.
    pub(super) fn was_sent_open(&self, number: i64) -> bool {
        number >= self.first_open
    }

    /// [SWL, SWH] (section 7.5.1).
    #[inline]
    pub(super) fn sequence_window(&self, width: i64) -> (i64, i64) {
        // Shifted: nothing is negative, which a division would have to look at.
        ((self.gsr + 1 - (width >> 2)).max(0), self.gsr + ((3 * width + 3) >> 2))
    }

    /// AWL <= number <= AWH (section 7.5.1).
    #[inline]
    pub(super) fn is_in_acknowledgment_window(&self, number: i64, width: i64) -> bool {
        let low = (self.gss + 1 - width).max(0);
        (low..=self.gss).contains(&number)
    }

    /// Whether a number was sent, and is not below GAR.
    #[inline]
    pub(super) fn is_from_gar(&self, number: i64) -> bool {
        (self.gar..=self.gss).contains(&number)
    }
}
