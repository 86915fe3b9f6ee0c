//! Bytes read as messages.

use super::{
    ANY, DETECTING, FiveTuple, GroupKey, Join, MAGIC, MAX_DETECTION, MAX_KIND, MAX_NAME, MAX_RTT,
    MAX_SETTINGS, MAX_SHARE, MAX_SIZE, MAX_TEXT, Refusal, Reply, Request, State, Update, VERSION, types,
};
use crate::error::{WireError, field};
use alloc::string::String;
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use paceline_cc::shared_bottleneck::DelaySummary;
use paceline_cc::{Assigned, FlowId, FlowUpdate, Priority};
use paceline_units::{Bitrate, Bytes, TimeDelta};

/// Reads what a process says.
///
/// # Errors
/// Another version, another type, another size, or a value outside its range.
pub fn decode_request(bytes: &[u8]) -> Result<Request, WireError> {
    let mut cursor = Cursor { bytes, at: 0 };
    let request = match cursor.header(DETECTING)? {
        (VERSION, types::JOIN) => Request::Join(cursor.join()?),
        (DETECTING, types::JOIN_DETECTING) => {
            let join = cursor.join()?;
            let detection = Some(cursor.text("settings of the detection", 0, MAX_DETECTION)?);
            Request::Join(Join { detection, ..join })
        }
        (DETECTING, types::DELAYS) => cursor.delays()?,
        (VERSION, types::UPDATE) => Request::Update(cursor.update()?),
        (VERSION, types::LEAVE) => Request::Leave { flow: cursor.u32("flow")? },
        (VERSION, types::ALIVE) => Request::Alive { echo: cursor.u64("echo")? },
        (VERSION, found) => return Err(unexpected("type of request", 3, found.into(), "1 to 4")),
        (_, found) => return Err(unexpected("type of request", 3, found.into(), "5 or 6 in version 2")),
    };
    cursor.end(request)
}

/// Reads what the exchange says.
///
/// # Errors
/// As [`decode_request`].
pub fn decode_reply(bytes: &[u8]) -> Result<Reply, WireError> {
    let mut cursor = Cursor { bytes, at: 0 };
    let reply = match cursor.header(VERSION)?.1 {
        types::WELCOME => {
            let (at, millis) = (cursor.at, cursor.u32("expiry")?);
            if millis == 0 {
                return Err(unexpected("expiry", at, 0, "at least 1 ms"));
            }
            Reply::Welcome { expiry: TimeDelta::from_millis(millis.into()) }
        }
        types::STATE => Reply::State(cursor.state()?),
        types::REFUSED => {
            let flow = cursor.u32("flow")?;
            let (at, code) = (cursor.at, cursor.u8("code of a refusal")?);
            let refusal = Refusal::ALL.get(usize::from(code).wrapping_sub(1)).copied();
            let refusal =
                refusal.ok_or_else(|| unexpected("code of a refusal", at, code.into(), "1 to 6"))?;
            Reply::Refused { flow, refusal, text: cursor.text("text of a refusal", 0, MAX_TEXT)? }
        }
        types::ALIVE_REPLY => Reply::Alive { echo: cursor.u64("echo")? },
        found => return Err(unexpected("type of reply", 3, found.into(), "129 to 132")),
    };
    cursor.end(reply)
}

