//! Replays the fuzzer's corpus, so that what it once found stays fixed. `fuzz/README.md` explains how to fuzz.

#[path = "../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/gateway.rs"]
mod targets;

use replay::replay;

#[test]
fn frames() {
    replay("gateway_frames", targets::frames);
}

#[test]
fn decisions() {
    replay("gateway_decisions", targets::decisions);
}

#[test]
fn recordings() {
    replay("gateway_recording", targets::recording);
}
