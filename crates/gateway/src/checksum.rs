//! The checksum that a machine leaves to its hardware, filled in: frames of a virtual interface come without it, and what
//! goes out as bytes has to have it (RFC 9293 section 3.1, RFC 768, RFC 8200 section 8.1).

use gamelane_capture::FrameHeaders;
use gamelane_core::Protocol;

/// Fills in the checksum of the TCP segment or UDP datagram in an Ethernet frame; leaves any other frame as it is.
pub fn complete(frame: &mut [u8]) {
    let Some(headers) = FrameHeaders::of_ethernet(frame) else { return };
    if headers.is_fragment {
        return;
    }
    let (at, number) = match headers.key.protocol {
        Protocol::Tcp => (16, 6),
        Protocol::Udp => (6, 17),
        Protocol::Other(_) => return,
    };
    let addresses = match frame.get(headers.ip_at).map(|byte| byte >> 4) {
        Some(4) => headers.ip_at + 12..headers.ip_at + 20,
        _ => headers.ip_at + 8..headers.ip_at + 40,
    };
    let place = headers.transport_at + at;
    if place + 2 > headers.end {
        return;
    }
    frame[place..place + 2].fill(0);
    let transport = &frame[headers.transport_at..headers.end];
    let pseudo_header = sum(&frame[addresses]) + transport.len() as u64 + number;
    let checksum = match (fold(pseudo_header + sum(transport)), headers.key.protocol) {
        // A UDP checksum of zero would mean none.
        (0, Protocol::Udp) => 0xffff,
        (checksum, _) => checksum,
    };
    frame[place..place + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// The sum of 16-bit words (RFC 1071), a last odd byte as if a zero followed.
fn sum(bytes: &[u8]) -> u64 {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let pairs: u64 = pairs.iter().map(|pair| u64::from(u16::from_be_bytes(*pair))).sum();
    pairs + rest.first().map_or(0, |byte| u64::from(*byte) << 8)
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
