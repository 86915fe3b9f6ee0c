//! Random numbers that are the same in each run.

use getrandom::Error;

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub const fn new() -> Random {
        Random(1)
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }
}

/// The system's random numbers, which the crate `getrandom` asks for under the flag in `.cargo/config.toml`: the same at each call.
#[allow(unsafe_code, reason = "the crate names this symbol")]
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(to: *mut u8, length: usize) -> Result<(), Error> {
    // SAFETY: the caller has `length` bytes there.
    let bytes = unsafe {
        std::ptr::write_bytes(to, 0, length);
        std::slice::from_raw_parts_mut(to, length)
    };
    Random::new().fill(bytes);
    Ok(())
}
