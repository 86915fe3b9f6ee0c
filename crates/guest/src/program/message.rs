//! The messages between the simulator and a program, written and read by both ends, as `docs/bring-your-own-program.md` describes them.
//!
//! A message is the length of the rest (4 bytes), a letter, and fields one after the other. Numbers are little-endian; a text is its
//! length (2 bytes) and UTF-8. Times are seconds of the run, rates Mbit/s, sizes bytes.

use crate::answer::{Answer, Burst};
use crate::controller::Setting;
use crate::declared::{Declared, Description, Hears, interned};
use paceline_cc::{Assigned, FlowSetup, PacketResult, PacketsReport, SentPacket, Status, Steers, StreamId};
use paceline_units::param::Value;
use paceline_units::{Bitrate, Bytes, Ecn, Time};

/// The version of the messages. A program that does not know it says which it knows.
pub const VERSION: u16 = 1;
/// The bit of an answer that asks for a probe.
const PROBE: u8 = 16;
/// Added to the state of a packet where no round trip follows from its report.
const AMBIGUOUS: u8 = 4;
/// No message of a program is longer.
pub const LONGEST: usize = 64 * 1024;

/// A message that is written.
#[derive(Default)]
pub(super) struct Outgoing(Vec<u8>);

impl Outgoing {
    fn new(letter: u8) -> Outgoing {
        let mut message = Outgoing(vec![0; 4]);
        message.u8(letter);
        message
    }

