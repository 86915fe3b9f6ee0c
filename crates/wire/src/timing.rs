//! Capture and send time inside the payload, for Paceline's own receiver when both ends share a clock.
//!
//! The payload of a Paceline sender is dummy media, so 24 of its bytes can say when it was captured and sent: packets
//! stay the size that the simulator's have, which a header extension would change. Layout, big-endian: 8 bytes of
//! tag, 8 bytes capture time, 8 bytes send time, both in nanoseconds since the driver's zero.

use paceline_units::Time;

/// The tag of a payload that carries times.
pub const TAG: [u8; 8] = *b"PCLNTIM1";
/// Bytes that the tag and the times take.
pub const SIZE: usize = 24;

/// When the payload's media was captured and its packet sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// When the frame was captured.
    pub captured: Time,
    /// When the packet was handed to the network.
    pub sent: Time,
}

/// Writes the times to the front of `payload`; answers whether they fit. A payload too short stays as it is.
pub fn write(payload: &mut [u8], timing: Timing) -> bool {
    let Some(head) = payload.first_chunk_mut::<SIZE>() else { return false };
    head[..8].copy_from_slice(&TAG);
    head[8..16].copy_from_slice(&timing.captured.as_nanos().to_be_bytes());
    head[16..].copy_from_slice(&timing.sent.as_nanos().to_be_bytes());
    true
}

/// The times at the front of `payload`, if it carries any.
pub fn read(payload: &[u8]) -> Option<Timing> {
    let rest = payload.strip_prefix(&TAG)?;
    let (captured, rest) = rest.split_first_chunk::<8>()?;
    let sent = rest.first_chunk::<8>()?;
    Some(Timing {
        captured: Time::from_nanos(u64::from_be_bytes(*captured)),
        sent: Time::from_nanos(u64::from_be_bytes(*sent)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_payload_is_left_alone() {
        let mut payload = [7u8; SIZE - 1];
        assert!(!write(&mut payload, Timing { captured: Time::ZERO, sent: Time::MAX }));
        assert_eq!(payload, [7u8; SIZE - 1]);
        assert_eq!(read(&TAG), None);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(captured: u64, sent: u64, extra in 0usize..40) {
            let timing = Timing { captured: Time::from_nanos(captured), sent: Time::from_nanos(sent) };
            let mut payload = vec![0; SIZE + extra];
            prop_assert!(write(&mut payload, timing));
            prop_assert_eq!(read(&payload), Some(timing));
            prop_assert_eq!(read(&payload[..SIZE - 1]), None);
        }

        #[test]
        fn other_payloads_carry_none(payload in prop::collection::vec(any::<u8>(), 0..64)) {
            prop_assume!(!payload.starts_with(&TAG));
            prop_assert_eq!(read(&payload), None);
        }
    }
}
