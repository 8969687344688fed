//! Where dropped and marked packets go: out, with a reason, so that every packet is accounted for.

use crate::packet::{Packet, PacketMeta};

/// Why a packet was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The queue was full and the arriving packet was refused.
    Tail,
    /// The queue was full and a packet at the head of the longest flow queue made room.
    Overlimit,
    /// The AQM law dropped it on arrival (PIE).
    AqmEnqueue,
    /// The AQM law dropped it at the head (CoDel).
    AqmDequeue,
    /// The link lost it.
    Link,
    /// The path beyond the link lost it.
    Path,
    /// A later ACK of the same flow, already in the queue, says all it said.
    AckFilter,
}

impl DropReason {
    /// Every reason, in the order of [`DropReason::index`].
    pub const ALL: [Self; 7] = [
        Self::Tail,
        Self::Overlimit,
        Self::AqmEnqueue,
        Self::AqmDequeue,
        Self::Link,
        Self::Path,
        Self::AckFilter,
    ];

    /// Position in [`DropReason::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name used in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::Overlimit => "overlimit",
            Self::AqmEnqueue => "aqm-enqueue",
            Self::AqmDequeue => "aqm-dequeue",
            Self::Link => "link",
            Self::Path => "path",
            Self::AckFilter => "ack-filter",
        }
    }
}

/// Why a packet was marked [`crate::Ecn::Ce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarkReason {
    /// The AQM law would have dropped it on arrival.
    AqmEnqueue,
    /// The AQM law would have dropped it at the head.
    AqmDequeue,
}

/// Receives what a component drops or marks. Dropped packets are handed over whole, so a pooled frame finds its way home.
pub trait Outlet<B> {
    /// `packet` is lost for `reason`.
    fn dropped(&mut self, packet: Packet<B>, reason: DropReason);

    /// The packet with this metadata goes on, marked.
    fn marked(&mut self, _meta: &PacketMeta, _reason: MarkReason) {}
}
