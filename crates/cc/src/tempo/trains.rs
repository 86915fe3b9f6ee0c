//! Packets that left faster than the rate: whether they arrive as they left shows how much room the path has before any queue stands.
//! Trains of packets show so in Jain and Dovrolis 2003, which sends them for the purpose; a frame is one.

use paceline_units::Time;

/// Trains are judged over so many of the largest packets, and over so many seconds, at least.
const PACKETS: f64 = 10.0;
const SECONDS: f64 = 0.005;
/// Trains that arrive in less than this part of their time were held up before, and show nothing.
const SHORTEST: f64 = 0.8;

/// The trains of late.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trains {
    /// When the packet that was sent last left and arrived.
    last: Option<(Time, Time)>,
    /// Packets that left closer than at this rate are of one train, in bit/s.
    rate: f64,
    /// Bits, seconds in which they left and seconds in which they arrived, since trains were judged last.
    bits: f64,
    sent: f64,
    arrived: f64,
    /// Bit/s that the path carried as they came; none if trains arrived later than they left.
    pub(super) room: Option<f64>,
    /// Whether trains arrived at less than the rate: the path carries no more.
    pub(super) stretched: bool,
}

impl Trains {
    pub(super) const NONE: Trains =
        Trains { last: None, rate: 0.0, bits: 0.0, sent: 0.0, arrived: 0.0, room: None, stretched: false };

    /// A packet arrived.
    #[inline]
    pub(super) fn on_arrival(&mut self, sent: Time, arrived: Time, bits: f64) {
        let Some((last_sent, last_arrived)) = self.last else {
            self.last = Some((sent, arrived));
            return;
        };
        if sent < last_sent {
            return;
        }
        self.last = Some((sent, arrived));
        let gap = (sent - last_sent).as_secs_f64();
        if gap * self.rate < bits {
            self.bits += bits;
            self.sent += gap;
            self.arrived += (arrived - last_arrived).as_secs_f64();
        }
    }

    /// Judges the trains, if there are enough, by the rate and the longest time in which they may arrive, as a part of the one in which they left.
    pub(super) fn judge(&mut self, rate: f64, packet: f64, longest: f64) {
        self.rate = rate;
        if self.bits < PACKETS * packet || self.sent < SECONDS {
            return;
        }
        let stretch = self.arrived / self.sent;
        self.room = (SHORTEST..longest).contains(&stretch).then_some(self.bits / self.sent);
        self.stretched = self.bits < rate * self.arrived;
        (self.bits, self.sent, self.arrived) = (0.0, 0.0, 0.0);
    }

    /// Trains up to now say nothing of the present rate.
    pub(super) fn forget(&mut self) {
        *self = Trains { last: self.last, rate: self.rate, ..Trains::NONE };
    }
}
