//! Which features there are, and how two ends come to one value (RFC 4340 sections 6.3 and 6.4).

/// A feature's number (RFC 4340 table 4; Send Loss Event Rate is CCID 3's, RFC 4342 section 8.4).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum FeatureId {
    /// Which congestion control the location sends with (section 10).
    Ccid = 1,
    /// Whether the location may send 24-bit numbers (section 7.6.1).
    AllowShortSeqnos = 2,
    /// How many of the location's packets are valid at once (section 7.5.2).
    SequenceWindow = 3,
    /// Whether the location cannot read ECN marks (section 12.1).
    EcnIncapable = 4,
    /// Data packets of the location for each acknowledgement (section 11.3).
    AckRatio = 5,
    /// Whether the location sends Ack Vectors (section 11.5).
    SendAckVector = 6,
    /// Whether the location sends NDP counts (section 7.7.2).
    SendNdpCount = 7,
    /// The least checksum coverage that the location accepts (section 9.2.1).
    MinimumCoverage = 8,
    /// Whether the location checks data checksums (section 9.3.1).
    CheckDataChecksum = 9,
    /// Whether the location, CCID 3's receiver, sends Loss Event Rate options.
    SendLossEventRate = 192,
}

/// How a value comes about (RFC 4340 section 6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// The first of the server's list that is in the client's; values of one byte.
    ServerPriority,
    /// The location says it; so many bytes.
    NonNegotiable(usize),
}

/// The smallest Sequence Window (RFC 4340 section 7.5.2).
pub const SEQUENCE_WINDOW_MIN: u64 = 32;
/// The largest Sequence Window (RFC 4340 section 7.5.2).
pub const SEQUENCE_WINDOW_MAX: u64 = (1 << 46) - 1;

impl FeatureId {
    /// The features that are understood.
    pub const ALL: [FeatureId; 10] = [
        FeatureId::Ccid,
        FeatureId::AllowShortSeqnos,
        FeatureId::SequenceWindow,
        FeatureId::EcnIncapable,
        FeatureId::AckRatio,
        FeatureId::SendAckVector,
        FeatureId::SendNdpCount,
        FeatureId::MinimumCoverage,
        FeatureId::CheckDataChecksum,
        FeatureId::SendLossEventRate,
    ];

    /// The feature of a number, if it is understood.
    pub fn from_number(number: u8) -> Option<FeatureId> {
        FeatureId::ALL.into_iter().find(|feature| *feature as u8 == number)
    }

    /// Index of the feature in [`FeatureId::ALL`].
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        let number = self as usize;
        if number < 10 { number - 1 } else { 9 }
    }

    /// How its value comes about.
    pub fn rule(self) -> Rule {
        match self {
            FeatureId::SequenceWindow => Rule::NonNegotiable(6),
            FeatureId::AckRatio => Rule::NonNegotiable(2),
            _ => Rule::ServerPriority,
        }
    }

    /// Its value when a connection begins.
    pub fn initial(self) -> u64 {
        match self {
            FeatureId::Ccid | FeatureId::AckRatio => 2,
            FeatureId::SequenceWindow => 100,
            _ => 0,
        }
    }

    /// Whether every endpoint must understand it.
    pub fn is_required(self) -> bool {
        matches!(self, FeatureId::Ccid | FeatureId::AllowShortSeqnos | FeatureId::SequenceWindow)
    }

    /// Whether a non-negotiable feature may have the value (RFC 4340 sections 6.6.8 and 7.5.2).
    pub fn is_valid(self, value: u64) -> bool {
        match self {
            FeatureId::SequenceWindow => (SEQUENCE_WINDOW_MIN..=SEQUENCE_WINDOW_MAX).contains(&value),
            FeatureId::AckRatio => (1..=u64::from(u16::MAX)).contains(&value),
            _ => value <= u64::from(u8::MAX),
        }
    }
}

/// The first of the server's values that is also one of the client's (RFC 4340 section 6.3.1).
pub fn reconcile(server: &[u8], client: &[u8]) -> Option<u8> {
    server.iter().copied().find(|value| client.contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_6_3_1_the_servers_priority_decides() {
        assert_eq!(reconcile(&[3, 2, 1], &[2, 3, 1]), Some(3));
        assert_eq!(reconcile(&[4, 2], &[2, 3]), Some(2));
        assert_eq!(reconcile(&[4], &[2, 3]), None);
    }

    #[test]
    fn section_6_4_each_feature_has_its_place_and_initial_value() {
        for (place, feature) in FeatureId::ALL.into_iter().enumerate() {
            assert_eq!(feature.index(), place);
            assert_eq!(FeatureId::from_number(feature as u8), Some(feature));
            if let Rule::NonNegotiable(_) = feature.rule() {
                assert!(feature.is_valid(feature.initial()));
            }
        }
        assert_eq!(FeatureId::from_number(0), None);
        assert_eq!(FeatureId::from_number(10), None);
    }
}
