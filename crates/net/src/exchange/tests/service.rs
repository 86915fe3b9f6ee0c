//! The exchange and processes that say what they like: what is refused, counted and bounded.

use super::*;
use paceline_cc::{FlowId, FlowUpdate};
use paceline_units::Bytes;
use paceline_wire::exchange::{Join, Refusal, Reply, Request, State, Update, decode_reply, encode_request};

/// A process that says what it likes.
pub(super) struct Raw {
    pub(super) service: Service,
    pub(super) id: ClientId,
}

impl Raw {
    pub(super) fn new(limits: ExchangeLimits) -> Raw {
        let mut service = Service::new(&limits);
        service.connect(at(0), ClientId(1), 7);
        let mut raw = Raw { service, id: ClientId(1) };
        assert_eq!(raw.replies(), [Reply::Welcome { expiry: limits.expiry }]);
        raw
    }

    fn replies(&mut self) -> Vec<Reply> {
        let (mut replies, mut bytes) = (Vec::new(), Vec::new());
        while self.service.next_message(self.id, &mut bytes) {
            self.service.sent(self.id);
            replies.push(decode_reply(&bytes).expect("a reply"));
            bytes.clear();
        }
        replies
    }

    pub(super) fn say(&mut self, now: Time, request: &Request) -> Vec<Reply> {
        let mut bytes = Vec::new();
        encode_request(request, &mut bytes).expect("it fits");
        self.service.receive(now, self.id, &bytes);
        self.replies()
    }

    /// The refusal of a request, and its words.
    pub(super) fn refused(&mut self, now: Time, request: &Request) -> (Refusal, String) {
        match self.say(now, request).as_slice() {
            [Reply::Refused { refusal, text, .. }] => (*refusal, text.clone()),
            other => panic!("found {other:?}, expected a refusal"),
        }
    }

    /// The state that the flow of the request hears; others of its group may hear too.
    pub(super) fn state(&mut self, now: Time, request: &Request) -> State {
        let (Request::Join(Join { update, .. }) | Request::Update(update)) = request else {
            panic!("no flow")
        };
        let replies = self.say(now, request);
        let of_flow = |reply: &Reply| match reply {
            Reply::State(state) => Some(*state).filter(|state| state.flow == update.flow.flow.0),
            _ => None,
        };
        replies.iter().find_map(of_flow).unwrap_or_else(|| panic!("found {replies:?}, expected a state"))
    }
}

pub(super) fn update(flow: u32, number: u32, own: f64, taken: Option<f64>) -> Update {
    let rate = |rate: f64| Assigned::Rate(Bitrate::from_bps_f64(rate * 1e6));
    let flow = FlowUpdate {
        flow: FlowId(flow),
        own: rate(own),
        taken: taken.map(rate),
        desired: None,
        rtt: Some(MS * 40),
        priority: Priority::ONE,
    };
    Update { number, flow }
}

pub(super) fn join(flow: u32, name: &str, kind: &str, own: f64) -> Request {
    let (group, update) = (group(name), update(flow, 1, own, None));
    Request::Join(Join { group, kind: kind.into(), settings: String::new(), detection: None, update })
}

#[test]
fn joining_twice_updates_and_another_group_is_a_change() {
    let mut raw = Raw::new(ExchangeLimits::default());
    let first = raw.state(at(1), &join(0, "call", "active", 4.0));
    assert_eq!((first.members, first.assigned, first.sum), (1, None, Bitrate::from_mbps(4)));
    let again = raw.state(at(2), &join(0, "call", "active", 5.0));
    assert_eq!((again.members, again.sum), (1, Bitrate::from_mbps(5)), "no second member, no second rate");
    raw.say(at(3), &join(1, "call", "active", 1.0));
    let moved = raw.state(at(4), &join(0, "other", "efcm", 2.0));
    assert_eq!((moved.members, moved.flow), (1, 0), "alone in the other group");
    let left = raw.state(at(5), &Request::Update(update(1, 2, 1.0, None)));
    assert_eq!((left.members, left.sum), (1, Bitrate::from_mbps(5 + 1)), "the first group keeps its sum");
    let (refusal, text) = raw.refused(at(6), &join(0, "call", "etcp", 2.0));
    assert_eq!(refusal, Refusal::Kind);
    assert!(text.contains("found etcp, expected active"), "{text}");
    let still = raw.state(at(7), &Request::Update(update(0, 3, 2.0, None)));
    assert_eq!(still.members, 1, "a refused change leaves it where it was");
}

