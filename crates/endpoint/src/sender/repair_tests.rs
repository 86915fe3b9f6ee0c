//! Packets that are sent again: by hand, over a path that loses, and whatever is asked for.

use super::tests::{at, controller, discarded, leaving};
use super::*;
use paceline_cc::AnyController;
use paceline_rtp::rtcp::{IncomingRepair, IncomingStream, NtpClock, ReceiverSession, RtcpConfig};
use paceline_units::TimeDelta;
use paceline_wire::ccfb::{self, ArrivalReport, Feedback, FeedbackBlock};
use paceline_wire::rtcp::nack;
use paceline_wire::{FeedbackFormat, rtp};
use std::collections::BTreeMap;
use std::sync::Arc;

type Sender = MediaSender<AnyController, Arc<[u8]>>;

const MEDIA: StreamId = StreamId(0);
const REPAIR: StreamId = StreamId(1);

fn rtcp(name: &str) -> RtcpConfig {
    RtcpConfig { reduced_size: true, ..RtcpConfig::new(name, NtpClock::default(), 1) }
}

/// A sender of one stream, SSRC 5, that is repaired by SSRC 6.
fn sender(kind: &str, config: &RepairConfig) -> Sender {
    let sender_config = SenderConfig::new(Bytes::new(1200));
    let mut sender = MediaSender::new(controller(kind), &sender_config);
    sender.number_from(65_534);
    sender.use_rtcp(rtcp("sender"), FeedbackFormat::Rfc8888);
    sender.use_repair();
    assert_eq!(sender.add_stream(at(0), &MediaStreamConfig::new(5)), Ok(MEDIA));
    assert_eq!(sender.repair(at(0), MEDIA, config), Ok(REPAIR));
    sender.start(at(0));
    sender
}

fn packet(frame: u64, size: usize) -> MediaPacket<Arc<[u8]>> {
    let payload = vec![frame as u8; size].into();
    MediaPacket::payload(frame, (96, frame as u32 * 3000, true), payload).expect("sound")
}

/// Sends so many packets of 1000 bytes, one each millisecond.
fn sent(sender: &mut Sender, packets: u64) {
    for n in 0..packets {
        sender.offer(at(n), MEDIA, packet(n, 1000));
        assert_eq!(all(sender, at(n)).len(), 1);
    }
}

fn all(sender: &mut Sender, now: Time) -> Vec<MediaTransmit<Arc<[u8]>>> {
    std::iter::from_fn(|| sender.poll_transmit(now)).collect()
}

fn bytes(packet: &MediaTransmit<Arc<[u8]>>) -> Vec<u8> {
    let mut bytes = vec![];
    packet.write(&mut bytes).expect("sound");
    assert_eq!(bytes.len() as u64, packet.size.as_u64());
    bytes
}

#[test]
fn a_retransmission_by_hand() {
    let mut sender = sender("none", &RepairConfig::new(6));
    let own = MediaPacket::payload(1, (96, 10, true), Arc::from([4, 5])).expect("sound");
    sender.offer(at(0), MEDIA, own.with_element(3, &[0xbb, 0xcc]).expect("it fits"));
    let first = bytes(&all(&mut sender, at(0))[0]);
    let tail = [0xbe, 0xde, 0, 1, 0x31, 0xbb, 0xcc, 0];
    assert_eq!(first, [&[0x90, 0xe0, 0xff, 0xfe, 0, 0, 0, 10, 0, 0, 0, 5][..], &tail, &[4, 5]].concat());
    let mut asked = vec![];
    nack::encode((77, 5), [65_534], &mut asked);
    sender.receive_rtcp(at(40), &asked, Ecn::NotEct);
    let again = all(&mut sender, at(40));
    assert_eq!((again[0].stream, again[0].ssrc, again[0].sequence), (REPAIR, 6, 65_534));
    let head = [0x90, 0xe1, 0xff, 0xfe, 0, 0, 0, 10, 0, 0, 0, 6];
    assert_eq!(bytes(&again[0]), [&head[..], &tail, &[0xff, 0xfe, 4, 5]].concat(), "RFC 4588 section 4");
    assert_eq!(again[0].media.as_ref().and_then(MediaPacket::original_number), Some(65_534));
    let counters = sender.repair_counters();
    assert_eq!((counters.asked, counters.resent, counters.resent_bytes), (1, 1, 24));
    assert_eq!((sender.counters().sent, sender.counters().offered), (1, 1), "it is no media");
}

