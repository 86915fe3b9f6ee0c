//! The messages between the simulator and a program, as `docs/bring-your-own.md` describes them.
//!
//! A message is the length of the rest (4 bytes), a letter, and fields one after the other. Numbers are little-endian; a text is its
//! length (2 bytes) and UTF-8. Times are seconds of the run, rates Mbit/s, sizes bytes.

use crate::answer::Answer;
use crate::controller::Setting;
use crate::declared::{Declared, Hears};
use paceline_cc::{Assigned, FlowSetup, PacketsReport, SentPacket, Status, Steers};
use paceline_units::param::Value;
use paceline_units::{Bytes, Time};

/// The version of the messages. A program that does not know it says which it knows.
pub const VERSION: u16 = 1;
/// No message of a program is longer.
pub const LONGEST: usize = 64 * 1024;

/// A message to a program.
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
            message.u8(state);
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
}

/// The rest of a message of a program.
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

impl<'m> Incoming<'m> {
    /// The message in these bytes, without its length.
    pub(super) fn read(message: &'m [u8]) -> Result<Message, String> {
        let mut rest = Incoming(message);
        let read = match rest.u8()? {
            b'd' => Message::Described(Box::new(rest.described()?)),
            b'a' => Message::Answer(rest.u64()?, rest.answer()?),
            b'e' => Message::Complaint(rest.text()?),
            other => return Err(format!("found a message of the letter {other:#04x}, expected d, a or e")),
        };
        match rest.0.len() {
            0 => Ok(read),
            more => Err(format!("found {more} bytes behind the last field of a message, expected none")),
        }
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

    fn u64(&mut self) -> Result<u64, String> {
        self.array().map(u64::from_le_bytes)
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
        if bits > 0b1111 {
            return Err(format!("found the calls {bits:#06b}, expected the four lowest bits alone"));
        }
        let bit = |place: u8| bits >> place & 1 == 1;
        let hears = Hears { sent: bit(0), timeout: bit(1), recovery: bit(2), assigned: bit(3) };
        let declared =
            |rest: &mut Self| Ok(Declared { name: rest.text()?, value: rest.text()?, help: rest.text()? });
        let parameters = (0..self.u16()?).map(|_| declared(self)).collect::<Result<_, String>>()?;
        Ok(Described { help, version, steers, hears, parameters })
    }

    fn answer(&mut self) -> Result<Answer, String> {
        let bits = self.u8()?;
        if bits > 0b1111 {
            return Err(format!("found the fields {bits:#06b}, expected the four lowest bits alone"));
        }
        let mut field = |place: u8| Ok::<_, String>(Some(self.f64()?).filter(|_| bits >> place & 1 == 1));
        Ok(Answer {
            target_mbps: field(0)?,
            pacing_mbps: field(1)?,
            window_bytes: field(2)?,
            next_timeout_s: field(3)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(Incoming::read(&answer(0b1_0000, [1.0; 4])).is_err());
    }
}