    /// A message of an event, with its number and the time of the run.
    fn event(letter: u8, number: u64, now: Time) -> Outgoing {
        let mut message = Outgoing::new(letter);
        message.u64(number);
        message.f64(now.as_secs_f64());
        message
    }

    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    fn u16(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    fn f64(&mut self, value: f64) {
        self.0.extend(value.to_le_bytes());
    }

    /// A text, of which at most 65,535 bytes are sent.
    fn text(&mut self, text: &str) {
        let end = (0..=text.len().min(usize::from(u16::MAX))).rev().find(|end| text.is_char_boundary(*end));
        let text = &text[..end.unwrap_or(0)];
        self.u16(text.len() as u16);
        self.0.extend(text.as_bytes());
    }

    /// The bytes, with the length in front.
    pub(super) fn bytes(mut self) -> Vec<u8> {
        let length = (self.0.len() - 4) as u32;
        self.0[..4].copy_from_slice(&length.to_le_bytes());
        self.0
    }

    /// Asks for the description of the controller.
    pub(super) fn describe() -> Outgoing {
        let mut message = Outgoing::new(b'D');
        message.u16(VERSION);
        message
    }

    /// A flow begins.
    pub(super) fn start(number: u64, now: Time, setup: &FlowSetup, settings: &[Setting]) -> Outgoing {
        let mut message = Outgoing::event(b'S', number, now);
        message.u32(setup.largest_packet.as_u64() as u32);
        message.u8(setup.l4s.into());
        message.u64(setup.initial_window);
        message.u16(setup.priorities.len() as u16);
        for &priority in &setup.priorities {
            message.f64(priority);
        }
        message.u16(settings.len() as u16);
        for (name, value) in settings {
            message.text(name);
            message.setting(value);
        }
        message
    }

    /// A number in the units of the messages, or a text.
    fn setting(&mut self, value: &Value) {
        let number = match value {
            Value::Rate(rate) | Value::Ramp(rate) => Some(rate.as_mbps_f64()),
            Value::Flag(flag) => Some(f64::from(*flag)),
            value => value.number(),
        };
        match number {
            Some(number) => {
                self.u8(b'n');
                self.f64(number);
            }
            None => {
                self.u8(b't');
                self.text(&value.to_string());
            }
        }
    }

    /// A packet was handed to the network.
    pub(super) fn sent(number: u64, now: Time, packet: &SentPacket) -> Outgoing {
        let mut message = Outgoing::event(b'P', number, now);
        message.u8(packet.stream.0);
        message.u64(packet.sequence);
        message.u32(packet.size.as_u64() as u32);
        message.u8(packet.app_limited.into());
        message.u64(packet.probe.unwrap_or(0));
        message
    }

    /// The receiver reported on packets.
    pub(super) fn report(number: u64, now: Time, report: &PacketsReport<'_>) -> Outgoing {
        let mut message = Outgoing::event(b'R', number, now);
        message.u32(report.packets.len() as u32);
        for packet in report.packets {
            let (state, arrived) = match packet.status {
                Status::Missing => (0, None),
                Status::Received { arrived, ecn } => (if ecn.is_ce() { 2 } else { 1 }, arrived),
            };
            message.u8(packet.stream.0);
            message.u64(packet.sequence);
            message.u32(packet.size.as_u64() as u32);
            message.f64(packet.sent.as_secs_f64());
            message.u8(state | if report.ambiguous { AMBIGUOUS } else { 0 });
            message.f64(arrived.map_or(f64::NAN, Time::as_secs_f64));
        }
        message
    }

    /// The time is here that an answer named.
    pub(super) fn timeout(number: u64, now: Time) -> Outgoing {
        Outgoing::event(b'T', number, now)
    }

    /// A transport that retransmits says what it found.
    pub(super) fn recovery(number: u64, now: Time, event: &str, bytes: Bytes) -> Outgoing {
        let mut message = Outgoing::event(b'V', number, now);
        message.text(event);
        message.u64(bytes.as_u64());
        message
    }

    /// Coupling has replaced the target or the window.
    pub(super) fn assigned(number: u64, now: Time, assigned: Assigned) -> Outgoing {
        let mut message = Outgoing::event(b'A', number, now);
        let (target, window) = match assigned {
            Assigned::Rate(rate) => (rate.as_mbps_f64(), f64::NAN),
            Assigned::Window(window) => (f64::NAN, window.as_f64()),
        };
        message.f64(target);
        message.f64(window);
        message
    }

    /// A program's description of its controller.
    pub(super) fn described(description: &Description) -> Outgoing {
        let mut message = Outgoing::new(b'd');
        message.u16(VERSION);
        message.text(&description.help);
        message.text(&description.version);
        message.u8(match description.steers {
            Steers::Datagrams => b'd',
            Steers::Media => b'm',
            Steers::ByteStream => b'b',
            // Refused by the simulator.
            Steers::Unreported | Steers::Ccid(_) => b'?',
        });
        let Hears { sent, timeout, recovery, assigned, unanswered } = description.hears;
        message.u8(bits([sent, timeout, recovery, assigned, unanswered]));
        message.u16(description.parameters.len() as u16);
        for Declared { name, value, help } in &description.parameters {
            for text in [name, value, help] {
                message.text(text);
            }
        }
        message
    }

    /// A program's answer to the event of this number.
    pub(super) fn answer(number: u64, answer: &Answer) -> Outgoing {
        let Answer { target_mbps, pacing_mbps, window_bytes, next_timeout_s, probe } = *answer;
        let fields = [target_mbps, pacing_mbps, window_bytes, next_timeout_s];
        let mut message = Outgoing::new(b'a');
        message.u64(number);
        message.u8(bits(fields.map(|field| field.is_some())) | if probe.is_some() { PROBE } else { 0 });
        for field in fields {
            message.f64(field.unwrap_or_default());
        }
        if let Some(Burst { mbps, bytes }) = probe {
            message.f64(mbps);
            message.f64(bytes);
        }
        message
    }

    /// A program's complaint.
    pub(super) fn complaint(text: &str) -> Outgoing {
        let mut message = Outgoing::new(b'e');
        message.text(text);
        message
    }
}

/// Flags as the bits of a number, the first one lowest.
fn bits<const N: usize>(flags: [bool; N]) -> u8 {
    flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag))
}

/// The rest of a message that is read.
pub(super) struct Incoming<'m>(&'m [u8]);

/// A message of a program that was read.
#[derive(Debug)]
pub(super) enum Message {
    /// The description that was asked for.
    Described(Box<Described>),
    /// The answer to the event of this number.
    Answer(u64, Answer),
    /// The program's own complaint.
    Complaint(String),
}

/// A program's description of its controller.
#[derive(Debug)]
pub(super) struct Described {
    pub help: String,
    pub version: String,
    pub steers: Steers,
    pub hears: Hears,
    pub parameters: Vec<Declared>,
}

