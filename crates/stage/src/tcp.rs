//! The fields of a TCP header that stages need (RFC 9293 section 3.1), parsed from bytes or set by a simulator. Also
//! the only change that a stage makes: a new window, with the checksum updated (RFC 1624 equation 3). The pseudo-header
//! does not contain the window, so this is the same for IPv4 and IPv6. Left out: SACK, timestamps and all other
//! options.

use gamelane_core::headers::TCP_HEADER;
use gamelane_core::{Direction, FlowKey};

/// The fields of a TCP header that stages need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFacts {
    /// 5-tuple of the connection in the upstream direction, also for a segment that goes downstream.
    pub connection: FlowKey,
    /// Direction of the segment.
    pub direction: Direction,
    /// Sequence number of the first byte, or of the SYN.
    pub seq: u32,
    /// Acknowledgement number; valid only with the ACK flag.
    pub ack: u32,
    /// Number of payload bytes.
    pub payload: u32,
    /// Control bits.
    pub flags: TcpFlags,
    /// Window field, not scaled.
    pub window: u16,
    /// Shift of the window scale option (RFC 7323 section 2.2); read from SYNs only.
    pub window_scale: Option<u8>,
    /// Maximum segment size option in bytes; read from SYNs only.
    pub mss: Option<u16>,
}

/// The control bits that stages need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags {
    /// SYN: opens a connection.
    pub syn: bool,
    /// ACK: the acknowledgement number is valid.
    pub ack: bool,
    /// FIN: this side sends no more data.
    pub fin: bool,
    /// RST: aborts the connection.
    pub rst: bool,
}

/// Error: the bytes are not a TCP header. There are fewer than 20, or the data offset points outside of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotTcp;

impl TcpFacts {
    /// Parses the header at the start of `segment`, which must extend to the end of the IP payload. `connection` is the
    /// 5-tuple in the upstream direction. An option that is cut off or has an impossible length ends the list of
    /// options; the options before it are used.
    ///
    /// # Errors
    ///
    /// [`NotTcp`] if the segment is too short for its header.
    pub fn parse(connection: FlowKey, direction: Direction, segment: &[u8]) -> Result<Self, NotTcp> {
        let (fixed, _) = segment.split_first_chunk::<HEADER>().ok_or(NotTcp)?;
        let offset = usize::from(fixed[12] >> 4) * 4;
        let options = segment.get(HEADER..offset).ok_or(NotTcp)?;
        let payload = u32::try_from(segment.len() - offset).map_err(|_| NotTcp)?;
        let word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let bit = |mask: u8| fixed[13] & mask != 0;
        let mut facts = Self {
            connection,
            direction,
            seq: word(4),
            ack: word(8),
            payload,
            flags: TcpFlags { fin: bit(0x01), syn: bit(0x02), rst: bit(0x04), ack: bit(0x10) },
            window: u16::from_be_bytes([fixed[14], fixed[15]]),
            window_scale: None,
            mss: None,
        };
        if facts.flags.syn {
            facts.read_options(options);
        }
        Ok(facts)
    }

    /// Sequence number after this segment; SYN and FIN count as one each.
    pub const fn end(&self) -> u32 {
        self.seq.wrapping_add(self.payload).wrapping_add(self.flags.syn as u32 + self.flags.fin as u32)
    }

    fn read_options(&mut self, mut options: &[u8]) {
        while let [kind, rest @ ..] = options {
            options = match (*kind, rest) {
                (0, _) => return,
                (1, _) => rest,
                (_, [len, ..]) if *len >= 2 => {
                    let Some((option, after)) = rest.split_at_checked(usize::from(*len) - 1) else { return };
                    match (*kind, option) {
                        (2, [_, high, low]) => self.mss = Some(u16::from_be_bytes([*high, *low])),
                        (3, [_, shift]) => self.window_scale = Some(*shift),
                        _ => {}
                    }
                    after
                }
                _ => return,
            };
        }
    }
}

/// Writes a new window into the TCP header at the start of `segment` and updates its checksum. Returns the old window.
///
/// # Errors
///
/// [`NotTcp`] if there are fewer than 20 bytes.
pub fn set_window(segment: &mut [u8], window: u16) -> Result<u16, NotTcp> {
    let header = segment.first_chunk_mut::<HEADER>().ok_or(NotTcp)?;
    let before = u16::from_be_bytes([header[14], header[15]]);
    let checksum = u16::from_be_bytes([header[16], header[17]]);
    header[14..16].copy_from_slice(&window.to_be_bytes());
    header[16..18].copy_from_slice(&adjust_checksum(checksum, before, window).to_be_bytes());
    Ok(before)
}