#[test]
fn updates_of_who_is_no_member_change_nothing_and_are_counted() {
    let mut raw = Raw::new(ExchangeLimits::default());
    let stranger = Request::Update(update(3, 1, 9.0, None));
    assert_eq!(raw.refused(at(1), &stranger).0, Refusal::NotJoined);
    raw.say(at(2), &join(0, "call", "active", 4.0));
    assert_eq!(raw.say(at(3), &Request::Leave { flow: 0 }), [], "nobody is left to hear of it");
    let (refusal, text) = raw.refused(at(4), &Request::Update(update(0, 2, 9.0, None)));
    assert_eq!(refusal, Refusal::NotJoined);
    assert!(text.contains("flow: found 0, expected one that has joined"), "{text}");
    assert_eq!(raw.refused(at(5), &Request::Leave { flow: 0 }).0, Refusal::NotJoined);
    assert_eq!(raw.service.counters.refused, 3);
    let lone = raw.state(at(6), &join(0, "call", "active", 4.0));
    assert_eq!(lone.sum, Bitrate::from_mbps(4), "none of it counted");
}

#[test]
fn values_that_cannot_be_are_refused_and_the_group_stays() {
    let mut raw = Raw::new(ExchangeLimits::default());
    raw.say(at(1), &join(0, "call", "active", 4.0));
    let mut bytes = Vec::new();
    encode_request(&Request::Update(update(0, 2, 6.0, Some(4.0))), &mut bytes).expect("it fits");
    let priority = |weight: f64| (48, weight.to_be_bytes());
    let wrong = [
        (priority(0.0), "priority at byte 48: found 0,"),
        (priority(-2.0), "found -2,"),
        (priority(f64::NAN), "found NaN, expected 0.000001 to 1000000"),
        (priority(f64::INFINITY), "found inf,"),
        ((16, [0; 8]), "own rate or window: found 0, expected 1 to"),
        ((16, [0xff; 8]), "own rate or window: found 18446744073709551615"),
        ((32, [0x7f; 8]), "desired rate"),
        ((40, [0xff; 8]), "round-trip time"),
    ];
    for ((place, value), expected) in wrong {
        let mut wrong = bytes.clone();
        wrong[place..place + 8].copy_from_slice(&value);
        raw.service.receive(at(2), raw.id, &wrong);
        match raw.replies().as_slice() {
            [Reply::Refused { refusal: Refusal::Malformed, text, .. }] => {
                assert!(text.contains(expected), "{text} lacks {expected}");
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
    assert_eq!(raw.service.counters.malformed, 8);
    raw.service.receive(at(3), raw.id, &bytes);
    assert!(matches!(raw.replies()[..], [Reply::State(State { sum, .. })] if sum == Bitrate::from_mbps(6)));
}

#[test]
fn nonsense_and_another_version_end_the_connection() {
    let mut raw = Raw::new(ExchangeLimits::default());
    raw.say(at(1), &join(0, "call", "active", 4.0));
    for told in 1..=10 {
        assert!(!raw.service.is_over(raw.id, false), "{told}");
        raw.service.receive(at(2), raw.id, b"GET / HTTP/1.1\r\n\r\n");
        assert!(matches!(&raw.replies()[..], [Reply::Refused { text, .. }] if text.contains("magic")));
    }
    assert!(raw.service.is_over(raw.id, false));
    assert_eq!((raw.service.counters.malformed, raw.service.counters.left), (10, 1), "its flow has left");
    let mut raw = Raw::new(ExchangeLimits::default());
    raw.service.receive(at(1), raw.id, &[b'F', b'S', 3, 1, 0]);
    match raw.replies().as_slice() {
        [Reply::Refused { refusal: Refusal::Version, text, .. }] => {
            assert!(text.contains("version at byte 2: found 3, expected 1 or 2"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    assert!(raw.service.is_over(raw.id, false), "at once");
}

#[test]
fn there_is_room_for_so_many() {
    let limits = ExchangeLimits {
        processes: 1,
        groups: 2,
        flows_per_group: 3,
        flows_per_process: 4,
        ..Default::default()
    };
    let mut raw = Raw::new(limits);
    for flow in 0..3 {
        raw.say(at(1), &join(flow, "call", "active", 1.0));
    }
    let full = |raw: &mut Raw, request: &Request| {
        let (refusal, text) = raw.refused(at(2), request);
        assert_eq!(refusal, Refusal::Full);
        text
    };
    assert!(full(&mut raw, &join(3, "call", "active", 1.0)).contains("flows in group call: found 3"));
    raw.say(at(2), &join(3, "other", "active", 1.0));
    assert!(full(&mut raw, &join(4, "other", "active", 1.0)).contains("flows of a process: found 4"));
    assert!(full(&mut raw, &join(3, "third", "active", 1.0)).contains("groups: found 2"));
    raw.service.connect(at(3), ClientId(2), 8);
    let mut bytes = Vec::new();
    assert!(raw.service.next_message(ClientId(2), &mut bytes));
    let reply = decode_reply(&bytes).expect("a reply");
    assert!(
        matches!(&reply, Reply::Refused { refusal: Refusal::Full, text, .. } if text.contains("processes"))
    );
    raw.service.sent(ClientId(2));
    assert!(raw.service.is_over(ClientId(2), false));
}

#[test]
fn who_floods_is_read_more_slowly_and_others_are_not() {
    let limits = ExchangeLimits::default();
    let mut raw = Raw::new(limits.clone());
    raw.service.connect(at(0), ClientId(2), 8);
    let (mut read, mut now) = (0, at(0));
    while now < at(1_000) {
        while raw.service.may_read(now, raw.id) {
            raw.say(now, &Request::Alive { echo: 0 });
            read += 1;
        }
        assert!(raw.service.may_read(now, ClientId(2)), "it has not said a word");
        let next = raw.service.next_timeout(now).expect("it is read again");
        assert!(next > now && next <= now + MS * 10);
        now = next;
    }
    let most = limits.messages_per_second + limits.burst;
    assert!((most * 9 / 10..=most + 1).contains(&read), "{read} messages in a second");
    assert!(raw.service.counters.held_back > 50);
    let said: Vec<String> = std::iter::from_fn(|| raw.service.lines.next()).collect();
    let flood = said.iter().filter(|line| line.contains("more than 1000 messages a second")).count();
    assert_eq!(flood, 1, "{said:?}");
}

/// Answers of a process that reads nothing do not pile up.
#[test]
fn who_does_not_read_hears_the_newest_state() {
    let mut raw = Raw::new(ExchangeLimits::default());
    raw.say(at(1), &join(0, "call", "active", 4.0));
    for number in 2..500 {
        let mut bytes = Vec::new();
        let update = update(0, number, f64::from(number), Some(f64::from(number) - 1.0));
        encode_request(&Request::Update(update), &mut bytes).expect("it fits");
        raw.service.receive(at(2), raw.id, &bytes);
        raw.service.receive(at(2), raw.id, &[b'F', b'S', 1, 4, 0, 0, 0, 0, 0, 0, 0, 1]);
    }
    let replies = raw.replies();
    let states = replies.iter().filter(|reply| matches!(reply, Reply::State(_))).count();
    assert_eq!((states, replies.len()), (1, 33), "32 signs of life, and the state");
    assert!(matches!(replies.last(), Some(Reply::State(State { number: 499, .. }))));
    assert!(raw.service.counters.unheard > 400);
}

#[test]
fn windows_are_shared_too_once_there_is_a_round_trip() {
    let mut raw = Raw::new(ExchangeLimits::default());
    let window = |flow, bytes, rtt| {
        let own = Assigned::Window(Bytes::new(bytes));
        let flow = FlowUpdate { own, taken: None, rtt, ..update(flow, 1, 1.0, None).flow };
        let (kind, settings) = ("etcp".into(), String::new());
        let update = Update { number: 1, flow };
        Request::Join(Join { group: group("call"), kind, settings, detection: None, update })
    };
    raw.say(at(1), &window(0, 50_000, Some(MS * 40)));
    let replies = raw.say(at(2), &window(1, 10_000, Some(MS * 40)));
    let given: Vec<_> = replies
        .iter()
        .filter_map(|reply| if let Reply::State(state) = reply { state.assigned } else { None })
        .collect();
    assert_eq!(given, [Assigned::Window(Bytes::new(25_000)); 2], "one connection's window in equal parts");
}

/// With a rate that the others keep each time, the sum would grow without any controller's doing.
#[test]
fn who_comes_and_goes_counts_once() {
    let mut raw = Raw::new(ExchangeLimits::default());
    raw.say(at(1), &join(0, "call", "active", 5.0));
    let sum = |raw: &mut Raw, now: Time| raw.state(now, &Request::Update(update(0, 2, 5.0, Some(5.0)))).sum;
    for time in 0..100 {
        raw.say(at(10 * time), &join(1, "call", "active", 10.0));
        assert!(sum(&mut raw, at(10 * time + 1)) <= Bitrate::from_mbps(20), "its 10 are at most half of it");
        raw.say(at(10 * time + 2), &Request::Leave { flow: 1 });
    }
    let all = sum(&mut raw, at(2_000));
    assert!(all > Bitrate::from_mbps(15), "the one who stays has it all");
    let back = raw.state(at(2_001), &join(1, "call", "active", 4.0));
    assert_eq!(back.sum, all);
    assert!(close(back.rate.as_mbps_f64(), all.as_mbps_f64() / 2.0), "it shares what there is: {back:?}");
    raw.say(at(2_002), &Request::Leave { flow: 1 });
    raw.say(at(13_000), &join(1, "call", "active", 4.0));
    let later = sum(&mut raw, at(13_001)).as_mbps_f64();
    assert!(close(later, all.as_mbps_f64() + 4.0), "after a while it is another flow's: {later}");
}

/// Both leave, as when the path is silent for a moment, and the second one holds the rates of both.
#[test]
fn a_group_that_all_leave_knows_for_a_while_what_was_left() {
    let mut raw = Raw::new(ExchangeLimits { groups: 1, ..Default::default() });
    for (back, sum) in [(at(40), 6.0), (at(20_000), 9.0)] {
        for flow in 0..2 {
            raw.say(at(1), &join(flow, "call", "active", 3.0));
        }
        raw.say(at(2), &Request::Leave { flow: 0 });
        let all = raw.state(at(3), &Request::Update(update(1, 2, 3.0, Some(3.0))));
        assert_eq!(all.assigned, Some(Assigned::Rate(Bitrate::from_mbps(6))));
        raw.say(at(4), &Request::Leave { flow: 1 });
        raw.say(back, &join(1, "call", "active", 6.0));
        let found = raw.state(back, &join(0, "call", "active", 3.0));
        assert!(close(found.sum.as_mbps_f64(), sum), "{found:?}");
        (0..2).for_each(|flow| drop(raw.say(back, &Request::Leave { flow })));
        // Another group takes its place, and so does another kind.
        raw.say(back, &join(0, "other", "active", 1.0));
        raw.say(back, &Request::Leave { flow: 0 });
    }
    assert_eq!(raw.state(at(20_001), &join(0, "other", "etcp", 1.0)).members, 1);
}
