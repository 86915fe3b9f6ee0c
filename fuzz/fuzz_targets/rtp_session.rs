//! RTP sessions: any bytes are what a network, strangers and an application do to a sender and a receiver.
//!
//! The interpreter is that of the sockets' crate; it says what the bytes mean.
#![cfg_attr(fuzzing, no_main)]

#[path = "../../crates/units/tests/counting/mod.rs"]
mod counting;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

paceline_fuzz::target!(rtp_session);

fn rtp_session(data: &[u8]) {
    if let Err(broken) = paceline_net::script::drive(data, counting::live) {
        panic!("{broken}");
    }
}
