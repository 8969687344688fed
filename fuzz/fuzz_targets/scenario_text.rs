#![no_main]

#[path = "../targets/scenario.rs"]
#[allow(dead_code, reason = "each target runs one of its functions")]
mod scenario;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| scenario::text(bytes));
