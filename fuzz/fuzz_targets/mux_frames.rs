#![no_main]

#[path = "../targets/mux.rs"]
#[allow(dead_code, reason = "each target runs one of its functions")]
mod mux;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mux::frames(bytes));
