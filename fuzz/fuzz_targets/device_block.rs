#![no_main]

#[path = "../targets/device.rs"]
#[allow(dead_code, reason = "each target runs one of its functions")]
mod device;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| device::block(bytes));
