//! TCP: any bytes are what a network and unknown peers do to a connection, against an independent model of the stream.
//!
//! The interpreter is that of the transport's tests; it says what the bytes mean.
#![cfg_attr(fuzzing, no_main)]

#[path = "../../crates/tcp/tests/pure/segments.rs"]
mod segments;

paceline_fuzz::target!(tcp_segments);

fn tcp_segments(data: &[u8]) {
    if let Err(broken) = segments::drive(data) {
        panic!("{broken}");
    }
}
