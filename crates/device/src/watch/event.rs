//! A record of the programs, and what it says.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use gamelane_core::Instant;
use gamelane_core::headers::ETHERNET_HEADER;

use crate::clock::Clock;

// A record, in bytes. Numbers are in the machine's order.

/// `u64`: nanoseconds of `CLOCK_MONOTONIC`.
pub(super) const AT: i16 = 0;
/// `u64`: address of the packet.
pub(super) const PACKET: i16 = 8;
/// `u32`
pub(super) const REASON: i16 = 16;
/// `u32`: [`What::number`].
pub(super) const WHAT: i16 = 20;
/// `u32`: interface.
pub(super) const INDEX: i16 = 24;
/// `u32`: bytes from the network header on.
pub(super) const IP_LEN: i16 = 28;
/// `u32`: how many of these are in one piece, so that the bytes at `FRAME` are theirs.
pub(super) const LINEAR: i16 = 32;
/// Two `u16`: payload of each segment, number of segments.
pub(super) const SEGMENTS: i16 = 36;
/// `struct nf_conntrack_man`: address in 16 bytes, port, family.
pub(super) const SOURCE: i16 = 40;
pub(super) const SOURCE_LEN: usize = 20;
/// `u32`: priority.
pub(super) const PRIORITY: i16 = 60;
/// An Ethernet header without addresses, then the packet's first bytes.
pub(super) const FRAME: i16 = 64;
/// Bytes of the packet: the headers of IPv6 and of TCP with its usual options, and the start of a game's payload.
pub(super) const SNAP: usize = 96;
pub(super) const LEN: usize = (FRAME as usize + ETHERNET_HEADER as usize + SNAP).next_multiple_of(8);

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It came to the queue.
    Came,
    /// It left.
    Left,
    /// It was received, and no queue was watched there.
    Passed,
    /// It was dropped, with the kernel's number of the reason ([`Watch::reason`](super::Watch::reason)).
    Dropped(u32),
}

impl What {
    pub(super) const fn number(self) -> i32 {
        match self {
            Self::Came => 0,
            Self::Left => 1,
            Self::Passed => 2,
            Self::Dropped(_) => 3,
        }
    }
}

/// Something that happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// When.
    pub at: Instant,
    /// Which packet. Another may have the same number later.
    pub packet: u64,
    /// At which interface, by its index.
    pub interface: u32,
    /// What happened.
    pub what: What,
    /// Bytes from the network header on, all segments together.
    pub len: u32,
    /// Payload of each segment, and their number, if the packet holds several. The number may be missing (0).
    pub segments: Option<(u16, u16)>,
    /// Its priority (`SO_PRIORITY`), which may name a class of the queue.
    pub priority: u32,
    /// Where it came from before Linux translated addresses, if Linux tracks its connection.
    pub source: Option<SocketAddr>,
    /// An Ethernet header without addresses, and the first bytes of the packet.
    pub frame: &'a [u8],
}

impl<'a> Event<'a> {
    /// Reads a record; `None` if it is none.
    pub(super) fn read(record: &'a [u8], clock: &Clock) -> Option<Self> {
        let record = record.first_chunk::<LEN>()?;
        let what = match word(record, WHAT)? {
            0 => What::Came,
            1 => What::Left,
            2 => What::Passed,
            _ => What::Dropped(word(record, REASON)?),
        };
        let header = ETHERNET_HEADER as usize;
        // Negative if the network header is not set.
        let linear = usize::try_from(word(record, LINEAR)?.cast_signed()).unwrap_or(0).min(SNAP);
        let (payload, count) = (half(record, SEGMENTS)?, half(record, SEGMENTS + 2)?);
        Some(Self {
            at: clock.of_kernel(long(record, AT)?),
            packet: long(record, PACKET)?,
            interface: word(record, INDEX)?,
            what,
            len: word(record, IP_LEN)?,
            segments: (payload > 0 && count != 1).then_some((payload, count)),
            priority: word(record, PRIORITY)?,
            source: source(&record[SOURCE as usize..][..SOURCE_LEN]),
            frame: record.get(FRAME as usize..FRAME as usize + header + linear)?,
        })
    }
}

/// `struct nf_conntrack_man`: address and port are in network order.
fn source(bytes: &[u8]) -> Option<SocketAddr> {
    let address: [u8; 16] = bytes.get(..16)?.try_into().ok()?;
    let port = u16::from_be_bytes(bytes.get(16..18)?.try_into().ok()?);
    let address: IpAddr = match u16::from_ne_bytes(bytes.get(18..20)?.try_into().ok()?) {
        IPV4 => Ipv4Addr::from(*address.first_chunk()?).into(),
        IPV6 => address.into(),
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

const IPV4: u16 = 2;
const IPV6: u16 = 10;

fn long(record: &[u8; LEN], at: i16) -> Option<u64> {
    Some(u64::from_ne_bytes(record.get(at as usize..at as usize + 8)?.try_into().ok()?))
}

fn word(record: &[u8; LEN], at: i16) -> Option<u32> {
    Some(u32::from_ne_bytes(record.get(at as usize..at as usize + 4)?.try_into().ok()?))
}

fn half(record: &[u8; LEN], at: i16) -> Option<u16> {
    Some(u16::from_ne_bytes(record.get(at as usize..at as usize + 2)?.try_into().ok()?))
}
