//! Counters of the loop that moves frames.

use gamelane_device::EngineCounters;
use serde::{Deserialize, Serialize};

/// The loop.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct EngineStatus {
    /// Frames received.
    pub received: BothWays<u64>,
    /// Frames that the kernel dropped because the ring was full.
    pub ring_full: BothWays<u64>,
    /// Frames for this machine itself.
    pub own: BothWays<u64>,
    /// Frames lost because they are too long, or hold several segments and cannot be split.
    pub too_long: BothWays<u64>,
    /// Frames discarded because the gateway had stood still.
    #[serde(default)]
    pub stale: BothWays<u64>,
    /// Frames sent.
    pub sent: BothWays<u64>,
    /// Times an interface took nothing for a while.
    pub stalls: BothWays<u64>,
    /// How late the shaper was called after its deadline, in microseconds.
    pub late_us: Lateness,
}

/// A value for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BothWays<T> {
    /// From home to the internet.
    pub up: T,
    /// From the internet to home.
    pub down: T,
}

impl<T> From<[T; 2]> for BothWays<T> {
    /// Takes what is indexed by [`gamelane_core::Direction::index`].
    fn from([up, down]: [T; 2]) -> Self {
        Self { up, down }
    }
}

/// Mean and largest lateness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Mean.
    pub mean: f64,
    /// Maximum.
    pub max: f64,
}

impl From<&EngineCounters> for EngineStatus {
    fn from(engine: &EngineCounters) -> Self {
        Self {
            received: engine.ring.map(|ring| ring.frames).into(),
            ring_full: engine.ring.map(|ring| ring.dropped).into(),
            own: engine.own.into(),
            too_long: engine.too_long.into(),
            stale: engine.stale.into(),
            sent: engine.sent.into(),
            stalls: engine.stalls.into(),
            late_us: Lateness {
                mean: engine.late.as_nanos() as f64 / engine.deadlines.max(1) as f64 / 1e3,
                max: engine.latest.as_nanos() as f64 / 1e3,
            },
        }
    }
}
