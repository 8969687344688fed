//! A TCP segment as endpoints exchange it. Sequence numbers are 64-bit stream offsets (SYN at 0, data from 1), so
//! nothing wraps. Code that writes real packets adds an initial sequence number and truncates. Segments are copied
//! between queues, so one fits into a cache line: control bits take one byte, and SACK blocks are relative to the ACK.

use core::num::NonZeroU16;
use gamelane_core::headers::{IPV4_HEADER, TCP_HEADER, TCP_TIMESTAMPS};
use gamelane_core::{AckKind, IpLen};

/// Bytes of the IPv4 and TCP headers without options.
pub const HEADER_LEN: u32 = IPV4_HEADER + TCP_HEADER;

/// Maximum offset accepted from outside. No stream gets that far, and sums of two such offsets cannot overflow.
pub(crate) const MAX_OFFSET: u64 = 1 << 62;

/// A range of bytes received above the cumulative ACK: `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
}

/// One segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first byte, the SYN or the FIN.
    pub seq: u64,
    /// Next offset expected from the peer; valid if `flags.ack`.
    pub ack: u64,
    /// Payload bytes.
    pub len: u32,
    /// Window field as on the wire; unscaled in a SYN.
    pub window: u16,
    /// Control bits.
    pub flags: FlagBits,
    /// Offered window scale; only in a SYN.
    pub window_scale: Option<u8>,
    /// Maximum segment size that the sender of this SYN accepts, options not subtracted; only in a SYN.
    pub mss: Option<NonZeroU16>,
    /// SACK permitted (RFC 2018); only in a SYN.
    pub sack_permitted: bool,
    /// Timestamp value and echo in milliseconds, if the option is used.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks, most recent first. They are relative to `ack`: a copy with another `ack` needs new blocks.
    pub sack: SackBlocks,
}

const _: () = assert!(size_of::<Segment>() <= 64);

/// Up to three SACK blocks. Each is stored as its distance from the cumulative ACK and its length. 32 bits suffice,
/// because no window reaches 2 GiB (RFC 7323 section 2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    /// A block of length 0 ends the list.
    blocks: [(i32, u32); SackBlocks::CAPACITY],
}

impl SackBlocks {
    /// Number of blocks that fit beside the timestamp option (RFC 2018 section 3).
    pub const CAPACITY: usize = 3;

    /// Packs the first of the given `blocks` for a cumulative ACK of `ack`. Empty blocks and blocks too far away are
    /// left out.
    pub fn new(ack: u64, blocks: &[SackBlock]) -> Self {
        let mut packed = Self::default();
        let fitting = blocks.iter().filter_map(|block| {
            let distance = i32::try_from(block.start.wrapping_sub(ack) as i64).ok()?;
            let len = u32::try_from(block.end.checked_sub(block.start)?).ok()?;
            (len > 0).then_some((distance, len))
        });
        for (place, block) in packed.blocks.iter_mut().zip(fitting) {
            *place = block;
        }
        packed
    }

    /// True if there are no blocks.
    pub const fn is_empty(&self) -> bool {
        self.blocks[0].1 == 0
    }

    /// Number of blocks.
    pub const fn len(&self) -> usize {
        let mut len = 0;
        while len < Self::CAPACITY && self.blocks[len].1 > 0 {
            len += 1;
        }
        len
    }

    /// Returns the blocks as offsets, in order.
    pub fn iter(&self, ack: u64) -> impl Iterator<Item = SackBlock> + use<> {
        self.blocks.into_iter().take_while(|&(_, len)| len > 0).map(move |(distance, len)| {
            let start = ack.saturating_add_signed(i64::from(distance));
            SackBlock { start, end: start + u64::from(len) }
        })
    }
}

/// Control bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Opens a connection.
    pub syn: bool,
    /// The acknowledgement number is valid.
    pub ack: bool,
    /// The sender has no more data.
    pub fin: bool,
    /// Aborts the connection.
    pub rst: bool,
    /// Push: the segment ends a write.
    pub psh: bool,
    /// ECN echo (RFC 3168 section 6.1).
    pub ece: bool,
    /// Congestion window reduced.
    pub cwr: bool,
}

/// Control bits as a segment carries them: [`Flags`] packed into one byte.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct FlagBits(u8);

macro_rules! bits {
    ($($name:ident = $bit:literal),*) => {
        impl FlagBits {
            $(
                #[doc = concat!("[`Flags::", stringify!($name), "`].")]
                pub const fn $name(self) -> bool {
                    self.0 & (1 << $bit) != 0
                }
            )*

            /// Unpacks all bits.
            pub const fn get(self) -> Flags {
                Flags { $($name: self.$name()),* }
            }

            /// Packs all bits.
            pub const fn new(flags: Flags) -> Self {
                Self($((flags.$name as u8) << $bit)|*)
            }
        }
    };
}

bits!(syn = 0, ack = 1, fin = 2, rst = 3, psh = 4, ece = 5, cwr = 6);

impl From<Flags> for FlagBits {
    fn from(flags: Flags) -> Self {
        Self::new(flags)
    }
}

impl core::fmt::Debug for FlagBits {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.get().fmt(f)
    }
}

