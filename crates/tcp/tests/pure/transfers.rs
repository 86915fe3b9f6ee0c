//! Many connections that come and go: numbers, turns, what is late, what is cut short.

use paceline_cc::FlowSetup;
use paceline_cc::reno::{Params, Reno};
use paceline_ends::{PathFacts, Reason, ReceivingEnd, SendingEnd, Transfer};
use paceline_tcp::transfers::{Begin, IdleKind, TransfersConfig, TransfersReceiver, TransfersSender};
use paceline_tcp::{Flags, Segment, TcpConfig};
use paceline_units::{Bytes, Ecn, RandomStream, Time, TimeDelta};
use proptest::prelude::*;

use super::net::{at, ms};

struct Pair {
    sender: TransfersSender<Reno>,
    receiver: TransfersReceiver,
    now: Time,
    sent: Vec<Segment>,
    acks: Vec<Segment>,
    done: Vec<Transfer>,
}

fn files(parallel: u16, size: u64) -> TransfersConfig {
    let size = Bytes::new(size);
    TransfersConfig {
        parallel,
        size_min: size,
        size_max: size,
        idle: ms(100),
        idle_kind: IdleKind::Fixed,
        begin: Begin::On,
    }
}

fn pair(config: &TcpConfig, transfers: &TransfersConfig) -> Pair {
    let setup = FlowSetup {
        largest_packet: config.packet_size,
        initial_window: config.initial_window,
        max_window: config.max_window,
        ..FlowSetup::new(Bytes::ZERO)
    };
    let controller = Reno::new(&Params::default(), &setup);
    Pair {
        sender: TransfersSender::new(controller, config, transfers, RandomStream::new(1, "user")),
        receiver: TransfersReceiver::new(config, transfers),
        now: Time::ZERO,
        sent: Vec::new(),
        acks: Vec::new(),
        done: Vec::new(),
    }
}

impl Pair {
    /// Segments that leave now, to be carried over by hand.
    fn flight(&mut self) -> Vec<Segment> {
        let flight: Vec<_> = std::iter::from_fn(|| self.sender.poll_transmit(self.now)).collect();
        self.sent.extend(flight.iter().map(|out| out.packet));
        flight.into_iter().map(|out| out.packet).collect()
    }

    /// A round trip of 10 ms: what leaves now arrives, and its answers come back. False if nothing left.
    fn round(&mut self) -> bool {
        let flight = self.flight();
        self.now += ms(10);
        for segment in &flight {
            self.receiver.receive(self.now, *segment, Ecn::NotEct, PathFacts::default());
            while let Some(ack) = self.receiver.poll_transmit(self.now) {
                self.acks.push(ack.packet);
                let completed = self.acknowledge(ack.packet);
                self.done.extend(completed);
            }
        }
        !flight.is_empty()
    }

    /// The transfer that an acknowledgement completes.
    fn acknowledge(&mut self, ack: Segment) -> Option<Transfer> {
        self.sender.receive(self.now, ack, Ecn::NotEct);
        self.sender.poll_completed()
    }

    /// When the sender wants to be woken.
    fn due(&self) -> Option<Time> {
        self.sender.next_timeout().map(|(due, _)| due)
    }

    /// More is due now than a packet that leaves; it is done.
    fn fire(&mut self) {
        let next = self.sender.next_timeout();
        assert!(next.is_some_and(|(due, why)| due <= self.now && why != Reason::Pacing), "{next:?}");
        self.sender.handle_timeout(self.now);
    }

    /// Lets a burst go to its end, and the idle time behind it.
    fn burst(&mut self) {
        while self.round() {}
        assert_eq!(self.sender.live_connections(), 0, "complete");
        self.now = self.due().expect("another burst");
        self.fire();
    }
}

fn quick() -> TcpConfig {
    TcpConfig { ack_every: 1, ..TcpConfig::default() }
}

#[test]
fn connections_are_numbered_in_turn_and_round_and_round() {
    let mut pair = pair(&quick(), &files(10_000, 1));
    pair.sender.start(pair.now);
    for _ in 0..8 {
        pair.burst();
    }
    assert_eq!((pair.done.len(), pair.sender.transfers().map(|count| count.begun)), (80_000, Some(90_000)));
    let syns: Vec<_> =
        pair.sent.iter().filter(|segment| segment.flags.has(Flags::SYN)).map(|syn| syn.connection).collect();
    assert!(syns.iter().enumerate().all(|(index, number)| index as u16 == *number));
    assert_eq!(pair.receiver.ignored(), 0);
}

