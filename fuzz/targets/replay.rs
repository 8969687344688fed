//! Runs a target on its stored corpus: for `tests/corpus.rs` of each crate.

use std::path::Path;

/// Calls `run` with each stored input of `target`, and says which one it is at.
pub(crate) fn replay(target: &str, run: fn(&[u8])) {
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
