//! Groups of controllers that a program steps by itself: the exchange that the ends of a host share by, without ends.

use crate::{Coupled, CoupledEnds, Exchange, Hearing, Reason};
use paceline_cc::{AnyController, Assigned, Controller, CouplingParams, Priority, Session};
use paceline_units::{Bitrate, Time, TimeDelta};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Controllers that share in a group at a time, and of those that have left as many as it knows again.
const MOST: usize = 256;

/// An event at a controller, as its group needs to know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// A packet left.
    Sent,
    /// Something came back from the receiver.
    Heard,
    /// A timeout is due.
    Timeout,
    /// Any event that says nothing of whether the far end is heard.
    Other,
}

/// Why a controller cannot do this in a group; nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupError {
    /// It is in the group already.
    Twice,
    /// It is in another group.
    Elsewhere,
    /// It is not in the group, or has left it.
    NoMember,
    /// The group has as many members as it may.
    Full,
    /// It shares with nobody.
    Alone,
}

impl fmt::Display for GroupError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupError::Twice => {
                out.write_str("controller: found one that is in this group, expected one that is in none")
            }
            GroupError::Elsewhere => {
                out.write_str("controller: found one that is in another group, expected one that has left it")
            }
            GroupError::NoMember => out.write_str(
                "controller: found one that is not in this group, expected one that has joined it",
            ),
            GroupError::Alone => out.write_str(
                "controller: found one that shares with nobody, expected one whose rate or window can be shared",
            ),
            GroupError::Full => write!(out, "group: found {MOST} controllers in it, expected fewer"),
        }
    }
}

/// A priority of this weight, or what was found and what was expected.
///
/// # Errors
/// The weight is not a number, or out of range.
pub fn priority(weight: f64) -> Result<Priority, String> {
    let expected = "a number from 0.000001 to 1000000";
    Priority::new(weight).ok_or_else(|| format!("priority: found {weight}, expected {expected}"))
}

/// A lock that a panic has poisoned holds what it held: the caller decides what becomes of it.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A controller that a program steps, its answers, and the group that it is in.
struct Stepped {
    session: Session<AnyController>,
    hearing: Hearing,
    group: Option<SessionGroup>,
}

impl Stepped {
    fn srtt(&self) -> Option<TimeDelta> {
        self.session.controller.snapshot().srtt
    }
}

/// A controller that a program steps by itself, which may share in a [`SessionGroup`].
///
/// Clones are the same controller. No call holds the lock of one while it waits for another or for a group, so that threads may step the
/// members of a group at a time.
#[derive(Clone)]
pub struct CoupledSession(Arc<Mutex<Stepped>>);

impl CoupledSession {
    /// A controller that is in no group.
    pub fn new(controller: AnyController) -> CoupledSession {
        let stepped = Stepped { session: Session::new(controller), hearing: Hearing::default(), group: None };
        CoupledSession(Arc::new(Mutex::new(stepped)))
    }

    /// Looks at the controller, or takes of its answers what is to be done once.
    pub fn with<R>(&self, look: impl FnOnce(&mut Session<AnyController>) -> R) -> R {
        look(&mut lock(&self.0).session)
    }

    /// Tells the controller of an event. [`CoupledSession::share`] tells its group of the consequence.
    pub fn tell<R>(&self, now: Time, told: Told, call: impl FnOnce(&mut Session<AnyController>) -> R) -> R {
        let mut stepped = lock(&self.0);
        let due = match told {
            Told::Timeout => stepped.session.controller.next_timeout(),
            Told::Sent | Told::Heard | Told::Other => None,
        };
        let answer = call(&mut stepped.session);
        let Stepped { session, hearing, .. } = &mut *stepped;
        match told {
            Told::Sent => hearing.sent(now),
            Told::Heard => hearing.heard(now),
            Told::Timeout => {
                if let Some((_, reason)) = due.filter(|(due, _)| *due <= now) {
                    hearing.woken(now, Reason::Controller(reason), || session.controller.snapshot().srtt);
                }
            }
            Told::Other => {}
        }
        answer
    }

