//! Two str0m sessions in RTP mode over a toy link of 5 Mbit/s, 20 ms each way; a controller of Paceline steers what the first sends.
//! `cargo run --features run` runs the call in virtual time and prints the target and what arrived.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a driver has a clock")]

mod steered;

use std::collections::VecDeque;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use steered::{Packet, Steered};
use str0m::media::MediaKind;
use str0m::net::{Protocol, Receive};
use str0m::rtp::Ssrc;
use str0m::{Candidate, Event, Input, Output, Rtc};

const DELAY: Duration = Duration::from_millis(20);
const LENGTH: Duration = Duration::from_secs(20);

/// A session, its address, and what is on its way to it.
struct Peer {
    rtc: Rtc,
    address: SocketAddr,
    coming: VecDeque<(Instant, Vec<u8>)>,
    free: Instant,
}

impl Peer {
    fn new(now: Instant, host: u8) -> Result<Peer, Box<dyn Error>> {
        let address = SocketAddr::from((Ipv4Addr::new(192, 0, 2, host), 5000));
        let mut rtc = Rtc::builder().set_rtp_mode(true).enable_raw_packets(true).build(now);
        rtc.add_local_candidate(Candidate::host(address, "udp")?);
        Ok(Peer { rtc, address, coming: VecDeque::new(), free: now })
    }

    /// Does what is due at `now`. A packet that leaves is on its way to `other` over 5 Mbit/s; `told` hears the events.
    fn step(
        &mut self,
        now: Instant,
        other: &mut Peer,
        mut told: impl FnMut(&Event),
    ) -> Result<(), Box<dyn Error>> {
        self.rtc.handle_input(Input::Timeout(now))?;
        while self.coming.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, bytes)) = self.coming.pop_front() else { break };
            let contents = bytes.as_slice().try_into()?;
            let (source, destination, proto) = (other.address, self.address, Protocol::Udp);
            self.rtc.handle_input(Input::Receive(now, Receive { proto, source, destination, contents }))?;
            self.poll(now, other, &mut told)?;
        }
        self.poll(now, other, &mut told)
    }

    fn poll(
        &mut self,
        now: Instant,
        other: &mut Peer,
        told: &mut impl FnMut(&Event),
    ) -> Result<(), Box<dyn Error>> {
        loop {
            match self.rtc.poll_output()? {
                Output::Timeout(_) => return Ok(()),
                Output::Event(event) => told(&event),
                Output::Transmit(sent) => {
                    let bytes = sent.contents.to_vec();
                    self.free = self.free.max(now) + Duration::from_nanos(bytes.len() as u64 * 1600);
                    other.coming.push_back((self.free + DELAY, bytes));
                }
            }
        }
    }
}

/// The facts that signalling tells one of the other.
fn introduce(one: &mut Peer, other: &mut Peer) -> Result<(), Box<dyn Error>> {
    one.rtc.add_remote_candidate(Candidate::host(other.address, "udp")?);
    let fingerprint = other.rtc.direct_api().local_dtls_fingerprint().clone();
    one.rtc.direct_api().set_remote_fingerprint(fingerprint);
    let credentials = other.rtc.direct_api().local_ice_credentials();
    one.rtc.direct_api().set_remote_ice_credentials(credentials);
    one.rtc.direct_api().declare_media("vid".into(), MediaKind::Video);
    Ok(())
}

/// Both know each other, and the stream that the first sends.
fn connect(left: &mut Peer, right: &mut Peer, ssrc: Ssrc) -> Result<(), Box<dyn Error>> {
    introduce(left, right)?;
    introduce(right, left)?;
    for (peer, active) in [(&mut *left, true), (&mut *right, false)] {
        peer.rtc.direct_api().set_ice_controlling(active);
        peer.rtc.direct_api().start_dtls(active)?;
    }
    left.rtc.direct_api().declare_stream_tx(ssrc, None, "vid".into(), None);
    right.rtc.direct_api().expect_stream_rx(ssrc, None, "vid".into(), None);
    right.rtc.direct_api().enable_twcc_feedback();
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    #[cfg(feature = "run")]
    str0m::crypto::from_feature_flags().install_process_default();
    let start = Instant::now();
    let (mut left, mut right, ssrc) = (Peer::new(start, 1)?, Peer::new(start, 2)?, Ssrc::from(7));
    connect(&mut left, &mut right, ssrc)?;
    let kind =
        left.rtc.codec_config().find(|params| params.spec().codec.is_video()).map(|params| params.pt());
    let payload_type = kind.ok_or("a codec of video is configured")?;
    let settings = [("target_bitrate_max", "20Mbps"), ("largest_packet", "1200B")];
    let mut steered = Steered::new(start, settings)?;
    let (mut made, mut arrived, mut now) = (0_u64, 0_u64, start);
    while now < start + LENGTH {
        let millis = (now - start).as_millis() as u64;
        if left.rtc.is_connected() && millis % 20 == 0 {
            // The encoder makes a frame of the size that the target asks for.
            let packets = steered.target().as_bps() / 50 / 8 / 1000 + 1;
            let packet = |part| {
                let (timestamp, payload) = ((millis * 90) as u32, vec![0; 1000]);
                Packet { payload_type, timestamp, marker: part == packets, payload }
            };
            steered.on_frame(now, ssrc, (1..=packets).map(packet).collect());
            made += packets;
        }
        left.step(now, &mut right, |event| steered.on_event(now, event))?;
        while steered.next_timeout().is_some_and(|due| due <= now) {
            steered.send(now, &mut left.rtc);
            left.step(now, &mut right, |event| steered.on_event(now, event))?;
        }
        right.step(now, &mut left, |event| arrived += u64::from(matches!(event, Event::RtpPacket(_))))?;
        now += Duration::from_millis(1);
    }
    let target = steered.target().as_mbps_f64();
    println!("{arrived} of {made} packets arrived, target {target:.1} Mbit/s on a link of 5");
    Ok(())
}
