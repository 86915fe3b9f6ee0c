//! Controllers from outside: registered under a name of their own, and from then on chosen, listed, configured and run as the
//! project's own are.
//!
//! A guest of somebody's own crate implements [`OwnController`] and is registered by [`register`]. A guest in another language
//! implements [`Guest`] itself. The project's own names come first: no guest can take one. Without the feature `std` there is no
//! place for a list, and no guest.

use crate::forward::{forward, forward_rare};
use crate::{
    Annotation, Assigned, CeResponse, Controller, FlowSetup, Limits, Marking, Offered, Recovery, Report,
    SendQueueState, SentPacket, SentRun, Snapshot, StateVariable, Steers, StreamChange, StreamId,
    TimeoutReason, TransportNeeds, Update, Verb,
};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::marker::PhantomData;
use paceline_units::param::{
    Kinds, ParamError, ParamSet, ProfileHelp, ProfiledKinds, Profiles, Reason, Spec, Value, unknown,
};
use paceline_units::{Bitrate, Stack, Time, TimeDelta};

/// A kind of controller from outside: its facts, and how one is made.
pub trait Guest: Debug + Send + Sync {
    /// Name of the kind in scenarios: a lower-case letter, then such letters, digits, `-` and `_`.
    fn kind(&self) -> &'static str;

    /// Its description, in a line.
    fn help(&self) -> &'static str;

    /// The version of the controller, which results name.
    fn version(&self) -> String;

    /// The quantity that it steers.
    fn steers(&self) -> Steers;

    /// The settings of a transport that it needs.
    fn needs(&self) -> TransportNeeds {
        TransportNeeds::NONE
    }

    /// The transport's implementation that its profile of this name imitates.
    fn stack(&self, profile: &str) -> Stack {
        let _ = profile;
        Stack::Standard
    }

    /// The parameters that a scenario may set, in the order of [`Guest::values`].
    fn specs(&self) -> &'static [Spec];

    /// Its named sets of values, the usual one first; one at least.
    fn profiles(&self) -> &'static [ProfileHelp];

    /// The values of such a set, in the order of [`Guest::specs`]; `None` if there is no such set.
    fn values(&self, profile: &str) -> Option<Vec<Option<Value>>>;

    /// Why the parameter called `name` does nothing beside the others; `None` if it does something.
    fn idle(&self, params: &GuestParams, name: &str) -> Option<Reason> {
        let _ = (params, name);
        None
    }

    /// Fails if the parameters contradict each other.
    ///
    /// # Errors
    /// Says which one, and what would be right.
    fn contradiction(&self, params: &GuestParams) -> Result<(), ParamError> {
        let _ = params;
        Ok(())
    }

    /// A controller that has seen nothing, with parameters that do not contradict each other.
    fn controller(&self, params: &GuestParams, setup: &FlowSetup) -> GuestController;
}

/// The parameters of a guest.
#[derive(Clone, Debug)]
pub struct GuestParams {
    guest: Arc<dyn Guest>,
    profile: &'static str,
    /// In the order of the guest's parameters.
    values: Vec<Option<Value>>,
}

impl PartialEq for GuestParams {
    fn eq(&self, other: &GuestParams) -> bool {
        Arc::ptr_eq(&self.guest, &other.guest) && self.values == other.values
    }
}

impl GuestParams {
    /// The guest whose parameters these are.
    pub fn guest(&self) -> &dyn Guest {
        &*self.guest
    }

    /// The quantity that the guest steers.
    pub fn steers(&self) -> Steers {
        self.guest.steers()
    }

    /// Name and value of each parameter, in the guest's order.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, Option<&Value>)> {
        self.guest.specs().iter().map(|spec| spec.name).zip(self.values.iter().map(Option::as_ref))
    }

    /// The usual parameters of a guest, registered or not; `None` if it has no profile.
    pub fn usual(guest: Arc<dyn Guest>) -> Option<GuestParams> {
        GuestParams::of_guest(guest, None)
    }

    /// A controller that has seen nothing.
    pub fn controller(&self, setup: &FlowSetup) -> GuestController {
        self.guest.controller(self, setup)
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.guest.specs().iter().position(|spec| spec.name == name)
    }

    fn of_guest(guest: Arc<dyn Guest>, profile: Option<&str>) -> Option<GuestParams> {
        let profiles = guest.profiles().iter();
        let profile =
            profiles.map(|(name, _)| *name).find(|name| profile.is_none_or(|known| known == *name))?;
        let values = guest.values(profile)?;
        Some(GuestParams { guest, profile, values })
    }
}

