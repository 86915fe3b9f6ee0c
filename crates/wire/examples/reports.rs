//! Reports on packets, as bytes in hexadecimal and as words: `cargo run -p paceline-wire --example reports`.
//!
//! Each line of standard input is one of the two, and becomes the other; of bytes that are no report the words begin with
//! `error`. Words are
//!
//! - `twcc SENDER MEDIA BASE REFERENCE COUNT` and for each packet `-` or its delta in steps of 250 us,
//! - `ccfb SENDER TIMESTAMP`, for each block `ssrc SSRC BEGIN`, and for each packet `-` or `ECN/OFFSET`, the offset in 1/1024 s,
//!   `over` or `unknown`. The timestamp is in 1/65536 s; where bytes are to be written, it is a multiple of 64.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what an example is for")]

use paceline_cc::StreamId;
use paceline_units::{Ecn, Time};
use paceline_wire::ccfb::{
    self, ArrivalOffset, ArrivalReport, Feedback, FeedbackBlock, RawEntry, RawFeedback,
};
use paceline_wire::clock::{RTS_PER_TICK, time_of_ticks};
use paceline_wire::rtcp::{self, RtcpPacket};
use paceline_wire::twcc::{self, TransportFeedback};
use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;
use std::str::{FromStr, SplitWhitespace};

type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    for (number, line) in std::io::stdin().lines().map_while(Result::ok).enumerate() {
        let mut words = line.split_whitespace();
        let written = match words.next() {
            Some("twcc") => twcc_bytes(words).map(|bytes| hexadecimal(&bytes)),
            Some("ccfb") => ccfb_bytes(words).map(|bytes| hexadecimal(&bytes)),
            digits => bytes_of(digits.unwrap_or_default())
                .map(|bytes| read(&bytes).unwrap_or_else(|error| format!("error: {error}"))),
        };
        match written {
            Ok(written) => println!("{written}"),
            Err(error) => {
                eprintln!("line {}: {error}", number + 1);
                return ExitCode::from(2);
            }
        }
    }
    ExitCode::SUCCESS
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of(digits: &str) -> Result<Vec<u8>, Failure> {
    let pair = |pair: &[u8]| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?);
    digits.as_bytes().chunks(2).map(pair).collect()
}

/// The words of the one RTCP packet that the bytes are.
fn read(bytes: &[u8]) -> Result<String, Failure> {
    let packet = rtcp::packets(bytes).next().ok_or("no RTCP packet")??;
    if packet.bytes.len() != bytes.len() {
        return Err("more than one RTCP packet".into());
    }
    if twcc::is_twcc(&packet) { twcc_words(&packet) } else { ccfb_words(&packet) }
}

fn twcc_words(packet: &RtcpPacket<'_>) -> Result<String, Failure> {
    let mut report = TransportFeedback::default();
    twcc::decode_packet(packet, &mut report)?;
    let TransportFeedback { sender_ssrc, ssrc, base, reference, feedback_count, deltas } = report;
    let mut words = format!("twcc {sender_ssrc} {ssrc} {base} {reference} {feedback_count}");
    for delta in deltas {
        match delta {
            None => words.push_str(" -"),
            Some(delta) => write!(words, " {delta}")?,
        }
    }
    Ok(words)
}

fn ccfb_words(packet: &RtcpPacket<'_>) -> Result<String, Failure> {
    let mut report = RawFeedback::default();
    ccfb::decode_packet(packet, &mut report)?;
    let mut words = format!("ccfb {} {}", report.sender_ssrc, report.rts);
    for block in &report.blocks {
        write!(words, " ssrc {} {}", block.ssrc, block.begin)?;
        for entry in report.entries_of(block) {
            match *entry {
                RawEntry::Missing => words.push_str(" -"),
                RawEntry::Received { ato: ArrivalOffset::Known(ticks), ecn } => {
                    write!(words, " {}/{ticks}", ecn.bits())?
                }
                RawEntry::Received { ato: ArrivalOffset::OverRange, ecn } => {
                    write!(words, " {}/over", ecn.bits())?
                }
                RawEntry::Received { ato: ArrivalOffset::Unknown, ecn } => {
                    write!(words, " {}/unknown", ecn.bits())?
                }
            }
        }
    }
    Ok(words)
}

fn next<T: FromStr>(words: &mut SplitWhitespace<'_>) -> Result<T, Failure>
where
    T::Err: Error + 'static,
{
    Ok(words.next().ok_or("a number is missing")?.parse()?)
}

fn twcc_bytes(mut words: SplitWhitespace<'_>) -> Result<Vec<u8>, Failure> {
    let mut report = TransportFeedback {
        sender_ssrc: next(&mut words)?,
        ssrc: next(&mut words)?,
        base: next(&mut words)?,
        reference: next(&mut words)?,
        feedback_count: next(&mut words)?,
        deltas: Vec::new(),
    };
    for word in words {
        report.deltas.push(if word == "-" { None } else { Some(word.parse()?) });
    }
    let mut bytes = Vec::new();
    twcc::encode(&report, &mut bytes)?;
    Ok(bytes)
}

fn ccfb_bytes(mut words: SplitWhitespace<'_>) -> Result<Vec<u8>, Failure> {
    let (sender, timestamp): (u32, u64) = (next(&mut words)?, next(&mut words)?);
    let ticks = timestamp / RTS_PER_TICK;
    let (mut feedback, mut ssrcs) =
        (Feedback { written: time_of_ticks(ticks), ..Feedback::default() }, Vec::new());
    while let Some(word) = words.next() {
        if word == "ssrc" {
            let stream = StreamId(ssrcs.len() as u8);
            ssrcs.push(next(&mut words)?);
            feedback.blocks.push(FeedbackBlock { stream, begin: next(&mut words)?, count: 0 });
            continue;
        }
        feedback.blocks.last_mut().ok_or("a packet before the first block")?.count += 1;
        feedback.arrivals.push(arrival(word, ticks)?);
    }
    let mut bytes = Vec::new();
    ccfb::encode(&feedback, sender, |stream| ssrcs[usize::from(stream.0)], &mut bytes)?;
    Ok(bytes)
}

/// The arrival of a packet by a word in a report that was written at so many ticks of 1/1024 s.
fn arrival(word: &str, written: u64) -> Result<ArrivalReport, Failure> {
    if word == "-" {
        return Ok(ArrivalReport::Missing);
    }
    let (ecn, offset) = word.split_once('/').ok_or("found no offset")?;
    let at: Option<Time> = match offset {
        "unknown" => None,
        "over" => Some(time_of_ticks(written.saturating_sub(u64::from(ccfb::MAX_OFFSET) + 1))),
        ticks => Some(time_of_ticks(written.saturating_sub(ticks.parse()?))),
    };
    Ok(ArrivalReport::Received { at, ecn: Ecn::from_bits(ecn.parse()?) })
}
