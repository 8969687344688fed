//! A parsed packet: time, interface, addresses, length and transport header. Lengths are those in the headers, so a
//! capture with a snap length gives the same measurements. Payload is left out, except for its first bytes and what
//! they say about the protocol.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use gamelane_core::{Ecn, FlowKey, IpLen, Protocol};
use gamelane_tcp::Flags;

use crate::names::Said;

/// A TCP or UDP packet, or a later fragment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// Time in nanoseconds since 1970.
    pub at_ns: u64,
    /// Number of the interface. Linux cooked captures 2 have its index on the recording machine in each frame. In other
    /// captures it is the index in the file; 0 in a pcap.
    pub interface: u32,
    /// True if the recording machine sent the packet on this interface, false if it received it. `None` if the frame
    /// does not say.
    pub outgoing: Option<bool>,
    /// Addresses, ports and protocol.
    pub key: FlowKey,
    /// Length of the IP packet from its header, even if the capture cut the packet.
    pub ip_len: IpLen,
    /// Payload bytes above the UDP or TCP header, from the headers. The first fragment of a datagram counts the payload
    /// of the whole datagram.
    pub payload_len: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// Differentiated services code point (DSCP).
    pub dscp: u8,
    /// TTL of IPv4, hop limit of IPv6.
    pub hop_limit: u8,
    /// Identification of IPv4, or of a fragment of IPv6; 0 if there is none.
    pub identification: u16,
    /// First four bytes of UDP payload, where many games number their messages. `None` if fewer were sent or captured.
    pub start: Option<[u8; 4]>,
    /// What the payload says about its protocol.
    pub said: Said,
    /// Content hash that is the same at every capture point.
    pub content: u64,
    /// Transport header.
    pub transport: CapturedTransport,
}

/// An empty packet that a reader can fill.
impl Default for CapturedPacket {
    fn default() -> Self {
        let nowhere = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
        Self {
            at_ns: 0,
            interface: 0,
            outgoing: None,
            key: FlowKey { source: nowhere, destination: nowhere, protocol: Protocol::Udp },
            ip_len: IpLen(0),
            payload_len: 0,
            ecn: Ecn::NotEct,
            dscp: 0,
            hop_limit: 0,
            identification: 0,
            start: None,
            said: Said::Nothing,
            content: 0,
            transport: CapturedTransport::Udp,
        }
    }
}

impl CapturedPacket {
    /// The TCP header, if the packet is TCP.
    pub const fn tcp(&self) -> Option<&TcpFields> {
        match &self.transport {
            CapturedTransport::Tcp(fields) => Some(fields),
            CapturedTransport::Udp | CapturedTransport::LaterFragment => None,
        }
    }
}

/// Transport of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturedTransport {
    /// UDP; ports and length are in [`CapturedPacket`].
    Udp,
    /// TCP with its header.
    Tcp(TcpFields),
    /// A later fragment. It has no transport header; its flow is that of the first fragment.
    LaterFragment,
}

impl CapturedTransport {
    /// Returns a TCP header to overwrite, and changes the transport to TCP if necessary. Reading in place avoids a
    /// copy.
    #[inline]
    pub(crate) fn tcp_mut(&mut self) -> &mut TcpFields {
        if !matches!(self, Self::Tcp(_)) {
            *self = Self::Tcp(TcpFields::default());
        }
        match self {
            Self::Tcp(fields) => fields,
            Self::Udp | Self::LaterFragment => unreachable!("the transport was set to TCP above"),
        }
    }
}

/// Fields of a TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFields {
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgement number.
    pub acknowledgment: u32,
    /// Window field, unscaled.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Maximum segment size option.
    pub maximum_segment_size: Option<u16>,
    /// Window scale option.
    pub window_scale: Option<u8>,
    /// SACK permitted option.
    pub sack_permitted: bool,
    /// Timestamp value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks as (first sequence number, next sequence number).
    pub sack: [Option<(u32, u32)>; 4],
}
