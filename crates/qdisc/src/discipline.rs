//! The contract of a queue, and how full one is.

use gamelane_core::{Instant, IpLen, Outlet, Packet};

use crate::config::Limit;

/// What waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: u32,
    /// Bytes of IP packets.
    pub bytes: u64,
}

impl Backlog {
    /// Nothing waits.
    pub const fn is_empty(self) -> bool {
        self.packets == 0
    }

    /// True if one more packet of `len` would pass `limit`.
    pub const fn would_exceed(self, limit: Limit, len: IpLen) -> bool {
        match limit {
            Limit::Packets(packets) => self.packets >= packets,
            Limit::Bytes(bytes) => self.bytes + len.bytes() > bytes.bytes(),
        }
    }

    pub(crate) fn add(&mut self, len: IpLen) {
        self.packets += 1;
        self.bytes += len.bytes();
    }

    pub(crate) fn remove(&mut self, len: IpLen) {
        self.packets -= 1;
        self.bytes -= len.bytes();
    }
}

/// A queue in front of a medium. It never asks for the time and never drops silently.
pub trait QueueDiscipline<B> {
    /// Takes `packet` in, or hands it (or another that makes room) to `out`. Stamps `queued_at`.
    fn enqueue(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>);

    /// The next packet for a medium that is free now; packets the law drops on the way go to `out`.
    fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>>;

    /// What waits, the packet on the medium excluded.
    fn backlog(&self) -> Backlog;

    /// From when on [`QueueDiscipline::dequeue`] may give a packet; `None` while nothing waits. A queue that is not work
    /// conserving says when its shaper lets the next one go; any other is always ready. After a dequeue at `now` that gave
    /// nothing this lies after `now`, or a driver would spin.
    fn ready_at(&self) -> Option<Instant> {
        (!self.backlog().is_empty()).then_some(Instant::ZERO)
    }

    /// When the queue wants [`QueueDiscipline::handle_timeout`]; `None` when nothing but packets can change it.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Lets periodic laws work. Early calls do nothing; late ones do the work of one period.
    fn handle_timeout(&mut self, _now: Instant) {}
}
