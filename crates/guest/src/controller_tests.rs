use super::*;
use crate::{Burst, caught};
use paceline_cc::PacketResult;
use paceline_cc::guest::GuestController;
use paceline_units::Ecn;
use std::sync::Mutex;

const SIZE: Bytes = Bytes::new(1000);

/// A mind that answers each call with the next of these.
struct Scripted(Vec<Answer>);

impl Scripted {
    fn next(&mut self) -> Result<Answer, Failure> {
        if self.0.is_empty() { Err(Failure::new("nothing is left to say")) } else { Ok(self.0.remove(0)) }
    }
}

impl Mind for Scripted {
    fn start(&mut self, _now: Time) -> Result<Answer, Failure> {
        self.next()
    }

    fn sent(&mut self, _now: Time, _packet: &SentPacket) -> Result<Answer, Failure> {
        self.next()
    }

    fn report(&mut self, _now: Time, _report: &PacketsReport<'_>) -> Result<Answer, Failure> {
        self.next()
    }

    fn timeout(&mut self, _now: Time) -> Result<Answer, Failure> {
        self.next()
    }

    fn recovery(&mut self, _now: Time, _event: &'static str, _bytes: Bytes) -> Result<Answer, Failure> {
        self.next()
    }

    fn assigned(&mut self, _now: Time, _assigned: Assigned) -> Result<Answer, Failure> {
        self.next()
    }
}

/// Makes one scripted mind.
struct Once(Mutex<Option<Scripted>>);

impl MindMaker for Once {
    fn make(&self, _settings: &[Setting], _setup: &FlowSetup) -> Result<Box<dyn Mind>, Failure> {
        let mind = self.0.lock().expect("one thread").take();
        mind.map(|mind| Box::new(mind) as Box<dyn Mind>).ok_or_else(|| Failure::new("one mind alone"))
    }
}

fn controller(steers: Steers, hears: Hears, answers: &[Answer]) -> GuestController {
    let description = Description {
        kind: "scripted".into(),
        help: "Says what it is told to say".into(),
        version: "1".into(),
        steers,
        hears,
        parameters: Vec::new(),
    };
    let guest = guest(&description, Once(Mutex::new(Some(Scripted(answers.to_vec())))));
    GuestParams::usual(guest).expect("a profile").controller(&FlowSetup::new(SIZE))
}

fn at(millis: i64) -> Time {
    Time::ZERO + TimeDelta::from_millis(millis)
}

fn packet(sequence: u64) -> SentPacket {
    SentPacket { stream: StreamId(0), sequence, size: SIZE, probe: None, app_limited: false }
}

fn arrived(sequence: u64, sent: Time) -> PacketResult {
    let status = Status::Received { arrived: Some(sent + TimeDelta::from_millis(10)), ecn: Ecn::NotEct };
    PacketResult { stream: StreamId(0), sequence, size: SIZE, sent, status }
}

fn report(controller: &mut GuestController, now: Time, packets: &[PacketResult]) -> Update {
    let report = PacketsReport { packets, clock_step: TimeDelta::from_millis(1), ambiguous: false };
    controller.on_report(now, &Report::Packets(report))
}

fn offer(controller: &mut GuestController) -> Update {
    let queue = SendQueueState { bytes: SIZE, packets: 1, ..SendQueueState::default() };
    controller.on_offered(Time::ZERO, &Offered { stream: StreamId(0), bytes: SIZE, frame_end: true }, &queue)
}

fn window(packets: u64) -> Answer {
    Answer { window_bytes: Some((packets * 1000) as f64), ..Answer::default() }
}

fn target(mbps: f64) -> Answer {
    Answer { target_mbps: Some(mbps), ..Answer::default() }
}

#[test]
fn a_window_leaves_what_is_not_in_flight() {
    let answers = [window(3), Answer::default(), window(5)];
    let mut controller = controller(Steers::Datagrams, Hears::default(), &answers);
    assert_eq!(offer(&mut controller).allowance, Some(Allowance::Bytes(Bytes::new(3000))));
    for (sequence, left) in [(0, 2000), (1, 1000), (2, 0)] {
        let update = controller.on_sent(at(1), &packet(sequence));
        assert_eq!(update.allowance, Some(Allowance::Bytes(Bytes::new(left))));
    }
    let update = report(&mut controller, at(50), &[arrived(0, at(1)), arrived(1, at(1))]);
    assert_eq!(update.allowance, Some(Allowance::Bytes(Bytes::new(2000))));
    assert_eq!(controller.snapshot().srtt, Some(TimeDelta::from_millis(49)));
    let update = report(&mut controller, at(60), &[arrived(2, at(1))]);
    assert_eq!(update.allowance, Some(Allowance::Bytes(Bytes::new(5000))));
}

#[test]
fn reports_that_stay_away_leave_nothing_in_flight() {
    let mut controller = controller(Steers::Datagrams, Hears::default(), &[window(1)]);
    let _ = offer(&mut controller);
    let _ = controller.on_sent(at(10), &packet(0));
    assert_eq!(controller.next_timeout(), Some((at(1010), TimeoutReason::Stalled)));
    assert_eq!(controller.on_timeout(at(1010)).allowance, Some(Allowance::Bytes(SIZE)));
    assert_eq!(controller.next_timeout(), None);
}

