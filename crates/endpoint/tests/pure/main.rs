//! The tests of RTP's endpoint: simulated time alone, no clock and no socket.

#[path = "../../../units/tests/counting/mod.rs"]
mod counting;
#[path = "../../../sim/tests/pure/members.rs"]
mod members;

mod applications;
mod no_allocation;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
