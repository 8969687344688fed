#![no_main]

#[path = "../targets/proxy_config.rs"]
#[allow(dead_code, reason = "each target runs one of its functions")]
mod proxy_config;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| proxy_config::file(bytes));
