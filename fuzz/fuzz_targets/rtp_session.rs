//! RTP sessions: any bytes are what a network, strangers and an application do to a sender and a receiver.
//!
//! The interpreter is that of the sockets' crate; it says what the bytes mean. It sees what is private there, so that only tests and
//! `cfg(fuzzing)` compile it: without cargo-fuzz the tests play this target's seeds, and inputs that failed.
#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
#[path = "../../crates/units/tests/counting/mod.rs"]
mod counting;

#[cfg(fuzzing)]
#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

#[cfg(fuzzing)]
paceline_fuzz::target!(rtp_session);

#[cfg(fuzzing)]
fn rtp_session(data: &[u8]) {
    if let Err(broken) = paceline_net::script::drive(data, counting::live) {
        panic!("{broken}");
    }
}

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    eprintln!(
        "rtp_session: without cargo-fuzz its seeds are played by: cargo test -p paceline-net --lib script"
    );
    std::process::ExitCode::from(2)
}
