//! Both ends of a call of ready-made media, datagrams between them, and what either makes of hostile ones.

use super::*;
use paceline_cc::{AnyController, ControllerParams, StreamId};
use paceline_rtp::rtcp::{IncomingStream, Picture, ReceiverEvent, RtcpEvent};
use paceline_units::{Bitrate, Ecn, RandomStream, Time, TimeDelta};
use paceline_wire::{rtp, twcc};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

type Sender = MediaSender<AnyController, Arc<[u8]>>;

const STEP: TimeDelta = TimeDelta::from_millis(1);
const DELAY: TimeDelta = TimeDelta::from_millis(20);

/// The next datagram on its way that is there now.
fn arrived(way: &mut VecDeque<(Time, Vec<u8>)>, now: Time) -> Option<Vec<u8>> {
    way.front().filter(|(at, _)| *at <= now)?;
    way.pop_front().map(|(_, datagram)| datagram)
}

/// Two ends, a link of so many bytes in a millisecond between them, and the way back.
struct Call {
    sender: Sender,
    receiver: MediaReceiver,
    /// The clock's reading when the call begins.
    zero: Time,
    now: Time,
    bytes_per_ms: u64,
    free: Time,
    ways: [VecDeque<(Time, Vec<u8>)>; 2],
    /// Whether the packet that leaves with this count is lost.
    lost: fn(u64) -> bool,
    left: u64,
    /// Numbers that came, by SSRC, and how many of them retransmissions restored.
    came: BTreeMap<u32, Vec<u64>>,
    restored: u64,
}

impl Call {
    fn new(sender: &[Setting<'_>], receiver: &[Setting<'_>]) -> Call {
        let settings = sender.iter().chain(&[("target_bitrate_max", "20Mbps")]).copied();
        Call::between(Sender::configured("scream", None, settings).expect("sound"), receiver)
    }