/// Updates an Internet checksum after one 16-bit word of the data has changed: HC' = ~(~HC + ~m + m') (RFC 1624
/// equation 3). The older equation 2 can give 0xFFFF where 0x0000 is correct.
pub const fn adjust_checksum(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = !checksum as u32 + !before as u32 + after as u32;
    let sum = (sum & 0xffff) + (sum >> 16);
    !(((sum & 0xffff) + (sum >> 16)) as u16)
}

/// [`TCP_HEADER`] as a length of slices.
const HEADER: usize = TCP_HEADER as usize;

#[cfg(test)]
mod tests {
    use super::*;
    use gamelane_core::Protocol;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn connection() -> FlowKey {
        FlowKey {
            source: "192.168.1.2:50000".parse().unwrap(),
            destination: "198.51.100.1:443".parse().unwrap(),
            protocol: Protocol::Tcp,
        }
    }

    /// Computes the checksum over pseudo-header and segment (RFC 9293 section 3.1, RFC 8200 section 8.1).
    fn checksum(pseudo_header: &[u8], segment: &[u8]) -> u16 {
        let bytes: Vec<u8> = [pseudo_header, segment].concat();
        let mut sum: u32 =
            bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    fn pseudo_header(v6: bool, addresses: &[u8; 32], len: usize) -> Vec<u8> {
        let len = len as u32;
        if v6 {
            [&addresses[..], &len.to_be_bytes(), &[0, 0, 0, 6]].concat()
        } else {
            [&addresses[..8], &[0, 6], &(len as u16).to_be_bytes()].concat()
        }
    }

    #[test]
    fn the_example_of_rfc_1624() {
        // Section 4: HC = 0xDD2F, m = 0x5555, m' = 0x3285; equation 3 gives 0x0000, where equation 2 gave 0xFFFF.
        assert_eq!(adjust_checksum(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn a_linux_syn_is_read() {
        // MSS 1460, SACK permitted, timestamps, no-op, window scale 7.
        let mut syn = [0u8; 40];
        syn[4..8].copy_from_slice(&0x0102_0304_u32.to_be_bytes());
        syn[12] = 0xa0;
        syn[13] = 0x02;
        syn[14..16].copy_from_slice(&64_240_u16.to_be_bytes());
        syn[20..40].copy_from_slice(&[2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7]);
        let facts = TcpFacts::parse(connection(), Direction::Up, &syn).unwrap();
        assert_eq!((facts.mss, facts.window_scale, facts.window), (Some(1460), Some(7), 64_240));
        assert_eq!((facts.seq, facts.end(), facts.payload), (0x0102_0304, 0x0102_0305, 0));
        assert!(facts.flags.syn && !facts.flags.ack);
    }

    proptest! {
        #[test]
        fn a_rewritten_segment_has_the_checksum_computed_afresh(
            v6: bool,
            addresses: [u8; 32],
            mut segment in proptest::collection::vec(any::<u8>(), HEADER..200),
            window: u16,
        ) {
            let pseudo = pseudo_header(v6, &addresses, segment.len());
            segment[16..18].fill(0);
            let before = checksum(&pseudo, &segment);
            segment[16..18].copy_from_slice(&before.to_be_bytes());
            let old = u16::from_be_bytes([segment[14], segment[15]]);
            prop_assert_eq!(set_window(&mut segment, window), Ok(old));
            let adjusted = u16::from_be_bytes([segment[16], segment[17]]);
            segment[16..18].fill(0);
            prop_assert_eq!(adjusted, checksum(&pseudo, &segment));
        }

        #[test]
        fn no_bytes_bring_the_reader_down(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            if let Ok(facts) = TcpFacts::parse(connection(), Direction::Down, &bytes) {
                prop_assert!((facts.payload as usize) <= bytes.len() - HEADER);
            }
            let mut copy = bytes.clone();
            prop_assert_eq!(set_window(&mut copy, 7).is_ok(), bytes.len() >= HEADER);
        }
    }
}
