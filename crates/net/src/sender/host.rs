//! Coupled flows that one process sends: one thread, one order of events, and the exchange by which they share.
//!
//! Each flow has a socket and a driver of its own, the one that sends a flow alone. Here they are stepped event by event, so
//! that an assignment acts at the time of the update that caused it. A flow of which nothing comes back leaves its group
//! until something does ([`Hearing`](paceline_ends::Hearing)): others may have its rate.
//!
//! Flows that share with those of other processes are sent in the same way; then the exchange is elsewhere.

use super::driver::{AT_ONCE, NEXT};
use super::sharing::Sharing;
use crate::clock::{DriverClock, Moment};
use crate::control::Told;
use crate::record::{self, Ended, named};
use crate::socket::{Datagram, Inbox, UdpPort};
use crate::transports::{AnySendingDriver, each_driver};
use crate::wait::{LONGEST_SLEEP, PreciseTimers, Urgency, wait_for_any};
use crate::{Control, NetError, NetOutput};
use paceline_cc::Assigned;
use paceline_cc::shared_bottleneck::DelaySummary;
use paceline_ends::{Coupled, CoupledEnds};
use paceline_metrics::Tick;
use paceline_units::{Bitrate, Time, TimeDelta};
use std::os::fd::AsFd;

/// Calls that go to the driver inside, as [`SendingDriver`](super::driver::SendingDriver) describes them.
macro_rules! forwarded {
    ($(fn $name:ident(&self $(, $argument:ident: $type:ty)*) $(-> $answer:ty)?;)*
     $(mut fn $name_mut:ident(&mut self $(, $argument_mut:ident: $type_mut:ty)*) $(-> $answer_mut:ty)?;)*) => {
        impl<'a> AnySendingDriver<'a> {
            $(fn $name(&self $(, $argument: $type)*) $(-> $answer)? {
                each_driver!(self, driver => driver.$name($($argument),*))
            })*
            $(fn $name_mut(&mut self $(, $argument_mut: $type_mut)*) $(-> $answer_mut)? {
                each_driver!(self, driver => driver.$name_mut($($argument_mut),*))
            })*

            pub(super) fn run(self, control: &Control<'_>) -> Result<Ended<'a>, NetError> {
                each_driver!(self, driver => driver.run(control))
            }

            fn finish(self, now: Time) -> Result<Ended<'a>, NetError> {
                each_driver!(self, driver => driver.finish(now))
            }
        }
    };
}

forwarded! {
    fn due(&self) -> Time;
    fn pending(&self) -> Option<Tick>;
    fn silent_at(&self) -> Option<Time>;
    fn is_cut_off(&self) -> bool;
    fn share(&self) -> Option<Assigned>;
    fn desired(&self) -> Option<Bitrate>;
    fn round_trip(&self) -> Option<TimeDelta>;
    fn delay_summary(&self) -> Option<&DelaySummary>;
    fn socket(&self) -> &UdpPort;
    fn name(&self) -> &str;
    mut fn set_clock(&mut self, clock: DriverClock);
    mut fn admits(&mut self, datagram: &Datagram<'_>) -> bool;
    mut fn hear(&mut self, datagram: &Datagram<'_>) -> Time;
    mut fn handle_timeout(&mut self) -> Time;
    mut fn transmit(&mut self, now: Time);
    mut fn flush(&mut self);
    mut fn read_into(&mut self, inbox: &mut Inbox) -> Result<bool, NetError>;
    mut fn bound(&mut self, now: Time, assigned: Assigned) -> Assigned;
    mut fn exchange_rates(&mut self);
    mut fn assign(&mut self, now: Time, assigned: Assigned);
    mut fn coupled(&mut self, coupled: Coupled);
    mut fn fall_silent(&mut self);
    mut fn look(&mut self, tick: Tick, progress: &Told<'_>);
    mut fn check(&mut self, now: Time) -> Result<(), NetError>;
    mut fn check_answered(&mut self, now: Time) -> Result<(), NetError>;
}

/// The next event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// Something is due where the flows share, such as a priority that changes.
    Sharing,
    /// Nothing has come back to a flow for too long.
    Silent(usize),
    /// Something is due at a flow's end.
    End(usize),
}

/// The flows as their exchange sees them: by their places.
struct Flows<'a>(Vec<AnySendingDriver<'a>>);

impl CoupledEnds for Flows<'_> {
    fn share(&self, flow: usize) -> Option<Assigned> {
        self.0[flow].share()
    }

    fn desired(&self, flow: usize) -> Option<Bitrate> {
        self.0[flow].desired()
    }

    fn srtt(&self, flow: usize) -> Option<TimeDelta> {
        self.0[flow].round_trip()
    }

    fn delay_summary(&self, flow: usize) -> Option<DelaySummary> {
        self.0[flow].delay_summary().copied()
    }

    fn bound(&mut self, now: Time, flow: usize, assigned: Assigned) -> Assigned {
        self.0[flow].bound(now, assigned)
    }

    fn exchanges_rates(&mut self, flow: usize) {
        self.0[flow].exchange_rates();
    }

    fn assign(&mut self, now: Time, flow: usize, assigned: Assigned) {
        self.0[flow].assign(now, assigned);
    }
}

