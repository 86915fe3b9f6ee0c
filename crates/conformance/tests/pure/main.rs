//! The tests of the checks: simulated time alone, no clock and no socket.

#[path = "../../../units/tests/counting/mod.rs"]
mod counting;

mod mine;
mod pages;
mod wrong;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
