//! When reports stay away (RFC 8888 section 5): as in SCReAM v1, the pace falls by half per missing interval, and after a longer time
//! what is outstanding is given up.

use super::ScreamV2;
use crate::scream::silence::Resumed;
use crate::{Acked, LossDetector, Update};
use paceline_units::{Bytes, Time};

/// Window of before reports stayed away.
pub type Kept = f64;

impl ScreamV2 {
    /// A report is overdue: the pace falls, or what is outstanding is given up.
    #[cold]
    pub(super) fn on_silence(&mut self, now: Time) -> Update {
        self.silence.keep(self.wnd.ref_wnd);
        self.media.on_silence();
        if self.silence.next.1 {
            self.lose_contact(now);
        } else {
            self.silence.slow_down(now);
        }
        self.silence.plan(self.srtt());
        self.set_sending();
        self.answer()
    }

    /// Nothing is known of what is outstanding. The window is the smallest, the target half, and a packet or two are a probe.
    fn lose_contact(&mut self, now: Time) {
        self.silence.lose_contact(now);
        self.forget_flight();
        self.wnd.set(&self.params, 0.0, self.mss);
        self.set_target(self.target / 2.0);
    }

    /// Forgets what is outstanding.
    pub(super) fn forget_flight(&mut self) {
        self.streams.detectors().iter_mut().for_each(LossDetector::forget);
        self.in_flight = Bytes::ZERO;
    }

    /// Reports come again: the window is that of before, or less ([`crate::scream::silence::Silence::resume`]).
    #[cold]
    pub(super) fn resume(&mut self, now: Time, acked: &Acked) {
        let newest = acked.newest.map(|(sent, _)| sent);
        let Some(resumed) = self.silence.resume(now, newest, self.srtt()) else { return };
        let Resumed { kept, late, part } = resumed;
        let part = if late { 1.0 } else { part * self.params.beta_loss };
        self.wnd.set(&self.params, (part * kept).max(self.wnd.ref_wnd), self.mss);
        self.acked.forget();
    }
}