/// A message to a program that was read.
#[derive(Debug)]
pub(super) enum Told {
    /// The question what the program is, in this version of the messages.
    Describe(u16),
    /// An event with its number and the time of the run.
    Event(u64, Time, Event),
}

/// An event of a flow.
#[derive(Debug)]
pub(super) enum Event {
    Start(FlowSetup, Vec<(String, Plain)>),
    Sent(SentPacket),
    /// Results, and whether no round trip follows from them.
    Report(Vec<PacketResult>, bool),
    Timeout,
    Recovery(&'static str, Bytes),
    Assigned(Assigned),
}

/// The value of a parameter in the units of the messages.
#[derive(Debug)]
pub(super) enum Plain {
    Number(f64),
    Text(String),
}

impl<'m> Incoming<'m> {
    /// The message of a program in these bytes, without its length.
    pub(super) fn read(message: &'m [u8]) -> Result<Message, String> {
        let mut rest = Incoming(message);
        let read = match rest.u8()? {
            b'd' => Message::Described(Box::new(rest.described()?)),
            b'a' => Message::Answer(rest.u64()?, rest.answer()?),
            b'e' => Message::Complaint(rest.text()?),
            other => return Err(format!("found a message of the letter {other:#04x}, expected d, a or e")),
        };
        rest.ended().map(|()| read)
    }

    /// The message to a program in these bytes, without its length.
    pub(super) fn told(message: &'m [u8]) -> Result<Told, String> {
        let mut rest = Incoming(message);
        let told = match rest.u8()? {
            b'D' => Told::Describe(rest.u16()?),
            letter => Told::Event(rest.u64()?, Time::from_secs_f64(rest.f64()?), rest.event(letter)?),
        };
        rest.ended().map(|()| told)
    }

    fn ended(&self) -> Result<(), String> {
        match self.0.len() {
            0 => Ok(()),
            more => Err(format!("found {more} bytes behind the last field of a message, expected none")),
        }
    }

    fn event(&mut self, letter: u8) -> Result<Event, String> {
        Ok(match letter {
            b'S' => self.start()?,
            b'P' => Event::Sent(SentPacket {
                stream: StreamId(self.u8()?),
                sequence: self.u64()?,
                size: self.bytes()?,
                app_limited: self.u8()? != 0,
                probe: Some(self.u64()?).filter(|number| *number > 0),
            }),
            b'R' => {
                let results = (0..self.u32()?).map(|_| self.result()).collect::<Result<Vec<_>, _>>()?;
                let ambiguous = results.iter().any(|(_, ambiguous)| *ambiguous);
                Event::Report(results.into_iter().map(|(result, _)| result).collect(), ambiguous)
            }
            b'T' => Event::Timeout,
            b'V' => Event::Recovery(interned(&self.text()?), Bytes::new(self.u64()?)),
            b'A' => {
                let (target, window) = (self.f64()?, self.f64()?);
                Event::Assigned(if window.is_nan() {
                    Assigned::Rate(Bitrate::from_bps_f64(target * 1e6))
                } else {
                    Assigned::Window(Bytes::new(window as u64))
                })
            }
            other => {
                return Err(format!(
                    "found a message of the letter {other:#04x}, expected D, S, P, R, T, V or A"
                ));
            }
        })
    }

    fn start(&mut self) -> Result<Event, String> {
        let setup = FlowSetup {
            largest_packet: self.bytes()?,
            l4s: self.u8()? != 0,
            initial_window: self.u64()?,
            priorities: (0..self.u16()?).map(|_| self.f64()).collect::<Result<_, _>>()?,
            ..FlowSetup::default()
        };
        let setting = |rest: &mut Self| {
            let name = rest.text()?;
            Ok((
                name,
                if rest.u8()? == b'n' { Plain::Number(rest.f64()?) } else { Plain::Text(rest.text()?) },
            ))
        };
        let settings = (0..self.u16()?).map(|_| setting(self)).collect::<Result<_, String>>()?;
        Ok(Event::Start(setup, settings))
    }

