//! Headers of a frame: parsed into what mechanisms know about a packet, and the fields that mechanisms may set (TCP window,
//! DSCP, ECN) written back, with checksums adjusted (RFC 1624). A frame without a whole IP packet still gets metadata.

use gamelane_capture::{FrameHeaders, TcpFields};
use gamelane_core::headers::ETHERNET_HEADER;
use gamelane_core::rng::mix;
use gamelane_core::{
    AckKind, ClassId, Direction, Duration, Ecn, FlowId, FlowKey, Instant, IpLen, PacketMeta, Protocol,
};
use gamelane_stage::TcpFacts;
use gamelane_stage::tcp::{adjust_checksum, set_window};

/// What parsing found in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// The IP packet, if the frame holds a whole one.
    pub ip: Option<FrameHeaders>,
}

impl Headers {
    /// Parses an Ethernet frame.
    pub fn parse(frame: &[u8]) -> Self {
        Self { ip: FrameHeaders::of_ethernet(frame) }
    }

    /// Parses the start of an Ethernet frame whose packet has `ip_len` bytes.
    pub fn parse_start(frame: &[u8], ip_len: u32) -> Self {
        Self { ip: FrameHeaders::of_start(frame, ETHERNET_HEADER as usize + ip_len as usize) }
    }

    /// The 5-tuple, if there is one.
    pub fn key(&self) -> Option<&FlowKey> {
        self.ip.as_ref().map(|ip| &ip.key)
    }

    /// Metadata of `frame`, which arrived at `now`, for mechanisms. A frame without IP counts the bytes after its Ethernet
    /// header, and forms one flow with the others of its EtherType.
    pub fn meta(&self, frame: &[u8], now: Instant) -> PacketMeta {
        let blank = PacketMeta {
            sent_at: now,
            queued_at: now,
            waited: Duration::ZERO,
            flow: FlowId(u32::MAX),
            flow_hash: 0,
            hosts: [0; 2],
            len: IpLen(
                u32::try_from(frame.len().saturating_sub(ETHERNET_HEADER as usize)).unwrap_or(u32::MAX),
            ),
            protocol: NO_IP,
            ecn: Ecn::NotEct,
            dscp: 0,
            class: ClassId(0),
            ack: AckKind::NotPure,
            ack_number: 0,
        };
        let Some(ip) = &self.ip else {
            let ether_type =
                frame.get(12..14).map_or(0, |bytes| u64::from(bytes[0]) << 8 | u64::from(bytes[1]));
            return PacketMeta { flow_hash: mix(ether_type) as u32, ..blank };
        };
        let ack = ip.tcp.as_ref().map_or(AckKind::NotPure, |tcp| ack_kind(ip, tcp, frame));
        PacketMeta {
            flow_hash: ip.key.hash(),
            hosts: ip.key.host_hashes(),
            len: ip.len,
            protocol: ip.key.protocol,
            ecn: ip.ecn,
            dscp: ip.dscp,
            ack,
            ack_number: match (ack, &ip.tcp) {
                (AckKind::Plain | AckKind::Telling, Some(tcp)) => tcp.acknowledgment,
                _ => 0,
            },
            ..blank
        }
    }

    /// The TCP header for stages that steer windows, if this is a TCP segment.
    pub fn tcp_facts(&self, frame: &[u8], direction: Direction) -> Option<TcpFacts> {
        let ip = self.ip.as_ref()?;
        ip.tcp?;
        let connection = at_home(ip.key, direction);
        TcpFacts::parse(connection, direction, frame.get(ip.transport_at..ip.end)?).ok()
    }

    /// Writes a new window into a frame that [`Headers::tcp_facts`] read.
    pub fn write_window(&self, frame: &mut [u8], window: u16) {
        if let Some(ip) = &self.ip
            && let Some(segment) = frame.get_mut(ip.transport_at..ip.end)
        {
            // It was long enough when it was parsed.
            let _ = set_window(segment, window);
        }
    }

    /// Writes code point and ECN field into the IP header.
    pub fn write_traffic_class(&self, frame: &mut [u8], dscp: u8, ecn: Ecn) {
        // The variants are in the order of RFC 3168 section 5.
        let both = dscp << 2 | ecn as u8;
        let Some(header) = self.ip.as_ref().and_then(|ip| frame.get_mut(ip.ip_at..ip.transport_at)) else {
            return;
        };
        match header {
            [version, class, _, _, _, _, _, _, _, _, high, low, ..] if *version >> 4 == 4 => {
                let before = u16::from_be_bytes([*version, *class]);
                let after = u16::from_be_bytes([*version, both]);
                let checksum = adjust_checksum(u16::from_be_bytes([*high, *low]), before, after);
                *class = both;
                [*high, *low] = checksum.to_be_bytes();
            }
            // The traffic class is the lower half of the first byte and the upper half of the second.
            [version, class, ..] if *version >> 4 == 6 => {
                *version = 6 << 4 | both >> 4;
                *class = both << 4 | *class & 0xf;
            }
            _ => {}
        }
    }
}

/// The 5-tuple as the home sends it.
pub fn at_home(key: FlowKey, direction: Direction) -> FlowKey {
    match direction {
        Direction::Up => key,
        Direction::Down => key.reverse(),
    }
}

/// Kind of ACK; [`AckKind`] defines "pure ACK".
fn ack_kind(ip: &FrameHeaders, tcp: &TcpFields, frame: &[u8]) -> AckKind {
    let Some(segment) = frame.get(ip.transport_at..ip.end) else { return AckKind::NotPure };
    let (Some(offset), Some(bits)) = (segment.get(12), segment.get(13)) else { return AckKind::NotPure };
    let no_payload = segment.len() == usize::from(offset >> 4) * 4;
    if !no_payload || bits & (FIN | SYN | RST | URG) != 0 || bits & ACK == 0 {
        return AckKind::NotPure;
    }
    if tcp.sack[0].is_some() || bits & (ECE | CWR) != 0 { AckKind::Telling } else { AckKind::Plain }
}

pub(crate) const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
pub(crate) const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const URG: u8 = 0x20;
const ECE: u8 = 0x40;
pub(crate) const CWR: u8 = 0x80;

/// Protocol number of frames without IP: 255, which RFC 3692 reserves for experiments.
const NO_IP: Protocol = Protocol::Other(255);
