//! RACK (RFC 8985): losses are found by time. A packet that was sent before one that has arrived, and is still missing when packets have
//! had time to overtake each other, is lost; one that was sent again is judged like everything else.
//!
//! Segments go by their numbers in the scoreboard where the RFC has their last sequence numbers: the order is the same.

use super::TcpConfig;
use super::scoreboard::{Scoreboard, Sent, State};
use super::timestamp::{is_before, stamp};
use super::tlp::Tlp;
use paceline_units::{Time, TimeDelta};
use std::collections::VecDeque;

/// RFC 8985 section 6.2 step 1 asks for a minimum of recent round trips; Linux keeps it for so long too.
const MIN_RTT_WINDOW: TimeDelta = TimeDelta::from_secs(300);
/// Recoveries that keep a widened reordering window (RFC 8985 section 6.2 step 4).
const PERSIST: u32 = 16;

/// A transmission: when, whether it was one of many, and of which segment. Later ones are greater (RFC 8985 section 6.2,
/// `RACK_sent_after`); at one time what is sent again comes last, since the RFC's order by sequence numbers would let the
/// acknowledgement of a new segment tell the loss of what left just behind it.
type Sending = (Time, bool, u64);

/// State of RACK: a connection's losses by time.
#[derive(Clone, Debug)]
pub struct Rack {
    /// The most recent transmission that is known to have arrived (RACK.xmit_ts, RACK.end_seq).
    newest: Option<Sending>,
    /// Round trip of the segment that arrived last (RACK.rtt).
    rtt: TimeDelta,
    min_rtt: MinRtt,
    /// The highest segment that arrived (RACK.fack).
    highest: Option<u64>,
    /// Whether a segment that was sent once arrived behind a later one (RACK.reordering_seen).
    reordering_seen: bool,
    /// The offset that ends the round in which a duplicate was told (RACK.dsack_round).
    duplicate_round: Option<u64>,
    /// Multiplies the reordering window (RACK.reo_wnd_mult).
    multiplier: u32,
    /// Recoveries before the multiplier is 1 again (RACK.reo_wnd_persist).
    persist: u32,
    /// Segments that were sent once: all below the first number are judged, all below the second were sent before
    /// `newest`, and the third is the highest between the two that may be missing.
    judged: u64,
    reach: u64,
    waiting: u64,
    /// Transmissions of segments that were sent before, in order.
    again: VecDeque<Sending>,
    /// When all that `newest` tells to be late is lost: the reordering timer.
    pub late_at: Option<Time>,
    /// The duplicate that the acknowledgement at hand tells of (RFC 2883).
    pub duplicate: Option<(u64, u64)>,
    /// The timestamp that it answers, if the connection has any.
    pub answered: Option<u32>,
    /// When the retransmission timer expires. The connection's timer may be set to something earlier.
    pub retransmit_at: Option<Time>,
    pub tlp: Tlp,
}

/// Inputs of the reordering window besides arrivals (RFC 8985 section 6.2 step 4).
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Whether fast recovery or the recovery from a timeout lasts.
    pub recovering: bool,
    /// Duplicate acknowledgements that tell a loss (DupThresh).
    pub duplicate_acks: u32,
    /// Smoothed round trip.
    pub srtt: Option<TimeDelta>,
}

impl Rack {
    /// Nothing was sent.
    pub fn new(config: &TcpConfig) -> Rack {
        Rack {
            newest: None,
            rtt: TimeDelta::ZERO,
            min_rtt: MinRtt::default(),
            highest: None,
            reordering_seen: false,
            duplicate_round: None,
            multiplier: 1,
            persist: 0,
            judged: 0,
            reach: 0,
            waiting: 0,
            again: VecDeque::new(),
            late_at: None,
            duplicate: None,
            answered: None,
            retransmit_at: None,
            tlp: Tlp::new(config.max_ack_delay),
        }
    }

    /// The handshake took a round trip.
    pub fn on_opened(&mut self, now: Time, rtt: TimeDelta) {
        self.min_rtt.sample(now, rtt);
        self.tlp.sampled = true;
    }

    /// A timeout: the retransmission timer starts anew (section 7.1: with it all about probes).
    pub fn on_timed_out(&mut self, retransmit_at: Option<Time>) {
        (self.retransmit_at, self.late_at) = (retransmit_at, None);
        self.tlp.reset();
    }

    /// A segment left again (section 6.1).
    pub fn on_sent_again(&mut self, now: Time, number: u64) {
        let sending = (now, true, number);
        let place = self.again.iter().rposition(|before| *before <= sending).map_or(0, |before| before + 1);
        self.again.insert(place, sending);
    }

    /// Segments arrived, as they were when that was told (section 6.2, steps 1 to 3).
    pub fn on_arrived(&mut self, now: Time, arrived: impl Iterator<Item = (u64, Sent)> + Clone) {
        let once = arrived.clone().filter(|(_, sent)| !sent.resent);
        // Step 3: in ascending order none of them would lower what the earlier ones raise.
        let overtaken = |number| self.highest.is_some_and(|highest| number < highest);
        self.reordering_seen |= once.clone().any(|(number, _)| overtaken(number));
        // Step 1.
        if let Some(sent) = once.map(|(_, sent)| sent.at).max() {
            self.min_rtt.sample(now, now.saturating_since(sent));
        }
        // Step 2: what answers an older timestamp, or comes sooner than any round trip, answers an earlier transmission.
        let spurious = |sent: &Sent| {
            let rtt = now.saturating_since(sent.at);
            let older = || self.answered.is_some_and(|answered| is_before(answered, stamp(sent.at)));
            sent.resent && (older() || self.min_rtt.value().is_some_and(|least| rtt < least))
        };
        let valid = arrived.clone().filter(|(_, sent)| !spurious(sent));
        if let Some(latest) = valid.map(|(number, sent)| (sent.at, sent.resent, number)).max() {
            self.rtt = now.saturating_since(latest.0);
            self.newest = self.newest.max(Some(latest));
        }
        self.highest = self.highest.max(arrived.map(|(number, _)| number).max());
    }

