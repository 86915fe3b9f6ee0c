//! Target and pace of a controller without a window: said once, and again when they change.

use crate::{Allowance, Update};
use paceline_units::Bitrate;

/// Target and pace as they were said last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said(Option<(Bitrate, Bitrate)>);

impl Said {
    /// Before the first answer.
    pub(crate) const NOTHING: Said = Said(None);

    /// Whether there was no answer.
    #[inline]
    pub(crate) fn is_nothing(&self) -> bool {
        self.0.is_none()
    }

    /// The target of the last answer.
    #[inline]
    pub(crate) fn target(&self) -> Option<Bitrate> {
        self.0.map(|(target, _)| target)
    }

    /// The answer: target and pace, if they changed. The first one says that no window holds packets back.
    pub(crate) fn say(&mut self, target: Bitrate, pace: Bitrate) -> Update {
        let before = self.0.replace((target, pace));
        if before == self.0 {
            return Update::none();
        }
        let first = before.is_none().then_some(Allowance::Unlimited);
        Update { allowance: first, ..Update::none() }.with_target(target).with_pacing_rate(pace)
    }
}
