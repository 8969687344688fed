//! The path beyond the link for one flow and direction: delay, jitter and loss. It has no rate limit and no queue.

use alloc::format;
use gamelane_core::loss::Loss;
use gamelane_core::{DropReason, HopCounters, Instant, Outlet, Packet, Seed, Stream};

use crate::config::PathConfig;
use crate::delay_line::DelayLine;
use crate::wired::draw_jitter;

/// One direction of a path.
#[derive(Debug)]
pub struct Path<B> {
    config: PathConfig,
    loss: Loss,
    jitter: Stream,
    line: DelayLine<B>,
    counters: HopCounters,
}

impl<B> Path<B> {
    /// Makes an empty path. The names of its random streams begin with `path`.
    pub fn new(config: PathConfig, seed: Seed, path: &str) -> Self {
        let loss = Loss::new(config.loss, seed.stream(&format!("{path}/loss")));
        let jitter = seed.stream(&format!("{path}/jitter"));
        Self { config, loss, jitter, line: DelayLine::new(), counters: HopCounters::default() }
    }

    /// Takes a packet in. A lost packet goes to `out`.
    pub fn handle_packet(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        self.counters.arrived += 1;
        if self.loss.loses_next() {
            self.counters.dropped.add(DropReason::Path);
            return out.dropped(packet, DropReason::Path);
        }
        self.line.push(packet, now + self.config.delay + draw_jitter(&mut self.jitter, self.config.jitter));
    }

    /// Returns the next packet that has arrived by `now`. Call it until it returns `None`.
    pub fn poll_deliver(&mut self, now: Instant) -> Option<Packet<B>> {
        let packet = self.line.pop_arrived(now)?;
        self.counters.delivered += 1;
        Some(packet)
    }

    /// Time at which the next packet arrives.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.line.next_arrival()
    }

    /// Packet counters.
    pub const fn counters(&self) -> &HopCounters {
        &self.counters
    }

    /// Number of packets in flight.
    pub fn inside(&self) -> u64 {
        self.line.len() as u64
    }
}