impl ParamSet for GuestParams {
    fn specs(&self) -> &'static [Spec] {
        self.guest.specs()
    }

    fn value(&self, name: &str) -> Option<Value> {
        self.values.get(self.place(name)?)?.clone()
    }

    fn set(&mut self, name: &str, value: Value) -> Result<(), ParamError> {
        let Some(place) = self.place(name) else { return Err(unknown(name, self.specs(), None)) };
        self.specs()[place].check(&value)?;
        if let Some(known) = self.values.get_mut(place) {
            *known = Some(value);
        }
        Ok(())
    }

    fn idle(&self, name: &str) -> Option<Reason> {
        self.guest.idle(self, name)
    }

    fn contradiction(&self) -> Result<(), ParamError> {
        self.guest.contradiction(self)
    }
}

/// The guests that are registered at the moment are the kinds.
impl Kinds for GuestParams {
    const KINDS: &'static [&'static str] = &[];

    fn kinds() -> Vec<&'static str> {
        list::all().iter().map(|guest| guest.kind()).collect()
    }

    fn of(kind: &str) -> Option<GuestParams> {
        GuestParams::of_guest(list::find(kind)?, None)
    }

    fn kind(&self) -> &'static str {
        self.guest.kind()
    }

    fn help(&self) -> &'static str {
        self.guest.help()
    }
}

impl ProfiledKinds for GuestParams {
    fn with_profile(kind: &str, profile: Option<&str>) -> Option<(GuestParams, &'static str)> {
        let params = GuestParams::of_guest(list::find(kind)?, profile)?;
        let profile = params.profile;
        Some((params, profile))
    }

    fn profiles(&self) -> &'static [ProfileHelp] {
        self.guest.profiles()
    }

    fn stack(&self, profile: &str) -> Stack {
        self.guest.stack(profile)
    }
}

/// A guest's controller, which a simulation copies before it begins.
pub trait Copied: Controller + Debug + Send + Sync {
    /// A copy, in a box.
    fn copied(&self) -> Box<dyn Copied>;
}

impl<C: Controller + Clone + Debug + Send + Sync + 'static> Copied for C {
    fn copied(&self) -> Box<dyn Copied> {
        Box::new(self.clone())
    }
}

/// A guest's controller: each call goes through a pointer, and costs what that costs.
#[derive(Debug)]
pub struct GuestController(Box<dyn Copied>);

impl GuestController {
    /// Any controller as a guest's.
    pub fn new(controller: impl Copied + 'static) -> GuestController {
        GuestController(Box::new(controller))
    }
}

impl Clone for GuestController {
    fn clone(&self) -> GuestController {
        GuestController(self.0.copied())
    }
}

/// Calls the controller inside.
macro_rules! inside {
    ($any:expr, $inner:ident => $call:expr) => {
        match $any {
            GuestController($inner) => $call,
        }
    };
}

impl Controller for GuestController {
    forward! { inside(self), inline;
        (&mut self) on_sent(now: Time, packet: &SentPacket) -> Update;
        (&mut self) on_run(run: &SentRun) -> Option<Update>;
        (&mut self) on_report(now: Time, report: &Report<'_>) -> Update;
    }

    forward_rare! { inside }
}

/// A controller of somebody's own crate, with the facts that a registry needs.
pub trait OwnController: Controller + Clone + Debug + Send + Sync + 'static {
    /// Its parameters, declared by [`paceline_units::params!`] with `profiles`.
    type Params: Profiles;

    /// Name of the kind in scenarios: a lower-case letter, then such letters, digits, `-` and `_`.
    const KIND: &'static str;
    /// Its description, in a line.
    const HELP: &'static str;
    /// The version of the controller, which results name: `env!("CARGO_PKG_VERSION")`.
    const VERSION: &'static str;
    /// The quantity that it steers.
    const STEERS: Steers;
    /// The settings of a transport that it needs.
    const NEEDS: TransportNeeds = TransportNeeds::NONE;

    /// A controller that has seen nothing, with parameters that were checked.
    fn new(params: &Self::Params, setup: &FlowSetup) -> Self;
}

/// A kind of [`OwnController`].
struct Own<C>(PhantomData<fn() -> C>);

impl<C: OwnController> Debug for Own<C> {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        out.write_str(C::KIND)
    }
}

impl<C: OwnController> Own<C> {
    /// The typed parameters; `None` where a value is none of theirs, which [`ParamSet::set`] has refused.
    fn typed(params: &GuestParams) -> Option<C::Params> {
        let mut typed = C::Params::profile(params.profile)?;
        for (name, value) in params.values() {
            let Some(value) = value else { continue };
            if typed.value(name).as_ref() != Some(value) {
                typed.set(name, value.clone()).ok()?;
            }
        }
        Some(typed)
    }

