//! The two ECN bits of the IP header (RFC 3168 section 5, RFC 9331).

/// The ECN codepoint of a packet. The numbers are the bits on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable: a queue can only drop it.
    #[default]
    NotEct = 0b00,
    /// ECT(1): asks for the scalable response of L4S (RFC 9331).
    Ect1 = 0b01,
    /// ECT(0): asks for the classic response (RFC 3168).
    Ect0 = 0b10,
    /// CE: a link marked the packet (congestion experienced).
    Ce = 0b11,
}

impl Ecn {
    /// The codepoint of the two low bits; others are ignored.
    #[inline]
    pub const fn from_bits(bits: u8) -> Ecn {
        match bits & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// The two bits on the wire.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// Whether a queue may mark instead of drop.
    #[inline]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }

    /// Whether congestion was experienced.
    #[inline]
    pub const fn is_ce(self) -> bool {
        matches!(self, Ecn::Ce)
    }
}

crate::names! {
    /// Which ECN codepoint a flow's packets carry.
    pub enum EcnMode {
        /// Not-ECT: packets cannot be marked.
        Off = "off",
        /// ECT(0): classic response.
        Classic = "classic",
        /// ECT(1): L4S.
        L4s = "l4s",
    }
}

impl EcnMode {
    /// The codepoint that packets start with.
    pub fn codepoint(self) -> Ecn {
        match self {
            EcnMode::Off => Ecn::NotEct,
            EcnMode::Classic => Ecn::Ect0,
            EcnMode::L4s => Ecn::Ect1,
        }
    }

    /// The mode whose packets carry the codepoint that a text names, such as `ect1`, `ECT(0)` or `Not-ECT`.
    pub fn of_codepoint(text: &str) -> Option<EcnMode> {
        let letters =
            text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
        let is = |name: &str| letters.clone().eq(name.chars());
        let mode = [("ect1", EcnMode::L4s), ("ect0", EcnMode::Classic), ("notect", EcnMode::Off)];
        mode.into_iter().find(|(name, _)| is(name)).map(|(_, mode)| mode)
    }
}

#[cfg(test)]
mod tests {
    use super::{Ecn, EcnMode};

    #[test]
    fn bits_round_trip() {
        for bits in 0..=3 {
            assert_eq!(Ecn::from_bits(bits).bits(), bits);
        }
        assert!(!Ecn::NotEct.is_capable() && Ecn::Ect1.is_capable() && Ecn::Ce.is_ce());
    }

    #[test]
    fn a_codepoint_names_its_mode() {
        let of = |text| EcnMode::of_codepoint(text).map(EcnMode::name);
        assert_eq!(["ect1", "ECT(0)", "Not-ECT"].map(of), [Some("l4s"), Some("classic"), Some("off")]);
        assert_eq!(["", "ect", "ect2", "ect10", "l4s"].map(of), [None; 5]);
    }
}
