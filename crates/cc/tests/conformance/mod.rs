//! What every controller must do, whatever it is inside. A controller joins with one line in [`members`].
//!
//! A check is a function from a [`Member`] to `Result`: the suite demands success of every member, and failure of every
//! member that was altered in what the check guards ([`altered`]), so that no check can rot into passing always.

pub mod altered;
pub mod checks;
pub mod hostile;
pub mod link;
pub mod world;

use paceline_cc::Controller;
use paceline_cc::scream::{Config, Params, Scream};
use paceline_units::{Bytes, Ecn};

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
    pub alteration: altered::Alteration,
    /// A check that its source's own rules make it fail, and why. The suite demands that it does.
    pub exempt: Option<(&'static str, &'static str)>,
}

impl Member {
    fn new(name: &str, ecn: Ecn, slack: Bytes, make: fn() -> Box<dyn Controller>) -> Member {
        let (flight, alteration) = (Flight::ToHighestAcknowledged, altered::Alteration::None);
        Member { name: name.into(), ecn, slack, flight, make, alteration, exempt: None }
    }

    fn exempt(self, check: &'static str, why: &'static str) -> Member {
        Member { exempt: Some((check, why)), ..self }
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
    ]
}

fn scream(profile: &str, l4s: bool) -> Box<dyn Controller> {
    let params = Params::profile(profile).expect("a known profile");
    Box::new(Scream::new(Config::one_stream(params, l4s, LARGEST)))
}