    fn usual() -> Option<C::Params> {
        C::Params::PROFILES.first().and_then(|(name, _)| C::Params::profile(name))
    }
}

impl<C: OwnController> Guest for Own<C> {
    fn kind(&self) -> &'static str {
        C::KIND
    }

    fn help(&self) -> &'static str {
        C::HELP
    }

    fn version(&self) -> String {
        C::VERSION.into()
    }

    fn steers(&self) -> Steers {
        C::STEERS
    }

    fn needs(&self) -> TransportNeeds {
        C::NEEDS
    }

    fn stack(&self, profile: &str) -> Stack {
        C::Params::stack(profile)
    }

    fn specs(&self) -> &'static [Spec] {
        Self::usual().map_or(&[], |params| params.specs())
    }

    fn profiles(&self) -> &'static [ProfileHelp] {
        C::Params::PROFILES
    }

    fn values(&self, profile: &str) -> Option<Vec<Option<Value>>> {
        let params = C::Params::profile(profile)?;
        Some(params.specs().iter().map(|spec| params.value(spec.name)).collect())
    }

    fn idle(&self, params: &GuestParams, name: &str) -> Option<Reason> {
        Self::typed(params)?.idle(name)
    }

    fn contradiction(&self, params: &GuestParams) -> Result<(), ParamError> {
        Self::typed(params).map_or(Ok(()), |params| params.contradiction())
    }

    fn controller(&self, params: &GuestParams, setup: &FlowSetup) -> GuestController {
        let typed = Self::typed(params).or_else(Self::usual);
        GuestController::new(C::new(&typed.expect("a first profile"), setup))
    }
}

/// Registers a controller of somebody's own: from now on its name is one of the kinds there are.
///
/// # Errors
/// If the name is none, is one of the project's, or is another guest's; if there is no profile; without the feature `std`.
pub fn register<C: OwnController>() -> Result<(), ParamError> {
    register_guest(Arc::new(Own::<C>(PhantomData)))
}

/// The same of any guest.
///
/// # Errors
/// As [`register`].
pub fn register_guest(guest: Arc<dyn Guest>) -> Result<(), ParamError> {
    let kind = guest.kind();
    let refused = |expected: &'static str| Err(ParamError::new("controller", kind, expected));
    let mut letters = kind.chars();
    let is_name = letters.next().is_some_and(|first| first.is_ascii_lowercase())
        && letters
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter));
    if !is_name {
        return refused("a name of lower-case letters, digits, - and _ that begins with a letter");
    }
    if crate::ControllerParams::KINDS.contains(&kind) {
        return refused("a name that no controller of Paceline has");
    }
    if guest.profiles().first().and_then(|(name, _)| guest.values(name)).is_none() {
        return refused("a controller with a profile");
    }
    list::add(guest)
}

/// Takes a guest out of the list; controllers that were made of it go on.
pub fn withdraw(kind: &str) {
    list::remove(kind);
}

/// The guests that are registered, in the order in which they came.
pub fn guests() -> Vec<Arc<dyn Guest>> {
    list::all()
}

#[cfg(feature = "std")]
mod list {
    extern crate std;
    use super::{Arc, Guest, ParamError, Vec};
    use std::sync::{PoisonError, RwLock};

    static GUESTS: RwLock<Vec<Arc<dyn Guest>>> = RwLock::new(Vec::new());

    pub(super) fn all() -> Vec<Arc<dyn Guest>> {
        GUESTS.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn find(kind: &str) -> Option<Arc<dyn Guest>> {
        GUESTS
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .find(|guest| guest.kind() == kind)
            .cloned()
    }

    pub(super) fn add(guest: Arc<dyn Guest>) -> Result<(), ParamError> {
        let mut guests = GUESTS.write().unwrap_or_else(PoisonError::into_inner);
        if guests.iter().any(|known| known.kind() == guest.kind()) {
            return Err(ParamError::new("controller", guest.kind(), "a name that no other guest has"));
        }
        guests.push(guest);
        Ok(())
    }

    pub(super) fn remove(kind: &str) {
        GUESTS.write().unwrap_or_else(PoisonError::into_inner).retain(|guest| guest.kind() != kind);
    }
}

#[cfg(not(feature = "std"))]
mod list {
    use super::{Arc, Guest, ParamError, Vec};

    pub(super) fn all() -> Vec<Arc<dyn Guest>> {
        Vec::new()
    }

    pub(super) fn find(_kind: &str) -> Option<Arc<dyn Guest>> {
        None
    }

    pub(super) fn add(guest: Arc<dyn Guest>) -> Result<(), ParamError> {
        Err(ParamError::new("controller", guest.kind(), "the feature std, which has the list of guests"))
    }

    pub(super) fn remove(_kind: &str) {}
}
