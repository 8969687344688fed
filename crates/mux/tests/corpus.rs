//! Replays the fuzzer's corpus, so that what it once found stays fixed. `fuzz/README.md` explains how to fuzz.

#[path = "../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/mux.rs"]
mod targets;

use proptest::prelude::*;
use replay::replay;

#[test]
fn frames() {
    replay("mux_frames", targets::frames);
}

#[test]
fn sessions() {
    replay("mux_session", targets::session);
}

#[test]
fn datagrams() {
    replay("mux_datagrams", targets::datagrams);
}

/// Bytes in which valid kinds, small numbers and lengths are frequent, as in a fuzzer's inputs.
fn likely() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        3 => 0..10_u8,
        3 => (1..16_u8, 0..4_u8).prop_map(|(kind, flags)| kind << 4 | flags),
        1 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..200)
}

proptest! {
    #[test]
    fn no_bytes_break_them(bytes in likely()) {
        targets::frames(&bytes);
        targets::session(&bytes);
        targets::datagrams(&bytes);
    }
}
