//! Every kind of the registry under each of its profiles, as the conformance suite takes it; what its source's own rules excuse stands in
//! [`excused`].

use paceline_cc::{AnyController, AnyReceiverHalf, ControllerParams, FlowSetup, Steers};
use paceline_conformance::{Fault, LARGEST, Subject};
use paceline_units::{Bitrate, TimeDelta};
use std::collections::BTreeSet;
use std::sync::OnceLock;

/// A controller, and the faults that the suite does not notice in it.
#[derive(Clone)]
pub struct Member {
    pub subject: Subject,
    /// Faults in what it does not have: a window, an answer to delay or marks. The suite does not expect them noticed.
    pub unaffected_by: &'static [Fault],
    /// Faults that its source's own rules make harmless, and why. The suite demands that they are.
    pub unharmed: Vec<(Fault, &'static str)>,
}

impl Member {
    fn with(self, change: impl FnOnce(Subject) -> Subject) -> Member {
        Member { subject: change(self.subject), ..self }
    }

    /// A controller that knows no window and no delay, on links that queue a round trip.
    fn driven_by_loss(self, unaffected_by: &'static [Fault]) -> Member {
        let member = self.with(|subject| subject.on_queues_of(TimeDelta::from_millis(100)));
        Member { unaffected_by, ..member }.exempt(FILLS_QUEUES.0, FILLS_QUEUES.1)
    }

    /// A controller that takes a mark for a loss.
    fn marked_every(self, packets: u64) -> Member {
        self.with(|subject| subject.marked_every(packets))
    }

    fn exempt(self, check: &'static str, why: &'static str) -> Member {
        self.with(|subject| subject.exempt(check, why))
    }

    fn unharmed_by(mut self, fault: Fault, why: &'static str) -> Member {
        self.unharmed.push((fault, why));
        self
    }

    pub fn name(&self) -> &str {
        self.subject.name()
    }
}

/// Everything that is registered, each kind under each profile. A law that has several names, which differ for its transport
/// alone, is tested under the first of them.
pub fn members() -> &'static [Member] {
    static MEMBERS: OnceLock<Vec<Member>> = OnceLock::new();
    MEMBERS.get_or_init(|| {
        let mut laws = BTreeSet::new();
        let mut is_new = |params: &ControllerParams| {
            let setup = FlowSetup::new(LARGEST);
            let shown = format!("{:?}", AnyController::new(params, &setup).expect("a profile"));
            laws.insert(shown.split_once('(').map(|(_, law)| law.to_string()))
        };
        let all = ControllerParams::all().filter(|(params, _)| is_new(params));
        all.flat_map(|(params, profile)| of(&params, profile)).collect()
    })
}

fn of(params: &ControllerParams, profile: &str) -> Vec<Member> {
    let fitted = fit(params);
    let make = move |setup: &FlowSetup| AnyController::new(&fitted, setup).expect("a profile");
    let subject = Subject::new(format!("{} {profile}", params.kind()), params.steers(), make)
        .counting_allocations(crate::counting::allocations);
    let subject = match AnyController::receiver_half(params) {
        Some(half) => subject.with_half(move || AnyReceiverHalf::clone(&half)),
        None => subject,
    };
    let knows_l4s = params.steers() == Steers::Media || matches!(params, ControllerParams::Prague(_));
    let l4s = knows_l4s.then(|| subject.clone().with_l4s());
    let members = [subject].into_iter().chain(l4s);
    let member = |subject| Member { subject, unaffected_by: &[], unharmed: Vec::new() };
    members.flat_map(|subject| excused(params, profile, member(subject))).collect()
}

const FILLS_QUEUES: (&str, &str) =
    ("reacts_to_delay", "losses and marks alone reduce it: it fills any queue that has neither");

/// Of 50 packets one is lost, and a flight of nearly so many keeps the suite's transport in one recovery.
const ONE_RECOVERY: (&str, &str) = (
    "reacts_to_loss",
    "a loss takes so little that the flight has a loss in each round trip: all of them are one event",
);

/// No window, no reports on packets; the nofeedback timer has tests of its own.
const TFRC_UNAFFECTED: &[Fault] =
    &[Fault::Generous, Fault::Credulous, Fault::DeafToDelay, Fault::Sleepless, Fault::Fragile];
