//! Replays the fuzzer's corpus, so that what it once found stays fixed. `fuzz/README.md` explains how to fuzz.

#[path = "../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/scenario.rs"]
mod targets;

use replay::replay;

#[test]
fn texts() {
    replay("scenario_text", targets::text);
}

#[test]
fn impairments() {
    replay("scenario_impair", targets::impair);
}

#[test]
fn models() {
    replay("scenario_model", targets::model);
}
