//! Replays the fuzzer's corpus, so that what it once found stays fixed. `fuzz/README.md` explains how to fuzz.

#[path = "../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/core.rs"]
mod targets;

use replay::replay;

#[test]
fn quantities() {
    replay("core_quantity", targets::quantity);
}