/// No window, no answer to delay or marks.
const RAP_UNAFFECTED: &[Fault] = &[Fault::Generous, Fault::Credulous, Fault::DeafToDelay, Fault::DeafToCe];

/// No window, and nothing depends on the sizes of what was sent.
const URCP_UNAFFECTED: &[Fault] = &[Fault::Generous, Fault::Credulous, Fault::Moody, Fault::Sleepless];
/// The same, and no answer to marks.
const UM_UNAFFECTED: &[Fault] =
    &[Fault::Generous, Fault::Credulous, Fault::Moody, Fault::Sleepless, Fault::DeafToCe, Fault::DeafToLoss];
/// No window, no answer to marks.
const GCC_UNAFFECTED: &[Fault] = &[Fault::Generous, Fault::Credulous, Fault::DeafToCe, Fault::Sleepless];

/// No window, and nothing but silence that a timeout is needed for.
const NADA_UNAFFECTED: &[Fault] = &[Fault::Generous, Fault::Credulous, Fault::Sleepless];

/// The same, and nothing depends on a byte more or less.
const TEMPO_UNAFFECTED: &[Fault] = &[Fault::Generous, Fault::Credulous, Fault::Moody, Fault::Sleepless];

/// Media that a window has room for is not held by it, and the window counts what is in flight, whatever arrival times say.
const SPROUT_UNAFFECTED: &[Fault] = &[Fault::Generous, Fault::DeafToDelay, Fault::Greedy];

/// Test values of a kind instead of a profile's own.
fn fit(params: &ControllerParams) -> ControllerParams {
    let mut params = params.clone();
    if let ControllerParams::Gcc(gcc) = &mut params {
        // From its own start, 8 % a second, it would not have filled a link when a check looks.
        gcc.target_bitrate_start = Bitrate::from_mbps(5);
    }
    if let ControllerParams::Nada(nada) = &mut params {
        // RMAX is the application's: the RFC's 1.5 Mbit/s would leave each link of the checks empty.
        nada.target_bitrate_max = Bitrate::from_mbps(20);
    }
    params
}

/// The checks of what is a reaction.
const REACTIONS: [&str; 5] =
    ["reacts_to_loss", "reacts_to_marks", "reacts_to_delay", "quietens_without_reports", "is_fair_to_itself"];
/// Nothing that a fault of a reaction could harm.
const FIXED_UNAFFECTED: &[Fault] = &[Fault::Generous, Fault::Sleepless];
const UNCONTROLLED_UNAFFECTED: &[Fault] =
    &[Fault::Generous, Fault::Sleepless, Fault::Credulous, Fault::Moody];

/// The cost of tuning a profile of SCReAM, found by this suite: the search looked at single flows. `robust` leaves a reaction out.
fn tuned(member: Member, profile: &str) -> Member {
    let unfair = "tuned for a flow alone: of two, the one that came first keeps more";
    let empty = "tuned for an empty queue: the step leaves less of one than the band asks for";
    let member = match profile {
        "scream-5g-low-delay" | "scream-5g-balanced" | "scream-5g-throughput" => {
            member.exempt("is_fair_to_itself", unfair)
        }
        "robust" => member
            .exempt("reacts_to_loss", "losses that stay when it sends less are no sign of congestion to it"),
        _ => member,
    };
    match member.name() {
        "scream scream-5g-low-delay" | "scream scream-5g-balanced" | "scream scream-5g-balanced l4s" => {
            member.exempt("reacts_to_delay", empty)
        }
        "scream reference-2022 l4s" => member.exempt(
            "recovers_after_an_outage",
            "a fixed gap for full packets starves frames below one packet",
        ),
        _ => member,
    }
}

