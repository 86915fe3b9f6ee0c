//! Why a connection is reset (RFC 4340 section 5.6).

use super::PacketType;
use core::fmt;

/// A reset code. The number is that on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResetCode(pub u8);

impl ResetCode {
    /// No meaningful reason.
    pub const UNSPECIFIED: ResetCode = ResetCode(0);
    /// Normal close (section 8.3).
    pub const CLOSED: ResetCode = ResetCode(1);
    /// The sender gave up for lack of progress (sections 8.1.1 and 8.1.5).
    pub const ABORTED: ResetCode = ResetCode(2);
    /// There is no such connection (section 8.3.1).
    pub const NO_CONNECTION: ResetCode = ResetCode(3);
    /// A valid packet of an unexpected type (section 8.3.1); data 1 is the type.
    pub const PACKET_ERROR: ResetCode = ResetCode(4);
    /// An option was wrong (section 6.6.8); the data are its type and first two bytes.
    pub const OPTION_ERROR: ResetCode = ResetCode(5);
    /// A mandatory option could not be processed (section 5.8.2); data as for an option error.
    pub const MANDATORY_ERROR: ResetCode = ResetCode(6);
    /// Nobody listens on the port (section 8.1.3).
    pub const CONNECTION_REFUSED: ResetCode = ResetCode(7);
    /// Not a service of this port (section 8.1.2).
    pub const BAD_SERVICE_CODE: ResetCode = ResetCode(8);
    /// The server takes no more connections (section 8.1.3).
    pub const TOO_BUSY: ResetCode = ResetCode(9);
    /// The cookie that the client returned was wrong or missing (section 8.1.4).
    pub const BAD_INIT_COOKIE: ResetCode = ResetCode(10);
    /// The other end cheats (section 12.3).
    pub const AGGRESSION_PENALTY: ResetCode = ResetCode(11);
    /// Another connection has these UDP ports (RFC 6773 section 3.8).
    pub const ENCAPSULATED_PORT_REUSE: ResetCode = ResetCode(12);

    /// The code's name in the RFC's table.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 13] = [
            "Unspecified",
            "Closed",
            "Aborted",
            "No Connection",
            "Packet Error",
            "Option Error",
            "Mandatory Error",
            "Connection Refused",
            "Bad Service Code",
            "Too Busy",
            "Bad Init Cookie",
            "Aggression Penalty",
            "Encapsulated Port Reuse",
        ];
        match self.0 {
            128..192 => "CCID-specific, by the sending half",
            192.. => "CCID-specific, by the receiving half",
            number => NAMES.get(usize::from(number)).copied().unwrap_or("Reserved"),
        }
    }
}

impl fmt::Debug for ResetCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0, self.name())
    }
}

impl fmt::Display for ResetCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A reset code with its three bytes of data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ResetReason {
    /// Reset Code: the kind of reason (section 5.6).
    pub code: ResetCode,
    /// Data 1 to 3.
    pub data: [u8; 3],
}

impl ResetReason {
    /// A code without data.
    pub const fn new(code: ResetCode) -> ResetReason {
        ResetReason { code, data: [0; 3] }
    }

    /// A packet of a type that must not come now.
    pub const fn packet_error(found: PacketType) -> ResetReason {
        ResetReason { code: ResetCode::PACKET_ERROR, data: [found as u8, 0, 0] }
    }
}

impl fmt::Display for ResetReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second, third] = self.data;
        match self.code {
            ResetCode::PACKET_ERROR => write!(f, "{}: packet type {first}", self.code),
            ResetCode::OPTION_ERROR | ResetCode::MANDATORY_ERROR => {
                write!(f, "{}: option {first}, data {second} {third}", self.code)
            }
            _ => self.code.fmt(f),
        }
    }
}