    /// A packet's result, and whether no round trip follows from it.
    fn result(&mut self) -> Result<(PacketResult, bool), String> {
        let (stream, sequence, size) = (StreamId(self.u8()?), self.u64()?, self.bytes()?);
        let (sent, state) = (Time::from_secs_f64(self.f64()?), self.u8()?);
        let arrived = Some(self.f64()?).filter(|arrived| !arrived.is_nan()).map(Time::from_secs_f64);
        let status = match state & !AMBIGUOUS {
            0 => Status::Missing,
            1 => Status::Received { arrived, ecn: Ecn::NotEct },
            _ => Status::Received { arrived, ecn: Ecn::Ce },
        };
        Ok((PacketResult { stream, sequence, size, sent, status }, state & AMBIGUOUS != 0))
    }

    fn take(&mut self, count: usize) -> Result<&'m [u8], String> {
        let (taken, rest) =
            self.0.split_at_checked(count).ok_or("found a message that ends within a field")?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u8(&mut self) -> Result<u8, String> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Result<u16, String> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, String> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, String> {
        self.array().map(u64::from_le_bytes)
    }

    /// A size on the link.
    fn bytes(&mut self) -> Result<Bytes, String> {
        Ok(Bytes::new(self.u32()?.into()))
    }

    fn f64(&mut self) -> Result<f64, String> {
        self.array().map(f64::from_le_bytes)
    }

    fn text(&mut self) -> Result<String, String> {
        let length = self.u16()?.into();
        let text = str::from_utf8(self.take(length)?);
        text.map(String::from).map_err(|_| "found a text that is not UTF-8".into())
    }

    fn described(&mut self) -> Result<Described, String> {
        let version = self.u16()?;
        if version != VERSION {
            return Err(format!("found version {version} of the messages, expected {VERSION}"));
        }
        let (help, version) = (self.text()?, self.text()?);
        let steers = match self.u8()? {
            b'd' => Steers::Datagrams,
            b'm' => Steers::Media,
            b'b' => Steers::ByteStream,
            other => return Err(format!("found that it steers {other:#04x}, expected d, m or b")),
        };
        let bits = self.u8()?;
        if bits > 0b1_1111 {
            return Err(format!("found the calls {bits:#07b}, expected the five lowest bits alone"));
        }
        let bit = |place: u8| bits >> place & 1 == 1;
        let hears =
            Hears { sent: bit(0), timeout: bit(1), recovery: bit(2), assigned: bit(3), unanswered: bit(4) };
        let declared =
            |rest: &mut Self| Ok(Declared { name: rest.text()?, value: rest.text()?, help: rest.text()? });
        let parameters = (0..self.u16()?).map(|_| declared(self)).collect::<Result<_, String>>()?;
        Ok(Described { help, version, steers, hears, parameters })
    }

