//! The path beyond the link for one flow and direction: delay, jitter and loss, no rate and no queue of its own.

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
    /// An empty path; its random streams are named under `path`.
    pub fn new(config: PathConfig, seed: Seed, path: &str) -> Self {
        let loss = Loss::new(config.loss, seed.stream(&format!("{path}/loss")));
        let jitter = seed.stream(&format!("{path}/jitter"));
        Self { config, loss, jitter, line: DelayLine::new(), counters: HopCounters::default() }
    }

    /// Takes a packet in, or loses it.
    pub fn handle_packet(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        self.counters.arrived += 1;
        if self.loss.loses_next() {
            self.counters.dropped.add(DropReason::Path);
            return out.dropped(packet, DropReason::Path);
        }
        self.line.push(packet, now + self.config.delay + draw_jitter(&mut self.jitter, self.config.jitter));
    }

    /// The next packet that has arrived by `now`; call until `None`.
    pub fn poll_deliver(&mut self, now: Instant) -> Option<Packet<B>> {
        let packet = self.line.pop_arrived(now)?;
        self.counters.delivered += 1;
        Some(packet)
    }

    /// When the next packet arrives.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.line.next_arrival()
    }

    /// What came, went and was lost.
    pub const fn counters(&self) -> &HopCounters {
        &self.counters
    }

    /// Packets on their way.
    pub fn inside(&self) -> u64 {
        self.line.len() as u64
    }
}
