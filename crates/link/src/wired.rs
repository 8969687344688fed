//! One direction of a wired link. One packet is on the medium at a time, for the time of its wire length at the rate.
//! A link delivers a packet at the end of this time. The shaper of a gateway delivers it at the start, and waits for this
//! time before the next one.

use alloc::format;
use gamelane_core::loss::Loss;
use gamelane_core::{Bitrate, Descriptor, Duration, Instant, PacketMeta, Seed, Stream};
use gamelane_qdisc::Backlog;

use crate::config::LinkConfig;
use crate::link::{Flight, Link, PortId};

/// Wired link in the catalogue.
pub const WIRED: Descriptor = Descriptor {
    word: "wired",
    label: "wired link",
    about: "Sends one packet at a time, at a fixed rate in each direction.",
    keys: &[],
    page: "link",
    facts: (),
};

/// Longest lateness that a driver may catch up. If it asks for the next packet at most this late, the packet still
/// starts when the last one ended. A real-time driver wakes up about 100 µs late; without this credit it would lose
/// that much time with every packet.
const LATENESS_CREDIT: Duration = Duration::from_micros(500);

/// One direction of a wired link. The link has one port.
#[derive(Debug)]
pub struct WiredLink {
    config: LinkConfig,
    loss: Loss,
    jitter: Stream,
    free_at: Instant,
    waiting: bool,
    is_shaper: bool,
}

impl WiredLink {
    /// Makes an idle link. The names of its random streams begin with `path`.
    pub fn new(config: LinkConfig, seed: Seed, path: &str) -> Self {
        let loss = Loss::new(config.loss, seed.stream(&format!("{path}/loss")));
        let jitter = seed.stream(&format!("{path}/jitter"));
        Self { config, loss, jitter, free_at: Instant::ZERO, waiting: false, is_shaper: false }
    }

    /// Makes the shaper of a gateway, as HTB and CAKE are: it hands a packet on at once.
    pub fn shaper(config: LinkConfig, seed: Seed, path: &str) -> Self {
        Self { is_shaper: true, ..Self::new(config, seed, path) }
    }

    /// Sets the rate from the next packet on.
    pub const fn set_rate(&mut self, rate: Bitrate) {
        self.config.rate = rate;
    }
}

impl Link for WiredLink {
    fn backlog_changed(&mut self, _port: PortId, waiting: Backlog, _now: Instant) {
        self.waiting = !waiting.is_empty();
    }

    fn poll_grant(&mut self, now: Instant) -> Option<PortId> {
        (self.waiting && self.free_at <= now).then_some(PortId(0))
    }

    /// Sends a packet. After a late call its start may be in the past, but not before the packet entered the queue.
    fn start(&mut self, _port: PortId, frame: &PacketMeta, now: Instant) -> Flight {
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(LATENESS_CREDIT.as_nanos()));
        let begin = self.free_at.max(frame.queued_at).max(earliest).min(now);
        self.free_at = begin + self.config.rate.time_to_send(self.config.overhead.wire_len(frame.len));
        if self.loss.loses_next() {
            return Flight::Lost;
        }
        let leaves = if self.is_shaper { now } else { self.free_at };
        Flight::Arrives(leaves + self.config.delay + draw_jitter(&mut self.jitter, self.config.jitter))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.waiting.then_some(self.free_at)
    }
}

/// Draws uniformly from `[0, jitter]`. If `jitter` is zero, it takes nothing from the random stream.
pub(crate) fn draw_jitter(rng: &mut Stream, jitter: Duration) -> Duration {
    if jitter.is_zero() { Duration::ZERO } else { Duration::from_nanos(rng.below(jitter.as_nanos() + 1)) }
}