    /// The controller's group hears of what has changed, and all members take what it answers. Of a controller in none nothing happens.
    pub fn share(&self, now: Time) {
        let group = lock(&self.0).group.clone();
        if let Some(group) = group {
            group.after_event(now, self);
        }
    }

    /// Whether it is in a group.
    pub fn is_coupled(&self) -> bool {
        lock(&self.0).group.is_some()
    }

    fn is(&self, seat: &Seat) -> bool {
        std::ptr::eq(seat.session.as_ptr(), Arc::as_ptr(&self.0))
    }
}

/// The place of a controller in its group. A controller that has left keeps it for as long as there is room: its rate counts once when it comes
/// back.
struct Seat {
    session: Weak<Mutex<Stepped>>,
    /// Whether the controller has joined, and not left.
    taken: bool,
    /// Rate that the application could use; absent if it can use any.
    desired: Option<Bitrate>,
}

/// The members of a group as its exchange sees them.
struct Seats(Vec<Seat>);

impl Seats {
    fn stepped<R>(&self, place: usize, look: impl FnOnce(&mut Stepped) -> R) -> Option<R> {
        let seat = self.0.get(place).filter(|seat| seat.taken)?;
        let session = seat.session.upgrade()?;
        let mut stepped = lock(&session);
        Some(look(&mut stepped))
    }
}

impl CoupledEnds for Seats {
    fn share(&self, place: usize) -> Option<Assigned> {
        let share = |stepped: &mut Stepped| {
            let silent = stepped.hearing.is_silent();
            if silent { None } else { stepped.session.controller.share() }
        };
        self.stepped(place, share).flatten()
    }

    fn desired(&self, place: usize) -> Option<Bitrate> {
        self.0.get(place).and_then(|seat| seat.desired)
    }

    fn srtt(&self, place: usize) -> Option<TimeDelta> {
        self.stepped(place, |stepped| stepped.hearing.round_trip(stepped.srtt())).flatten()
    }

    fn assign(&mut self, now: Time, place: usize, assigned: Assigned) {
        self.stepped(place, |stepped| {
            stepped.session.tell(|controller| controller.assign(now, assigned));
        });
    }
}

struct Members {
    exchange: Exchange,
    seats: Seats,
}

/// A group of controllers that a program steps by itself.
///
/// It does what [`Exchange`] does for the ends of a host: after each event at a member the group hears of a rate or window that has changed,
/// and every member takes its assignment. A member of which nothing comes back leaves until it is heard again, and one that the program
/// dropped leaves with the next event. Clones are the same group.
#[derive(Clone)]
pub struct SessionGroup(Arc<Mutex<Members>>);

impl SessionGroup {
    /// A group that nobody has joined.
    pub fn new(params: &CouplingParams) -> SessionGroup {
        let exchange = Exchange::new(params, &[(0, Priority::ONE); MOST], Vec::new());
        SessionGroup(Arc::new(Mutex::new(Members { exchange, seats: Seats(Vec::new()) })))
    }

    /// A controller begins to share, or comes back from a pause. A window does with its first round-trip time.
    ///
    /// # Errors
    /// It is in this or another group, or shares with nobody, or the group is full.
    pub fn join(&self, now: Time, session: &CoupledSession, priority: Priority) -> Result<(), GroupError> {
        let mut members = lock(&self.0);
        let place = members.place_for(session);
        {
            let mut stepped = lock(&session.0);
            match &stepped.group {
                Some(group) if Arc::ptr_eq(&group.0, &self.0) => return Err(GroupError::Twice),
                Some(_) => return Err(GroupError::Elsewhere),
                None if !stepped.session.controller.can_share() => return Err(GroupError::Alone),
                None => {}
            }
            if place.is_none() {
                return Err(GroupError::Full);
            }
            stepped.group = Some(self.clone());
        }
        if let Some(place) = place {
            let Members { exchange, seats } = &mut *members;
            seats.0[place].taken = true;
            exchange.set_priority(now, place, priority, seats);
            exchange.after_event(now, place, seats);
        }
        Ok(())
    }

