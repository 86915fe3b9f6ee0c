//! Controllers that are wrong on purpose: each is found, by the check that is there for it, at a time and with a seed that repeats it.

use crate::mine::Mine;
use paceline_cc::{
    Allowance, Arrival, Assigned, CeResponse, Controller, Discard, FlowSetup, Pacing, ReceiverHalf,
    ReceiverReport, Report, SendQueueState, SentPacket, Snapshot, StateVariable, Status, Steers, StreamId,
    TimeoutReason, Update, Verb, reno, tfrc,
};
use paceline_conformance::{CHECKS, Finding, Half, Subject};
use paceline_units::{Bitrate, Time, TimeDelta};

/// The fault of a controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// It shows a state that is no number once something was lost.
    NoNumber,
    /// It paces at no rate at all.
    Zero,
    /// It tells the encoder the highest rate there is.
    Highest,
    /// It never allows anything.
    Mute,
    /// It never times out.
    Sleepless,
    /// It is due at once, again and again.
    Spinning,
    /// It cannot take a high sequence number.
    Fragile,
    /// It panics at the first loss.
    Desperate,
    /// It keeps something of each packet for ever.
    Hoarding,
    /// It discards after each discard.
    Discarding,
    /// It asks for a discard, which its verbs leave out.
    Unannounced,
    /// It forgets to ask for anything, and sends as if there were no window.
    Boundless,
    /// It cannot be made.
    Unmade,
}

/// A sound controller, but for its fault.
struct Wrong {
    inner: Mine,
    how: How,
    lost: bool,
    kept: Vec<u64>,
}

impl Wrong {
    fn new(how: How, setup: &FlowSetup) -> Wrong {
        assert!(how != How::Unmade, "no such controller");
        Wrong { inner: Mine::new(setup), how, lost: false, kept: Vec::new() }
    }

    fn answer(&self, mut update: Update) -> Update {
        match self.how {
            How::Zero => update.pacing = Some(Pacing::Rate(Bitrate::ZERO)),
            How::Highest => update = update.with_target(Bitrate::MAX),
            How::Mute => update.allowance = Some(Allowance::Packets(0)),
            How::Boundless => update.allowance = Some(Allowance::Unlimited),
            How::Discarding | How::Unannounced => {
                update.discard = Some(Discard { stream: StreamId(0), older_than: None, key_frame: false });
            }
            _ => {}
        }
        update
    }
}

impl Controller for Wrong {
    fn on_sent(&mut self, now: Time, packet: &SentPacket) -> Update {
        if self.how == How::Hoarding {
            self.kept.push(packet.sequence);
        }
        let update = self.inner.on_sent(now, packet);
        self.answer(update)
    }

    fn on_report(&mut self, now: Time, report: &Report<'_>) -> Update {
        if let Report::Packets(report) = report {
            self.lost |= report.packets.iter().any(|packet| packet.status == Status::Missing);
            let highest = report.packets.iter().map(|packet| packet.sequence).max().unwrap_or(0);
            assert!(self.how != How::Fragile || highest < 1 << 40, "a sequence number of {highest}");
        }
        assert!(self.how != How::Desperate || !self.lost, "something was lost");
        let update = self.inner.on_report(now, report);
        self.answer(update)
    }

    fn on_send_queue(&mut self, now: Time, queue: &SendQueueState) -> Update {
        let update = self.inner.on_send_queue(now, queue);
        self.answer(update)
    }

    fn ce_response(&self) -> CeResponse {
        self.inner.ce_response()
    }

