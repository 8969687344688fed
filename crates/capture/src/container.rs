//! The two file formats around packets: pcap (draft-ietf-opsawg-pcap) and pcapng (draft-ietf-opsawg-pcapng), read record
//! by record into one buffer. Our own because both are a few fields each, and the crates at hand misread time stamps
//! (pcap-file 2.0 takes every resolution for nanoseconds; pcap-parser 0.17 refuses binary ones). Leaves out names,
//! statistics, secrets and simple packet blocks, which carry no time.

use std::io::Read;

/// One packet as stored.
pub(crate) struct Record<'a> {
    /// Position of its interface in the file, over all sections.
    pub(crate) interface: u32,
    /// Nanoseconds since 1970.
    pub(crate) at_ns: u64,
    pub(crate) link_type: u32,
    /// Length before the capture cut it.
    pub(crate) original_len: u32,
    pub(crate) data: &'a [u8],
}

/// Why a record could not be read.
#[derive(Debug)]
pub(crate) enum Fault {
    Io(std::io::Error),
    NotACapture(Vec<u8>),
    Truncated,
    Malformed(String),
}

/// A capture file, read from front to back.
#[derive(Debug)]
pub(crate) struct Container<R> {
    reader: R,
    order: ByteOrder,
    format: Format,
    buffer: Vec<u8>,
}

#[derive(Debug)]
enum Format {
    Pcap { link_type: u32, nanoseconds: bool },
    Pcapng { section: Vec<Interface>, sections_before: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link_type: u32,
    resolution: Resolution,
    offset_s: i64,
}

/// Ticks per second: a power of 10 or of 2.
#[derive(Clone, Copy, Debug)]
enum Resolution {
    Decimal(u8),
    Binary(u8),
}

impl<R: Read> Container<R> {
    /// Reads the file's header.
    pub(crate) fn open(mut reader: R) -> Result<Self, Fault> {
        let mut head = [0; 8];
        let got = fill(&mut reader, &mut head)?;
        let magic = [head[0], head[1], head[2], head[3]];
        let (order, nanoseconds) = match magic {
            [0x0a, 0x0d, 0x0d, 0x0a] if got >= 4 => {
                let format = Format::Pcapng { section: Vec::new(), sections_before: 0 };
                let mut container = Self { reader, order: ByteOrder::Little, format, buffer: Vec::new() };
                if got < head.len() {
                    return Err(Fault::Truncated);
                }
                container.section_header([head[4], head[5], head[6], head[7]])?;
                return Ok(container);
            }
            [0xd4, 0xc3, 0xb2, 0xa1] => (ByteOrder::Little, false),
            [0x4d, 0x3c, 0xb2, 0xa1] => (ByteOrder::Little, true),
            [0xa1, 0xb2, 0xc3, 0xd4] => (ByteOrder::Big, false),
            [0xa1, 0xb2, 0x3c, 0x4d] => (ByteOrder::Big, true),
            _ => return Err(Fault::NotACapture(head[..got].to_vec())),
        };
        let mut rest = [0; 16];
        if got < head.len() || fill(&mut reader, &mut rest)? < rest.len() {
            return Err(Fault::Truncated);
        }
        // The upper bits hold the length of a frame check sequence.
        let link_type = order.u32(&rest, 12) & 0xffff;
        Ok(Self { reader, order, format: Format::Pcap { link_type, nanoseconds }, buffer: Vec::new() })
    }

    /// The next packet; `None` at the end of the file.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record<'_>>, Fault> {
        match self.format {
            Format::Pcap { link_type, nanoseconds } => self.pcap_record(link_type, nanoseconds),
            Format::Pcapng { .. } => self.pcapng_record(),
        }
    }

