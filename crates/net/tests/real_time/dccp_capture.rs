//! Capture files of both ends: native DCCP that we read ourselves and, where it is installed, tshark.

use crate::call::anywhere;
use crate::dccp_ends::{scenario, with_options};
use crate::folder::Folder;
use paceline_dccp::FLOW_PORTS;
use paceline_net::{NetError, ReceiveOptions, SendOptions};
use paceline_units::TimeDelta;
use paceline_wire::capture;
use paceline_wire::dccp::decode;
use paceline_wire::dccp::{Body, DccpOption, Packet, PacketType, ResetCode, ServiceCode};
use paceline_wire::ip::Addresses;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

struct Record {
    nanos: u64,
    ecn: u8,
    packet: Packet,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// The packets of a capture, each with a good checksum.
fn read(path: &Path) -> Vec<Record> {
    let bytes = std::fs::read(path).expect("a capture");
    let mut records = Vec::new();
    for record in capture::records(&bytes) {
        let capture::Record { nanos, bytes: ip, .. } = record.expect("whole blocks");
        assert_eq!((ip[0], ip[9], u16::from_be_bytes([ip[2], ip[3]]) as usize), (0x45, 33, ip.len()));
        let address = |at: usize| Ipv4Addr::from_bits(word(ip, at));
        let addresses = Addresses::V4 { source: address(12), destination: address(16) };
        assert_eq!(address(12), Ipv4Addr::LOCALHOST);
        let packet = decode(&ip[20..], &addresses).expect("a packet with a good checksum");
        records.push(Record { nanos, ecn: ip[1] & 3, packet });
    }
    records
}

/// Runs a short flow with captures at both ends, and a longer one where the receiver was too late for it.
fn captured(folder: &Folder, controller: &str, more: &str) -> [PathBuf; 2] {
    let [here, there] = ["sender", "receiver"].map(|end| folder.file(&format!("{end}.pcap")));
    let run = |length| {
        for path in [&here, &there] {
            let _ = std::fs::remove_file(path);
        }
        let loaded = scenario(length, controller, more);
        let send = |to: SocketAddr| SendOptions { capture: Some(here.clone()), ..SendOptions::to(to) };
        let receive = ReceiveOptions { capture: Some(there.clone()), ..ReceiveOptions::on(anywhere()) };
        with_options(&loaded, &loaded, send, receive)
    };
    let late = |sent: &Result<_, _>| matches!(sent, Err(NetError::NothingAnswered { .. }));
    let (mut sent, mut received) = run("300ms");
    if late(&sent) {
        (sent, received) = run("5s");
    }
    for output in [sent, received] {
        let warnings = output.expect("an output").warnings;
        assert!(!warnings.iter().any(|said| said.contains("capture")), "{warnings:?}");
    }
    assert!(!folder.file("sender.pcap.part").exists());
    [here, there]
}

/// The numbers of a side's packets, in the order of the file. Without Resets outside the connection, whose numbers follow
/// from what they answer (RFC 4340 section 8.3.1): late packets meet an end in TIMEWAIT.
fn numbers(records: &[Record], client: bool) -> Vec<u64> {
    let outside = |packet: &Packet| matches!(&packet.body, Body::Reset { reason, .. } if reason.code == ResetCode::NO_CONNECTION);
    let of_side =
        |record: &&Record| (record.packet.ports == FLOW_PORTS) == client && !outside(&record.packet);
    records.iter().filter(of_side).map(|record| record.packet.sequence.as_u64()).collect()
}

#[test]
fn what_was_captured_is_what_was_said() {
    let more = "ecn = \"l4s\"\npacket_size = \"1000B\"\ndccp = { service = \"SC:call\" }";
    let [here, there] = captured(&Folder::new("said"), "ccid2", more).map(|path| read(&path));
    let kind = |record: &Record| record.packet.packet_type();
    for records in [&here, &there] {
        let service = ServiceCode(u32::from_be_bytes(*b"call"));
        assert_eq!(records[0].packet.body, Body::Request { service });
        assert_eq!(kind(&records[1]), PacketType::Response);
        assert!(records[1].packet.options.iter().any(|option| matches!(option, DccpOption::InitCookie(_))));
        let acknowledges = |record: &&Record| {
            kind(record) == PacketType::Ack
                && record.packet.options.iter().any(|option| matches!(option, DccpOption::AckVector { .. }))
        };
        assert!(records.iter().filter(acknowledges).count() > 10);
        let close = records.iter().position(|record| kind(record) == PacketType::Close).expect("a Close");
        let reset = records.iter().position(|record| kind(record) == PacketType::Reset).expect("a Reset");
        assert!(close < reset);
        let data = records.iter().filter(|record| kind(record) == PacketType::Data);
        assert!(data.clone().count() > 50 && data.clone().all(|record| record.ecn == 1));
        assert!(data.clone().all(|record| record.packet.payload.len() == 1000 - 16));
        // Within the run's duration, whatever the year.
        let (first, last) = (records[0].nanos, records[records.len() - 1].nanos);
        assert!(first > 1_600_000_000_000_000_000 && last - first < 20_000_000_000, "{first} {last}");
    }
    // Each side's own numbers are consecutive; what arrived was sent.
    for (records, client) in [(&here, true), (&there, false)] {
        let own = numbers(records, client);
        let gap = own.windows(2).find(|pair| pair[1] != (pair[0] + 1) % (1 << 48));
        assert_eq!(gap, None, "of {} numbers", own.len());
    }
    for (receives, sends, client) in [(&there, &here, true), (&here, &there, false)] {
        let sent: BTreeSet<u64> = numbers(sends, client).into_iter().collect();
        assert!(numbers(receives, client).iter().all(|number| sent.contains(number)));
    }
}

/// An answer is not older than what it answers, nor a packet than the one that was sent before it: at neither end.
#[test]
fn times_do_not_run_backwards() {
    let folder = Folder::new("times");
    for (path, client) in captured(&folder, "ccid2", "packet_size = \"200B\"").iter().zip([true, false]) {
        let records = read(path);
        let is_own = |record: &&Record| (record.packet.ports == FLOW_PORTS) == client;
        let mut own: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut last, mut answers) = (0, 0);
        for record in &records {
            let number = record.packet.sequence.as_u64();
            if is_own(&record) {
                assert!(record.nanos >= last, "{number}: {} ns back", last - record.nanos);
                last = record.nanos;
                own.insert(number, record.nanos);
            } else if let Some(sent) =
                record.packet.body.acknowledgment().and_then(|of| own.get(&of.as_u64()))
            {
                assert!(
                    record.nanos >= *sent,
                    "{number} came {} ns before what it answers",
                    sent - record.nanos
                );
                answers += 1;
            }
        }
        // Of acknowledgements few are acknowledged.
        assert!(answers > if client { 20 } else { 0 }, "{answers} of {}", records.len());
    }
}

