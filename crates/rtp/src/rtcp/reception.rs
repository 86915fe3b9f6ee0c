//! A receiver's figures of a stream for its reports (RFC 3550 appendices A.1, A.3 and A.8; RFC 6679 section 5.1).

use super::clock::{middle, ticks_of, time_of, units_of};
use crate::seen::Seen;
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::SequenceUnwrapper;
use paceline_wire::rtcp::ecn::EcnCounts;
use paceline_wire::rtcp::report::{CUMULATIVE_LOST, ReportBlock, SenderInfo};

/// Turns of 2^16 that are added to the first number, for packets from before it.
const TURNS_BEFORE: u32 = 1;

/// Figures of one stream at its receiver.
#[derive(Clone, Debug)]
pub struct Reception {
    clock_rate: u32,
    numbers: SequenceUnwrapper,
    base: u64,
    highest: u64,
    /// Packets received, duplicates in, since numbers last began anew.
    received: u64,
    /// `expected` and `received` when the last report was written.
    prior: (u64, u64),
    /// Arrival less timestamp of the last packet, in ticks.
    transit: Option<u32>,
    /// 16 times the jitter in ticks.
    jitter: u32,
    /// Middle of the last sender report's NTP time, and when it came.
    last_sr: Option<(u32, Time)>,
    /// The last sender report.
    sender: Option<SenderInfo>,
    seen: Seen,
    /// Packets by ECN field: not-ECT, ECT(0), ECT(1), CE.
    marks: [u64; 4],
    duplicates: u64,
    /// Packets lost, and duplicates, before numbers last began anew.
    before: (u64, u64),
}

impl Reception {
    /// Of a stream whose timestamps count so many ticks in a second.
    pub fn new(clock_rate: u32) -> Reception {
        Reception {
            clock_rate: clock_rate.max(1),
            numbers: SequenceUnwrapper::after_turns(TURNS_BEFORE),
            base: 0,
            highest: 0,
            received: 0,
            prior: (0, 0),
            transit: None,
            jitter: 0,
            last_sr: None,
            sender: None,
            seen: Seen::new(),
            marks: [0; 4],
            duplicates: 0,
            before: (0, 0),
        }
    }

