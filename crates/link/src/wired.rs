//! A wired link, one direction: one packet on the medium at a time, for as long as its wire length takes at the rate.
//! DOCSIS and Wi-Fi, which grant the medium differently, will stand beside it.

use alloc::format;
use gamelane_core::loss::Loss;
use gamelane_core::{Duration, Instant, PacketMeta, Seed, Stream};

use crate::config::LinkConfig;

/// How late a driver may ask for the next packet and still have it start when the last one ended. A real-time driver
/// wakes up some 100 µs late; without credit it would lose that much of the rate on every packet.
const LATENESS_CREDIT: Duration = Duration::from_micros(500);

/// What became of a packet put on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// When the medium is free again.
    pub free_at: Instant,
    /// When the packet reaches the other end; `None` if the link loses it.
    pub arrives_at: Option<Instant>,
}

/// One direction of a wired link.
#[derive(Debug)]
pub struct WiredLink {
    config: LinkConfig,
    loss: Loss,
    jitter: Stream,
    free_at: Instant,
}

impl WiredLink {
    /// A link that has carried nothing; its random streams are named under `path`.
    pub fn new(config: LinkConfig, seed: Seed, path: &str) -> Self {
        let loss = Loss::new(config.loss, seed.stream(&format!("{path}/loss")));
        Self { config, loss, jitter: seed.stream(&format!("{path}/jitter")), free_at: Instant::ZERO }
    }

    /// When the medium is free, possibly in the past.
    pub const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Puts a packet on the free medium. `queued_at` is when it became ready: a late call may start it in the past, but
    /// not before that.
    pub fn start(&mut self, meta: &PacketMeta, now: Instant) -> Flight {
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(LATENESS_CREDIT.as_nanos()));
        let begin = self.free_at.max(meta.queued_at).max(earliest).min(now);
        self.free_at = begin + self.config.rate.time_to_send(self.config.overhead.wire_len(meta.len));
        let arrives_at = (!self.loss.loses_next())
            .then(|| self.free_at + self.config.delay + draw_jitter(&mut self.jitter, self.config.jitter));
        Flight { free_at: self.free_at, arrives_at }
    }
}

/// Uniform in `[0, jitter]`; draws nothing where there is no jitter.
pub(crate) fn draw_jitter(rng: &mut Stream, jitter: Duration) -> Duration {
    if jitter.is_zero() { Duration::ZERO } else { Duration::from_nanos(rng.below(jitter.as_nanos() + 1)) }
}
