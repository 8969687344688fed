//! Where the headers of one Ethernet frame lie: for who forwards frames and writes into them. What cannot be told for sure
//! (a header that is cut, a length beyond the frame) is not told: such a frame passes as it is.

use std::net::SocketAddr;

use gamelane_core::{Ecn, FlowKey, IpLen, Protocol};

use crate::link::Link;
use crate::packet::TcpFields;
use crate::wire::{self, FragmentOf, Ip};

/// An IP packet in a frame, all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeaders {
    /// Where the IP header begins.
    pub ip_at: usize,
    /// Where the transport's begins.
    pub transport_at: usize,
    /// Where the packet ends; what is left of the frame is padding.
    pub end: usize,
    /// Length of the IP packet.
    pub len: IpLen,
    /// Addresses and protocol. Fragments have no ports, the first like the others, so that all are one flow.
    pub key: FlowKey,
    /// ECN field.
    pub ecn: Ecn,
    /// Differentiated services code point.
    pub dscp: u8,
    /// Whether the packet is a part of one.
    pub is_fragment: bool,
    /// TCP's header, if it is TCP and no fragment.
    pub tcp: Option<TcpFields>,
}

impl FrameHeaders {
    /// Finds the headers in an Ethernet frame without its check sequence; `None` if there is no IP packet that is whole.
    pub fn of_ethernet(frame: &[u8]) -> Option<Self> {
        let bytes = Link::Ethernet.ip(frame)?;
        let ip_at = frame.len() - bytes.len();
        let ip = Ip::parse(bytes, u32::try_from(bytes.len()).ok()?)?;
        let end = ip_at + ip.len as usize;
        let transport_at = ip_at + ip.headers as usize;
        if end > frame.len() || transport_at > end {
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
