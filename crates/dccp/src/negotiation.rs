//! Feature negotiation: Change and Confirm (RFC 4340 section 6.6).
//!
//! Each feature is in one of three states; options that arrive out of order are ignored by two numbers for the whole
//! connection, FGSR and FGSS. Numbers here count from the first packet of each side and never wrap.

use super::feature::{FeatureId, Rule, reconcile};
use paceline_units::{Time, TimeDelta};
use paceline_wire::dccp::{DccpOption, FeatureOption, Options, ResetCode, ResetReason};

/// Longest interval of retransmissions (RFC 4340 sections 6.6.3: not less than 64 seconds, 8.1.1 and 8.3).
pub(super) const LONGEST_INTERVAL: TimeDelta = TimeDelta::from_secs(64);
/// With wider sequence windows 24 bits do not tell numbers apart safely (RFC 4340 section 7.6.2).
const SHORT_WINDOW: u64 = 1 << 22;
/// Most Confirms that wait; later ones are left to the other end's retransmissions.
const MOST_CONFIRMS: usize = 64;

/// The end that a feature belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Location {
    /// Ours: we are the feature location.
    Local,
    /// The other end's: we are the feature remote.
    Remote,
}

/// Where a negotiation stands (RFC 4340 section 6.6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NegotiationState {
    /// Both ends agree.
    Stable,
    /// A Change was sent, or is about to be.
    Changing,
    /// The preferences changed since the last Change was sent.
    Unstable,
}

#[derive(Clone, Debug)]
struct Feature {
    id: FeatureId,
    location: Location,
    value: u64,
    state: NegotiationState,
    /// Whether the Change that CHANGING speaks of has left.
    sent: bool,
    /// Server priority: what is wanted, the best first. Without any but the value it has.
    preferences: Vec<u8>,
    /// Non-negotiable: what the Change says.
    wanted: u64,
    mandatory: bool,
    /// Whether a Change of it was ever wanted, and whether another after that.
    begun: bool,
    revised: bool,
}

/// A value that has become another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeatureChange {
    /// The feature that changed.
    pub feature: FeatureId,
    /// The end that the feature belongs to.
    pub location: Location,
    /// The feature's new value.
    pub value: u64,
}

/// All features of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    server: bool,
    /// Ours, then the other end's, each in the order of [`FeatureId::ALL`].
    features: [Feature; 2 * FeatureId::ALL.len()],
    /// Whether any is not stable: mostly there is nothing to look for.
    unsettled: bool,
    /// Whether data has short numbers in OPEN (RFC 4340 section 7.6.2).
    pub(super) sends_short: bool,
    /// Confirms that wait, each with whose feature of which number it is about.
    confirms: Vec<((Location, u8), DccpOption)>,
    /// Greatest number received with feature options.
    fgsr: i64,
    /// Greatest number sent with a new Change.
    fgss: i64,
    /// When Changes go again, and after which interval next.
    timer: Option<Time>,
    interval: TimeDelta,
    /// When a packet last left for the options alone.
    alone: Option<Time>,
}

impl Features {
    pub(crate) fn new(server: bool) -> Features {
        let feature = |location, id: FeatureId| Feature {
            id,
            location,
            value: id.initial(),
            state: NegotiationState::Stable,
            sent: false,
            preferences: match id.rule() {
                Rule::ServerPriority => vec![id.initial() as u8],
                Rule::NonNegotiable(_) => Vec::new(),
            },
            wanted: id.initial(),
            mandatory: false,
            begun: false,
            revised: false,
        };
        let each = FeatureId::ALL.len();
        let location = |place| if place < each { Location::Local } else { Location::Remote };
        Features {
            server,
            features: core::array::from_fn(|place| feature(location(place), FeatureId::ALL[place % each])),
            unsettled: false,
            sends_short: false,
            confirms: Vec::new(),
            fgsr: -1,
            fgss: 0,
            timer: None,
            interval: TimeDelta::ZERO,
            alone: None,
        }
    }

    #[inline(always)]
    fn feature(&self, location: Location, id: FeatureId) -> &Feature {
        &self.features[place(location, id)]
    }

    fn feature_mut(&mut self, location: Location, id: FeatureId) -> &mut Feature {
        &mut self.features[place(location, id)]
    }

    #[inline(always)]
    pub(crate) fn value(&self, location: Location, id: FeatureId) -> u64 {
        self.feature(location, id).value
    }

