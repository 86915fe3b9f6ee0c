//! Calls with a browser's end, which the test plays.

use crate::call::{StopAtEnd, anywhere, loaded};
use crate::checks::check;
use crate::lateness::judge_on_time;
use paceline_cc::StreamId;
use paceline_net::{
    Agreed, BrowserCall, BrowserOutput, Control, IceCredentials, Media, NetError, Repair, Role,
};
use paceline_scenario::Loaded;
use paceline_units::{Ecn, Time};
use paceline_wire::ccfb::{ArrivalReport, Feedback, FeedbackBlock};
use paceline_wire::rtcp::nack;
use paceline_wire::rtp::{self, RtpHeaderFields};
use paceline_wire::{ccfb, rtcp, rtx, vp8};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const AGREED: Agreed = Agreed { payload_type: 96, transport_wide: 4, media: Media::Vp8, repair: None };
const FRAGMENT: &str = "brws";

fn over_links(duration: &str, flow: &str) -> Loaded {
    let text = format!(
        r#"
        duration = "{duration}"
        [links.there]
        rate = "5Mbps"
        delay = "20ms"
        queue = {{ packets = 100 }}
        [flows.video]
        {flow}
        path = ["there"]
        return_delay = "15ms"
        "#
    );
    loaded(&text)
}

fn video(duration: &str) -> Loaded {
    over_links(
        duration,
        "controller = \"scream\"\nsource = { kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
    )
}

/// A browser that plays no part but its addresses'.
struct Browser {
    socket: UdpSocket,
    call: SocketAddr,
    own: IceCredentials,
}

impl Browser {
    fn of(call: &BrowserCall<'_>) -> Browser {
        let socket = UdpSocket::bind(anywhere()).expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        Browser { socket, call: call.address().expect("an address"), own: call.credentials().clone() }
    }

    fn send(&self, bytes: &[u8]) {
        self.socket.send_to(bytes, self.call).expect("sent");
    }

    fn check(&self) {
        self.send(&check((&self.own.ufrag, &self.own.password), FRAGMENT, true));
    }

    fn receive(&self) -> Option<Vec<u8>> {
        let mut buffer = [0; 2000];
        let (length, from) = self.socket.recv_from(&mut buffer).ok()?;
        assert_eq!(from, self.call);
        Some(buffer[..length].to_vec())
    }

    /// How long an answer to a check takes, other packets left aside.
    fn checked(&self) -> Duration {
        let begun = Instant::now();
        self.check();
        while begun.elapsed() < Duration::from_secs(5) {
            if self.receive().is_some_and(|bytes| is_stun(&bytes)) {
                return begun.elapsed();
            }
        }
        panic!("no answer");
    }

    fn media(&self, sequence: u16) {
        let header = header(sequence);
        let mut bytes = Vec::new();
        rtp::encode(&header, 500, 0, &mut bytes).expect("a packet");
        self.send(&bytes);
    }

    /// A report on one packet that arrived now.
    fn report(&self, packet: &RtpHeaderFields) {
        let blocks = vec![FeedbackBlock { stream: StreamId(0), begin: packet.sequence.into(), count: 1 }];
        let written = Time::from_nanos(1_000_000_000);
        let arrivals = vec![ArrivalReport::Received { at: Some(written), ecn: Ecn::NotEct }];
        let mut out = Vec::new();
        ccfb::encode(&Feedback { written, blocks, arrivals }, 1, |_| packet.ssrc, &mut out)
            .expect("a report");
        self.send(&out);
    }

    /// A packet of media again, as the retransmission with a number of its own.
    fn again(&self, sequence: u16, original: u16) {
        let header = RtpHeaderFields { payload_type: 97, ssrc: 4_000_000_000, sequence, ..header(original) };
        let mut bytes = Vec::new();
        rtp::encode(&header, 502, 0, &mut bytes).expect("a packet");
        bytes[12..14].copy_from_slice(&rtx::osn(original));
        self.send(&bytes);
    }
}

/// As RFC 7983 tells STUN from RTP and RTCP.
fn is_stun(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| *first <= 3)
}

fn header(sequence: u16) -> RtpHeaderFields {
    let timestamp = u32::from(sequence) * 3000;
    RtpHeaderFields { payload_type: AGREED.payload_type, ssrc: 77, sequence, timestamp, marker: true }
}

/// The outcome of a call of `role` with a browser that does this.
fn called(
    loaded: &Loaded,
    role: Role,
    does: impl FnOnce(&Browser, &AtomicBool) + Send,
) -> Result<BrowserOutput, NetError> {
    called_as(loaded, role, |_| AGREED, does)
}

