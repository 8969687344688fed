//! Drop-tail queue: packets leave in the order of arrival, and packets that arrive at a full queue are dropped.

use alloc::collections::VecDeque;
use gamelane_core::{DropReason, Instant, Outlet, Packet};

use crate::config::Limit;
use crate::config::QueueKind;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::facts::{Isolates, QueueDescriptor, QueueFacts, Tc};

/// FIFO in the catalogue.
pub const FIFO: QueueDescriptor = QueueDescriptor {
    word: "fifo",
    label: "FIFO",
    about: "One queue with tail drop.",
    keys: &[],
    page: "fifo",
    facts: QueueFacts {
        isolates: Isolates::Nothing,
        plain: Some(QueueKind::Fifo),
        tc: Tc { name: "pfifo", options: &[("limit", "limit")] },
    },
};

/// A first-in first-out queue.
#[derive(Debug)]
pub struct Fifo<B> {
    limit: Limit,
    packets: VecDeque<Packet<B>>,
    backlog: Backlog,
}

impl<B> Fifo<B> {
    /// Makes an empty queue that holds up to `limit`.
    pub const fn new(limit: Limit) -> Self {
        Self { limit, packets: VecDeque::new(), backlog: Backlog { packets: 0, bytes: 0 } }
    }
}

impl<B> QueueDiscipline<B> for Fifo<B> {
    fn enqueue(&mut self, mut packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        if self.backlog.would_exceed(self.limit, packet.meta.len) {
            return out.dropped(packet, DropReason::Tail);
        }
        packet.meta.queued_at = now;
        self.backlog.add(packet.meta.len);
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, _now: Instant, _out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        let packet = self.packets.pop_front()?;
        self.backlog.remove(packet.meta.len);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
