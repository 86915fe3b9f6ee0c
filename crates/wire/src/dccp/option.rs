//! Options as values (RFC 4340 section 5.8 and where each is described).

use alloc::vec;
use alloc::vec::Vec;
use paceline_cc::ccid::{LossInterval, LossIntervals};
use paceline_units::TimeDelta;
use smallvec::SmallVec;

/// The most data one option holds: its length byte counts type and length too.
pub const OPTION_DATA: usize = 253;

/// Options of one byte have types below this.
pub(super) const FIRST_WITH_LENGTH: u8 = 32;

/// An option's type as a number (RFC 4340 table 3).
pub mod option_type {
    /// Section 5.8.1.
    pub const PADDING: u8 = 0;
    /// Section 5.8.2.
    pub const MANDATORY: u8 = 1;
    /// Section 11.6.
    pub const SLOW_RECEIVER: u8 = 2;
    /// Section 6.1.
    pub const CHANGE_L: u8 = 32;
    /// Section 6.2.
    pub const CONFIRM_L: u8 = 33;
    /// Section 6.1.
    pub const CHANGE_R: u8 = 34;
    /// Section 6.2.
    pub const CONFIRM_R: u8 = 35;
    /// Section 8.1.4.
    pub const INIT_COOKIE: u8 = 36;
    /// Section 7.7.
    pub const NDP_COUNT: u8 = 37;
    /// Section 11.4, nonce echo 0.
    pub const ACK_VECTOR: u8 = 38;
    /// Section 11.4, nonce echo 1.
    pub const ACK_VECTOR_NONCE: u8 = 39;
    /// Section 11.7.
    pub const DATA_DROPPED: u8 = 40;
    /// Section 13.1.
    pub const TIMESTAMP: u8 = 41;
    /// Section 13.3.
    pub const TIMESTAMP_ECHO: u8 = 42;
    /// Section 13.2.
    pub const ELAPSED_TIME: u8 = 43;
    /// Section 9.3.
    pub const DATA_CHECKSUM: u8 = 44;
    /// CCID 3, RFC 4342 section 8.5.
    pub const LOSS_EVENT_RATE: u8 = 192;
    /// CCID 3, RFC 4342 section 8.6.
    pub const LOSS_INTERVALS: u8 = 193;
    /// CCID 3, RFC 4342 section 8.3.
    pub const RECEIVE_RATE: u8 = 194;
}

/// A feature and what is said of it (RFC 4340 section 6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeatureOption {
    /// The feature's number.
    pub feature: u8,
    /// The feature's values as bytes; an empty Confirm has none.
    pub values: Vec<u8>,
}

/// A packet's options, in order: one takes no allocation, as on most acknowledgements.
pub type Options = SmallVec<[DccpOption; 1]>;

/// An option. Padding is not one: it is written where it is needed and read over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DccpOption {
    /// The next option must be processed, or the connection is reset (section 5.8.2).
    Mandatory,
    /// The receiver cannot keep up (section 11.6).
    SlowReceiver,
    /// From the feature's location: begin a negotiation (section 6.1).
    ChangeL(FeatureOption),
    /// From the feature's location: end one (section 6.2).
    ConfirmL(FeatureOption),
    /// From the feature's remote: begin a negotiation (section 6.1).
    ChangeR(FeatureOption),
    /// From the feature's remote: end one (section 6.2).
    ConfirmR(FeatureOption),
    /// State that a server without memory wants back (section 8.1.4).
    InitCookie(Vec<u8>),
    /// Packets without data directly before this one (section 7.7).
    NdpCount(u64),
    /// Which packets arrived, run-length encoded, back from the acknowledgement number (section 11.4).
    AckVector {
        /// The ECN nonce echo. RFC 8311 took nonces back: what is sent has none, what is received is not looked at.
        nonce: bool,
        /// State and run length in each byte: 16 take no allocation.
        vector: SmallVec<[u8; 16]>,
    },
    /// Which packets' data never reached the application (section 11.7).
    DataDropped(Vec<u8>),
    /// The sender's clock in steps of 10 us (section 13.1).
    Timestamp(u32),
    /// A timestamp that was received (section 13.3).
    TimestampEcho {
        /// The timestamp as it was received, in steps of 10 us.
        echo: u32,
        /// How long ago, in steps of 10 us.
        elapsed: u32,
    },
    /// How long ago the packet that is acknowledged was received, in steps of 10 us (section 13.2).
    ElapsedTime(u32),
    /// CRC-32c of the payload (section 9.3).
    DataChecksum(u32),
    /// An unknown option, one of a CCID, or a known one whose data has not the length it must have.
    Other {
        /// Type of the option, its first byte.
        kind: u8,
        /// The option's data; types up to 31 have none.
        data: Vec<u8>,
    },
}

