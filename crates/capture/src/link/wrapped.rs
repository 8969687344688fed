//! Headers that a recording program or a network card puts before or into the frame of another link layer: netfilter's
//! log, Apple's PKTAP, the log of the packet filter PF, and the tags of switch chips (DSA).

use super::ether::{ether, ip_version};
use super::{Beside, Link, NoIp, Part};
use crate::wire::u32_at;

/// Returns the IP packet in a message of netfilter's log (LINKTYPE_NFLOG): 4 bytes, then attributes with length and
/// type in the byte order of the recording machine.
pub(super) fn nflog(frame: Part<'_>) -> Option<Part<'_>> {
    let payload = attributes(frame)?.find(|(kind, _)| *kind == PAYLOAD)?.1;
    // `--nflog-range` cuts the packet before it is logged.
    ip_version(payload.of_unknown_len())
}

/// True if netfilter logged the packet on its way out, false on its way in. A forwarded packet is neither.
pub(super) fn nflog_outgoing(frame: &[u8]) -> Option<bool> {
    let frame = Part { bytes: frame, len: frame.len() as u32 };
    let header = attributes(frame)?.find(|(kind, _)| *kind == PACKET_HEADER)?.1;
    match header.bytes.get(2)? {
        // Hooks PREROUTING and INPUT, then OUTPUT and POSTROUTING (linux/netfilter.h).
        0 | 1 => Some(false),
        3 | 4 => Some(true),
        _ => None,
    }
}

fn attributes(frame: Part<'_>) -> Option<impl Iterator<Item = (u16, Part<'_>)>> {
    let mut rest = frame.skip(4)?;
    // Types are below 256 and never 0, so the first one tells the byte order.
    let number: fn([u8; 2]) -> u16 = match rest.bytes {
        [_, _, 0, ..] => u16::from_be_bytes,
        _ => u16::from_le_bytes,
    };
    Some(std::iter::from_fn(move || {
        let (header, value) = rest.split::<4>()?;
        let len = number([header[0], header[1]]);
        let value = value.keep(u32::from(len.checked_sub(4)?));
        rest = rest.skip(usize::from(len).next_multiple_of(4)).unwrap_or(Part { bytes: &[], ..rest });
        Some((number([header[2], header[3]]), value))
    }))
}

/// Returns the IP packet after a PKTAP header (`bsd/net/pktap.h` of XNU, always little-endian), which states its length
/// and the link type of the frame after it.
pub(super) fn pktap<'a>(frame: Part<'a>, beside: &mut Beside<'a>) -> Result<Part<'a>, NoIp> {
    let (len, link_type) = pktap_header(frame.bytes).ok_or(NoIp::Other)?;
    match Link::of(link_type) {
        // A header within itself has no meaning, and must not recurse.
        Some(Link::Pktap) | None => Err(NoIp::Other),
        Some(link) => link.ip(frame.skip(len).ok_or(NoIp::Other)?, beside),
    }
}

/// True if macOS sent the packet, false if it received it.
pub(super) fn pktap_outgoing(frame: &[u8]) -> Option<bool> {
    match little_endian(frame, 36)? & 3 {
        1 => Some(false),
        2 => Some(true),
        _ => None,
    }
}

/// Whether a frame of link type 149 (reserved for private use) has a PKTAP header, as written by macOS 10.9.
pub(super) fn is_pktap(frame: &[u8]) -> bool {
    let name = frame.get(12..36).and_then(|name| name.split(|&byte| byte == 0).next());
    pktap_header(frame).is_some_and(|(_, link_type)| Link::of(link_type).is_some())
        && name.is_some_and(|name| (1..24).contains(&name.len()) && name.iter().all(u8::is_ascii_graphic))
}

/// Length of the header and link type of the frame after it.
fn pktap_header(frame: &[u8]) -> Option<(usize, u32)> {
    let len = little_endian(frame, 0)? as usize;
    let has_packet = little_endian(frame, 4)? == 1;
    (has_packet && (PKTAP_HEADER..=frame.len()).contains(&len)).then_some((len, little_endian(frame, 8)?))
}

fn little_endian(bytes: &[u8], at: usize) -> Option<u32> {
    u32_at(bytes, at).map(u32::swap_bytes)
}

/// Returns the IP packet after a header of PF's log (`net/if_pflog.h` of OpenBSD), which states its length without the
/// padding to four bytes.
pub(super) fn pflog(frame: Part<'_>) -> Option<Part<'_>> {
    let len = usize::from(*frame.bytes.first()?);
    ip_version(frame.skip(len.next_multiple_of(4))?)
}

/// Returns the IP packet in an Ethernet frame with a tag of `tag` bytes before its EtherType.
pub(super) fn tagged(frame: Part<'_>, tag: usize) -> Result<Part<'_>, NoIp> {
    ether::<true>(frame.skip(12 + tag).ok_or(NoIp::Other)?)
}

/// Attributes of netfilter's log (`linux/netfilter/nfnetlink_log.h`).
const PACKET_HEADER: u16 = 1;
const PAYLOAD: u16 = 9;

/// Length of the first version of the PKTAP header. Later versions are longer.
const PKTAP_HEADER: usize = 108;
