//! A packet as mechanisms see it: metadata they read and set, and a body they never look at.

use crate::flow::{FlowId, Protocol};
use crate::time::{Duration, Instant};
use crate::units::IpLen;

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ecn {
    /// The sender does not understand ECN: congestion means a drop.
    #[default]
    NotEct,
    /// ECN-capable, codepoint 01 (L4S, RFC 9331).
    Ect1,
    /// ECN-capable, codepoint 10.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// True if a queue may mark instead of dropping.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// Class a classifier puts packets in. Which ids exist, and what a queue does with each, is configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u8);

impl ClassId {
    /// The id as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a TCP segment does besides acknowledging. The one place where "pure ACK" is defined: a segment with the ACK bit,
/// no payload and none of SYN, FIN, RST and URG. Whoever makes the metadata of a packet sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AckKind {
    /// No TCP segment, or one that does more than acknowledge.
    #[default]
    NotPure,
    /// A pure ACK that says nothing but its number and window (timestamps apart).
    Plain,
    /// A pure ACK that says more, which no later one repeats for sure: SACK blocks, ECN echo, CWR.
    Telling,
}

/// What queues, links and classifiers may know of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketMeta {
    /// When the sender handed it to the network.
    pub sent_at: Instant,
    /// When the present queue took it in; stamped by the queue itself.
    pub queued_at: Instant,
    /// Time it has waited in queues so far; each hop adds its own when it takes the packet out.
    pub waited: Duration,
    /// Application flow it belongs to.
    pub flow: FlowId,
    /// [`crate::FlowKey::hash`] of its 5-tuple.
    pub flow_hash: u32,
    /// [`crate::flow::host_hash`] of source and destination address, for fairness among hosts.
    pub hosts: [u32; 2],
    /// IP length, header included.
    pub len: IpLen,
    /// Transport protocol.
    pub protocol: Protocol,
    /// ECN field; a queue that marks sets [`Ecn::Ce`].
    pub ecn: Ecn,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// Class a classifier put it in; queues with classes obey it.
    pub class: ClassId,
    /// Is it a pure ACK?
    pub ack: AckKind,
    /// The lower 32 bits of the acknowledgement number, if it is a pure ACK.
    pub ack_number: u32,
}

/// With a body of four bytes a packet fits a cache line.
const _: () = assert!(size_of::<PacketMeta>() <= 56);

impl PacketMeta {
    /// True for a TCP segment that only acknowledges.
    pub const fn is_pure_ack(&self) -> bool {
        !matches!(self.ack, AckKind::NotPure)
    }
}

/// Metadata and body. `B` is `()` for background load, a segment in the simulator, a pooled frame in the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<B> {
    /// What mechanisms read and set.
    pub meta: PacketMeta,
    /// What they carry along.
    pub body: B,
}
