//! The tests of sources, send queue and playout: simulated time alone, no clock and no socket.

#[path = "../../../units/tests/counting/mod.rs"]
mod counting;

mod no_allocation_once_warm;
mod reference_traces;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
