#![no_main]

#[path = "../targets/generator.rs"]
#[allow(dead_code, reason = "each target runs one of its functions")]
mod generator;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| generator::measure(bytes));