    /// The declared losses were none: missing packets are judged anew.
    pub fn on_spurious(&mut self) {
        (self.judged, self.reach, self.waiting) = (0, 0, 0);
    }

    /// The part of step 4 that looks at duplicates: the window grows by a quarter round trip for each round that has one.
    pub fn adapt(&mut self, acknowledged: u64, sent: u64, recovered: bool) {
        if self.duplicate_round.is_some_and(|round| acknowledged >= round) {
            self.duplicate_round = None;
        }
        if self.duplicate_round.is_none() && self.duplicate.is_some() {
            self.duplicate_round = Some(sent);
            self.multiplier = self.multiplier.saturating_add(1);
            self.persist = PERSIST;
        } else if recovered {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.multiplier = 1;
            }
        }
    }

    /// The reordering window (section 6.2 step 4, RACK.reo_wnd).
    pub fn window(&self, board: &Scoreboard, standing: &Standing) -> TimeDelta {
        let enough = board.delivered() >= u64::from(standing.duplicate_acks);
        if !self.reordering_seen && (standing.recovering || enough) {
            return TimeDelta::ZERO;
        }
        let quarters = self.min_rtt.value().unwrap_or(TimeDelta::ZERO).as_nanos() / 4;
        let window = TimeDelta::from_nanos(quarters.saturating_mul(i64::from(self.multiplier)));
        standing.srtt.map_or(window, |srtt| window.min(srtt))
    }

    /// Whether a transmission at `sent` has had its time (section 6.3).
    pub fn is_overdue(&self, sent: Time, window: TimeDelta, now: Time) -> bool {
        sent + self.rtt + window <= now
    }

    /// The next segment that is lost (section 6.2 step 5); `None` when there is none, and `late_at` says when there may be.
    /// Call it until then, with [`Scoreboard::set`] in between.
    pub fn next_lost(&mut self, now: Time, board: &Scoreboard, window: TimeDelta) -> Option<u64> {
        self.late_at = None;
        let newest = self.newest?;
        self.next_lost_of_once(newest, now, board, window)
            .or_else(|| self.next_lost_of_again(newest, now, board, window))
    }

    fn next_lost_of_once(
        &mut self,
        newest: Sending,
        now: Time,
        board: &Scoreboard,
        window: TimeDelta,
    ) -> Option<u64> {
        let missing = |number: u64| {
            let sent = board.sent(number);
            sent.state == State::InFlight && !sent.resent
        };
        self.judged = self.judged.max(board.first);
        self.reach = self.reach.max(self.judged);
        while self.reach < board.end
            && (board.sent(self.reach).resent || {
                let at = board.sent(self.reach).at;
                (at, false, self.reach) < newest
            })
        {
            if missing(self.reach) {
                self.waiting = self.reach;
            }
            self.reach += 1;
        }
        while self.judged < self.reach {
            let number = self.judged;
            if missing(number) {
                if !self.is_overdue(board.sent(number).at, window, now) {
                    break;
                }
                self.judged += 1;
                return Some(number);
            }
            self.judged += 1;
        }
        if self.judged < self.reach {
            self.waiting = self.waiting.max(self.judged);
            while self.waiting > self.judged && !missing(self.waiting) {
                self.waiting -= 1;
            }
            self.wait_until(board.sent(self.waiting).at, window);
        }
        None
    }

    fn next_lost_of_again(
        &mut self,
        newest: Sending,
        now: Time,
        board: &Scoreboard,
        window: TimeDelta,
    ) -> Option<u64> {
        let under_way = |(at, _, number): Sending| {
            let known = board.first <= number && number < board.end;
            known && board.sent(number).at == at && board.sent(number).state == State::Resent
        };
        while let Some(&sending) = self.again.front() {
            let (at, _, number) = sending;
            if under_way(sending) {
                if sending >= newest || !self.is_overdue(at, window, now) {
                    break;
                }
                self.again.pop_front();
                return Some(number);
            }
            self.again.pop_front();
        }
        let latest = self.again.iter().rev().find(|sending| **sending < newest && under_way(**sending));
        if let Some((at, ..)) = latest.copied() {
            self.wait_until(at, window);
        }
        None
    }

    fn wait_until(&mut self, sent: Time, window: TimeDelta) {
        self.late_at = self.late_at.max(Some(sent + self.rtt + window));
    }
}

/// The least round trip of [`MIN_RTT_WINDOW`], in halves, so that it is forgotten after one to one and a half of them.
#[derive(Clone, Copy, Debug, Default)]
struct MinRtt {
    before: Option<TimeDelta>,
    least: Option<TimeDelta>,
    since: Time,
}

impl MinRtt {
    fn sample(&mut self, now: Time, rtt: TimeDelta) {
        if now.saturating_since(self.since) >= MIN_RTT_WINDOW {
            (self.before, self.least, self.since) = (self.least.take(), None, now);
        }
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
    }

    fn value(&self) -> Option<TimeDelta> {
        self.before.into_iter().chain(self.least).min()
    }
}
