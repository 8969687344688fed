//! Replays the fuzzer's corpus, so that what it once found stays fixed. `fuzz/README.md` explains how to fuzz.

#[path = "../../../fuzz/targets/capture.rs"]
mod targets;

use std::path::Path;

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut inputs = 0;
    for entry in std::fs::read_dir(&folder).expect("the corpus is part of the repository") {
        let path = entry.unwrap().path();
        eprintln!("{}", path.display());
        run(&std::fs::read(path).unwrap());
        inputs += 1;
    }
    assert!(inputs > 0, "{}: empty", folder.display());
}

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
