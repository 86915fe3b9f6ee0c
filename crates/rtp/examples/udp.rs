//! A call over UDP: one thread sends frames with `RtpSender`, another receives them with `RtpReceiver` and reports (RFC 8888).
//! Both run on the loopback interface for 5 s. Payloads are zeros where a program would put what its encoder made.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a driver has a clock and a socket")]

use paceline_cc::{AnyController, ControllerParams, FlowSetup, StreamId};
use paceline_ends::{PathFacts, ReceivingEnd, SendingEnd, Transmit};
use paceline_media::{Frame, PlayoutConfig, Source};
use paceline_rtp::{
    FeedbackConfig, Header, RTP_HEADER, RtpFeedback, RtpPacket, RtpReceiver, RtpSender, SenderConfig,
    StreamConfig,
};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use paceline_wire::ccfb::Feedback;
use paceline_wire::clock::{media_ticks_of, time_of_media_ticks};
use paceline_wire::rtp::{self, RtpHeaderFields};
use paceline_wire::{FeedbackFormat, Reporter, SequenceUnwrapper, TimestampUnwrapper, rtcp, unwrap_sequence};
use std::error::Error;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const STREAM: StreamId = StreamId(0);
/// A program draws it, the first sequence number and the first timestamp at random (RFC 3550 section 8).
const SSRC: u32 = 0x7061_6365;
const LARGEST: Bytes = Bytes::new(1212);
const FRAME: TimeDelta = TimeDelta::from_millis(20);
const FORMAT: FeedbackFormat = FeedbackFormat::Rfc8888;

/// Nanoseconds since the start of this end.
fn clock(start: Instant) -> Time {
    Time::from_nanos(start.elapsed().as_nanos() as u64)
}

/// Sends frames for so long, and answers the last target and how many packets left.
fn send(socket: &UdpSocket, length: Duration) -> Outcome<(Bitrate, u64)> {
    let (params, _) = ControllerParams::with_profile("scream", None).ok_or("scream is registered")?;
    let target_start = Bitrate::from_kbps(300);
    let stream = StreamConfig::new(Source::External, target_start);
    let config = SenderConfig {
        forgiven_lateness: TimeDelta::from_millis(2),
        ..SenderConfig::new(LARGEST - RTP_HEADER)
    };
    let controller = AnyController::new(&params, &FlowSetup::new(LARGEST))?;
    let mut sender = RtpSender::new(controller, &config, vec![stream]);
    let (start, mut frames, mut next, mut bytes) = (Instant::now(), 0, 0, vec![0; 2048]);
    let (mut raw, mut report) = (FORMAT.raw(), Box::new(Feedback::default()));
    let mut datagram = Vec::new();
    sender.start(clock(start));
    while start.elapsed() < length {
        let now = clock(start);
        if Time::ZERO + FRAME * frames <= now {
            let payload = sender.target(STREAM).unwrap_or_default().bytes_in(FRAME);
            let key = sender.take_key_frame_request(STREAM) || frames == 0;
            sender.offer_frame(now, STREAM, &Frame { id: frames as u64, captured: now, payload, key });
            frames += 1;
        }
        sender.handle_timeout(now);
        while let Some(Transmit { packet, .. }) = sender.poll_transmit(now) {
            datagram.clear();
            let (sequence, timestamp) = (packet.sequence as u16, media_ticks_of(packet.captured) as u32);
            let marker = packet.marker;
            let header = RtpHeaderFields { payload_type: 96, ssrc: SSRC, sequence, timestamp, marker };
            rtp::encode(&header, packet.payload.as_u64() as usize, packet.padding, &mut datagram)?;
            socket.send(&datagram)?;
            next = packet.sequence + 1;
        }
        let Ok(size) = socket.recv(&mut bytes) else { continue };
        let now = clock(start);
        for packet in rtcp::packets(&bytes[..size]).flatten() {
            if raw.decode(&packet).is_err() {
                continue;
            }
            // Report timestamps turn every 65,536 s: the nearest one to what the receiver's clock should show is meant.
            let expected = sender.receiver_time(now);
            let stream_of = |ssrc| (ssrc == SSRC).then_some(STREAM);
            let extend = |_stream, begin: u16| unwrap_sequence(u64::checked_sub(next, 1)?, begin);
            if raw.complete(expected, stream_of, extend, &mut report).is_err() {
                continue;
            }
            let answered = sender.receive(now, RtpFeedback::Packets(report), Ecn::NotEct);
            report = if let Some(RtpFeedback::Packets(read)) = answered { read } else { Box::default() };
        }
    }
    Ok((sender.target(STREAM).unwrap_or_default(), next))
}

