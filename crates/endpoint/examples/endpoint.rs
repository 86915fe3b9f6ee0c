//! A call of ready-made media over the endpoint: a camera whose lost packets are sent again, and speech that joins and leaves. The
//! network is a link of 5 Mbit/s that loses every five-hundredth packet and marks early; payloads are zeros.
//! docs/endpoint.md explains it.

use paceline_cc::{AnyController, StreamId};
use paceline_endpoint::{MediaPacket, MediaReceiver, MediaSender, SenderEvent, SentDatagram};
use paceline_rtp::rtcp::ReceiverEvent;
use paceline_units::{Bitrate, Ecn, Time, TimeDelta};
use std::collections::VecDeque;
use std::error::Error;
use std::sync::Arc;

type Call = MediaSender<AnyController, Arc<[u8]>>;

const FRAME: TimeDelta = TimeDelta::from_millis(20);
const DELAY: TimeDelta = TimeDelta::from_millis(20);
const STEP: TimeDelta = TimeDelta::from_millis(1);

// docs: sender
/// A sender whose packets are at most 1212 B long, RTP header in, and may be marked for L4S.
fn sender(seed: &str) -> Result<Call, Box<dyn Error>> {
    let settings = [
        ("seed", seed),
        ("largest_packet", "1212B"),
        ("target_bitrate_max", "20Mbps"),
        ("ecn", "l4s"),
        ("repair", "true"),
        ("reduced_size", "true"),
    ];
    Ok(MediaSender::configured(AnyController::USUAL, None, settings)?)
}

/// A camera whose lost packets are sent again, at the sender.
fn camera(sender: &mut Call, now: Time) -> Result<StreamId, Box<dyn Error>> {
    Ok(sender.add_configured(now, [("ssrc", "1000"), ("rtx_ssrc", "1001"), ("priority", "1.0")])?)
}

/// The receiver, which expects the camera.
fn receiver(seed: &str) -> Result<MediaReceiver, Box<dyn Error>> {
    let mut receiver = MediaReceiver::configured([("seed", seed), ("reduced_size", "true")])?;
    receiver.add_configured([("ssrc", "1000"), ("rtx_ssrc", "1001")])?;
    Ok(receiver)
}
// docs: end

// docs: frame
/// Offers the frame of a stream: here as many bytes as the target says, cut into payloads of 1000 B.
fn offer(sender: &mut Call, now: Time, stream: StreamId, frame: u32) -> Result<(), Box<dyn Error>> {
    let target = sender.target(stream).unwrap_or_default();
    let bytes = target.bytes_in(FRAME).as_u64().max(1) as usize;
    for at in (0..bytes).step_by(1000) {
        let payload: Arc<[u8]> = vec![0; (bytes - at).min(1000)].into();
        // Payload type, RTP timestamp, and the marker on the last packet of the frame.
        let packet = MediaPacket::payload(frame.into(), (96, frame * 1800, at + 1000 >= bytes), payload)?;
        sender.offer(now, stream, packet);
    }
    Ok(())
}
// docs: end

/// A datagram on its way, and when it is there.
type Arriving = (Time, Vec<u8>, Ecn);

/// The next datagram that is there.
fn due(way: &mut VecDeque<Arriving>, now: Time) -> Option<(Vec<u8>, Ecn)> {
    way.front().filter(|(at, ..)| *at <= now)?;
    way.pop_front().map(|(_, datagram, ecn)| (datagram, ecn))
}

/// A link of 5 Mbit/s and 20 ms, and the way back.
#[derive(Default)]
struct Network {
    free: Time,
    there: VecDeque<Arriving>,
    back: VecDeque<Arriving>,
    sent: u64,
}

