//! A controller under test, with the facts of it that the checks go by.

use crate::checks::{CHECKS, Check};
use crate::faults::{Altered, Fault};
use crate::finding::{Finding, Violation};
use crate::hostile::{Flight, Half};
use crate::shifted::Shifted;
use crate::{LARGEST, hostile};
use paceline_cc::{CeResponse, Controller, FlowSetup, Steers};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use std::sync::{Arc, OnceLock};

type Make = Arc<dyn Fn(&FlowSetup) -> Box<dyn Controller> + Send + Sync>;
type MakeHalf = Arc<dyn Fn() -> Box<dyn Half> + Send + Sync>;

/// A controller under test: its constructor, and the facts of it that the checks go by.
#[derive(Clone)]
pub struct Subject {
    name: String,
    make: Make,
    make_half: Option<MakeHalf>,
    setup: FlowSetup,
    steers: Steers,
    pub(crate) flight: Flight,
    /// Bytes that may be in flight beyond the window that it shows.
    pub(crate) slack: Bytes,
    /// One packet in this number is marked where the answer to marks is looked at.
    pub(crate) mark_every: u64,
    pub(crate) tells_arrivals: bool,
    pub(crate) longest_wait: TimeDelta,
    pub(crate) seed: u64,
    pub(crate) allocations: Option<fn() -> u64>,
    exempt: Vec<(&'static str, &'static str)>,
    pub(crate) fault: Option<Fault>,
    /// The time that its clock shows at the world's zero.
    zero: TimeDelta,
    /// Rates on a link that disturbs nothing, which several checks compare with.
    pub(crate) undisturbed: Arc<OnceLock<(f64, f64)>>,
}

