//! SipHash-2-4: what initial sequence numbers and cookies are made with. Keyed, so that nobody outside can guess them.

use core::hash::Hasher;

/// The hash of `bytes` under a key of 128 bits (Aumasson and Bernstein 2012; no text at hand).
#[expect(deprecated, reason = "the standard library's other hashers promise no algorithm")]
pub(crate) fn siphash(key: [u64; 2], bytes: &[u8]) -> u64 {
    let mut hasher = core::hash::SipHasher::new_with_keys(key[0], key[1]);
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::siphash;

    #[test]
    fn the_papers_example() {
        let bytes: Vec<u8> = (0..15).collect();
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        assert_eq!(siphash(key, &bytes), 0xa129_ca61_49be_45e5);
    }
}
