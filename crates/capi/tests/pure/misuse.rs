//! An error of a caller in C gives an error code and a text, and changes nothing else.
#![allow(unsafe_code, reason = "it calls as C does")]

use paceline::*;
use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

fn create(kind: &str, settings: &str) -> (PacelineStatus, PacelineController) {
    let (kind, settings) = (CString::new(kind).expect("no zero"), CString::new(settings).expect("no zero"));
    let mut controller = 0;
    // SAFETY: texts that end with a zero, and room for a number.
    let status = unsafe { paceline_create(kind.as_ptr(), null(), settings.as_ptr(), &raw mut controller) };
    (status, controller)
}

fn said() -> String {
    // SAFETY: the library answers a text that ends with a zero.
    unsafe { CStr::from_ptr(paceline_last_error()) }.to_str().expect("UTF-8").into()
}

fn fails(status: PacelineStatus, expected: PacelineStatus, text: &str) {
    assert_eq!(status, expected);
    assert!(said().contains(text), "{}", said());
}

fn state(controller: PacelineController) -> PacelineState {
    let mut state = PacelineState::default();
    // SAFETY: room for the struct.
    let status = unsafe { paceline_state(controller, &raw mut state, size_of::<PacelineState>()) };
    assert_eq!(status, PacelineStatus::Ok, "{}", said());
    state
}

#[test]
fn names_and_settings_are_checked() {
    use PacelineStatus::{Invalid, Ok};
    fails(create("skream", "").0, Invalid, "controller: found skream, expected one of scream");
    fails(create("scream", "mss").0, Invalid, "settings: found mss, expected name = value");
    fails(create("scream", "mss = 0B").0, Invalid, "mss: found 0B, expected a size from");
    fails(create("scream", "target_bitrate_max = 1kbps").0, Invalid, "expected at least target_bitrate_min");
    fails(create("scream", "priorities = [1, inf]").0, Invalid, "priorities: found [1, inf]");
    assert_eq!(create("scream", "# TOML\nmss = \"1000B\"\n\nl4s = true; priorities = [2, 1]").0, Ok);
}

#[test]
fn null_pointers_and_wrong_sizes_are_refused() {
    use PacelineStatus::{NullPointer, Ok, WrongSize};
    let (_, controller) = create("scream", "");
    let mut other = 0;
    let before = state(controller);
    let result = PacelineResult::default();
    let size = size_of::<PacelineResult>();
    // SAFETY: null, or pointers to structs of the true size; those with a wrong size are not read.
    unsafe {
        fails(paceline_create(null(), null(), null(), null_mut()), NullPointer, "controller: found NULL");
        assert_eq!(paceline_create(null(), null(), null(), &raw mut other), Ok, "the usual controller");
        fails(paceline_on_sent(controller, 0, null(), size_of::<PacelineSent>()), NullPointer, "packet");
        fails(paceline_on_sent(controller, 0, null(), 8), WrongSize, "size of packet: found 8 B");
        fails(paceline_on_offered(controller, 0, 1, 1, null(), 0), WrongSize, "size of queue: found 0 B");
        fails(
            paceline_on_send_queue(controller, 0, null(), size_of::<PacelineQueue>()),
            NullPointer,
            "queue",
        );
        fails(paceline_on_feedback(controller, 0, null(), 1, size, 0), NullPointer, "packets: found NULL");
        fails(
            paceline_on_feedback(controller, 0, &raw const result, 1, size - 8, 0),
            WrongSize,
            "size of packet",
        );
        fails(
            paceline_on_feedback(controller, 0, &raw const result, usize::MAX, size, 0),
            WrongSize,
            "count",
        );
        let odd = (&raw const result).wrapping_byte_add(1);
        fails(paceline_on_feedback(controller, 0, odd, 1, size, 0), WrongSize, "an odd address");
        fails(paceline_next_timeout(controller, null_mut()), NullPointer, "due_ns");
        fails(paceline_state(controller, null_mut(), size_of::<PacelineState>()), NullPointer, "state");
        fails(paceline_state(controller, null_mut(), 0), WrongSize, "size of state: found 0 B");
        fails(paceline_target(controller, 0, null_mut()), NullPointer, "bps");
        fails(paceline_take_discard(controller, null_mut(), null_mut()), NullPointer, "discard");
        fails(paceline_take_probe(controller, null_mut(), null_mut()), NullPointer, "probe");
    }
    fails(paceline_on_recovery(controller, 0, 7, 0), PacelineStatus::Invalid, "recovery: found 7");
    fails(paceline_set_limits(controller, 0, 0, 2, 1), PacelineStatus::Invalid, "min_bps: found 2");
    assert_eq!(
        format!("{:?}", state(controller)),
        format!("{before:?}"),
        "nothing of it reached the controller"
    );
    // SAFETY: a report on nothing may come without a pointer.
    assert_eq!(unsafe { paceline_on_feedback(controller, 0, null(), 0, size, 0) }, PacelineStatus::Ok);
}

#[test]
fn a_controller_that_was_destroyed_is_none() {
    let (_, first) = create("scream", "");
    assert_eq!(paceline_destroy(first), PacelineStatus::Ok);
    let gone = format!("found {first}, expected one that was created and not destroyed");
    fails(paceline_destroy(first), PacelineStatus::NoHandle, &format!("handle: {gone}"));
    let (_, second) = create("fixed", "rate = 2Mbps");
    assert_ne!(first, second, "the place may be the same, the number is not");
    fails(paceline_on_timeout(first, 0), PacelineStatus::NoHandle, &format!("controller: {gone}"));
    fails(paceline_on_timeout(0, 0), PacelineStatus::NoHandle, "controller: found 0");
    fails(paceline_on_timeout(u64::MAX, 0), PacelineStatus::NoHandle, "controller");
    assert_eq!(paceline_on_timeout(second, 0), PacelineStatus::Ok);
    assert_eq!(state(second).pacing_bps, 2_000_000);
}

