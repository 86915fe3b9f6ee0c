//! The tests of the links: simulated time alone, no clock and no socket.

#[path = "../../../units/tests/counting/mod.rs"]
mod counting;

mod allocation;
mod data;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