    fn pcap_record(&mut self, link_type: u32, nanoseconds: bool) -> Result<Option<Record<'_>>, Fault> {
        let mut head = [0; 16];
        match fill(&mut self.reader, &mut head)? {
            0 => return Ok(None),
            16 => {}
            _ => return Err(Fault::Truncated),
        }
        let field = |at| self.order.u32(&head, at);
        let fraction = u64::from(field(4)) * if nanoseconds { 1 } else { 1_000 };
        let at_ns = u64::from(field(0)) * 1_000_000_000 + fraction;
        let (captured_len, original_len) = (field(8), field(12));
        self.read_into_buffer(captured_len)?;
        Ok(Some(Record { interface: 0, at_ns, link_type, original_len, data: &self.buffer }))
    }

    fn pcapng_record(&mut self) -> Result<Option<Record<'_>>, Fault> {
        loop {
            let mut head = [0; 8];
            match fill(&mut self.reader, &mut head)? {
                0 => return Ok(None),
                8 => {}
                _ => return Err(Fault::Truncated),
            }
            let block_type = self.order.u32(&head, 0);
            if block_type == SECTION_HEADER {
                self.section_header([head[4], head[5], head[6], head[7]])?;
                continue;
            }
            self.block_body(self.order.u32(&head, 4), 0)?;
            match block_type {
                INTERFACE_DESCRIPTION => self.interface_description()?,
                ENHANCED_PACKET | OBSOLETE_PACKET => break self.packet_block(block_type).map(Some),
                _ => {}
            }
        }
    }

    /// Starts a section; its type has been read, and `length` unswapped.
    fn section_header(&mut self, length: [u8; 4]) -> Result<(), Fault> {
        let mut magic = [0; 4];
        if fill(&mut self.reader, &mut magic)? < magic.len() {
            return Err(Fault::Truncated);
        }
        self.order = match magic {
            [0x4d, 0x3c, 0x2b, 0x1a] => ByteOrder::Little,
            [0x1a, 0x2b, 0x3c, 0x4d] => ByteOrder::Big,
            other => {
                return Err(Fault::Malformed(format!(
                    "a section's byte order mark is {other:02x?}; allowed are 1a2b3c4d and 4d3c2b1a"
                )));
            }
        };
        let length = self.order.u32(&length, 0);
        if length < 28 {
            return Err(Fault::Malformed(format!("a section header of {length} B; it has at least 28")));
        }
        self.block_body(length, 4)?;
        if let Format::Pcapng { section, sections_before } = &mut self.format {
            *sections_before += section.len() as u32;
            section.clear();
        }
        Ok(())
    }

    /// Reads a block's body and trailing length; `already` bytes of the body have been read.
    fn block_body(&mut self, length: u32, already: u32) -> Result<(), Fault> {
        if length < 12 + already || !length.is_multiple_of(4) {
            return Err(Fault::Malformed(format!(
                "a block of {length} B; allowed are multiples of 4 from {}",
                12 + already
            )));
        }
        // The trailing length comes along and is cut off again.
        self.read_into_buffer(length - 8 - already)?;
        let body = self.buffer.len() - 4;
        let trailer = self.order.u32(&self.buffer, body);
        if trailer != length {
            return Err(Fault::Malformed(format!("a block of {length} B ends as one of {trailer} B")));
        }
        self.buffer.truncate(body);
        Ok(())
    }

    fn interface_description(&mut self) -> Result<(), Fault> {
        let (order, body) = (self.order, &self.buffer);
        if body.len() < 8 {
            return Err(Fault::Malformed(format!("an interface description of {} B", body.len())));
        }
        let mut interface = Interface {
            link_type: u32::from(order.u16(body, 0)),
            resolution: Resolution::Decimal(6),
            offset_s: 0,
        };
        let mut options = &body[8..];
        // Options we cannot make sense of end the list: names and comments are not worth a refusal.
        while let Some((head, rest)) = options.split_first_chunk::<4>() {
            let (code, len) = (order.u16(head, 0), usize::from(order.u16(head, 2)));
            let Some(value) = rest.get(..len) else { break };
            match (code, value) {
                (OPTION_END, _) => break,
                (OPTION_RESOLUTION, &[power]) if power & 0x80 == 0 => {
                    interface.resolution = Resolution::Decimal(power);
                }
                (OPTION_RESOLUTION, &[power]) => interface.resolution = Resolution::Binary(power & 0x7f),
                (OPTION_OFFSET, bytes) if bytes.len() == 8 => interface.offset_s = order.u64(bytes, 0) as i64,
                _ => {}
            }
            options = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
        if let Format::Pcapng { section, .. } = &mut self.format {
            section.push(interface);
        }
        Ok(())
    }

    fn packet_block(&self, block_type: u32) -> Result<Record<'_>, Fault> {
        let (order, body) = (self.order, &self.buffer);
        if body.len() < 20 {
            return Err(Fault::Malformed(format!("a packet block of {} B; it has at least 20", body.len())));
        }
        // An obsolete block counts drops in the upper half of the field.
        let interface =
            if block_type == ENHANCED_PACKET { order.u32(body, 0) } else { u32::from(order.u16(body, 0)) };
        let Format::Pcapng { section, sections_before } = &self.format else {
            unreachable!("packet blocks are read from pcapng only")
        };
        let Some(&Interface { link_type, resolution, offset_s }) = section.get(interface as usize) else {
            return Err(Fault::Malformed(format!(
                "a packet of interface {interface}, of which the section describes {}",
                section.len()
            )));
        };
        let ticks = u64::from(order.u32(body, 4)) << 32 | u64::from(order.u32(body, 8));
        let (captured_len, original_len) = (order.u32(body, 12), order.u32(body, 16));
        let Some(data) = body[20..].get(..captured_len as usize) else {
            return Err(Fault::Malformed(format!(
                "a packet of {captured_len} B in a block with room for {}",
                body.len() - 20
            )));
        };
        let at_ns = resolution.nanoseconds(ticks, offset_s);
        Ok(Record { interface: sections_before + interface, at_ns, link_type, original_len, data })
    }

    fn read_into_buffer(&mut self, len: u32) -> Result<(), Fault> {
        if len > MAX_RECORD {
            return Err(Fault::Malformed(format!("a record of {len} B; allowed are up to {MAX_RECORD}")));
        }
        self.buffer.resize(len as usize, 0);
        match fill(&mut self.reader, &mut self.buffer)? {
            got if got < len as usize => Err(Fault::Truncated),
            _ => Ok(()),
        }
    }
}

