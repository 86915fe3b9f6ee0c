//! A global allocator that counts, for programs that show what allocates and what does not:
//! `#[global_allocator] static ALLOCATOR: Counting = Counting;`.
#![allow(unsafe_code, reason = "a counting allocator cannot be written without")]
#![allow(dead_code, reason = "not every program asks for both counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Of each thread alone: the test harness has its own, which allocates when it likes.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
pub struct Counting;

/// Allocations of this thread so far.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// Bytes that this thread has allocated and not freed.
pub fn live() -> i64 {
    LIVE.get()
}

// SAFETY: hands everything to the system's allocator; the counters are plain thread-locals that allocate nothing. A
// reallocation comes as `alloc` by the trait's default.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE.set(LIVE.get() + layout.size() as i64);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size() as i64);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}
