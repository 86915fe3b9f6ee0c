//! A network for one connection: a delay each way, what is dropped, doubled or held back by number, and nothing else.

use paceline_cc::FlowSetup;
use paceline_cc::reno::{Params, Reno};
use paceline_cc::{
    Controller, Marking, Recovery, Report, SentPacket, Snapshot, Status, TimeoutReason, Update,
};
use paceline_ends::{PathFacts, ReceivingEnd, SendingEnd};
use paceline_media::{Bulk, BulkParams, Source};
use paceline_tcp::{Segment, TcpConfig, TcpReceiver, TcpSender};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::collections::BTreeMap;

pub fn ms(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

pub fn at(millis: i64) -> Time {
    Time::ZERO + ms(millis)
}

/// Reno that writes down what it hears of recovery and marks.
#[derive(Clone)]
pub struct Heard {
    pub reno: Reno,
    pub recoveries: Vec<(Time, Recovery)>,
    /// Packets that arrived, and those of them that were marked.
    pub arrivals: [u64; 2],
    pub marking: Option<Marking>,
}

impl Controller for Heard {
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        self.reno.on_sent(now, packet)
    }
    fn on_offered(
        &mut self,
        now: Time,
        offered: &paceline_cc::Offered,
        queue: &paceline_cc::SendQueueState,
    ) -> Update {
        self.reno.on_offered(now, offered, queue)
    }
    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        if let Report::Packets(report) = report {
            for packet in report.packets {
                let marked = matches!(packet.status, Status::Received { ecn: Ecn::Ce, .. });
                self.arrivals = [self.arrivals[0] + 1, self.arrivals[1] + u64::from(marked)];
            }
        }
        self.reno.on_report(now, report)
    }
    fn on_recovery(&mut self, now: Time, recovery: Recovery) -> Update {
        self.recoveries.push((now, recovery));
        self.reno.on_recovery(now, recovery)
    }
    fn on_marking(&mut self, _now: Time, marking: Marking) -> Update {
        self.marking = Some(marking);
        Update::none()
    }
    fn assign(&mut self, now: Time, assigned: paceline_cc::Assigned) -> Update {
        self.reno.assign(now, assigned)
    }
    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        self.reno.next_timeout()
    }
    fn on_timeout(&mut self, now: Time) -> Update {
        self.reno.on_timeout(now)
    }
    fn snapshot(&self) -> Snapshot {
        self.reno.snapshot()
    }
}

/// The network's treatment of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Arrives,
    Dropped,
    Doubled,
    /// The packet arrives this much later than the others.
    Late(TimeDelta),
    Marked,
}

pub type Rule = Box<dyn FnMut(u64, &Segment) -> Action>;

pub struct Net {
    pub sender: TcpSender<Heard>,
    pub receiver: TcpReceiver,
    pub now: Time,
    pub delay: TimeDelta,
    /// The network's treatment of the n-th data packet, and with the n-th acknowledgement.
    pub data_rule: Rule,
    pub ack_rule: Rule,
    /// When data left, and what.
    pub sent: Vec<(Time, Segment)>,
    /// The ECN field that data last left with.
    pub ect: Ecn,
    /// Data packets that were marked.
    pub marked: u64,
    pub acks: Vec<(Time, Segment)>,
    pub received: u64,
    forward: BTreeMap<(Time, u64), (Segment, Ecn)>,
    back: BTreeMap<(Time, u64), Segment>,
    order: u64,
}

pub fn bulk(config: &TcpConfig, length: Option<u64>) -> Source {
    let length = length.map(Bytes::new);
    Source::Bulk(Bulk::new(BulkParams { length, ..BulkParams::for_payload(Bytes::new(config.mss())) }))
}

impl Net {
    pub fn new(config: &TcpConfig, length: Option<u64>) -> Net {
        let setup = FlowSetup {
            largest_packet: config.packet_size,
            initial_window: config.initial_window,
            max_window: config.max_window,
            ..FlowSetup::new(Bytes::ZERO)
        };
        let reno = Reno::new(&Params::default(), &setup);
        let heard = Heard { reno, recoveries: Vec::new(), arrivals: [0; 2], marking: None };
        Net {
            sender: TcpSender::new(heard, config, bulk(config, length), 0),
            receiver: TcpReceiver::new(config, 0),
            now: Time::ZERO,
            delay: ms(50),
            data_rule: Box::new(|_, _| Action::Arrives),
            ack_rule: Box::new(|_, _| Action::Arrives),
            sent: Vec::new(),
            ect: Ecn::NotEct,
            marked: 0,
            acks: Vec::new(),
            received: 0,
            forward: BTreeMap::new(),
            back: BTreeMap::new(),
            order: 0,
        }
    }

