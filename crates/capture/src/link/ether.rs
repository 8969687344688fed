//! Finds IP after an EtherType, in Ethernet, LLC/SNAP, PPP and MPLS: IEEE 802.3 section 3.2.6, IEEE 802.1Q, RFC 1042,
//! RFC 2516, RFC 1661, RFC 3032. Other tunnels and encrypted Ethernet (IEEE 802.1AE) are left out.

use super::{NoIp, Part};

/// Returns the IP packet after an EtherType or 802.3 length field, which is the first field of `part`.
///
/// `MPLS` says whether IP after MPLS labels counts. Nothing in a label says what follows it, so a program that changes
/// packets must not rely on that.
#[inline]
pub(super) fn ether<const MPLS: bool>(part: Part<'_>) -> Result<Part<'_>, NoIp> {
    match part.bytes {
        [0x08, 0x00, ..] | [0x86, 0xdd, ..] => part.skip(2).ok_or(NoIp::Other),
        _ => other_ether::<MPLS>(part).ok_or(NoIp::Other),
    }
}

fn other_ether<const MPLS: bool>(part: Part<'_>) -> Option<Part<'_>> {
    let (ether_type, rest) = part.split::<2>()?;
    match u16::from_be_bytes(ether_type) {
        len @ ..=1500 => llc::<MPLS>(rest.keep(len.into())),
        _ => after_ether_type::<MPLS>(ether_type, rest),
    }
}

/// Returns the IP packet after the protocol field of a Linux cooked capture.
pub(super) fn cooked((protocol, rest): ([u8; 2], Part<'_>)) -> Option<Part<'_>> {
    match protocol {
        // ETH_P_802_2 (linux/if_ether.h).
        [0, 4] => llc::<true>(rest),
        _ => after_ether_type::<true>(protocol, rest),
    }
}

/// Returns the IP packet after VLAN tags, PPPoE and MPLS.
pub(super) fn after_ether_type<const MPLS: bool>(
    mut ether_type: [u8; 2],
    mut rest: Part<'_>,
) -> Option<Part<'_>> {
    loop {
        match ether_type {
            [0x08, 0x00] | [0x86, 0xdd] => return Some(rest),
            // IEEE 802.1Q, 802.1ad (QinQ), and the EtherType used before 802.1ad.
            [0x81, 0x00] | [0x88, 0xa8] | [0x91, 0x00] => {
                let (tag, after) = rest.split::<4>()?;
                ether_type = [tag[2], tag[3]];
                rest = after;
            }
            [0x88, 0x64] => return pppoe(rest),
            [0x88, 0x47 | 0x48] if MPLS => return mpls(rest),
            _ => return None,
        }
    }
}

/// Returns the IP packet after LLC and SNAP with an EtherType.
pub(super) fn llc<const MPLS: bool>(part: Part<'_>) -> Option<Part<'_>> {
    let (header, rest) = part.split::<8>()?;
    match header {
        // RFC 1042, and IEEE 802.1H for protocols that also exist without it.
        [0xaa, 0xaa, 0x03, 0, 0, 0 | 0xf8, first, second] => after_ether_type::<MPLS>([first, second], rest),
        _ => None,
    }
}

/// Returns the IP packet after a PPPoE session header (RFC 2516 section 4), which states its length.
pub(super) fn pppoe(part: Part<'_>) -> Option<Part<'_>> {
    let (header, rest) = part.split::<6>()?;
    match header {
        // Version 1, type 1, code 0: session data.
        [0x11, 0x00, _, _, high, low] => ppp(rest.keep(u16::from_be_bytes([high, low]).into())),
        _ => None,
    }
}

/// Returns the IP packet after PPP's protocol field of one or two bytes (RFC 1661 section 2). The address and control
/// bytes of HDLC may precede it.
pub(super) fn ppp(part: Part<'_>) -> Option<Part<'_>> {
    let part = if part.bytes.starts_with(&[0xff, 0x03]) { part.skip(2)? } else { part };
    match part.bytes {
        [0x00, 0x21 | 0x57, ..] => part.skip(2),
        [0x21 | 0x57, ..] => part.skip(1),
        [0x02, 0x81 | 0x83, ..] => mpls(part.skip(2)?),
        _ => None,
    }
}

/// Returns the IP packet after PPP in HDLC framing (RFC 1662) or Cisco's (RFC 1547 section 4.3.1).
pub(super) fn hdlc(part: Part<'_>) -> Option<Part<'_>> {
    match part.bytes {
        [0x0f | 0x8f, ..] => {
            let (header, rest) = part.split::<4>()?;
            after_ether_type::<true>([header[2], header[3]], rest)
        }
        _ => ppp(part),
    }
}

/// Returns the IP packet after a stack of MPLS labels (RFC 3032). The first four bits after it must be an IP version.
fn mpls(mut part: Part<'_>) -> Option<Part<'_>> {
    loop {
        let (label, rest) = part.split::<4>()?;
        part = rest;
        // The lowest bit of the third byte marks the bottom of the stack.
        if label[2] & 1 == 1 {
            return ip_version(part);
        }
    }
}

/// Returns the part if it begins like an IP packet.
pub(super) fn ip_version(part: Part<'_>) -> Option<Part<'_>> {
    matches!(part.bytes.first()? >> 4, 4 | 6).then_some(part)
}
