//! Reads a capture packet by packet: TCP and UDP over IPv4 and IPv6, complete, cut to a snap length, or fragmented,
//! over the link layers of `link`. Other packets are counted by reason ([`Skipped`]). An error ends the
//! capture; the packets before it are valid. Tunnels are left out.

use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use gamelane_core::headers::UDP_HEADER;
use gamelane_core::{FlowKey, IpLen, Protocol};

use crate::container::{Container, Fault};
use crate::content;
use crate::error::CaptureError;
use crate::filter::Filter;
use crate::fragments::{First, Fragmented, Fragments};
use crate::input::Input;
use crate::link::{Beside, Link, NoIp, Part};
use crate::names::{Said, datagram, segment};
use crate::packet::{CapturedPacket, CapturedTransport};
use crate::retries::{OnAir, Retries};
use crate::wire::{self, FragmentOf, Ip};

/// A capture that is being read.
#[derive(Debug)]
pub struct Capture<R = Input> {
    container: Container<R>,
    path: PathBuf,
    packets_read: u64,
    skipped: Skipped,
    fragments: Fragments,
    retries: Retries,
    /// Interface whose packets are returned; `None` for all.
    only_interface: Option<u32>,
    filter: Filter,
    /// Rest of the last frame, if it is an aggregate.
    rest: Option<Rest>,
    /// An error has ended the capture.
    failed: bool,
}

/// Rest of an aggregated Wi-Fi frame: range of its bytes in the frame, original length, and what its packets have in
/// common.
#[derive(Clone, Copy, Debug)]
struct Rest {
    range: (usize, usize),
    len: u32,
    /// Length of the whole frame.
    frame_len: u32,
    at_ns: u64,
    interface: u32,
    outgoing: Option<bool>,
}

impl Rest {
    #[cold]
    fn of(packet: &CapturedPacket, part: Part<'_>, data: &[u8], frame_len: u32) -> Self {
        let CapturedPacket { at_ns, interface, outgoing, .. } = *packet;
        let range = part.range_in(data);
        Self { range: (range.start, range.end), len: part.len, frame_len, at_ns, interface, outgoing }
    }

    /// Returns the first IP packet. `more` becomes the rest after it.
    #[cold]
    fn ip<'a>(
        self,
        data: &'a [u8],
        packet: &mut CapturedPacket,
        more: &mut Option<Part<'a>>,
    ) -> Result<Part<'a>, NoIp> {
        let Self { range: (start, end), len, at_ns, interface, outgoing, .. } = self;
        (packet.at_ns, packet.interface, packet.outgoing) = (at_ns, interface, outgoing);
        let bytes = data.get(start..end).unwrap_or_default();
        Link::ip_of_aggregate(Part { bytes, len }, more)
    }
}

/// Number of packets that were skipped, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Neither IPv4 nor IPv6 (for example ARP or spanning tree), or a damaged IP header.
    pub not_ip: u64,
    /// ICMP and other protocols over IP.
    pub other_protocol: u64,
    /// Cut or invalid headers, and Wi-Fi frames that were damaged on the air.
    pub cut_header: u64,
    /// Encrypted Wi-Fi frames.
    pub encrypted: u64,
    /// Wi-Fi frames that were repeated on the air. Their first transmission counts.
    pub wifi_retries: u64,
    /// Later fragments without their first fragment.
    pub stray_fragments: u64,
    /// Packets of an interface with an unsupported link type.
    pub unsupported_link: u64,
    /// The first unsupported link type.
    pub unsupported_link_type: Option<u32>,
    /// Start of its first record, in the unpacked file.
    pub unsupported_link_offset: u64,
    /// TCP and UDP packets that the filter did not keep.
    pub filtered: u64,
}

impl Skipped {
    /// Number of all skipped packets.
    pub const fn total(&self) -> u64 {
        self.not_ip
            + self.other_protocol
            + self.cut_header
            + self.encrypted
            + self.wifi_retries
            + self.stray_fragments
            + self.unsupported_link
            + self.filtered
    }

    /// Adds the packets skipped in another file.
    pub fn add(&mut self, other: &Self) {
        self.not_ip += other.not_ip;
        self.other_protocol += other.other_protocol;
        self.cut_header += other.cut_header;
        self.encrypted += other.encrypted;
        self.wifi_retries += other.wifi_retries;
        self.stray_fragments += other.stray_fragments;
        self.unsupported_link += other.unsupported_link;
        self.filtered += other.filtered;
        if self.unsupported_link_type.is_none() {
            self.unsupported_link_type = other.unsupported_link_type;
            self.unsupported_link_offset = other.unsupported_link_offset;
        }
    }

