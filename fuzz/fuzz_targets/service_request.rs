#![no_main]

#[path = "../targets/service.rs"]
#[allow(dead_code, reason = "each target runs one of its functions")]
mod service;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| service::request(bytes));
