//! Captures read packet by packet: TCP and UDP over IPv4 and IPv6, from Ethernet (with VLAN tags), raw IP, Linux cooked
//! and loopback captures, whole or cut to a snap length. Leaves out reassembly and tunnels: fragments, other protocols
//! and packets cut inside their headers are counted as skipped.

use std::fs::File;
use std::io::{BufReader, Read};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use etherparse::{IpNumber, LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TcpSlice, TransportSlice};
use gamelane_core::{Ecn, FlowKey, IpLen, Protocol};
use gamelane_tcp::Flags;

use crate::container::{Container, Fault, Record};
use crate::error::CaptureError;

/// One TCP or UDP packet.
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
    /// Bytes above the UDP or TCP header, likewise.
    pub payload_len: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// Differentiated services code point.
    pub dscp: u8,
    /// What the transport adds.
    pub transport: CapturedTransport,
}

/// The transport of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturedTransport {
    /// UDP has nothing more to say.
    Udp,
    /// TCP's header.
    Tcp(TcpFields),
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

/// A capture being read.
#[derive(Debug)]
pub struct Capture<R = BufReader<File>> {
    container: Container<R>,
    path: PathBuf,
    packets_read: u64,
    skipped: u64,
    /// Nothing more can be read.
    failed: bool,
}

impl Capture {
    /// Opens a pcap or pcapng file, told apart by their first bytes.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let io = |source| CaptureError::Io { path: path.to_owned(), source };
        Self::from_reader(BufReader::with_capacity(BUFFER, File::open(path).map_err(io)?), path)
    }
}

impl<R: Read> Capture<R> {
    /// Reads a capture from anywhere; `name` stands for the file in errors.
    pub fn from_reader(reader: R, name: &Path) -> Result<Self, CaptureError> {
        let container = Container::open(reader).map_err(|fault| explain(fault, name, 0))?;
        Ok(Self { container, path: name.to_owned(), packets_read: 0, skipped: 0, failed: false })
    }

    /// The next TCP or UDP packet; `None` at the end and after an error.
    pub fn next_packet(&mut self) -> Result<Option<CapturedPacket>, CaptureError> {
        if self.failed {
            return Ok(None);
        }
        let result = self.read_packet();
        self.failed = result.is_err();
        result
    }

    /// Packets read so far, skipped ones included.
    pub const fn packets_read(&self) -> u64 {
        self.packets_read
    }

    /// Packets that were no whole TCP or UDP packets.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The file's name in errors.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read_packet(&mut self) -> Result<Option<CapturedPacket>, CaptureError> {
        loop {
            let record = self
                .container
                .next_record()
                .map_err(|fault| explain(fault, &self.path, self.packets_read))?;
            let Some(record) = record else { return Ok(None) };
            self.packets_read += 1;
            let Some(link) = Link::of(record.link_type) else {
                let link_type = record.link_type;
                return Err(CaptureError::UnsupportedLinkType { path: self.path.clone(), link_type });
            };
            match parse(link, &record) {
                Some(packet) => return Ok(Some(packet)),
                None => self.skipped += 1,
            }
        }
    }
}

/// Yields packets until the end or the first error.
impl<R: Read> Iterator for Capture<R> {
    type Item = Result<CapturedPacket, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_packet().transpose()
    }
}

fn explain(fault: Fault, path: &Path, packets_read: u64) -> CaptureError {
    let path = path.to_owned();
    match fault {
        Fault::Io(source) => CaptureError::Io { path, source },
        Fault::NotACapture(first_bytes) => CaptureError::NotACapture { path, first_bytes },
        Fault::Truncated => CaptureError::Truncated { path, packets_read },
        Fault::Malformed(problem) => CaptureError::Malformed { path, packets_read, problem },
    }
}

/// What precedes the IP header (tcpdump's registry of link types).
#[derive(Clone, Copy, Debug)]
enum Link {
    Ethernet,
    RawIp,
    LinuxCooked,
    LinuxCooked2,
    Loopback,
}

impl Link {
    const fn of(link_type: u32) -> Option<Self> {
        match link_type {
            0 | 108 => Some(Self::Loopback),
            1 => Some(Self::Ethernet),
            12 | 14 | 101 | 228 | 229 => Some(Self::RawIp),
            113 => Some(Self::LinuxCooked),
            276 => Some(Self::LinuxCooked2),
            _ => None,
        }
    }

    /// The IP packet within the frame.
    fn ip(self, frame: &[u8]) -> Option<&[u8]> {
        match self {
            Self::RawIp => Some(frame),
            // The address family's number differs between systems; the IP version says the same.
            Self::Loopback => frame.get(4..),
            Self::Ethernet => untagged(frame.get(12..)?),
            Self::LinuxCooked => untagged(frame.get(14..)?),
            Self::LinuxCooked2 => {
                let ether_type: [u8; 2] = frame.get(..2)?.try_into().ok()?;
                is_ip(ether_type).then(|| frame.get(20..)).flatten()
            }
        }
    }
}

/// Skips VLAN tags: `bytes` begin with an EtherType.
fn untagged(mut bytes: &[u8]) -> Option<&[u8]> {
    loop {
        let (ether_type, rest) = bytes.split_first_chunk::<2>()?;
        match *ether_type {
            [0x81, 0x00] | [0x88, 0xa8] | [0x91, 0x00] => bytes = rest.get(2..)?,
            other => return is_ip(other).then_some(rest),
        }
    }
}