    /// A packet came: answers its number, extended so that it does not wrap, and whether it is here for the first time. None if
    /// its number is far from the others and the next packet must tell (RFC 3550 appendix A.1).
    pub fn on_packet(
        &mut self,
        now: Time,
        (sequence, timestamp): (u16, u32),
        ecn: Ecn,
    ) -> Option<(u64, bool)> {
        let jumps = self.numbers.jumps();
        let began = self.numbers.highest().is_some();
        let number = self.numbers.unwrap(sequence)?;
        if !began || self.numbers.jumps() != jumps {
            self.begin(number);
        }
        self.highest = self.highest.max(number);
        self.base = self.base.min(number);
        self.received += 1;
        let first = self.seen.insert(number);
        self.duplicates += u64::from(!first);
        self.marks[match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect0 => 1,
            Ecn::Ect1 => 2,
            Ecn::Ce => 3,
        }] += 1;
        self.measure_jitter(ticks_of(now, self.clock_rate).wrapping_sub(timestamp));
        Some((number, first))
    }

    /// How often numbers have begun anew.
    pub(super) fn restarts(&self) -> u64 {
        self.numbers.jumps()
    }

    /// Numbers begin with this one (RFC 3550 appendix A.1, `init_seq`).
    fn begin(&mut self, number: u64) {
        if self.received > 0 {
            self.before = (self.lost(), self.duplicates);
        }
        (self.base, self.highest) = (number, number);
        (self.received, self.prior, self.transit) = (0, (0, 0), None);
        self.seen = Seen::new();
    }

    /// RFC 3550 appendix A.8, in whole numbers.
    fn measure_jitter(&mut self, transit: u32) {
        if let Some(before) = self.transit.replace(transit) {
            let change = (transit.wrapping_sub(before) as i32).unsigned_abs();
            self.jitter =
                self.jitter.saturating_add(change).saturating_sub(self.jitter.saturating_add(8) >> 4);
        }
    }

    /// A sender report on the stream came.
    pub fn on_sender_report(&mut self, now: Time, info: SenderInfo) {
        self.last_sr = Some((middle(info.ntp), now));
        self.sender = Some(info);
    }

    /// The last sender report that came.
    pub fn sender(&self) -> Option<SenderInfo> {
        self.sender
    }

    fn expected(&self) -> u64 {
        if self.numbers.highest().is_none() { 0 } else { self.highest - self.base + 1 }
    }

    fn lost_since(&self) -> i64 {
        self.expected() as i64 - self.received as i64
    }

    /// Packets that never came since the stream was first heard: duplicates hide none.
    fn lost(&self) -> u64 {
        let (lost, duplicates) = self.before;
        lost.saturating_add_signed(self.lost_since() + (self.duplicates - duplicates) as i64)
    }

    /// Packets expected less packets received, within what a report can say (RFC 3550 appendix A.3).
    pub fn cumulative_lost(&self) -> i32 {
        let (least, most) = (i64::from(*CUMULATIVE_LOST.start()), i64::from(*CUMULATIVE_LOST.end()));
        self.lost_since().clamp(least, most) as i32
    }

    /// Interarrival jitter (RFC 3550 section 6.4.1).
    pub fn jitter(&self) -> TimeDelta {
        TimeDelta::from_secs_f64(f64::from(self.jitter >> 4) / f64::from(self.clock_rate))
    }

    /// Whether anything came of it.
    pub fn is_heard(&self) -> bool {
        self.numbers.highest().is_some()
    }

    /// The stream's block in a report written now. The fraction lost is of packets since the last report.
    pub fn block(&mut self, now: Time, ssrc: u32) -> ReportBlock {
        let (expected, received) = (self.expected(), self.received);
        let since = |total: u64, before: u64| total.saturating_sub(before);
        let (newly, came) = (since(expected, self.prior.0), since(received, self.prior.1));
        self.prior = (expected, received);
        let lost = newly.saturating_sub(came);
        let fraction_lost = (lost << 8).checked_div(newly).map_or(0, |fraction| fraction.min(255)) as u8;
        let (last_sr, delay) = match self.last_sr {
            Some((last_sr, came)) => (last_sr, units_of(now.saturating_since(came))),
            None => (0, 0),
        };
        ReportBlock {
            ssrc,
            fraction_lost,
            cumulative_lost: self.cumulative_lost(),
            // The turn that was added is no turn of the stream's.
            highest_sequence: self.highest.wrapping_sub(u64::from(TURNS_BEFORE) << 16) as u32,
            jitter: self.jitter >> 4,
            last_sr,
            delay_since_last_sr: delay,
        }
    }

    /// Packets by their ECN field since the stream was first heard (RFC 6679 section 5.1), in the low bits that a report says.
    pub fn ecn_counts(&self) -> EcnCounts {
        let [not_ect, ect0, ect1, ce] = self.marks;
        EcnCounts {
            ect0: ect0 as u32,
            ect1: ect1 as u32,
            ce: ce as u16,
            not_ect: not_ect as u16,
            lost: self.lost() as u16,
            duplicates: self.duplicates as u16,
        }
    }
}

/// The round trip that a block tells of (RFC 3550 section 6.4.1), if it repeats one of these sender reports, each with the middle
/// of its NTP time and when it left. A wait at the receiver longer than the report was away cannot be: then it tells nothing,
/// which is an error.
pub(super) fn round_trip(
    now: Time,
    block: &ReportBlock,
    sent: impl IntoIterator<Item = (u32, Time)>,
) -> Result<Option<TimeDelta>, ()> {
    if block.last_sr == 0 && block.delay_since_last_sr == 0 {
        return Ok(None);
    }
    let (_, left) = sent.into_iter().find(|(middle, _)| *middle == block.last_sr).ok_or(())?;
    let away = now.saturating_since(left);
    let waited = time_of(block.delay_since_last_sr);
    // Rounding: up at the receiver, down at the sender.
    let rounded = time_of(2);
    if waited > away + rounded { Err(()) } else { Ok(Some((away - waited).max(TimeDelta::ZERO))) }
}
