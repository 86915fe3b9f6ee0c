//! Losses, and how many round trips each way of recovery takes to repair them.

use crate::net::{Net, at, ms};
use paceline_cc::Recovery;
use paceline_transport::tcp::{RecoveryKind, TcpConfig};
use paceline_units::Bytes;

pub fn config(recovery: RecoveryKind) -> TcpConfig {
    TcpConfig {
        packet_size: Bytes::new(1000),
        recovery,
        ack_every: 1,
        handshake: false,
        min_rto: ms(200),
        ..TcpConfig::default()
    }
}

pub const KINDS: [RecoveryKind; 4] =
    [RecoveryKind::Tahoe, RecoveryKind::Reno, RecoveryKind::NewReno, RecoveryKind::Sack];

#[test]
fn without_loss_the_window_doubles_and_a_file_arrives_whole() {
    for kind in KINDS {
        let mut net = Net::new(&config(kind), Some(300_000)).started();
        net.run(at(10_000));
        assert_eq!((net.received, net.duplicates), (300_000, 0), "{kind:?}");
        assert_eq!(net.sender.counters().retransmissions, 0);
        // 313 segments: 10, 20, 40, 80, 160, the rest: six round trips.
        assert_eq!(net.sender.completed_at(), Some(at(600)), "{kind:?}");
    }
}

#[test]
fn one_loss_is_repaired_without_a_timeout_and_halves_once() {
    for kind in KINDS {
        let mut net = Net::new(&config(kind), Some(300_000)).losing(&[40]).started();
        net.run(at(30_000));
        let counters = net.sender.counters();
        assert_eq!((net.received, counters.timeouts, counters.recoveries), (300_000, 0, 1), "{kind:?}");
        let again = if kind == RecoveryKind::Tahoe { 1..=40 } else { 1..=1 };
        assert!(again.contains(&counters.retransmissions), "{kind:?}: {counters:?}");
        let entered = net.recoveries().iter().filter(|r| matches!(r, Recovery::Entered { .. })).count();
        assert_eq!(entered, usize::from(kind != RecoveryKind::Tahoe), "{kind:?}");
    }
}

#[test]
fn three_losses_of_a_window_tell_the_ways_apart() {
    let mut times = Vec::new();
    for kind in KINDS {
        let mut net = Net::new(&config(kind), Some(300_000)).losing(&[40, 44, 48]).started();
        net.run(at(60_000));
        assert_eq!(net.received, 300_000, "{kind:?}");
        times.push((kind, net.sender.counters(), net.sender.completed_at().expect("whole")));
    }
    let of = |kind| times.iter().find(|(other, ..)| *other == kind).expect("ran");
    // Fall and Floyd 1996: NewReno repairs one per round trip, SACK all at once; neither times out, and both halve once.
    for kind in [RecoveryKind::NewReno, RecoveryKind::Sack] {
        assert_eq!((of(kind).1.timeouts, of(kind).1.recoveries), (0, 1), "{times:?}");
    }
    assert_eq!(of(RecoveryKind::Sack).1.retransmissions, 3, "{times:?}");
    assert!(of(RecoveryKind::Sack).2 < of(RecoveryKind::NewReno).2, "{times:?}");
    // Reno leaves at the first partial acknowledgement: it halves again, or waits for its timer.
    let reno = of(RecoveryKind::Reno).1;
    assert!(reno.recoveries + reno.timeouts > 1, "{times:?}");
}
