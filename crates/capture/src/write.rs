//! Writes simulated packets as pcapng: IPv4 and IPv6 headers with correct lengths and checksums, TCP with the options
//! of a [`Segment`], payload of zeros. Wireshark and tcpdump open the result. Link layers (interfaces are raw IP) and
//! fragmentation are left out.

use std::io::{Error, ErrorKind, Result, Write};
use std::net::SocketAddr;

use etherparse::{
    IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv6Header, TcpHeader, TcpOptionElement, UdpHeader, ip_number,
};
use gamelane_core::headers::{IPV4_HEADER_MAX, TCP_HEADER_MAX, UDP_HEADER};
use gamelane_core::{Ecn, FlowKey, Instant};
use gamelane_tcp::Segment;

use crate::blocks;

/// Options of writing a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Bytes stored of each packet; `None` stores all. [`HEADERS_ONLY`] stores all headers.
    pub snap_len: Option<u32>,
    /// Start of the run in nanoseconds since 1970.
    pub epoch_ns: u64,
}

/// Snap length in bytes that covers every IP and TCP header.
pub const HEADERS_ONLY: u32 = IPV4_HEADER_MAX + TCP_HEADER_MAX;

/// An interface of the capture, from [`PcapngWriter::add_interface`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceId(u32);

/// IP header fields of a packet and the time when it passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHeader {
    /// Time since the start of the run.
    pub at: Instant,
    /// Sender and receiver, both of the same IP version.
    pub key: FlowKey,
    /// ECN field.
    pub ecn: Ecn,
    /// Differentiated services code point (DSCP), 0 to 63.
    pub dscp: u8,
    /// IPv4 identification. A packet keeps it on all interfaces. IPv6 has none.
    pub id: u16,
}

/// Numbers that turn the stream offsets of a segment into header fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpNumbers {
    /// Initial sequence number of the sender of the segment.
    pub initial_sequence: u32,
    /// Initial sequence number of the receiver of the segment.
    pub peer_initial_sequence: u32,
    /// Offered maximum segment size; written into a SYN only.
    pub maximum_segment_size: u16,
}

/// A pcapng file that is being written. An error of kind `InvalidInput` describes an impossible packet; nothing was
/// written then.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    options: WriteOptions,
    interfaces: u32,
    /// Headers of the current packet.
    headers: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// Any error of writing.
    pub fn new(mut out: W, options: WriteOptions) -> Result<Self> {
        blocks::section(&mut out)?;
        Ok(Self { out, options, interfaces: 0, headers: Vec::with_capacity(HEADERS_ONLY as usize) })
    }

    /// Adds a raw IP interface with nanosecond timestamps. It may be called at any time.
    ///
    /// # Errors
    /// Any error of writing, and `InvalidInput` if the name is too long.
    pub fn add_interface(&mut self, name: &str) -> Result<InterfaceId> {
        let snap_len = self.options.snap_len.unwrap_or(0);
        let interface = blocks::Interface { name, link_type: LINK_TYPE_RAW_IP, snap_len };
        blocks::interface(&mut self.out, &interface)?;
        self.interfaces += 1;
        Ok(InterfaceId(self.interfaces - 1))
    }

    /// Writes one UDP datagram.
    ///
    /// # Errors
    /// Any error of writing, and `InvalidInput` for an impossible packet.
    pub fn write_udp(
        &mut self,
        interface: InterfaceId,
        header: &PacketHeader,
        payload_len: u32,
    ) -> Result<()> {
        let payload = zeros(payload_len)?;
        let ports = (header.key.source.port(), header.key.destination.port());
        let ip = self.begin(header, ip_number::UDP, UDP_HEADER as usize + payload.len())?;
        let udp = match &ip {
            Ip::V4(ip) => UdpHeader::with_ipv4_checksum(ports.0, ports.1, ip, payload),
            Ip::V6(ip) => UdpHeader::with_ipv6_checksum(ports.0, ports.1, ip, payload),
        };
        self.headers.extend_from_slice(&udp.map_err(|e| invalid(&e.to_string()))?.to_bytes());
        self.finish(interface, header.at, payload)
    }

    /// Writes one TCP segment.
    ///
    /// # Errors
    /// Any error of writing, and `InvalidInput` for an impossible packet.
    pub fn write_tcp(
        &mut self,
        interface: InterfaceId,
        header: &PacketHeader,
        segment: &Segment,
        numbers: &TcpNumbers,
    ) -> Result<()> {
        let payload = zeros(segment.len)?;
        let mut tcp = tcp_header(&header.key, segment, numbers)?;
        let ip = self.begin(header, ip_number::TCP, tcp.header_len() + payload.len())?;
        let checksum = match &ip {
            Ip::V4(ip) => tcp.calc_checksum_ipv4(ip, payload),
            Ip::V6(ip) => tcp.calc_checksum_ipv6(ip, payload),
        };
        tcp.checksum = checksum.map_err(|e| invalid(&e.to_string()))?;
        self.headers.extend_from_slice(&tcp.to_bytes());
        self.finish(interface, header.at, payload)
    }

    /// Flushes and returns the inner writer.
    ///
    /// # Errors
    /// Any error of flushing.
    pub fn finish_file(mut self) -> Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes the IP header into `headers`.
    fn begin(&mut self, header: &PacketHeader, protocol: IpNumber, above: usize) -> Result<Ip> {
        let ip = Ip::new(header, protocol, above)?;
        self.headers.clear();
        match &ip {
            Ip::V4(ip) => self.headers.extend_from_slice(&ip.to_bytes()),
            Ip::V6(ip) => self.headers.extend_from_slice(&ip.to_bytes()),
        }
        Ok(ip)
    }

    /// Writes the packet block with `headers` and `payload`.
    fn finish(&mut self, interface: InterfaceId, at: Instant, payload: &[u8]) -> Result<()> {
        let original_len = self.headers.len() + payload.len();
        let captured_len = original_len.min(self.options.snap_len.map_or(usize::MAX, |len| len as usize));
        let from_headers = captured_len.min(self.headers.len());
        let stamp = blocks::Stamp {
            interface: interface.0,
            at_ns: self.options.epoch_ns.saturating_add(at.as_nanos()),
            original_len: original_len as u32,
        };
        let parts = [&self.headers[..from_headers], &payload[..captured_len - from_headers]];
        blocks::packet(&mut self.out, &stamp, parts)
    }
}

