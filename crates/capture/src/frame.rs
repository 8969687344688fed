//! Header positions in one Ethernet frame, for code that forwards frames and changes their headers. If anything is
//! uncertain (a cut header, a length beyond the frame), there is no result, and the frame should be forwarded
//! unchanged. Tunnels and MPLS are left out.

use std::net::SocketAddr;

use gamelane_core::{Ecn, FlowKey, IpLen, Protocol};

use crate::link::Link;
use crate::packet::TcpFields;
use crate::wire::{self, FragmentOf, Ip};

/// A complete IP packet in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeaders {
    /// Start of the IP header.
    pub ip_at: usize,
    /// Start of the transport header.
    pub transport_at: usize,
    /// End of the packet; the rest of the frame is padding.
    pub end: usize,
    /// Length of the IP packet.
    pub len: IpLen,
    /// Addresses, ports and protocol. All fragments have port 0, also the first one, so they belong to one flow.
    pub key: FlowKey,
    /// ECN field.
    pub ecn: Ecn,
    /// Differentiated services code point (DSCP).
    pub dscp: u8,
    /// True for any fragment of a packet.
    pub is_fragment: bool,
    /// TCP header; `None` for other protocols and for fragments.
    pub tcp: Option<TcpFields>,
}

impl FrameHeaders {
    /// Finds the headers in an Ethernet frame without its frame check sequence. Returns `None` if the frame has no
    /// complete IP packet.
    pub fn of_ethernet(frame: &[u8]) -> Option<Self> {
        Self::of_start(frame, frame.len())
    }

    /// The same for a frame of `len` bytes of which only the first ones are here: the packet is complete, but
    /// [`FrameHeaders::end`] may be beyond them.
    pub fn of_start(frame: &[u8], len: usize) -> Option<Self> {
        let part = Link::certain_ip(frame, len)?;
        let ip_at = part.range_in(frame).start;
        let ip = Ip::parse(part.bytes, part.len)?;
        let end = ip_at + ip.len as usize;
        let transport_at = ip_at + ip.headers as usize;
        if ip.len > part.len || transport_at > end {
            return None;
        }
        let protocol = match ip.protocol {
            6 => Protocol::Tcp,
            17 => Protocol::Udp,
            number => Protocol::Other(number),
        };
        let mut key = FlowKey {
            source: SocketAddr::new(ip.source, 0),
            destination: SocketAddr::new(ip.destination, 0),
            protocol,
        };
        let is_fragment = ip.fragment != FragmentOf::Whole;
        let mut tcp = None;
        if !is_fragment && !matches!(protocol, Protocol::Other(_)) {
            key.source.set_port(wire::u16_at(ip.above, 0)?);
            key.destination.set_port(wire::u16_at(ip.above, 2)?);
            if protocol == Protocol::Tcp {
                let mut fields = TcpFields::default();
                let header = wire::tcp(ip.above, &mut fields)?;
                if header as usize > end - transport_at {
                    return None;
                }
                tcp = Some(fields);
            }
        }
        Some(Self {
            ip_at,
            transport_at,
            end,
            len: IpLen(ip.len),
            key,
            ecn: ip.ecn,
            dscp: ip.dscp,
            is_fragment,
            tcp,
        })
    }
}
