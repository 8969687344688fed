//! The way out for dropped and marked packets. A component hands each one to an [`Outlet`] with a reason, so that
//! every packet is counted.

use crate::packet::{Packet, PacketMeta};

/// Reason why a packet was dropped or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The queue was full, so the arriving packet was dropped.
    Tail,
    /// The queue was full, so the packet at the head of the longest flow queue was dropped.
    Overlimit,
    /// The AQM law dropped it on arrival (PIE).
    AqmEnqueue,
    /// The AQM law dropped it at the head of the queue (CoDel).
    AqmDequeue,
    /// The link lost it.
    Link,
    /// The path beyond the link lost it.
    Path,
    /// The ACK filter dropped it: a later ACK of the same flow in the queue makes it redundant.
    AckFilter,
    /// It waited while a real gateway stood still, and is too old to be of use.
    Stale,
}

impl DropReason {
    /// Every reason, in the order of [`DropReason::index`].
    pub const ALL: [Self; 8] = [
        Self::Tail,
        Self::Overlimit,
        Self::AqmEnqueue,
        Self::AqmDequeue,
        Self::Link,
        Self::Path,
        Self::AckFilter,
        Self::Stale,
    ];

    /// Position in [`DropReason::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Name in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::Overlimit => "overlimit",
            Self::AqmEnqueue => "aqm-enqueue",
            Self::AqmDequeue => "aqm-dequeue",
            Self::Link => "link",
            Self::Path => "path",
            Self::AckFilter => "ack-filter",
            Self::Stale => "stale",
        }
    }
}

/// Reason why a packet was marked [`crate::Ecn::Ce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MarkReason {
    /// The AQM law would otherwise have dropped it on arrival.
    AqmEnqueue,
    /// The AQM law would otherwise have dropped it at the head of the queue.
    AqmDequeue,
}

/// Receives the packets that a component drops or marks. A dropped packet is handed over with its body, so a driver can
/// return the frame to its pool.
pub trait Outlet<B> {
    /// Takes a dropped `packet`.
    fn dropped(&mut self, packet: Packet<B>, reason: DropReason);

    /// Learns that the packet with this metadata was marked. The packet itself stays in the component.
    fn marked(&mut self, _meta: &PacketMeta, _reason: MarkReason) {}
}
