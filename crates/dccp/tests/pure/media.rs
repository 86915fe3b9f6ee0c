//! RTP in datagrams (RFC 5762 section 4.1): numbers, frames, and what is discarded.

use super::net::ms;
use super::standin::StandIns;
use paceline_cc::StreamId;
use paceline_dccp::{CCID_2, Carried, Ccids, DccpConfig, DccpReceiver, DccpSender, open_pair};
use paceline_ends::{PathFacts, ReceivingEnd, SendingEnd};
use paceline_media::{Cbr, CbrParams, FrameRate, PlayoutConfig, Source};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use paceline_wire::dccp::{Payload, RtpDatagram, ServiceCode};

/// Frames of 2500 B every 40 ms, in datagrams of 1000 B of media.
fn ends() -> (DccpSender<StandIns>, DccpReceiver<StandIns>) {
    let fps = FrameRate::from_fps_f64(25.0).expect("a rate");
    let cbr = CbrParams { rate: Bitrate::from_kbps(500), fps: Some(fps), adaptive: false };
    let carried = Carried {
        source: Source::Cbr(Cbr::new(cbr)),
        max_payload: Bytes::new(1000),
        rtp_header: Bytes::new(12),
        discard_age: Some(TimeDelta::from_millis(100)),
    };
    let idle = StandIns.sender(CCID_2).expect("there is one");
    let config = DccpConfig { sequence_window: 2000, ..DccpConfig::default() };
    let sender = DccpSender::new(&config, StandIns, ServiceCode::RTP_VIDEO, idle, carried);
    let receiver = DccpReceiver::new(config, StandIns, PlayoutConfig::IMMEDIATE);
    open_pair(Time::ZERO, sender, receiver)
}

/// Sends until `end`; what arrives does so at once, and what comes back does if `answered`.
fn run(end: Time, answered: bool) -> (Vec<RtpDatagram>, DccpSender<StandIns>, DccpReceiver<StandIns>) {
    let (mut sender, mut receiver) = ends();
    let mut sent = Vec::new();
    sender.start(Time::ZERO);
    let mut now = Time::ZERO;
    while now <= end {
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        loop {
            let there = sender.poll_transmit(now);
            let back = receiver.poll_transmit(now);
            if there.is_none() && back.is_none() {
                break;
            }
            if let Some(out) = there {
                if let Payload::Rtp(rtp) = out.packet.payload {
                    assert_eq!(out.packet.size(), out.size);
                    sent.push(rtp);
                }
                receiver.receive(now, out.packet, Ecn::NotEct, PathFacts::default());
            }
            if let (Some(back), true) = (back, answered) {
                sender.receive(now, back.packet, Ecn::NotEct);
            }
        }
        let due = [sender.next_timeout(), receiver.next_timeout()].into_iter().flatten().map(|(due, _)| due);
        now = due.min().expect("a source goes on").max(now);
    }
    (sent, sender, receiver)
}

fn numbers(sent: &[RtpDatagram]) -> Vec<u64> {
    sent.iter().map(|rtp| rtp.sequence).collect()
}

#[test]
fn a_frame_becomes_datagrams_that_say_where_it_begins_and_ends() {
    let (sent, sender, mut receiver) = run(ms(979), true);
    assert_eq!(numbers(&sent), (0..75).collect::<Vec<_>>());
    for (frame, packets) in sent.chunks(3).enumerate() {
        let seen: Vec<_> = packets.iter().map(|rtp| (rtp.media, rtp.first, rtp.marker)).collect();
        assert_eq!(seen, [(1000, Some(true), false), (1000, Some(false), false), (500, Some(false), true)]);
        assert!(packets.iter().all(|rtp| rtp.captured == ms(40 * frame as u64) && rtp.header == 12));
        let (_, shown) = receiver.poll_displayed().expect("it is complete");
        assert_eq!((shown.captured, shown.bytes), (packets[0].captured, Bytes::new(2500)));
    }
    assert_eq!((receiver.poll_displayed(), receiver.playout().incomplete), (None, 0));
    assert_eq!((sender.frames().captured, sender.frames().discarded), (25, 0));
    assert_eq!(sender.newest_frame(StreamId(0)), Some(Bytes::new(2500 + 3 * 28)));
}

#[test]
fn what_is_discarded_leaves_no_gap_in_the_numbers() {
    let (sent, sender, receiver) = run(ms(10_000), false);
    // Nothing comes back: a window of 4, and a packet more after each timeout.
    assert!((8..30).contains(&sent.len()), "{}", sent.len());
    assert_eq!(numbers(&sent), (0..sent.len() as u64).collect::<Vec<_>>());
    let counters = sender.connection().counters();
    assert_eq!(sender.frames().discarded, counters.discarded_frames);
    // All that waited 100 ms goes: no more is left than is captured in that time.
    let waiting = sender.send_queue_bytes(StreamId(0)).as_u64().div_ceil(2500 + 3 * 28);
    assert!(waiting <= 4, "{waiting}");
    let (shown, mut cut) = (receiver.playout().displayed, receiver.playout().incomplete);
    receiver.waiting(&mut |_, _| cut += 1);
    let discarded = sender.frames().discarded;
    assert!(cut > 0, "a packet of theirs left, and the others were discarded");
    assert_eq!(sender.frames().captured, shown + cut + discarded + waiting, "each has one end");
}
