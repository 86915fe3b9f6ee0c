//! The queue disciplines there are: drop-tail, which is predicted, and one line for each that holds its packets. To add one: a
//! file that declares its parameters and implements [`Discipline`](packet_queue::Discipline), and a line in `disciplines!`.

pub(crate) mod codel;
pub(crate) mod droptail;
pub(crate) mod dualpi2;
pub(crate) mod fq_codel;
pub(crate) mod headers;
pub(crate) mod packet_queue;
pub(crate) mod pie;
pub(crate) mod rcp;
pub(crate) mod red;
pub(crate) mod xcp;

pub use codel::CoDelConfig;
pub use droptail::DropTailConfig;
pub use dualpi2::{DualPi2Config, Scheduler};
pub use fq_codel::FqCoDelConfig;
pub use pie::{DelayEstimate, PieConfig};
pub use rcp::RcpConfig;
pub use red::RedConfig;
pub use xcp::XcpConfig;

use crate::FactorOverTime;
use crate::config::{QueueLimit, ResolvedLimit};
use crate::line::Line;
use crate::schedule::NEVER;
use crate::transit::{Departure, Planned, Transit};
use alloc::format;
use alloc::string::ToString;
use droptail::DropTail;
use headers::Routed;
use paceline_units::param::{ParamError, ParamSet};
use paceline_units::{Bitrate, Bytes, CongestionHeader};
use packet_queue::{Discipline, LinkContext, PacketQueue};

/// The common parameter of every discipline: a limit.
pub(crate) trait Limited: ParamSet {
    fn limit(&self) -> QueueLimit;
    fn limit_mut(&mut self) -> &mut QueueLimit;

    /// The factor of the limit, if it has one.
    fn scale_mut(&mut self) -> Option<&mut FactorOverTime>;

    /// Least limit with which a packet may ever wait.
    fn room(&self) -> Bytes;

    /// Everything that is wrong with the parameters, at a link of this nominal rate.
    fn check_at(&self, nominal: Bitrate) -> Result<(), ParamError> {
        let (limit, room) = (self.limit(), self.room());
        let resolved = limit.resolve(nominal)?;
        if room != Bytes::ZERO && !resolved.admits(0, 0, room.as_u64()) {
            let (name, found) = match limit {
                QueueLimit::Packets(packets) => ("packets", packets.to_string()),
                QueueLimit::Bytes(bytes) => ("bytes", format!("{} B", bytes.as_u64())),
                QueueLimit::Unlimited => ("limit", "none".into()),
                QueueLimit::Time(span) => {
                    let at = nominal.as_bps();
                    ("limit", format!("{} ms at a nominal rate of {at} bit/s", span.as_millis_f64()))
                }
            };
            let expected = "room for a packet (with dualpi2: for mtu), or nothing would ever wait";
            return Err(ParamError::new(name, found, expected));
        }
        self.check()
    }
}

