//! Parses IPv4 (RFC 791) and IPv6 (RFC 8200) with extension headers, up to the first byte of the transport. IPv4
//! options are skipped.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gamelane_core::Ecn;
use gamelane_core::headers::{IPV4_HEADER, IPV6_HEADER};

use super::{u16_at, u32_at};

/// Header fields of either IP version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ip<'a> {
    pub(crate) source: IpAddr,
    pub(crate) destination: IpAddr,
    /// Length of the whole packet in bytes, from its headers.
    pub(crate) len: u32,
    /// Bytes before the transport header.
    pub(crate) headers: u32,
    pub(crate) protocol: u8,
    pub(crate) ecn: Ecn,
    pub(crate) dscp: u8,
    /// TTL of IPv4, hop limit of IPv6.
    pub(crate) hop_limit: u8,
    pub(crate) identification: u16,
    pub(crate) fragment: FragmentOf,
    /// Captured bytes from the transport header on.
    pub(crate) above: &'a [u8],
}

/// Part of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FragmentOf {
    /// The whole packet.
    Whole,
    /// The first fragment, with the transport header. `id` is the whole identification.
    First { id: u32 },
    /// A later fragment.
    Later { id: u32, last: bool },
}

impl<'a> Ip<'a> {
    /// Parses a packet. `frame_len` is its length according to the frame. It is used if the header has length 0, as
    /// with segmentation offload and jumbograms (RFC 2675).
    #[inline]
    pub(crate) fn parse(bytes: &'a [u8], frame_len: u32) -> Option<Self> {
        match bytes.first()? >> 4 {
            4 => Self::v4(bytes, frame_len),
            6 => Self::v6(bytes, frame_len),
            _ => None,
        }
    }

    #[inline]
    fn v4(bytes: &'a [u8], frame_len: u32) -> Option<Self> {
        let header = bytes.first_chunk::<V4_HEADER>()?;
        let mut headers = usize::from(header[0] & 15) * 4;
        if headers < V4_HEADER {
            return None;
        }
        let len = match u16::from_be_bytes([header[2], header[3]]) {
            0 => frame_len,
            len => u32::from(len),
        };
        let identification = u16::from_be_bytes([header[4], header[5]]);
        let flags_and_offset = u16::from_be_bytes([header[6], header[7]]);
        let fragment =
            fragment(flags_and_offset & 0x1fff, flags_and_offset & 0x2000 != 0, identification.into());
        let mut protocol = header[9];
        let above = captured(bytes, headers, len);
        let above = if protocol == AUTHENTICATION && !matches!(fragment, FragmentOf::Later { .. }) {
            let skip = (usize::from(*above.get(1)?) + 2) * 4;
            protocol = above[0];
            headers += skip;
            above.get(skip..)?
        } else {
            above
        };
        let address = |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
        Some(Self {
            source: address(12).into(),
            destination: address(16).into(),
            len,
            headers: headers as u32,
            protocol,
            ecn: ecn(header[1]),
            dscp: header[1] >> 2,
            hop_limit: header[8],
            identification,
            fragment,
            above,
        })
    }

    fn v6(bytes: &'a [u8], frame_len: u32) -> Option<Self> {
        let header = bytes.first_chunk::<V6_HEADER>()?;
        let class = header[0] << 4 | header[1] >> 4;
        let len = match u16::from_be_bytes([header[4], header[5]]) {
            0 => frame_len,
            payload => IPV6_HEADER + u32::from(payload),
        };
        let mut protocol = header[6];
        let mut headers = V6_HEADER;
        let mut part = FragmentOf::Whole;
        for _ in 0..MAX_EXTENSIONS {
            let rest = captured(bytes, headers, len);
            let skip = match protocol {
                HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | MOBILITY | HOST_IDENTITY | SHIM6 => {
                    (usize::from(*rest.get(1)?) + 1) * 8
                }
                AUTHENTICATION => (usize::from(*rest.get(1)?) + 2) * 4,
                FRAGMENT => {
                    let offset = u16_at(rest, 2)?;
                    part = fragment(offset >> 3, offset & 1 == 1, u32_at(rest, 4)?);
                    8
                }
                _ => break,
            };
            protocol = *rest.first()?;
            headers += skip;
            if matches!(part, FragmentOf::Later { .. }) {
                break;
            }
        }
        let address = |range: std::ops::Range<usize>| -> Option<IpAddr> {
            let octets: [u8; 16] = header.get(range)?.try_into().ok()?;
            Some(Ipv6Addr::from(octets).into())
        };
        let identification = match part {
            FragmentOf::Whole => 0,
            FragmentOf::First { id } | FragmentOf::Later { id, .. } => id as u16,
        };
        Some(Self {
            source: address(8..24)?,
            destination: address(24..40)?,
            len,
            headers: headers as u32,
            protocol,
            ecn: ecn(class),
            dscp: class >> 2,
            hop_limit: header[7],
            identification,
            fragment: part,
            above: captured(bytes, headers, len),
        })
    }
}

const fn fragment(offset: u16, more: bool, id: u32) -> FragmentOf {
    match (offset, more) {
        (0, false) => FragmentOf::Whole,
        (0, true) => FragmentOf::First { id },
        (_, more) => FragmentOf::Later { id, last: !more },
    }
}

/// Captured bytes from index `from` on that belong to the packet. Ethernet pads short packets.
fn captured(bytes: &[u8], from: usize, len: u32) -> &[u8] {
    let end = bytes.len().min(len as usize);
    bytes.get(from..end).unwrap_or_default()
}

const fn ecn(class: u8) -> Ecn {
    match class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

const V4_HEADER: usize = IPV4_HEADER as usize;
const V6_HEADER: usize = IPV6_HEADER as usize;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
const MOBILITY: u8 = 135;
const HOST_IDENTITY: u8 = 139;
const SHIM6: u8 = 140;

/// Maximum number of extension headers. No sender uses more, and it bounds the work for hostile packets.
const MAX_EXTENSIONS: usize = 16;
