//! Replays the fuzzer's corpus of PROXY protocol headers; `crates/mux` does so for frames. `fuzz/README.md` says how to find more.

#[path = "../../../fuzz/targets/proxy.rs"]
mod targets;

use proptest::prelude::*;
use std::path::Path;

#[test]
fn headers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/proxy_header");
    let mut inputs = 0;
    for entry in std::fs::read_dir(&folder).expect("the corpus is part of the repository") {
        let path = entry.unwrap().path();
        eprintln!("{}", path.display());
        targets::header(&std::fs::read(path).unwrap());
        inputs += 1;
    }
    assert!(inputs > 0, "{}: empty", folder.display());
}

proptest! {
    #[test]
    fn any_bytes_behind_the_signature_are_read_without_a_panic(
        command in prop_oneof![Just(0x21_u8), Just(0x20), any::<u8>()],
        family in prop_oneof![Just(0x11_u8), Just(0x21), any::<u8>()],
        len in prop_oneof![0..64_u16, any::<u16>()],
        rest in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        let mut bytes = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
        bytes.extend([command, family]);
        bytes.extend(len.to_be_bytes());
        bytes.extend(rest);
        targets::header(&bytes);
    }
}
