//! A TCP segment as endpoints exchange it. Sequence numbers are 64-bit stream offsets (SYN at 0, data from 1), so no
//! arithmetic wraps; whoever writes bytes adds an initial sequence number and truncates.

use gamelane_core::IpLen;

/// Bytes of IPv4 and TCP headers without options.
pub const HEADER_LEN: u32 = 40;
/// Bytes the timestamp option takes, padding included.
pub const TIMESTAMP_OPTION_LEN: u32 = 12;

/// A run of received bytes above the cumulative ACK: `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First byte received.
    pub start: u64,
    /// First byte after them.
    pub end: u64,
}

/// One segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Offset of its first byte (or of the SYN or FIN).
    pub seq: u64,
    /// Next byte expected from the peer; meaningful if `flags.ack`.
    pub ack: u64,
    /// Payload bytes.
    pub len: u32,
    /// The window field as on the wire: unscaled on a SYN.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Window scale offered; on a SYN only.
    pub window_scale: Option<u8>,
    /// Largest payload its sender takes, options not yet subtracted; on a SYN only.
    pub mss: Option<u16>,
    /// Its sender understands selective acknowledgements (RFC 2018); on a SYN only.
    pub sack_permitted: bool,
    /// Timestamp value and echo in milliseconds, if the option is in use.
    pub timestamps: Option<(u32, u32)>,
    /// Selective acknowledgements, most recent first; the first `sack_blocks` are valid.
    pub sack: [SackBlock; 3],
    /// How many of `sack` are valid.
    pub sack_blocks: u8,
}

/// Control bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Opens a connection.
    pub syn: bool,
    /// Acknowledges.
    pub ack: bool,
    /// No more data from this side.
    pub fin: bool,
    /// Aborts.
    pub rst: bool,
    /// Push: end of a write.
    pub psh: bool,
    /// ECN echo (RFC 3168 section 6.1).
    pub ece: bool,
    /// Congestion window reduced.
    pub cwr: bool,
}

impl Segment {
    /// The valid SACK blocks.
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.sack[..usize::from(self.sack_blocks).min(self.sack.len())]
    }

    /// Sequence space it takes: payload, SYN and FIN.
    pub const fn sequence_len(&self) -> u64 {
        self.len as u64 + self.flags.syn as u64 + self.flags.fin as u64
    }

    /// Offset after its last byte.
    pub const fn end(&self) -> u64 {
        self.seq + self.sequence_len()
    }

    /// True for a segment that only acknowledges.
    pub const fn is_pure_ack(&self) -> bool {
        self.len == 0 && self.flags.ack && !self.flags.syn && !self.flags.fin && !self.flags.rst
    }

    /// Length of the IPv4 packet that carries it, options padded to 4 bytes.
    pub const fn ip_len(&self) -> IpLen {
        let mut options = 0;
        if self.timestamps.is_some() {
            options += TIMESTAMP_OPTION_LEN;
        }
        if self.flags.syn {
            // MSS (4) and SACK permitted (2, shares the padding of the timestamps if there are any).
            options += 4 + if self.timestamps.is_some() { 0 } else { 4 };
        }
        if self.window_scale.is_some() {
            options += 4;
        }
        if self.sack_blocks > 0 {
            options += 4 + 8 * self.sack_blocks as u32;
        }
        IpLen(HEADER_LEN + options + self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_sizes_are_those_on_the_wire() {
        let data = Segment { len: 1448, timestamps: Some((1, 1)), ..Segment::default() };
        assert_eq!(data.ip_len(), IpLen(1500));
        let syn = Segment {
            flags: Flags { syn: true, ..Flags::default() },
            timestamps: Some((1, 0)),
            window_scale: Some(7),
            ..Segment::default()
        };
        // Linux: 20 B IP, 40 B TCP with MSS, SACK permitted, timestamps, window scale.
        assert_eq!(syn.ip_len(), IpLen(60));
    }
}
