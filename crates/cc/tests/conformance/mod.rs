//! What every controller must do, whatever it is inside. A controller joins with one line in [`members`].
//!
//! A check is a function from a [`Member`] to `Result`: the suite demands success of every member, and failure of every
//! member that was altered in what the check guards ([`altered`]), so that no check can rot into passing always.

pub mod altered;
pub mod checks;
pub mod hostile;
pub mod link;
pub mod world;

use altered::Alteration;
use paceline_cc::scream::{Config, Params, Scream};
use paceline_cc::{Controller, ReceiverHalf, rap, tfrc};
use paceline_units::{Bytes, Ecn, TimeDelta};

/// The largest packet of every world.
pub const LARGEST: Bytes = Bytes::new(1212);

/// How a controller counts what is in flight: the independent model follows the same definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flight {
    /// From the newest sent down to the highest acknowledged, lost ones in (RFC 8298 section 4.1.2).
    ToHighestAcknowledged,
}

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
    pub half: Option<fn() -> Box<dyn ReceiverHalf>>,
    /// The longest wait of its links: what reacts to loss alone fills whatever queue there is.
    pub longest_wait: TimeDelta,
    /// One packet in so many is marked where the answer to marks is looked at.
    pub mark_every: u64,
    /// Faults in what it does not have: a window, an answer to delay or marks. The suite does not expect them noticed.
    pub unaffected_by: &'static [altered::Alteration],
    pub alteration: altered::Alteration,
    /// A check that its source's own rules make it fail, and why. The suite demands that it does.
    pub exempt: Option<(&'static str, &'static str)>,
}

impl Member {
    fn new(name: &str, ecn: Ecn, slack: Bytes, make: fn() -> Box<dyn Controller>) -> Member {
        let (flight, alteration) = (Flight::ToHighestAcknowledged, altered::Alteration::None);
        let longest_wait = TimeDelta::from_secs(3);
        Member {
            name: name.into(),
            ecn,
            slack,
            flight,
            make,
            half: None,
            longest_wait,
            mark_every: 5,
            unaffected_by: &[],
            alteration,
            exempt: None,
        }
    }

    /// One that knows no window and no delay, on links that queue a round trip.
    fn driven_by_loss(self, unaffected_by: &'static [altered::Alteration]) -> Member {
        Member { longest_wait: TimeDelta::from_millis(100), unaffected_by, ..self }
    }

    /// One that takes a mark for a loss: 20 % of marks leave it less than a packet a frame.
    fn marked_every(self, mark_every: u64) -> Member {
        Member { mark_every, ..self }
    }

    fn with_half(self, half: fn() -> Box<dyn ReceiverHalf>) -> Member {
        Member { half: Some(half), ..self }
    }

    fn exempt(self, check: &'static str, why: &'static str) -> Member {
        Member { exempt: Some((check, why)), ..self }
    }

    /// The link as this member gets it.
    pub fn on(&self, config: link::LinkConfig) -> link::LinkConfig {
        link::LinkConfig { longest_wait: self.longest_wait, ..config }
    }

    /// A fresh controller.
    pub fn controller(&self) -> Box<dyn Controller> {
        match self.alteration {
            altered::Alteration::None => (self.make)(),
            alteration => Box::new(altered::Altered::new((self.make)(), alteration)),
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
        Member::new("tfrc rfc5348", Ecn::Ect0, LARGEST, || tfrc("rfc5348"))
            .with_half(|| tfrc_half("rfc5348"))
            .driven_by_loss(TFRC_UNAFFECTED)
            .marked_every(50),
        Member::new("tfrc ns2", Ecn::Ect0, LARGEST, || tfrc("ns2"))
            .with_half(|| tfrc_half("ns2"))
            .driven_by_loss(TFRC_UNAFFECTED)
            .marked_every(50),
        Member::new("rap rap1999", Ecn::NotEct, LARGEST, || rap("rap1999")).driven_by_loss(RAP_UNAFFECTED),
        Member::new("rap ns2", Ecn::NotEct, LARGEST, || rap("ns2")).driven_by_loss(RAP_UNAFFECTED),
    ]
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

fn tfrc_half(profile: &str) -> Box<dyn ReceiverHalf> {
    Box::new(tfrc::TfrcReceiver::new(&tfrc::Params::profile(profile).expect("a known profile")))
}

fn rap(profile: &str) -> Box<dyn Controller> {
    let params = rap::Params::profile(profile).expect("a known profile");
    Box::new(rap::Rap::new(rap::Config { params, largest_packet: LARGEST }))
}

fn scream(profile: &str, l4s: bool) -> Box<dyn Controller> {
    let params = Params::profile(profile).expect("a known profile");
    Box::new(Scream::new(Config::one_stream(params, l4s, LARGEST)))
}
