//! What every controller must do, whatever it is inside. A controller joins with one line in [`members`].
//!
//! A check is a function from a [`Member`] to `Result`: the suite demands success of every member, and failure of every
//! member that was altered in what the check guards ([`altered`]), so that no check can rot into passing always.

pub mod altered;
pub mod checks;
pub mod hostile;
pub mod link;
pub mod retransmitting;
pub mod world;

use altered::Alteration;
use paceline_cc::ccid::{ccid2, ccid3};
use paceline_cc::scream::{Config, Params, Scream};
use paceline_cc::window::Setup;
use paceline_cc::{Controller, rap, tfrc};
use paceline_cc::{bbr, cubic, dctcp, ledbat, reno, vegas};
use paceline_units::{Bytes, Ecn, TimeDelta};

/// The largest packet of every world.
pub const LARGEST: Bytes = Bytes::new(1212);

pub use hostile::{Flight, Half};

/// A controller under test.
#[derive(Clone)]
pub struct Member {
    pub name: String,
    /// What its packets carry.
    pub ecn: Ecn,
    /// How far it may send beyond the window it shows.
    pub slack: Bytes,
    pub flight: Flight,
    make: fn() -> Box<dyn Controller>,
    /// Its other half, where it has one: then that hears of arrivals, and reports.
    pub half: Option<fn() -> Box<dyn Half>>,
    /// One packet in so many is marked where the answer to marks is looked at.
    pub mark_every: u64,
    /// Faults in what it does not have: a window, an answer to delay or marks. The suite does not expect them noticed.
    pub unaffected_by: &'static [altered::Alteration],
    pub alteration: altered::Alteration,
    /// Checks that its source's own rules make it fail, and why. The suite demands that it does.
    pub exempt: Vec<(&'static str, &'static str)>,
    /// Faults that its source's own rules make harmless, and why. The suite demands that they are.
    pub unharmed: Vec<(altered::Alteration, &'static str)>,
    /// Whether acknowledgements tell when a packet arrived, where the transport retransmits.
    pub tells_arrivals: bool,
    /// The longest wait of the links of most checks.
    pub longest_wait: TimeDelta,
}

impl Member {
    fn new(name: &str, ecn: Ecn, slack: Bytes, make: fn() -> Box<dyn Controller>) -> Member {
        let (flight, alteration) = (Flight::ToHighestAcknowledged, altered::Alteration::None);
        Member {
            name: name.into(),
            ecn,
            slack,
            flight,
            make,
            half: None,
            mark_every: 5,
            unaffected_by: &[],
            alteration,
            exempt: Vec::new(),
            unharmed: Vec::new(),
            tells_arrivals: false,
            longest_wait: TimeDelta::from_secs(3),
        }
    }

    /// One that knows no window and no delay, on links that queue a round trip.
    fn driven_by_loss(self, unaffected_by: &'static [altered::Alteration]) -> Member {
        Member { longest_wait: TimeDelta::from_millis(100), unaffected_by, ..self }
            .exempt(FILLS_QUEUES.0, FILLS_QUEUES.1)
    }

    /// One that takes a mark for a loss: 20 % of marks leave it less than a packet a frame.
    fn marked_every(self, mark_every: u64) -> Member {
        Member { mark_every, ..self }
    }

    fn with_half(self, half: fn() -> Box<dyn Half>) -> Member {
        Member { half: Some(half), ..self }
    }

    /// A window law under a transport that retransmits.
    pub fn retransmitting(name: &str, ecn: Ecn, make: fn() -> Box<dyn Controller>) -> Member {
        let longest_wait = TimeDelta::from_millis(100);
        Member { flight: Flight::Pipe, longest_wait, ..Member::new(name, ecn, Bytes::ZERO, make) }
    }

    fn exempt(mut self, check: &'static str, why: &'static str) -> Member {
        self.exempt.push((check, why));
        self
    }

    fn unharmed_by(mut self, fault: altered::Alteration, why: &'static str) -> Member {
        self.unharmed.push((fault, why));
        self
    }

    /// A fresh controller.
    pub fn controller(&self) -> Box<dyn Controller> {
        match self.alteration {
            altered::Alteration::None => (self.make)(),
            alteration => {
                let retransmits = self.flight == Flight::Pipe;
                Box::new(altered::Altered::new((self.make)(), alteration, retransmits))
            }
        }
    }