#[test]
fn the_largest_packet_fits_when_it_is_sent_again() {
    let mut sender = sender("none", &RepairConfig::new(6));
    sender.offer(at(0), MEDIA, packet(0, 1199));
    assert!(all(&mut sender, at(0)).is_empty(), "without room for the original number");
    assert_eq!(sender.poll_discarded().map(|packet| packet.reason), Some(DiscardReason::TooLarge));
    sender.offer(at(0), MEDIA, packet(0, 1198));
    assert_eq!(all(&mut sender, at(0))[0].size, Bytes::new(1210));
    sender.on_nack(at(1), MEDIA, [65_534]);
    assert_eq!(all(&mut sender, at(1))[0].size, Bytes::new(1212));
}

/// RTX for what was never sent, and all else that cannot be sent again: counted, and nothing else changes.
#[test]
fn what_cannot_be_sent_again_is_counted_and_changes_nothing_else() {
    let mut sender = sender("scream", &RepairConfig::new(6));
    sender.offer(at(0), MEDIA, packet(0, 500));
    let other = MediaPacket::payload(0, (98, 0, true), Arc::from([1u8; 500])).expect("sound");
    sender.offer(at(0), MEDIA, other);
    assert_eq!([at(0), at(100)].map(|now| all(&mut sender, now).len()), [1, 1]);
    let state = |sender: &Sender| (format!("{:?}", sender.end().controller()), sender.next_timeout());
    let before = state(&sender);
    sender.on_nack(at(100), MEDIA, [0, 1, 30_000, 65_533]);
    let counters = sender.repair_counters();
    assert_eq!((counters.never_sent, counters.not_kept), (3, 1), "beyond the newest; before the first");
    sender.on_nack(at(100), MEDIA, [65_535]);
    assert_eq!(sender.repair_counters().not_kept, 2, "of another payload type");
    sender.on_nack(at(100), REPAIR, [65_534]);
    sender.on_nack(at(100), StreamId(9), [65_534]);
    assert_eq!(sender.repair_counters().never_sent, 5);
    sender.on_nack(at(1101), MEDIA, [65_534]);
    assert_eq!(sender.repair_counters().not_kept, 3, "older than a second");
    assert_eq!(state(&sender), before);
    let mut foreign = vec![];
    nack::encode((77, 8), [65_534], &mut foreign);
    sender.receive_rtcp(at(1101), &foreign, Ecn::NotEct);
    assert_eq!((sender.rtcp_counters().unknown_ssrc, state(&sender)), (1, before));
    assert!(all(&mut sender, at(1101)).is_empty());
}

#[test]
fn what_is_kept_is_bounded_by_bytes_and_by_time() {
    let few = RepairConfig { keep_bytes: Bytes::new(10_000), ..RepairConfig::new(6) };
    let mut sender = sender("none", &few);
    sent(&mut sender, 100);
    let asked = |sender: &mut Sender, now, place: u64| {
        sender.on_nack(now, MEDIA, [(65_534 + place) as u16]);
        (sender.repair_counters().resent, sender.repair_counters().not_kept)
    };
    assert_eq!(asked(&mut sender, at(100), 90), (0, 1), "nine packets of 1012 B are 10 kB");
    assert_eq!(asked(&mut sender, at(100), 91), (1, 1));
    sender.offer(at(5000), MEDIA, packet(0, 10));
    let _ = all(&mut sender, at(5000));
    assert_eq!(asked(&mut sender, at(5000), 99), (1, 2), "older than a second");
    assert_eq!(asked(&mut sender, at(5000), 100), (2, 2));
}

/// However much is asked for, retransmissions take no more than their share of the media's bytes, and 20 kB.
#[test]
fn a_storm_of_nacks_costs_its_share_and_no_more() {
    let mut sender = sender("none", &RepairConfig::new(6));
    let (mut media, mut again) = (0, 0);
    for n in 0..10_000u64 {
        sender.offer(at(n), MEDIA, packet(n, 1000));
        let newest = (65_534 + n) as u16;
        sender.on_nack(at(n), MEDIA, (0..300).map(|back| newest.wrapping_sub(back)));
        for packet in all(&mut sender, at(n)) {
            *if packet.stream == MEDIA { &mut media } else { &mut again } += packet.size.as_u64();
        }
    }
    let bound = media / 4 + 20_000;
    assert!(again > bound * 9 / 10 && again <= bound, "{again} of at most {bound}");
    let counters = sender.repair_counters();
    assert_eq!(counters.asked, 3_000_000);
    assert!(counters.over_share > 0 && counters.too_soon > 0, "{counters:?}");
}

