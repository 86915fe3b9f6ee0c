//! Conversations: many TCP connections whose two sides ask and answer, as connection vectors say ([`paceline_media::vectors`];
//! Tmix, Weigle et al. 2006).
//!
//! The two ends of a flow play the two sides of all its connections: each has a sender for what its side says and a
//! receiver for what the other side says, so that both directions are TCP, with one handshake between them. Each connection
//! has its own round trip: what a packet needs longer than the flow's path it waits at the end that sends it, as in the
//! access network of its host.
//!
//! Both ends know the vectors and the flow's plan, as Tmix's do: each begins a connection at its time, and looks for nothing
//! else in a segment than TCP's own fields. A connection's number is its place in the order of starts, modulo the number of
//! places; its two directions are told apart by the lowest bit. A connection whose place is still taken waits for it, and
//! sequence numbers begin elsewhere in every round, so that a segment that is older than its place belongs to nobody.

mod conversation;
mod delay_line;
mod ends;
mod many;
mod schedule;
mod script;

pub use ends::{ConversationsReceiver, ConversationsSender};
pub use schedule::Schedule;

use paceline_media::ConnectionVectors;
use paceline_media::vectors::Side;
use paceline_units::{RandomStream, TimeDelta, names};

names! {
    /// Meaning of the round trip of a connection vector.
    pub enum RttUse {
        /// The whole: the flow's path is a part of it.
        Whole = "whole",
        /// Added to the flow's path, as Tmix's delay box does.
        Added = "added",
        /// Not used: the flow's path is all.
        Path = "path",
    }
}

names! {
    /// Whether the loss ratios of connection vectors are used.
    pub enum LossUse {
        /// Links alone lose packets.
        None = "none",
        /// Packets of a connection are lost by its vector's ratios before they enter the flow's path.
        Vector = "vector",
    }
}

/// Configuration of the two ends of a flow of conversations.
#[derive(Clone, Debug)]
pub struct ConversationsConfig {
    /// Connections to play, each with what its sides say.
    pub vectors: ConnectionVectors,
    /// The side that the flow's sending end plays.
    pub sending: Side,
    /// Meaning of the round trips of the vectors.
    pub rtt: RttUse,
    /// Round trip of the flow's path when it is empty.
    pub path_rtt: TimeDelta,
    /// Where initiator and acceptor draw which packets the vectors' loss ratios take; none if the ratios are not used.
    pub loss: Option<[RandomStream; 2]>,
    /// When connections may begin, and sides may say something.
    pub schedule: Schedule,
}

impl ConversationsConfig {
    /// The most connections at once: their numbers and a bit for the direction are 16 bits.
    pub const MOST: usize = 1 << 15;

    /// How long packets of a connection with the round trip `rtt` wait at each end.
    fn access_delay(&self, rtt: TimeDelta) -> TimeDelta {
        let beyond = match self.rtt {
            RttUse::Whole => rtt - self.path_rtt,
            RttUse::Added => rtt,
            RttUse::Path => TimeDelta::ZERO,
        };
        TimeDelta::from_nanos(beyond.as_nanos().max(0) / 2)
    }

    /// Round trip of such a connection when the path is empty.
    fn whole_rtt(&self, rtt: TimeDelta) -> TimeDelta {
        self.path_rtt + self.access_delay(rtt) + self.access_delay(rtt)
    }
}