const fn is_ip(ether_type: [u8; 2]) -> bool {
    matches!(ether_type, [0x08, 0x00] | [0x86, 0xdd])
}

fn parse(link: Link, record: &Record<'_>) -> Option<CapturedPacket> {
    let bytes = link.ip(record.data)?;
    let link_len = (record.data.len() - bytes.len()) as u32;
    // With segmentation offload a header may say 0; then the frame's length counts.
    let whole = record.original_len.saturating_sub(link_len).max(bytes.len() as u32);
    let packet = LaxSlicedPacket::from_ip(bytes).ok()?;
    let ip = Ip::of(packet.net.as_ref()?, whole)?;
    let above_ip = ip.len.checked_sub(ip.headers)?;
    let (source_port, destination_port, payload_len, protocol, transport) = match &packet.transport {
        Some(TransportSlice::Udp(udp)) => {
            let payload_len = match u32::from(udp.length()) {
                0 => above_ip.checked_sub(8)?,
                len => len.checked_sub(8)?,
            };
            let (source, destination) = (udp.source_port(), udp.destination_port());
            (source, destination, payload_len, Protocol::Udp, CapturedTransport::Udp)
        }
        Some(TransportSlice::Tcp(tcp)) => {
            let payload_len = above_ip.checked_sub(tcp.header_slice().len() as u32)?;
            let (source, destination) = (tcp.source_port(), tcp.destination_port());
            (source, destination, payload_len, Protocol::Tcp, CapturedTransport::Tcp(tcp_fields(tcp)))
        }
        _ => return None,
    };
    Some(CapturedPacket {
        at_ns: record.at_ns,
        interface: record.interface,
        key: FlowKey {
            source: SocketAddr::new(ip.source, source_port),
            destination: SocketAddr::new(ip.destination, destination_port),
            protocol,
        },
        ip_len: IpLen(ip.len),
        payload_len,
        ecn: ip.ecn,
        dscp: ip.dscp,
        transport,
    })
}

/// The fields of either IP version.
struct Ip {
    source: IpAddr,
    destination: IpAddr,
    len: u32,
    /// Bytes before the transport header.
    headers: u32,
    ecn: Ecn,
    dscp: u8,
}

impl Ip {
    fn of(net: &LaxNetSlice<'_>, whole: u32) -> Option<Self> {
        match net {
            LaxNetSlice::Ipv4(v4) => {
                let header = v4.header();
                let authentication = v4.extensions().auth.map_or(0, |auth| auth.slice().len());
                Some(Self {
                    source: header.source_addr().into(),
                    destination: header.destination_addr().into(),
                    len: match u32::from(header.total_len()) {
                        0 => whole,
                        len => len,
                    },
                    headers: (header.slice().len() + authentication) as u32,
                    ecn: ecn(header.ecn().value()),
                    dscp: header.dcp().value(),
                })
            }
            LaxNetSlice::Ipv6(v6) => {
                let header = v6.header();
                // As with IPv4, and for jumbograms (RFC 2675), a length of 0 stands for the frame's.
                let len = match (u32::from(header.payload_length()), header.next_header()) {
                    (0, IpNumber::TCP | IpNumber::UDP | IpNumber::IPV6_HEADER_HOP_BY_HOP) => whole,
                    (payload, _) => 40 + payload,
                };
                Some(Self {
                    source: header.source_addr().into(),
                    destination: header.destination_addr().into(),
                    len,
                    headers: (header.slice().len() + v6.extensions().slice().len()) as u32,
                    ecn: ecn(header.ecn().value()),
                    dscp: header.dscp().value(),
                })
            }
            LaxNetSlice::Arp(_) => None,
        }
    }
}

const fn ecn(bits: u8) -> Ecn {
    match bits & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

fn tcp_fields(tcp: &TcpSlice<'_>) -> TcpFields {
    let flags = Flags {
        syn: tcp.syn(),
        ack: tcp.ack(),
        fin: tcp.fin(),
        rst: tcp.rst(),
        psh: tcp.psh(),
        ece: tcp.ece(),
        cwr: tcp.cwr(),
    };
    let mut fields = TcpFields {
        sequence: tcp.sequence_number(),
        acknowledgment: tcp.acknowledgment_number(),
        window: tcp.window_size(),
        flags,
        ..TcpFields::default()
    };
    // Options after a broken one are lost; the rest of the header stands.
    for option in tcp.options_iterator().map_while(Result::ok) {
        match option {
            TcpOptionElement::Noop => {}
            TcpOptionElement::MaximumSegmentSize(size) => fields.maximum_segment_size = Some(size),
            TcpOptionElement::WindowScale(scale) => fields.window_scale = Some(scale),
            TcpOptionElement::SelectiveAcknowledgementPermitted => fields.sack_permitted = true,
            TcpOptionElement::Timestamp(value, echo) => fields.timestamps = Some((value, echo)),
            TcpOptionElement::SelectiveAcknowledgement(first, [second, third, fourth]) => {
                fields.sack = [Some(first), second, third, fourth];
            }
        }
    }
    fields
}

const BUFFER: usize = 256 << 10;
