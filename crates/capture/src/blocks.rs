//! Writes the blocks of a pcapng file (draft-ietf-opsawg-pcapng), always little-endian: section, interfaces with
//! nanosecond timestamps, packets, statistics. [`crate::write`] uses it for simulated packets, a live capture for real
//! ones. Name resolution and secrets are left out.

use std::io::{Error, ErrorKind, Result, Write};

/// Description of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface<'a> {
    /// Name in UTF-8.
    pub name: &'a str,
    /// Link type in tcpdump's registry: 1 Ethernet, 101 raw IP, 276 Linux cooked 2.
    pub link_type: u16,
    /// Maximum number of bytes stored of each packet; 0 for no limit.
    pub snap_len: u32,
}

/// Interface, time and original length of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Index of the interface in the section.
    pub interface: u32,
    /// Time in nanoseconds since 1970.
    pub at_ns: u64,
    /// Length in bytes before the capture cut the packet.
    pub original_len: u32,
}

/// Counters of an interface since the start of the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Start of the capture in nanoseconds since 1970.
    pub start_ns: u64,
    /// Time of the counters in nanoseconds since 1970.
    pub end_ns: u64,
    /// Packets that passed the filter, including dropped ones.
    pub received: u64,
    /// Packets dropped for lack of buffer space.
    pub dropped: u64,
}

/// Starts a section of unknown length.
///
/// # Errors
/// Any error of writing.
pub fn section(out: &mut impl Write) -> Result<()> {
    out.write_all(&SECTION_HEADER.to_le_bytes())?;
    out.write_all(&28u32.to_le_bytes())?;
    out.write_all(&0x1a2b_3c4du32.to_le_bytes())?;
    // Version 1.0.
    out.write_all(&[1, 0, 0, 0])?;
    out.write_all(&u64::MAX.to_le_bytes())?;
    out.write_all(&28u32.to_le_bytes())
}

/// Describes the next interface of the section; interfaces are numbered from 0.
///
/// # Errors
/// Any error of writing, and `InvalidInput` for a name over 65,535 B.
pub fn interface(out: &mut impl Write, of: &Interface<'_>) -> Result<()> {
    let too_long =
        || Error::new(ErrorKind::InvalidInput, "the name of an interface must have at most 65,535 B");
    let name_len = u16::try_from(of.name.len()).map_err(|_| too_long())?;
    let padding = padding(of.name.len());
    // 20 B of fixed fields with the trailer, 4 B for each option header, one padded byte of resolution.
    let length = (20 + 4 + of.name.len() + padding.len() + 8 + 4) as u32;
    out.write_all(&INTERFACE_DESCRIPTION.to_le_bytes())?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&of.link_type.to_le_bytes())?;
    out.write_all(&[0, 0])?;
    out.write_all(&of.snap_len.to_le_bytes())?;
    out.write_all(&OPTION_NAME.to_le_bytes())?;
    out.write_all(&name_len.to_le_bytes())?;
    out.write_all(of.name.as_bytes())?;
    out.write_all(padding)?;
    out.write_all(&OPTION_RESOLUTION.to_le_bytes())?;
    out.write_all(&[1, 0, 9, 0, 0, 0])?;
    out.write_all(&[0; 4])?;
    out.write_all(&length.to_le_bytes())
}

/// Writes a packet whose bytes are `parts` in a row. The block has [`packet_block_len`] bytes.
///
/// # Errors
/// Any error of writing.
pub fn packet(out: &mut impl Write, stamp: &Stamp, parts: [&[u8]; 2]) -> Result<()> {
    enhanced_packet(out, stamp, parts, "")
}

/// Writes a packet with a comment that Wireshark shows.
///
/// # Errors
/// Any error of writing, and `InvalidInput` for a comment over 65,535 B.
pub fn commented_packet(out: &mut impl Write, stamp: &Stamp, bytes: &[u8], comment: &str) -> Result<()> {
    enhanced_packet(out, stamp, [bytes, &[]], comment)
}

fn enhanced_packet(out: &mut impl Write, stamp: &Stamp, parts: [&[u8]; 2], comment: &str) -> Result<()> {
    let too_long = || Error::new(ErrorKind::InvalidInput, "a comment over 65,535 B");
    let comment_len = u16::try_from(comment.len()).map_err(|_| too_long())?;
    let captured_len = parts[0].len() + parts[1].len();
    // The header of the option, and the end of options.
    let options_len = if comment.is_empty() { 0 } else { 4 + comment.len().next_multiple_of(4) + 4 };
    let length = (packet_block_len(captured_len) + options_len) as u32;
    let mut block = [0; 28];
    let fields = [
        ENHANCED_PACKET,
        length,
        stamp.interface,
        (stamp.at_ns >> 32) as u32,
        stamp.at_ns as u32,
        captured_len as u32,
        stamp.original_len,
    ];
    for (place, field) in block.chunks_exact_mut(4).zip(fields) {
        place.copy_from_slice(&field.to_le_bytes());
    }
    out.write_all(&block)?;
    out.write_all(parts[0])?;
    out.write_all(parts[1])?;
    out.write_all(padding(captured_len))?;
    if !comment.is_empty() {
        out.write_all(&OPTION_COMMENT.to_le_bytes())?;
        out.write_all(&comment_len.to_le_bytes())?;
        out.write_all(comment.as_bytes())?;
        out.write_all(padding(comment.len()))?;
        out.write_all(&[0; 4])?;
    }
    out.write_all(&length.to_le_bytes())
}

/// Length in the file of a packet block with `captured_len` stored bytes and no comment.
pub const fn packet_block_len(captured_len: usize) -> usize {
    32 + captured_len.next_multiple_of(4)
}

/// Writes the counters of an interface. They replace those of earlier blocks.
///
/// # Errors
/// Any error of writing.
pub fn statistics(out: &mut impl Write, interface: u32, of: &Statistics) -> Result<()> {
    // Four options of 8 B with headers of 4 B, and the end of options.
    const LENGTH: u32 = 24 + 4 * 12 + 4;
    let time = |ns: u64| (ns >> 32) as u32;
    out.write_all(&INTERFACE_STATISTICS.to_le_bytes())?;
    for field in [LENGTH, interface, time(of.end_ns), of.end_ns as u32] {
        out.write_all(&field.to_le_bytes())?;
    }
    // The upper half of a time is written first; a counter is one number.
    for (option, ns) in [(OPTION_START, of.start_ns), (OPTION_END, of.end_ns)] {
        for field in [u32::from(option) | 8 << 16, time(ns), ns as u32] {
            out.write_all(&field.to_le_bytes())?;
        }
    }
    for (option, count) in [(OPTION_RECEIVED, of.received), (OPTION_DROPPED, of.dropped)] {
        out.write_all(&(u32::from(option) | 8 << 16).to_le_bytes())?;
        out.write_all(&count.to_le_bytes())?;
    }
    out.write_all(&[0; 4])?;
    out.write_all(&LENGTH.to_le_bytes())
}

/// Zero bytes that pad to a multiple of four.
fn padding(len: usize) -> &'static [u8] {
    &[0; 3][..len.wrapping_neg() % 4]
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const OPTION_COMMENT: u16 = 1;
const OPTION_NAME: u16 = 2;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_START: u16 = 2;
const OPTION_END: u16 = 3;
const OPTION_RECEIVED: u16 = 4;
const OPTION_DROPPED: u16 = 5;
