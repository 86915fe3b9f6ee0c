//! Packets, reports and timeouts by a script that itself allocates nothing, so that all that is counted is the controller's.

use crate::hostile::Flight;
use crate::{LARGEST, Subject};
use paceline_cc::{
    Arrival, Controller, Offered, PacketResult, PacketsReport, Recovery, Report, SendQueueState, SentPacket,
    Status, StreamId, Update,
};
use paceline_units::{Ecn, Time, TimeDelta};

const STREAM: StreamId = StreamId(0);
const PER_REPORT: usize = 16;
const FLIGHT: u64 = 64;

/// A packet every 0.5 ms, reported 64 packets later; some lost, some marked, some late.
struct Script {
    now: Time,
    next: u64,
    /// Whether the transport tells of losses, and sends again what is lost.
    retransmits: bool,
    packets: Vec<PacketResult>,
    state: Vec<Option<f64>>,
}

impl Script {
    fn sent_at(sequence: u64) -> Time {
        Time::from_nanos(1_000_000_000 + sequence * 500_000)
    }

    fn result(sequence: u64) -> PacketResult {
        let sent = Script::sent_at(sequence);
        let wait = TimeDelta::from_micros((sequence / 40 % 100 * 300) as i64);
        let ecn = if sequence % 90 == 3 { Ecn::Ce } else { Ecn::Ect1 };
        let received = Status::Received { arrived: Some(sent + TimeDelta::from_millis(20) + wait), ecn };
        let status = if sequence % 1500 == 7 { Status::Missing } else { received };
        PacketResult { stream: STREAM, sequence, size: LARGEST, sent, status }
    }

    fn queue(&self) -> SendQueueState {
        let oldest = Some(TimeDelta::from_millis((self.next % 120) as i64));
        SendQueueState {
            bytes: LARGEST,
            packets: 1,
            oldest,
            newest_frame: LARGEST,
            ..SendQueueState::default()
        }
    }

    fn packet(&mut self, controller: &mut dyn Controller) {
        self.now = Script::sent_at(self.next);
        crate::finding::pass(self.now);
        if self.next.is_multiple_of(40) {
            let offered = Offered { stream: STREAM, bytes: LARGEST, frame_end: true };
            drop_update(controller.on_offered(self.now, &offered, &self.queue()));
        }
        let (sequence, app_limited) = (self.next, self.next.is_multiple_of(3));
        let packet = SentPacket { stream: STREAM, sequence, size: LARGEST, probe: None, app_limited };
        drop_update(controller.on_sent(self.now, &packet));
        self.next += 1;
        if self.next.is_multiple_of(PER_REPORT as u64) && self.next >= FLIGHT {
            self.report(controller);
        }
        if self.next.is_multiple_of(5000) {
            self.now += TimeDelta::from_secs(1);
            drop_update(controller.on_timeout(self.now));
        }
        controller.state(&mut self.state);
    }

    fn report(&mut self, controller: &mut dyn Controller) {
        self.packets.clear();
        let first = self.next - FLIGHT;
        // Every eighth report names the one before it too: lost packets turn up, others are duplicates.
        let late = if self.next.is_multiple_of(128) { 7 } else { 0 };
        // A transport that retransmits tells of each packet in the end.
        let end = first + PER_REPORT as u64 - if self.retransmits { 0 } else { late };
        self.packets.extend((first.saturating_sub(late)..end).map(Script::result));
        drop_update(controller.on_send_queue(self.now, &self.queue()));
        let report = PacketsReport {
            packets: &self.packets,
            clock_step: TimeDelta::from_micros(977),
            ambiguous: false,
        };
        drop_update(controller.on_report(self.now, &Report::Packets(report)));
        if self.retransmits {
            self.repair(controller);
        }
    }

    /// Missing packets are lost, sent again and delivered; now and then the timer expires, or there was no loss.
    fn repair(&mut self, controller: &mut dyn Controller) {
        for n in 0..self.packets.len() {
            let PacketResult { sequence, status: Status::Missing, .. } = self.packets[n] else { continue };
            drop_update(controller.on_recovery(self.now, Recovery::Entered { lost: LARGEST }));
            let packet =
                SentPacket { stream: STREAM, sequence, size: LARGEST, probe: None, app_limited: false };
            drop_update(controller.on_sent(self.now, &packet));
            let status = Status::Received { arrived: None, ecn: Ecn::Ect1 };
            let again = [PacketResult { status, sent: self.now, ..self.packets[n] }];
            let report =
                PacketsReport { packets: &again, clock_step: TimeDelta::from_micros(977), ambiguous: false };
            drop_update(controller.on_report(self.now, &Report::Packets(report)));
            let end = [Recovery::Left, Recovery::Spurious, Recovery::TimedOut][(sequence % 3) as usize];
            drop_update(controller.on_recovery(self.now, end));
        }
    }
}

fn drop_update(update: Update) {
    let _ = std::hint::black_box(update);
}

/// Allocations while 100,000 packets are sent and reported, after 20,000 that warm up.
pub(crate) fn of_sender(subject: &Subject, count: fn() -> u64) -> u64 {
    let mut controller = subject.controller();
    let state = vec![None; controller.state_variables().len()];
    let retransmits = subject.flight == Flight::Pipe;
    let mut script = Script { now: Time::ZERO, next: 0, retransmits, packets: Vec::with_capacity(64), state };
    (0..20_000).for_each(|_| script.packet(&mut *controller));
    let before = count();
    (0..100_000).for_each(|_| script.packet(&mut *controller));
    count() - before
}

/// Allocations while 100,000 packets arrive at a receiver half and its reports are read, after 20,000 that warm up: some
/// lost, some marked, some late, some twice.
pub(crate) fn of_half(subject: &Subject, count: fn() -> u64) -> u64 {
    let (mut controller, Some(mut half)) = (subject.controller(), subject.half()) else { return 0 };
    let mut before = 0;
    for n in 0..120_000 {
        if n == 20_000 {
            before = count();
        }
        let sent = Script::sent_at(n);
        let packet =
            SentPacket { stream: STREAM, sequence: n, size: LARGEST, probe: None, app_limited: n % 3 == 0 };
        drop_update(controller.on_sent(sent, &packet));
        let sequence = match n {
            late if late % 700 == 50 => n - 45,
            twice if twice % 1000 == 3 => n - 1,
            _ => n,
        };
        let now = sent + TimeDelta::from_millis(20);
        let ecn = if n % 900 == 3 { Ecn::Ce } else { Ecn::Ect0 };
        let annotation = controller.annotation(now, STREAM);
        let arrival = Arrival { stream: STREAM, sequence, size: LARGEST, sent: Some(sent), ecn, annotation };
        let lost = n % 300 == 7 || n % 700 == 5;
        let at_once = !lost && half.on_arrival(now, &arrival);
        if (at_once || half.next_timeout().is_some_and(|due| due <= now))
            && let Some(report) = half.report(now)
        {
            drop_update(controller.on_report(now, &Report::Receiver(report)));
        }
    }
    count() - before
}
