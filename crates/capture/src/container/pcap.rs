//! The pcap format: a header of 24 bytes, then records of 16 bytes plus the packet. The magic number tells byte order and
//! resolution. A. Kuznetzov's variant, written by Linux distributions around 2000, has records of 24 bytes; of its
//! variants under the same magic number, libpcap's is read (`pcap_sf_patched_pkthdr` in `sf-pcap.c`).

use std::io::Read;

use super::fields::ByteOrder;
use super::window::Window;
use super::{Fault, Flags, Found, MAX_RECORD, more, require};
use crate::link::packet_type;

/// Contents of the file header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pcap {
    order: ByteOrder,
    nanoseconds: bool,
    header_len: usize,
    link_type: u32,
    flags: Flags,
    lengths: Lengths,
}

/// Order of the two lengths in a record's header.
#[derive(Clone, Copy, Debug)]
enum Lengths {
    CapturedFirst,
    OriginalFirst,
    /// Version 2.3 changed the order, but some programs wrote this version with the old order.
    LesserIsCaptured,
}

impl Pcap {
    /// Returns the format for these first bytes of a file.
    pub(super) const fn by_magic(magic: [u8; 4]) -> Option<Self> {
        let (order, nanoseconds, header_len) = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => (ByteOrder::Little, false, RECORD_HEADER),
            [0x4d, 0x3c, 0xb2, 0xa1] => (ByteOrder::Little, true, RECORD_HEADER),
            [0x34, 0xcd, 0xb2, 0xa1] => (ByteOrder::Little, false, KUZNETZOV_HEADER),
            [0xa1, 0xb2, 0xc3, 0xd4] => (ByteOrder::Big, false, RECORD_HEADER),
            [0xa1, 0xb2, 0x3c, 0x4d] => (ByteOrder::Big, true, RECORD_HEADER),
            [0xa1, 0xb2, 0xcd, 0x34] => (ByteOrder::Big, false, KUZNETZOV_HEADER),
            _ => return None,
        };
        Some(Self {
            order,
            nanoseconds,
            header_len,
            link_type: 0,
            flags: Flags::NONE,
            lengths: Lengths::CapturedFirst,
        })
    }

    /// Reads the file header, including the magic number.
    pub(super) fn open<R: Read>(self, window: &mut Window<R>) -> Result<Self, Fault> {
        require(window, FILE_HEADER, "the file's header")?;
        let (order, head) = (self.order, window.bytes());
        let link = order.u32(head, 20);
        // The four upper bits count the 16-bit words of the frame check sequence, if bit 26 says so.
        let check_sequence = if link & 1 << 26 == 0 { 0 } else { (link >> 28) * 2 };
        let lengths = match (order.u16(head, 4), order.u16(head, 6)) {
            // DG/UX wrote version 543.0.
            (2, ..3) | (543, 0) => Lengths::OriginalFirst,
            (2, 3) => Lengths::LesserIsCaptured,
            _ => Lengths::CapturedFirst,
        };
        window.consume(FILE_HEADER);
        let flags = Flags::new(None, check_sequence);
        Ok(Self { link_type: link & 0xffff, flags, lengths, ..self })
    }

    pub(super) fn next<R: Read>(&self, window: &mut Window<R>) -> Result<Option<Found>, Fault> {
        if !more(window, self.header_len, "a record's header")? {
            return Ok(None);
        }
        let (order, head) = (self.order, window.bytes());
        let fraction = u64::from(order.u32(head, 4)) * if self.nanoseconds { 1 } else { 1_000 };
        let at_ns = u64::from(order.u32(head, 0)) * 1_000_000_000 + fraction;
        let (mut captured_len, mut original_len) = (order.u32(head, 8), order.u32(head, 12));
        let (mut interface, mut flags) = (0, self.flags);
        if self.header_len == KUZNETZOV_HEADER {
            interface = order.u32(head, 16);
            flags = Flags::new(packet_type(head[22].into()), self.flags.check_sequence());
        }
        if self.lengths.swapped(captured_len, original_len) {
            std::mem::swap(&mut captured_len, &mut original_len);
        }
        if captured_len > MAX_RECORD {
            return Err(Fault::Malformed(format!(
                "a packet has {captured_len} B, but at most {MAX_RECORD} are allowed"
            )));
        }
        let len = self.header_len + captured_len as usize;
        require(window, len, "a record")?;
        let (link_type, data) = (self.link_type, self.header_len..len);
        Ok(Some(Found { interface, at_ns, link_type, original_len, flags, data, len }))
    }
}

impl Lengths {
    #[inline]
    const fn swapped(self, first: u32, second: u32) -> bool {
        match self {
            Self::CapturedFirst => false,
            Self::OriginalFirst => true,
            Self::LesserIsCaptured => first > second,
        }
    }
}

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// The lengths are followed by interface index (4 bytes), protocol (2) and packet type (1) of Linux, and padding.
const KUZNETZOV_HEADER: usize = 24;
