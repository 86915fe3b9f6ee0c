//! The common part of the window laws of the TCP family: the count of the flight, the round-trip time, slow start, the rule for
//! unused windows, one reaction per window of data, and what a spurious reaction overwrote.
//!
//! A law ([`Law`]) says how the window moves; [`WindowSender`] is the controller around it. Detection and repair of
//! losses are the transport's, which tells of them by [`Recovery`](crate::Recovery). Open points of the RFCs, and the choices here, are in
//! DEVIATIONS.md beside this file.

mod avoidance;
#[cfg(test)]
pub(crate) mod drive;
mod extreme;
mod flight;
mod growth;
mod hystart;
mod round_trip;
mod rounds;
mod search;
mod sender;
mod state;
#[cfg(test)]
mod tests;

pub use avoidance::{Avoidance, AvoidanceParams, Rule};
pub use extreme::Extreme;
pub use flight::Sent;
pub use growth::WindowGrowth;
pub use hystart::{HyStartParams, SlowStartExit};
pub use round_trip::RoundTrip;
pub use rounds::{Round, Rounds};
pub use search::SearchParams;
pub use sender::WindowSender;
pub use state::{Window, WindowPacing};

use crate::{Assigned, Marking, PacketResult, SentPacket, StateVariable, Verb};
use paceline_units::{Bitrate, CongestionHeader, Time, TimeDelta};

/// Reason for a reduction of the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The transport detected a loss.
    Loss,
    /// A packet arrived marked CE.
    Mark,
}

/// An acknowledgement: a report that delivered something.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Time of its arrival.
    pub now: Time,
    /// Bytes that the acknowledgement delivered.
    pub delivered: u64,
    /// Bytes that it delivered and that were marked CE.
    pub marked: u64,
    /// Highest sequence number that it delivered.
    pub newest: u64,
    /// The round trip of the packet sent last of those it delivered; absent if that is ambiguous (Karn's rule).
    pub rtt: Option<TimeDelta>,
    /// Bytes in flight before the acknowledgement.
    pub flight_before: u64,
    /// Whether the window may grow: it was used, or need not be, and no recovery lasts.
    pub may_grow: bool,
}

/// How a window moves. Sizes are bytes on the link.
pub trait Law: Sized {
    /// The constants of the law, by name.
    type Params;

    /// The law's note on each packet when it is sent.
    type Note: Copy + Default;

    /// Which reductions marks cause.
    const MARKS: Marks = Marks::AsLoss;

    /// Whether a window may grow while marks reduce it, by what arrived unmarked.
    const GROWS_BESIDE_MARKS: bool = false;

    /// Whether a flight of half a window uses it after slow start too (RFC 7661 section 4.3): of laws whose pace keeps the flight
    /// below.
    const IS_USED_BY_HALF: bool = false;

    /// Whether the law goes on from the window as it finds it. Where not, every assignment is told to the law.
    const WINDOW_IS_STATE: bool = true;

    /// Whether an assigned window stands until the law grows or reduces it. Where not, the law brings it to a bound of its own, of its
    /// flight or of its rate, within some round trips: what it is given beyond an assignment would be lost or count twice.
    const LEAVES_ASSIGNMENTS: bool = true;

    /// Whether the law's window is what may be under way during recovery, too ([`crate::Controller::rules_recovery`]).
    const RULES_RECOVERY: bool = false;

    /// Whether the law is told which packets were lost ([`Law::on_packet_lost`]).
    const HEARS_LOST_PACKETS: bool = false;

    /// As [`crate::Controller::verbs`].
    const VERBS: &'static [Verb] = &[];

    /// The congestion header of the packet that is about to leave.
    fn congestion_header(&self, window: &Window) -> Option<CongestionHeader> {
        let _ = window;
        None
    }

    /// The routers' answer to the packets of the next acknowledgement ([`crate::Report::Congestion`]).
    fn on_congestion_header(&mut self, feedback: Option<f64>) {
        let _ = feedback;
    }

