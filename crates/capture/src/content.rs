//! Content hash that identifies a packet at two capture points.
//!
//! - TCP: sequence and acknowledgement numbers, length, flags and timestamps, so a retransmission is another packet.
//! - UDP: length and the first payload bytes, which often contain a message number.
//! - IPv4: the identification.
//!
//! Addresses are left out, because NAT changes them. TTL, ECN and DSCP are left out, because routers change them.

use gamelane_core::headers::UDP_HEADER;
use gamelane_core::rng::Fnv1a;

use crate::packet::{CapturedPacket, CapturedTransport};

/// Hash of `packet`; `transport` begins with its transport header.
pub(crate) fn hash(packet: &CapturedPacket, transport: &[u8]) -> u64 {
    let mut state = Fnv1a::default();
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
            let payload = transport.get(UDP_HEADER as usize..).unwrap_or_default();
            state.write(&payload[..payload.len().min(HASHED)]);
        }
        CapturedTransport::LaterFragment => {}
    }
    state.finish()
}

/// Number of payload bytes in the hash. Captures with a short snap length still have them.
const HASHED: usize = 32;
