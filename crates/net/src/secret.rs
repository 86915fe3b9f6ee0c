//! Numbers from the operating system that nobody guesses.

use crate::NetError;
use rustix::rand::{GetRandomFlags, getrandom};

/// Numbers that nobody guesses: for SSRCs and the first numbers of RTP (RFC 3550 section 5.1), initial sequence numbers
/// and cookies of DCCP (RFC 4340 section 7.2).
pub(crate) fn secret() -> Result<[u64; 2], NetError> {
    let mut bytes = [0; 16];
    let failed =
        |error: rustix::io::Errno| NetError::Socket { doing: "ask for random numbers", source: error.into() };
    // So few bytes come whole or not at all.
    getrandom(&mut bytes, GetRandomFlags::empty()).map_err(failed)?;
    let number = u128::from_ne_bytes(bytes);
    Ok([number as u64, (number >> 64) as u64])
}

#[cfg(test)]
mod tests {
    use super::secret;

    #[test]
    fn secrets_differ() {
        assert_ne!(secret().expect("numbers"), secret().expect("numbers"));
    }
}