fn unexpected(what: &'static str, at: usize, found: u64, expected: &'static str) -> WireError {
    WireError::Unexpected { what, at, found, expected }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], WireError> {
        let value = field(self.bytes, self.at, what)?;
        self.at += N;
        Ok(value)
    }

    fn u8(&mut self, what: &'static str) -> Result<u8, WireError> {
        self.array(what).map(|[byte]: [u8; 1]| byte)
    }

    fn u32(&mut self, what: &'static str) -> Result<u32, WireError> {
        self.array(what).map(u32::from_be_bytes)
    }

    fn u64(&mut self, what: &'static str) -> Result<u64, WireError> {
        self.array(what).map(u64::from_be_bytes)
    }

    /// Version, up to `newest`, and type of the message.
    fn header(&mut self, newest: u8) -> Result<(u8, u8), WireError> {
        if self.bytes.len() > MAX_SIZE {
            let (found, max) = (self.bytes.len() as u64, MAX_SIZE as u64);
            return Err(WireError::Range { what: "bytes of a message", found, min: 4, max });
        }
        let magic: [u8; 2] = self.array("magic")?;
        if magic != MAGIC {
            return Err(unexpected("magic", 0, u16::from_be_bytes(magic).into(), "18003 (the letters FS)"));
        }
        let version = self.u8("version")?;
        if !(VERSION..=newest).contains(&version) {
            let expected = if newest == VERSION { "1" } else { "1 or 2" };
            return Err(unexpected("version", 2, version.into(), expected));
        }
        Ok((version, self.u8("type")?))
    }

    fn zeros<const N: usize>(&mut self) -> Result<(), WireError> {
        let at = self.at;
        let found: [u8; N] = self.array("reserved bytes")?;
        match found.iter().position(|byte| *byte != 0) {
            Some(place) => Err(unexpected("a reserved byte", at + place, found[place].into(), "0")),
            None => Ok(()),
        }
    }

    /// A text of at least `min` and at most `max` bytes behind its length, without control characters: it may be printed.
    fn text(&mut self, what: &'static str, min: usize, max: usize) -> Result<String, WireError> {
        let length = usize::from(self.u8(what)?);
        if !(min..=max).contains(&length) {
            let (found, min, max) = (length as u64, min as u64, max as u64);
            return Err(WireError::Range { what, found, min, max });
        }
        let at = self.at;
        let rest = self.bytes.get(at..).unwrap_or_default();
        let bytes = rest.get(..length);
        let bytes = bytes.ok_or(WireError::Truncated { what, at, found: rest.len(), expected: length })?;
        self.at += length;
        let text = core::str::from_utf8(bytes).map_err(|error| {
            let place = error.valid_up_to();
            unexpected(what, at + place, bytes.get(place).copied().unwrap_or(0).into(), "UTF-8")
        })?;
        match text.char_indices().find(|(_, letter)| letter.is_control()) {
            Some((place, letter)) => {
                Err(unexpected(what, at + place, u32::from(letter).into(), "printable characters"))
            }
            None => Ok(text.into()),
        }
    }

    fn group(&mut self) -> Result<GroupKey, WireError> {
        let at = self.at;
        match self.u8("kind of group")? {
            1 => self.text("name of a group", 1, MAX_NAME).map(GroupKey::Name),
            2 => self.address("destination of a group").map(GroupKey::Destination),
            3 => {
                let (protocol, traffic_class) = (self.u8("protocol")?, self.u8("traffic class")?);
                let (source, destination) = (
                    self.socket_address("source of a group")?,
                    self.socket_address("destination of a group")?,
                );
                Ok(GroupKey::FiveTuple(FiveTuple { protocol, traffic_class, source, destination }))
            }
            found => Err(unexpected("kind of group", at, found.into(), "1 to 3")),
        }
    }

    fn address(&mut self, what: &'static str) -> Result<IpAddr, WireError> {
        self.array::<16>(what).map(|octets| IpAddr::V6(Ipv6Addr::from(octets)).to_canonical())
    }

    /// An address and a port.
    fn socket_address(&mut self, what: &'static str) -> Result<SocketAddr, WireError> {
        Ok(SocketAddr::new(self.address(what)?, self.array(what).map(u16::from_be_bytes)?))
    }

    /// A rate or window of this kind; none for a kind of 0.
    fn share(&mut self, what: &'static str, kind: (usize, u8)) -> Result<Option<Assigned>, WireError> {
        let (at, value) = (self.at, self.u64(what)?);
        match kind.1 {
            0 if value == 0 => Ok(None),
            0 => Err(unexpected(what, at, value, "0, as its kind says that there is none")),
            1 | 2 if !(1..=MAX_SHARE).contains(&value) => {
                Err(WireError::Range { what, found: value, min: 1, max: MAX_SHARE })
            }
            1 => Ok(Some(Assigned::Rate(Bitrate::from_bps(value)))),
            2 => Ok(Some(Assigned::Window(Bytes::new(value)))),
            found => {
                Err(unexpected("kind of a rate", kind.0, found.into(), "0 (none), 1 (rate) or 2 (window)"))
            }
        }
    }

    fn kind(&mut self) -> Result<(usize, u8), WireError> {
        Ok((self.at, self.u8("kind of a rate")?))
    }

    fn update(&mut self) -> Result<Update, WireError> {
        let (flow, number) = (self.u32("flow")?, self.u32("number")?);
        let (own, taken) = (self.kind()?, self.kind()?);
        self.zeros::<2>()?;
        let missing = unexpected("kind of the own rate", own.0, 0, "1 (rate) or 2 (window)");
        let own = self.share("own rate or window", own)?.ok_or(missing)?;
        let taken = self.share("taken rate or window", taken)?;
        let desired = match self.u64("desired rate")? {
            ANY => None,
            rate if rate <= MAX_SHARE => Some(Bitrate::from_bps(rate)),
            found => {
                return Err(WireError::Range { what: "desired rate", found, min: 0, max: MAX_SHARE });
            }
        };
        let (longest, rtt) = (MAX_RTT.as_nanos() as u64, self.u64("round-trip time")?);
        if rtt > longest {
            return Err(WireError::Range { what: "round-trip time", found: rtt, min: 0, max: longest });
        }
        let rtt = (rtt > 0).then(|| TimeDelta::from_nanos(rtt as i64));
        let (at, bits) = (self.at, self.u64("priority")?);
        let expected = "0.000001 to 1000000";
        let priority = Priority::new(f64::from_bits(bits)).ok_or(WireError::UnexpectedNumber {
            what: "priority",
            at,
            bits,
            expected,
        })?;
        let flow = FlowUpdate { flow: FlowId(flow), own, taken, desired, rtt, priority };
        Ok(Update { number, flow })
    }

    /// The body of a join; without detection.
    fn join(&mut self) -> Result<Join, WireError> {
        let update = self.update()?;
        let group = self.group()?;
        let kind = self.text("kind of coupling", 1, MAX_KIND)?;
        let settings = self.text("settings of the coupling", 0, MAX_SETTINGS)?;
        Ok(Join { group, kind, settings, detection: None, update })
    }

    fn delays(&mut self) -> Result<Request, WireError> {
        let flow = self.u32("flow")?;
        let (at, bottleneck) = (self.at, self.u8("bottleneck")?);
        if bottleneck > 1 {
            return Err(unexpected("bottleneck", at, bottleneck.into(), "0 or 1"));
        }
        self.zeros::<3>()?;
        let intervals = self.u64("intervals")?;
        let (most, variability) = (MAX_RTT.as_nanos() as u64, self.u64("variability")?);
        if variability > most {
            return Err(WireError::Range { what: "variability", found: variability, min: 0, max: most });
        }
        let summary = DelaySummary {
            intervals,
            skewness: self.part("skewness", -1.0, "-1 to 1")?,
            variability: TimeDelta::from_nanos(variability as i64),
            frequency: self.part("frequency", 0.0, "0 to 1")?,
            loss: self.part("loss", 0.0, "0 to 1")?,
            bottleneck: bottleneck == 1,
        };
        Ok(Request::Delays { flow, summary })
    }

    /// A number from `least` to 1.
    fn part(&mut self, what: &'static str, least: f64, expected: &'static str) -> Result<f64, WireError> {
        let (at, bits) = (self.at, self.u64(what)?);
        let part = f64::from_bits(bits);
        match (least..=1.0).contains(&part) {
            true => Ok(part),
            false => Err(WireError::UnexpectedNumber { what, at, bits, expected }),
        }
    }

    fn state(&mut self) -> Result<State, WireError> {
        let (flow, number) = (self.u32("flow")?, self.u32("number")?);
        let kind = self.kind()?;
        self.zeros::<3>()?;
        let members = self.u32("flows of the group")?;
        let assigned = self.share("assigned rate or window", kind)?;
        let sum = Bitrate::from_bps(self.u64("sum of rates")?);
        let rate = Bitrate::from_bps(self.u64("rate of the flow")?);
        Ok(State { flow, number, assigned, members, sum, rate })
    }

    /// `message`, if nothing follows it.
    fn end<M>(self, message: M) -> Result<M, WireError> {
        let (found, size) = (self.bytes.len() as u64, self.at as u64);
        match found == size {
            true => Ok(message),
            false => Err(WireError::Range { what: "bytes of the message", found, min: size, max: size }),
        }
    }
}
