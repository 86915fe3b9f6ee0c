//! The state of a controller that is visible from outside.

use paceline_units::{Bitrate, Bytes, TimeDelta};

/// The figures every controller shares. A value that an algorithm does not have is absent.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Snapshot {
    /// Congestion window, in bytes on the link.
    pub window: Option<Bytes>,
    /// Bytes in flight as this controller counts them.
    pub in_flight: Option<Bytes>,
    /// Smoothed round-trip time.
    pub srtt: Option<TimeDelta>,
    /// Queue delay as the controller estimates it.
    pub queue_delay: Option<TimeDelta>,
    /// Sum of the target bitrates of all streams.
    pub target: Option<Bitrate>,
}

/// A named value of the inner state that a person would plot. Declared once, for recording, plots and tests alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateVariable {
    /// Name of the variable, as in the specification.
    pub name: &'static str,
    /// Unit of the variable; empty for ratios and counts.
    pub unit: &'static str,
    /// Meaning of the variable, in a line.
    pub help: &'static str,
}

/// Declares the inner state of a controller that a person would plot, inside the `impl` of [`crate::Controller`] or of
/// [`crate::window::Law`]: one line says name, unit, value (a number or an option of one) and help.
macro_rules! state_variables {
    (|$this:ident, $context:ident: $type:ty| $( $name:ident: $unit:literal = $value:expr, $help:literal; )*) => {
        fn state_variables(&self) -> &'static [$crate::StateVariable] {
            &[$( $crate::StateVariable { name: stringify!($name), unit: $unit, help: $help }, )*]
        }

        fn state(&$this, $context: &$type, values: &mut [Option<f64>]) {
            let now = [$( Option::<f64>::from($value), )*];
            for (value, state) in values.iter_mut().zip(now) {
                *value = state;
            }
        }
    };
    (|$this:ident $(, $window:ident)?| $( $name:ident: $unit:literal = $value:expr, $help:literal; )*) => {
        fn state_variables(&self) -> &'static [$crate::StateVariable] {
            &[$( $crate::StateVariable { name: stringify!($name), unit: $unit, help: $help }, )*]
        }

        fn state(&$this, $( $window: &$crate::window::Window, )? values: &mut [Option<f64>]) {
            let now = [$( Option::<f64>::from($value), )*];
            for (value, state) in values.iter_mut().zip(now) {
                *value = state;
            }
        }
    };
}

/// [`state_variables`] of a law of windows: window and threshold, and whatever the law has besides.
macro_rules! window_variables {
    (|$this:ident, $window:ident| $($own:tt)*) => {
        $crate::observe::state_variables! { |$this, $window|
            cwnd: "packets" = $window.packets(), "Congestion window";
            ssthresh: "packets" = $window.threshold(), "Slow start threshold; absent before the first loss";
            $($own)*
        }
    };
}

pub(crate) use {state_variables, window_variables};
