//! What is done to packets on an impaired path.

use alloc::sync::Arc;
use gamelane_core::loss::LossModel;
use gamelane_core::{Bitrate, Duration, IpLen, Overhead};
use gamelane_qdisc::Limit;

/// One direction of an impaired path. The default does nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImpairConfig {
    /// Time every packet takes.
    pub delay: Duration,
    /// How it varies.
    pub jitter: Jitter,
    /// Packets lost before anything else is done to them.
    pub loss: LossModel,
    /// Bottleneck; `None` lets every packet through at once.
    pub rate: Option<RateLimit>,
    /// Packets that others overtake.
    pub reorder: Reorder,
    /// Share of packets that arrive twice, 0 to 1. The copy arrives where the original would have in order.
    pub duplicate: f64,
}

/// Variation of the delay: each packet's is the delay plus `spread` times a draw of `shape`, and never below zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jitter {
    /// Scale of the variation; zero for none.
    pub spread: Duration,
    /// How it is distributed.
    pub shape: JitterShape,
    /// Correlation of each packet's draw with the one before, 0 to below 1, in the normal series behind it (a Gaussian
    /// copula): unlike netem's, it leaves the distribution as it is.
    pub correlation: f64,
    /// Whether packets with less delay overtake.
    pub order: Order,
}

/// Distribution of jitter, in units of its spread. Those of netem have their scale clipped at four, as its tables of
/// 16-bit numbers are.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum JitterShape {
    /// Uniform in [-1, 1].
    #[default]
    Uniform,
    /// Standard normal.
    Normal,
    /// netem's `pareto`: 4/3 (u^(-1/3) - 3/2), many packets a little early and a few very late.
    Pareto,
    /// netem's `paretonormal`: a quarter of the normal and three quarters of the Pareto quantile.
    ParetoNormal,
    /// Quantiles, ascending, evenly spaced in probability; at least two. What lies between two is linear.
    Table(Arc<[f64]>),
}

/// Largest draw of the unbounded shapes, in spreads.
pub(super) const CLIP: f64 = 4.0;

/// What jitter does to the order of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Packets stay in order, as in a queue: one that would overtake arrives together with the one before it. Where
    /// packets follow closer than the spread, this lengthens the mean delay.
    #[default]
    Kept,
    /// Each takes its own delay, and overtakes if that is shorter.
    AsDelayed,
}

/// Reordering on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reorder {
    /// Share of packets held back, 0 to 1.
    pub share: f64,
    /// For how long; packets sent within it overtake.
    pub by: Duration,
}

/// A bottleneck: one packet at a time, and a drop-tail queue in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Counted over [`Overhead::wire_len`].
    pub rate: Bitrate,
    /// What may wait besides the packet on the medium.
    pub queue: Limit,
    /// What the link layer adds to each IP packet.
    pub overhead: Overhead,
}

impl RateLimit {
    /// How long the medium is busy with a packet.
    pub const fn time_to_send(&self, len: IpLen) -> Duration {
        self.rate.time_to_send(self.overhead.wire_len(len))
    }
}
