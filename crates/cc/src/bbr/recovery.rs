//! The window while losses are repaired: what is delivered may be sent, and afterwards the old window is back.

use crate::window::Window;

/// The state of recovery.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Rescue {
    /// The window before recovery or ProbeRTT; 0 if none is kept.
    prior_cwnd: f64,
    /// In recovery's first round trip as much is sent as is delivered.
    pub conserving: bool,
    /// After a timeout, until what was outstanding then is delivered.
    pub after_timeout: bool,
}

impl Rescue {
    /// Keeps the window, or the largest that is kept already.
    pub fn save(&mut self, window: &Window, nested: bool) {
        self.prior_cwnd = if nested { self.prior_cwnd.max(window.cwnd) } else { window.cwnd };
    }

    /// The kept window is back, unless the present one is larger.
    pub fn restore(&mut self, window: &mut Window) {
        window.set(window.cwnd.max(self.prior_cwnd));
        (self.conserving, self.after_timeout) = (false, false);
    }
}