    const fn count(&mut self, reason: Reason) {
        match reason {
            Reason::NotIp => self.not_ip += 1,
            Reason::OtherProtocol => self.other_protocol += 1,
            Reason::CutHeader => self.cut_header += 1,
            Reason::Encrypted => self.encrypted += 1,
            Reason::Retry => self.wifi_retries += 1,
            Reason::StrayFragment => self.stray_fragments += 1,
            Reason::Filtered => self.filtered += 1,
        }
    }
}

impl Capture {
    /// Opens a pcap or pcapng file, plain or packed with gzip or Zstandard. The first bytes tell the format.
    ///
    /// # Errors
    /// If the file cannot be read or is not a capture.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let io = |source| CaptureError::Io { path: path.to_owned(), source };
        Self::from_reader(Input::open(path).map_err(io)?, path)
    }

    /// Reads from standard input.
    ///
    /// # Errors
    /// If it cannot be read or is not a capture.
    pub fn stdin() -> Result<Self, CaptureError> {
        let path = Path::new("standard input");
        let io = |source| CaptureError::Io { path: path.to_owned(), source };
        Self::from_reader(Input::stdin(std::io::stdin()).map_err(io)?, path)
    }
}

impl<R: Read> Capture<R> {
    /// Returns an error if some packets were skipped because of their link type. Call it at the end of the capture.
    pub fn mixed_link_types(&self) -> Option<CaptureError> {
        let of = &self.skipped;
        of.unsupported_link_type.filter(|_| of.unsupported_link < self.packets_read).map(|link_type| {
            CaptureError::MixedLinkTypes {
                path: self.path.clone(),
                packets_read: self.packets_read,
                packets: of.unsupported_link,
                link_type,
                offset: of.unsupported_link_offset,
            }
        })
    }

    /// Reads from any reader; `name` is the file name in errors.
    ///
    /// # Errors
    /// If it cannot be read or is not a capture.
    pub fn from_reader(reader: R, name: &Path) -> Result<Self, CaptureError> {
        let container = Container::open(reader).map_err(|fault| explain(fault, name, 0, 0))?;
        Ok(Self {
            container,
            path: name.to_owned(),
            packets_read: 0,
            skipped: Skipped::default(),
            fragments: Fragments::default(),
            retries: Retries::default(),
            only_interface: None,
            filter: Filter::default(),
            rest: None,
            failed: false,
        })
    }

    /// Ignores the packets of all other interfaces from now on and does not count them. A file with two capture points
    /// can be read once for each point and compared like two captures. `interface` is [`CapturedPacket::interface`].
    pub const fn only_interface(&mut self, interface: u32) {
        self.only_interface = Some(interface);
    }

    /// Keeps only the packets of `filter` from now on. [`Skipped::filtered`] counts the others. Later fragments of a
    /// packet are kept with the first one.
    pub fn only(&mut self, filter: Filter) {
        self.filter = filter;
    }

    /// Returns the next TCP or UDP packet; `None` at the end and after an error.
    ///
    /// # Errors
    /// If the file is cut or malformed here. The packets before it are valid.
    pub fn next_packet(&mut self) -> Result<Option<CapturedPacket>, CaptureError> {
        let mut packet = CapturedPacket::default();
        Ok(self.read_into(&mut packet)?.then_some(packet))
    }

    /// Like [`Capture::next_packet`] without a copy: overwrites `packet`. Returns false if there is no further packet.
    ///
    /// # Errors
    /// As [`Capture::next_packet`].
    pub fn read_into(&mut self, packet: &mut CapturedPacket) -> Result<bool, CaptureError> {
        if self.failed {
            return Ok(false);
        }
        let result = self.read_packet(packet);
        self.failed = result.is_err();
        result
    }

    /// Packets read so far, including skipped ones. Each packet of an aggregated Wi-Fi frame (A-MSDU) counts.
    pub const fn packets_read(&self) -> u64 {
        self.packets_read
    }

    /// Wi-Fi frames with data over time.
    pub const fn on_air(&self) -> &OnAir {
        &self.retries.on_air
    }