/// The coupled flows of one process.
pub(super) struct SendingHost<'a> {
    flows: Flows<'a>,
    sharing: Sharing,
    inbox: Inbox,
    clock: DriverClock,
    duration: Time,
}

impl<'a> SendingHost<'a> {
    /// A host of flows, which `sharing` knows by their places.
    pub fn new(flows: Vec<AnySendingDriver<'a>>, sharing: Sharing, duration: TimeDelta) -> SendingHost<'a> {
        SendingHost {
            flows: Flows(flows),
            sharing,
            inbox: Inbox::new(),
            clock: DriverClock::from_zero(Moment::now()),
            duration: Time::ZERO + duration,
        }
    }

    pub fn run(mut self, control: &Control<'_>) -> Result<NetOutput, NetError> {
        let mut timers = PreciseTimers::urgent(Urgency::End);
        self.clock = DriverClock::from_zero(Moment::now());
        let clock = self.clock;
        self.flows.0.iter_mut().for_each(|flow| flow.set_clock(clock));
        loop {
            timers.turn();
            let now = self.clock.now();
            let more = self.read()? | self.advance(now, control) | self.sharing.read(now, &mut self.flows);
            self.flows.0.iter_mut().for_each(AnySendingDriver::flush);
            let cut_off = self.flows.0.iter().all(AnySendingDriver::is_cut_off);
            if now >= self.duration || control.stopped() || cut_off {
                break;
            }
            self.any(|flow| flow.check(now))?;
            if !more {
                let sockets = self.flows.0.iter().map(|flow| flow.socket().as_fd());
                wait_for_any(sockets.chain(self.sharing.socket()), self.next())?;
            }
        }
        let now = self.clock.now();
        let wrong = if control.stopped() { Vec::new() } else { self.any(|flow| flow.check_answered(now))? };
        self.finish(now, wrong)
    }

    /// Errors that `check` finds with flows, by their places; an error if something is wrong with every one.
    fn any(
        &mut self,
        mut check: impl FnMut(&mut AnySendingDriver<'a>) -> Result<(), NetError>,
    ) -> Result<Vec<(usize, NetError)>, NetError> {
        let flows = self.flows.0.iter_mut().enumerate();
        let mut wrong: Vec<_> = flows.filter_map(|(place, flow)| Some((place, check(flow).err()?))).collect();
        if wrong.len() == self.flows.0.len() { Err(wrong.swap_remove(0).1) } else { Ok(wrong) }
    }

    /// Ends the flows, of which nothing came back to some.
    fn finish(mut self, now: Time, unanswered: Vec<(usize, NetError)>) -> Result<NetOutput, NetError> {
        (0..self.flows.0.len()).for_each(|place| self.tell_record(place));
        let warnings = self.sharing.finish(now);
        let ended = self.flows.0.into_iter().map(|flow| flow.finish(now));
        let mut ended = ended.collect::<Result<Vec<_>, _>>()?;
        for (place, error) in unanswered {
            ended[place].unanswered = Some(error);
        }
        record::joined(ended, warnings)
    }

    /// The next event, and when it is due.
    fn next_event(&self) -> (Time, Event) {
        let flows = || self.flows.0.iter().enumerate();
        let ends = flows().map(|(place, flow)| (flow.due(), Event::End(place)));
        let silent = flows().filter_map(|(place, flow)| Some((flow.silent_at()?, Event::Silent(place))));
        let sharing = (self.sharing.next_timeout(), Event::Sharing);
        ends.chain(silent).min().unwrap_or(sharing).min(sharing)
    }

    fn next(&self) -> Moment {
        let tick = self.flows.0.iter().filter_map(|flow| flow.pending()).map(Tick::at).min();
        let next = self.next_event().0.min(tick.unwrap_or(Time::MAX)).min(self.duration);
        self.clock.moment_of(next).min(Moment::now().plus(LONGEST_SLEEP))
    }

    /// Takes the feedback that has arrived at each socket; true if there may be more.
    fn read(&mut self) -> Result<bool, NetError> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let mut more = false;
        for place in 0..self.flows.0.len() {
            more |= self.flows.0[place].read_into(&mut inbox)?;
            for datagram in inbox.datagrams() {
                if self.flows.0[place].admits(&datagram) {
                    self.run_ends(self.clock.time_of(datagram.arrived) + NEXT);
                    let now = self.flows.0[place].hear(&datagram);
                    self.after(now, place);
                }
            }
        }
        self.inbox = inbox;
        Ok(more)
    }

    /// Lets everything happen that is due at `now`, looking at the ends in between where a record asks for it; true if it
    /// stopped before that was all.
    fn advance(&mut self, now: Time, control: &Control<'_>) -> bool {
        while let Some((place, tick)) = self.next_tick(now) {
            if self.run_ends(tick.covers()) {
                return true;
            }
            self.tell_record(place);
            // Each record has the same samples: one of them says how far the run is.
            let flow = &mut self.flows.0[place];
            let name = flow.name().to_string();
            flow.look(tick, &|told| {
                if place == 0 || told.reached().is_none() {
                    told.reworded(|said| named(true, &name, said.into()), control.progress);
                }
            });
        }
        self.run_ends(now + NEXT)
    }

    fn next_tick(&self, now: Time) -> Option<(usize, Tick)> {
        let ticks =
            self.flows.0.iter().enumerate().filter_map(|(place, flow)| Some((place, flow.pending()?)));
        ticks.filter(|(_, tick)| tick.at() <= now).min_by_key(|(_, tick)| tick.covers())
    }

    fn tell_record(&mut self, place: usize) {
        let coupled = self.sharing.coupled(place);
        self.flows.0[place].coupled(coupled);
    }

    /// Lets the ends do everything that is due before `before`, in the order of their times; true if it stopped before that
    /// was all.
    fn run_ends(&mut self, before: Time) -> bool {
        for _ in 0..AT_ONCE * self.flows.0.len() {
            let (due, event) = self.next_event();
            if due >= before {
                return false;
            }
            match event {
                Event::Sharing => self.sharing.handle_timeout(due, &mut self.flows),
                Event::Silent(place) => {
                    self.flows.0[place].fall_silent();
                    self.sharing.after_event(due, place, &mut self.flows);
                }
                Event::End(place) => {
                    let now = self.flows.0[place].handle_timeout();
                    self.after(now, place);
                }
            }
        }
        true
    }

    /// Something happened at a flow's end at `now`. Nothing leaves by a rate that the others are to share; what leaves may
    /// tell the controller more.
    fn after(&mut self, now: Time, place: usize) {
        self.sharing.after_event(now, place, &mut self.flows);
        self.flows.0[place].transmit(now);
        self.sharing.after_event(now, place, &mut self.flows);
    }
}
