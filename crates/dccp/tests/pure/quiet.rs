//! A receiving end says of an arrival whether anything follows from it.

use paceline_cc::ccid::CcidReceiver;
use paceline_cc::ccid::ccid2::{self, Ccid2};
use paceline_cc::ccid::ccid3::{self, Ccid3, Ccid3Receiver};
use paceline_cc::{Controller, FlowSetup, NoReceiverHalf};
use paceline_dccp::{CCID_2, CCID_3, Carried, Ccid, Ccids, DccpConfig, DccpReceiver, DccpSender, open_pair};
use paceline_ends::{Follows, PathFacts, ReceivingEnd, SendingEnd};
use paceline_media::{Bulk, BulkParams, PlayoutConfig, Source};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::dccp::{Packet, ServiceCode};
use proptest::prelude::*;
use std::collections::VecDeque;

const PACKET: Bytes = Bytes::new(1016);
const PAYLOAD: Bytes = Bytes::new(1000);
const WAY_BACK: TimeDelta = TimeDelta::from_millis(40);

/// The halves of one controller.
#[derive(Clone)]
struct Halves<C, R>(Ccid, C, Option<R>);

impl<C: Controller + Clone, R: CcidReceiver + Clone> Ccids for Halves<C, R> {
    type Sender = C;
    type Receiver = R;

    fn sender(&self, ccid: Ccid) -> Option<C> {
        (ccid == self.0).then(|| self.1.clone())
    }

    fn receiver(&self, ccid: Ccid) -> Option<R> {
        self.2.clone().filter(|_| ccid == self.0)
    }
}

fn ends<F: Ccids + Clone>(
    ccids: &F,
    ccid: Ccid,
    idle_timeout: Option<TimeDelta>,
) -> (DccpSender<F>, DccpReceiver<F>) {
    let bulk = BulkParams::for_payload(PAYLOAD);
    let carried = Carried {
        source: Source::Bulk(Bulk::new(bulk)),
        max_payload: PAYLOAD,
        rtp_header: Bytes::ZERO,
        discard_age: None,
    };
    let (send_ccids, receive_ccids) = (vec![ccid], vec![ccid]);
    let config = DccpConfig { send_ccids, receive_ccids, idle_timeout, ..DccpConfig::default() };
    let idle = ccids.sender(ccid).expect("there is one");
    let sender = DccpSender::new(&config, ccids.clone(), ServiceCode::RTP_VIDEO, idle, carried);
    let receiver = DccpReceiver::new(config, ccids.clone(), PlayoutConfig::IMMEDIATE);
    open_pair(Time::ZERO, sender, receiver)
}

/// Each step waits so many milliseconds, and does something to the packets that the sender has then. Answers of how many
/// arrivals it was said what follows.
fn check<F: Ccids + Clone>(
    (mut sender, mut receiver): (DccpSender<F>, DccpReceiver<F>),
    steps: &[(i64, u8)],
) -> Result<usize, TestCaseError> {
    let (mut now, mut known, mut late, mut back) = (Time::ZERO, 0, None, VecDeque::new());
    sender.start(now);
    for (wait, kind) in steps {
        now += TimeDelta::from_millis(*wait);
        if sender.next_timeout().is_some_and(|(due, _)| due <= now) {
            sender.handle_timeout(now);
        }
        while let Some((due, _)) = receiver.next_timeout().filter(|(due, _)| *due <= now) {
            receiver.handle_timeout(due);
            back.extend(answers(due, &mut receiver));
        }
        while back.front().is_some_and(|(at, _)| *at <= now) {
            back.pop_front().map(|(_, packet)| sender.receive(now, packet, Ecn::NotEct));
        }
        let mut packets: Vec<_> = late.take().into_iter().collect();
        packets.extend(sender.poll_transmit(now).map(|out| out.packet));
        match kind {
            0 => packets.clear(),
            1 => late = packets.pop(),
            2 => packets.extend(packets.clone().pop()),
            _ => {}
        }
        let ecn = if *kind == 3 { Ecn::Ce } else { Ecn::NotEct };
        for packet in packets {
            let said = match receiver.receive(now, packet, ecn, PathFacts::default()).follows {
                Follows::Timeout(due) => Some(due),
                Follows::Answer(due) => {
                    let answer = receiver.answer(now).map(|out| (now + WAY_BACK, out.packet));
                    prop_assert!(answer.is_some());
                    back.extend(answer);
                    Some(due)
                }
                Follows::Nothing | Follows::Unknown => None,
            };
            if let Some(said) = said {
                known += 1;
                prop_assert_eq!(receiver.next_timeout().map_or(Time::MAX, |(due, _)| due), said);
                prop_assert!(receiver.poll_displayed().is_none());
                prop_assert!(receiver.poll_transmit(now).is_none());
            }
            back.extend(answers(now, &mut receiver));
        }
    }
    Ok(known)
}

/// Packets that the receiver sends now, and when they arrive.
fn answers<F: Ccids + Clone>(now: Time, receiver: &mut DccpReceiver<F>) -> Vec<(Time, Packet)> {
    core::iter::from_fn(|| receiver.poll_transmit(now)).map(|out| (now + WAY_BACK, out.packet)).collect()
}

fn two() -> Halves<Ccid2, NoReceiverHalf> {
    Halves(CCID_2, Ccid2::new(&ccid2::Params::default(), &FlowSetup::new(PACKET)), None)
}

fn three(feedback_timer: bool) -> Halves<Ccid3, Ccid3Receiver> {
    let params = ccid3::Params { feedback_timer, ..ccid3::Params::default() };
    Halves(CCID_3, Ccid3::new(&params, &FlowSetup::new(PACKET)), Some(Ccid3Receiver::new(&params)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn what_is_said_to_follow_from_an_arrival_follows(
        steps in prop::collection::vec((0i64..40, 0u8..20), 1..300),
        (feedback_timer, idle) in any::<(bool, bool)>(),
    ) {
        let idle = idle.then_some(TimeDelta::from_secs(3));
        check(ends(&two(), CCID_2, idle), &steps)?;
        check(ends(&three(feedback_timer), CCID_3, idle), &steps)?;
    }
}

#[test]
fn of_most_arrivals_it_is_said_what_follows() {
    let steps = [(1, 10); 1000];
    for known in [check(ends(&two(), CCID_2, None), &steps), check(ends(&three(false), CCID_3, None), &steps)]
    {
        let known = known.expect("what was said follows");
        assert!((500..=1000).contains(&known), "{known}");
    }
}
