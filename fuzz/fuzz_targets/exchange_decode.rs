//! Messages between a flow state exchange and processes: any bytes are read or refused in words, and what is read is written
//! again as it was.
#![cfg_attr(fuzzing, no_main)]

use paceline_wire::exchange::{MAX_SIZE, decode_reply, decode_request, encode_reply, encode_request};

paceline_fuzz::target!(exchange_decode);

fn exchange_decode(data: &[u8]) {
    let mut again = Vec::new();
    match decode_request(data) {
        Ok(request) => {
            encode_request(&request, &mut again).expect("what was read can be written");
            assert_eq!(again, data);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    again.clear();
    match decode_reply(data) {
        Ok(reply) => {
            encode_reply(&reply, &mut again);
            assert_eq!(again, data);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    assert!(again.len() <= MAX_SIZE);
}