    fn between(sender: Sender, receiver: &[Setting<'_>]) -> Call {
        Call::beginning_at(Time::ZERO, sender, receiver)
    }

    fn beginning_at(zero: Time, mut sender: Sender, receiver: &[Setting<'_>]) -> Call {
        sender.start(zero);
        Call {
            sender,
            receiver: MediaReceiver::configured(receiver.iter().copied()).expect("sound"),
            zero,
            now: zero,
            bytes_per_ms: 625,
            free: zero,
            ways: [VecDeque::new(), VecDeque::new()],
            lost: |_| false,
            left: 0,
            came: BTreeMap::new(),
            restored: 0,
        }
    }

    /// A stream joins at both ends.
    fn join(&mut self, ssrc: u32, repaired: bool) -> StreamId {
        let (own, rtx) = (ssrc.to_string(), (ssrc + 1).to_string());
        let settings = [("ssrc", &own[..]), ("rtx_ssrc", &rtx[..])];
        let settings = &settings[..1 + usize::from(repaired)];
        self.receiver.add_configured(settings.iter().copied()).expect("there is room");
        self.sender.add_configured(self.now, settings.iter().copied()).expect("there is room")
    }

    /// A stream joins at the sender, of which nobody tells the receiver.
    fn join_unannounced(&mut self, ssrc: u32) -> StreamId {
        self.sender.add_configured(self.now, [("ssrc", &ssrc.to_string()[..])]).expect("there is room")
    }

    /// One millisecond; each 20 ms every stream has a frame of its target.
    fn step(&mut self, streams: &[StreamId]) {
        let now = self.now;
        let since = (now - self.zero).as_nanos() as u64;
        if since.is_multiple_of(20_000_000) {
            let frame = since / 20_000_000;
            for id in streams {
                let size = self.sender.target(*id).expect("it is there").bytes_in(DELAY).as_u64();
                for at in (0..size.max(1)).step_by(1000) {
                    let last = at + 1000 >= size;
                    let payload = vec![frame as u8; (size - at).min(1000) as usize + 1].into();
                    let packet = MediaPacket::payload(frame, (96, frame as u32 * 1800, last), payload);
                    self.sender.offer(now, *id, packet.expect("sound"));
                }
            }
        }
        self.sender.handle_timeout(now);
        let mut bytes = Vec::new();
        while self.sender.poll_rtcp(now, &mut bytes) {
            self.ways[0].push_back((now + DELAY, std::mem::take(&mut bytes)));
        }
        while let Some(sent) = self.sender.poll_transmit(now) {
            sent.write(&mut bytes).expect("sound");
            self.left += 1;
            self.free = self.free.max(now) + STEP * bytes.len() as i64 / self.bytes_per_ms as i64;
            let datagram = std::mem::take(&mut bytes);
            if !(self.lost)(self.left) {
                self.ways[0].push_back((self.free + DELAY, datagram));
            }
        }
        while let Some(datagram) = arrived(&mut self.ways[0], now) {
            if let Some(came) = self.receiver.receive(now, &datagram, Ecn::NotEct).filter(|came| came.first) {
                self.came.entry(came.packet.header.ssrc).or_default().push(came.number);
                self.restored += u64::from(came.repaired);
            }
        }
        while self.receiver.poll_transmit(now, &mut bytes) {
            assert!(bytes.len() <= 1200);
            self.ways[1].push_back((now + DELAY, std::mem::take(&mut bytes)));
        }
        while let Some(datagram) = arrived(&mut self.ways[1], now) {
            self.sender.receive_rtcp(now, &datagram, Ecn::NotEct);
        }
        self.now = now + STEP;
    }

    fn run(&mut self, seconds: u64, streams: &[StreamId]) {
        (0..seconds * 1000).for_each(|_| self.step(streams));
    }

    fn target(&self, id: StreamId) -> f64 {
        self.sender.target(id).map_or(0.0, Bitrate::as_mbps_f64)
    }
}

#[test]
fn reports_of_either_format_and_agreement_steer_the_target() {
    for (format, reduced) in [("rfc8888", "false"), ("rfc8888", "true"), ("twcc", "false"), ("twcc", "true")]
    {
        let settings = [("format", format), ("reduced_size", reduced)];
        let mut call = Call::new(&settings, &settings);
        let id = call.join(500, false);
        call.run(20, &[id]);
        let at_five = call.target(id);
        assert!((3.0..5.2).contains(&at_five), "{format}: {at_five} Mbit/s on a link of 5");
        call.bytes_per_ms = 125;
        call.run(15, &[id]);
        let at_one = call.target(id);
        assert!((0.4..1.1).contains(&at_one), "{format}: {at_one} Mbit/s on a link of 1");
        let counters = call.sender.rtcp_counters();
        assert_eq!((counters.malformed, counters.unknown_ssrc, counters.impossible), (0, 0, 0), "{format}");
        assert_eq!(call.sender.sender_counters().unknown_reports, 0, "{format}");
        let reports = call.receiver.counters();
        assert_eq!((reports.malformed, reports.unreported), (0, 0), "{format}");
        assert!(reports.packets > 5000 && reports.reports > 1000, "{reports:?}");
        let heard = call.sender.heard(id).and_then(|heard| heard.round_trip).expect("regular reports come");
        assert!(heard >= DELAY * 2, "{heard:?}");
    }
}

/// A call of transport-wide reports on a link of 5 Mbit/s, under a controller of which `target_bitrate_max` is 20 Mbit/s.
fn transport_wide(controller: &str) -> Call {
    reported_by("twcc", controller)
}

fn reported_by(format: &str, controller: &str) -> Call {
    let settings = [("format", format), ("target_bitrate_max", "20Mbps")];
    Call::between(Sender::configured(controller, None, settings).expect("sound"), &settings[..1])
}

/// Sum of the streams' targets in Mbit/s. Every report names a stream of the sender.
fn targets(call: &Call, streams: &[StreamId]) -> f64 {
    assert_eq!(call.sender.rtcp_counters().unknown_ssrc, 0);
    streams.iter().map(|id| call.target(*id)).sum()
}

/// Reports of either format tell of all that arrives: packets whose stream nobody announced, too.
#[test]
fn reports_count_streams_that_nobody_announced() {
    let formats = ["twcc", "rfc8888"];
    for (format, controller) in
        formats.into_iter().flat_map(|of| [(of, "gcc"), (of, "scream"), (of, "tempo")])
    {
        let mut call = reported_by(format, controller);
        let streams = [call.join(500, false), call.join(600, false)];
        call.run(20, &streams);
        let announced = targets(&call, &streams);
        assert!(announced > 1.0, "{format}, {controller}: {announced} Mbit/s on a link of 5");
        let expect_same = |call: &Call, streams: &[StreamId], what: &str| {
            assert_eq!(call.sender.sender_counters().unknown_reports, 0, "{what}");
            let found = targets(call, streams);
            let ratio = found / announced;
            assert!(
                (0.7..1.5).contains(&ratio),
                "{format}, {controller}, {what}: {found} Mbit/s, not {announced}"
            );
        };

        let mut call = reported_by(format, controller);
        let streams = [call.join(500, false), call.join_unannounced(600)];
        call.run(20, &streams);
        expect_same(&call, &streams, "half of the packets are of another stream");
        assert_eq!(call.came.keys().collect::<Vec<_>>(), [&500], "what is not expected is not delivered");
        assert!(call.receiver.rtcp_counters().unknown_ssrc > 1000);

        let mut call = reported_by(format, controller);
        let streams = [call.join_unannounced(600)];
        call.run(15, &streams);
        call.receiver.add_configured([("ssrc", "600")]).expect("there is room");
        call.run(5, &streams);
        expect_same(&call, &streams, "signalling comes late");

        let mut call = reported_by(format, controller);
        let streams = [call.join(500, false)];
        call.run(10, &streams);
        call.sender.set_ssrc(call.now, streams[0], 700).expect("it is free");
        call.run(10, &streams);
        expect_same(&call, &streams, "the stream has another SSRC");

        let mut call = reported_by(format, controller);
        let streams = [call.join(500, false), call.join(600, false)];
        call.run(10, &streams);
        call.sender.remove_stream(call.now, streams[0]).expect("it is there");
        call.run(10, &streams[1..]);
        expect_same(&call, &streams[1..], "the first stream left");

        let mut call = reported_by(format, controller);
        let streams = [call.join(500, false), call.join(600, false)];
        call.run(5, &streams);
        assert!(call.receiver.remove_stream(600));
        call.run(15, &streams);
        expect_same(&call, &streams, "the receiver lets one go that sends on");
    }
}

/// A stranger who knows no SSRC leads transport-wide numbers nowhere while a stream that is expected says where they are.
#[test]
fn strangers_do_not_lead_transport_wide_numbers_astray() {
    for controller in ["gcc", "scream"] {
        let mut alone = transport_wide(controller);
        let id = alone.join(500, false);
        alone.run(20, &[id]);
        let mut call = transport_wide(controller);
        let id = call.join(500, false);
        let mut draws = RandomStream::new(7, controller);
        let mut datagram = Vec::new();
        call.run(1, &[id]);
        for millis in 1000..20_000u32 {
            // In pairs of consecutive numbers, each from another SSRC: what two in a row say is believed of a stream.
            let (ssrc, number) = (draws.next_u64() as u32, draws.next_u64() as u16);
            for more in 0..2 {
                let number = number.wrapping_add(more);
                let header = rtp::RtpHeaderFields {
                    payload_type: 96,
                    ssrc,
                    sequence: number,
                    timestamp: millis,
                    marker: false,
                };
                datagram.clear();
                rtp::encode_extended(&header, &twcc::extension(5, number), 100, 0, &mut datagram)
                    .expect("sound");
                assert_eq!(call.receiver.receive(call.now, &datagram, Ecn::NotEct), None);
            }
            call.step(&[id]);
        }
        let (found, expected) = (targets(&call, &[id]), targets(&alone, &[id]));
        assert!((0.8..1.2).contains(&(found / expected)), "{controller}: {found} Mbit/s, not {expected}");
        assert_eq!(call.receiver.rtcp_counters().unknown_ssrc, 38_000);
    }
}

/// A receiver that left reports no more, whoever goes on sending.
#[test]
fn a_receiver_that_left_says_nothing_of_strangers() {
    for format in ["twcc", "rfc8888"] {
        let mut call = reported_by(format, "gcc");
        let id = call.join_unannounced(600);
        call.run(1, &[id]);
        let before = call.receiver.counters().reports;
        assert!(before > 1);
        call.receiver.leave();
        call.run(2, &[id]);
        assert_eq!((call.receiver.counters().reports, call.receiver.next_timeout()), (before, None));
    }
}

/// Made-up streams take no place from those that somebody tells of.
#[test]
fn strangers_take_no_place_of_a_stream() {
    let mut call = reported_by("rfc8888", "scream");
    let mut datagram = Vec::new();
    for ssrc in 10_000..12_000 {
        for sequence in 0..5 {
            let header =
                rtp::RtpHeaderFields { payload_type: 96, ssrc, sequence, timestamp: 1, marker: false };
            datagram.clear();
            rtp::encode(&header, 100, 0, &mut datagram).expect("sound");
            assert_eq!(call.receiver.receive(call.now, &datagram, Ecn::NotEct), None);
        }
        call.step(&[]);
    }
    for ssrc in 1..=64u32 {
        call.receiver.add_configured([("ssrc", &ssrc.to_string()[..])]).expect("there is room");
    }
    assert_eq!(call.receiver.counters().packets, 0);
}

/// Both ends' clocks may show anything when a call begins, such as the nanoseconds since 1970.
#[test]
fn the_zero_of_the_clock_does_not_matter() {
    for (controller, format) in
        [("gcc", "twcc"), ("scream", "rfc8888"), ("scream", "twcc"), ("um", "rfc8888")]
    {
        let run = |zero: u64| {
            let settings = [("format", format), ("target_bitrate_max", "20Mbps"), ("repair", "true")];
            let settings = &settings[..if controller == "um" { 1 } else { 3 }];
            let sender = Sender::configured(controller, None, settings.iter().copied()).expect("sound");
            let mut call = Call::beginning_at(Time::from_secs_f64(zero as f64), sender, &settings[..1]);
            call.lost = |count| count % 300 == 0;
            let id = call.join(500, settings.len() > 1);
            call.run(20, &[id]);
            let counters =
                (call.receiver.counters(), call.receiver.rtcp_counters(), call.sender.rtcp_counters());
            (call.left, call.restored, call.target(id), counters)
        };
        let (soon, late) = (run(10), run(10 + (1875 << 20)));
        assert!(soon == late, "{controller}, {format}: {soon:?} {late:?}");
    }
}

#[test]
fn what_is_lost_is_restored_and_reported_on_under_both_ssrcs() {
    let settings = [("reduced_size", "true")];
    let mut call = Call::new(&[settings[0], ("repair", "true")], &settings);
    call.lost = |count| count % 50 == 0;
    let id = call.join(500, true);
    call.run(15, &[id]);
    let (counters, numbers) = (call.sender.repair_counters(), call.came.remove(&500).expect("media came"));
    assert!(call.restored > 20 && counters.resent >= call.restored, "{} {counters:?}", call.restored);
    let sent = call.left - counters.resent;
    let on_the_way = call.ways[0].len() as u64;
    let missing = sent.saturating_sub(numbers.len() as u64 + on_the_way);
    assert!(missing <= sent / 500, "{missing} of {sent} are missing");
    assert_eq!(call.came.keys().count(), 0, "retransmissions come as what they restore");
    assert_eq!(call.sender.sender_counters().unknown_reports, 0);
    let restarts = call.receiver.rtcp_counters();
    assert_eq!((restarts.out_of_sequence, restarts.unknown_ssrc), (0, 0));
}

#[test]
fn streams_join_and_leave_at_both_ends_for_ever() {
    let mut call = Call::new(&[], &[]);
    let stays = call.join(7, false);
    for turn in 0..100 {
        let id = call.join(1000 + 2 * turn, false);
        call.run(1, &[stays, id]);
        call.sender.remove_stream(call.now, id).expect("it is there");
        if turn % 2 == 0 {
            // Otherwise its goodbye says so.
            assert!(call.receiver.remove_stream(1000 + 2 * turn));
        }
        call.run(3, &[stays]);
    }
    let events: Vec<_> = std::iter::from_fn(|| call.receiver.poll_event()).collect();
    let expected: Vec<_> = (0..50).map(|turn| ReceiverEvent::Ended { ssrc: 1002 + 4 * turn }).collect();
    assert_eq!(events, expected);
    assert_eq!(call.came.len(), 101, "each was heard");
    assert!(call.target(stays) > 1.0, "{}", call.target(stays));
}

/// Packets of a stream are under way when it leaves: reports on them are about it.
#[test]
fn reports_on_a_stream_that_left_are_read() {
    for format in ["rfc8888", "twcc"] {
        let settings = [("format", format)];
        let mut call = Call::new(&settings, &settings);
        let streams = [call.join(500, false), call.join(600, false)];
        call.run(5, &streams);
        call.sender.remove_stream(call.now, streams[0]).expect("it is there");
        call.run(2, &streams[1..]);
        let unknown =
            (call.sender.rtcp_counters().unknown_ssrc, call.sender.sender_counters().unknown_reports);
        assert_eq!(unknown, (0, 0), "{format}");
    }
}

/// Streams without the numbers that reports should tell of: nothing is said of them, and their places are free when they leave.
#[test]
fn streams_that_no_report_tells_of_leave_their_places() {
    let mut receiver = MediaReceiver::configured([("format", "twcc")]).expect("sound");
    for ssrc in 10..200 {
        assert!(receiver.add_stream(IncomingStream::new(ssrc)), "{ssrc}");
        let mut datagram = Vec::new();
        let header = rtp::RtpHeaderFields { payload_type: 96, ssrc, sequence: 9, timestamp: 1, marker: true };
        rtp::encode(&header, 10, 0, &mut datagram).expect("sound");
        assert!(
            receiver.receive(Time::ZERO, &datagram, Ecn::NotEct).is_some(),
            "it is delivered all the same"
        );
        assert!(receiver.remove_stream(ssrc));
    }
    let counters = receiver.counters();
    assert_eq!((counters.packets, counters.unreported, counters.reports), (190, 190, 0));
}

#[test]
fn pictures_collisions_and_ends_go_both_ways() {
    let mut call = Call::new(&[], &[("ssrc", "99"), ("tell_ecn", "true")]);
    let id = call.join(500, false);
    call.run(1, &[id]);
    assert!(call.receiver.ask_for_picture(call.now, 500, Picture::Full));
    assert!(!call.receiver.ask_for_picture(call.now, 501, Picture::Lost));
    call.run(1, &[id]);
    assert!(call.sender.take_key_frame_request(id));
    // Another source has the receiver's SSRC: it takes another, with which its reports go on.
    let mut alien = Vec::new();
    let header =
        rtp::RtpHeaderFields { payload_type: 96, ssrc: 99, sequence: 1, timestamp: 1, marker: false };
    rtp::encode(&header, 10, 0, &mut alien).expect("sound");
    assert_eq!(call.receiver.receive(call.now, &alien, Ecn::NotEct), None);
    let to = call.receiver.ssrc();
    assert_eq!(call.receiver.poll_event(), Some(ReceiverEvent::SsrcChanged { from: 99, to }));
    call.run(1, &[id]);
    let before = call.receiver.counters().reports;
    call.receiver.leave();
    call.run(2, &[id]);
    assert_eq!(call.receiver.counters().reports, before, "who left reports no more");
    let events: Vec<_> = std::iter::from_fn(|| call.sender.poll_rtcp_event()).collect();
    assert_eq!(events, [RtcpEvent::Ended { ssrc: 99 }, RtcpEvent::Ended { ssrc: to }]);
}

/// The datagrams of a call, mutated, cut and doubled: no panic, and the call goes on. Mutated reports that a sender cannot tell from
/// true ones may cost rate, since nothing of plain RTP is authenticated.
#[test]
fn a_call_outlives_hostile_datagrams() {
    for format in ["rfc8888", "twcc"] {
        let settings = [("format", format), ("reduced_size", "true")];
        let mut call = Call::new(&[settings[0], settings[1], ("repair", "true")], &settings);
        let id = call.join(500, true);
        let mut draws = RandomStream::new(7, format);
        for _ in 0..12_000 {
            for way in 0..2 {
                let Some((at, mut datagram)) = call.ways[way].back().cloned() else { continue };
                for _ in 0..1 + draws.next_u64() % 4 {
                    let place = draws.next_u64() as usize % datagram.len();
                    datagram[place] = draws.next_u64() as u8;
                }
                datagram.truncate(1 + draws.next_u64() as usize % (datagram.len() * 2));
                call.ways[way].push_back((at, datagram));
            }
            call.step(&[id]);
        }
        let media = |call: &Call| call.sender.counters().sent;
        let (before, first) = (media(&call), call.came[&500].len());
        call.run(10, &[id]);
        let (sent, came) = (media(&call) - before, &call.came[&500]);
        let late =
            came[first..].iter().max().expect("some came") - came[first..].iter().min().expect("some came");
        assert!(sent > 500 && late + 1 + call.ways[0].len() as u64 >= sent, "{format}: {late} of {sent}");
        // A forgery may have had the number of a packet that came later.
        let all: BTreeSet<u64> = came.iter().copied().collect();
        let missing = (all.last().expect("some came") - late..)
            .take(late as usize)
            .find(|number| !all.contains(number));
        assert_eq!(missing, None, "{format}");
        let counters = call.sender.rtcp_counters();
        let malformed = call.receiver.counters().malformed;
        assert!(counters.malformed > 5000 && malformed > 1000, "{malformed}, {counters:?}");
        assert!(call.target(id) >= 2.0, "{format}: {} Mbit/s", call.target(id));
    }
}

/// Every controller that there is, under each of its profiles and ECN modes, sends under either format, or is refused for a reason.
#[test]
fn any_controller_sends_or_is_refused() {
    let (mut sent, mut refused) = (0, 0);
    for kind in ControllerParams::KINDS {
        let profiles = ControllerParams::of(kind).expect("it is registered").profiles();
        let settings = [("rfc8888", "off"), ("rfc8888", "classic"), ("rfc8888", "l4s"), ("twcc", "off")];
        for ((profile, _), (format, ecn)) in
            profiles.iter().flat_map(|profile| settings.map(|setting| (profile, setting)))
        {
            let own = [("format", format), ("ecn", ecn)];
            match Sender::configured(kind, Some(profile), own) {
                Ok(sender) => {
                    let mut call = Call::between(sender, &[("format", format)]);
                    let id = call.join(500, false);
                    call.run(1, &[id]);
                    assert!(call.came.contains_key(&500), "{kind}, {profile}, {format}, {ecn}");
                    sent += 1;
                }
                Err(error) => {
                    assert!(["controller", "ecn"].contains(&&*error.name), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(sent > 30 && refused > 40, "{sent} {refused}");
}

#[test]
fn a_wrong_setting_says_what_is_right() {
    let sender = |settings: &[Setting<'_>]| {
        Sender::configured("scream", None, settings.iter().copied()).expect_err("wrong").to_string()
    };
    assert!(
        sender(&[("pace", "1")])
            .starts_with("pace: found an unknown parameter, expected a parameter that docs/endpoint-settings.md or `paceline list scream` has")
    );
    assert!(sender(&[("largest_packet", "20B")]).starts_with("largest_packet: found 20B, expected at least"));
    assert!(sender(&[("format", "remb")]).starts_with("format: found remb, expected one of \"rfc8888\""));
    assert_eq!(
        sender(&[("format", "twcc"), ("ecn", "l4s")]),
        "ecn: found l4s, expected off, since reports in the format twcc tell of no marks"
    );
    let ignorant = Sender::configured("um", None, [("ecn", "l4s")]).expect_err("wrong").to_string();
    assert_eq!(ignorant, "ecn: found l4s, expected off, since the controller um ignores marks (CE)");
    assert!(sender(&[("priorities", "[1]")]).starts_with("priorities: found [1], expected none:"));
    for kind in ["tfrc", "ccid3", "reno"] {
        let error = Sender::configured(kind, None, []).expect_err("wrong").to_string();
        assert!(error.starts_with(&format!("controller: found {kind}, expected one of media")), "{error}");
    }
    let receiver = |settings: &[Setting<'_>]| {
        MediaReceiver::configured(settings.iter().copied()).expect_err("wrong").to_string()
    };
    assert!(receiver(&[("packets", "0")]).starts_with("packets: found 0, expected a whole number from 1"));
    assert!(receiver(&[("cname", "")]).starts_with("cname: "), "{}", receiver(&[("cname", "")]));
    let mut call = Call::new(&[], &[]);
    let mut add = |settings: &[Setting<'_>]| {
        call.sender.add_configured(Time::ZERO, settings.iter().copied()).map_err(|error| error.to_string())
    };
    let starts = |found: Result<StreamId, String>, text: &str| {
        assert!(found.as_ref().is_err_and(|found| found.starts_with(text)), "{found:?}");
    };
    starts(add(&[]), "ssrc: found none");
    starts(
        add(&[("ssrc", "1"), ("payload_type", "72")]),
        "payload_type: found 72, expected one from 0 to 63",
    );
    starts(
        add(&[("ssrc", "1"), ("rtx_ssrc", "2")]),
        "stream: found 0, which is repaired, or a sender without use_repair",
    );
    starts(add(&[("ssrc", "1"), ("priority", "nan")]), "priority: found nan");
    assert_eq!(add(&[("ssrc", "1")]), Ok(StreamId(1)), "what was refused has left");
    starts(add(&[("ssrc", "1")]), "ssrc: found 1, expected one that no other stream has");
    assert_eq!(call.receiver.add_configured([("ssrc", "1"), ("rtx_ssrc", "2")]), Ok(1));
    for taken in [[("ssrc", "2"), ("clock_rate", "1")], [("ssrc", "3"), ("rtx_ssrc", "3")]] {
        let error = call.receiver.add_configured(taken).expect_err("taken").to_string();
        assert!(error.contains("expected SSRCs that no other stream has"), "{error}");
    }
    let room = (4..200).filter(|n| call.receiver.add_configured([("ssrc", &n.to_string()[..])]).is_ok());
    assert_eq!(room.count(), 62, "64 in all");
}

#[test]
fn where_a_stream_has_no_limits_those_of_the_controller_hold() {
    for kind in ["scream", "gcc"] {
        let bounds = [("target_bitrate_min", "200kbps"), ("target_bitrate_max", "2Mbps")];
        let mut call = Call::between(Sender::configured(kind, None, bounds).expect("sound"), &[]);
        let id = call.join(1, false);
        let target = |call: &Call| call.sender.target(id).map_or(0.0, Bitrate::as_mbps_f64);
        call.run(30, &[id]);
        assert!((1.5..=2.0).contains(&target(&call)), "{kind}: {} on a link of 5 Mbit/s", target(&call));
        for _ in 0..10_000 {
            call.step(&[id]);
            call.ways[1].clear();
            // SCReAM tells an encoder its target times a factor for how well that follows.
            assert!(target(&call) >= 0.9 * 0.2, "{kind}: {} while no report comes", target(&call));
        }
        call.run(20, &[id]);
        assert!(target(&call) > 1.5, "{kind}: {} after it", target(&call));
    }
}
