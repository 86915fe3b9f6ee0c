//! What travels in the simulator: small structs, no bytes.

use paceline_link::Transit;
use paceline_transport::rtp::RtpPacket;
use paceline_units::{Bytes, Ecn, Time, TimeDelta};

/// A packet under way.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// The flow it belongs to.
    pub flow: u32,
    /// Size on links: transport header, payload and the flow's overhead.
    pub size: u32,
    /// How many links it has crossed.
    pub hop: u8,
    /// Its mark now.
    pub ecn: Ecn,
    /// How long it waited in queues so far, in nanoseconds.
    pub wait: i64,
    /// Delay noise so far, in nanoseconds.
    pub noise: i64,
    /// What it carries.
    pub cargo: Cargo,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub enum Cargo {
    /// Media.
    Data(Data),
    /// A report, by its place among the reports under way of its flow.
    Report(u32),
}

/// A data packet, and when it was sent.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// The packet as the endpoints know it.
    pub rtp: RtpPacket,
    /// When the sender handed it to the network.
    pub sent: Time,
    /// Whether it is the first of its frame.
    pub first: bool,
}

impl Packet {
    /// Notes what a link did to it.
    #[inline]
    pub fn cross(&mut self, wait: TimeDelta, noise: TimeDelta) {
        self.hop += 1;
        self.wait += wait.as_nanos();
        self.noise += noise.as_nanos();
    }
}

impl Transit for Packet {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }

    #[inline]
    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

#[cfg(test)]
mod tests {
    use super::Packet;

    #[test]
    fn a_packet_is_small_since_it_is_copied_at_every_hop() {
        assert!(size_of::<Packet>() <= 104, "{} bytes", size_of::<Packet>());
    }
}
