//! Shapers: whether they reach their rate, and how those that follow their link moved.

use gamelane_core::Instant;
use gamelane_stage::autorate::Cause;
use gamelane_stage::following::Follower;
use serde::{Deserialize, Serialize};

/// A shaper over the last whole second.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ShaperStatus {
    /// Rate at the end of that second; `null` if nothing shapes.
    pub rate_bps: Option<u64>,
    /// Measured rate on the wire, framing included.
    pub measured_bps: u64,
    /// Whether packets waited throughout. Only then should the two rates agree.
    pub busy: bool,
    /// Rate at which others send out of the same interface, past the shaper.
    pub bypass_bps: u64,
}

/// A shaper that follows its link.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AutorateStatus {
    /// Current rate.
    pub rate_bps: u64,
    /// Lowest rate allowed.
    pub lowest_bps: u64,
    /// Highest rate allowed.
    pub highest_bps: u64,
    /// The last move; `null` before the first.
    pub moved: Option<MoveStatus>,
    /// Signals received.
    pub signals: u64,
    /// Times the rate was lowered.
    pub lowered: u64,
    /// Times the rate was raised.
    pub raised: u64,
    /// Windows with traffic.
    pub windows: u64,
    /// Windows with traffic but without a signal. Under load the rate then stays.
    pub windows_unheard: u64,
}

/// A move of a shaper's rate.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MoveStatus {
    /// Seconds since then.
    pub ago_s: f64,
    /// Rate before.
    pub from_bps: u64,
    /// `delay`, `load`, or `idle` (the rate drifts back to its start).
    pub cause: String,
    /// Signal that caused it: `tcp` or `game`; `null` if `idle`.
    pub signal: Option<String>,
}

impl AutorateStatus {
    pub(crate) fn of(follower: &Follower, now: Instant) -> Self {
        let autorate = follower.autorate();
        let (config, counters) = (autorate.config(), autorate.counters());
        Self {
            rate_bps: autorate.rate().bps(),
            lowest_bps: config.lowest.bps(),
            highest_bps: config.highest.bps(),
            moved: autorate.moved().map(|moved| {
                let (cause, source) = match moved.cause {
                    Cause::Delay(source) => ("delay", Some(source)),
                    Cause::Load(source) => ("load", Some(source)),
                    Cause::Idle => ("idle", None),
                };
                MoveStatus {
                    ago_s: now.saturating_since(moved.at).as_secs_f64(),
                    from_bps: moved.from.bps(),
                    cause: cause.into(),
                    signal: source.map(|source| source.name().into()),
                }
            }),
            signals: counters.passive,
            lowered: counters.lowered,
            raised: counters.raised,
            windows: counters.windows,
            windows_unheard: counters.unheard,
        }
    }
}
