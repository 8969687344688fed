//! Packets in flight, each with its arrival time. No packet overtakes the one before it.

use alloc::collections::VecDeque;
use gamelane_core::{Instant, Packet};

#[derive(Debug)]
pub(crate) struct DelayLine<B> {
    packets: VecDeque<(Instant, Packet<B>)>,
}

impl<B> DelayLine<B> {
    pub(crate) const fn new() -> Self {
        Self { packets: VecDeque::new() }
    }

    /// Adds `packet`. It arrives at `at`, or together with the packet before it if that arrives later.
    pub(crate) fn push(&mut self, packet: Packet<B>, at: Instant) {
        let at = self.packets.back().map_or(at, |(ahead, _)| at.max(*ahead));
        self.packets.push_back((at, packet));
    }

    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.packets.front().map(|(at, _)| *at)
    }

    pub(crate) fn pop_arrived(&mut self, now: Instant) -> Option<Packet<B>> {
        if self.next_arrival()? > now {
            return None;
        }
        self.packets.pop_front().map(|(_, packet)| packet)
    }

    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }
}
