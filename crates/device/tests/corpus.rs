//! Replays the fuzzer's corpus, so that what it once found stays fixed. `fuzz/README.md` explains how to fuzz.

/// The file itself, for the crate keeps it private.
#[path = "../src/bpf/btf.rs"]
#[allow(dead_code, reason = "nothing here reads the kernel's own")]
mod btf;
#[path = "../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/device.rs"]
mod targets;
#[path = "../../../fuzz/targets/btf.rs"]
mod types;

use replay::replay;

#[test]
fn frames() {
    replay("device_frame", targets::frame);
}

#[test]
fn blocks() {
    replay("device_block", targets::block);
}

#[test]
fn types() {
    replay("device_btf", types::types);
}
