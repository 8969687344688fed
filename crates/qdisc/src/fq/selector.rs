//! Which flow queue a packet goes to, and the share of the link that each queue gets.

use gamelane_core::{IpLen, PacketMeta};

/// Selects the flow queue of a packet and sets the share of the link that each queue gets.
pub trait FlowSelector {
    /// Returns the index of the flow queue of a packet. `is_idle` tells whether a queue is in no list of the scheduler.
    fn select(&mut self, packet: &PacketMeta, is_idle: impl Fn(u32) -> bool) -> u32;

    /// Learns that a packet was added to a queue that the scheduler already serves.
    fn joined(&mut self, _index: u32) {}

    /// Learns that a queue has used up its quantum. `waiting` tells whether it still has packets.
    fn spent(&mut self, _index: u32, _waiting: bool) {}

    /// Learns that a queue became empty and left the scheduler.
    fn left(&mut self, _index: u32) {}

    /// Returns the bytes that a queue may send per round; `due` is [`super::FqParameters::quantum`].
    fn quantum(&mut self, _index: u32, due: u32) -> u32 {
        due
    }

    /// Returns the number of bulk flows if a flow pays for the packets that its law drops, as for those it sends (CAKE's
    /// `ingress`). Then `dequeue` also returns `None` after it emptied a queue, because drops may have moved the
    /// caller's clock. The caller looks at its clock and asks again.
    fn drops_are_charged(&self) -> Option<u32> {
        None
    }

    /// Returns the bytes charged for a packet; `header` is [`super::FqParameters::charged_header`].
    fn charge(&self, len: IpLen, header: u32) -> u32 {
        len.0 + header
    }
}

/// Selects by plain hashing: flows with the same hash value share a queue.
#[derive(Clone, Copy, Debug)]
pub struct Hashed {
    pub(super) flows: u32,
    pub(super) salt: u64,
}

impl FlowSelector for Hashed {
    fn select(&mut self, packet: &PacketMeta, _is_idle: impl Fn(u32) -> bool) -> u32 {
        let hash = gamelane_core::rng::mix(u64::from(packet.flow_hash) ^ self.salt) >> 32;
        ((hash * u64::from(self.flows)) >> 32) as u32
    }
}
