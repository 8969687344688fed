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
    /// IP length, header included.
    pub len: IpLen,
    /// Transport protocol.
    pub protocol: Protocol,
    /// ECN field; a queue that marks sets [`Ecn::Ce`].
    pub ecn: Ecn,
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
}

/// Metadata and body. `B` is `()` for background load, a segment in the simulator, a pooled frame in the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<B> {
    /// What mechanisms read and set.
    pub meta: PacketMeta,
    /// What they carry along.
    pub body: B,
}
