#![no_main]

#[path = "../targets/link.rs"]
#[allow(dead_code, reason = "each target runs one of its functions")]
mod link;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| link::trace(bytes));