fn group(kind: &str, settings: &str) -> (PacelineStatus, PacelineGroup) {
    let (kind, settings) = (CString::new(kind).expect("no zero"), CString::new(settings).expect("no zero"));
    let mut group = 0;
    // SAFETY: texts that end with a zero, and room for a number.
    let status = unsafe { paceline_group_create(kind.as_ptr(), null(), settings.as_ptr(), &raw mut group) };
    (status, group)
}

fn share(group: PacelineGroup, controller: PacelineController) -> (PacelineStatus, PacelineShare) {
    let mut share = PacelineShare::default();
    // SAFETY: room for the struct.
    let status =
        unsafe { paceline_group_share(group, controller, &raw mut share, size_of::<PacelineShare>()) };
    (status, share)
}

#[test]
fn names_and_settings_of_a_group_are_checked() {
    use PacelineStatus::{Invalid, NullPointer, Ok};
    fails(group("activex", "").0, Invalid, "coupling: found activex, expected one of active");
    fails(group("active", "leaving = stay").0, Invalid, "leaving: found stay, expected");
    fails(group("active", "hold = 2").0, Invalid, "hold: found an unknown parameter");
    fails(group("conservative", "hold = NaN").0, Invalid, "hold: found NaN");
    assert_eq!(group("conservative", "hold = 1; leaving = subtract").0, Ok);
    // SAFETY: null.
    fails(unsafe { paceline_group_create(null(), null(), null(), null_mut()) }, NullPointer, "group");
}

/// A wrong use of a group is said, and changes nothing: of its members, of another group's, of controllers that left.
#[test]
fn wrong_uses_of_a_group_change_nothing() {
    use PacelineStatus::{Invalid, NoHandle, NullPointer, Ok, WrongSize};
    let (one, other) = (group("active", "").1, group("etcp", "").1);
    let [first, second, third] = [(); 3].map(|()| create("rap", "").1);
    for wrong in [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e7] {
        fails(paceline_group_join(one, 0, first, wrong), Invalid, "priority: found ");
    }
    fails(share(one, first).0, Invalid, "found one that is not in this group");
    assert_eq!(paceline_group_join(one, 0, first, 2.0), Ok);
    assert_eq!(paceline_group_join(one, 0, second, 1.0), Ok);
    let before = format!("{:?} {:?}", share(one, first), share(one, second));
    fails(paceline_group_join(one, 0, first, 1.0), Invalid, "controller: found one that is in this group");
    fails(
        paceline_group_join(other, 0, first, 1.0),
        Invalid,
        "controller: found one that is in another group",
    );
    fails(paceline_group_leave(other, 0, first), Invalid, "found one that is not in this group");
    fails(paceline_group_set_priority(one, 0, first, f64::NAN), Invalid, "priority: found NaN");
    fails(paceline_group_set_priority(one, 0, third, 1.0), Invalid, "found one that is not in this group");
    fails(paceline_group_join(first, 0, second, 1.0), NoHandle, "which is a controller, expected a group");
    fails(paceline_group_join(one, 0, other, 1.0), NoHandle, "which is a group, expected a controller");
    // SAFETY: null, or of a wrong size.
    unsafe {
        let size = size_of::<PacelineShare>();
        fails(paceline_group_share(one, first, null_mut(), size), NullPointer, "share");
        fails(paceline_group_share(one, first, null_mut(), 1), WrongSize, "size of share: found 1 B");
    }
    assert_eq!(format!("{:?} {:?}", share(one, first), share(one, second)), before);
    // After it left.
    assert_eq!(paceline_group_leave(one, 0, first), Ok);
    fails(paceline_group_leave(one, 0, first), Invalid, "found one that is not in this group");
    fails(paceline_group_set_desired(one, 0, first, 1), Invalid, "found one that is not in this group");
    assert_eq!(paceline_group_join(other, 0, first, 1.0), Ok);
    // A controller that is destroyed leaves, and the members of a destroyed group are free.
    assert_eq!(paceline_destroy(second), Ok);
    fails(paceline_group_leave(one, 0, second), NoHandle, "controller: found ");
    assert_eq!(paceline_group_join(one, 0, third, 1.0), Ok);
    assert_eq!(paceline_destroy(other), Ok);
    fails(paceline_group_leave(other, 0, first), NoHandle, "group: found ");
    assert_eq!(paceline_group_join(one, 0, first, 1.0), Ok);
    assert_eq!(paceline_on_timeout(first, 1), Ok);
}

/// Threads may step the members of a group, join and leave at a time.
#[test]
fn threads_step_the_members_of_a_group() {
    let one = group("active", "").1;
    let members = [(); 4].map(|()| create("rap", "").1);
    std::thread::scope(|scope| {
        for member in members {
            scope.spawn(move || {
                for step in 0..2_000 {
                    let now = step * 1_000_000;
                    match step % 50 {
                        0 => assert_eq!(paceline_group_join(one, now, member, 1.0), PacelineStatus::Ok),
                        49 => assert_eq!(paceline_group_leave(one, now, member), PacelineStatus::Ok),
                        _ => assert_eq!(paceline_on_timeout(member, now), PacelineStatus::Ok),
                    }
                }
            });
        }
    });
    members.iter().for_each(|member| assert_eq!(paceline_destroy(*member), PacelineStatus::Ok));
}