impl Segment {
    /// The answer to a segment of a connection that does not exist (RFC 9293 section 3.10.7.1). A reset gets none.
    pub fn reset_for(of: &Self) -> Option<Self> {
        let bare = |seq, ack, flags: Flags| Self { seq, ack, flags: flags.into(), ..Self::default() };
        let rst = Flags { rst: true, ..Flags::default() };
        match of.flags.get() {
            Flags { rst: true, .. } => None,
            Flags { ack: true, .. } => Some(bare(of.ack, 0, rst)),
            _ => Some(bare(0, of.end(), Flags { ack: true, ..rst })),
        }
    }

    /// SACK blocks as offsets, most recent first.
    pub fn sack_blocks(&self) -> impl Iterator<Item = SackBlock> + use<> {
        self.sack.iter(self.ack)
    }

    /// Sequence space of the segment: payload, SYN and FIN.
    pub const fn sequence_len(&self) -> u64 {
        self.len as u64 + self.flags.syn() as u64 + self.flags.fin() as u64
    }

    /// Offset after the last byte.
    pub const fn end(&self) -> u64 {
        self.seq + self.sequence_len()
    }

    /// True if the segment only acknowledges.
    pub const fn is_pure_ack(&self) -> bool {
        self.len == 0 && self.flags.ack() && !self.flags.syn() && !self.flags.fin() && !self.flags.rst()
    }

    /// Kind of acknowledgement, for queues that filter ACKs.
    pub const fn ack_kind(&self) -> AckKind {
        if !self.is_pure_ack() {
            AckKind::NotPure
        } else if self.sack.is_empty() && !self.flags.ece() && !self.flags.cwr() {
            AckKind::Plain
        } else {
            AckKind::Telling
        }
    }

    /// Length of the IPv4 packet with this segment, options padded to 4 bytes.
    pub const fn ip_len(&self) -> IpLen {
        let mut options = 0;
        if self.timestamps.is_some() {
            options += TCP_TIMESTAMPS;
        }
        if self.flags.syn() {
            // MSS takes 4 bytes. SACK permitted takes 2, which fit into the padding of the timestamps if there are any.
            options += 4 + if self.timestamps.is_some() { 0 } else { 4 };
        }
        if self.window_scale.is_some() {
            options += 4;
        }
        if !self.sack.is_empty() {
            options += 4 + 8 * self.sack.len() as u32;
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
            flags: Flags { syn: true, ..Flags::default() }.into(),
            timestamps: Some((1, 0)),
            window_scale: Some(7),
            ..Segment::default()
        };
        // Linux: 20 B of IP and 40 B of TCP with MSS, SACK permitted, timestamps and window scale.
        assert_eq!(syn.ip_len(), IpLen(60));
    }

    #[test]
    fn a_segment_without_a_connection_is_answered_with_a_reset() {
        let flags =
            |flags: Flags| Segment { seq: 5, ack: 9, len: 2, flags: flags.into(), ..Segment::default() };
        let reset = Segment::reset_for(&flags(Flags { ack: true, ..Flags::default() })).unwrap();
        assert_eq!(
            (reset.seq, reset.flags.rst(), reset.flags.ack(), reset.ip_len()),
            (9, true, false, IpLen(40))
        );
        let reset = Segment::reset_for(&flags(Flags::default())).unwrap();
        assert_eq!((reset.seq, reset.ack, reset.flags.rst(), reset.flags.ack()), (0, 7, true, true));
        assert_eq!(Segment::reset_for(&reset), None);
    }

    #[test]
    fn an_ack_with_sack_blocks_or_an_echo_tells_more_than_its_number() {
        let flags = |flags: Flags| Segment { flags: flags.into(), ..Segment::default() };
        let ack = Flags { ack: true, ..Flags::default() };
        assert_eq!(flags(ack).ack_kind(), AckKind::Plain);
        assert_eq!(flags(Flags { ece: true, ..ack }).ack_kind(), AckKind::Telling);
        assert_eq!(flags(Flags { fin: true, ..ack }).ack_kind(), AckKind::NotPure);
        assert_eq!(Segment { len: 1, ..flags(ack) }.ack_kind(), AckKind::NotPure);
        let sack = SackBlocks::new(0, &[SackBlock { start: 9, end: 10 }]);
        assert_eq!(Segment { sack, ..flags(ack) }.ack_kind(), AckKind::Telling);
    }

    #[test]
    fn sack_blocks_come_back_as_they_were_put_in() {
        let block = |start, end| SackBlock { start, end };
        let ack = 1 << 40;
        let given = [block(ack + 1448, ack + 2896), block(ack - 500, ack), block(ack + 5000, ack + 5001)];
        let sack = SackBlocks::new(ack, &given);
        let segment = Segment { ack, sack, ..Segment::default() };
        assert!(segment.sack_blocks().eq(given));
        assert_eq!((sack.len(), segment.ip_len()), (3, IpLen(68)));
        // Empty, reversed and distant blocks are left out; a fourth block does not fit.
        let odd = [block(5, 5), block(9, 7), block(ack, ack + 9), block(1, 2), given[0], given[1], given[2]];
        let sack = SackBlocks::new(ack, &odd);
        assert!(sack.iter(ack).eq([odd[2], given[0], given[1]]));
        assert!(SackBlocks::default().is_empty());
    }

    #[test]
    fn control_bits_keep_their_names() {
        for bits in 0..128 {
            assert_eq!(FlagBits::new(FlagBits(bits).get()), FlagBits(bits));
        }
        let fin = FlagBits::new(Flags { fin: true, ..Flags::default() });
        assert!(fin.fin() && !fin.ack());
    }
}