/// The same, where both agreed on this; ours is the SSRC that is told.
fn called_as(
    loaded: &Loaded,
    role: Role,
    agreed: impl FnOnce(u32) -> Agreed,
    does: impl FnOnce(&Browser, &AtomicBool) + Send,
) -> Result<BrowserOutput, NetError> {
    let (call, stop) = (BrowserCall::bind(loaded, None, role).expect("a call"), AtomicBool::new(false));
    let browser = Browser::of(&call);
    std::thread::scope(|threads| {
        let stop = &stop;
        threads.spawn(move || does(&browser, stop));
        let agreed = agreed(call.ssrc());
        call.run(FRAGMENT, agreed, &Control { stop, progress: &|_| () })
    })
}

#[test]
fn a_browser_that_receives_gets_pictures_and_its_reports_steer() {
    judge_on_time(pictures, |(answered, frames)| {
        assert!(*answered < Duration::from_millis(30), "before media the links are left out: {answered:?}");
        assert!(*frames >= 2, "{frames} frames");
    });
}

/// How soon a browser is answered before media, and how many pictures it gets without a report, so that the window is not opened
/// again.
fn pictures() -> (Duration, u64) {
    let (answered, received) = (Mutex::new(Duration::MAX), AtomicU64::new(0));
    let loaded = video("2s");
    let output = called(&loaded, Role::Send, |browser, _| {
        *answered.lock().expect("no panic") = browser.checked();
        let mut heard = 0;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(2300) {
            let Some(bytes) = browser.receive() else { continue };
            if rtp::is_rtcp(&bytes) {
                continue;
            }
            let view = rtp::decode(&bytes).expect("RTP");
            assert_eq!(view.header.payload_type, AGREED.payload_type);
            let mut picture = vec![0; view.payload.len()];
            if view.payload[0] == 0x10 {
                received.fetch_add(1, Ordering::Relaxed);
                vp8::write_still(0, &mut picture);
                assert_eq!(view.payload, picture);
            }
            heard += 1;
            if heard == 1 {
                assert!(browser.checked() >= Duration::from_millis(35), "now they go over the links");
            }
        }
    });
    // It reported on nothing, as the sender says.
    let Err(NetError::NothingAnswered { .. }) = output else { panic!("nobody answered") };
    (answered.into_inner().expect("no panic"), received.into_inner())
}

#[test]
fn a_browser_that_sends_is_reported_to_and_strangers_are_not_heard() {
    let loaded = video("60s");
    let output = called(&loaded, Role::Receive, |browser, stop| {
        let _stops = StopAtEnd(stop);
        browser.media(1);
        let stranger = Browser {
            socket: UdpSocket::bind(anywhere()).expect("a socket"),
            own: IceCredentials { password: "x".repeat(22), ..browser.own.clone() },
            ..*browser
        };
        stranger.check();
        browser.checked();
        stranger.check();
        let mut reports = 0;
        for sequence in 100..200 {
            browser.media(sequence);
            stranger.media(sequence);
            let Some(bytes) = browser.receive() else { continue };
            reports += rtcp::packets(&bytes).filter(|packet| packet.is_ok()).count();
        }
        // Datagrams sent before have been read where this is answered.
        browser.checked();
        assert!(reports >= 10, "{reports}");
    });
    let output = output.expect("a call");
    let flow = output.endpoint.summary.flows.values().next().expect("a flow");
    assert!(flow.packets_received.is_some_and(|received| received >= 95), "{flow:?}");
    // Datagrams before its check, both checks of the stranger, and its media.
    assert_eq!(output.link.counters.unknown_peers, 103);
    assert_eq!(output.endpoint.counters.unknown_peers, 0);
}

/// A packet can be asked for within a second, and nobody reports on the media, so that its window closes: a browser that is late
/// asks in vain, and calls again.
#[test]
fn what_the_browser_asks_for_is_sent_again_and_nothing_else() {
    let output =
        (0..CALLS).find_map(|_| asked_again()).expect("a packet that is sent again in one of the calls");
    let counters = output.expect("a report on what was sent again is an answer").endpoint.counters;
    assert!(counters.resent >= 1);
    assert_eq!((counters.malformed, counters.unknown_reports), (0, 0), "{counters:?}");
}

const CALLS: usize = 10;