    #[inline(always)]
    pub(crate) fn is_on(&self, location: Location, id: FeatureId) -> bool {
        self.value(location, id) == 1
    }

    #[inline(always)]
    pub(crate) fn state(&self, location: Location, id: FeatureId) -> NegotiationState {
        self.feature(location, id).state
    }

    /// The values to accept of a server-priority feature; nothing is asked for.
    pub(crate) fn accept(&mut self, location: Location, id: FeatureId, preferences: &[u8]) {
        self.feature_mut(location, id).preferences = preferences.to_vec();
    }

    /// Asks for a server-priority feature, the best value first.
    pub(crate) fn prefer(&mut self, location: Location, id: FeatureId, preferences: &[u8], mandatory: bool) {
        let feature = self.feature_mut(location, id);
        if preferences.is_empty() || preferences.len() > paceline_wire::dccp::OPTION_DATA - 2 {
            return;
        }
        feature.preferences = preferences.to_vec();
        feature.mandatory = mandatory;
        feature.begin();
        self.unsettled = true;
    }

    /// Says a new value of a non-negotiable feature of ours; values that it cannot have are ignored.
    pub(crate) fn announce(&mut self, id: FeatureId, value: u64) {
        let feature = self.feature_mut(Location::Local, id);
        let current = if feature.state == NegotiationState::Stable { feature.value } else { feature.wanted };
        if matches!(id.rule(), Rule::NonNegotiable(_)) && id.is_valid(value) && current != value {
            feature.wanted = value;
            feature.begin();
            self.unsettled = true;
        }
    }

    /// An option arrived in the packet numbered `sequence` that acknowledges `acknowledgment`.
    ///
    /// # Errors
    /// The connection is to be reset.
    #[cold]
    pub(crate) fn receive(
        &mut self,
        option: &DccpOption,
        mandatory: bool,
        sequence: i64,
        acknowledgment: Option<i64>,
    ) -> Result<Option<FeatureChange>, ResetReason> {
        // Change R and Confirm R speak of the features of whom they reach.
        let (location, said, change) = match option {
            DccpOption::ChangeR(said) => (Location::Local, said, true),
            DccpOption::ConfirmR(said) => (Location::Local, said, false),
            DccpOption::ChangeL(said) => (Location::Remote, said, true),
            DccpOption::ConfirmL(said) => (Location::Remote, said, false),
            _ => return Ok(None),
        };
        let Some(id) = FeatureId::from_number(said.feature) else {
            // Section 6.6.7.
            if change && mandatory {
                return Err(reason(ResetCode::MANDATORY_ERROR, option));
            }
            if change && sequence > self.fgsr {
                self.confirm(location, said.feature, Vec::new());
            }
            return Ok(None);
        };
        // Section 6.6.4.
        if self.state(location, id) == NegotiationState::Unstable || sequence <= self.fgsr {
            return Ok(None);
        }
        let before = self.value(location, id);
        let done = if change {
            self.on_change(location, id, &said.values, mandatory)
        } else if acknowledgment.is_some_and(|acknowledgment| acknowledgment >= self.fgss) {
            self.on_confirm(location, id, &said.values)
        } else {
            Ok(())
        };
        done.map_err(|code| reason(code, option))?;
        self.settle();
        let value = self.value(location, id);
        Ok((value != before).then_some(FeatureChange { feature: id, location, value }))
    }

    /// All options of a packet were told; it had feature options.
    pub(crate) fn received(&mut self, sequence: i64) {
        self.fgsr = self.fgsr.max(sequence);
    }

    /// Third step of section 6.6.2.
    fn on_change(
        &mut self,
        location: Location,
        id: FeatureId,
        said: &[u8],
        mandatory: bool,
    ) -> Result<(), ResetCode> {
        let server = self.server;
        let feature = self.feature_mut(location, id);
        let mut stays = false;
        let (value, confirmed) = match id.rule() {
            Rule::ServerPriority if !said.is_empty() => {
                let found = feature.shared(server, said);
                if found.is_none() && mandatory {
                    // Section 6.6.9.
                    return Err(ResetCode::MANDATORY_ERROR);
                }
                // Our own Mandatory Change is to end a connection without a shared value: it still has to arrive.
                stays = found.is_none() && feature.mandatory && feature.state != NegotiationState::Stable;
                let value = found.map_or(feature.value, u64::from);
                let mut confirmed = vec![value as u8];
                confirmed.extend_from_slice(&feature.preferences);
                (Some(value), confirmed)
            }
            // A location says its non-negotiable features itself (section 6.3.2).
            Rule::NonNegotiable(bytes) if location == Location::Remote && said.len() == bytes => {
                let value = number(said);
                (id.is_valid(value).then_some(value), said.to_vec())
            }
            _ => (None, Vec::new()),
        };
        let Some(value) = value else {
            if mandatory {
                return Err(ResetCode::MANDATORY_ERROR);
            }
            self.confirm(location, id as u8, Vec::new());
            return Ok(());
        };
        if !stays {
            (feature.value, feature.state, feature.sent) = (value, NegotiationState::Stable, false);
        }
        self.confirm(location, id as u8, confirmed);
        Ok(())
    }

