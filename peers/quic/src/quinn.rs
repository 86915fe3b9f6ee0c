//! The controllers of quinn-proto, called as its `Connection` calls them.

use crate::adapter::{Law, Packet};
use crate::round_trips::RoundTrips;
use paceline_cc::FlowSetup;
use quinn_proto::congestion::{BbrConfig, Controller, ControllerFactory, CubicConfig, NewRenoConfig};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub struct Quinn {
    controller: Box<dyn Controller>,
    round_trips: RoundTrips,
    /// The run's zero.
    zero: Instant,
    app_limited: bool,
}

fn quinn(config: impl ControllerFactory + Send + Sync + 'static, setup: &FlowSetup) -> Quinn {
    let zero = Instant::now();
    let mtu = setup.largest_packet.as_u64() as u16;
    // A thread of its own has random numbers that nobody has drawn from.
    let built = std::thread::spawn(move || Arc::new(config).build(zero, mtu));
    let controller = built.join().expect("a controller");
    Quinn { controller, round_trips: RoundTrips::default(), zero, app_limited: false }
}

/// The first window that the scenario says.
fn window(setup: &FlowSetup) -> u64 {
    setup.initial_window * setup.largest_packet.as_u64()
}

pub fn new_reno(setup: &FlowSetup) -> Quinn {
    let mut config = NewRenoConfig::default();
    config.initial_window(window(setup));
    quinn(config, setup)
}

pub fn cubic(setup: &FlowSetup) -> Quinn {
    let mut config = CubicConfig::default();
    config.initial_window(window(setup));
    quinn(config, setup)
}

/// Its first window is its own, of 200 packets: the scenario's would be another controller.
pub fn bbr(setup: &FlowSetup) -> Quinn {
    quinn(BbrConfig::default(), setup)
}

impl Law for Quinn {
    type Info = ();

    fn on_sent(&mut self, now: Duration, number: u64, bytes: u64, app_limited: bool) {
        self.app_limited = app_limited;
        self.controller.on_sent(self.zero + now, bytes, number);
    }

    fn on_acked(&mut self, now: Duration, packets: &[Packet<()>], in_flight: u64, rtt: Option<Duration>) {
        let now = self.zero + now;
        // As there, the packets of an ACK are told with the estimate before it.
        if let Some(estimator) = self.round_trips.estimator(rtt) {
            for packet in packets {
                let sent = self.zero + packet.sent;
                self.controller.on_ack(now, sent, packet.bytes, self.app_limited, &estimator);
            }
        }
        let largest = packets.last().map(|packet| packet.number);
        self.controller.on_end_acks(now, in_flight, self.app_limited, largest);
    }

    fn on_lost(&mut self, now: Duration, packets: &[Packet<()>], persistent: bool) {
        let Some(sent) = packets.iter().map(|packet| packet.sent).max() else { return };
        let bytes = packets.iter().map(|packet| packet.bytes).sum();
        self.controller.on_congestion_event(self.zero + now, self.zero + sent, persistent, bytes);
    }

    fn on_marked(&mut self, now: Duration, newest_sent: Duration, _count: u64) {
        self.controller.on_congestion_event(self.zero + now, self.zero + newest_sent, false, 0);
    }

    fn on_replaced(&mut self, _packet: &Packet<()>) {}

    fn window(&self) -> u64 {
        self.controller.window()
    }

    /// As quinn paces under each of its controllers: 5/4 of a window in a round trip.
    fn pacing(&self) -> Option<f64> {
        let rtt = self.round_trips.known()?.get();
        Some(1.25 * 8.0 * self.window() as f64 / rtt.as_secs_f64())
    }
}
