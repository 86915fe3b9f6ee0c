//! Memory that the page and WebAssembly share: a question's bytes one way, an answer's the other.
#![allow(unsafe_code, reason = "exported names are unsafe attributes; no pointer is read here")]

use crate::Playground;
use std::cell::RefCell;

thread_local! {
    static PLAYGROUND: RefCell<Playground> = RefCell::default();
    /// The bytes that the page wrote, and the answer that it reads: each until the next.
    static QUESTION: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Memory for a question of `length` bytes, for the page to write into before it calls [`answer`].
#[unsafe(no_mangle)]
pub extern "C" fn allocate(length: usize) -> *mut u8 {
    QUESTION.with_borrow_mut(|question| {
        question.clear();
        question.resize(length, 0);
        question.as_mut_ptr()
    })
}

/// Answers the question in the memory of the last [`allocate`]: answers the length of the answer, which [`answered`] points to.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    let question = QUESTION.take();
    let answer = PLAYGROUND.with_borrow_mut(|playground| playground.answer(&question));
    ANSWER.replace(answer.into_bytes());
    ANSWER.with_borrow(Vec::len)
}

/// The answer, until the next call.
#[unsafe(no_mangle)]
pub extern "C" fn answered() -> *const u8 {
    ANSWER.with_borrow(|answer| answer.as_ptr())
}
