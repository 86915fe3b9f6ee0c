//! The tests of the transports: simulated time alone, no clock and no socket.
#![expect(
    clippy::duplicate_mod,
    reason = "fuzz targets take in dccp/script.rs and tcp/segments.rs, each by itself"
)]

#[path = "../../../units/tests/counting/mod.rs"]
mod counting;
#[path = "../../../sim/tests/pure/members.rs"]
mod members;

mod applications;
mod dccp;
mod no_allocation;
mod tcp;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
