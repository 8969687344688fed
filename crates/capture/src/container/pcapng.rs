//! The pcapng format: blocks with a type and their length at both ends. Each section has its own byte order and
//! interfaces. Each interface has a link type, a timestamp resolution and a time offset. Name resolution and secrets
//! are skipped.

use std::io::Read;

use super::fields::ByteOrder;
use super::window::Window;
use super::{Fault, Flags, Found, MAX_RECORD, more, require};

/// The current section.
#[derive(Debug)]
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
    /// Number of interfaces in earlier sections.
    interfaces_before: u32,
    dropped_before: Option<u64>,
    untimed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: u32,
    resolution: Resolution,
    offset_s: i64,
    /// Last count of packets that the recording program lost.
    dropped: Option<u64>,
}

/// Timestamp ticks per second: a power of 10 or of 2.
#[derive(Clone, Copy, Debug)]
enum Resolution {
    Decimal(u8),
    Binary(u8),
}

/// Type of the first block, the same in both byte orders.
pub(super) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

impl Pcapng {
    /// Reads the header of the first section.
    pub(super) fn open<R: Read>(window: &mut Window<R>) -> Result<Self, Fault> {
        let mut pcapng = Self {
            order: ByteOrder::Little,
            interfaces: Vec::new(),
            interfaces_before: 0,
            dropped_before: None,
            untimed: 0,
        };
        pcapng.section_header(window)?;
        Ok(pcapng)
    }

    pub(super) fn next<R: Read>(&mut self, window: &mut Window<R>) -> Result<Option<Found>, Fault> {
        loop {
            if !more(window, 8, "a block's header")? {
                return Ok(None);
            }
            let block_type = self.order.u32(window.bytes(), 0);
            if block_type == SECTION_HEADER {
                self.section_header(window)?;
                continue;
            }
            let len = self.whole_block(window)?;
            let body = &window.bytes()[8..len - 4];
            match block_type {
                ENHANCED_PACKET | OBSOLETE_PACKET => return self.packet(block_type, body, len).map(Some),
                INTERFACE_DESCRIPTION => {
                    let interface = Interface::described(self.order, body)?;
                    if self.interfaces.len() == MAX_INTERFACES {
                        return Err(Fault::Malformed(format!(
                            "a section has more than {MAX_INTERFACES} interfaces"
                        )));
                    }
                    self.interfaces.push(interface);
                }
                INTERFACE_STATISTICS => self.statistics(window, len),
                SIMPLE_PACKET => self.untimed += 1,
                _ => {}
            }
            window.consume(len);
        }
    }

    pub(super) fn dropped_by_capture(&self) -> Option<u64> {
        let counts = self.interfaces.iter().map(|interface| interface.dropped);
        counts.chain([self.dropped_before]).flatten().reduce(u64::saturating_add)
    }

    pub(super) const fn untimed(&self) -> u64 {
        self.untimed
    }

    /// Starts a section; its block is not consumed yet.
    fn section_header<R: Read>(&mut self, window: &mut Window<R>) -> Result<(), Fault> {
        require(window, 12, "a section's header")?;
        self.order = match window.bytes()[8..12] {
            [0x4d, 0x3c, 0x2b, 0x1a] => ByteOrder::Little,
            [0x1a, 0x2b, 0x3c, 0x4d] => ByteOrder::Big,
            ref other => {
                return Err(Fault::Malformed(format!(
                    "a section's byte order mark is {other:02x?}, but must be 1a2b3c4d or 4d3c2b1a"
                )));
            }
        };
        let len = self.order.u32(window.bytes(), 4);
        if len < 28 {
            return Err(Fault::Malformed(format!("a section header has {len} B, but needs at least 28")));
        }
        let len = self.whole_block(window)?;
        window.consume(len);
        self.dropped_before = self.dropped_by_capture();
        self.interfaces_before = self.interfaces_before.saturating_add(self.interfaces.len() as u32);
        self.interfaces.clear();
        Ok(())
    }

    /// Reads the block at the start of the window completely. Its lengths at both ends must be equal.
    fn whole_block<R: Read>(&self, window: &mut Window<R>) -> Result<usize, Fault> {
        let len = self.order.u32(window.bytes(), 4);
        if len < 12 || !len.is_multiple_of(4) {
            return Err(Fault::Malformed(format!(
                "a block has {len} B, but its length must be a multiple of 4, at least 12"
            )));
        }
        if len > MAX_RECORD {
            return Err(Fault::Malformed(format!(
                "a block has {len} B, but at most {MAX_RECORD} are allowed"
            )));
        }
        require(window, len as usize, "a block")?;
        let trailer = self.order.u32(window.bytes(), len as usize - 4);
        if trailer != len {
            return Err(Fault::Malformed(format!(
                "a block has length {len} B at its start, but {trailer} B at its end"
            )));
        }
        Ok(len as usize)
    }

