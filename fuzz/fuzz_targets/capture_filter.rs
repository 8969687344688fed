#![no_main]

#[path = "../targets/capture.rs"]
#[allow(dead_code, reason = "each target runs one of its functions")]
mod capture;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| capture::filter(bytes));