enum Ip {
    V4(Ipv4Header),
    V6(Ipv6Header),
}

impl Ip {
    fn new(header: &PacketHeader, protocol: IpNumber, above: usize) -> Result<Self> {
        let dscp = IpDscp::try_new(header.dscp).map_err(|e| invalid(&e.to_string()))?;
        let ecn = match header.ecn {
            Ecn::NotEct => IpEcn::ZERO,
            Ecn::Ect1 => IpEcn::ONE,
            Ecn::Ect0 => IpEcn::TWO,
            Ecn::Ce => IpEcn::THREE,
        };
        match (header.key.source, header.key.destination) {
            (SocketAddr::V4(source), SocketAddr::V4(destination)) => {
                let above =
                    u16::try_from(above).map_err(|_| invalid("an IPv4 packet must have at most 65,535 B"))?;
                let (source, destination) = (source.ip().octets(), destination.ip().octets());
                let mut ip = Ipv4Header::new(above, HOP_LIMIT, protocol, source, destination)
                    .map_err(|e| invalid(&e.to_string()))?;
                ip.dscp = dscp;
                ip.ecn = ecn;
                ip.identification = header.id;
                ip.dont_fragment = true;
                ip.header_checksum = ip.calc_header_checksum();
                Ok(Self::V4(ip))
            }
            (SocketAddr::V6(source), SocketAddr::V6(destination)) => {
                let mut ip = Ipv6Header {
                    payload_length: u16::try_from(above)
                        .map_err(|_| invalid("an IPv6 packet must have at most 65,575 B"))?,
                    next_header: protocol,
                    hop_limit: HOP_LIMIT,
                    source: source.ip().octets(),
                    destination: destination.ip().octets(),
                    ..Ipv6Header::default()
                };
                ip.set_dscp(dscp);
                ip.set_ecn(ecn);
                Ok(Self::V6(ip))
            }
            _ => Err(invalid("source and destination must be addresses of the same IP version")),
        }
    }
}

fn tcp_header(key: &FlowKey, segment: &Segment, numbers: &TcpNumbers) -> Result<TcpHeader> {
    let own = |offset: u64| numbers.initial_sequence.wrapping_add(offset as u32);
    let peer = |offset: u64| numbers.peer_initial_sequence.wrapping_add(offset as u32);
    let mut tcp = TcpHeader::new(key.source.port(), key.destination.port(), own(segment.seq), segment.window);
    let flags = segment.flags.get();
    if flags.ack {
        tcp.acknowledgment_number = peer(segment.ack);
    }
    (tcp.syn, tcp.ack, tcp.fin) = (flags.syn, flags.ack, flags.fin);
    (tcp.rst, tcp.psh) = (flags.rst, flags.psh);
    (tcp.ece, tcp.cwr) = (flags.ece, flags.cwr);

    // Order and padding of the options as in Linux; `Segment::ip_len` counts the same.
    let mut options = Options::default();
    if flags.syn {
        options.push(TcpOptionElement::MaximumSegmentSize(numbers.maximum_segment_size));
        if segment.timestamps.is_none() {
            options.pad(2);
        }
        options.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
    }
    if let Some((value, echo)) = segment.timestamps {
        if !flags.syn {
            options.pad(2);
        }
        options.push(TcpOptionElement::Timestamp(value, echo));
    }
    if let Some(scale) = segment.window_scale {
        options.pad(1);
        options.push(TcpOptionElement::WindowScale(scale));
    }
    let mut blocks = segment.sack_blocks().map(|block| (peer(block.start), peer(block.end)));
    if let Some(first) = blocks.next() {
        let more = [blocks.next(), blocks.next(), blocks.next()];
        options.pad(2);
        options.push(TcpOptionElement::SelectiveAcknowledgement(first, more));
    }
    tcp.set_options(options.used()).map_err(|e| invalid(&e.to_string()))?;
    Ok(tcp)
}

/// A list of TCP options on the stack.
struct Options {
    elements: [TcpOptionElement; 12],
    len: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { elements: [const { TcpOptionElement::Noop }; 12], len: 0 }
    }
}

impl Options {
    fn push(&mut self, element: TcpOptionElement) {
        self.elements[self.len] = element;
        self.len += 1;
    }

    fn pad(&mut self, bytes: usize) {
        self.len += bytes;
    }

    fn used(&self) -> &[TcpOptionElement] {
        &self.elements[..self.len]
    }
}

fn zeros(len: u32) -> Result<&'static [u8]> {
    ZEROS.get(..len as usize).ok_or_else(|| invalid("a payload over 65,535 B"))
}

fn invalid(problem: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, problem)
}

static ZEROS: [u8; 65_535] = [0; 65_535];

const HOP_LIMIT: u8 = 64;
const LINK_TYPE_RAW_IP: u16 = 101;
