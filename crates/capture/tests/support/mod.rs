//! What the tests of this crate share: keys, headers, captures in memory.

#![allow(dead_code, reason = "each test file uses a part of it")]

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
