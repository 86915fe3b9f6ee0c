//! CRC-32c, as SCTP has it (RFC 4340 section 9.3, RFC 3309: no text at hand).

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0x82f6_3b78 } else { value >> 1 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
};

fn step(crc: u32, byte: u8) -> u32 {
    crc >> 8 ^ TABLE[((crc ^ u32::from(byte)) & 0xff) as usize]
}

/// The CRC of `bytes`; 0 of none.
pub fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| step(crc, *byte))
}

/// The CRC of `count` zero bytes.
pub(super) fn crc32c_zeros(count: usize) -> u32 {
    !(0..count).fold(u32::MAX, |crc, _| step(crc, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // The check value of the catalogues, and RFC 3720 appendix B.4 (no text at hand).
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c_zeros(32), 0x8a91_36aa);
    }

    #[test]
    fn section_9_3_of_zero_bytes_it_is_zero() {
        assert_eq!(crc32c(&[]), 0);
    }
}
