//! Content hash that identifies a packet at two capture points, or at two interfaces of one.
//!
//! - TCP: sequence and acknowledgement numbers, length, flags, timestamps and the first SACK block, so a retransmission
//!   or a repeated ACK is another packet.
//! - UDP: length and the first payload bytes, which often contain a message number.
//! - IPv4: the identification.
//!
//! Addresses are left out, because NAT changes them. TTL, ECN, DSCP and the window are left out, because routers and VoAP
//! change them.

use gamelane_core::headers::UDP_HEADER;

use crate::packet::{CapturedPacket, CapturedTransport};

/// Hash of `packet`; `transport` begins with its transport header.
#[inline]
pub(crate) fn hash(packet: &CapturedPacket, transport: &[u8]) -> u64 {
    let len = u64::from(packet.payload_len) << 16 | u64::from(packet.identification);
    match &packet.transport {
        CapturedTransport::Tcp(tcp) => {
            let numbers = u64::from(tcp.sequence) << 32 | u64::from(tcp.acknowledgment);
            let (value, echo) = tcp.timestamps.unwrap_or_default();
            let (from, to) = tcp.sack[0].unwrap_or_default();
            let flags = tcp.flags;
            let flags = u32::from_le_bytes([flags.syn, flags.fin, flags.rst, flags.psh].map(u8::from));
            let state = mixed(mixed(mixed(SEED, len), numbers), u64::from(value) << 32 | u64::from(echo));
            mixed(mixed(state, u64::from(from) << 32 | u64::from(to)), flags.into())
        }
        CapturedTransport::Udp => {
            let payload = transport.get(UDP_HEADER as usize..).unwrap_or_default();
            let mut words = [0; HASHED];
            let kept = payload.len().min(HASHED);
            words[..kept].copy_from_slice(&payload[..kept]);
            words.chunks_exact(8).fold(mixed(SEED, len), |state, word| {
                mixed(state, u64::from_le_bytes(word.try_into().expect("chunks of 8 bytes")))
            })
        }
        CapturedTransport::LaterFragment => mixed(mixed(SEED, len), packet.ip_len.0.into()),
    }
}

/// Folds the product of 64 by 64 bits, as wyhash does. Nothing here is a secret.
#[inline]
const fn mixed(state: u64, word: u64) -> u64 {
    let product = (state ^ word) as u128 * MULTIPLIER as u128;
    (product as u64 ^ (product >> 64) as u64).wrapping_add(SEED)
}

const SEED: u64 = 0xa076_1d64_78bd_642f;
const MULTIPLIER: u64 = 0xe703_7ed1_a0b4_28db;

/// Number of payload bytes in the hash. Captures with a short snap length still have them.
const HASHED: usize = 32;