impl Network {
    fn carry(&mut self, now: Time, bytes: &[u8], ecn: Ecn) {
        let begins = self.free.max(now);
        self.free = begins + Bitrate::from_mbps(5).time_for(paceline_units::Bytes::new(bytes.len() as u64));
        self.sent += 1;
        let marks = begins - now > TimeDelta::from_millis(2) && ecn.is_capable();
        if !self.sent.is_multiple_of(500) {
            let ecn = if marks { Ecn::Ce } else { ecn };
            self.there.push_back((self.free + DELAY, bytes.to_vec(), ecn));
        }
    }
}

/// Arrivals at the receiver.
#[derive(Default)]
struct Came {
    packets: u64,
    restored: u64,
}

fn run(seconds: u64) -> Result<(Call, Came), Box<dyn Error>> {
    let mut network = Network::default();
    let mut came = Came::default();
    let (mut sender, mut receiver) = (sender("1")?, receiver("2")?);
    let camera = camera(&mut sender, Time::ZERO)?;
    let mut speech = None;
    let mut bytes = Vec::new();
    sender.start(Time::ZERO);
    for millis in 0..seconds * 1000 {
        let now = Time::ZERO + STEP * millis as i64;
        // docs: streams
        if millis == 5_000 {
            receiver.add_configured([("ssrc", "2000"), ("clock_rate", "48000")])?;
            let settings = [("ssrc", "2000"), ("clock_rate", "48000"), ("target_max", "64kbps")];
            speech = Some(sender.add_configured(now, settings)?);
        }
        if millis == 15_000 {
            // Its waiting packets come back as discarded; the receiver hears a goodbye.
            speech.take().map(|speech| sender.remove_stream(now, speech)).transpose()?;
        }
        // docs: end
        if millis % 20 == 0 {
            for stream in [Some(camera), speech].into_iter().flatten() {
                offer(&mut sender, now, stream, (millis / 20) as u32)?;
            }
        }
        // docs: loop
        // The sender: what leaves, and what happened.
        while let Some(sent) = sender.poll_datagram(now, &mut bytes) {
            let ecn = match sent {
                SentDatagram::Rtp(packet) => packet.ecn,
                SentDatagram::Rtcp => Ecn::NotEct,
            };
            network.carry(now, &bytes, ecn);
            bytes.clear();
        }
        while let Some(event) = sender.poll_event() {
            match event {
                SenderEvent::KeyFrame(_) => {}  // The encoder's next frame should need no other.
                SenderEvent::Discarded(_) => {} // A packet that will not be sent, its buffer, and why.
                SenderEvent::Session(_) => {}   // A goodbye of the receiver, or another SSRC.
                SenderEvent::Broken(why) => println!("the call is over: {}", why.what()),
            }
        }
        // The receiver: what came, and what goes back.
        while let Some((datagram, ecn)) = due(&mut network.there, now) {
            if let Some(packet) = receiver.receive(now, &datagram, ecn).filter(|packet| packet.first) {
                came.packets += 1;
                came.restored += u64::from(packet.repaired);
            }
        }
        while receiver.poll_transmit(now, &mut bytes) {
            network.back.push_back((now + DELAY, std::mem::take(&mut bytes), Ecn::NotEct));
        }
        while let Some(ReceiverEvent::Ended { ssrc }) = receiver.poll_event() {
            println!("{:.2} s: stream {ssrc} has ended", now.as_secs_f64());
        }
        while let Some((datagram, ecn)) = due(&mut network.back, now) {
            sender.receive_rtcp(now, &datagram, ecn);
        }
        // docs: end
    }
    Ok((sender, came))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (sender, came) = run(20)?;
    let camera = StreamId(0);
    let ecn = sender.end().ecn_state().map_or("not used", |state| state.name());
    let target = sender.target(camera).unwrap_or_default();
    let heard = sender.heard(camera).ok_or("regular reports come")?;
    println!("target {:.1} Mbit/s, ECN {ecn}", target.as_mbps_f64());
    println!("{} packets came, {} of them restored", came.packets, came.restored);
    println!("round trip {:.0} ms", heard.round_trip.unwrap_or_default().as_millis_f64());
    Ok(())
}
