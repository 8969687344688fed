//! Finds IP in Wi-Fi frames (IEEE 802.11-2020 section 9.2 and 9.3.2), recorded in monitor mode, and in the headers that
//! drivers put before them: radiotap (radiotap.org), Prism and AVS. Data frames only. Mesh control fields are left out,
//! and fragments of 802.11 are not put together.

use super::ether::llc;
use super::{Beside, NoIp, Part};

/// Identity of a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Addresses of the receiver and of the transmitter.
    pub(crate) addresses: [u8; 12],
    /// Traffic identifier (TID); `None` without QoS.
    pub(crate) priority: Option<u8>,
    pub(crate) sequence: u16,
    /// The transmitter has sent the frame before.
    pub(crate) retry: bool,
}

/// Returns the IP packet in a frame after a radiotap header.
pub(super) fn radiotap<'a>(frame: Part<'a>, beside: &mut Beside<'a>) -> Result<Part<'a>, NoIp> {
    let (header, _) = frame.split::<8>().ok_or(NoIp::Other)?;
    let len = usize::from(u16::from_le_bytes([header[2], header[3]]));
    // Version 0 is the only one.
    if header[0] != 0 || len < header.len() {
        return Err(NoIp::Other);
    }
    let (flags, rest) = (radiotap_flags(frame, len).unwrap_or(0), frame.skip(len).ok_or(NoIp::Other)?);
    if flags & BAD_CHECK_SEQUENCE != 0 {
        return Err(NoIp::Damaged);
    }
    let rest = if flags & CHECK_SEQUENCE == 0 { rest } else { rest.keep(rest.len.saturating_sub(4)) };
    ieee_802_11(rest, flags & PADDING != 0, beside)
}

/// Flags of a radiotap header of `len` bytes. The present words tell which fields follow, in the order of their bits.
fn radiotap_flags(frame: Part<'_>, len: usize) -> Option<u8> {
    let header = frame.bytes.get(..len)?;
    let word = |at: usize| Some(u32::from_le_bytes(header.get(at..at + 4)?.try_into().ok()?));
    let present = word(4)?;
    let mut at = 8;
    let mut last = present;
    while last & MORE_WORDS != 0 {
        last = word(at)?;
        at += 4;
    }
    if present & TIMER != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    if present & FLAGS == 0 { None } else { header.get(at).copied() }
}

/// Returns the IP packet in a frame after a Prism header, or after an AVS header, which has the same link type in
/// captures of some drivers.
pub(super) fn prism<'a>(frame: Part<'a>, beside: &mut Beside<'a>) -> Result<Part<'a>, NoIp> {
    match frame.bytes {
        [0x80, 0x21, 0x10, ..] => avs(frame, beside),
        _ => ieee_802_11(frame.skip(PRISM_HEADER).ok_or(NoIp::Other)?, false, beside),
    }
}

/// Returns the IP packet in a frame after an AVS header: a magic number and the header's length, both big-endian.
pub(super) fn avs<'a>(frame: Part<'a>, beside: &mut Beside<'a>) -> Result<Part<'a>, NoIp> {
    let (header, _) = frame.split::<8>().ok_or(NoIp::Other)?;
    let len = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    ieee_802_11(frame.skip(len as usize).ok_or(NoIp::Other)?, false, beside)
}

