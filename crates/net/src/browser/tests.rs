#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the tests play browsers")]

use super::ice::tests::check;
use super::*;
use crate::agreed::Media;
use paceline_scenario::{Loader, Origin, load};
use paceline_wire::rtp::{self, RtpHeaderFields};
use paceline_wire::{rtcp, vp8};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

const AGREED: Agreed = Agreed { payload_type: 96, transport_wide: 4, media: Media::Vp8 };
const FRAGMENT: &str = "brws";

fn loaded(duration: &str, flow: &str) -> Loaded {
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
    load(&Origin { text: &text, file: "test.toml", sets: &[] }, &Loader::default()).expect("a sound scenario")
}

fn video(duration: &str) -> Loaded {
    loaded(
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
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        Browser { socket, call: call.address().expect("an address"), own: call.credentials().clone() }
    }

    fn send(&self, bytes: &[u8]) {
        self.socket.send_to(bytes, self.call).expect("sent");
    }

    fn check(&self) {
        self.send(&check(&self.own, FRAGMENT, true));
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
            if self.receive().is_some_and(|bytes| ice::is_stun(&bytes)) {
                return begun.elapsed();
            }
        }
        panic!("no answer");
    }

    fn media(&self, sequence: u16) {
        let header = RtpHeaderFields {
            payload_type: AGREED.payload_type,
            ssrc: 77,
            sequence,
            timestamp: u32::from(sequence) * 3000,
            marker: true,
        };
        let mut bytes = Vec::new();
        rtp::encode(&header, 500, 0, &mut bytes).expect("a packet");
        self.send(&bytes);
    }
}

/// What a call of `role` comes to with a browser that does this.
fn called(
    loaded: &Loaded,
    role: Role,
    does: impl FnOnce(&Browser, &AtomicBool) + Send,
) -> Result<BrowserOutput, NetError> {
    let (call, stop) = (BrowserCall::bind(loaded, None, role).expect("a call"), AtomicBool::new(false));
    let browser = Browser::of(&call);
    std::thread::scope(|threads| {
        let stop = &stop;
        threads.spawn(move || does(&browser, stop));
        call.run(FRAGMENT, AGREED, &Control { stop, progress: &|_| () })
    })
}

#[test]
fn a_browser_that_receives_gets_pictures_and_its_reports_steer() {
    let loaded = video("2s");
    let output = called(&loaded, Role::Send, |browser, _| {
        assert!(browser.checked() < Duration::from_millis(30), "before media the links are left out");
        let (mut frames, mut heard) = (0, 0);
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
                frames += 1;
                vp8::write_still(0, &mut picture);
                assert_eq!(view.payload, picture);
            }
            heard += 1;
            if heard == 1 {
                assert!(browser.checked() >= Duration::from_millis(35), "now they go over the links");
            }
        }
        // Nobody reports, so that the window is not opened again.
        assert!(frames >= 2, "{frames} frames");
    });
    // It reported on nothing, as the sender says.
    let Err(NetError::NothingAnswered { .. }) = output else { panic!("nobody answered") };
}

#[test]
fn a_browser_that_sends_is_reported_to_and_strangers_are_not_heard() {
    let loaded = video("60s");
    let output = called(&loaded, Role::Receive, |browser, stop| {
        browser.media(1);
        let stranger = Browser {
            socket: UdpSocket::bind("127.0.0.1:0").expect("a socket"),
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
        assert!(reports >= 10, "{reports}");
        stop.store(true, Ordering::Relaxed);
    });
    let output = output.expect("a call");
    let flow = output.endpoint.summary.flows.values().next().expect("a flow");
    assert!(flow.packets_received.is_some_and(|received| received >= 95), "{flow:?}");
    // What came before its check, both checks of the stranger, and its media.
    assert_eq!(output.link.counters.unknown_peers, 103);
    assert_eq!(output.endpoint.counters.unknown_peers, 0);
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

#[test]
fn what_no_browser_can_have_an_end_of_is_refused() {
    let said = |flow: &str| match BrowserCall::bind(&loaded("2s", flow), None, Role::Send) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("bound"),
    };
    let half = said(
        "controller = \"tfrc\"\nsource = { kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
    );
    assert!(half.contains("controller tfrc, expected one that needs no more"), "{half}");
    let bulk = said("transport = \"dccp\"\ncontroller = \"ccid2\"\nsource = { kind = \"bulk\" }");
    assert!(bulk.contains("transport dccp, expected rtp"), "{bulk}");
}
