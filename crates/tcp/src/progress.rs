//! The progress of loss recovery, from duplicates to its end, and the segments that it sent again.

use super::TcpConfig;
use super::acks::AckSummary;
use super::prr::Prr;
use paceline_units::Bytes;

/// The progress of loss recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// Fast recovery lasts until this offset is acknowledged (RFC 6675 RecoveryPoint).
    until: Option<u64>,
    /// No fast recovery begins before this offset is acknowledged (RFC 6582 recover).
    guard: u64,
    /// Duplicate acknowledgements in a row.
    duplicates: u32,
    /// The next segment that is lost leaves whatever the window says (RFC 6675 section 5, step 4.3).
    forced: bool,
    prr: Option<Prr>,
    /// Bytes that duplicate acknowledgements add to the window, and the sum: bytes that may be in flight.
    inflation: Bytes,
    limit: Option<Bytes>,
    /// Whether a partial acknowledgement restarted the timer in this recovery.
    restarted: bool,
    /// Number behind the highest segment that this recovery sent again (RFC 6675 HighRxt); a rescue does not count.
    high_rxt: u64,
    /// The last segment may be sent again for want of others once more than this offset is acknowledged (RFC 6675
    /// RescueRxt).
    rescue_rxt: u64,
    /// Retransmissions since the last reduction that no duplicate report has answered; none if that is over.
    unanswered: Option<u64>,
    /// When the first retransmission since the last reduction left, as it says (RFC 3522 RetransmitTS), until something new is
    /// acknowledged.
    first_again: Option<u32>,
}

/// Where recovery stands.
impl Progress {
    /// Until which offset fast recovery lasts, if it does.
    #[inline]
    pub(super) fn until(&self) -> Option<u64> {
        self.until
    }

    /// Whether fast recovery lasts.
    #[inline]
    pub(super) fn is_fast(&self) -> bool {
        self.until.is_some()
    }

    /// Whether fast recovery or the recovery from a timeout lasts, where data is acknowledged up to `offset`.
    pub(super) fn lasts(&self, offset: u64) -> bool {
        self.is_fast() || offset < self.guard
    }

    /// Whether duplicates of data from `offset` on may be echoes of an older recovery.
    pub(super) fn may_echo(&self, offset: u64) -> bool {
        self.guard > 0 && offset <= self.guard
    }

    /// Whether a recovery lasts, duplicates were counted, or what they added to the window is still there.
    #[inline]
    pub(super) fn is_disturbed(&self) -> bool {
        self.until.is_some() || self.duplicates > 0 || self.inflation > Bytes::ZERO
    }

    /// Duplicate acknowledgements in a row.
    #[inline]
    pub(super) fn duplicates(&self) -> u32 {
        self.duplicates
    }

    #[inline]
    pub(super) fn set_duplicates(&mut self, duplicates: u32) {
        self.duplicates = duplicates;
    }

    /// Fast recovery begins of the segment `first`, which ends at `first_end`. It lasts until all data that was sent, up to `end`,
    /// is acknowledged.
    pub(super) fn enter(&mut self, end: u64, first: u64, first_end: u64) {
        self.extend(end);
        (self.forced, self.restarted) = (true, false);
        // RFC 6675 section 5, step 4.3.
        (self.high_rxt, self.rescue_rxt) = (first + 1, first_end);
        self.unanswered = Some(0);
    }

    /// Fast recovery lasts until `end` is acknowledged.
    pub(super) fn extend(&mut self, end: u64) {
        (self.until, self.guard) = (Some(end), end);
    }

    /// Fast recovery ends.
    pub(super) fn leave(&mut self) {
        (self.until, self.prr, self.forced) = (None, None, false);
    }

    /// The recovery from a timeout begins, of data up to `end`.
    pub(super) fn time_out(&mut self, end: u64) {
        *self = Progress { guard: end, forced: true, unanswered: Some(0), ..Progress::default() };
    }

    /// The recovery was for nothing.
    pub(super) fn take_back(&mut self) {
        self.leave();
        (self.unanswered, self.guard) = (None, 0);
    }

    /// A partial acknowledgement came. Whether it is not the first of this recovery.
    pub(super) fn restarts_timer_again(&mut self) -> bool {
        std::mem::replace(&mut self.restarted, true)
    }
}