impl DccpOption {
    /// The option's type as a number.
    pub fn kind(&self) -> u8 {
        use option_type as kind;
        match self {
            DccpOption::Mandatory => kind::MANDATORY,
            DccpOption::SlowReceiver => kind::SLOW_RECEIVER,
            DccpOption::ChangeL(_) => kind::CHANGE_L,
            DccpOption::ConfirmL(_) => kind::CONFIRM_L,
            DccpOption::ChangeR(_) => kind::CHANGE_R,
            DccpOption::ConfirmR(_) => kind::CONFIRM_R,
            DccpOption::InitCookie(_) => kind::INIT_COOKIE,
            DccpOption::NdpCount(_) => kind::NDP_COUNT,
            DccpOption::AckVector { nonce: false, .. } => kind::ACK_VECTOR,
            DccpOption::AckVector { nonce: true, .. } => kind::ACK_VECTOR_NONCE,
            DccpOption::DataDropped(_) => kind::DATA_DROPPED,
            DccpOption::Timestamp(_) => kind::TIMESTAMP,
            DccpOption::TimestampEcho { .. } => kind::TIMESTAMP_ECHO,
            DccpOption::ElapsedTime(_) => kind::ELAPSED_TIME,
            DccpOption::DataChecksum(_) => kind::DATA_CHECKSUM,
            DccpOption::Other { kind, .. } => *kind,
        }
    }

    /// Hands the data over, piece by piece.
    #[inline]
    pub(super) fn pieces(&self, mut take: impl FnMut(&[u8])) {
        match self {
            DccpOption::Mandatory | DccpOption::SlowReceiver => {}
            DccpOption::ChangeL(option)
            | DccpOption::ConfirmL(option)
            | DccpOption::ChangeR(option)
            | DccpOption::ConfirmR(option) => {
                take(&[option.feature]);
                take(&option.values);
            }
            DccpOption::InitCookie(data) | DccpOption::DataDropped(data) | DccpOption::Other { data, .. } => {
                take(data);
            }
            DccpOption::AckVector { vector, .. } => take(vector),
            DccpOption::NdpCount(count) => take(&count.to_be_bytes()[8 - ndp_count_len(*count)..]),
            DccpOption::Timestamp(value) | DccpOption::DataChecksum(value) => take(&value.to_be_bytes()),
            DccpOption::TimestampEcho { echo, elapsed } => {
                take(&echo.to_be_bytes());
                if *elapsed > 0 {
                    take(&elapsed.to_be_bytes()[4 - time_len(*elapsed)..]);
                }
            }
            DccpOption::ElapsedTime(elapsed) => take(&elapsed.to_be_bytes()[4 - time_len(*elapsed)..]),
        }
    }