/// Returns the IP packet in an 802.11 frame without its frame check sequence. `padded` says that the driver aligned the
/// payload to four bytes. `beside` gets the rest of an aggregate, which [`subframe`] reads.
pub(super) fn ieee_802_11<'a>(
    frame: Part<'a>,
    padded: bool,
    beside: &mut Beside<'a>,
) -> Result<Part<'a>, NoIp> {
    let Some(&[control, flags]) = frame.bytes.first_chunk::<2>() else { return Err(NoIp::Other) };
    // Version 0, type 2: data.
    if control & 0x0f != 0x08 || control & NO_DATA != 0 {
        return Err(NoIp::Other);
    }
    let mut header = 24;
    if flags & (TO_SYSTEM | FROM_SYSTEM) == TO_SYSTEM | FROM_SYSTEM {
        header += 6;
    }
    let mut aggregate = false;
    let mut priority = None;
    if control & QUALITY_OF_SERVICE != 0 {
        let service = frame.bytes.get(header).copied().unwrap_or(0);
        aggregate = service & AGGREGATE != 0;
        priority = Some(service & PRIORITY);
        // The HT control field follows only in a frame with QoS; otherwise the bit means strict order.
        header += if flags & ORDER == 0 { 2 } else { 6 };
    }
    let first_fragment = frame.bytes.get(22).is_none_or(|sequence| sequence & 0x0f == 0);
    let payload = frame.skip(if padded { header.next_multiple_of(4) } else { header }).ok_or(NoIp::Other)?;
    if !first_fragment {
        return Err(NoIp::Other);
    }
    let payload = if flags & MORE_FRAGMENTS == 0 { payload } else { payload.of_unknown_len() };
    let payload = if flags & PROTECTED == 0 { payload } else { decrypted(payload, aggregate)? };
    beside.sent = sent(frame.bytes, priority).filter(|sent| sent.addresses[0] & GROUP == 0);
    if aggregate { subframe(payload, &mut beside.more) } else { llc::<true>(payload).ok_or(NoIp::Other) }
}

fn sent(frame: &[u8], priority: Option<u8>) -> Option<Sent> {
    Some(Sent {
        addresses: *frame.get(4..)?.first_chunk()?,
        priority,
        sequence: u16::from_le_bytes(*frame.get(22..)?.first_chunk()?) >> 4,
        retry: frame.get(1)? & RETRY != 0,
    })
}

/// Returns the payload of a protected frame if the network card has decrypted it: then it is readable, at its start or
/// after the initialisation vector of WEP (4 bytes), TKIP or CCMP (8 bytes).
fn decrypted(payload: Part<'_>, aggregate: bool) -> Result<Part<'_>, NoIp> {
    let addresses = if aggregate { SUBFRAME_HEADER } else { 0 };
    let readable = |part: &Part<'_>| {
        part.bytes.get(addresses..).is_some_and(|bytes| bytes.starts_with(&[0xaa, 0xaa, 0x03, 0, 0]))
    };
    [0, 4, 8].into_iter().filter_map(|vector| payload.skip(vector)).find(readable).ok_or(NoIp::Encrypted)
}

/// Returns the IP packet in the first subframe of an aggregate (A-MSDU, section 9.3.2.2): addresses, length, payload,
/// and padding to four bytes. `more` becomes the rest.
pub(super) fn subframe<'a>(part: Part<'a>, more: &mut Option<Part<'a>>) -> Result<Part<'a>, NoIp> {
    let (header, payload) = part.split::<SUBFRAME_HEADER>().ok_or(NoIp::Other)?;
    let len = u16::from_be_bytes([header[12], header[13]]);
    let whole = (SUBFRAME_HEADER + usize::from(len)).next_multiple_of(4);
    *more = part.skip(whole).filter(|rest| rest.bytes.len() >= SUBFRAME_HEADER);
    llc::<true>(payload.keep(len.into())).ok_or(NoIp::Other)
}

/// Length of a Prism header; its own length field has the byte order of the recording machine.
const PRISM_HEADER: usize = 144;
/// Destination, source, length.
const SUBFRAME_HEADER: usize = 14;

// Frame control of 802.11, first byte: bits of the subtype.
const NO_DATA: u8 = 0x40;
const QUALITY_OF_SERVICE: u8 = 0x80;
// Second byte.
const TO_SYSTEM: u8 = 0x01;
const FROM_SYSTEM: u8 = 0x02;
const MORE_FRAGMENTS: u8 = 0x04;
const RETRY: u8 = 0x08;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;
/// The payload is an A-MSDU; in the QoS control field.
const AGGREGATE: u8 = 0x80;
/// Traffic identifier, in the same field.
const PRIORITY: u8 = 0x0f;
/// First bit of the address of a group, whose frames are never repeated.
const GROUP: u8 = 0x01;

// Present bits of radiotap.
const TIMER: u32 = 1;
const FLAGS: u32 = 1 << 1;
const MORE_WORDS: u32 = 1 << 31;
// Flags of radiotap.
const CHECK_SEQUENCE: u8 = 0x10;
const PADDING: u8 = 0x20;
const BAD_CHECK_SEQUENCE: u8 = 0x40;
