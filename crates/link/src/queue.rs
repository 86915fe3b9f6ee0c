//! The queue disciplines there are: drop-tail, which is predicted, and one line for each that holds its packets.

use crate::config::QueueLimit;
use crate::droptail::DropTail;
use crate::error::LinkError;
use crate::held::Place;
use crate::line::Line;
use crate::parameters::{Parameters, QueueKey, QueueValue};
use crate::schedule::NEVER;
use crate::transit::{Departure, Offered, Planned, Transit};
use paceline_units::Bitrate;

/// A line is: documentation, which is its help, an optional condition, and `Name("name in scenarios", parameters =>
/// discipline)`. The discipline implements [`Discipline`](crate::held::Discipline) with these parameters.
macro_rules! disciplines {
    ($($(#[doc = $doc:literal])+ $(#[cfg($cfg:meta)])? $name:ident($kind:literal, $config:ty => $discipline:ty),)*) => {
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
            /// The names of what there is, drop-tail first.
            pub const KINDS: &[&'static str] = &["droptail", $($(#[cfg($cfg)])? $kind,)*];

            /// The queue called `kind` with its source's parameters; drop-tail without a limit.
            pub fn of(kind: &str) -> Option<QueueConfig> {
                match kind {
                    "droptail" => Some(QueueConfig::DropTail { limit: QueueLimit::Unlimited }),
                    $($(#[cfg($cfg)])? $kind => Some(QueueConfig::$name(<$config>::default())),)*
                    _ => None,
                }
            }

            /// Its name.
            pub fn kind(&self) -> &'static str {
                match self {
                    QueueConfig::DropTail { .. } => "droptail",
                    $($(#[cfg($cfg)])? QueueConfig::$name(_) => $kind,)*
                }
            }

            /// What it is, in a line.
            pub fn help(&self) -> &'static str {
                match self {
                    QueueConfig::DropTail { .. } => "First in, first out; drops what does not fit.",
                    $($(#[cfg($cfg)])? QueueConfig::$name(_) => concat!($($doc),+).trim(),)*
                }
            }

            /// Its parameters beside the limit.
            pub fn keys(&self) -> &'static [QueueKey] {
                match self {
                    QueueConfig::DropTail { .. } => &[],
                    $($(#[cfg($cfg)])? QueueConfig::$name(_) => <$config as Parameters>::KEYS,)*
                }
            }

            /// How much may wait.
            pub fn limit(&self) -> QueueLimit {
                match self {
                    QueueConfig::DropTail { limit } => *limit,
                    $($(#[cfg($cfg)])? QueueConfig::$name(config) => Parameters::limit(config),)*
                }
            }

            /// Another limit.
            pub fn set_limit(&mut self, limit: QueueLimit) {
                match self {
                    QueueConfig::DropTail { limit: mine } => *mine = limit,
                    $($(#[cfg($cfg)])? QueueConfig::$name(config) => *config.limit_mut() = limit,)*
                }
            }

            /// The value of the parameter called `name`; none if it has no value or there is no such parameter.
            pub fn value(&self, name: &str) -> Option<QueueValue> {
                match self {
                    QueueConfig::DropTail { .. } => None,
                    $($(#[cfg($cfg)])? QueueConfig::$name(config) => config.value(name),)*
                }
            }

            /// Sets the parameter called `name`; false if there is none or it takes another kind of value. Ranges are
            /// for [`QueueConfig::validate`].
            pub fn set(&mut self, name: &str, value: QueueValue) -> bool {
                match self {
                    QueueConfig::DropTail { .. } => {
                        let _ = (name, value);
                        false
                    }
                    $($(#[cfg($cfg)])? QueueConfig::$name(config) => config.put(name, value),)*
                }
            }

            /// Checks what a [`Link`](crate::Link) would refuse, whatever its rate.
            ///
            /// # Errors
            /// The first parameter that is wrong.
            pub fn validate(&self) -> Result<(), LinkError> {
                self.validate_at(Bitrate::MAX)
            }

            /// The same with a limit in time at this nominal rate.
            pub(crate) fn validate_at(&self, nominal: Bitrate) -> Result<(), LinkError> {
                match self {
                    QueueConfig::DropTail { limit } => limit.resolve(nominal).map(|_| ()),
                    $($(#[cfg($cfg)])? QueueConfig::$name(config) => Parameters::validate(config, nominal),)*
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

            /// Bytes handed to the server that have not left and will, and whether others follow that were not.
            pub(crate) fn handed(&self, line: &Line) -> (u64, bool) {
                match self {
                    Queue::DropTail(queue) => (queue.handed(), false),
                    $($(#[cfg($cfg)])? Queue::$name(queue) => (queue.handed(), line.account.packets() > 0),)*
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
    /// Random early detection: drops or marks arrivals by chance, the more the longer the average queue.
    Red("red", crate::red::RedConfig => crate::red::Red<P>),
    /// Controlled delay: drops or marks at the head once the wait has stayed above a target for an interval.
    CoDel("codel", crate::codel::CoDelConfig => crate::codel::CoDel<P>),
    /// A queue for each flow, served in turn, with CoDel in each; new and sparse flows go first.
    FqCoDel("fq-codel", crate::fq_codel::FqCoDelConfig => crate::fq_codel::FqCoDel<P>),
    /// Drops or marks arrivals by a chance that follows the queue's delay.
    Pie("pie", crate::pie::PieConfig => crate::pie::Pie<P>),
    /// A queue for L4S beside one for the rest, coupled so that flows of both get alike.
    DualPi2("dualpi2", crate::dualpi2::DualPi2Config => crate::dualpi2::DualPi2<P>),
    /// Drop-tail with real departures: the oracle of the predicted one.
    #[cfg(test)]
    Fifo("fifo", QueueLimit => crate::tests::fifo::Fifo<P>),
    /// Drops by chance and by age: exercises what drop-tail does not.
    #[cfg(test)]
    Aging("aging", crate::tests::aging::AgingConfig => crate::tests::aging::Aging<P>),
}