    /// Bytes that the option takes in the header.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        if self.kind() < FIRST_WITH_LENGTH {
            return 1;
        }
        let mut length = 2;
        self.pieces(|piece| length += piece.len());
        length
    }

    /// The option's data as bytes.
    pub fn data(&self) -> Vec<u8> {
        let mut data = Vec::new();
        self.pieces(|piece| data.extend_from_slice(piece));
        data
    }

    /// The option of a type and its data: [`DccpOption::Other`] if the type is unknown or the data has not its length.
    /// Padding reads as [`DccpOption::Other`]: who parses skips it.
    pub fn from_parts(kind: u8, data: &[u8]) -> DccpOption {
        use option_type as types;
        let four = |data: &[u8]| data.first_chunk::<4>().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        let number = |data: &[u8]| data.iter().fold(0, |number: u64, byte| number << 8 | u64::from(*byte));
        let feature = |data: &[u8]| FeatureOption { feature: data[0], values: data[1..].to_vec() };
        match (kind, data.len()) {
            (types::MANDATORY, 0) => DccpOption::Mandatory,
            (types::SLOW_RECEIVER, 0) => DccpOption::SlowReceiver,
            (types::CHANGE_L, 1..) => DccpOption::ChangeL(feature(data)),
            (types::CONFIRM_L, 1..) => DccpOption::ConfirmL(feature(data)),
            (types::CHANGE_R, 1..) => DccpOption::ChangeR(feature(data)),
            (types::CONFIRM_R, 1..) => DccpOption::ConfirmR(feature(data)),
            (types::INIT_COOKIE, _) => DccpOption::InitCookie(data.to_vec()),
            (types::NDP_COUNT, 1..=6) => DccpOption::NdpCount(number(data)),
            (types::ACK_VECTOR | types::ACK_VECTOR_NONCE, _) => {
                DccpOption::AckVector { nonce: kind == types::ACK_VECTOR_NONCE, vector: data.into() }
            }
            (types::DATA_DROPPED, _) => DccpOption::DataDropped(data.to_vec()),
            (types::TIMESTAMP, 4) => DccpOption::Timestamp(four(data)),
            (types::TIMESTAMP_ECHO, 4 | 6 | 8) => {
                DccpOption::TimestampEcho { echo: four(data), elapsed: number(&data[4..]) as u32 }
            }
            (types::ELAPSED_TIME, 2 | 4) => DccpOption::ElapsedTime(number(data) as u32),
            (types::DATA_CHECKSUM, 4) => DccpOption::DataChecksum(four(data)),
            _ => DccpOption::Other { kind, data: data.to_vec() },
        }
    }
}

/// The smallest form that holds the count (section 7.7).
fn ndp_count_len(count: u64) -> usize {
    (1..6).find(|bytes| count >> (8 * bytes) == 0).unwrap_or(6)
}

fn time_len(elapsed: u32) -> usize {
    if elapsed <= u32::from(u16::MAX) { 2 } else { 4 }
}

/// A span in steps of 10 us, rounded down; 4294967295 if it is longer than that says (section 13.2).
pub fn time_steps(span: TimeDelta) -> u32 {
    u32::try_from(span.as_nanos().max(0) / 10_000).unwrap_or(u32::MAX)
}

/// The span of so many steps of 10 us.
pub fn from_time_steps(steps: u32) -> TimeDelta {
    TimeDelta::from_micros(i64::from(steps) * 10)
}

/// A block of Data Dropped (RFC 4340 section 11.7): 0 or the drop code and one, and of how many packets.
pub fn drop_block(block: u8) -> (u8, i64) {
    match block {
        0..=127 => (0, i64::from(block) + 1),
        _ => ((block >> 4 & 7) + 1, i64::from(block & 15) + 1),
    }
}

/// CCID 3's Loss Intervals as an option (RFC 4342 section 8.6); intervals beyond the 28th are left out, and lengths cut to
/// their fields.
pub fn loss_intervals_option(told: &LossIntervals<'_>) -> DccpOption {
    let mut data = vec![told.skip_length];
    for interval in told.intervals.iter().take(LossInterval::MOST) {
        let fields = [
            interval.lossless_length.min(LossInterval::LONGEST),
            interval.loss_length.min(LossInterval::LONGEST_LOSS),
            interval.data_length.min(LossInterval::LONGEST),
        ];
        fields.iter().for_each(|field| data.extend_from_slice(&field.to_be_bytes()[1..]));
    }
    DccpOption::Other { kind: option_type::LOSS_INTERVALS, data }
}

