//! What JavaScript calls. Bytes go in through one buffer and come out through another, so no pointer is followed here.
//!
//! 1. `input(length)` returns the place where the page writes.
//! 2. `call()` answers the JSON there, or `keep()` keeps the bytes for the request `give`.
//! 3. `output()` and `output_len()` say where the reply is. It stays there until the next call.
//!
//! `advance` does not go through JSON, because a page calls it many times a second.
#![expect(unsafe_code, reason = "an export without a mangled name counts as unsafe; nothing else here is")]

use std::cell::RefCell;

use crate::session::Session;

#[derive(Default)]
struct Page {
    session: Session,
    input: Vec<u8>,
    output: String,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

/// Makes room for `length` bytes, and returns where they go.
#[unsafe(no_mangle)]
extern "C" fn input(length: usize) -> *mut u8 {
    PAGE.with_borrow_mut(|page| {
        page.input.clear();
        page.input.resize(length, 0);
        page.input.as_mut_ptr()
    })
}

/// Answers the request in the input. Returns 0 for a reply and 1 for the text of an error.
#[unsafe(no_mangle)]
extern "C" fn call() -> u32 {
    PAGE.with_borrow_mut(|page| {
        let answer = page.session.answer(&page.input);
        let is_error = answer.is_err();
        page.output = answer.unwrap_or_else(|error| error);
        u32::from(is_error)
    })
}

/// Keeps the input as the bytes of a file, until the request `give` names it.
#[unsafe(no_mangle)]
extern "C" fn keep() {
    PAGE.with_borrow_mut(|page| page.session.keep(std::mem::take(&mut page.input)));
}

/// Simulates until `until_ms`. Returns 1 while there is more, else 0.
#[unsafe(no_mangle)]
extern "C" fn advance(until_ms: u32) -> u32 {
    PAGE.with_borrow_mut(|page| u32::from(page.session.advance(until_ms)))
}

/// Where the reply begins.
#[unsafe(no_mangle)]
extern "C" fn output() -> *const u8 {
    PAGE.with_borrow(|page| page.output.as_ptr())
}

/// Bytes of the reply.
#[unsafe(no_mangle)]
extern "C" fn output_len() -> usize {
    PAGE.with_borrow(|page| page.output.len())
}
