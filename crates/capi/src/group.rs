//! The functions of a group of controllers that share (RFC 8699).

use crate::arguments::{null, read_settings, read_text, sized, write};
use crate::failure::{Failure, answer};
use crate::handles::{Kept, keep};
use crate::{PACELINE_NEVER, PacelineController, PacelineGroup, PacelineShare, PacelineStatus};
use paceline_cc::CouplingParams;
use paceline_ends::{CoupledSession, GroupError, SessionGroup, priority};
use paceline_units::{Bitrate, Time};
use std::ffi::c_char;

/// The kind of coupling of a group of which nothing is said.
const USUAL: &str = "active";

/// A group that its members leave when it is destroyed.
struct Group(SessionGroup);

impl Kept for Group {
    const NAME: &'static str = "group";
}

impl Drop for Group {
    fn drop(&mut self) {
        self.0.dissolve();
    }
}

/// Hands a group and a controller to `call`, neither of them locked by its number: a call may reach every member.
fn with<R>(
    group: PacelineGroup,
    controller: PacelineController,
    call: impl FnOnce(&SessionGroup, &CoupledSession) -> Result<R, GroupError>,
) -> Result<R, Failure> {
    let group = crate::handles::with(group, |group: &mut Group| Ok(group.0.clone()))?;
    let session = crate::handles::with(controller, |session: &mut CoupledSession| Ok(session.clone()))?;
    call(&group, &session).map_err(|error| invalid(error.to_string()))
}

fn invalid(text: String) -> Failure {
    Failure(PacelineStatus::Invalid, text)
}

/// Creates a group of controllers that share, which nobody is in yet, and writes its number to `group`.
///
/// `kind` and `profile` are names of `paceline list couplings`; NULL for `kind` is active, for `profile` the kind's first. `settings` are
/// parameters of the kind, as those of paceline_create: `leaving = subtract`. NULL: none.
///
/// # Safety
/// The texts are NULL or end with a zero, and `group` has room for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_group_create(
    kind: *const c_char,
    profile: *const c_char,
    settings: *const c_char,
    group: *mut PacelineGroup,
) -> PacelineStatus {
    answer(|| {
        if group.is_null() {
            return Err(null("group"));
        }
        // SAFETY: the caller's promises.
        let (kind, profile, settings) =
            unsafe { (read_text("kind", kind)?, read_text("profile", profile)?, read_settings(settings)?) };
        let params = CouplingParams::configured(kind.unwrap_or(USUAL), profile, settings)?;
        let made = keep(Group(SessionGroup::new(&params)))?;
        // SAFETY: the caller's promise.
        unsafe { write("group", group, made) }
    })
}

/// A controller begins to share, with its rate or window of now and a part by `priority`, 0.000001 to 1000000; after a pause it comes back
/// so. From then on each call that tells it of an event may change what every member answers: ask paceline_state of all of them. It is in
/// one group at most.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_group_join(
    group: PacelineGroup,
    now_ns: u64,
    controller: PacelineController,
    priority: f64,
) -> PacelineStatus {
    answer(|| {
        let weight = self::priority(priority).map_err(invalid)?;
        with(group, controller, |group, session| group.join(Time::from_nanos(now_ns), session, weight))
    })
}

/// A controller shares no more: its flow has ended, or pauses. The others take what it leaves, or it takes its rate along (`leaving`).
#[unsafe(no_mangle)]
pub extern "C" fn paceline_group_leave(
    group: PacelineGroup,
    now_ns: u64,
    controller: PacelineController,
) -> PacelineStatus {
    answer(|| with(group, controller, |group, session| group.leave(Time::from_nanos(now_ns), session)))
}

/// The weight of a member's part is this from now on, 0.000001 to 1000000.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_group_set_priority(
    group: PacelineGroup,
    now_ns: u64,
    controller: PacelineController,
    priority: f64,
) -> PacelineStatus {
    answer(|| {
        let weight = self::priority(priority).map_err(invalid)?;
        with(group, controller, |group, session| {
            group.set_priority(Time::from_nanos(now_ns), session, weight)
        })
    })
}

/// The application of a member could use this rate from now on, and the others take the rest; PACELINE_NEVER: any, as at first.
#[unsafe(no_mangle)]
pub extern "C" fn paceline_group_set_desired(
    group: PacelineGroup,
    now_ns: u64,
    controller: PacelineController,
    desired_bps: u64,
) -> PacelineStatus {
    answer(|| {
        let desired = (desired_bps != PACELINE_NEVER).then(|| Bitrate::from_bps(desired_bps));
        with(group, controller, |group, session| {
            group.set_desired(Time::from_nanos(now_ns), session, desired)
        })
    })
}

/// Writes the share of a member.
///
/// # Safety
/// `share` is NULL or has room for `share_size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn paceline_group_share(
    group: PacelineGroup,
    controller: PacelineController,
    share: *mut PacelineShare,
    share_size: usize,
) -> PacelineStatus {
    answer(|| {
        sized::<PacelineShare>("share", share_size)?;
        let coupled = with(group, controller, |group, session| group.coupled(session))?;
        let none = PacelineShare { assignments: coupled.assignments, ..PacelineShare::default() };
        let shown = coupled.share.map_or(none, |known| PacelineShare {
            sum_bps: known.sum.as_bps(),
            rate_bps: known.rate.as_bps(),
            desired_bps: known.desired.map_or(PACELINE_NEVER, Bitrate::as_bps),
            priority: known.priority.weight(),
            shares: 1,
            ..none
        });
        // SAFETY: the caller's promise.
        unsafe { write("share", share, shown) }
    })
}
