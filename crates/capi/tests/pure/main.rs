//! The tests of the C ABI that need no C compiler: no clock and no socket.

#[path = "../../../units/tests/counting/mod.rs"]
mod counting;

mod media_misuse;
mod misuse;
mod no_allocation;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