    /// Packets skipped so far.
    pub const fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Packets without a time (simple packet blocks of pcapng); they are ignored.
    pub fn untimed(&self) -> u64 {
        self.container.untimed()
    }

    /// Packets that the recording program lost; `None` if the file does not say.
    pub fn dropped_by_capture(&self) -> Option<u64> {
        self.container.dropped_by_capture()
    }

    /// Start of the last record in the unpacked file, also of one that could not be read.
    pub const fn offset(&self) -> u64 {
        self.container.offset()
    }

    /// File name in errors.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read_packet(&mut self, packet: &mut CapturedPacket) -> Result<bool, CaptureError> {
        loop {
            let mut more = None;
            let (data, frame_len, found) = if let Some(rest) = self.rest.take() {
                let data = self.container.data();
                (data, rest.frame_len, rest.ip(data, packet, &mut more))
            } else {
                let record = match self.container.next_record() {
                    Ok(record) => record,
                    Err(fault) => {
                        return Err(explain(fault, &self.path, self.packets_read, self.container.offset()));
                    }
                };
                let Some(record) = record else { return self.end() };
                let link = Link::of_frame(record.link_type, record.data);
                let (interface, outgoing) = match link {
                    None | Some(Link::Ethernet | Link::RawIp) => (record.interface, record.flags.outgoing()),
                    Some(link) => (
                        link.interface(record.data).unwrap_or(record.interface),
                        link.outgoing(record.data).or(record.flags.outgoing()),
                    ),
                };
                if self.only_interface.is_some_and(|only| only != interface) {
                    continue;
                }
                let Some(link) = link else {
                    self.packets_read += 1;
                    self.skipped.unsupported_link += 1;
                    let link_type = record.link_type;
                    if self.skipped.unsupported_link_type.is_none() {
                        self.skipped.unsupported_link_type = Some(link_type);
                        self.skipped.unsupported_link_offset = self.container.offset();
                    }
                    continue;
                };
                let frame = record.frame(link);
                let frame_len = record.original_len;
                packet.at_ns = record.at_ns;
                packet.interface = interface;
                packet.outgoing = outgoing;
                let mut beside = Beside::default();
                let found = link.ip(frame, &mut beside);
                if let Some(sent) = beside.sent
                    && self.retries.repeats(sent, interface, record.at_ns)
                {
                    (record.data, frame_len, Err(NoIp::Retry))
                } else {
                    more = beside.more;
                    (record.data, frame_len, found)
                }
            };
            self.packets_read += 1;
            if let Some(part) = more {
                self.rest = Some(Rest::of(packet, part, data, frame_len));
            }
            let parsed = match found {
                Ok(ip) => parse(ip, frame_len, &self.filter, &mut self.fragments, packet),
                Err(reason) => Err(reason.into()),
            };
            match parsed {
                Ok(()) => return Ok(true),
                Err(reason) => self.skipped.count(reason),
            }
        }
    }

    /// Ends the capture. It is an error if all packets had an unsupported link type, or if no packet could be read
    /// because they are encrypted.
    fn end(&self) -> Result<bool, CaptureError> {
        let path = || self.path.clone();
        match self.skipped.unsupported_link_type {
            Some(link_type) if self.skipped.unsupported_link == self.packets_read => {
                Err(CaptureError::UnsupportedLinkType { path: path(), link_type })
            }
            _ if self.skipped.encrypted > 0
                && self.skipped.filtered == 0
                && self.skipped.total() == self.packets_read =>
            {
                let packets = self.skipped.encrypted;
                Err(CaptureError::Encrypted { path: path(), packets, packets_read: self.packets_read })
            }
            _ => Ok(false),
        }
    }
}

/// Returns packets until the end or the first error.
impl<R: Read> Iterator for Capture<R> {
    type Item = Result<CapturedPacket, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_packet().transpose()
    }
}

pub(crate) fn explain(fault: Fault, path: &Path, packets_read: u64, offset: u64) -> CaptureError {
    let path = path.to_owned();
    match fault {
        Fault::Io(error)
            if error.kind() == std::io::ErrorKind::InvalidData
                || error.kind() == std::io::ErrorKind::InvalidInput =>
        {
            CaptureError::Malformed {
                path,
                packets_read,
                offset,
                problem: format!("unpacking failed: {error}"),
            }
        }
        Fault::Io(source) => CaptureError::Io { path, source },
        Fault::NotACapture(first_bytes) => CaptureError::NotACapture { path, first_bytes },
        Fault::Truncated(missing) => CaptureError::Truncated { path, packets_read, offset, missing },
        Fault::Malformed(problem) => CaptureError::Malformed { path, packets_read, offset, problem },
    }
}