    /// The share that coupling is told ([`crate::Controller::share`]), if it is not the window.
    fn share(&self) -> Option<Assigned> {
        None
    }

    /// The law of a sender that has sent nothing. It may change the first window and how it is used.
    fn new(params: &Self::Params, window: &mut Window) -> Self;

    /// The meaning of marks from now on, and before the first packet: L4S's or others.
    fn on_marking(&mut self, window: &mut Window, marking: Marking) {
        let _ = (window, marking);
    }

    /// The connection is open, by a handshake that took so long.
    fn on_opened(&mut self, window: &mut Window, rtt: TimeDelta) {
        let _ = (window, rtt);
    }

    /// A packet leaves; the window does not count it yet.
    #[inline]
    fn on_sent(&mut self, window: &mut Window, now: Time, packet: &SentPacket) -> Self::Note {
        let _ = (window, now, packet);
        Self::Note::default()
    }

    /// A packet was delivered, in the order of the report. The acknowledgement follows.
    #[inline]
    fn on_delivered(&mut self, window: &Window, now: Time, packet: &PacketResult, sent: &Sent<Self::Note>) {
        let _ = (window, now, packet, sent);
    }

    /// All packets of an acknowledgement were told. An acknowledgement of a mark that the law reacts to is told by
    /// [`Law::on_congestion`] instead.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Recovery begins, or a mark asks for a reduction: at most once per window of data. Lost bytes are still in flight.
    fn on_congestion(&mut self, window: &mut Window, now: Time, cause: Cause);

    /// The transport declared `bytes` lost, which have left the flight.
    #[inline]
    fn on_lost(&mut self, window: &mut Window, bytes: u64) {
        let _ = (window, bytes);
    }

    /// One of the packets that the transport declared lost, by number and as it was sent; before [`Law::on_lost`], and for a
    /// timeout after [`Law::on_timed_out`].
    fn on_packet_lost(&mut self, window: &Window, now: Time, sequence: u64, sent: &Sent<Self::Note>) {
        let _ = (window, now, sequence, sent);
    }

    /// Recovery is over.
    #[inline]
    fn on_recovered(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
    }

    /// The retransmission timer expired, `again` without progress since it last did. Packets in flight count still.
    fn on_timed_out(&mut self, window: &mut Window, now: Time, again: bool);

    /// Keeps the state that the coming reduction overwrites; window and threshold are kept already.
    fn keep(&mut self) {}

    /// Whether a reduction that was spurious is undone, given the window now.
    fn undoes(&self, window: &Window) -> bool {
        let _ = window;
        true
    }

    /// The last reduction was spurious; window and threshold are back already.
    fn undo(&mut self, window: &mut Window) {
        let _ = window;
    }

    /// Coupling has set window and threshold.
    fn on_assigned(&mut self, window: &mut Window, assigned: Assigned) {
        let _ = (window, assigned);
    }

    /// The rate at which packets are spaced; absent: they are not.
    #[inline]
    fn pacing_rate(&self, window: &Window) -> Option<Bitrate> {
        window.pacing_rate()
    }

    /// The law's estimate of the queue delay.
    fn queue_delay(&self) -> Option<TimeDelta> {
        None
    }

    /// The inner state that a person would plot, by name and unit.
    fn state_variables(&self) -> &'static [StateVariable];

    /// Writes the values of [`Law::state_variables`], in their order.
    fn state(&self, window: &Window, values: &mut [Option<f64>]);
}

/// The meaning of a mark to a law.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marks {
    /// The law does not look at marks.
    Ignored,
    /// A window of data in which one was seen is reduced once, for marks and losses together (RFC 3168 section 6.1.2).
    AsLoss,
    /// As before, but a loss in the same window of data reduces too (RFC 8257 section 3.5).
    BesideLoss,
}