    /// Fourth step of section 6.6.2.
    fn on_confirm(&mut self, location: Location, id: FeatureId, said: &[u8]) -> Result<(), ResetCode> {
        let server = self.server;
        let feature = self.feature_mut(location, id);
        if feature.state != NegotiationState::Changing || !feature.sent {
            return Ok(());
        }
        if said.is_empty() {
            // Section 6.6.7: not understood.
            if id.is_required() {
                return Err(ResetCode::OPTION_ERROR);
            }
        } else {
            match feature.confirmed(server, said) {
                Some(value) => feature.value = value,
                // Of an earlier Change that came late: it acknowledges what overtook it. The Change goes again.
                None if feature.revised => return Ok(()),
                None => return Err(ResetCode::OPTION_ERROR),
            }
        }
        (feature.state, feature.sent) = (NegotiationState::Stable, false);
        Ok(())
    }

    fn confirm(&mut self, location: Location, feature: u8, values: Vec<u8>) {
        let said = FeatureOption { feature, values };
        let option = match location {
            Location::Local => DccpOption::ConfirmL(said),
            Location::Remote => DccpOption::ConfirmR(said),
        };
        let of = (location, feature);
        if let Some((_, waiting)) = self.confirms.iter_mut().find(|(other, _)| *other == of) {
            *waiting = option;
        } else if self.confirms.len() < MOST_CONFIRMS {
            self.confirms.push((of, option));
        }
    }

    /// A value may have changed: what follows from all of them. Without anything outstanding there is nothing to send again.
    fn settle(&mut self) {
        let narrow = |location| self.value(location, FeatureId::SequenceWindow) <= SHORT_WINDOW;
        self.sends_short = self.is_on(Location::Local, FeatureId::AllowShortSeqnos)
            && narrow(Location::Local)
            && narrow(Location::Remote);
        self.unsettled = self.features.iter().any(|feature| feature.state != NegotiationState::Stable);
        // Without anything unsettled no timer runs.
        if !self.unsettled {
            (self.timer, self.interval) = (None, TimeDelta::ZERO);
        }
    }

    /// Whether nothing is asked for and nothing waits for an answer, as mostly.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        !self.unsettled && self.confirms.is_empty()
    }

    /// Whether options wait that a packet could carry.
    #[inline]
    pub(crate) fn wants_packet(&self, now: Time) -> bool {
        !self.is_settled() && (self.has_new() || self.timer.is_some_and(|due| due <= now))
    }

    #[cold]
    fn has_new(&self) -> bool {
        !self.confirms.is_empty() || self.unsettled && self.features.iter().any(Feature::is_new)
    }

    /// Whether a packet is to be sent for its options alone: not more than one in a round trip (section 6.6.1).
    #[inline]
    pub(crate) fn wants_packet_alone(&self, now: Time, rtt: impl Fn() -> TimeDelta) -> bool {
        self.wants_packet(now) && self.alone.is_none_or(|then| now >= then + rtt())
    }

    /// A packet leaves for the options alone.
    pub(crate) fn on_packet_alone(&mut self, now: Time) {
        self.alone = Some(now);
    }

    /// When a packet is to be sent for the options alone; without new ones that is when Changes go again.
    #[inline]
    pub(crate) fn next_timeout(&self, rtt: impl Fn() -> TimeDelta) -> Option<Time> {
        if self.is_settled() {
            return None;
        }
        let earliest = || self.alone.map(|then| then + rtt());
        if self.has_new() { earliest() } else { Some(self.timer?.max(earliest().unwrap_or(Time::ZERO))) }
    }

    /// Options for the packet numbered `sequence`, in at most `room` bytes. `all`: Changes that wait for an answer go
    /// again whether it is time or not, as on every Request and Response. `confirms`: it acknowledges something.
    pub(crate) fn attach(
        &mut self,
        now: Time,
        sequence: i64,
        rtt: TimeDelta,
        (all, confirms): (bool, bool),
        mut room: usize,
        out: &mut Options,
    ) {
        while confirms && self.confirms.first().is_some_and(|(_, confirm)| confirm.encoded_len() <= room) {
            let (_, confirm) = self.confirms.remove(0);
            room -= confirm.encoded_len();
            out.push(confirm);
        }
        if !self.unsettled {
            return;
        }
        // A waiting option goes with a new one too: its answer would not acknowledge the new one, and count no more.
        let again =
            all || self.timer.is_some_and(|due| due <= now) || self.features.iter().any(Feature::is_new);
        let (mut sent_new, mut sent_again) = (false, false);
        for feature in &mut self.features {
            let new = feature.is_new();
            let waits = feature.state == NegotiationState::Changing && feature.sent;
            if !(new || again && waits) {
                continue;
            }
            let option = feature.change();
            let size = option.encoded_len() + usize::from(feature.mandatory);
            if size > room {
                continue;
            }
            room -= size;
            if feature.mandatory {
                out.push(DccpOption::Mandatory);
            }
            out.push(option);
            (feature.state, feature.sent) = (NegotiationState::Changing, true);
            (sent_new, sent_again) = (sent_new || new, sent_again || waits);
        }
        if sent_new {
            self.fgss = sequence;
            self.interval = rtt;
            self.timer = Some(now + self.interval);
        } else if sent_again {
            self.interval = (self.interval * 2).clamp(rtt, LONGEST_INTERVAL.max(rtt));
            self.timer = Some(now + self.interval);
        }
    }
}

