//! Replays the fuzzer's corpus, so that what it once found stays fixed. `fuzz/README.md` explains how to fuzz.

#[path = "../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/capture.rs"]
mod targets;

use replay::replay;

#[test]
fn files() {
    replay("capture_file", targets::file);
}

#[test]
fn frames() {
    replay("capture_frame", targets::frame);
}

#[test]
fn packed_files() {
    replay("capture_packed", targets::packed);
}

#[test]
fn conversations() {
    replay("capture_conversation", targets::conversation);
}

#[test]
fn filters() {
    replay("capture_filter", targets::filter);
}

#[test]
fn pairs() {
    replay("capture_pair", targets::pair);
}