/// The end that comes second is told so at once; the first one's file is whole.
#[test]
fn both_ends_do_not_write_one_file() {
    let folder = Folder::new("both");
    let path = folder.file("both.pcap");
    let loaded = scenario("60s", "ccid2", "");
    let capture = Some(path.clone());
    let patience = TimeDelta::from_secs(1);
    let send = |to: SocketAddr| SendOptions { capture: capture.clone(), patience, ..SendOptions::to(to) };
    let receive = ReceiveOptions { capture: capture.clone(), ..ReceiveOptions::on(anywhere()) };
    let (sent, received) = with_options(&loaded, &loaded, send, receive);
    let said = [sent, received].map(|result| result.err().map(|error| error.to_string()).unwrap_or_default());
    // A sender that comes first finds nobody to send to.
    let second: Vec<&String> = said.iter().filter(|said| said.contains("a name of its own")).collect();
    assert!(second.len() == 1 && second[0].contains("both.pcap"), "{said:?}");
    read(&path);
}

#[test]
fn a_capture_of_a_run_that_failed_is_there_too() {
    let folder = Folder::new("failed");
    let path = folder.file("failed.pcap");
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let to = silent.local_addr().expect("an address");
    let patience = TimeDelta::from_millis(100);
    let options = SendOptions { capture: Some(path.clone()), patience, ..SendOptions::to(to) };
    let loaded = scenario("60s", "ccid2", "");
    let sender = paceline_net::Sender::bind(&loaded, &options).expect("a sender");
    let control = paceline_net::Control { stop: &false.into(), progress: &|_| () };
    assert!(sender.run(&control).is_err());
    let records = read(&path);
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].packet.packet_type(), PacketType::Request);
}

/// Each packet's fields as tshark reads them, line by line; none without tshark.
fn tshark(path: &Path, fields: &[&str]) -> Option<Vec<String>> {
    let mut command = Command::new("tshark");
    command.args(["-r", &path.to_string_lossy(), "-o", "dccp.check_checksum:TRUE", "-T", "fields"]);
    fields.iter().for_each(|field| {
        command.args(["-e", field]);
    });
    let output = command.output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(text.lines().map(Into::into).collect())
}

#[test]
fn tshark_reads_what_we_read() {
    for (controller, more) in [("ccid2", "ecn = \"classic\""), ("ccid3", "dccp = { ack_vector = true }")] {
        let folder = Folder::new(&format!("tshark-{controller}"));
        let [path, _] = captured(&folder, controller, more);
        let records = read(&path);
        let fields = [
            "dccp.type",
            "dccp.seq_raw",
            "dccp.ccval",
            "dccp.checksum.status",
            "ip.dsfield.ecn",
            "_ws.malformed",
            "dccp.service_code",
            "dccp.ack_vector.nonce_0",
        ];
        let Some(lines) = tshark(&path, &fields) else {
            eprintln!("no tshark: nothing compared");
            return;
        };
        assert_eq!(lines.len(), records.len());
        let mut codes = Vec::new();
        for (line, Record { packet, ecn, .. }) in lines.iter().zip(&records) {
            let (kind, number) = (packet.packet_type() as u8, packet.sequence);
            let columns: Vec<_> = line.split('\t').collect();
            let [read @ .., malformed, code, nonce] = &columns[..] else { panic!("{line}") };
            assert_eq!(read.join(" "), format!("{kind} {number} {} 1 {ecn}", packet.ccval));
            assert_eq!(*malformed, "", "{line}");
            codes.extend(Some(*code).filter(|code| !code.is_empty()));
            let is_vector = |option: &DccpOption| matches!(option, DccpOption::AckVector { .. });
            let has_vector = packet.options.iter().any(is_vector);
            if packet.packet_type() == PacketType::Ack {
                assert_eq!(has_vector, !nonce.is_empty(), "{line}");
            }
        }
        assert_eq!(codes, ["0", "0"], "of Request and Response");
        if controller == "ccid3" {
            assert!(records.iter().any(|record| record.packet.ccval > 0), "the window counter moves");
        }
    }
}
