//! The trait of every queue discipline, and the backlog of a queue.

use alloc::boxed::Box;

use gamelane_core::{Bitrate, Instant, IpLen, Outlet, Packet};

use crate::config::Limit;

/// Packets and bytes that wait in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: u32,
    /// Sum of their IP lengths in bytes.
    pub bytes: u64,
}

impl Backlog {
    /// Returns whether no packet waits.
    pub const fn is_empty(self) -> bool {
        self.packets == 0
    }

    /// Returns whether one more packet of `len` would exceed `limit`.
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

impl core::iter::Sum for Backlog {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            packets: sum.packets + part.packets,
            bytes: sum.bytes + part.bytes,
        })
    }
}

/// A queue in front of a medium. It reads no clock, and it hands every packet it drops to an [`Outlet`].
pub trait QueueDiscipline<B> {
    /// Takes `packet` in and sets its `queued_at`. Dropped packets go to `out`: this one, or others that make room for
    /// it.
    fn enqueue(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>);

    /// Returns the next packet for a medium that is free now. Packets that the law drops go to `out`.
    fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>>;

    /// Packets and bytes that wait, without the packet on the medium.
    fn backlog(&self) -> Backlog;

    /// Time from which [`QueueDiscipline::dequeue`] may return a packet; `None` while no packet waits. A
    /// work-conserving queue is always ready. Any other queue returns the time at which its shaper sends the next
    /// packet.
    ///
    /// If `dequeue` at `now` returned nothing, this time is later than `now`; otherwise a driver would loop forever.
    fn ready_at(&self) -> Option<Instant> {
        (!self.backlog().is_empty()).then_some(Instant::ZERO)
    }

    /// Time at which to call [`QueueDiscipline::handle_timeout`]; `None` while the queue has no periodic work.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Does the periodic work of AQM laws. An early call does nothing; a late call does the work of one period.
    fn handle_timeout(&mut self, _now: Instant) {}

    /// Sets the rate of a queue that has one, from the next packet on; others ignore it.
    fn set_rate(&mut self, _rate: Bitrate) {}
}

impl<B, Q: QueueDiscipline<B>> QueueDiscipline<B> for Box<Q> {
    fn enqueue(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        (**self).enqueue(packet, now, out);
    }

    fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        (**self).dequeue(now, out)
    }

    fn backlog(&self) -> Backlog {
        (**self).backlog()
    }

    fn ready_at(&self) -> Option<Instant> {
        (**self).ready_at()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        (**self).poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        (**self).handle_timeout(now);
    }

    fn set_rate(&mut self, rate: Bitrate) {
        (**self).set_rate(rate);
    }
}
