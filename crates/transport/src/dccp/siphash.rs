//! SipHash-2-4: what initial sequence numbers and cookies are made with. Keyed, so that nobody outside can guess them.

/// The hash of `bytes` under a key of 128 bits (Aumasson and Bernstein 2012; no text at hand).
pub(crate) fn siphash(key: [u64; 2], bytes: &[u8]) -> u64 {
    let mut v = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let words = bytes.chunks_exact(8);
    let rest = words.remainder();
    let mut absorb = |word: u64| {
        v[3] ^= word;
        rounds(&mut v, 2);
        v[0] ^= word;
    };
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    words.for_each(|bytes| absorb(word(bytes)));
    absorb((bytes.len() as u64) << 56 | word(rest));
    v[2] ^= 0xff;
    rounds(&mut v, 4);
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn rounds(v: &mut [u64; 4], count: usize) {
    for _ in 0..count {
        v[0] = v[0].wrapping_add(v[1]);
        v[2] = v[2].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[1]);
        v[0] = v[0].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].rotate_left(32);
    }
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