#[test]
fn a_stream_leaves_with_its_retransmissions() {
    let mut sender = sender("none", &RepairConfig::new(6));
    sent(&mut sender, 2);
    assert_eq!(sender.repair(at(2), MEDIA, &RepairConfig::new(7)), Err(StreamError::Repair(MEDIA)));
    assert_eq!(sender.add_stream(at(2), &MediaStreamConfig::new(6)), Err(StreamError::SsrcTaken(6)));
    sender.on_nack(at(2), MEDIA, [65_534, 65_535]);
    sender.remove_stream(at(2), MEDIA).expect("it is there");
    assert!(
        all(&mut sender, at(2)).is_empty() && sender.poll_discarded().is_none(),
        "nobody offered the copies"
    );
    assert_eq!(sender.repair_counters().discarded, 2);
    assert_eq!((sender.stream_of(5), sender.stream_of(6)), (None, None));
    sender.on_nack(at(3), MEDIA, [65_534]);
    assert_eq!(sender.repair_counters().not_kept, 1, "of a stream that was removed");
    assert!(sender.add_stream(at(3), &MediaStreamConfig::new(6)).is_ok());
}

#[test]
fn retransmissions_leave_first_and_take_no_share_of_the_target() {
    for kind in ["scream", "gcc", "urcp", "none"] {
        let mut plain = super::tests::sender(kind, &[MediaStreamConfig::new(5)]);
        let mut sender = sender(kind, &RepairConfig::new(6));
        let (own, whole) = (sender.target(MEDIA), plain.target(MEDIA));
        let of = |target: Option<Bitrate>| target.map_or(0.0, Bitrate::as_bps_f64);
        assert!(of(own) >= 0.998 * of(whole), "{kind}: {own:?} of {whole:?}");
        assert_eq!(sender.target(REPAIR), Some(Bitrate::ZERO), "{kind}");
        assert!(leaving(&mut plain, at(0)).is_empty() && discarded(&mut plain).is_empty());
        sent(&mut sender, 1);
        for n in 1..4 {
            sender.offer(at(n), MEDIA, packet(n, 1000));
        }
        sender.on_nack(at(5), MEDIA, [65_534]);
        let mut order = vec![];
        for millis in 5..2000 {
            sender.handle_timeout(at(millis));
            order.extend(all(&mut sender, at(millis)).into_iter().map(|packet| packet.stream));
        }
        assert_eq!(order.first(), Some(&REPAIR), "{kind}: {order:?}");
    }
}

/// A path of `delay` each way that loses every packet of which `loses` says so.
struct Call {
    sender: Sender,
    receiver: ReceiverSession,
    there: Vec<(Time, Vec<u8>)>,
    back: Vec<(Time, Vec<u8>)>,
    arrivals: BTreeMap<u32, BTreeMap<u64, Time>>,
    /// Frames that are there whole, and when.
    whole: BTreeMap<u8, Time>,
    restored: u64,
}

const DELAY: TimeDelta = TimeDelta::from_millis(30);

impl Call {
    fn new(kind: &str) -> Call {
        let mut receiver = ReceiverSession::new(rtcp("receiver"), 77);
        let repair = Some(IncomingRepair::new(6));
        assert!(receiver.add_stream(IncomingStream { repair, ..IncomingStream::new(5) }));
        Call {
            sender: sender(kind, &RepairConfig::new(6)),
            receiver,
            there: vec![],
            back: vec![],
            arrivals: BTreeMap::new(),
            whole: BTreeMap::new(),
            restored: 0,
        }
    }

    /// A millisecond.
    fn step(&mut self, now: Time, loses: &mut impl FnMut() -> bool) {
        self.sender.handle_timeout(now);
        for packet in all(&mut self.sender, now) {
            if !loses() {
                self.there.push((now + DELAY, bytes(&packet)));
            }
        }
        let mut out = vec![];
        while self.sender.poll_rtcp(now, &mut out) {
            self.there.push((now + DELAY, std::mem::take(&mut out)));
        }
        for (_, bytes) in self.there.extract_if(.., |(due, _)| *due <= now) {
            let Ok(view) = rtp::decode(&bytes) else {
                self.receiver.on_rtcp(now, &bytes);
                continue;
            };
            let came = self.receiver.on_rtp(now, &view, Ecn::NotEct);
            let number = u64::from(view.header.sequence);
            let number = if view.header.sequence < 30_000 { number + 65_536 } else { number };
            self.arrivals.entry(view.header.ssrc).or_default().entry(number).or_insert(now);
            if let Some(came) = came.filter(|came| came.first) {
                assert_eq!((came.packet.header.ssrc, came.packet.header.payload_type), (5, 96));
                assert!(came.packet.payload.iter().all(|byte| *byte == came.packet.payload[0]));
                self.restored += u64::from(came.repaired);
                assert_eq!(self.whole.insert(came.packet.payload[0], now), None, "each is there once");
            }
        }
        while self.receiver.poll_transmit(now, &mut out) {
            self.back.push((now + DELAY, std::mem::take(&mut out)));
        }
        if now.as_nanos().is_multiple_of(20_000_000) {
            self.report(now);
        }
        for (_, bytes) in self.back.extract_if(.., |(due, _)| *due <= now) {
            self.sender.receive_rtcp(now, &bytes, Ecn::NotEct);
        }
    }

