//! A packet as mechanisms see it: metadata that they read and set, and a body that they carry without reading it.

use crate::flow::{FlowId, Protocol};
use crate::time::{Duration, Instant};
use crate::units::IpLen;

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecn {
    /// Not ECN-capable (codepoint 00): congestion is signalled by a drop.
    #[default]
    NotEct,
    /// ECN-capable, codepoint 01. L4S senders use it (RFC 9331).
    Ect1,
    /// ECN-capable, codepoint 10.
    Ect0,
    /// Congestion experienced, codepoint 11.
    Ce,
}

impl Ecn {
    /// Returns whether a queue may mark this packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// Class that a classifier gives a packet. The configuration says which ids exist and what a queue does with each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u8);

impl ClassId {
    /// The id as a table index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Whether a packet is a pure ACK, and of which kind. A *pure ACK* is a TCP segment with the ACK bit, without payload
/// and without SYN, FIN, RST and URG. The code that makes a packet's metadata sets this field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AckKind {
    /// Not a pure ACK: another protocol, or a segment that does more than acknowledge.
    #[default]
    NotPure,
    /// A pure ACK that carries only an acknowledgement number and a window, with or without timestamps.
    Plain,
    /// A pure ACK with SACK blocks, ECN echo or CWR. A later ACK may not repeat these, so a filter must keep it.
    Telling,
}

/// Everything that queues, links and classifiers may know about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketMeta {
    /// When the sender handed the packet to the network.
    pub sent_at: Instant,
    /// When the packet entered the queue it is in. The queue sets this.
    pub queued_at: Instant,
    /// Time the packet has waited in queues so far. Each hop adds its part when it takes the packet from the queue.
    pub waited: Duration,
    /// Application flow of the packet.
    pub flow: FlowId,
    /// [`crate::FlowKey::hash`] of its 5-tuple.
    pub flow_hash: u32,
    /// [`crate::flow::host_hash`] of source and destination address, for fairness between hosts.
    pub hosts: [u32; 2],
    /// Length of the IP packet, header included.
    pub len: IpLen,
    /// Transport protocol.
    pub protocol: Protocol,
    /// ECN field. A queue that marks the packet sets [`Ecn::Ce`].
    pub ecn: Ecn,
    /// Differentiated services code point, 0 to 63. CAKE's `wash` sets it to 0.
    pub dscp: u8,
    /// Class that the classifier gave it. Queues with classes sort by it.
    pub class: ClassId,
    /// Whether it is a pure ACK.
    pub ack: AckKind,
    /// Acknowledgement number of a pure ACK, modulo 2^32. Without meaning for other packets.
    pub ack_number: u32,
}

/// With a body of at most 8 bytes a packet then fits a 64-byte cache line.
const _: () = assert!(size_of::<PacketMeta>() <= 56);

impl PacketMeta {
    /// Returns whether this is a pure ACK; see [`AckKind`].
    pub const fn is_pure_ack(&self) -> bool {
        !matches!(self.ack, AckKind::NotPure)
    }
}

/// A packet: metadata and body. `B` is `()` for background load, a segment in the simulator, a pooled frame in the
/// gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<B> {
    /// Metadata, which mechanisms read and set.
    pub meta: PacketMeta,
    /// Body, which mechanisms never read.
    pub body: B,
}
