#![no_main]

/// The file itself, for the crate around it would bring a runtime and TLS along.
#[path = "../../crates/proxy/src/proxy_header.rs"]
mod proxy_header;

#[path = "../targets/proxy.rs"]
mod proxy;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| proxy::header(bytes));
