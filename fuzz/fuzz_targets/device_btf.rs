#![no_main]

/// The file itself, for the crate around it keeps it private.
#[path = "../../crates/device/src/bpf/btf.rs"]
#[allow(dead_code, reason = "nothing reads the kernel's own")]
mod btf;

#[path = "../targets/btf.rs"]
mod types;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| types::types(bytes));