/// A member, with what its source's own rules excuse, and once more in a world that it is told more of.
fn excused(params: &ControllerParams, profile: &str, member: Member) -> Vec<Member> {
    vec![match params {
        ControllerParams::Scream(_) => tuned(member, profile),
        ControllerParams::ScreamV2(_) => match profile {
            "libwebrtc" => member.exempt(
                "reacts_to_loss",
                "it wants losses in three round trips in a row: 2 % leave it half of its rate, a hair more than the band",
            ),
            "ericsson" => member.exempt(
                "is_fair_to_itself",
                "near its inflection point each of two moves a quarter as much: the one that came first keeps more, a Jain's index of 0.82 where 0.85 is asked",
            ),
            _ => member,
        },
        ControllerParams::Cubic(_) if profile == "linux" => member.exempt(FILLS_QUEUES.0, FILLS_QUEUES.1).exempt(
            "is_fair_to_itself",
            "paced at 1.2 windows per round trip two of them have a Jain's index of 0.80 where 0.85 is asked; paced at 1.25 they pass",
        ),
        ControllerParams::Scalable(_) if profile == "linux" => member
            .exempt(FILLS_QUEUES.0, FILLS_QUEUES.1)
            .exempt(ONE_RECOVERY.0, ONE_RECOVERY.1)
            .exempt("is_fair_to_itself", "two grow and shrink by the same factors, so that shares stay"),
        ControllerParams::Illinois(_) => {
            member.exempt(FILLS_QUEUES.0, FILLS_QUEUES.1).exempt("reacts_to_loss", "ten packets more against an eighth less without a queue")
        }
        ControllerParams::Hybla(_) => {
            member.exempt(FILLS_QUEUES.0, FILLS_QUEUES.1).exempt("is_fair_to_itself", "the first fills the queue by three packets in a round trip: an index of 0.81 where 0.85 is asked")
        }
        ControllerParams::Binomial(_) => {
            let member = member.exempt(FILLS_QUEUES.0, FILLS_QUEUES.1).exempt("is_fair_to_itself", "losses take so little that shares take longer than the check to become equal");
            if profile == "iiad" { member.exempt(ONE_RECOVERY.0, ONE_RECOVERY.1) } else { member }
        }
        ControllerParams::Xcp(_) | ControllerParams::Rcp(_) => member.exempt(FILLS_QUEUES.0, FILLS_QUEUES.1),
        ControllerParams::Fast(_) if profile == "gigabit" => {
            let many = "200 packets of its own wait, whatever the link: half a second at 4 Mbit/s";
            member.exempt("reacts_to_delay", many).exempt("reacts_to_loss", many).exempt("reacts_to_marks", many)
        }
        ControllerParams::Cdg(_) if profile == "2011" => {
            member.exempt("reacts_to_loss", "losses without a full queue are no congestion to it")
        }
        ControllerParams::Copa(_) => {
            let waits = "a link that suddenly is slower has no empty queue: it takes its own for another's, and competes";
            let member = if profile == "default-mode" { member } else { member.exempt("reacts_to_delay", waits) };
            member
                .exempt("reacts_to_loss", "delay alone moves its window")
                .unharmed_by(Fault::DeafToCe, "its packets cannot be marked")
        }
        ControllerParams::Sprout(_) => {
            let member = Member { unaffected_by: SPROUT_UNAFFECTED, ..member }
                .exempt("reacts_to_loss", "what arrives alone tells it of the link")
                .unharmed_by(Fault::DeafToCe, "its packets cannot be marked");
            if profile == "ewma" {
                member.exempt("is_fair_to_itself", "what arrives of a flow is the link's rate to it: two have a Jain's index of 0.84 where 0.85 is asked")
            } else {
                member
            }
        }
        ControllerParams::Vivace(_) => {
            let member = member
                .exempt("reacts_to_loss", "losses that stay when it sends less are no sign of congestion to it, up to a twentieth")
                .unharmed_by(Fault::DeafToCe, "its packets cannot be marked");
            if profile == "loss" {
                let late = "over 200 ms of path and queue one sends a third too much before it knows, and of the other's ten packets most are lost: an index of 0.51; over 30 ms 1.00";
                member.driven_by_loss(&[]).exempt("is_fair_to_itself", late)
            } else {
                member.exempt("reacts_to_delay", "a change takes a twentieth of the rate, and 6 % more with each further one: after six tenths less 0.8 s of wait in three seconds where 0.6 s are asked")
            }
        }
        ControllerParams::C4(_) => {
            let back = "a loss takes a quarter, and what a probe and a push find above is the rate again: 2 % leave three quarters where half is asked";
            let member = member.exempt("reacts_to_loss", back);
            if profile == "draft" {
                member.unharmed_by(Fault::DeafToDelay, "trimming brings its rate to what arrives, whatever the round trips")
            } else {
                member
                    .exempt("reacts_to_marks", "a fifth of marks is little above its threshold, and takes a part of a quarter")
                    .exempt("reacts_to_delay", "after a step down two recoveries with congestion pass until its rate is what arrives: after 5 s 280 ms of wait, after 10 s none")
            }
        }
        ControllerParams::Tahoe(_)
        | ControllerParams::Reno(_)
        | ControllerParams::NewReno(_)
        | ControllerParams::Sack(_)
        | ControllerParams::Cubic(_)
        | ControllerParams::Dctcp(_)
        | ControllerParams::Prague(_)
        | ControllerParams::HighSpeed(_)
        | ControllerParams::Scalable(_)
        | ControllerParams::Bic(_)
        | ControllerParams::Htcp(_)
        | ControllerParams::Westwood(_)
        | ControllerParams::Veno(_)
        | ControllerParams::Yeah(_)
        | ControllerParams::Gaimd(_)
        | ControllerParams::Compound(_) => member.exempt(FILLS_QUEUES.0, FILLS_QUEUES.1),
        ControllerParams::Sctp(_) => {
            let unmarked = "SCTP tells no marks, and its packets cannot be marked";
            member.exempt(FILLS_QUEUES.0, FILLS_QUEUES.1).unharmed_by(Fault::DeafToCe, unmarked)
        }
        ControllerParams::Bbr(_) => {
            let member = member
                .exempt("reacts_to_loss", "version 1 takes no loss for congestion")
                .unharmed_by(
                    Fault::DeafToDelay,
                    "its window is a multiple of bandwidth and the smallest round trip, whatever the present one",
                )
                .unharmed_by(Fault::DeafToCe, "its packets cannot be marked");
            match profile {
                "linux" => member.unharmed_by(
                    Fault::Greedy,
                    "paced below its bandwidth, which neither delays nor losses enter, it leaves the other its part",
                ),
                _ => member,
            }
        }
        ControllerParams::Bbr3(_) => {
            let counted = "losses are bytes to it, whichever word tells of them";
            member
                .unharmed_by(Fault::DeafToLoss, counted)
                .unharmed_by(Fault::Greedy, counted)
                .exempt("takes_any_zero_of_the_clock", "it draws when to probe by the clock's time")
        }
        ControllerParams::Ledbat(_) => {
            let member = member.exempt(
                "reacts_to_delay",
                "it shrinks as slowly as it grows: a packet per round trip and 100 ms too many",
            );
            let name = format!("{} one-way", member.name());
            let told = member.clone().with(|subject| subject.telling_arrivals().named(name));
            return vec![member, told];
        }
        ControllerParams::Tfrc(_) | ControllerParams::Ccid3(_) => {
            member.driven_by_loss(TFRC_UNAFFECTED).marked_every(50)
        }
        ControllerParams::Ccid2(_) => member.driven_by_loss(&[Fault::DeafToDelay]).marked_every(50),
        ControllerParams::Gcc(_) => {
            let member = Member { unaffected_by: GCC_UNAFFECTED, ..member }
                .exempt("reacts_to_loss", "losses below 10 % are no sign of congestion to it");
            if profile == "libwebrtc-2012" {
                member
                    .exempt("reacts_to_delay", "by twentieths it takes more than 5 s to empty a queue of 3 s")
                    .exempt("quietens_without_reports", "nothing lowered its rate when reports stayed away")
                    .exempt("is_fair_to_itself", "with a fixed threshold one of two keeps nearly all")
            } else {
                member
            }
        }
        ControllerParams::Nada(_) => Member { unaffected_by: NADA_UNAFFECTED, ..member },
        ControllerParams::Tempo(_) => Member { unaffected_by: TEMPO_UNAFFECTED, ..member }
            .marked_every(50)
            .exempt("reacts_to_loss", "losses that stay when it sends less are no sign of congestion to it"),
        ControllerParams::Rap(_) => member.driven_by_loss(RAP_UNAFFECTED),
        ControllerParams::Urcp(_) => {
            let member = Member { unaffected_by: URCP_UNAFFECTED, ..member }
                .exempt("reacts_to_loss", "it takes 3 % for inherent (loss_min)");
            if profile == "adaptive" {
                let unfair = "who joins learns what the other leaves: over 36 links two have a Jain's index of 0.66 to 1, 0.84 in the mean";
                member.exempt("is_fair_to_itself", unfair)
            } else {
                member
            }
        }
        ControllerParams::Um(_) => {
            let slow = "its rate rises by 9.6 kbit/s in a second, at 20 Mbit/s as at 1 Mbit/s";
            let member = Member { unaffected_by: UM_UNAFFECTED, ..member };
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