impl Feature {
    /// A new Change is due: from STABLE, or with what was sent already out of date.
    fn begin(&mut self) {
        self.revised |= core::mem::replace(&mut self.begun, true);
        self.state = match (self.state, self.sent) {
            (NegotiationState::Changing, true) | (NegotiationState::Unstable, _) => {
                NegotiationState::Unstable
            }
            _ => NegotiationState::Changing,
        };
    }

    /// Whether its Change has not been sent yet.
    fn is_new(&self) -> bool {
        match self.state {
            NegotiationState::Stable => false,
            NegotiationState::Changing => !self.sent,
            NegotiationState::Unstable => true,
        }
    }

    fn change(&self) -> DccpOption {
        let values = match self.id.rule() {
            Rule::ServerPriority => self.preferences.clone(),
            Rule::NonNegotiable(bytes) => self.wanted.to_be_bytes()[8 - bytes..].to_vec(),
        };
        let said = FeatureOption { feature: self.id as u8, values };
        match self.location {
            Location::Local => DccpOption::ChangeL(said),
            Location::Remote => DccpOption::ChangeR(said),
        }
    }

    /// The value that our list and theirs lead to.
    fn shared(&self, server: bool, theirs: &[u8]) -> Option<u8> {
        match server {
            true => reconcile(&self.preferences, theirs),
            false => reconcile(theirs, &self.preferences),
        }
    }

    /// The value by a Confirm; none if it is invalid (section 6.6.8).
    fn confirmed(&self, server: bool, values: &[u8]) -> Option<u64> {
        if let Rule::NonNegotiable(bytes) = self.id.rule() {
            return (values.len() == bytes && number(values) == self.wanted).then_some(self.wanted);
        }
        let (&value, theirs) = values.split_first()?;
        let right = if theirs.is_empty() {
            self.preferences.contains(&value) || u64::from(value) == self.value
        } else {
            self.shared(server, theirs).map_or(self.value, u64::from) == u64::from(value)
        };
        right.then_some(u64::from(value))
    }
}

#[inline(always)]
fn place(location: Location, id: FeatureId) -> usize {
    location as usize * FeatureId::ALL.len() + id.index()
}

/// A number in network order.
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Whether an option negotiates a feature.
pub(crate) fn is_feature(option: &DccpOption) -> bool {
    matches!(
        option,
        DccpOption::ChangeL(_) | DccpOption::ChangeR(_) | DccpOption::ConfirmL(_) | DccpOption::ConfirmR(_)
    )
}

/// A reset for the sake of an option: its type and the first two bytes of its data (section 5.6).
pub(crate) fn reason(code: ResetCode, option: &DccpOption) -> ResetReason {
    let data = option.data();
    let byte = |place: usize| data.get(place).copied().unwrap_or(0);
    ResetReason { code, data: [option.kind(), byte(0), byte(1)] }
}
