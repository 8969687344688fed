//! Replays the fuzzer's corpus, so that what it once found stays fixed. `fuzz/README.md` explains how to fuzz.

#[path = "../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/generator.rs"]
mod targets;

use replay::replay;

#[test]
fn datagrams() {
    replay("generator_wire", targets::wire);
}

#[test]
fn servers() {
    replay("generator_server", targets::server);
}

#[test]
fn records() {
    replay("generator_records", targets::records);
}

#[test]
fn measurements() {
    replay("generator_measure", targets::measure);
}