/// Reason for skipping a packet.
enum Reason {
    NotIp,
    OtherProtocol,
    CutHeader,
    Encrypted,
    Retry,
    StrayFragment,
    Filtered,
}

impl From<NoIp> for Reason {
    fn from(reason: NoIp) -> Self {
        match reason {
            NoIp::Other => Self::NotIp,
            NoIp::Encrypted => Self::Encrypted,
            NoIp::Retry => Self::Retry,
            NoIp::Damaged => Self::CutHeader,
        }
    }
}

/// Parses an IP packet into `packet`, whose time, interface and direction are already set.
fn parse(
    part: Part<'_>,
    frame_len: u32,
    filter: &Filter,
    fragments: &mut Fragments,
    packet: &mut CapturedPacket,
) -> Result<(), Reason> {
    let ip = Ip::parse(part.bytes, part.len).ok_or(Reason::NotIp)?;
    let protocol = match ip.protocol {
        TCP => Protocol::Tcp,
        UDP => Protocol::Udp,
        _ => return Err(Reason::OtherProtocol),
    };
    let interface = packet.interface;
    let fragmented = |id| Fragmented {
        interface,
        source: ip.source,
        destination: ip.destination,
        protocol: ip.protocol,
        id,
    };
    // A packet cannot be longer than the frame around it, whatever its header says.
    let ip_len = ip.len.min(part.len);
    let above_ip = ip_len.checked_sub(ip.headers).ok_or(Reason::CutHeader)?;
    packet.ip_len = IpLen(ip_len);
    packet.payload_len = 0;
    packet.ecn = ip.ecn;
    packet.dscp = ip.dscp;
    packet.hop_limit = ip.hop_limit;
    packet.identification = ip.identification;
    packet.start = None;
    packet.said = Said::Nothing;
    packet.content = 0;
    if let FragmentOf::Later { id, last } = ip.fragment {
        packet.transport = CapturedTransport::LaterFragment;
        let first = fragments.later(fragmented(id), last).ok_or(Reason::StrayFragment)?;
        if !first.kept {
            return Err(Reason::Filtered);
        }
        packet.key = first.key;
        packet.content = content::hash(packet, &[]);
        return Ok(());
    }
    // Every UDP header, and the beginning of a TCP header.
    let start = ip.above.first_chunk::<{ UDP_HEADER as usize }>().ok_or(Reason::CutHeader)?;
    let port = |at: usize| u16::from_be_bytes([start[at], start[at + 1]]);
    packet.key = FlowKey {
        source: SocketAddr::new(ip.source, port(0)),
        destination: SocketAddr::new(ip.destination, port(2)),
        protocol,
    };
    if protocol == Protocol::Tcp {
        let header = wire::tcp(ip.above, packet.transport.tcp_mut()).ok_or(Reason::CutHeader)?;
        packet.payload_len = above_ip.checked_sub(header).ok_or(Reason::CutHeader)?;
        let payload = ip.above.get(header as usize..).unwrap_or_default();
        if let Some(said) = segment(payload, packet.payload_len, [port(0), port(2)]) {
            packet.said = said;
        }
    } else {
        let len = match (u32::from(port(4)), ip.fragment) {
            (0, _) => above_ip,
            (stated, FragmentOf::Whole) => stated.min(above_ip),
            (stated, _) => stated,
        };
        packet.payload_len = len.checked_sub(UDP_HEADER).ok_or(Reason::CutHeader)?;
        let payload = &ip.above[start.len()..];
        packet.start = payload.first_chunk().copied();
        packet.said = datagram(payload, packet.payload_len, [port(0), port(2)]);
        packet.transport = CapturedTransport::Udp;
    }
    let kept = filter.keeps(packet, frame_len);
    if let FragmentOf::First { id } = ip.fragment {
        fragments.first(fragmented(id), First { key: packet.key, kept });
    }
    if !kept {
        return Err(Reason::Filtered);
    }
    packet.content = content::hash(packet, ip.above);
    Ok(())
}

const TCP: u8 = 6;
const UDP: u8 = 17;
