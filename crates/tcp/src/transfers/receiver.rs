//! The end that receives files: the connections of one burst, until a newer one begins.

use super::TransfersConfig;
use crate::timer_tree::TimerTree;
use crate::{Segment, TcpConfig, TcpReceiver};
use paceline_ends::{Follows, PathFacts, Reason, Received, ReceivingEnd, Transmit};
use paceline_units::{Ecn, Time};

/// Receives bursts of files, each file over a connection of its own.
///
/// A connection that is complete still acknowledges what comes again, until the first segment of a newer burst says that
/// its sender has heard all.
#[derive(Clone, Debug)]
pub struct TransfersReceiver {
    config: TcpConfig,
    /// The connections of the burst, by place; none that has heard nothing.
    connections: Vec<Option<TcpReceiver>>,
    /// The number of the burst's first connection.
    first: u16,
    timers: TimerTree,
    /// The connection that received something last and has not been asked yet for its answer.
    touched: Option<usize>,
    /// Segments of connections that are over, and what those had ignored.
    ignored: u64,
}

impl TransfersReceiver {
    /// A receiver that has received nothing.
    pub fn new(config: &TcpConfig, transfers: &TransfersConfig) -> TransfersReceiver {
        let parallel = usize::from(transfers.parallel.clamp(1, TransfersConfig::MOST));
        TransfersReceiver {
            config: *config,
            connections: (0..parallel).map(|_| None).collect(),
            first: 0,
            timers: TimerTree::new(parallel),
            touched: None,
            ignored: 0,
        }
    }

    /// Segments that changed nothing: of connections that are over, out of the window, without being connected.
    pub fn ignored(&self) -> u64 {
        self.connections.iter().flatten().map(TcpReceiver::ignored).sum::<u64>() + self.ignored
    }

    /// A newer burst has begun: everything before is over. Answers the place in it of what was `ahead` of the old one.
    fn begin_burst(&mut self, ahead: usize) -> usize {
        let parallel = self.connections.len();
        self.ignored = self.ignored();
        for place in 0..parallel {
            self.connections[place] = None;
            self.timers.set(place, Time::MAX);
        }
        self.first = self.first.wrapping_add((ahead - ahead % parallel) as u16);
        ahead % parallel
    }

    #[inline]
    fn remind(&mut self, place: usize) {
        let due = self.connections[place].as_ref().and_then(TcpReceiver::next_timeout);
        self.timers.set(place, due.map_or(Time::MAX, |(due, _)| due));
    }

    #[inline]
    fn poll(&mut self, now: Time, place: usize) -> Option<Transmit<Segment>> {
        let ack = self.connections[place].as_mut()?.poll_transmit(now)?;
        self.remind(place);
        Some(ack)
    }
}

impl ReceivingEnd for TransfersReceiver {
    type Data = Segment;
    type Returning = Segment;

    #[inline]
    fn next_timeout(&self) -> Option<(Time, Reason)> {
        Some((self.timers.next(), Reason::DelayedAck)).filter(|(due, _)| *due != Time::MAX)
    }

    fn handle_timeout(&mut self, _now: Time) {}

    #[inline]
    fn receive(&mut self, now: Time, segment: Segment, ecn: Ecn, facts: PathFacts) -> Received {
        let mut place = usize::from(segment.connection.wrapping_sub(self.first));
        if place >= self.connections.len() {
            if place > usize::from(u16::MAX / 2) {
                // Of an older burst.
                self.ignored += 1;
                return Received::default();
            }
            place = self.begin_burst(place);
        }
        let connection =
            self.connections[place].get_or_insert_with(|| TcpReceiver::new(&self.config, segment.connection));
        let Received { stream, payload, .. } = connection.receive(now, segment, ecn, facts);
        self.touched = Some(place);
        self.remind(place);
        Received { stream, payload, follows: Follows::Unknown }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Segment>> {
        if let Some(place) = self.touched {
            let ack = self.poll(now, place);
            if ack.is_some() {
                return ack;
            }
            self.touched = None;
        }
        let place = self.timers.due(now)?;
        self.poll(now, place)
    }
}
