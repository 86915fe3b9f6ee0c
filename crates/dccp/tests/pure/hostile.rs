//! Whatever happens, nothing panics, memory is bounded, and a connection survives those who cannot see it.

use super::script::drive;
use paceline_units::RandomStream;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_keep_every_promise(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        prop_assert_eq!(drive(&bytes), Ok(()));
    }
}

#[test]
fn long_scripts_keep_every_promise() {
    let mut random = RandomStream::new(1, "scripts");
    for round in 0..100 {
        let mut bytes: Vec<u8> = (0..3000).map(|_| random.next_u64() as u8).collect();
        // Half of them without anybody who knows the numbers, and half with events before packets.
        bytes[0] = [0x80, 0, 0xc0, 0x40][round % 4];
        assert_eq!(drive(&bytes), Ok(()), "round {round}");
    }
}

#[test]
fn leaps_of_centuries_keep_every_promise() {
    // A find of the fuzzer: timers stood still where the clock ends.
    let found = include_bytes!("../../../../fuzz/seeds/dccp_connection/hostile-leaps");
    assert_eq!(drive(found), Ok(()));
}
