//! The duties of every controller, whatever it is inside. Every kind of the registry is a member under each of its profiles;
//! what its source's own rules excuse stands in [`excused`].
//!
//! A check is a function from a [`Member`] to `Result`: the suite demands success of every member, and failure of every
//! member that was altered in what the check guards ([`altered`]), so that no check can rot into passing always.

pub mod altered;
pub mod checks;
pub mod hostile;
pub mod link;
pub mod retransmitting;
pub mod shifted;
pub mod world;

use altered::Alteration;
use paceline_cc::{AnyController, Controller, ControllerParams, FlowSetup, Steers};
use paceline_units::{Bitrate, Bytes, Ecn, TimeDelta};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The largest packet of every world.
pub const LARGEST: Bytes = Bytes::new(1212);

pub use hostile::{Flight, Half};

type Make = Rc<dyn Fn() -> Box<dyn Controller>>;

/// A controller under test.
#[derive(Clone)]
pub struct Member {
    pub name: String,
    /// The ECN field of its packets.
    pub ecn: Ecn,
    /// How far it may send beyond the window it shows.
    pub slack: Bytes,
    pub flight: Flight,
    make: Make,
    /// Its other half, where it has one: then that hears of arrivals, and reports.
    pub half: Option<Rc<dyn Fn() -> Box<dyn Half>>>,
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
    fn new(name: &str, ecn: Ecn, slack: Bytes, make: Make) -> Member {
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

    /// A controller that knows no window and no delay, on links that queue a round trip.
    fn driven_by_loss(self, unaffected_by: &'static [altered::Alteration]) -> Member {
        Member { longest_wait: TimeDelta::from_millis(100), unaffected_by, ..self }
            .exempt(FILLS_QUEUES.0, FILLS_QUEUES.1)
    }

    /// A controller that takes a mark for a loss: 20 % of marks leave it less than a packet a frame.
    fn marked_every(self, mark_every: u64) -> Member {
        Member { mark_every, ..self }
    }

    /// A window law under a transport that retransmits.
    pub fn retransmitting(name: &str, ecn: Ecn, make: Make) -> Member {
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

    /// The same by a clock that shows so much more at the world's zero.
    #[allow(dead_code, reason = "not every program of the suite asks for another zero")]
    pub fn shifted(&self, by: TimeDelta) -> Member {
        let make = self.make.clone();
        let make: Make = Rc::new(move || Box::new(shifted::Shifted { inner: make(), by }));
        Member { make, ..self.clone() }
    }

    /// The same with a fault built in.
    pub fn altered(&self, alteration: altered::Alteration) -> Member {
        Member { name: format!("{} {alteration:?}", self.name), alteration, ..self.clone() }
    }
}

/// The flow's facts that every controller is told.
pub fn setup() -> FlowSetup {
    FlowSetup::new(LARGEST)
}

/// Everything that is registered, each kind under each profile. A law that has several names, which differ for its transport
/// alone, is tested under the first of them.
pub fn members() -> Vec<Member> {
    let mut laws = BTreeSet::new();
    let mut is_new = |params: &ControllerParams| {
        let shown = format!("{:?}", AnyController::new(params, &setup()).expect("a profile"));
        laws.insert(shown.split_once('(').map(|(_, law)| law.to_string()))
    };
    let all = ControllerParams::all().filter(|(params, _)| is_new(params));
    all.flat_map(|(params, profile)| of(&params, profile)).collect()
}

fn of(params: &ControllerParams, profile: &str) -> Vec<Member> {
    let name = format!("{} {profile}", params.kind());
    let made = |params: &ControllerParams, l4s| -> Make {
        let params = fit(params);
        let setup = FlowSetup { l4s, ..setup() };
        Rc::new(move || Box::new(AnyController::new(&params, &setup).expect("a profile")))
    };
    let make = made(params, false);
    let half = AnyController::receiver_half(params)
        .map(|half| Rc::new(move || Box::new(half.clone()) as Box<dyn Half>) as Rc<_>);
    let members = match params.steers() {
        Steers::Media => vec![
            Member::new(&name, Ecn::Ect0, LARGEST, make),
            Member::new(&format!("{name} l4s"), Ecn::Ect1, LARGEST, made(params, true)),
        ],
        Steers::Datagrams | Steers::Unreported => vec![Member::new(&name, Ecn::Ect0, LARGEST, make)],
        Steers::Ccid(_) if half.is_some() => vec![Member::new(&name, Ecn::Ect0, LARGEST, make)],
        Steers::Ccid(_) => {
            vec![Member { flight: Flight::AckVector, ..Member::new(&name, Ecn::Ect0, Bytes::ZERO, make) }]
        }
        Steers::ByteStream if matches!(params, ControllerParams::Prague(_)) => vec![
            Member::retransmitting(&name, Ecn::Ect0, make),
            Member::retransmitting(&format!("{name} l4s"), Ecn::Ect1, made(params, true)),
        ],
        Steers::ByteStream => vec![Member::retransmitting(&name, Ecn::Ect0, make)],
    };
    members
        .into_iter()
        .flat_map(|member| excused(params, profile, Member { half: half.clone(), ..member }))
        .collect()
}

const FILLS_QUEUES: (&str, &str) =
    ("reacts_to_delay", "losses and marks alone reduce it: it fills any queue that has neither");

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

/// No window, and nothing depends on the sizes of what was sent.
const URCP_UNAFFECTED: &[Alteration] =
    &[Alteration::Generous, Alteration::Credulous, Alteration::Moody, Alteration::Sleepless];
/// The same, and no answer to marks.
const UM_UNAFFECTED: &[Alteration] = &[
    Alteration::Generous,
    Alteration::Credulous,
    Alteration::Moody,
    Alteration::Sleepless,
    Alteration::DeafToCe,
    Alteration::DeafToLoss,
];
/// No window, no answer to marks.
const GCC_UNAFFECTED: &[Alteration] =
    &[Alteration::Generous, Alteration::Credulous, Alteration::DeafToCe, Alteration::Sleepless];

/// Test values of a kind instead of a profile's own.
fn fit(params: &ControllerParams) -> ControllerParams {
    let mut params = params.clone();
    if let ControllerParams::Gcc(gcc) = &mut params {
        // From its own start, 8 % a second, it would not have filled a link when a check looks.
        gcc.target_bitrate_start = Bitrate::from_mbps(5);
    }
    params
}

/// The checks of what is a reaction.
const REACTIONS: [&str; 4] = ["reacts_to_loss", "reacts_to_marks", "reacts_to_delay", "is_fair_to_itself"];
/// Nothing that a fault of a reaction could harm.
const FIXED_UNAFFECTED: &[Alteration] = &[Alteration::Generous, Alteration::Sleepless];
const UNCONTROLLED_UNAFFECTED: &[Alteration] =
    &[Alteration::Generous, Alteration::Sleepless, Alteration::Credulous, Alteration::Moody];

/// A member, with what its source's own rules excuse, and once more in a world that it is told more of.
fn excused(params: &ControllerParams, profile: &str, member: Member) -> Vec<Member> {
    vec![match params {
        ControllerParams::Scream(_) if member.name == "scream reference-2022 l4s" => member.exempt(
            "recovers_after_an_outage",
            "a fixed gap for full packets starves frames below one packet",
        ),
        ControllerParams::Cubic(_) if profile == "linux" => member.exempt(FILLS_QUEUES.0, FILLS_QUEUES.1).exempt(
            "is_fair_to_itself",
            "paced at 1.2 windows per round trip two of them have a Jain's index of 0.80 where 0.85 is asked; paced at 1.25 they pass",
        ),
        ControllerParams::Tahoe(_)
        | ControllerParams::Reno(_)
        | ControllerParams::NewReno(_)
        | ControllerParams::Sack(_)
        | ControllerParams::Cubic(_)
        | ControllerParams::Dctcp(_)
        | ControllerParams::Prague(_) => member.exempt(FILLS_QUEUES.0, FILLS_QUEUES.1),
        ControllerParams::Bbr(_) => {
            let member = Member { ecn: Ecn::NotEct, ..member }
                .exempt("reacts_to_loss", "version 1 takes no loss for congestion")
                .unharmed_by(
                    Alteration::DeafToDelay,
                    "its window is a multiple of bandwidth and the smallest round trip, whatever the present one",
                )
                .unharmed_by(Alteration::DeafToCe, "its packets cannot be marked");
            match profile {
                "linux" => member.unharmed_by(
                    Alteration::Greedy,
                    "paced below its bandwidth, which neither delays nor losses enter, it leaves the other its part",
                ),
                _ => member,
            }
        }
        ControllerParams::Bbr3(_) => {
            let counted = "losses are bytes to it, whichever word tells of them";
            member.unharmed_by(Alteration::DeafToLoss, counted).unharmed_by(Alteration::Greedy, counted)
        }
        ControllerParams::Ledbat(_) => {
            let member = member.exempt(
                "reacts_to_delay",
                "it shrinks as slowly as it grows: a packet per round trip and 100 ms too many",
            );
            let name = format!("{} one-way", member.name);
            return vec![member.clone(), Member { tells_arrivals: true, name, ..member }];
        }
        ControllerParams::Tfrc(_) | ControllerParams::Ccid3(_) => {
            member.driven_by_loss(TFRC_UNAFFECTED).marked_every(50)
        }
        ControllerParams::Ccid2(_) => member.driven_by_loss(&[Alteration::DeafToDelay]).marked_every(50),
        ControllerParams::Gcc(_) => {
            let member = Member { ecn: Ecn::NotEct, unaffected_by: GCC_UNAFFECTED, ..member }
                .exempt("reacts_to_loss", "losses below 10 % are no sign of congestion to it");
            if profile == "libwebrtc-2012" {
                member
                    .exempt("reacts_to_delay", "by twentieths it takes more than 5 s to empty a queue of 3 s")
                    .exempt("is_fair_to_itself", "with a fixed threshold one of two keeps nearly all")
            } else {
                member
            }
        }
        ControllerParams::Rap(_) => Member { ecn: Ecn::NotEct, ..member }.driven_by_loss(RAP_UNAFFECTED),
        ControllerParams::Urcp(_) => {
            Member { unaffected_by: URCP_UNAFFECTED, ..member }
                .exempt("reacts_to_loss", "it takes 3 % for inherent (loss_min)")
        }
        ControllerParams::Um(_) => {
            let slow = "its rate rises by 9.6 kbit/s in a second, at 20 Mbit/s as at 1 Mbit/s";
            let member = Member { ecn: Ecn::NotEct, unaffected_by: UM_UNAFFECTED, ..member };
            member
                .exempt("reacts_to_loss", "delay is all that it knows")
                .exempt("reacts_to_delay", slow)
                .exempt("is_fair_to_itself", slow)
        }
        ControllerParams::Fixed(_) => {
            let member = Member { unaffected_by: FIXED_UNAFFECTED, ..member };
            let twice = "what reports cover counts as no longer under way, as often as they cover it";
            uncontrolled(member).exempt("survives_any_feedback", twice)
        }
        ControllerParams::Uncontrolled(_) => {
            uncontrolled(Member { unaffected_by: UNCONTROLLED_UNAFFECTED, ..member })
        }
        _ => member,
    }]
}

fn uncontrolled(member: Member) -> Member {
    REACTIONS.into_iter().fold(member, |member, check| member.exempt(check, "it reacts to nothing"))
}
