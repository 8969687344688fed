//! Content hash that identifies a packet at two capture points.
//!
//! - TCP: sequence and acknowledgement numbers, length, flags and timestamps, so a retransmission is another packet.
//! - UDP: length and the first payload bytes, which often contain a message number.
//! - IPv4: the identification.
//!
//! Addresses are left out, because NAT changes them. TTL, ECN and DSCP are left out, because routers change them.

use crate::packet::{CapturedPacket, CapturedTransport};

/// Hash of `packet`; `transport` begins with its transport header.
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

/// The hash function FNV-1a (64 bit).
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

/// Number of payload bytes in the hash. Captures with a short snap length still have them.
const HASHED: usize = 32;
