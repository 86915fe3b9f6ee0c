//! The queue disciplines there are: drop-tail, which is predicted, and one line for each that holds its packets.

use crate::config::QueueLimit;
use crate::droptail::DropTail;
use crate::error::LinkError;
use crate::held::Place;
use crate::line::Line;
use crate::schedule::NEVER;
use crate::transit::{Departure, Offered, Planned, Transit};

/// A line is: documentation, an optional condition, `Name(parameters => discipline)`. The discipline implements
/// [`Discipline`](crate::held::Discipline) with these parameters.
macro_rules! disciplines {
    ($($(#[doc = $doc:literal])+ $(#[cfg($cfg:meta)])? $name:ident($config:ty => $discipline:ty),)*) => {
        /// Which queue a link has, with its parameters.
        #[derive(Clone, PartialEq, Debug)]
        pub enum QueueConfig {
            /// First in, first out; drops what does not fit.
            DropTail {
                /// How much may wait.
                limit: QueueLimit,
            },
            $($(#[doc = $doc])+ $(#[cfg($cfg)])? $name($config),)*
        }

        impl QueueConfig {
            /// Checks what a [`Link`](crate::Link) would refuse.
            ///
            /// # Errors
            /// The first parameter that is wrong.
            pub fn validate(&self) -> Result<(), LinkError> {
                match self {
                    QueueConfig::DropTail { limit: QueueLimit::Time(span) } => {
                        crate::error::check_span("queue.limit", *span)
                    }
                    QueueConfig::DropTail { .. } => Ok(()),
                    $($(#[cfg($cfg)])? QueueConfig::$name(config) => config.validate(),)*
                }
            }
        }

        /// A running queue. Static dispatch: the packet path knows no trait objects.
        #[derive(Clone, Debug)]
        pub(crate) enum Queue<P> {
            DropTail(DropTail<P>),
            $($(#[cfg($cfg)])? $name($crate::held::Held<P, $discipline>),)*
        }

        impl<P: Transit> Queue<P> {
            pub(crate) fn new(config: &QueueConfig, place: &Place<'_>) -> Result<Queue<P>, LinkError> {
                match config {
                    QueueConfig::DropTail { limit } => {
                        Ok(Queue::DropTail(DropTail::new(limit.resolve(place.nominal)?)))
                    }
                    $($(#[cfg($cfg)])? QueueConfig::$name(config) => {
                        Ok(Queue::$name($crate::held::Held::new(config, place)?))
                    })*
                }
            }

            #[inline]
            pub(crate) fn offer(
                &mut self,
                line: &mut Line,
                now: u64,
                packet: P,
                sink: &mut impl FnMut(Departure<P>),
            ) -> Offered {
                match self {
                    Queue::DropTail(queue) => queue.offer(line, now, packet, sink),
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.offer(line, now, packet, sink),)*
                }
            }

            #[inline]
            pub(crate) fn next_event(&self) -> u64 {
                match self {
                    Queue::DropTail(_) => NEVER,
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.next_event(),)*
                }
            }

            #[inline]
            pub(crate) fn advance(&mut self, line: &mut Line, until: u64, sink: &mut impl FnMut(Departure<P>)) {
                match self {
                    Queue::DropTail(_) => {}
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.advance(line, until, sink),)*
                }
            }

            pub(crate) fn settle(&mut self, line: &mut Line, now: u64) {
                match self {
                    Queue::DropTail(queue) => queue.settle(line, now),
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.settle(line, now),)*
                }
            }

            /// What becomes of a packet, if that is known when it comes: with drop-tail.
            #[inline(always)]
            pub(crate) fn plan(&mut self, line: &mut Line, now: u64, size: u64, ecn: paceline_units::Ecn) -> Option<Planned> {
                match self {
                    Queue::DropTail(queue) => Some(queue.plan(line, now, size, ecn)),
                    $($(#[cfg($cfg)])? Queue::$name(_) => None,)*
                }
            }

            /// Whether what becomes of a packet is known when it comes.
            pub(crate) fn is_predicted(&self) -> bool {
                matches!(self, Queue::DropTail(_))
            }

            /// The next packet that was dropped after it had waited; never with drop-tail.
            #[inline]
            pub(crate) fn take_dropped(&mut self) -> Option<(u64, P)> {
                match self {
                    Queue::DropTail(_) => None,
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.take_dropped(),)*
                }
            }

            pub(crate) fn in_service(&self) -> bool {
                match self {
                    Queue::DropTail(queue) => queue.in_service(),
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.in_service(),)*
                }
            }
        }
    };
}

disciplines! {
    /// Random early detection (Floyd and Jacobson 1993).
    Red(crate::red::RedConfig => crate::red::Red<P>),
    /// Controlled delay (RFC 8289).
    CoDel(crate::codel::CoDelConfig => crate::codel::CoDel<P>),
    /// Flow queueing with CoDel (RFC 8290).
    FqCoDel(crate::fq_codel::FqCoDelConfig => crate::fq_codel::FqCoDel<P>),
    /// Proportional integral controller enhanced (RFC 8033).
    Pie(crate::pie::PieConfig => crate::pie::Pie<P>),
    /// Dual-queue coupled AQM (RFC 9332).
    DualPi2(crate::dualpi2::DualPi2Config => crate::dualpi2::DualPi2<P>),
    /// Drop-tail with real departures: the oracle of the predicted one.
    #[cfg(test)]
    Fifo(QueueLimit => crate::tests::fifo::Fifo<P>),
    /// Drops by chance and by age: exercises what drop-tail does not.
    #[cfg(test)]
    Aging(crate::tests::aging::AgingConfig => crate::tests::aging::Aging<P>),
}
