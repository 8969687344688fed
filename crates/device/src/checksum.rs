//! Fills in transport checksums that a machine left to its hardware. Frames of a virtual interface arrive without them, and a
//! frame that leaves must have one (RFC 9293 section 3.1, RFC 768, RFC 8200 section 8.1).

use gamelane_capture::FrameHeaders;
use gamelane_core::Protocol;

/// Fills in the checksum of the TCP segment or UDP datagram in an Ethernet frame; leaves any other frame as it is.
pub fn complete(frame: &mut [u8]) {
    if let Some(place) = Place::of(frame) {
        place.fill_in(frame);
    }
}

/// Fills in the checksum only if it looks missing. A sender that leaves it to hardware writes the sum of the pseudo header there,
/// for the hardware to continue from. One correct checksum in 65,536 looks the same; filling it in does not change it.
pub fn complete_if_missing(frame: &mut [u8]) {
    if let Some(place) = Place::of(frame)
        && frame[place.at..place.at + 2] == (!fold(place.pseudo_header)).to_be_bytes()
    {
        place.fill_in(frame);
    }
}

/// Fills in the checksum of an IPv4 header (RFC 791 section 3.1).
pub(crate) fn complete_ipv4(header: &mut [u8]) {
    header[10..12].fill(0);
    let checksum = fold(sum(header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// Where a checksum is, and what it covers.
struct Place {
    at: usize,
    transport: std::ops::Range<usize>,
    protocol: Protocol,
    /// Sum of the pseudo header.
    pseudo_header: u64,
}

impl Place {
    fn of(frame: &[u8]) -> Option<Self> {
        let headers = FrameHeaders::of_ethernet(frame)?;
        if headers.is_fragment {
            return None;
        }
        let (at, number) = match headers.key.protocol {
            Protocol::Tcp => (16, 6),
            Protocol::Udp => (6, 17),
            Protocol::Other(_) => return None,
        };
        let addresses = match frame.get(headers.ip_at).map(|byte| byte >> 4) {
            Some(4) => headers.ip_at + 12..headers.ip_at + 20,
            _ => headers.ip_at + 8..headers.ip_at + 40,
        };
        let transport = headers.transport_at..headers.end;
        let at = transport.start + at;
        let pseudo_header = sum(&frame[addresses]) + transport.len() as u64 + number;
        (at + 2 <= transport.end).then_some(Self {
            at,
            transport,
            protocol: headers.key.protocol,
            pseudo_header,
        })
    }

    fn fill_in(&self, frame: &mut [u8]) {
        let place = self.at..self.at + 2;
        frame[place.clone()].fill(0);
        let transport = &frame[self.transport.clone()];
        let checksum = match (fold(self.pseudo_header + sum(transport)), self.protocol) {
            // A UDP checksum of zero would mean that there is none (RFC 768).
            (0, Protocol::Udp) => 0xffff,
            (checksum, _) => checksum,
        };
        frame[place].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// Sum of 16-bit words (RFC 1071); an odd last byte counts as if a zero followed.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An Ethernet frame with a TCP segment of five bytes.
    fn segment() -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend([8, 0, 0x45, 0, 0, 45, 0, 1, 0x40, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 99]);
        frame.extend([0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0, 0, 0, 0, 0]);
        frame.extend(*b"hello");
        frame
    }

    const PLACE: std::ops::Range<usize> = 50..52;

    #[test]
    fn a_missing_checksum_is_filled_in_and_a_wrong_one_stays_wrong() {
        let mut complete_one = segment();
        complete(&mut complete_one);
        let transport = &complete_one[34..];
        let pseudo_header = [192, 0, 2, 1, 192, 0, 2, 99, 0, 6, 0, 25];
        assert_eq!(
            fold(sum(&pseudo_header) + sum(transport)),
            0,
            "RFC 1071: with the checksum all bits are set"
        );

        let mut left_to_hardware = segment();
        left_to_hardware[PLACE].copy_from_slice(&(!fold(sum(&pseudo_header))).to_be_bytes());
        complete_if_missing(&mut left_to_hardware);
        assert_eq!(left_to_hardware, complete_one);

        let mut untouched = complete_one.clone();
        complete_if_missing(&mut untouched);
        assert_eq!(untouched, complete_one);

        untouched[PLACE.start] ^= 1;
        let wrong = untouched.clone();
        complete_if_missing(&mut untouched);
        assert_eq!(untouched, wrong, "the receiver must see the damage");
    }
}