#[test]
fn a_scoreboards_verdicts_are_the_flight_of_a_byte_stream() {
    let mut controller = controller(Steers::ByteStream, Hears::default(), &[window(10)]);
    let _ = offer(&mut controller);
    for sequence in 0..4 {
        let _ = controller.on_sent(at(1), &packet(sequence));
    }
    let left = |update: Update| match update.allowance {
        Some(Allowance::Bytes(bytes)) => bytes.as_u64(),
        other => panic!("{other:?}"),
    };
    let two = Bytes::new(2000);
    assert_eq!(left(controller.on_recovery(at(2), Recovery::Entered { lost: two })), 8000);
    assert_eq!(left(controller.on_recovery(at(2), Recovery::Found { found: SIZE })), 7000);
    assert_eq!(left(controller.on_recovery(at(3), Recovery::TimedOut)), 10_000);
    assert_eq!(controller.next_timeout(), None, "the transport has timers of its own");
}

#[test]
fn a_target_keeps_to_what_the_application_allows() {
    let mut controller = controller(Steers::Datagrams, Hears::default(), &[target(2.0), target(0.1)]);
    let _ = offer(&mut controller);
    assert_eq!(controller.snapshot().target, Some(Bitrate::from_mbps(2)));
    let limits =
        Limits { min: Bitrate::from_kbps(300), max: Bitrate::from_mbps(1), ..Limits::none(StreamId(0)) };
    let _ = controller.on_limits(at(1), &limits);
    assert_eq!(controller.snapshot().target, Some(Bitrate::from_mbps(1)));
    let _ = report(&mut controller, at(50), &[]);
    assert_eq!(controller.snapshot().target, Some(Bitrate::from_kbps(300)));
    let _ = controller.on_limits(at(60), &Limits::none(StreamId(0)));
    assert_eq!(controller.snapshot().target, Some(Bitrate::from_kbps(100)), "the mind's own again");
}

#[test]
fn a_time_that_was_named_comes_once() {
    let due = |seconds: f64| Answer { next_timeout_s: Some(seconds), ..Answer::default() };
    let hears = Hears { timeout: true, ..Hears::default() };
    let answers = [due(0.5), due(0.75), due(f64::INFINITY)];
    let mut controller = controller(Steers::Datagrams, hears, &answers);
    let _ = offer(&mut controller);
    assert_eq!(controller.next_timeout(), Some((at(500), TimeoutReason::Estimate)));
    let _ = controller.on_timeout(at(500));
    assert_eq!(controller.next_timeout(), Some((at(750), TimeoutReason::Estimate)));
    let _ = controller.on_timeout(at(760));
    assert_eq!(controller.next_timeout(), None);
}

#[test]
fn a_wrong_answer_ends_the_run_and_says_who_and_when() {
    let not_a_number = [
        (target(f64::NAN), "target_mbps: found NaN"),
        (target(-1.0), "target_mbps: found -1"),
        (target(f64::INFINITY), "an encoder needs a rate"),
        (Answer { pacing_mbps: Some(0.0), ..Answer::default() }, "pacing_mbps: found 0"),
        (Answer { window_bytes: Some(1e13), ..Answer::default() }, "window_bytes: found"),
        (
            Answer { next_timeout_s: Some(f64::NEG_INFINITY), ..Answer::default() },
            "next_timeout_s: found -inf",
        ),
    ];
    for (answer, expected) in not_a_number {
        let mut controller = controller(Steers::Datagrams, Hears::default(), &[target(1.0), answer]);
        let _ = offer(&mut controller);
        let fault = caught(|| report(&mut controller, at(1500), &[])).expect_err(expected).to_string();
        assert!(fault.starts_with("controller \"scripted\" at 1.500000 s, report: "), "{fault}");
        assert!(fault.contains(expected), "{fault}");
    }
    let mut silent = controller(Steers::Datagrams, Hears::default(), &[]);
    let fault = caught(|| offer(&mut silent)).expect_err("no answer").to_string();
    assert_eq!(fault, "controller \"scripted\" at 0.000000 s, start: nothing is left to say");
}

#[test]
fn another_panic_goes_on() {
    let other =
        std::panic::catch_unwind(|| caught(|| std::panic::resume_unwind(Box::new("another"))).map(|()| 0));
    assert_eq!(other.expect_err("not ours").downcast_ref(), Some(&"another"));
}

#[test]
fn a_probe_has_the_next_number_and_goes_over_media_alone() {
    let probing = |mbps, bytes| Answer { probe: Some(Burst { mbps, bytes }), ..Answer::default() };
    let asked = [probing(5.0, 20_000.0), probing(10.0, 1.5)];
    let mut own = controller(Steers::Media, Hears::default(), &asked);
    assert_eq!(own.verbs(), [Verb::Probe]);
    let probe =
        |id, kbps, bytes| Some(Probe { id, rate: Bitrate::from_kbps(kbps), bytes: Bytes::new(bytes) });
    assert_eq!(offer(&mut own).probe, probe(1, 5000, 20_000));
    assert_eq!(report(&mut own, Time::from_secs_f64(1.0), &[]).probe, probe(2, 10_000, 2));
    for (steers, answer, said) in [
        (Steers::Datagrams, probing(5.0, 1.0), "probe: found one, expected none"),
        (Steers::Media, probing(0.0, 1.0), "probe: mbps: found 0, expected Mbit/s above 0"),
        (Steers::Media, probing(1.0, f64::NAN), "probe: bytes: found NaN, expected bytes above 0"),
    ] {
        let mut own = controller(steers, Hears::default(), &[answer]);
        let fault = caught(|| offer(&mut own)).expect_err("a fault");
        assert!(fault.failure.text.starts_with(said), "{}", fault.failure.text);
    }
}
