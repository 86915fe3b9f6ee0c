//! The controller and the bytes of RFC 8888, and nothing else: `cargo run -p paceline-wire --example rfc8888`.
//!
//! A program that has its own RTP stack hands its datagrams of RTCP in. docs/embed.md quotes what stands between the
//! marks; the datagram at the end is written by hand.
#![allow(clippy::print_stdout, reason = "what an example is for")]

// docs: rfc 8888
use paceline_cc::FlowSetup;
use paceline_cc::scream::{Params, Scream};
use paceline_cc::{
    Allowance, Controller, DetectorConfig, LossDetector, PacketResult, PacketsReport, Report, SentPacket,
    Status, StreamId, Update,
};
use paceline_units::{Bytes, Time, TimeDelta};
use paceline_wire::ccfb::{self, ArrivalReport, Feedback, RawFeedback, RtsUnwrapper};
use paceline_wire::{WireError, rtcp, unwrap_sequence};
use std::collections::BTreeMap;

const STREAM: StreamId = StreamId(0);
const SSRC: u32 = 0x1111_1100;

/// The program's record of packets that it sent, and of reports that came.
struct Feeder {
    controller: Scream,
    /// Send time and size on the link, by the sequence number that never wraps.
    sent: BTreeMap<u64, (Time, Bytes)>,
    timestamps: RtsUnwrapper,
    raw: RawFeedback,
    feedback: Feedback,
}

impl Feeder {
    fn on_sent(&mut self, now: Time, sequence: u64, size: Bytes) -> Update {
        self.sent.insert(sequence, (now, size));
        let packet = SentPacket { stream: STREAM, sequence, size, probe: None, app_limited: false };
        self.controller.on_sent(now, &packet)
    }

    /// A datagram of RTCP arrived: what its RFC 8888 reports say of packets that were sent, one by one.
    fn read(&mut self, datagram: &[u8]) -> Result<Vec<PacketResult>, WireError> {
        let newest = self.sent.last_key_value().map_or(0, |(sequence, _)| *sequence);
        let mut results = Vec::new();
        for packet in rtcp::packets(datagram) {
            let packet = packet?;
            if !ccfb::is_ccfb(&packet) {
                continue;
            }
            ccfb::decode_packet(&packet, &mut self.raw)?;
            let stream_of = |ssrc| (ssrc == SSRC).then_some(STREAM);
            let extend = |_stream, begin| unwrap_sequence(newest, begin);
            self.raw.to_feedback(&mut self.timestamps, stream_of, extend, &mut self.feedback)?;
            let mut arrivals = self.feedback.arrivals.iter();
            for block in &self.feedback.blocks {
                let numbers = block.begin..block.begin + u64::from(block.count);
                for (sequence, arrival) in numbers.zip(arrivals.by_ref()) {
                    let Some(&(sent, size)) = self.sent.get(&sequence) else { continue };
                    let status = match *arrival {
                        ArrivalReport::Missing => Status::Missing,
                        ArrivalReport::Received { at, ecn } => Status::Received { arrived: at, ecn },
                    };
                    results.push(PacketResult { stream: STREAM, sequence, size, sent, status });
                }
            }
        }
        Ok(results)
    }

    fn on_rtcp(&mut self, now: Time, datagram: &[u8]) -> Result<Update, WireError> {
        let packets = &self.read(datagram)?;
        let clock_step = TimeDelta::from_micros(977);
        Ok(self
            .controller
            .on_report(now, &Report::Packets(PacketsReport { packets, clock_step, ambiguous: false })))
    }
}
// docs: end

fn main() -> Result<(), WireError> {
    let largest = Bytes::new(1212);
    let mut feeder = Feeder {
        controller: Scream::new(&Params::default(), &FlowSetup::new(largest)),
        sent: BTreeMap::new(),
        timestamps: RtsUnwrapper::default(),
        raw: RawFeedback::default(),
        feedback: Feedback::default(),
    };
    let ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
    for n in 0..8 {
        let _ = feeder.on_sent(ms(n * 10), 65_533 + n, largest);
    }
    // From 65533 on: arrived, missing, and after the wrap six that arrived, of which one was marked CE.
    let datagram = [
        0x8b, 205, 0, 8, 0xaa, 0xbb, 0xcc, 0xdd, // RTCP header, sender
        0x11, 0x11, 0x11, 0x00, 0xff, 0xfd, 0, 8, // SSRC, first sequence number, packets
        0x80, 0x48, 0, 0, 0x80, 0x34, 0x80, 0x2a, 0xe0, 0x20, 0x80, 0x16, 0x80, 0x0b, 0x80, 0x01, //
        0, 0, 0x20, 0, // report timestamp: 125 ms
    ];
    // docs: loss detector
    let config = DetectorConfig {
        packet_threshold: Some(3),
        reorder_window: TimeDelta::from_millis(10),
        reorder_window_max: TimeDelta::from_millis(100),
        unreported_is_lost: false,
    };
    let mut detector = LossDetector::new(config);
    for (sequence, (sent, size)) in &feeder.sent {
        detector.on_sent(*sent, *sequence, *size);
    }
    let acked = detector.on_report(ms(130), feeder.read(&datagram)?.iter());
    let (arrived, marked) = (acked.delivered.as_u64(), acked.delivered_ce.as_u64());
    println!("arrived: {arrived} B, of which marked CE: {marked} B; packets lost: {}", acked.lost);
    // docs: end
    let update = feeder.on_rtcp(ms(130), &datagram)?;
    let Some(Allowance::Bytes(allowed)) = update.allowance else { unreachable!("SCReAM has a window") };
    println!("may be sent now: {} B", allowed.as_u64());
    Ok(())
}
