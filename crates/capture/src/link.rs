//! Finds the IP header in a frame, by link type of tcpdump's registry: Ethernet with VLAN tags and PPPoE, PPP, Linux
//! cooked captures, loopback, raw IP. MPLS, other tunnels and Wi-Fi frames are left out.

use crate::wire;

/// A supported link layer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Link {
    Ethernet,
    RawIp,
    LinuxCooked,
    LinuxCooked2,
    Loopback,
    Ppp,
    PppoeSession,
}

impl Link {
    #[inline]
    pub(crate) const fn of(link_type: u32) -> Option<Self> {
        match link_type {
            0 | 108 => Some(Self::Loopback),
            1 => Some(Self::Ethernet),
            9 => Some(Self::Ppp),
            12 | 14 | 101 | 228 | 229 => Some(Self::RawIp),
            51 => Some(Self::PppoeSession),
            113 => Some(Self::LinuxCooked),
            276 => Some(Self::LinuxCooked2),
            _ => None,
        }
    }

    /// Index of the interface on the recording machine, if the frame's header has it.
    #[inline]
    pub(crate) fn interface(self, frame: &[u8]) -> Option<u32> {
        match self {
            Self::LinuxCooked2 => wire::u32_at(frame, 4),
            _ => None,
        }
    }

    /// True if the recording machine sent the frame, false if it received it.
    #[inline]
    pub(crate) fn outgoing(self, frame: &[u8]) -> Option<bool> {
        match self {
            Self::LinuxCooked => packet_type(wire::u16_at(frame, 0)?),
            Self::LinuxCooked2 => packet_type((*frame.get(10)?).into()),
            _ => None,
        }
    }

    /// Returns the IP packet in the frame.
    #[inline]
    pub(crate) fn ip(self, frame: &[u8]) -> Option<&[u8]> {
        match self {
            Self::RawIp => Some(frame),
            // The number of the address family differs between systems. The IP version has the same information.
            Self::Loopback => frame.get(4..),
            Self::Ethernet => ether(frame.get(12..)?),
            Self::LinuxCooked => ether(frame.get(14..)?),
            Self::LinuxCooked2 => {
                let ether_type: [u8; 2] = frame.get(..2)?.try_into().ok()?;
                after_ether_type(ether_type, frame.get(20..)?)
            }
            Self::Ppp => ppp(frame),
            Self::PppoeSession => pppoe(frame),
        }
    }
}

/// Direction of a packet by Linux's packet type (`linux/if_packet.h`).
pub(crate) const fn packet_type(value: u16) -> Option<bool> {
    match value {
        // To this machine, to all, to a group, to another machine.
        0..=3 => Some(false),
        4 => Some(true),
        _ => None,
    }
}

/// Returns the IP packet after an EtherType.
#[inline]
fn ether(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [0x08, 0x00, rest @ ..] | [0x86, 0xdd, rest @ ..] => Some(rest),
        [first, second, rest @ ..] => after_ether_type([*first, *second], rest),
        _ => None,
    }
}

/// Returns the IP packet after VLAN tags and PPPoE.
fn after_ether_type(mut ether_type: [u8; 2], mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        match ether_type {
            [0x08, 0x00] | [0x86, 0xdd] => return Some(rest),
            // IEEE 802.1Q, 802.1ad (QinQ), and the EtherType used before 802.1ad.
            [0x81, 0x00] | [0x88, 0xa8] | [0x91, 0x00] => {
                let (tag, after) = rest.split_first_chunk::<4>()?;
                ether_type = [tag[2], tag[3]];
                rest = after;
            }
            [0x88, 0x64] => return pppoe(rest),
            _ => return None,
        }
    }
}

/// Returns the IP packet after a PPPoE session header (RFC 2516 section 4).
fn pppoe(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        // Version 1, type 1, code 0: session data.
        [0x11, 0x00, ..] => ppp(bytes.get(6..)?),
        _ => None,
    }
}

/// Returns the IP packet after PPP's protocol field of one or two bytes (RFC 1661 section 2). The address and control
/// bytes of HDLC may precede it.
fn ppp(bytes: &[u8]) -> Option<&[u8]> {
    let bytes = bytes.strip_prefix(&[0xff, 0x03]).unwrap_or(bytes);
    match bytes {
        [0x00, 0x21 | 0x57, rest @ ..] | [0x21 | 0x57, rest @ ..] => Some(rest),
        _ => None,
    }
}
