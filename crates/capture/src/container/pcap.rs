//! The pcap format: a header of 24 bytes, then records of 16 bytes plus the packet. The magic number tells byte order and
//! resolution. A. Kuznetzov's variant, written by Linux distributions around 2000, has records of 24 bytes; of its
//! variants under the same magic number, libpcap's is read (`pcap_sf_patched_pkthdr` in `sf-pcap.c`).

use std::io::Read;

use super::fields::ByteOrder;
use super::window::Window;
use super::{Fault, Found, MAX_RECORD, more, require};
use crate::link::packet_type;

/// Contents of the file header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pcap {
    order: ByteOrder,
    records: Records,
    link_type: u32,
    check_sequence: u8,
    lengths: Lengths,
}

/// What a record's header has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Records {
    Microseconds,
    Nanoseconds,
    /// Microseconds; then interface index, protocol and packet type of Linux.
    Kuznetzov,
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
        let (order, records) = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => (ByteOrder::Little, Records::Microseconds),
            [0x4d, 0x3c, 0xb2, 0xa1] => (ByteOrder::Little, Records::Nanoseconds),
            [0x34, 0xcd, 0xb2, 0xa1] => (ByteOrder::Little, Records::Kuznetzov),
            [0xa1, 0xb2, 0xc3, 0xd4] => (ByteOrder::Big, Records::Microseconds),
            [0xa1, 0xb2, 0x3c, 0x4d] => (ByteOrder::Big, Records::Nanoseconds),
            [0xa1, 0xb2, 0xcd, 0x34] => (ByteOrder::Big, Records::Kuznetzov),
            _ => return None,
        };
        Some(Self { order, records, link_type: 0, check_sequence: 0, lengths: Lengths::CapturedFirst })
    }

    /// Reads the file header, including the magic number.
    pub(super) fn open<R: Read>(self, window: &mut Window<R>) -> Result<Self, Fault> {
        require(window, FILE_HEADER, "the file's header")?;
        let (order, head) = (self.order, window.bytes());
        let link = order.u32(head, 20);
        // The four upper bits count the 16-bit words of the frame check sequence, if bit 26 says so.
        let check_sequence = if link & 1 << 26 == 0 { 0 } else { (link >> 28) as u8 * 2 };
        let lengths = match (order.u16(head, 4), order.u16(head, 6)) {
            // DG/UX wrote version 543.0.
            (2, ..3) | (543, 0) => Lengths::OriginalFirst,
            (2, 3) => Lengths::LesserIsCaptured,
            _ => Lengths::CapturedFirst,
        };
        window.consume(FILE_HEADER);
        Ok(Self { link_type: link & 0xffff, check_sequence, lengths, ..self })
    }

    pub(super) fn next<R: Read>(&self, window: &mut Window<R>) -> Result<Option<Found>, Fault> {
        let kuznetzov = self.records == Records::Kuznetzov;
        let header_len = if kuznetzov { KUZNETZOV_HEADER } else { RECORD_HEADER };
        if !more(window, header_len, "a record's header")? {
            return Ok(None);
        }
        let (order, head) = (self.order, window.bytes());
        let resolution = if self.records == Records::Nanoseconds { 1 } else { 1_000 };
        let at_ns =
            u64::from(order.u32(head, 0)) * 1_000_000_000 + u64::from(order.u32(head, 4)) * resolution;
        let lengths = (order.u32(head, 8), order.u32(head, 12));
        let (captured_len, original_len) = match self.lengths {
            Lengths::CapturedFirst => lengths,
            Lengths::OriginalFirst => (lengths.1, lengths.0),
            Lengths::LesserIsCaptured => (lengths.0.min(lengths.1), lengths.0.max(lengths.1)),
        };
        let (interface, outgoing) =
            if kuznetzov { (order.u32(head, 16), packet_type(head[22].into())) } else { (0, None) };
        if captured_len > MAX_RECORD {
            return Err(Fault::Malformed(format!(
                "a packet has {captured_len} B, but at most {MAX_RECORD} are allowed"
            )));
        }
        let len = header_len + captured_len as usize;
        require(window, len, "a record")?;
        let (data, check_sequence) = (header_len..len, self.check_sequence);
        let link_type = self.link_type;
        Ok(Some(Found { interface, at_ns, link_type, original_len, check_sequence, outgoing, data, len }))
    }
}

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const KUZNETZOV_HEADER: usize = 24;
