//! The transports over sockets: a folder each, and a line in `transports!`.
//!
//! A transport says here how its ends are driven over a socket, whom its relay lets pass, and how a capture shows its datagrams.

pub(crate) mod dccp;
pub(crate) mod rtp;

use crate::capture::Spell;
use crate::choice::ChosenFlow;
use crate::output::NetCounters;
use crate::port::Port;
use crate::receiver::ReceiveOptions;
use crate::record::Ended;
use crate::relay::{Admitted, RelayFilter};
use crate::remote::Remote;
use crate::sender::SendOptions;
use crate::sender::codec::SendingCodec;
use crate::sender::driver::SendingDriver;
use crate::socket::{Datagram, HeldDatagram};
use crate::{Control, NetError};
use paceline_scenario::Transport;
use paceline_scenario::transports::{DccpParts, EndsParts, RtpParts};
use paceline_units::Time;
use std::net::SocketAddr;

/// The parts of a flow's ends whose transport runs over sockets.
pub(crate) trait Networked {
    /// Speaks to a receiver.
    type Codec: SendingCodec;
    /// Lets packets pass at a relay.
    type Filter: RelayFilter;

    /// How a capture shows its datagrams.
    const SPELL: Spell;
    /// Whether a flow is a connection, which is opened and closed.
    const CONNECTS: bool;

    /// The driver that sends from `port` to `to`.
    fn sender<'a>(
        &'a self,
        flow: ChosenFlow<'a>,
        port: Port,
        to: SocketAddr,
        options: &SendOptions,
    ) -> Result<SendingDriver<'a, Self::Codec>, NetError>;

    /// Receives a flow on `port` until its end.
    fn receive<'a>(
        &'a self,
        flow: ChosenFlow<'a>,
        port: Port,
        options: ReceiveOptions,
        control: &Control<'_>,
    ) -> Result<Ended<'a>, NetError>;

    /// A relay's filter. `ssrc` is that of RTP's first stream.
    fn filter(&self, ssrc: Option<u32>) -> Self::Filter;

    /// When each of its streams is there, if all of them come and go.
    fn streams_there(&self) -> Option<Vec<(Time, Time)>> {
        None
    }

    /// Whether such a program can be the other end.
    ///
    /// # Errors
    /// Says what of the flow that program does not have.
    fn suits(&self, remote: Remote) -> Result<(), String>;
}

/// One line for each transport that runs over sockets, by the parts of its ends, which are [`Networked`].
macro_rules! transports {
    ($( $transport:ident($parts:ty), )*) => {
        /// A flow's transport, of those that run over sockets.
        #[derive(Clone, Copy)]
        pub(crate) enum Over<'a> { $( $transport(&'a $parts), )* }

        /// The driver of a flow over any transport.
        #[allow(clippy::large_enum_variant, reason = "one per flow, never moved in the packet path")]
        pub(crate) enum AnySendingDriver<'a> {
            $( $transport(SendingDriver<'a, <$parts as Networked>::Codec>), )*
        }

        /// The filter of a relay over any transport.
        #[allow(clippy::large_enum_variant, reason = "one per relay, never moved")]
        pub(crate) enum Filter { $( $transport(<$parts as Networked>::Filter), )* }

        /// Calls the driver inside.
        macro_rules! each_driver {
            ($any:expr, $driver:ident => $call:expr) => {
                match $any { $( AnySendingDriver::$transport($driver) => $call, )* }
            };
        }
        pub(crate) use each_driver;

        /// Calls the filter inside.
        macro_rules! each_filter {
            ($any:expr, $filter:ident => $call:expr) => {
                match $any { $( Filter::$transport($filter) => $call, )* }
            };
        }

        impl<'a> Over<'a> {
            /// The transport of a flow with these parts, if it runs over sockets.
            pub fn of(ends: &'a EndsParts) -> Option<Over<'a>> {
                match ends {
                    $( EndsParts::$transport(parts) => Some(Over::$transport(parts)), )*
                    _ => None,
                }
            }

            /// The names of all that there are.
            pub fn names() -> String {
                [$( Transport::$transport.name() ),*].join(" or ")
            }

            /// [`Networked::SPELL`].
            pub fn spell(self) -> Spell {
                match self { $( Over::$transport(_) => <$parts as Networked>::SPELL, )* }
            }

            /// [`Networked::CONNECTS`].
            pub fn connects(self) -> bool {
                match self { $( Over::$transport(_) => <$parts as Networked>::CONNECTS, )* }
            }

            /// [`Networked::sender`].
            pub fn sender(
                self,
                flow: ChosenFlow<'a>,
                port: Port,
                to: SocketAddr,
                options: &SendOptions,
            ) -> Result<AnySendingDriver<'a>, NetError> {
                match self {
                    $( Over::$transport(parts) => {
                        parts.sender(flow, port, to, options).map(AnySendingDriver::$transport)
                    } )*
                }
            }

            /// [`Networked::receive`].
            pub fn receive(
                self,
                flow: ChosenFlow<'a>,
                port: Port,
                options: ReceiveOptions,
                control: &Control<'_>,
            ) -> Result<Ended<'a>, NetError> {
                match self { $( Over::$transport(parts) => parts.receive(flow, port, options, control), )* }
            }

            /// [`Networked::filter`].
            pub fn filter(self, ssrc: Option<u32>) -> Filter {
                match self { $( Over::$transport(parts) => Filter::$transport(parts.filter(ssrc)), )* }
            }

            /// [`Networked::streams_there`].
            pub fn streams_there(self) -> Option<Vec<(Time, Time)>> {
                match self { $( Over::$transport(parts) => parts.streams_there(), )* }
            }

            /// [`Networked::suits`].
            pub fn suits(self, remote: Remote) -> Result<(), String> {
                match self { $( Over::$transport(parts) => parts.suits(remote), )* }
            }
        }
    };
}

transports! {
    Rtp(RtpParts),
    Dccp(DccpParts),
}

impl RelayFilter for Filter {
    fn target(&mut self, answer: &[u8]) -> Option<(SocketAddr, bool)> {
        each_filter!(self, filter => filter.target(answer))
    }

    fn admit(&mut self, now: Time, datagram: &Datagram<'_>, counters: &mut NetCounters) -> Option<Admitted> {
        each_filter!(self, filter => filter.admit(now, datagram, counters))
    }

    fn poll_held(&mut self) -> Option<HeldDatagram> {
        each_filter!(self, filter => filter.poll_held())
    }

    fn warnings(&self) -> Vec<String> {
        each_filter!(self, filter => filter.warnings())
    }

    fn is_answer(&self, datagram: &[u8]) -> bool {
        each_filter!(self, filter => filter.is_answer(datagram))
    }

    fn ends(&self, datagram: &[u8]) -> bool {
        each_filter!(self, filter => filter.ends(datagram))
    }
}