    fn verbs(&self) -> &'static [Verb] {
        if self.how == How::Discarding { &[Verb::Discard] } else { &[] }
    }

    fn assign(&mut self, now: Time, assigned: Assigned) -> Update {
        self.inner.assign(now, assigned)
    }

    fn next_timeout(&self) -> Option<(Time, TimeoutReason)> {
        match self.how {
            How::Sleepless => None,
            How::Spinning => Some((Time::ZERO, TimeoutReason::Estimate)),
            _ => self.inner.next_timeout(),
        }
    }

    fn on_timeout(&mut self, now: Time) -> Update {
        self.inner.on_timeout(now)
    }

    fn snapshot(&self) -> Snapshot {
        self.inner.snapshot()
    }

    fn state_variables(&self) -> &'static [StateVariable] {
        &[StateVariable { name: "gain", unit: "", help: "How fast the window grows" }]
    }

    fn state(&self, values: &mut [Option<f64>]) {
        values[0] = Some(if self.how == How::NoNumber && self.lost { f64::NAN } else { 1.0 });
    }
}

fn wrong(how: How) -> Subject {
    Subject::new("wrong", Steers::Media, move |setup: &FlowSetup| Wrong::new(how, setup))
        .counting_allocations(crate::counting::allocations)
}

fn found(how: How, check: &str) -> Finding {
    let Err(finding) = wrong(how).check(check) else { panic!("{check} does not find {how:?}") };
    assert_eq!((finding.subject.as_str(), finding.check), ("wrong", check));
    finding
}

#[test]
fn rates_that_are_none_and_states_that_are_no_numbers() {
    for (how, text) in [
        (How::Zero, "a pace of 0 bit/s"),
        (How::Highest, "a target of 18446744073709551615 bit/s"),
        (How::NoNumber, "NaN as gain"),
    ] {
        let finding = found(how, "names_possible_rates");
        assert_eq!(finding.violation.found, text, "{how:?}");
        assert!(finding.violation.at < Time::from_secs_f64(1.0) || how == How::NoNumber, "{finding}");
    }
    assert!(found(How::NoNumber, "survives_any_feedback").seed.is_some());
}

#[test]
fn a_controller_that_never_allows_anything() {
    let finding = found(How::Mute, "stays_within_its_window");
    assert_eq!(finding.violation.expected, "Mbit/s that arrive: 0.1 to 20");
    assert_eq!(finding.violation.found, "0.000");
}

#[test]
fn a_controller_that_never_times_out() {
    let finding = found(How::Sleepless, "recovers_after_an_outage");
    assert!(finding.violation.at == Time::from_secs_f64(60.0), "{finding}");
}

#[test]
fn a_controller_that_sends_on_when_nobody_reports_or_beyond_its_window() {
    for check in ["quietens_without_reports", "stays_within_its_window", "survives_any_feedback"] {
        let sound = wrong(How::Sleepless).check("stays_within_its_window");
        assert_eq!(sound, Ok(()));
        found(How::Boundless, check);
    }
}

#[test]
fn a_timeout_that_is_due_again_at_once() {
    let finding = found(How::Spinning, "survives_any_feedback");
    assert!(finding.violation.found.contains("due again at once"), "{finding}");
}

/// A panic is a finding, not the end of the program; its seed shows it at once, and so does every run.
#[test]
fn a_panic_under_hostile_reports() {
    let finding = found(How::Fragile, "survives_any_feedback");
    assert!(finding.violation.found.starts_with("a panic: a sequence number of"), "{finding}");
    let seed = finding.seed.expect("drawn from a seed");
    assert_eq!(wrong(How::Fragile).with_seed(seed).check("survives_any_feedback"), Err(finding.clone()));
    assert_eq!(found(How::Fragile, "survives_any_feedback"), finding);
    assert!(finding.to_string().ends_with(&format!("(seed {seed})")), "{finding}");
}

#[test]
fn a_panic_in_ordinary_runs_and_when_it_is_made() {
    let finding = found(How::Desperate, "reacts_to_loss");
    assert_eq!(finding.violation.found, "a panic: something was lost");
    assert!(finding.violation.at > Time::ZERO && finding.seed.is_none(), "{finding}");
    let findings = wrong(How::Unmade).findings();
    assert_eq!(findings.len(), CHECKS.len());
    assert!(findings.iter().all(|finding| finding.violation.found == "a panic: no such controller"));
}

