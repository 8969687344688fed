//! One first-in first-out queue with one AQM law, such as CoDel or PIE. Flow queueing is in [`crate::fq`].

use gamelane_core::{DropReason, Instant, Outlet, Packet};

use alloc::collections::VecDeque;

use crate::aqm::{Aqm, apply};
use crate::config::Limit;
use crate::discipline::{Backlog, QueueDiscipline};

/// A first-in first-out queue with an AQM law, which may drop on arrival and at the head.
#[derive(Debug)]
pub struct AqmQueue<A, B> {
    law: A,
    limit: Limit,
    packets: VecDeque<Packet<B>>,
    backlog: Backlog,
    next_tick: Option<Instant>,
}

impl<A: Aqm, B> AqmQueue<A, B> {
    /// Makes an empty queue that holds up to `limit`.
    pub const fn new(law: A, limit: Limit) -> Self {
        Self {
            law,
            limit,
            packets: VecDeque::new(),
            backlog: Backlog { packets: 0, bytes: 0 },
            next_tick: None,
        }
    }
}

impl<A: Aqm, B> QueueDiscipline<B> for AqmQueue<A, B> {
    fn enqueue(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        if self.next_tick.is_none() {
            self.next_tick = self.law.ticks().map(|ticks| ticks.after(now));
        }
        if self.backlog.would_exceed(self.limit, packet.meta.len) {
            self.law.refused();
            return out.dropped(packet, DropReason::Tail);
        }
        let Some(packet) = apply::admit(&mut self.law, packet, self.backlog, now, out) else { return };
        self.backlog.add(packet.meta.len);
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        loop {
            let Some(packet) = self.packets.pop_front() else {
                self.law.emptied(now);
                return None;
            };
            self.backlog.remove(packet.meta.len);
            if let Some(packet) = apply::release(&mut self.law, packet, self.backlog, now, out) {
                return Some(packet);
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.next_tick
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.next_tick.is_some_and(|at| at <= now) {
            let awake = self.law.tick(self.backlog, now);
            self.next_tick = if awake { self.law.ticks().map(|ticks| ticks.after(now)) } else { None };
        }
    }
}
