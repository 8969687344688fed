//! A packet as every analysis sees it: when, where, between whom, how long, and the transport's header. Lengths are those
//! the headers state, so a capture cut to a snap length measures the same.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use gamelane_core::{Ecn, FlowKey, IpLen, Protocol};
use gamelane_tcp::Flags;

/// One TCP or UDP packet, or a later fragment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedPacket {
    /// Nanoseconds since 1970.
    pub at_ns: u64,
    /// Position in the file of the interface it was seen on; 0 in a pcap.
    pub interface: u32,
    /// Addresses and protocol.
    pub key: FlowKey,
    /// Length of the IP packet, as its header says: also if the capture cut it.
    pub ip_len: IpLen,
    /// Bytes above the UDP or TCP header, likewise; of a fragmented datagram all of them, stated with its first fragment.
    pub payload_len: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// Differentiated services code point.
    pub dscp: u8,
    /// Identification of IPv4, and of fragments of IPv6; 0 where there is none.
    pub identification: u16,
    /// The first four bytes of a datagram, where messages are often numbered; `None` if there or captured are fewer.
    pub start: Option<[u8; 4]>,
    /// A hash of what stays the same on the way, if asked for with
    /// [`Capture::hash_content`](crate::Capture::hash_content); 0 otherwise.
    pub content: u64,
    /// What the transport adds.
    pub transport: CapturedTransport,
}

/// A place to read packets into.
impl Default for CapturedPacket {
    fn default() -> Self {
        let nowhere = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));
        Self {
            at_ns: 0,
            interface: 0,
            key: FlowKey { source: nowhere, destination: nowhere, protocol: Protocol::Udp },
            ip_len: IpLen(0),
            payload_len: 0,
            ecn: Ecn::NotEct,
            dscp: 0,
            identification: 0,
            start: None,
            content: 0,
            transport: CapturedTransport::Udp,
        }
    }
}

impl CapturedPacket {
    /// TCP's header, if it is TCP.
    pub const fn tcp(&self) -> Option<&TcpFields> {
        match &self.transport {
            CapturedTransport::Tcp(fields) => Some(fields),
            CapturedTransport::Udp | CapturedTransport::LaterFragment => None,
        }
    }
}

/// The transport of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturedTransport {
    /// UDP has nothing more to say.
    Udp,
    /// TCP's header.
    Tcp(TcpFields),
    /// Bytes of a packet whose first fragment said what they belong to.
    LaterFragment,
}

impl CapturedTransport {
    /// A place to read a TCP header into, where one may lie already: headers are read where they stay, not copied.
    #[inline]
    pub(crate) fn tcp_mut(&mut self) -> &mut TcpFields {
        if !matches!(self, Self::Tcp(_)) {
            *self = Self::Tcp(TcpFields::default());
        }
        match self {
            Self::Tcp(fields) => fields,
            Self::Udp | Self::LaterFragment => unreachable!("it was made one above"),
        }
    }
}

/// A TCP header as on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFields {
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgment number.
    pub acknowledgment: u32,
    /// Window field, unscaled.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Maximum segment size option.
    pub maximum_segment_size: Option<u16>,
    /// Window scale option.
    pub window_scale: Option<u8>,
    /// Whether SACK permitted is there.
    pub sack_permitted: bool,
    /// Timestamp value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// First and next sequence number of each SACK block, as many as there are.
    pub sack: [Option<(u32, u32)>; 4],
}