#[test]
fn memory_that_grows() {
    let finding = found(How::Hoarding, "allocates_nothing_once_warm");
    assert!(finding.violation.found.contains("of its sender"), "{finding}");
}

#[test]
fn discards_without_end_and_without_announcement() {
    let finding = found(How::Discarding, "names_possible_rates");
    assert_eq!(finding.violation.expected, "discards that end");
    let finding = found(How::Unannounced, "survives_any_feedback");
    assert!(finding.violation.found.starts_with("discards from the send queue"), "{finding}");
}

/// An exemption is a claim like any other: it is wrong where the check passes.
#[test]
fn an_exemption_that_is_not_needed() {
    let made = |setup: &FlowSetup| reno::Reno::new(&reno::Params::default(), setup);
    let reno = Subject::new("reno", Steers::ByteStream, made);
    let exempt = |subject: Subject| subject.exempt("reacts_to_delay", "it knows no delay");
    assert!(reno.check("reacts_to_delay").is_err());
    assert_eq!(exempt(reno.clone()).findings(), []);
    let excused = exempt(reno).exempt("reacts_to_loss", "it is told so");
    let findings = excused.findings();
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].check, findings[0].violation.found.as_str()), ("reacts_to_loss", "a pass"));
}

#[test]
#[should_panic(expected = "no check is called reacts_to_lost; there are stays_within_its_window, ")]
fn an_unknown_check() {
    let _ = wrong(How::Mute).exempt("reacts_to_lost", "it is misspelt");
}

/// TFRC's receiver half, but for its reports.
struct WrongHalf {
    inner: tfrc::TfrcReceiver,
    rate: fn(f64) -> f64,
}

impl ReceiverHalf for WrongHalf {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival) -> bool {
        self.inner.on_arrival(now, arrival)
    }

    fn next_timeout(&self) -> Option<Time> {
        self.inner.next_timeout()
    }

    fn report(&mut self, now: Time) -> Option<ReceiverReport> {
        let Some(ReceiverReport::Tfrc { loss_event_rate, receive_rate, newest_sent, delay }) =
            self.inner.report(now)
        else {
            return None;
        };
        let loss_event_rate = (self.rate)(loss_event_rate);
        Some(ReceiverReport::Tfrc { loss_event_rate, receive_rate, newest_sent, delay })
    }
}

impl Half for WrongHalf {}

fn with_half(rate: fn(f64) -> f64) -> Subject {
    let params = tfrc::Params::default();
    let inner = tfrc::TfrcReceiver::new(&params);
    Subject::new("halves", Steers::Datagrams, move |setup: &FlowSetup| tfrc::Tfrc::new(&params, setup))
        .with_half(move || WrongHalf { inner: inner.clone(), rate })
        .on_queues_of(TimeDelta::from_millis(100))
        .marked_every(50)
}

#[test]
fn a_receiver_half_is_tested_with_its_controller() {
    let fills = "losses and marks alone reduce it";
    assert_eq!(with_half(|rate| rate).exempt("reacts_to_delay", fills).findings(), []);
    let finding = with_half(|rate| rate + 1.0).check("survives_any_feedback").expect_err("a rate above 1");
    assert!(finding.violation.expected.starts_with("a loss event rate from 0 to 1"), "{finding}");
    assert!(with_half(|_| 0.0).check("reacts_to_loss").is_err());
    let finding = with_half(|_| panic!("no rate")).check("reacts_to_loss").expect_err("a panic");
    assert_eq!(finding.violation.found, "a panic: no rate");
}

/// Each fault is built into a sound controller, and each check that says so notices it.
#[test]
fn every_fault_is_noticed() {
    let sound =
        Subject::new("mine", Steers::Media, Mine::new).counting_allocations(crate::counting::allocations);
    for check in CHECKS {
        assert_eq!(check.run(&sound), Ok(()));
        for fault in check.notices {
            assert!(check.run(&sound.altered(*fault)).is_err(), "{} does not notice {fault:?}", check.name);
        }
    }
}