    /// The same with a fault built in.
    pub fn altered(&self, alteration: altered::Alteration) -> Member {
        Member { name: format!("{} {alteration:?}", self.name), alteration, ..self.clone() }
    }
}

/// All there are: a new controller adds its line here, and nothing else anywhere.
pub fn members() -> Vec<Member> {
    vec![
        Member::new("scream rfc8298", Ecn::Ect0, LARGEST, || scream("rfc8298", false)),
        Member::new("scream rfc8298 l4s", Ecn::Ect1, LARGEST, || scream("rfc8298", true)),
        Member::new("scream reference-2022", Ecn::Ect0, LARGEST, || scream("reference-2022", false)),
        Member::new("scream reference-2022 l4s", Ecn::Ect1, LARGEST, || scream("reference-2022", true))
            .exempt(
                "recovers_after_an_outage",
                "a fixed gap for full packets starves frames below one packet",
            ),
        loss_based("reno rfc5681", || reno("rfc5681")),
        loss_based("reno ns2", || reno("ns2")),
        loss_based("cubic", || Box::new(cubic::Cubic::new(&cubic::Params::default(), &SETUP))),
        loss_based("dctcp", || Box::new(dctcp::Dctcp::new(&dctcp::Params::default(), &SETUP))),
        Member::retransmitting("vegas", Ecn::Ect0, || {
            Box::new(vegas::Vegas::new(&vegas::Params::default(), &SETUP))
        }),
        Member::retransmitting("bbr", Ecn::NotEct, || {
            Box::new(bbr::Bbr::new(&bbr::Params::default(), &SETUP))
        })
        .exempt("reacts_to_loss", "version 1 takes no loss for congestion")
        .unharmed_by(
            altered::Alteration::DeafToDelay,
            "its window is a multiple of bandwidth and the smallest round trip, whatever the present one",
        )
        .unharmed_by(altered::Alteration::DeafToCe, "its packets cannot be marked"),
        yielding("ledbat"),
        Member { tells_arrivals: true, ..yielding("ledbat one-way") },
        Member::new("tfrc rfc5348", Ecn::Ect0, LARGEST, || tfrc("rfc5348"))
            .with_half(|| tfrc_half("rfc5348"))
            .driven_by_loss(TFRC_UNAFFECTED)
            .marked_every(50),
        Member::new("tfrc ns2", Ecn::Ect0, LARGEST, || tfrc("ns2"))
            .with_half(|| tfrc_half("ns2"))
            .driven_by_loss(TFRC_UNAFFECTED)
            .marked_every(50),
        ccid2("rfc4341", || ccid2_with("rfc4341")),
        ccid2("rfc2861", || ccid2_with("rfc2861")),
        ccid2("ns2", || ccid2_with("ns2")),
        ccid3("rfc4342", || ccid3_with("rfc4342"), || ccid3_half("rfc4342")),
        ccid3("ns2", || ccid3_with("ns2"), || ccid3_half("ns2")),
        Member::new("rap rap1999", Ecn::NotEct, LARGEST, || rap("rap1999")).driven_by_loss(RAP_UNAFFECTED),
        Member::new("rap ns2", Ecn::NotEct, LARGEST, || rap("ns2")).driven_by_loss(RAP_UNAFFECTED),
    ]
}

/// What every window law is told of its flow.
pub const SETUP: Setup = Setup { largest_packet: LARGEST, initial_window: 10, max_window: None };

const FILLS_QUEUES: (&str, &str) =
    ("reacts_to_delay", "losses and marks alone reduce it: it fills any queue that has neither");

fn loss_based(name: &str, make: fn() -> Box<dyn Controller>) -> Member {
    Member::retransmitting(name, Ecn::Ect0, make).exempt(FILLS_QUEUES.0, FILLS_QUEUES.1)
}

fn yielding(name: &str) -> Member {
    let make: fn() -> Box<dyn Controller> =
        || Box::new(ledbat::Ledbat::new(&ledbat::Params::default(), &SETUP));
    Member::retransmitting(name, Ecn::Ect0, make).exempt(
        "reacts_to_delay",
        "it shrinks as slowly as it grows: a packet per round trip and 100 ms too many",
    )
}

fn reno(profile: &str) -> Box<dyn Controller> {
    let params = reno::Params::profile(profile).expect("a known profile");
    Box::new(reno::Reno::new(&params, &SETUP))
}

/// No window, no reports on packets; the nofeedback timer has tests of its own.
const TFRC_UNAFFECTED: &[Alteration] = &[
    Alteration::Generous,
    Alteration::Credulous,
    Alteration::DeafToDelay,
    Alteration::Sleepless,
    Alteration::Fragile,
];
/// No window, no answer to delay or marks.
const RAP_UNAFFECTED: &[Alteration] =
    &[Alteration::Generous, Alteration::Credulous, Alteration::DeafToDelay, Alteration::DeafToCe];

fn tfrc(profile: &str) -> Box<dyn Controller> {
    let params = tfrc::Params::profile(profile).expect("a known profile");
    Box::new(tfrc::Tfrc::new(tfrc::Config { params, largest_packet: LARGEST }))
}

fn tfrc_half(profile: &str) -> Box<dyn Half> {
    Box::new(tfrc::TfrcReceiver::new(&tfrc::Params::profile(profile).expect("a known profile")))
}

fn ccid2(profile: &str, make: fn() -> Box<dyn Controller>) -> Member {
    let member = Member::new(&format!("ccid2 {profile}"), Ecn::Ect0, Bytes::ZERO, make);
    Member { flight: Flight::AckVector, ..member }.driven_by_loss(&[Alteration::DeafToDelay]).marked_every(50)
}

fn ccid2_with(profile: &str) -> Box<dyn Controller> {
    let params = ccid2::Params::profile(profile).expect("a known profile");
    Box::new(ccid2::Ccid2::new(ccid2::Config { params, largest_packet: LARGEST }))
}

fn ccid3(profile: &str, make: fn() -> Box<dyn Controller>, half: fn() -> Box<dyn Half>) -> Member {
    Member::new(&format!("ccid3 {profile}"), Ecn::Ect0, LARGEST, make)
        .with_half(half)
        .driven_by_loss(TFRC_UNAFFECTED)
        .marked_every(50)
}

fn ccid3_with(profile: &str) -> Box<dyn Controller> {
    let params = ccid3::Params::profile(profile).expect("a known profile");
    Box::new(ccid3::Ccid3::new(ccid3::Config { params, largest_packet: LARGEST }))
}

fn ccid3_half(profile: &str) -> Box<dyn Half> {
    Box::new(ccid3::Ccid3Receiver::new(&ccid3::Params::profile(profile).expect("a known profile")))
}

fn rap(profile: &str) -> Box<dyn Controller> {
    let params = rap::Params::profile(profile).expect("a known profile");
    Box::new(rap::Rap::new(rap::Config { params, largest_packet: LARGEST }))
}

fn scream(profile: &str, l4s: bool) -> Box<dyn Controller> {
    let params = Params::profile(profile).expect("a known profile");
    Box::new(Scream::new(Config::one_stream(params, l4s, LARGEST)))
}