#[test]
fn connections_that_could_all_send_take_turns() {
    let config = TcpConfig { handshake: false, initial_window: 3, ..quick() };
    let mut pair = pair(&config, &files(4, 40_000));
    pair.sender.start(pair.now);
    let order: Vec<_> = pair.flight().iter().map(|segment| segment.connection).collect();
    assert_eq!(order, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn what_is_late_changes_nothing() {
    let mut pair = pair(&quick(), &files(3, 4_000));
    pair.sender.start(pair.now);
    pair.burst();
    let (sent, acks) = (pair.sent.clone(), pair.acks.clone());
    // Acknowledgements of connections that are over.
    for ack in &acks {
        assert_eq!(pair.acknowledge(*ack), None);
    }
    assert_eq!(pair.sender.counters().ignored, acks.len() as u64);
    // The receiver still answers copies of the old burst, until it has heard of the new one.
    let old = sent.last().expect("sent");
    let received = pair.receiver.receive(pair.now, *old, Ecn::NotEct, PathFacts::default());
    assert_eq!((received.payload, pair.receiver.ignored()), (Bytes::ZERO, 0));
    assert!(pair.receiver.poll_transmit(pair.now).is_some());
    assert!(pair.round());
    for segment in &sent {
        let received = pair.receiver.receive(pair.now, *segment, Ecn::NotEct, PathFacts::default());
        assert_eq!(received.payload, Bytes::ZERO);
        assert_eq!(pair.receiver.poll_transmit(pair.now), None);
    }
    assert_eq!(pair.receiver.ignored(), sent.len() as u64);
    while pair.round() {}
    assert_eq!(pair.done.len(), 6);
    assert!(pair.done.iter().all(|done| done.size == Bytes::new(4_000)));
}

#[test]
fn a_connection_that_is_reset_is_over_and_no_transfer() {
    let mut pair = pair(&quick(), &files(2, 40_000));
    pair.sender.start(pair.now);
    assert!(pair.round());
    let reset = Segment { flags: Flags::RST, sequence: 1, ..pair.acks[0] };
    assert_eq!(pair.acknowledge(reset), None);
    assert_eq!(pair.sender.live_connections(), 1);
    pair.burst();
    assert_eq!((pair.done.len(), pair.sender.live_connections()), (1, 2));
}

#[test]
fn a_lost_syn_is_repaired_by_its_own_timer() {
    let mut pair = pair(&quick(), &files(2, 1_000));
    pair.sender.start(pair.now);
    assert_eq!(pair.flight().len(), 2, "lost");
    pair.now = at(400);
    assert!(!pair.round());
    assert_eq!(pair.sender.next_timeout(), Some((at(1000), Reason::Retransmission)));
    pair.now = at(1000);
    pair.fire();
    pair.fire();
    while pair.round() {}
    assert_eq!(pair.done.len(), 2);
    assert!(
        pair.done.iter().all(|done| done.begun == Time::ZERO && done.completed == at(1020)),
        "{:?}",
        pair.done
    );
}

#[test]
fn a_pause_holds_new_data_back_and_repairs_the_rest() {
    let mut pair = pair(&TcpConfig { handshake: false, ..quick() }, &files(2, 40_000));
    pair.sender.start(pair.now);
    assert_eq!(pair.flight().len(), 20, "lost");
    pair.sender.pause(pair.now);
    assert!(!pair.round());
    let due = pair.due().expect("retransmission timers run");
    pair.now = due;
    while pair.due().is_some_and(|next| next <= due) {
        pair.fire();
        pair.flight();
    }
    assert_eq!(pair.sent.len(), 22, "the first segment of each again");
    pair.sender.resume(pair.now);
    for _ in 0..200 {
        if !pair.round()
            && let Some(next) = pair.due().filter(|_| pair.sender.live_connections() > 0)
        {
            pair.now = pair.now.max(next);
            pair.sender.handle_timeout(pair.now);
        }
    }
    assert_eq!(pair.done.iter().map(|done| done.size.as_u64()).sum::<u64>(), 80_000);
}

#[test]
fn a_stop_ends_what_has_not_sent_and_begins_nothing() {
    let mut pair = pair(&quick(), &files(3, 40_000));
    pair.sender.start(pair.now);
    assert!(pair.round());
    pair.flight();
    pair.sender.stop(pair.now);
    assert_eq!(pair.sender.live_connections(), 3, "what is under way is repaired");
    for _ in 0..100 {
        if !pair.round()
            && let Some(next) = pair.due()
        {
            pair.now = pair.now.max(next);
            pair.sender.handle_timeout(pair.now);
        }
    }
    assert_eq!((pair.sender.live_connections(), pair.sender.next_timeout()), (0, None));
    assert!(pair.done.is_empty(), "cut short: {:?}", pair.done);
    pair.sender.start(pair.now);
    assert_eq!(pair.sender.next_timeout(), None, "gone is gone");
}

#[test]
fn sizes_and_idle_times_are_those_of_the_text() {
    let mut pair = pair(&quick(), &TransfersConfig { parallel: 500, ..TransfersConfig::default() });
    pair.sender.start(pair.now);
    let mut idle = Vec::new();
    for _ in 0..100 {
        while pair.round() {}
        let next = pair.due().expect("another burst");
        // A round without anything to send has passed since the last acknowledgement.
        idle.push((next - (pair.now - ms(10))).as_secs_f64());
        pair.now = pair.now.max(next);
        pair.fire();
    }
    let sizes: Vec<f64> = pair.done.iter().map(|done| done.size.as_u64() as f64).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let spread =
        |values: &[f64]| mean(&values.iter().map(|v| (v - mean(values)).powi(2)).collect::<Vec<_>>()).sqrt();
    assert_eq!(sizes.len(), 50_000);
    assert!((mean(&sizes) - 40_000.0).abs() < 100.0, "{}", mean(&sizes));
    assert!((spread(&sizes) - 20_000.0 / 12f64.sqrt()).abs() < 100.0, "{}", spread(&sizes));
    assert!(sizes.iter().all(|size| (30_000.0..=50_000.0).contains(size)));
    // Of 100 exponential draws the mean is within 3 s of 10 s (three deviations), and so is the deviation, nearly.
    assert!((mean(&idle) - 10.0).abs() < 3.0 && (spread(&idle) - 10.0).abs() < 4.0, "{idle:?}");
}

proptest! {
    #[test]
    fn no_segment_of_anybody_breaks_anything(
        segments in prop::collection::vec((any::<u16>(), any::<u16>(), any::<u32>(), any::<u32>(), 0u32..3000, any::<bool>()), 1..200),
        parallel in 1u16..5,
    ) {
        let mut pair = pair(&quick(), &files(parallel, 20_000));
        pair.sender.start(pair.now);
        for (connection, flags, sequence, acknowledgment, payload, near) in segments {
            let connection = if near { connection % 8 } else { connection };
            let near = |number: u32| if near { number % 20_000 } else { number };
            let (sequence, acknowledgment) = (near(sequence), near(acknowledgment));
            let odd = Segment { connection, flags: Flags(flags), sequence, acknowledgment, payload, ..EMPTY };
            pair.receiver.receive(pair.now, odd, Ecn::NotEct, PathFacts::default());
            let completed = pair.acknowledge(odd);
            pair.done.extend(completed);
            while pair.receiver.poll_transmit(pair.now).is_some() {}
            pair.round();
            if let Some(next) = pair.due().filter(|next| *next <= pair.now + TimeDelta::from_secs(2)) {
                pair.now = pair.now.max(next);
                pair.sender.handle_timeout(pair.now);
            }
            prop_assert!(pair.sender.live_connections() <= usize::from(parallel));
        }
    }
}

const EMPTY: Segment = Segment {
    connection: 0,
    flags: Flags::NONE,
    sequence: 0,
    acknowledgment: 0,
    window: 1 << 20,
    payload: 0,
    timestamp: 0,
    sack: paceline_tcp::SackBlocks::none(),
    congestion: paceline_tcp::Congestion::None,
};
