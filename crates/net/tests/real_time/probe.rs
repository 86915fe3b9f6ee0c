//! Both ends of a probe of a path, over loopback.

use crate::call::anywhere;
use paceline_ends::{Observation, PairPlan, PairProbe, PathProbe, ProbePlan};
use paceline_net::{Control, PathProber, Reflector};
use paceline_units::{Bytes, TimeDelta};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_probe_over_loopback_hears_of_every_packet() {
    let reflector = Reflector::bind(anywhere()).expect("a port");
    let to = reflector.address().expect("an address");
    let stop = AtomicBool::new(false);
    let record = std::thread::scope(|threads| {
        let answers = threads
            .spawn(|| reflector.run(None, &Control { stop: &stop, progress: &|_| () }).expect("it answered"));
        let plan = ProbePlan {
            packet_size: Bytes::new(1000),
            transfer: Bytes::new(100_000),
            hold: TimeDelta::from_secs(1),
            // Loopback is fast; the machine may be busy.
            part: 0.01,
        };
        let prober = PathProber::bind(to).expect("a socket");
        let going = AtomicBool::new(false);
        let record =
            prober.run(PathProbe::new(plan), &Control { stop: &going, progress: &|_| () }).expect("a record");
        stop.store(true, Ordering::Relaxed);
        assert!(answers.join().expect("no panic") >= record.hold.len() as u64);
        record
    });
    assert_eq!(record.transfer.len(), 100);
    assert!(!record.hold.is_empty());
    let heard = record.hold.iter().filter(|packet| packet.arrived.is_some()).count();
    assert!(heard * 100 >= record.hold.len() * 95, "{heard} of {}", record.hold.len());
    let early = |packet: &&Observation| packet.arrived.is_some_and(|at| at < packet.sent);
    assert_eq!(record.hold.iter().filter(early).count(), 0, "one machine has one clock");
}

#[test]
fn nobody_answering_is_an_error() {
    let silent = UdpSocket::bind(anywhere()).expect("a socket");
    let to = silent.local_addr().expect("an address");
    let prober = PathProber::bind(to).expect("a socket");
    let stop = AtomicBool::new(false);
    let error = prober
        .run(PathProbe::new(ProbePlan::default()), &Control { stop: &stop, progress: &|_| () })
        .expect_err("nobody is there");
    assert!(error.to_string().contains("nothing answered"), "{error}");
}

/// Pairs at 100 Mbit/s, of which loopback carries far more: their packets arrive as far apart as they left.
#[test]
fn pairs_over_loopback_are_heard_of() {
    let reflector = Reflector::bind(anywhere()).expect("a port");
    let to = reflector.address().expect("an address");
    let stop = AtomicBool::new(false);
    let plan = PairPlan {
        capacity: paceline_units::Bitrate::from_mbps(100),
        pairs: 50,
        most: paceline_units::Bitrate::from_mbps(1),
        ..PairPlan::default()
    };
    let packets = std::thread::scope(|threads| {
        let answers = threads
            .spawn(|| reflector.run(None, &Control { stop: &stop, progress: &|_| () }).expect("it answered"));
        let going = AtomicBool::new(false);
        let probe = PairProbe::new(plan.clone(), 1).expect("a plan");
        let prober = PathProber::bind(to).expect("a socket");
        let packets = prober.run(probe, &Control { stop: &going, progress: &|_| () }).expect("a record");
        stop.store(true, Ordering::Relaxed);
        assert!(answers.join().expect("no panic") > 0);
        packets
    });
    assert_eq!(packets.len(), 100);
    let heard = packets.iter().filter(|packet| packet.arrived.is_some()).count();
    assert!(heard >= 95, "{heard} of 100");
    // A pair is never sent closer together than the plan says.
    assert!(packets.chunks(2).all(|pair| pair[1].sent - pair[0].sent >= plan.gap()));
}
