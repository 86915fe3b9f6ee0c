//! The tests of the transports: simulated time alone, no clock and no socket.

#[path = "../../../units/tests/counting/mod.rs"]
mod counting;

mod dccp;
mod no_allocation;
mod tcp;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
