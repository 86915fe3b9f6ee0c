//! The order of ticks.

use super::*;

#[test]
fn ticks_come_in_order_and_catch_up() {
    let at = Time::from_nanos;
    assert_eq!((Tick::Begin(at(0)).covers(), Tick::Sample(at(5)).covers()), (at(0), at(6)));
    let mut ticker = Ticker::new(TimeDelta::from_nanos(10), at(30), at(10), at(99));
    assert_eq!((ticker.due(at(9)), ticker.next()), (None, Some(at(10))));
    let mut seen = Vec::new();
    while let Some(tick) = ticker.due(at(1000)) {
        seen.push(tick);
    }
    let expected = [
        Tick::Begin(at(10)),
        Tick::Sample(at(10)),
        Tick::Sample(at(20)),
        Tick::End(at(30)),
        Tick::Sample(at(30)),
    ];
    assert_eq!(seen, expected);
    assert_eq!(ticker.next(), None);
    assert!(!ticker.cut());
}