/// Receives until nothing has come for a second, and answers how many packets and frames did.
fn receive(socket: &UdpSocket) -> Outcome<(u64, u64)> {
    let mut receiver = RtpReceiver::new(FeedbackConfig::default(), 1, PlayoutConfig::IMMEDIATE);
    let (mut sequences, mut times) = (SequenceUnwrapper::default(), TimestampUnwrapper::default());
    let (start, mut bytes, mut reports) = (Instant::now(), vec![0; 2048], Vec::new());
    let mut last = start;
    let mut reporter = Reporter { ssrc: 1, ..Reporter::default() };
    let (mut packets, mut frames) = (0, 0);
    while last.elapsed() < Duration::from_secs(1) {
        let size = socket.recv(&mut bytes);
        let now = clock(start);
        if let Some(view) = size.ok().and_then(|size| rtp::decode(&bytes[..size]).ok()) {
            let (marker, padding) = (view.header.marker, view.padding);
            let payload = Bytes::new(view.payload.len() as u64);
            let numbers = (sequences.unwrap(view.header.sequence), times.unwrap(view.header.timestamp));
            if let (Some(sequence), Some(ticks)) = numbers {
                let (stream, captured, header) = (STREAM, time_of_media_ticks(ticks), Header::RTP);
                let (first, annotation) = (None, None);
                let packet = RtpPacket {
                    stream,
                    sequence,
                    captured,
                    payload,
                    padding,
                    header,
                    transport: 0,
                    first,
                    marker,
                    key: None,
                    annotation,
                };
                receiver.receive(now, packet, Ecn::NotEct, PathFacts::default());
                (packets, last) = (packets + 1, Instant::now());
            }
        }
        receiver.handle_timeout(now);
        while let Some(Transmit { packet: feedback, .. }) = receiver.poll_transmit(now) {
            if let RtpFeedback::Packets(report) = &feedback {
                reports.clear();
                FORMAT.encode(report, &mut reporter, |_stream| SSRC, LARGEST, &mut reports)?;
                socket.send(&reports)?;
            }
            receiver.recycle(feedback);
        }
        frames += std::iter::from_fn(|| receiver.poll_displayed()).count() as u64;
    }
    Ok((packets, frames))
}

/// A call of so long between two threads: the target at its end, packets that were sent and that arrived, frames displayed.
///
/// # Errors
/// If a socket fails, or a packet is malformed.
pub fn call(length: Duration) -> Outcome<(Bitrate, u64, u64, u64)> {
    let (here, there) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    here.connect(there.local_addr()?)?;
    there.connect(here.local_addr()?)?;
    // A program that serves more than one call asks `next_timeout` how long it may sleep.
    here.set_read_timeout(Some(Duration::from_millis(1)))?;
    there.set_read_timeout(Some(Duration::from_millis(1)))?;
    let receiving = std::thread::spawn(move || receive(&there));
    let (target, sent) = send(&here, length)?;
    let (arrived, frames) = receiving.join().map_err(|_| "the receiver failed")??;
    Ok((target, sent, arrived, frames))
}

fn main() -> Outcome<()> {
    let (target, sent, arrived, frames) = call(Duration::from_secs(5))?;
    println!(
        "{arrived} of {sent} packets and {frames} frames arrived, target {:.1} Mbit/s",
        target.as_mbps_f64()
    );
    Ok(())
}
