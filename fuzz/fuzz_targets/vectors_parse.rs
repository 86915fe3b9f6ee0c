//! Connection vectors in both of Tmix's formats: any bytes are read or refused, what is read is written again, and two ends
//! play it over a network that loses some of it.
#![cfg_attr(fuzzing, no_main)]

use paceline_cc::FlowSetup;
use paceline_cc::reno::{Params, Reno};
use paceline_ends::{PathFacts, ReceivingEnd, SendingEnd};
use paceline_media::ConnectionVectors;
use paceline_media::vectors::Side;
use paceline_tcp::TcpConfig;
use paceline_tcp::conversations::{
    ConversationsConfig, ConversationsReceiver, ConversationsSender, RttUse, Schedule,
};
use paceline_units::{Time, TimeDelta};

paceline_fuzz::target!(vectors_parse);

fn vectors_parse(data: &[u8]) {
    let vectors = match ConnectionVectors::parse(data) {
        Ok(vectors) => vectors,
        Err(error) => {
            let lines = data.split(|byte| matches!(byte, b'\n' | b'\r')).count().max(1);
            assert!(error.line.is_none_or(|line| line <= lines), "{error}");
            return assert!(!error.found.is_empty() && !error.expected.is_empty());
        }
    };
    assert!(!vectors.is_empty() && vectors.is_sorted_by_key(|vector| vector.start));
    let text = vectors.to_text();
    let again = ConnectionVectors::parse(text.as_bytes()).expect("what is written is right");
    // Loss ratios are written with six digits.
    assert!(again.to_text() == text && again.warnings().is_empty(), "{text}");
    assert_eq!((again.len(), again.payload()), (vectors.len(), vectors.payload()));
    play(vectors, data.len() as u64);
}

/// Two thousand steps of both ends, of which one in eleven loses its packet.
fn play(vectors: ConnectionVectors, seed: u64) {
    let tcp = TcpConfig::default();
    let controller = Reno::new(&Params::default(), &FlowSetup::new(tcp.packet_size));
    let [_, said] = vectors.payload();
    let config = ConversationsConfig {
        vectors,
        sending: Side::Acceptor,
        rtt: RttUse::Whole,
        path_rtt: TimeDelta::ZERO,
        loss: None,
        schedule: Schedule { start: Time::ZERO, pauses: Vec::new(), stop: Time::MAX },
    };
    let mut sender = ConversationsSender::new(controller.clone(), &tcp, config.clone());
    let mut receiver = ConversationsReceiver::new(controller, &tcp, config);
    let (mut now, mut heard) = (Time::ZERO, 0);
    for step in 0..2000 {
        let lost = (step + seed).is_multiple_of(11);
        if let Some(out) = sender.poll_transmit(now) {
            let arrived = |receiver: &mut ConversationsReceiver<Reno>| {
                receiver.receive(now, out.packet, out.ecn, PathFacts::default()).payload.as_u64()
            };
            heard += if lost { 0 } else { arrived(&mut receiver) };
            continue;
        }
        if let Some(out) = receiver.poll_transmit(now) {
            let _ = if lost { None } else { sender.receive(now, out.packet, out.ecn) };
            continue;
        }
        let due = [sender.next_timeout(), receiver.next_timeout()].map(|due| due.map(|(at, _)| at));
        let Some(next) = due.into_iter().flatten().min() else { break };
        now = now.max(next);
        if due[0] == Some(next) {
            sender.handle_timeout(now);
        } else {
            receiver.handle_timeout(now);
        }
    }
    assert!(heard <= said.as_u64(), "{heard} B of {said:?}");
}