/// Skip length and loss intervals, the newest first, of the data of a Loss Intervals option; none if it has not the length
/// of intervals, or skips more than 3 (NDUPACK). The ECN nonce echo is not looked at (RFC 8311).
pub fn read_loss_intervals(data: &[u8]) -> Option<(u8, impl Iterator<Item = LossInterval> + '_)> {
    let (&skip, rest) = data.split_first()?;
    if rest.is_empty() || rest.len() % 9 != 0 || skip > 3 {
        return None;
    }
    let field = |bytes: &[u8]| bytes.iter().fold(0, |number: u32, byte| number << 8 | u32::from(*byte));
    let interval = move |bytes: &[u8]| LossInterval {
        lossless_length: field(&bytes[..3]),
        loss_length: field(&bytes[3..6]) & LossInterval::LONGEST_LOSS,
        data_length: field(&bytes[6..]),
    };
    Some((skip, rest.chunks_exact(9).map(interval)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_6_5_the_byte_encodings() {
        let feature = |feature, values: &[u8]| FeatureOption { feature, values: values.to_vec() };
        let cases: [(DccpOption, &[u8]); 8] = [
            (DccpOption::ChangeL(feature(1, &[2, 3])), &[32, 5, 1, 2, 3]),
            (DccpOption::ChangeL(feature(3, &[0, 0, 0, 0, 4, 0])), &[32, 9, 3, 0, 0, 0, 0, 4, 0]),
            (DccpOption::ConfirmL(feature(1, &[2, 2, 3])), &[33, 6, 1, 2, 2, 3]),
            (DccpOption::ConfirmL(feature(126, &[])), &[33, 3, 126]),
            (DccpOption::ChangeR(feature(1, &[3, 2])), &[34, 5, 1, 3, 2]),
            (DccpOption::ConfirmR(feature(1, &[2, 3, 2])), &[35, 6, 1, 2, 3, 2]),
            (DccpOption::ConfirmR(feature(3, &[0, 0, 0, 0, 4, 0])), &[35, 9, 3, 0, 0, 0, 0, 4, 0]),
            (DccpOption::ConfirmR(feature(126, &[])), &[35, 3, 126]),
        ];
        for (option, bytes) in cases {
            assert_eq!(
                (option.kind(), option.encoded_len(), option.data().as_slice()),
                (bytes[0], bytes.len(), &bytes[2..])
            );
            assert_eq!(DccpOption::from_parts(bytes[0], &bytes[2..]), option);
        }
    }

    #[test]
    fn sections_7_7_and_13_the_smallest_form_is_used() {
        for (option, length) in [
            (DccpOption::NdpCount(255), 3),
            (DccpOption::NdpCount(256), 4),
            (DccpOption::NdpCount((1 << 48) - 1), 8),
            (DccpOption::ElapsedTime(65535), 4),
            (DccpOption::ElapsedTime(65536), 6),
            (DccpOption::TimestampEcho { echo: 1, elapsed: 0 }, 6),
            (DccpOption::TimestampEcho { echo: 1, elapsed: 1 }, 8),
            (DccpOption::TimestampEcho { echo: 1, elapsed: 65536 }, 10),
        ] {
            assert_eq!((option.encoded_len(), option.data().len() + 2), (length, length), "{option:?}");
            assert_eq!(DccpOption::from_parts(option.kind(), &option.data()), option);
        }
        assert_eq!(time_steps(TimeDelta::from_secs(50_000)), u32::MAX);
        assert_eq!(time_steps(-TimeDelta::from_secs(1)), 0);
    }

    #[test]
    fn section_5_8_a_wrong_length_is_no_such_option() {
        for (kind, data) in
            [(44, vec![1, 2]), (41, vec![0; 5]), (37, vec![0; 7]), (43, vec![0; 3]), (32, vec![])]
        {
            assert_eq!(DccpOption::from_parts(kind, &data), DccpOption::Other { kind, data });
        }
    }

    #[test]
    fn rfc_4342_section_8_6_2_the_example() {
        let data = [
            2, 0, 0, 10, 128, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0, 1, 0, 0, 8, 0, 0,
            10, 128, 0, 0, 0, 0, 15,
        ];
        let (skip_length, found) = read_loss_intervals(&data).expect("four intervals");
        assert_eq!(skip_length, 2);
        let intervals: Vec<_> = found.collect();
        let lengths: Vec<_> =
            intervals.iter().map(|i| (i.lossless_length, i.loss_length, i.data_length)).collect();
        assert_eq!(lengths, [(10, 1, 10), (8, 5, 10), (8, 1, 8), (10, 0, 15)]);
        let option = loss_intervals_option(&LossIntervals { skip_length, intervals: &intervals });
        assert_eq!(option.encoded_len(), 39);
        let (skip_length, again) =
            read_loss_intervals(&option.data()).map(|(n, i)| (n, i.collect())).unwrap();
        assert_eq!((skip_length, again), (2, intervals));
        assert!(read_loss_intervals(&data[..30]).is_none());
        assert!(read_loss_intervals(&[4, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_none());
    }
}