/// A call whose browser asks for each packet until one is sent again; none if none was for two seconds.
fn asked_again() -> Option<Result<BrowserOutput, NetError>> {
    const RTX: u8 = 97;
    let loaded = video("60s");
    let agreed = |original| {
        let repair = Repair { original, ssrc: original ^ 1, payload_type: RTX };
        Agreed { repair: Some(repair), ..AGREED }
    };
    let was_sent_again = AtomicBool::new(false);
    let output = called_as(&loaded, Role::Send, agreed, |browser, stop| {
        let _stops = StopAtEnd(stop);
        browser.checked();
        let (mut media, begun) = (Vec::new(), Instant::now());
        while begun.elapsed() < Duration::from_secs(2) {
            let Some(bytes) = browser.receive().filter(|bytes| !is_stun(bytes) && !rtp::is_rtcp(bytes))
            else {
                continue;
            };
            let view = rtp::decode(&bytes).expect("RTP");
            if view.header.payload_type == RTX {
                let (number, payload) = rtx::split(view.payload).expect("a number");
                let of_media = |bytes: &&Vec<u8>| rtp::decode(bytes).expect("RTP").header.sequence == number;
                let original = media.iter().find(of_media).expect("it was sent before");
                let original = rtp::decode(original).expect("RTP");
                assert_eq!(view.header.ssrc, original.header.ssrc ^ 1);
                assert_eq!(view.header.timestamp, original.header.timestamp);
                assert_eq!(payload, original.payload);
                browser.report(&view.header);
                // Datagrams sent before have been read where this is answered.
                browser.checked();
                was_sent_again.store(true, Ordering::Relaxed);
                return;
            }
            assert_eq!(view.header.payload_type, AGREED.payload_type);
            let (ssrc, sequence) = (view.header.ssrc, view.header.sequence);
            let mut asked = Vec::new();
            // A packet that was never sent, and one of another stream, change nothing.
            nack::encode((1, ssrc), [sequence, sequence.wrapping_add(9000)], &mut asked);
            nack::encode((1, ssrc ^ 2), [sequence], &mut asked);
            browser.send(&asked);
            media.push(bytes);
        }
    });
    was_sent_again.into_inner().then_some(output)
}

#[test]
fn what_gets_lost_is_asked_for_and_restored() {
    let loaded = video("60s");
    let agreed = |_| {
        let repair = Repair { original: 77, ssrc: 4_000_000_000, payload_type: 97 };
        Agreed { repair: Some(repair), ..AGREED }
    };
    let output = called_as(&loaded, Role::Receive, agreed, |browser, stop| {
        browser.checked();
        let _stops = StopAtEnd(stop);
        let (mut asked, mut reported) = (Vec::new(), 0);
        let mut sequences = (100..200).filter(|sequence| sequence % 10 != 5);
        let mut more = true;
        while more {
            let next = sequences.next();
            next.into_iter().for_each(|sequence| browser.media(sequence));
            let received = browser.receive();
            // Until it has been silent for a while.
            more = next.is_some() || received.is_some();
            let Some(bytes) = received.filter(|bytes| !is_stun(bytes)) else { continue };
            for packet in rtcp::packets(&bytes).map(|packet| packet.expect("RTCP")) {
                if nack::is_nack(&packet) {
                    let found = nack::decode(&packet).expect("a NACK");
                    assert_eq!(found.media_ssrc, 77);
                    for lost in found.lost() {
                        browser.again(asked.len() as u16, lost);
                        asked.push(lost);
                    }
                }
                reported += u64::from(packet.count == 11);
            }
        }
        assert!(asked.len() >= 8 && asked.iter().all(|lost| lost % 10 == 5), "{asked:?}");
        assert!(reported >= 10, "{reported}");
        browser.checked();
    });
    let output = output.expect("a call");
    let flow = output.endpoint.summary.flows.values().next().expect("a flow");
    assert!(output.endpoint.counters.restored >= 8, "{:?}", output.endpoint.counters);
    assert!(flow.packets_received.is_some_and(|received| received >= 98), "{flow:?}");
    assert_eq!(output.endpoint.counters.malformed, 0);
}

#[test]
fn a_call_that_nobody_comes_to_ends_when_it_is_told() {
    for role in [Role::Send, Role::Receive] {
        let output = called(&video("60s"), role, |_, stop| {
            std::thread::sleep(Duration::from_millis(200));
            stop.store(true, Ordering::Relaxed);
        });
        let told =
            matches!((role, &output), (Role::Receive, Ok(_)) | (Role::Send, Err(NetError::NoBrowser { .. })));
        assert!(told, "{role:?}");
    }
}
