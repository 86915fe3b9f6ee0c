//! Figures over the many connections of one end.

use super::TcpSender;
use paceline_cc::{Controller, Snapshot};
use paceline_ends::SendingEnd;
use paceline_units::Bytes;

/// Windows and flights summed over the `senders`; the rest is that of the controller that was told of something last.
pub(super) fn sum_of_windows<'a, C: Controller + 'a>(
    senders: impl Iterator<Item = &'a TcpSender<C>>,
    latest: &C,
) -> Snapshot {
    let mut sum = Snapshot { in_flight: Some(Bytes::ZERO), ..Snapshot::default() };
    let add = |one: Option<Bytes>, other: Option<Bytes>| Some(one? + other.unwrap_or(Bytes::ZERO));
    let mut count = 0;
    for snapshot in senders.map(SendingEnd::snapshot) {
        count += 1;
        sum.window = add(snapshot.window, sum.window);
        sum.in_flight = add(snapshot.in_flight, sum.in_flight);
    }
    if count == 0 {
        return sum;
    }
    Snapshot { window: sum.window, in_flight: sum.in_flight, ..latest.snapshot() }
}
