//! Replays the fuzzer's corpus of PROXY protocol headers and configurations; `crates/mux` does so for frames. `fuzz/README.md` says
//! how to find more.

#[path = "../../../fuzz/targets/proxy_config.rs"]
mod config;
#[path = "../../../fuzz/targets/replay.rs"]
mod replay;
#[path = "../../../fuzz/targets/proxy.rs"]
mod targets;

use proptest::prelude::*;
use replay::replay;

#[test]
fn headers() {
    replay("proxy_header", targets::header);
}

#[test]
fn configurations() {
    replay("proxy_config", config::file);
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
