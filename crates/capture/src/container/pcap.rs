//! The pcap format: a header of 24 bytes, then records of 16 bytes plus the packet. Four magic numbers tell byte order
//! and resolution. Modified formats (such as Kuznetzov's) are left out.

use std::io::Read;

use super::fields::ByteOrder;
use super::window::Window;
use super::{Fault, Found, MAX_RECORD, more, require};

/// Contents of the file header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pcap {
    order: ByteOrder,
    nanoseconds: bool,
    link_type: u32,
}

impl Pcap {
    /// Returns the format for these first bytes of a file.
    pub(super) const fn by_magic(magic: [u8; 4]) -> Option<Self> {
        let (order, nanoseconds) = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => (ByteOrder::Little, false),
            [0x4d, 0x3c, 0xb2, 0xa1] => (ByteOrder::Little, true),
            [0xa1, 0xb2, 0xc3, 0xd4] => (ByteOrder::Big, false),
            [0xa1, 0xb2, 0x3c, 0x4d] => (ByteOrder::Big, true),
            _ => return None,
        };
        Some(Self { order, nanoseconds, link_type: 0 })
    }

    /// Reads the file header, including the magic number.
    pub(super) fn open<R: Read>(self, window: &mut Window<R>) -> Result<Self, Fault> {
        require(window, FILE_HEADER, "the file's header")?;
        // The upper bits have the length of the frame check sequence.
        let link_type = self.order.u32(window.bytes(), 20) & 0xffff;
        window.consume(FILE_HEADER);
        Ok(Self { link_type, ..self })
    }

    pub(super) fn next<R: Read>(&self, window: &mut Window<R>) -> Result<Option<Found>, Fault> {
        if !more(window, RECORD_HEADER, "a record's header")? {
            return Ok(None);
        }
        let (order, head) = (self.order, window.bytes());
        let fraction = u64::from(order.u32(head, 4)) * if self.nanoseconds { 1 } else { 1_000 };
        let at_ns = u64::from(order.u32(head, 0)) * 1_000_000_000 + fraction;
        let (captured_len, original_len) = (order.u32(head, 8), order.u32(head, 12));
        if captured_len > MAX_RECORD {
            return Err(Fault::Malformed(format!(
                "a packet has {captured_len} B, but at most {MAX_RECORD} are allowed"
            )));
        }
        let len = RECORD_HEADER + captured_len as usize;
        require(window, len, "a record")?;
        let data = RECORD_HEADER..len;
        Ok(Some(Found { interface: 0, at_ns, link_type: self.link_type, original_len, data, len }))
    }
}

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