/// Declares the parameters of a discipline: its usual limit, what the limit must hold, and lines as in
/// [`params!`](paceline_units::params).
macro_rules! queue_params {
    (
        $(#[$meta:meta])*
        pub struct $config:ident, limit = $limit:expr, room = $room:expr, { $($own:tt)* }
        $($checks:tt)*
    ) => {
        paceline_units::params! {
            $(#[$meta])*
            pub struct $config {
                {
                    /// How much may wait at all; the packet in service does not count.
                    limit: $crate::QueueLimit = $limit,
                }
                $($own)*
                scale: Option<$crate::FactorOverTime> = None, else "1", in 0.0, 1000.0,
                    "ours", "The limit is multiplied by this, which may change as a link's delay does. Packets that wait beyond a limit that shrinks stay";
            }
            $($checks)*
        }

        impl $crate::queue::Limited for $config {
            fn limit(&self) -> $crate::QueueLimit {
                self.limit
            }

            fn limit_mut(&mut self) -> &mut $crate::QueueLimit {
                &mut self.limit
            }

            fn scale_mut(&mut self) -> Option<&mut $crate::FactorOverTime> {
                self.scale.as_mut()
            }

            fn room(&self) -> paceline_units::Bytes {
                let room: fn(&$config) -> paceline_units::Bytes = $room;
                room(self)
            }
        }
    };
}

pub(crate) use queue_params;

/// A line is: documentation, which is its help, an optional condition, and `Name("name in scenarios", parameters =>
/// discipline)`.
macro_rules! disciplines {
    ($($(#[doc = $doc:literal])+ $(#[cfg($cfg:meta)])? $name:ident($kind:literal, $config:ty => $discipline:ty),)*) => {
        paceline_units::kinds! {
            /// Which queue a link has, with its parameters.
            pub enum QueueConfig {
                /// First in, first out; drops what does not fit. Exactly one of limit, packets and bytes must be given.
                DropTail("droptail", DropTailConfig),
                $($(#[doc = $doc])+ $(#[cfg($cfg)])? $name($kind, $config),)*
            }
        }

        impl QueueConfig {
            /// How much may wait.
            pub fn limit(&self) -> QueueLimit {
                match self {
                    QueueConfig::DropTail(config) => config.limit,
                    $($(#[cfg($cfg)])? QueueConfig::$name(config) => config.limit(),)*
                }
            }

            /// Replaces the limit of the queue.
            pub fn set_limit(&mut self, limit: QueueLimit) {
                match self {
                    QueueConfig::DropTail(config) => config.limit = limit,
                    $($(#[cfg($cfg)])? QueueConfig::$name(config) => *config.limit_mut() = limit,)*
                }
            }

            /// The factor of the limit, if it has one.
            pub fn scale_mut(&mut self) -> Option<&mut FactorOverTime> {
                match self {
                    QueueConfig::DropTail(config) => config.scale_mut(),
                    $($(#[cfg($cfg)])? QueueConfig::$name(config) => config.scale_mut(),)*
                }
            }

            /// Fails if a [`Link`](crate::Link) of this nominal rate could not have the queue.
            ///
            /// # Errors
            /// The first parameter that is wrong.
            pub fn check_at(&self, nominal: Bitrate) -> Result<(), ParamError> {
                match self {
                    QueueConfig::DropTail(config) => config.check_at(nominal),
                    $($(#[cfg($cfg)])? QueueConfig::$name(config) => config.check_at(nominal),)*
                }
            }
        }

        /// A running queue. Static dispatch: the packet path knows no trait objects.
        #[derive(Clone, Debug)]
        pub(crate) enum Queue<P> {
            /// Drop-tail on a line that neither loses nor alters packets.
            Plain(DropTail<P>),
            DropTail(DropTail<P>),
            $($(#[cfg($cfg)])? $name(PacketQueue<P, $discipline>),)*
        }

        impl<P: Transit> Queue<P> {
            pub(crate) fn new(config: &QueueConfig, context: &LinkContext<'_>) -> Result<Queue<P>, ParamError> {
                match config {
                    QueueConfig::DropTail(config) => {
                        Ok(Queue::DropTail(DropTail::new(config.limit.resolve(context.nominal)?)))
                    }
                    $($(#[cfg($cfg)])? QueueConfig::$name(config) => {
                        Ok(Queue::$name(PacketQueue::new(config, context)?))
                    })*
                }
            }

            /// Another limit holds for the packets that come from now on.
            pub(crate) fn set_limit(&mut self, limit: ResolvedLimit) {
                match self {
                    Queue::Plain(queue) | Queue::DropTail(queue) => queue.set_limit(limit),
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.set_limit(limit),)*
                }
            }

            /// As [`Discipline::lend`].
            pub(crate) fn lend(&mut self, key: u32, header: CongestionHeader) {
                match self {
                    Queue::Plain(_) | Queue::DropTail(_) => {}
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.lend(key, header),)*
                }
            }

            /// As [`Discipline::lent`].
            pub(crate) fn lent(&self, key: u32) -> Option<CongestionHeader> {
                match self {
                    Queue::Plain(_) | Queue::DropTail(_) => None,
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.lent(key),)*
                }
            }

            /// A packet comes at `now`, which a shaper had held back. It comes back if it is dropped.
            #[inline(always)]
            pub(crate) fn offer(
                &mut self,
                line: &mut Line,
                now: u64,
                packet: P,
                held: u64,
                sink: &mut impl FnMut(Departure<P>),
            ) -> Result<(), P> {
                match self {
                    Queue::Plain(queue) | Queue::DropTail(queue) => queue.offer(line, now, packet, held, sink),
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.offer(line, now, packet, held, sink),)*
                }
            }

            #[inline]
            pub(crate) fn next_event(&self, line: &Line) -> u64 {
                match self {
                    Queue::Plain(_) | Queue::DropTail(_) => NEVER,
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.next_event(line),)*
                }
            }

            #[inline]
            pub(crate) fn advance(&mut self, line: &mut Line, until: u64, sink: &mut impl FnMut(Departure<P>)) {
                match self {
                    Queue::Plain(_) | Queue::DropTail(_) => {}
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.advance(line, until, sink),)*
                }
            }

            pub(crate) fn settle(&mut self, line: &mut Line, now: u64) {
                match self {
                    Queue::Plain(queue) | Queue::DropTail(queue) => queue.settle(line, now),
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.settle(line, now),)*
                }
            }

            /// Brings the account up to date as of `now`, up to which nothing more happens.
            pub(crate) fn look(&mut self, line: &mut Line, now: u64) {
                if let Queue::Plain(queue) | Queue::DropTail(queue) = self {
                    queue.settle(line, now);
                }
            }

            /// Whether the fate of a packet that comes at `now` is known at once: with drop-tail always, else where the server is idle.
            pub(crate) fn decides_at_once(&self, line: &Line, now: u64) -> bool {
                match self {
                    Queue::Plain(_) | Queue::DropTail(_) => true,
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.is_idle(line, now),)*
                }
            }

            /// The fate of a packet that comes at `now`, if it is known at once.
            #[inline(always)]
            pub(crate) fn plan(&mut self, line: &mut Line, now: u64, packet: &mut impl Transit) -> Planned {
                match self {
                    Queue::Plain(queue) => queue.plan::<true>(line, now, packet, 0),
                    Queue::DropTail(queue) => queue.plan::<false>(line, now, packet, 0),
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.plan_if_idle(line, now, packet),)*
                }
            }

            /// How many packets wait at `now`, without the one in service.
            pub(crate) fn waiting(&mut self, line: &mut Line, now: u64) -> u64 {
                match self {
                    Queue::Plain(queue) | Queue::DropTail(queue) => queue.waiting(now),
                    $($(#[cfg($cfg)])? Queue::$name(queue) => {
                        queue.settle(line, now);
                        line.account.packets()
                    })*
                }
            }

            /// Whether it may ever have something to do at a time when nothing waits and nothing comes.
            pub(crate) fn is_timed(&self) -> bool {
                match self {
                    Queue::Plain(_) | Queue::DropTail(_) => false,
                    $($(#[cfg($cfg)])? Queue::$name(_) => <$discipline as Discipline<P>>::TIMED,)*
                }
            }

            /// Whether the queue has something to do at a time when nothing waits and nothing comes.
            #[inline]
            pub(crate) fn has_timer(&self) -> bool {
                match self {
                    Queue::Plain(_) | Queue::DropTail(_) => false,
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.has_timer(),)*
                }
            }

            /// The next packet that was dropped after it had waited; never with drop-tail.
            #[inline]
            pub(crate) fn take_dropped(&mut self) -> Option<(u64, P)> {
                match self {
                    Queue::Plain(_) | Queue::DropTail(_) => None,
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.take_dropped(),)*
                }
            }

            /// Bytes handed to the server that have not left and will, and whether others follow that were not.
            pub(crate) fn handed(&self, line: &Line) -> (u64, bool) {
                match self {
                    Queue::Plain(queue) | Queue::DropTail(queue) => (queue.handed(line), false),
                    $($(#[cfg($cfg)])? Queue::$name(queue) => (queue.handed(), line.account.packets() > 0),)*
                }
            }

            pub(crate) fn in_service(&self) -> bool {
                match self {
                    Queue::Plain(queue) | Queue::DropTail(queue) => queue.in_service(),
                    $($(#[cfg($cfg)])? Queue::$name(queue) => queue.in_service(),)*
                }
            }
        }
    };
}

disciplines! {
    /// Random early detection: drops or marks arrivals by chance, the more the longer the average queue.
    Red("red", RedConfig => red::Red<P>),
    /// Controlled delay: drops or marks at the head once the wait has stayed above a target for an interval.
    CoDel("codel", CoDelConfig => codel::CoDel<P>),
    /// A queue for each flow, served in turn, with CoDel in each; new and sparse flows go first.
    FqCoDel("fq-codel", FqCoDelConfig => fq_codel::FqCoDel<P>),
    /// Drops or marks arrivals by a chance that follows the queue's delay.
    Pie("pie", PieConfig => pie::Pie<P>),
    /// A queue for L4S beside one for the rest, coupled so that flows of both get alike.
    DualPi2("dualpi2", DualPi2Config => dualpi2::DualPi2<P>),
    /// Drop-tail of an XCP router, which writes into the congestion headers of packets by how much their senders may change their rates.
    Xcp("xcp", XcpConfig => Routed<P, xcp::Router>),
    /// Drop-tail of an RCP router, which writes into the congestion headers of packets the rate at which each sender may send.
    Rcp("rcp", RcpConfig => Routed<P, rcp::Router>),
    /// Drop-tail with real departures: the oracle of the predicted one.
    #[cfg(test)]
    Fifo("fifo", crate::tests::fifo::FifoConfig => crate::tests::fifo::Fifo<P>),
    /// Drops by chance and by age: exercises what drop-tail does not.
    #[cfg(test)]
    Aging("aging", crate::tests::aging::AgingConfig => crate::tests::aging::Aging<P>),
}

impl QueueConfig {
    /// First in, first out, with this limit.
    pub fn droptail(limit: QueueLimit) -> QueueConfig {
        QueueConfig::DropTail(DropTailConfig { limit, ..DropTailConfig::default() })
    }
}
