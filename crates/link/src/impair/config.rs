//! Configuration of an impaired path. The names are those of `tc-netem(8)`.

use alloc::sync::Arc;
use gamelane_core::loss::LossModel;
use gamelane_core::{Bitrate, Duration, IpLen, Overhead};
use gamelane_qdisc::Limit;

/// Configuration of one direction of an impaired path. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImpairConfig {
    /// Delay of every packet, without jitter.
    pub delay: Duration,
    /// Variation of the delay.
    pub jitter: Jitter,
    /// Packet loss. It comes first, so a lost packet takes no capacity.
    pub loss: LossModel,
    /// Rate limit with a queue; `None` is unlimited.
    pub rate: Option<RateLimit>,
    /// Reordering.
    pub reorder: Reorder,
    /// Share of packets that arrive twice, 0 to 1. The copy is never held back for reordering.
    pub duplicate: f64,
}

/// Variation of the delay. A packet's delay is [`ImpairConfig::delay`] plus `spread` times a draw from `shape`, at
/// least zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jitter {
    /// Scale of the variation; zero for no jitter.
    pub spread: Duration,
    /// Distribution of the variation.
    pub shape: JitterShape,
    /// Correlation with the draw of the packet before, 0 to below 1. It is the correlation of the normal series from
    /// which the draws are made (a Gaussian copula). Unlike netem's correlation, it does not change the distribution.
    pub correlation: f64,
    /// Whether a packet with less delay overtakes the packet before it.
    pub order: Order,
}

/// Distribution of jitter, in units of the spread. The unbounded shapes are clipped at 4, as are netem's tables of
/// 16-bit numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum JitterShape {
    /// Uniform in [-1, 1].
    #[default]
    Uniform,
    /// Standard normal.
    Normal,
    /// netem's `pareto`: 4/3 (u^(-1/3) - 3/2). Many packets are a little early and a few are very late.
    Pareto,
    /// netem's `paretonormal`: 1/4 of the normal quantile plus 3/4 of the Pareto quantile.
    ParetoNormal,
    /// A table of at least two quantiles, ascending and evenly spaced in probability. Values between two are linear.
    Table(Arc<[f64]>),
}

/// Largest draw of the unbounded shapes, in units of the spread.
pub(super) const CLIP: f64 = 4.0;

/// Effect of jitter on the order of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Packets stay in order, as in a queue. A packet that would overtake arrives together with the packet before it.
    /// If packets follow each other faster than the spread, the mean delay becomes longer.
    #[default]
    Kept,
    /// Each packet has its own delay, so packets with a shorter delay overtake.
    AsDelayed,
}

/// Configuration of reordering.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reorder {
    /// Share of packets that are held back, 0 to 1.
    pub share: f64,
    /// Extra delay of a packet that is held back. Packets sent within this time overtake it.
    pub by: Duration,
}

/// A rate limit that sends one packet at a time, with a drop-tail queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Rate, counted over [`Overhead::wire_len`].
    pub rate: Bitrate,
    /// Limit of the queue, without the packet on the medium.
    pub queue: Limit,
    /// Link-layer overhead per IP packet.
    pub overhead: Overhead,
}

impl RateLimit {
    /// Time for which a packet occupies the medium.
    pub const fn time_to_send(&self, len: IpLen) -> Duration {
        self.rate.time_to_send(self.overhead.wire_len(len))
    }
}