/// The room that recovery leaves.
impl Progress {
    /// Whether it lets a packet of `size` go, one that is lost or not, with so much in flight; none if it leaves that to the
    /// controller.
    #[inline]
    pub(super) fn admits(&self, size: Bytes, lost: bool, in_flight: Bytes) -> Option<bool> {
        if lost && self.forced {
            return Some(true);
        }
        if let Some(prr) = &self.prr {
            return Some(prr.admits(size));
        }
        self.limit.map(|limit| in_flight + size <= limit)
    }

    /// Whether the next segment that is lost leaves at any rate.
    pub(super) fn force(&mut self, forced: bool) {
        self.forced = forced;
    }

    /// Bytes that may be in flight; absent where the controller's window holds.
    #[inline]
    pub(super) fn set_limit(&mut self, limit: Option<Bytes>) {
        self.limit = limit;
    }

    /// Proportional rate reduction begins, with so much outstanding.
    pub(super) fn begin_prr(&mut self, outstanding: Bytes) {
        self.prr = Some(Prr::begin(outstanding));
    }

    /// Proportional rate reduction, where it lasts.
    #[inline]
    pub(super) fn prr(&mut self) -> Option<&mut Prr> {
        self.prr.as_mut()
    }

    /// Without selective acknowledgements a duplicate says that something left the network, though not what: the window
    /// is larger by as much (RFC 6582 section 3.2 steps 2 to 4, RFC 3042 before the third), up to `most`. By how much.
    pub(super) fn inflate(
        &mut self,
        config: &TcpConfig,
        acked: &AckSummary,
        duplicate: bool,
        most: Bytes,
    ) -> Bytes {
        let (segment, duplicates) = (config.packet_size, u64::from(self.duplicates));
        let third = u64::from(config.duplicate_acks);
        self.inflation = match (self.until, acked.advanced) {
            (Some(_), false) if duplicates == third => Bytes::new(segment.as_u64() * third),
            (Some(_), false) if duplicate => (self.inflation + segment).min(most),
            (Some(_), false) => self.inflation,
            // A partial acknowledgement: less by what it acknowledges, but for one segment.
            (Some(_), true) => self.inflation - acked.delivered + segment,
            (None, _) if duplicates < third && config.limited_transmit => {
                Bytes::new(segment.as_u64() * duplicates)
            }
            (None, _) => Bytes::ZERO,
        };
        self.inflation
    }
}

/// The segments that were sent again.
impl Progress {
    /// Number behind the highest segment that this recovery sent again.
    pub(super) fn high_rxt(&self) -> u64 {
        self.high_rxt
    }

    /// Whether the last segment may be sent again for want of others, where data is acknowledged up to `offset`.
    pub(super) fn may_rescue(&self, offset: u64) -> bool {
        offset > self.rescue_rxt
    }

    /// A lost segment leaves again.
    pub(super) fn on_resent(&mut self, number: u64) {
        self.forced = false;
        self.high_rxt = self.high_rxt.max(number + 1);
    }

    /// A segment leaves again that is not known to be lost.
    pub(super) fn on_resent_in_doubt(&mut self, number: u64) {
        self.high_rxt = number + 1;
    }

    /// The highest segment leaves again for want of others.
    pub(super) fn on_rescue(&mut self) {
        self.rescue_rxt = self.until.unwrap_or(u64::MAX);
    }

    /// A segment leaves again, which says `stamp` if an acknowledgement of it will tell which copy arrived.
    pub(super) fn on_again(&mut self, stamp: Option<u32>) {
        if self.unanswered == Some(0) && stamp.is_some() {
            self.first_again = stamp;
        }
        self.unanswered = self.unanswered.map(|count| count + 1);
    }

    /// New data is acknowledged: when the first retransmission left.
    pub(super) fn take_first_again(&mut self) -> Option<u32> {
        self.first_again.take()
    }

    /// A copy arrived of what was there. Whether every retransmission since the reduction has been answered so.
    pub(super) fn on_duplicate(&mut self) -> bool {
        match self.unanswered {
            Some(1) => {
                self.unanswered = None;
                true
            }
            Some(count) => {
                self.unanswered = Some(count.saturating_sub(1));
                false
            }
            None => false,
        }
    }

    /// Duplicates of what leaves now take nothing back.
    pub(super) fn ignore_duplicates(&mut self) {
        self.unanswered = None;
    }
}
