//! Helpers for the tests of this crate: keys, headers, captures in memory.

pub(crate) mod packets;
pub(crate) mod script;

use std::io::Cursor;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use gamelane_capture::{Capture, CaptureError, CapturedPacket, PacketHeader};
use gamelane_core::{Ecn, FlowKey, Instant, Protocol};

pub(crate) fn key(source: &str, destination: &str, protocol: Protocol) -> FlowKey {
    let parse = |text: &str| text.parse::<SocketAddr>().expect("an address and a port");
    FlowKey { source: parse(source), destination: parse(destination), protocol }
}

pub(crate) fn header(key: FlowKey, at_ns: u64) -> PacketHeader {
    PacketHeader { at: Instant::from_nanos(at_ns), key, ecn: Ecn::NotEct, dscp: 0, id: 0 }
}

pub(crate) fn open(bytes: Vec<u8>) -> Result<Capture<Cursor<Vec<u8>>>, CaptureError> {
    Capture::from_reader(Cursor::new(bytes), Path::new("memory.pcapng"))
}

pub(crate) fn read_all(bytes: Vec<u8>) -> Result<Vec<CapturedPacket>, CaptureError> {
    open(bytes)?.collect()
}

/// The shipped capture of a match.
pub(crate) fn match_capture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/captures/openarena-4p-srv.pcapng")
}

/// A pcap of whole frames, one per second.
pub(crate) fn pcap_of(link_type: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, link_type].map(u32::to_le_bytes).concat();
    for (second, frame) in (0u32..).zip(frames) {
        let len = frame.len() as u32;
        file.extend([second, 0, len, len].map(u32::to_le_bytes).concat());
        file.extend(frame);
    }
    file
}

/// Reports that a comparison was skipped because `tool` is not installed. In CI this is a failure.
pub(crate) fn skipped(tool: &str) {
    assert_ne!(
        std::env::var("CI").as_deref(),
        Ok("true"),
        "{tool} is not installed, and CI must compare with it"
    );
    eprintln!("skipped: {tool} is not installed (apt-get install {tool})");
}

/// Path of a capture in tests/captures; `name` has no extension.
pub(crate) fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(format!("{name}.pcapng.gz"))
}
