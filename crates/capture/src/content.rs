//! What makes a packet the same packet at two capture points (reference/measurement.md section 2): of TCP its numbers, length
//! and time stamps, so that a retransmission is another packet; of UDP its length and first payload bytes, where games
//! number their messages; of IPv4 its identification. Addresses are left out, for translation changes them, and so are
//! time to live, ECN and DSCP, which routers write.

use crate::packet::{CapturedPacket, CapturedTransport};

/// A hash of `packet`, whose transport's bytes begin with `transport`.
pub(crate) fn hash(packet: &CapturedPacket, transport: &[u8]) -> u64 {
    let mut state = Fnv::default();
    state.write(&packet.identification.to_be_bytes());
    state.write(&packet.payload_len.to_be_bytes());
    match &packet.transport {
        CapturedTransport::Tcp(tcp) => {
            state.write(&tcp.sequence.to_be_bytes());
            state.write(&tcp.acknowledgment.to_be_bytes());
            let (value, echo) = tcp.timestamps.unwrap_or_default();
            state.write(&value.to_be_bytes());
            state.write(&echo.to_be_bytes());
            let flags = tcp.flags;
            state.write(&[flags.syn.into(), flags.fin.into(), flags.rst.into(), flags.psh.into()]);
        }
        CapturedTransport::Udp => {
            state.write(&transport[transport.len().min(8)..transport.len().min(8 + HASHED)])
        }
        CapturedTransport::LaterFragment => {}
    }
    state.finish()
}

/// FNV-1a by words.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    const fn finish(&self) -> u64 {
        self.0
    }
}

/// Payload bytes looked at: what short snap lengths leave of a UDP packet.
const HASHED: usize = 32;