    /// Loses the data packets with these numbers, counted from the first that carries payload.
    pub fn losing(mut self, numbers: &[u64]) -> Net {
        let numbers = numbers.to_vec();
        self.data_rule =
            Box::new(move |n, _| if numbers.contains(&n) { Action::Dropped } else { Action::Arrives });
        self
    }

    pub fn started(mut self) -> Net {
        self.sender.start(self.now);
        self.transmit();
        self
    }

    pub fn recoveries(&self) -> Vec<Recovery> {
        self.sender.controller().recoveries.iter().map(|(_, recovery)| *recovery).collect()
    }

    pub fn window(&self) -> u64 {
        self.sender.controller().snapshot().window.expect("a window law").as_u64() / 1000
    }

    /// The controller's count of what is in flight is the scoreboard's.
    pub fn check_flight(&self) {
        let counted = self.sender.controller().snapshot().in_flight;
        assert_eq!(counted, Some(self.sender.in_flight()), "at {:?}", self.now);
    }

    fn transmit(&mut self) {
        while let Some(out) = self.sender.poll_transmit(self.now) {
            let number = self.sent.iter().filter(|(_, segment)| segment.payload > 0).count() as u64;
            self.sent.push((self.now, out.packet));
            self.ect = out.ecn;
            let action = (self.data_rule)(number, &out.packet);
            self.order += 1;
            let (mut arrives, mut ecn) = (self.now + self.delay, out.ecn);
            match action {
                Action::Dropped => continue,
                Action::Late(by) => arrives += by,
                Action::Marked if ecn != Ecn::NotEct => (ecn, self.marked) = (Ecn::Ce, self.marked + 1),
                Action::Doubled => {
                    self.forward.insert((arrives, self.order), (out.packet, ecn));
                    self.order += 1;
                }
                _ => {}
            }
            self.forward.insert((arrives, self.order), (out.packet, ecn));
        }
    }

    fn acknowledge(&mut self) {
        while let Some(ack) = self.receiver.poll_transmit(self.now) {
            let segment = ack.packet;
            let number = self.acks.len() as u64;
            self.acks.push((self.now, segment));
            self.order += 1;
            let mut arrives = self.now + self.delay;
            match (self.ack_rule)(number, &segment) {
                Action::Dropped => continue,
                Action::Late(by) => arrives += by,
                Action::Doubled => {
                    self.back.insert((arrives, self.order), segment);
                    self.order += 1;
                }
                _ => {}
            }
            self.back.insert((arrives, self.order), segment);
        }
    }

    fn next(&self) -> Time {
        let forward = self.forward.first_key_value().map_or(Time::MAX, |((time, _), _)| *time);
        let back = self.back.first_key_value().map_or(Time::MAX, |((time, _), _)| *time);
        let own = self.sender.next_timeout().map_or(Time::MAX, |(due, _)| due);
        let other = self.receiver.next_timeout().map_or(Time::MAX, |(due, _)| due);
        forward.min(back).min(own).min(other)
    }

    /// Everything up to and including `until`.
    pub fn run(&mut self, until: Time) {
        while self.next() <= until {
            self.now = self.next().max(self.now);
            if let Some(entry) = self.forward.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (segment, ecn) = entry.remove();
                let received = self.receiver.receive(self.now, segment, ecn, PathFacts::default());
                self.received += received.payload.as_u64();
            } else if let Some(entry) = self.back.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let segment = entry.remove();
                self.sender.receive(self.now, segment, Ecn::NotEct);
                self.check_flight();
            } else {
                self.sender.handle_timeout(self.now);
            }
            self.acknowledge();
            self.transmit();
            let due = self.sender.next_timeout();
            assert!(
                due.is_none_or(|(due, _)| due >= self.now),
                "{due:?} at {:?}: before what happened",
                self.now
            );
        }
        self.now = until;
    }

    /// A segment from nowhere reaches the sender.
    pub fn inject_ack(&mut self, segment: &Segment) {
        self.sender.receive(self.now, *segment, Ecn::NotEct);
        self.check_flight();
        self.transmit();
    }
}
