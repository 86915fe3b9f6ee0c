//! Service codes: which application a connection is for (RFC 4340 section 8.1.2, RFC 5595).

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;
use paceline_units::param::{Kind, Parameter, Value};

/// A service code. Its text is `SC:fdpz`, `SC=1717858426` or `SC=x6664707A`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ServiceCode(pub u32);

impl ServiceCode {
    /// No meaningful service (RFC 5595 section 2.4).
    pub const NONE: ServiceCode = ServiceCode(0);
    /// An RTP session of video (RFC 5762 section 5.2): `SC:RTPV`.
    pub const RTP_VIDEO: ServiceCode = ServiceCode(u32::from_be_bytes(*b"RTPV"));
    /// Never valid: every request for it is refused.
    pub const INVALID: ServiceCode = ServiceCode(u32::MAX);

    /// Whether it may be asked for.
    pub fn is_valid(self) -> bool {
        self != ServiceCode::INVALID
    }

    /// Whether it is for private use: its first byte is '?'.
    pub fn is_private(self) -> bool {
        self.0 >> 24 == 63
    }
}

/// A text that is no service code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceCodeError {
    text: String,
}

impl fmt::Display for ServiceCodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "service code: found {:?}, expected SC: and 1 to 4 of letters, digits and -_+.*/?@, \
             or SC= and a number up to 4294967294, or SC=x and hexadecimal digits",
            self.text
        )
    }
}

impl core::error::Error for ServiceCodeError {}

fn is_code_byte(byte: u8) -> bool {
    matches!(byte, 42..=43 | 45..=57 | 63..=90 | 95 | 97..=122)
}

impl Parameter for ServiceCode {
    const KIND: Kind =
        Kind::Text("service code", "a service code such as \"SC:call\", \"SC=42\" or \"SC=x2A\"");

    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(alloc::format!("{self}")))
    }

    fn from_value(value: Value) -> Option<ServiceCode> {
        if let Value::Text(text) = value { text.parse().ok() } else { None }
    }
}

impl FromStr for ServiceCode {
    type Err = ServiceCodeError;

    fn from_str(text: &str) -> Result<ServiceCode, ServiceCodeError> {
        let parse = || {
            if let Some(name) = text.strip_prefix("SC:") {
                let bytes = name.as_bytes();
                if !(1..=4).contains(&bytes.len()) || !bytes.iter().all(|byte| is_code_byte(*byte)) {
                    return None;
                }
                let mut code = [b' '; 4];
                code[..bytes.len()].copy_from_slice(bytes);
                return Some(u32::from_be_bytes(code));
            }
            let number = text.strip_prefix("SC=")?;
            let (digits, radix) = match number.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => (hexadecimal, 16),
                None => (number, 10),
            };
            // A sign is no digit.
            digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
            u32::from_str_radix(digits, radix).ok().filter(|code| *code != u32::MAX)
        };
        parse().map(ServiceCode).ok_or_else(|| ServiceCodeError { text: text.to_owned() })
    }
}

impl fmt::Display for ServiceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.to_be_bytes();
        let used = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
        if used > 0 && bytes[..used].iter().all(|byte| is_code_byte(*byte)) {
            f.write_str("SC:")?;
            return bytes[..used].iter().try_for_each(|byte| write!(f, "{}", char::from(*byte)));
        }
        write!(f, "SC={}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn section_8_1_2_the_three_texts_are_one_code() {
        let code = ServiceCode(1_717_858_426);
        for text in ["SC:fdpz", "SC=1717858426", "SC=x6664707A", "SC=X6664707a"] {
            assert_eq!(text.parse(), Ok(code), "{text}");
        }
        assert_eq!(code.to_string(), "SC:fdpz");
        assert_eq!("SC:ab".parse(), Ok(ServiceCode(0x6162_2020)));
        assert!("SC:?abc".parse::<ServiceCode>().is_ok_and(ServiceCode::is_private));
    }

    #[test]
    fn section_8_1_2_what_is_no_code_says_so() {
        for text in
            ["", "SC:", "SC:abcde", "SC:a b", "SC=4294967295", "SC=xffffffff", "SC=+5", "SC=x", "fdpz"]
        {
            let error = text.parse::<ServiceCode>().expect_err(text).to_string();
            assert!(error.contains("expected SC:") && error.contains(&format!("{text:?}")), "{error}");
        }
    }

    proptest! {
        #[test]
        fn texts_round_trip(code in 0..u32::MAX) {
            prop_assert_eq!(ServiceCode(code).to_string().parse(), Ok(ServiceCode(code)));
        }
    }
}
