//! Errors in bytes, and in values that are to become bytes.

use core::fmt;

/// Why bytes were refused, or could not be written. Offsets count from the first byte of what was handed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WireError {
    /// The bytes end before a field does.
    Truncated {
        /// Name of the field.
        what: &'static str,
        /// Offset in bytes at which the field starts.
        at: usize,
        /// Bytes there are from `at`.
        found: usize,
        /// Bytes it takes.
        expected: usize,
    },
    /// A field has a value that it must not have.
    Unexpected {
        /// Name of the field.
        what: &'static str,
        /// Offset of the field in bytes.
        at: usize,
        /// Value of the field.
        found: u64,
        /// Values that the field may have.
        expected: &'static str,
    },
    /// A floating-point field has a value that it must not have.
    UnexpectedNumber {
        /// Name of the field.
        what: &'static str,
        /// Offset of the field in bytes.
        at: usize,
        /// The IEEE 754 number of 64 bits as it was found.
        bits: u64,
        /// Values that the field may have.
        expected: &'static str,
    },
    /// The padding's count (the last byte) is zero, not a multiple of 4 in RTCP, or more than there is.
    Padding {
        /// Offset of the count in bytes.
        at: usize,
        /// Padding bytes that the count claims.
        found: u8,
        /// The most it may be.
        available: usize,
    },
    /// Report blocks that fill the packet neither with num_reports as a count nor as a count less one.
    ReportBlocks {
        /// Where the first block is that does not fit when num_reports is a count.
        at: usize,
        /// The block's num_reports; absent if the block's own header does not fit.
        found: Option<u16>,
        /// Bytes from there to the report timestamp.
        room: usize,
    },
    /// The report's timestamp lies before the zero of the clock it is unwrapped to.
    BeforeZero {
        /// Report timestamp, in steps of 1/65536 s.
        rts: u32,
    },
    /// A count or a size that is not what it must be.
    Range {
        /// Name of what is counted.
        what: &'static str,
        /// The value found.
        found: u64,
        /// The least that it may be.
        min: u64,
        /// The most that it may be.
        max: u64,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            WireError::Truncated { what, at, found, expected } => {
                write!(f, "{what} at byte {at} is cut short: found {found} bytes, expected {expected}")
            }
            WireError::Unexpected { what, at, found, expected } => {
                write!(f, "{what} at byte {at}: found {found}, expected {expected}")
            }
            WireError::UnexpectedNumber { what, at, bits, expected } => {
                write!(f, "{what} at byte {at}: found {}, expected {expected}", f64::from_bits(bits))
            }
            WireError::Padding { at, found, available } => write!(
                f,
                "padding count at byte {at}: found {found}, expected 1 to {available}, in RTCP a multiple of 4"
            ),
            WireError::ReportBlocks { at, found: Some(found), room } => write!(
                f,
                "report block at byte {at}: found num_reports {found}, expected a count, or a count less one, \
                 that fills {room} bytes with the blocks after it"
            ),
            WireError::ReportBlocks { at, found: None, room } => {
                write!(f, "report block at byte {at}: found {room} bytes, expected a block's 8")
            }
            WireError::BeforeZero { rts } => {
                write!(f, "report timestamp: found {rts:#010x}, expected a time after the clock's zero")
            }
            WireError::Range { what, found, min, max } if min == max => {
                write!(f, "{what}: found {found}, expected {min}")
            }
            WireError::Range { what, found, min, max } => {
                write!(f, "{what}: found {found}, expected {min} to {max}")
            }
        }
    }
}

impl core::error::Error for WireError {}

/// The big-endian field of `N` bytes at `at`.
pub(crate) fn field<const N: usize>(
    bytes: &[u8],
    at: usize,
    what: &'static str,
) -> Result<[u8; N], WireError> {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.first_chunk::<N>().copied().ok_or(WireError::Truncated { what, at, found: rest.len(), expected: N })
}