    fn packet(&self, block_type: u32, body: &[u8], len: usize) -> Result<Found, Fault> {
        let order = self.order;
        if body.len() < 20 {
            return Err(Fault::Malformed(format!(
                "a packet block has {} B, but needs at least 20",
                body.len()
            )));
        }
        // In an obsolete packet block, the upper half of the field counts drops.
        let interface =
            if block_type == ENHANCED_PACKET { order.u32(body, 0) } else { u32::from(order.u16(body, 0)) };
        let Some(&Interface { link_type, resolution, offset_s, .. }) =
            self.interfaces.get(interface as usize)
        else {
            return Err(Fault::Malformed(format!(
                "a packet names interface {interface} (from 0), but the section describes only {}",
                self.interfaces.len()
            )));
        };
        let ticks = u64::from(order.u32(body, 4)) << 32 | u64::from(order.u32(body, 8));
        let (captured_len, original_len) = (order.u32(body, 12), order.u32(body, 16));
        if captured_len as usize > body.len() - 20 {
            return Err(Fault::Malformed(format!(
                "a packet has {captured_len} B, but its block has room for only {}",
                body.len() - 20
            )));
        }
        let mut flags = Flags::NONE;
        let end = 20 + (captured_len as usize).next_multiple_of(4);
        if block_type == ENHANCED_PACKET && body.len() > end {
            for (code, value) in options(order, &body[end..]) {
                if code == OPTION_FLAGS && value.len() == 4 {
                    flags = Flags(order.u32(value, 0));
                }
            }
        }
        Ok(Found {
            interface: self.interfaces_before.saturating_add(interface),
            at_ns: resolution.nanoseconds(ticks, offset_s),
            link_type,
            original_len,
            flags,
            data: 28..28 + captured_len as usize,
            len,
        })
    }

    fn statistics<R: Read>(&mut self, window: &Window<R>, len: usize) {
        let order = self.order;
        let body = &window.bytes()[8..len - 4];
        if body.len() < 12 {
            return;
        }
        let Some(interface) = self.interfaces.get_mut(order.u32(body, 0) as usize) else { return };
        for (code, value) in options(order, &body[12..]) {
            if code == OPTION_DROPPED && value.len() == 8 {
                // Each block of statistics counts from the start of the capture.
                interface.dropped = Some(order.u64(value, 0));
            }
        }
    }
}

impl Interface {
    fn described(order: ByteOrder, body: &[u8]) -> Result<Self, Fault> {
        if body.len() < 8 {
            return Err(Fault::Malformed(format!(
                "an interface description has {} B, but needs at least 8",
                body.len()
            )));
        }
        let mut interface = Self {
            link_type: u32::from(order.u16(body, 0)),
            resolution: Resolution::Decimal(6),
            offset_s: 0,
            dropped: None,
        };
        for (code, value) in options(order, &body[8..]) {
            match (code, value) {
                (OPTION_RESOLUTION, &[power]) if power & 0x80 == 0 => {
                    interface.resolution = Resolution::Decimal(power);
                }
                (OPTION_RESOLUTION, &[power]) => interface.resolution = Resolution::Binary(power & 0x7f),
                (OPTION_OFFSET, bytes) if bytes.len() == 8 => interface.offset_s = order.u64(bytes, 0) as i64,
                _ => {}
            }
        }
        Ok(interface)
    }
}

/// Returns the options by code. An invalid option ends the list: a broken name or comment is no reason to refuse a
/// file.
fn options(order: ByteOrder, mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let (code, len) = (order.u16(head, 0), usize::from(order.u16(head, 2)));
        let value = rest.get(..len)?;
        bytes = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        (code != OPTION_END).then_some((code, value))
    })
}

impl Resolution {
    /// Nanoseconds since 1970, limited to 0 to [`u64::MAX`].
    fn nanoseconds(self, ticks: u64, offset_s: i64) -> u64 {
        match (self, offset_s) {
            (Self::Decimal(9), 0) => return ticks,
            (Self::Decimal(6), 0) => return ticks.saturating_mul(1_000),
            _ => {}
        }
        let scaled = u128::from(ticks) * 1_000_000_000;
        let since_offset = match self {
            Self::Decimal(power) => scaled / 10u128.checked_pow(u32::from(power)).unwrap_or(u128::MAX),
            Self::Binary(power) => scaled >> power.min(127),
        };
        let at = since_offset as i128 + i128::from(offset_s) * 1_000_000_000;
        at.clamp(0, i128::from(u64::MAX)) as u64
    }
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const OPTION_END: u16 = 0;
const OPTION_FLAGS: u16 = 2;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_OFFSET: u16 = 14;
const OPTION_DROPPED: u16 = 5;

/// Maximum number of interfaces, so that a damaged file cannot fill the memory.
const MAX_INTERFACES: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolutions_are_powers_of_ten_or_two() {
        assert_eq!(Resolution::Decimal(6).nanoseconds(1_500_000, 0), 1_500_000_000);
        assert_eq!(Resolution::Decimal(9).nanoseconds(u64::MAX, 0), u64::MAX);
        assert_eq!(Resolution::Decimal(12).nanoseconds(2_500, 0), 2);
        assert_eq!(Resolution::Binary(10).nanoseconds(512, 0), 500_000_000);
        assert_eq!(Resolution::Decimal(127).nanoseconds(u64::MAX, 0), 0);
        assert_eq!(Resolution::Decimal(0).nanoseconds(10, -3), 7_000_000_000);
        assert_eq!(Resolution::Decimal(0).nanoseconds(1, -3), 0);
        assert_eq!(Resolution::Decimal(0).nanoseconds(u64::MAX, i64::MAX), u64::MAX);
    }
}