impl Resolution {
    /// Nanoseconds since 1970, at least 0 and at most [`u64::MAX`].
    fn nanoseconds(self, ticks: u64, offset_s: i64) -> u64 {
        let scaled = u128::from(ticks) * 1_000_000_000;
        let since_offset = match self {
            Self::Decimal(power) => scaled / 10u128.checked_pow(u32::from(power)).unwrap_or(u128::MAX),
            Self::Binary(power) => scaled >> power.min(127),
        };
        let at = since_offset as i128 + i128::from(offset_s) * 1_000_000_000;
        at.clamp(0, i128::from(u64::MAX)) as u64
    }
}

/// Reads until `into` is full or the input ends; says how much it got.
fn fill(reader: &mut impl Read, into: &mut [u8]) -> Result<usize, Fault> {
    let mut got = 0;
    while got < into.len() {
        match reader.read(&mut into[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Fault::Io(error)),
        }
    }
    Ok(got)
}

/// Byte order of a file or section. Fields must lie within the slice.
#[derive(Clone, Copy, Debug)]
enum ByteOrder {
    Little,
    Big,
}

macro_rules! field {
    ($name:ident, $type:ty, $len:literal) => {
        fn $name(self, bytes: &[u8], at: usize) -> $type {
            let field: [u8; $len] = bytes[at..at + $len].try_into().expect("the range has this length");
            match self {
                Self::Little => <$type>::from_le_bytes(field),
                Self::Big => <$type>::from_be_bytes(field),
            }
        }
    };
}

impl ByteOrder {
    field!(u16, u16, 2);
    field!(u32, u32, 4);
    field!(u64, u64, 8);
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const ENHANCED_PACKET: u32 = 6;
const OPTION_END: u16 = 0;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_OFFSET: u16 = 14;

/// Longest record we believe in: Wireshark's limit for USB and D-Bus is 128 MiB, for networks 256 KiB.
const MAX_RECORD: u32 = 16 << 20;

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
