//! Whether the marks on ECT(1) packets are those of a Classic AQM (RFC 9331 section 4.3, item 3, and appendix A.1.5).
//!
//! An L4S AQM marks every packet that waits for longer than a few milliseconds at most, so that its queue stays short. A Classic AQM
//! lets a queue stand, and marks single packets of it. So of the packets that wait as long as marked ones, nearly all are marked by
//! the first, and few by the second. RFC 9331 names the variation of round trips as a measure; arrival times say it of each packet.

use paceline_cc::{PacketResult, Status};
use paceline_units::{Ecn, Time, TimeDelta};

/// A queue delay that no L4S AQM lets stand (ours; CoDel's target is 5 ms, PIE's 15 ms, that of an L4S queue 1 ms).
const DEEP: TimeDelta = TimeDelta::from_millis(10);
/// Marks that are judged together (ours).
const MARKS: usize = 8;
/// Unmarked packets for each marked one, of those that wait as long: Classic if they are as many, L4S if they are fewer than one
/// (ours).
const SPARSE: usize = 4;
/// The shortest way is sought among packets of the last one to two of these, since clocks drift and paths change (ours).
const BASE: TimeDelta = TimeDelta::from_secs(10);
/// Evidence is forgotten after this time without a verdict, and beyond this many packets (ours).
const FORGET: TimeDelta = TimeDelta::from_secs(10);
const MOST_PACKETS: usize = 2048;

/// Watches the marks of one flow.
#[derive(Clone, Debug)]
pub(super) struct Bottleneck {
    classic: bool,
    /// One-way times of packets without a mark and with one, since the last verdict. By two clocks: what differs between them is
    /// in the shortest way too.
    unmarked: Vec<TimeDelta>,
    marked: Vec<TimeDelta>,
    since: Time,
    /// Shortest one-way time of this span and of the one before, and when this one began.
    shortest: (Option<TimeDelta>, Option<TimeDelta>),
    span: Time,
}

impl Bottleneck {
    pub(super) fn new() -> Bottleneck {
        Bottleneck {
            classic: false,
            unmarked: Vec::with_capacity(MOST_PACKETS),
            marked: Vec::with_capacity(MOST_PACKETS),
            since: Time::ZERO,
            shortest: (None, None),
            span: Time::ZERO,
        }
    }

    pub(super) fn is_classic(&self) -> bool {
        self.classic
    }

    /// The receiver reported.
    pub(super) fn on_report(&mut self, now: Time, results: &[PacketResult]) {
        if now.saturating_since(self.span) >= BASE {
            (self.shortest, self.span) = ((None, self.shortest.0), now);
        }
        for packet in results {
            let Status::Received { arrived: Some(arrived), ecn } = packet.status else { continue };
            let way = TimeDelta::from_nanos(arrived.as_nanos().wrapping_sub(packet.sent.as_nanos()) as i64);
            self.shortest.0 = Some(self.shortest.0.map_or(way, |least| least.min(way)));
            if self.unmarked.len() + self.marked.len() < MOST_PACKETS {
                match ecn {
                    Ecn::Ce => self.marked.push(way),
                    Ecn::Ect1 => self.unmarked.push(way),
                    Ecn::NotEct | Ecn::Ect0 => {}
                }
            }
        }
        let full = self.unmarked.len() + self.marked.len() == MOST_PACKETS;
        if self.marked.len() >= MARKS {
            self.judge();
        } else if !full && now.saturating_since(self.since) < FORGET {
            return;
        }
        self.unmarked.clear();
        self.marked.clear();
        self.since = now;
    }

    fn judge(&mut self) {
        let middle = self.marked.len() / 2;
        let (_, median, above) = self.marked.select_nth_unstable(middle);
        let (median, marked) = (*median, above.len() + 1);
        let unmarked = self.unmarked.iter().filter(|way| **way >= median).count();
        let shortest = self.shortest.0.into_iter().chain(self.shortest.1).min().unwrap_or(median);
        if unmarked >= marked * SPARSE && median - shortest > DEEP {
            self.classic = true;
        } else if unmarked < marked {
            self.classic = false;
        }
    }
}
