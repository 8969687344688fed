//! Replays the fuzzer's corpus, so that what it once found stays fixed. `fuzz/README.md` explains how to fuzz.

#![cfg(feature = "http")]

#[path = "../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/service.rs"]
mod targets;

use replay::replay;

#[test]
fn requests() {
    replay("service_request", targets::request);
}