    /// RFC 8888 on both streams, of all that came.
    fn report(&mut self, now: Time) {
        let mut feedback = Feedback { written: now, ..Feedback::default() };
        for (ssrc, arrivals) in &self.arrivals {
            let (Some((begin, _)), Some((end, _))) = (arrivals.first_key_value(), arrivals.last_key_value())
            else {
                continue;
            };
            let begin = (*begin).max(end.saturating_sub(200));
            let of = |number: u64| match arrivals.get(&number) {
                Some(at) => ArrivalReport::Received { at: Some(*at), ecn: Ecn::NotEct },
                None => ArrivalReport::Missing,
            };
            feedback.arrivals.extend((begin..=*end).map(of));
            let (stream, count) = (StreamId((*ssrc - 5) as u8), (end - begin + 1) as u32);
            feedback.blocks.push(FeedbackBlock { stream, begin, count });
        }
        let mut out = vec![];
        if !feedback.blocks.is_empty() {
            ccfb::encode(&feedback, 77, |stream| 5 + u32::from(stream.0), &mut out).expect("it fits");
            self.back.push((now + DELAY, out));
        }
    }
}

#[test]
fn what_a_path_loses_is_there_a_round_trip_later() {
    for kind in ["none", "scream"] {
        let mut call = Call::new(kind);
        let mut n = 0u32;
        // One in ten, retransmissions in.
        let mut loses = || {
            n += 1;
            n.wrapping_mul(2_654_435_761) >> 16 & 0xffff < 6554
        };
        let (frames, apart) = (200u64, 25);
        for millis in 0..frames * apart + 600 {
            if millis % apart == 0 && millis / apart < frames {
                call.sender.offer(at(millis), MEDIA, packet(millis / apart, 1000));
            }
            call.step(at(millis), &mut loses);
        }
        // Nobody misses a packet that is lost at the very end.
        assert!(call.whole.len() as u64 >= frames - 1, "{kind}: {} of {frames}", call.whole.len());
        let late = |(frame, came): (&u8, &Time)| came.saturating_since(at(u64::from(*frame) * apart));
        let longest = call.whole.iter().map(late).max().expect("some came");
        assert!(longest < TimeDelta::from_millis(400), "{kind}: {longest:?}");
        let (ours, theirs) = (call.sender.repair_counters(), call.receiver.counters());
        assert!((12..=40).contains(&call.restored), "{kind}: {}", call.restored);
        assert_eq!(theirs.restored, call.restored);
        assert_eq!(
            (theirs.useless_repairs, ours.never_sent, ours.not_kept),
            (0, 0, 0),
            "{kind}: {ours:?} {theirs:?}"
        );
        assert_eq!((theirs.malformed, call.sender.rtcp_counters().malformed), (0, 0));
        assert_eq!(
            call.sender.sender_counters().unknown_reports,
            0,
            "{kind}: reports on retransmissions are known"
        );
    }
}

#[test]
fn after_the_deadline_nobody_asks() {
    let mut call = Call::new("none");
    let mut dead = 0;
    for millis in 0..3000u64 {
        if millis % 10 == 0 && millis < 1000 {
            call.sender.offer(at(millis), MEDIA, packet(millis / 10, 1000));
        }
        // Retransmissions never arrive, and one packet in five does not.
        let again = call.sender.repair_counters().resent;
        call.step(at(millis), &mut || {
            dead += 1;
            dead % 5 == 0
        });
        call.there.retain(|(_, bytes)| bytes.get(11) != Some(&6));
        assert!(call.sender.repair_counters().resent >= again);
    }
    let theirs = call.receiver.counters();
    assert!(theirs.gave_up >= 15 && theirs.restored == 0, "{theirs:?}");
    assert!(theirs.asked <= theirs.gave_up * 4, "each a few times: {theirs:?}");
    assert_eq!(
        call.receiver.next_timeout().map(|due| due > at(3000)),
        Some(true),
        "only the next report waits"
    );
}
