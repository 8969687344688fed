#![no_main]

#[path = "../targets/core.rs"]
#[allow(dead_code, reason = "each target runs one of its functions")]
mod core;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| core::quantity(bytes));
