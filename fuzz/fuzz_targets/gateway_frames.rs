#![no_main]

#[path = "../targets/gateway.rs"]
#[allow(dead_code, reason = "each target runs one of its functions")]
mod gateway;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gateway::frames(bytes));