    /// A controller shares no more: its flow has ended, or pauses.
    ///
    /// # Errors
    /// It is not in the group.
    pub fn leave(&self, now: Time, session: &CoupledSession) -> Result<(), GroupError> {
        self.at(session, |members, place| {
            members.seats.0[place].taken = false;
            lock(&session.0).group = None;
            members.exchange.after_event(now, place, &mut members.seats);
        })
    }

    /// A member's part has another weight from now on.
    ///
    /// # Errors
    /// It is not in the group.
    pub fn set_priority(
        &self,
        now: Time,
        session: &CoupledSession,
        priority: Priority,
    ) -> Result<(), GroupError> {
        self.at(session, |Members { exchange, seats }, place| {
            exchange.set_priority(now, place, priority, seats);
        })
    }

    /// A member's application could use this rate from now on; absent if it can use any.
    ///
    /// # Errors
    /// It is not in the group.
    pub fn set_desired(
        &self,
        now: Time,
        session: &CoupledSession,
        desired: Option<Bitrate>,
    ) -> Result<(), GroupError> {
        self.at(session, |Members { exchange, seats }, place| {
            seats.0[place].desired = desired;
            exchange.after_event(now, place, seats);
        })
    }

    /// A member's share.
    ///
    /// # Errors
    /// It is not in the group.
    pub fn coupled(&self, session: &CoupledSession) -> Result<Coupled, GroupError> {
        self.at(session, |members, place| members.exchange.coupled(place))
    }

    /// All members leave, and go on by themselves.
    pub fn dissolve(&self) {
        let mut members = lock(&self.0);
        for seat in &mut members.seats.0 {
            if let Some(session) = seat.session.upgrade().filter(|_| seat.taken) {
                lock(&session).group = None;
            }
            seat.taken = false;
        }
    }

    fn at<R>(
        &self,
        session: &CoupledSession,
        call: impl FnOnce(&mut Members, usize) -> R,
    ) -> Result<R, GroupError> {
        let mut members = lock(&self.0);
        let place = members.seats.0.iter().position(|seat| seat.taken && session.is(seat));
        Ok(call(&mut members, place.ok_or(GroupError::NoMember)?))
    }

    fn after_event(&self, now: Time, session: &CoupledSession) {
        let mut members = lock(&self.0);
        members.let_silent_ones_leave(now);
        if let Some(place) = members.seats.0.iter().position(|seat| seat.taken && session.is(seat)) {
            let Members { exchange, seats } = &mut *members;
            exchange.after_event(now, place, seats);
        }
    }
}

impl Members {
    /// The place that a controller had before, or one that is free; absent if there is none.
    fn place_for(&mut self, session: &CoupledSession) -> Option<usize> {
        let seats = &mut self.seats.0;
        if let Some(place) = seats.iter().position(|seat| session.is(seat)) {
            return Some(place);
        }
        let seat = Seat { session: Arc::downgrade(&session.0), taken: false, desired: None };
        if seats.len() < MOST {
            seats.push(seat);
            return Some(seats.len() - 1);
        }
        let place = seats.iter().position(|seat| !seat.taken)?;
        seats[place] = seat;
        self.exchange.forget(place);
        Some(place)
    }

    /// Members that were dropped, or of which nothing has come back for too long, leave: they have no events by which their group would
    /// hear of it, and until another member has one nobody is given anything.
    fn let_silent_ones_leave(&mut self, now: Time) {
        for place in 0..self.seats.0.len() {
            let seat = &mut self.seats.0[place];
            let known = seat.taken;
            seat.taken = known && seat.session.strong_count() > 0;
            let dropped = known && !seat.taken;
            let falls = self.seats.stepped(place, |stepped| {
                let falls = stepped.hearing.silent_at().is_some_and(|at| at <= now);
                if falls {
                    stepped.hearing.fall_silent(stepped.srtt());
                }
                falls
            });
            if dropped || falls == Some(true) {
                self.exchange.after_event(now, place, &mut self.seats);
            }
        }
    }
}

#[cfg(test)]
#[path = "session_group_tests.rs"]
mod tests;