    fn answer(&mut self) -> Result<Answer, String> {
        let bits = self.u8()?;
        if bits > 0b1_1111 {
            return Err(format!("found the fields {bits:#07b}, expected the five lowest bits alone"));
        }
        let mut field = |place: u8| Ok::<_, String>(Some(self.f64()?).filter(|_| bits >> place & 1 == 1));
        Ok(Answer {
            target_mbps: field(0)?,
            pacing_mbps: field(1)?,
            window_bytes: field(2)?,
            next_timeout_s: field(3)?,
            probe: if bits & PROBE != 0 {
                Some(Burst { mbps: self.f64()?, bytes: self.f64()? })
            } else {
                None
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_units::TimeDelta;

    fn answer(bits: u8, fields: [f64; 4]) -> Vec<u8> {
        let mut message = vec![b'a'];
        message.extend(7_u64.to_le_bytes());
        message.push(bits);
        message.extend(fields.iter().flat_map(|field| field.to_le_bytes()));
        message
    }

    #[test]
    fn an_answer_says_the_fields_of_its_bits() {
        let read = Incoming::read(&answer(0b1001, [2.5, 9.0, 9.0, 1.25])).expect("an answer");
        let Message::Answer(number, answer) = read else { panic!("another message: {read:?}") };
        let expected = Answer { target_mbps: Some(2.5), next_timeout_s: Some(1.25), ..Answer::default() };
        assert_eq!((number, answer), (7, expected));
    }

    /// An event that one end writes, as the other reads it.
    fn heard(message: Outgoing) -> Event {
        match Incoming::told(&message.bytes()[4..]).expect("a message") {
            Told::Event(7, now, event) => {
                assert_eq!(now, Time::from_secs_f64(1.25));
                event
            }
            other => panic!("another message: {other:?}"),
        }
    }

    #[test]
    fn a_program_reads_what_the_simulator_writes() {
        let now = Time::from_secs_f64(1.25);
        let packet = SentPacket {
            stream: StreamId(2),
            sequence: 1 << 40,
            size: Bytes::new(1212),
            probe: Some(3),
            app_limited: true,
        };
        assert!(matches!(heard(Outgoing::sent(7, now, &packet)), Event::Sent(found) if found == packet));
        let of = |status| PacketResult {
            stream: StreamId(2),
            sequence: 9,
            size: Bytes::new(52),
            sent: Time::from_secs_f64(1.2),
            status,
        };
        let packets = [
            of(Status::Missing),
            of(Status::Received { arrived: None, ecn: Ecn::Ce }),
            of(Status::Received { arrived: Some(Time::from_secs_f64(0.001)), ecn: Ecn::NotEct }),
        ];
        for ambiguous in [false, true] {
            let report = PacketsReport { packets: &packets, clock_step: TimeDelta::ZERO, ambiguous };
            let Event::Report(found, again) = heard(Outgoing::report(7, now, &report)) else {
                panic!("no report")
            };
            assert_eq!((&found[..], again), (&packets[..], ambiguous));
        }
        let recovery = Outgoing::recovery(7, now, "entered", Bytes::new(5));
        assert!(matches!(heard(recovery), Event::Recovery("entered", bytes) if bytes == Bytes::new(5)));
        assert!(matches!(heard(Outgoing::timeout(7, now)), Event::Timeout));
        for assigned in [Assigned::Rate(Bitrate::from_kbps(1500)), Assigned::Window(Bytes::new(9000))] {
            let event = heard(Outgoing::assigned(7, now, assigned));
            assert!(matches!(event, Event::Assigned(found) if found == assigned), "{event:?}");
        }
        let setup =
            FlowSetup { l4s: true, initial_window: 4, priorities: vec![1.0, 0.5], ..FlowSetup::default() };
        let settings = [("gain", Value::Ratio(0.5)), ("rate", Value::Rate(Bitrate::from_kbps(1500)))];
        let Event::Start(found, values) = heard(Outgoing::start(7, now, &setup, &settings)) else {
            panic!("no start")
        };
        assert_eq!(found, setup);
        assert!(matches!(values[..], [(_, Plain::Number(0.5)), (_, Plain::Number(1.5))]), "{values:?}");
    }

    #[test]
    fn the_simulator_reads_what_a_program_writes() {
        let hears = Hears { timeout: true, unanswered: true, ..Hears::default() };
        let declared = |name: &str, value: &str| Declared {
            name: name.into(),
            value: value.into(),
            help: "help".into(),
        };
        let description = Description {
            kind: "mine".into(),
            help: "of the test".into(),
            version: "1.2".into(),
            steers: Steers::ByteStream,
            hears,
            parameters: vec![declared("gain", "0.5"), declared("hold", "20ms")],
        };
        let written = Outgoing::described(&description).bytes();
        let Ok(Message::Described(found)) = Incoming::read(&written[4..]) else { panic!("no description") };
        assert_eq!((found.hears, found.parameters), (hears, description.parameters));
        let probe = Some(Burst { mbps: 1.5, bytes: 3000.0 });
        let said =
            Answer { pacing_mbps: Some(f64::INFINITY), window_bytes: Some(3.0), probe, ..Answer::default() };
        let written = Outgoing::answer(9, &said).bytes();
        let Ok(Message::Answer(9, found)) = Incoming::read(&written[4..]) else { panic!("no answer") };
        assert_eq!(found, said);
    }

    #[test]
    fn no_bytes_are_more_than_an_error() {
        let whole = answer(0b1111, [1.0; 4]);
        for end in 0..whole.len() {
            assert!(Incoming::read(&whole[..end]).is_err(), "{end} bytes");
        }
        for letter in 0..=255 {
            let noise = [&[letter], &whole[1..], &[0; 3]].concat();
            assert!(Incoming::read(&noise).is_err());
        }
        assert!(Incoming::read(&answer(0b10_0000, [1.0; 4])).is_err());
        assert!(Incoming::read(&answer(PROBE, [1.0; 4])).is_err(), "without the probe's fields");
    }
}