impl Subject {
    /// The controllers that `make` makes, by a name for messages. Each run makes a new one.
    pub fn new<C: Controller + 'static>(
        name: impl Into<String>,
        steers: Steers,
        make: impl Fn(&FlowSetup) -> C + Send + Sync + 'static,
    ) -> Subject {
        let flight = Flight::of(steers, false);
        Subject {
            name: name.into(),
            make: Arc::new(move |setup| Box::new(make(setup))),
            make_half: None,
            setup: FlowSetup::new(LARGEST),
            steers,
            flight,
            slack: slack(flight),
            mark_every: 5,
            tells_arrivals: false,
            longest_wait: TimeDelta::from_millis(if flight == Flight::Pipe { 100 } else { 3000 }),
            seed: 1,
            allocations: None,
            exempt: Vec::new(),
            fault: None,
            zero: TimeDelta::ZERO,
            undisturbed: Arc::default(),
        }
    }

    /// The same with this receiver half: it hears of arrivals, and reports in place of the transport.
    pub fn with_half<H: Half + 'static>(self, make: impl Fn() -> H + Send + Sync + 'static) -> Subject {
        let flight = Flight::of(self.steers, true);
        let make: MakeHalf = Arc::new(move || Box::new(make()));
        self.with(|subject| {
            subject.make_half = Some(make);
            (subject.flight, subject.slack) = (flight, slack(flight));
        })
    }

    /// The same with packets that are ECT(1), and `l4s` in its [`FlowSetup`].
    pub fn with_l4s(self) -> Subject {
        self.with(|subject| {
            subject.setup.l4s = true;
            subject.name += " l4s";
        })
    }

    /// The same under another name.
    pub fn named(self, name: impl Into<String>) -> Subject {
        self.with(|subject| subject.name = name.into())
    }

    /// The same where one packet in so many is marked when the answer to marks is looked at: 5 if nothing is said. A controller that takes
    /// each mark for a loss needs 50, since a fifth of marks leaves it less than a packet a frame.
    pub fn marked_every(self, packets: u64) -> Subject {
        self.with(|subject| subject.mark_every = packets)
    }

    /// The same on links whose queue is as long as this in most checks: 3 s if nothing is said, 100 ms for byte streams. A controller that
    /// knows no delay fills any queue, and needs the shorter one.
    pub fn on_queues_of(self, longest_wait: TimeDelta) -> Subject {
        self.with(|subject| subject.longest_wait = longest_wait)
    }

    /// The same where acknowledgements of the byte stream say when packets arrived.
    pub fn telling_arrivals(self) -> Subject {
        self.with(|subject| subject.tells_arrivals = true)
    }

    /// The same with random input from this seed on, such as the one that a [`Finding`] names.
    pub fn with_seed(self, seed: u64) -> Subject {
        self.with(|subject| subject.seed = seed)
    }

    /// The same in a program whose allocator counts: `allocations` answers how many there were on this thread so far. Then the check
    /// `allocates_nothing_once_warm` looks; without, it passes.
    pub fn counting_allocations(self, allocations: fn() -> u64) -> Subject {
        self.with(|subject| subject.allocations = Some(allocations))
    }

    /// The same, which its own rules make fail a check, and why. A pass of this check is a finding from then on.
    ///
    /// # Panics
    /// If there is no check of this name.
    pub fn exempt(self, check: &'static str, why: &'static str) -> Subject {
        let name = Check::named(check).name;
        self.with(|subject| subject.exempt.push((name, why)))
    }

    /// The same with a fault built in, which the checks that name it must notice.
    pub fn altered(&self, fault: Fault) -> Subject {
        self.clone().with(|subject| {
            subject.name += &format!(" {fault:?}");
            subject.fault = Some(fault);
        })
    }

    /// The same by a clock that shows so much more at the world's zero.
    pub(crate) fn shifted(&self, by: TimeDelta) -> Subject {
        self.clone().with(|subject| subject.zero = by)
    }

    /// The same without its fault.
    pub(crate) fn honest(&self) -> Subject {
        self.clone().with(|subject| subject.fault = None)
    }

    /// Changed, so that the rates of the subject before are not its own.
    fn with(mut self, change: impl FnOnce(&mut Subject)) -> Subject {
        change(&mut self);
        self.undisturbed = Arc::default();
        self
    }

    /// Name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it counts the bytes in flight.
    pub fn flight(&self) -> Flight {
        self.flight
    }

    /// A new controller.
    pub fn controller(&self) -> Box<dyn Controller> {
        let mut controller = (self.make)(&self.setup);
        if let Some(fault) = self.fault {
            controller = Box::new(Altered::new(controller, fault, self.flight == Flight::Pipe));
        }
        match self.zero {
            TimeDelta::ZERO => controller,
            by => Box::new(Shifted { inner: controller, by }),
        }
    }

    /// A new receiver half, if it has one.
    pub fn half(&self) -> Option<Box<dyn Half>> {
        self.make_half.as_ref().map(|make| make())
    }

    /// The ECN field of its packets: they can be marked unless it ignores marks.
    pub(crate) fn ecn(&self) -> Ecn {
        match self.controller().ce_response() {
            CeResponse::Ignored => Ecn::NotEct,
            CeResponse::Reduces | CeResponse::Uncontrolled if self.setup.l4s => Ecn::Ect1,
            CeResponse::Reduces | CeResponse::Uncontrolled => Ecn::Ect0,
        }
    }

    /// All that the checks find. Nothing, if it keeps every promise but those that it is exempt from.
    pub fn findings(&self) -> Vec<Finding> {
        CHECKS.iter().filter_map(|check| self.judge(check).err()).collect()
    }

    /// Runs one check, by its name.
    ///
    /// # Errors
    /// The promise that was broken.
    ///
    /// # Panics
    /// If there is no check of this name.
    pub fn check(&self, name: &str) -> Result<(), Finding> {
        self.judge(Check::named(name))
    }

    /// Whether it is exempt from the check of this name.
    pub fn exempts(&self, name: &str) -> bool {
        self.exempt.iter().any(|(exempt, _)| *exempt == name)
    }

    fn judge(&self, check: &Check) -> Result<(), Finding> {
        let verdict = check.run(self);
        let Some((_, why)) = self.exempt.iter().find(|(exempt, _)| *exempt == check.name) else {
            return verdict;
        };
        match verdict {
            Ok(()) => {
                let expected = format!("a failure, from which it is exempt ({why})");
                let violation = Violation::new(Time::ZERO, expected, "a pass");
                Err(Finding { subject: self.name.clone(), check: check.name, violation, seed: None })
            }
            Err(_) => Ok(()),
        }
    }

    /// Hostile operations of the contract, and any arrivals at its half, by the bytes of a seed.
    pub(crate) fn survive(&self, seed: u64) -> Result<(), Violation> {
        let bytes = hostile::bytes_of(seed);
        hostile::drive(&mut *self.controller(), self.flight, self.slack, &bytes)?;
        self.half().map_or(Ok(()), |mut half| hostile::drive_half(&mut *half, &bytes))
    }
}

/// Bytes beyond the window: a packet, where one leaves while the window has any room.
fn slack(flight: Flight) -> Bytes {
    if flight == Flight::ToHighestAcknowledged { LARGEST } else { Bytes::ZERO }
}
