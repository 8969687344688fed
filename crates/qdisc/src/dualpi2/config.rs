//! DualPI2 as a scenario says it.

use gamelane_core::Duration;

use crate::aqm::pi2::Pi2Parameters;
use crate::config::Limit;
use crate::config_error::ConfigError;

/// Which queue sends when both could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// The L4S queue first, but this share of the bytes is the Classic queue's (Linux `classic_protection`: 10).
    Weighted {
        /// From 1 to 99.
        classic_percent: u8,
    },
    /// Whichever packet has waited longer, where L4S packets count as having waited `shift` longer than they have.
    TimeShifted {
        /// Head start.
        shift: Duration,
    },
}

/// How the L4S queue marks for its own delay (RFC 9332 appendix A.1 `laqm`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L4sMarking {
    /// Nothing is marked up to here.
    pub from: Duration,
    /// Everything is marked from here on, linearly in between. Equal to `from` it is a step.
    pub to: Duration,
    /// Nothing is marked while this many packets or fewer are left in the L4S queue.
    pub packets: u32,
}

impl L4sMarking {
    /// A step at 1 ms (Linux, DOCSIS).
    pub const STEP: Self = Self { from: Duration::from_millis(1), to: Duration::from_millis(1), packets: 1 };
    /// A ramp from 800 to 1200 µs (RFC 9332).
    pub const RAMP: Self =
        Self { from: Duration::from_micros(800), to: Duration::from_micros(1200), packets: 1 };

    /// Likelihood of a mark after waiting `sojourn`, with `left` packets behind.
    pub(super) fn probability(&self, sojourn: Duration, left: u32) -> f64 {
        if left <= self.packets || sojourn <= self.from {
            return 0.0;
        }
        if sojourn >= self.to {
            return 1.0;
        }
        (sojourn - self.from).as_secs_f64() / (self.to - self.from).as_secs_f64()
    }
}

/// A DualPI2 queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Config {
    /// Limit of both queues together (Linux: 10,000 packets).
    pub limit: Limit,
    /// The controller.
    pub pi2: Pi2Parameters,
    /// The L4S queue's own law.
    pub marking: L4sMarking,
    /// Who goes first.
    pub scheduler: Scheduler,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        Self {
            limit: Limit::Packets(10_000),
            pi2: Pi2Parameters::default(),
            marking: L4sMarking::STEP,
            scheduler: Scheduler::Weighted { classic_percent: 10 },
        }
    }
}

impl DualPi2Config {
    /// Finds what no queue can be built from.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`].
    pub fn check(&self) -> Result<(), ConfigError> {
        let wrong = |name, allowed| Err(ConfigError::OutOfRange { name, allowed });
        if self.limit == Limit::Packets(0) {
            return wrong("limit", "one packet or more");
        }
        if self.pi2.update.is_zero() {
            return wrong("update", "above zero");
        }
        if !self.pi2.coupling.is_finite() || self.pi2.coupling <= 0.0 {
            return wrong("coupling", "above zero");
        }
        if ![self.pi2.alpha, self.pi2.beta].iter().all(|gain| gain.is_finite() && *gain >= 0.0) {
            return wrong("alpha and beta", "zero or more");
        }
        if self.marking.to < self.marking.from {
            return wrong("marking", "a range that does not end before it begins");
        }
        match self.scheduler {
            Scheduler::Weighted { classic_percent: 1..=99 } | Scheduler::TimeShifted { .. } => Ok(()),
            Scheduler::Weighted { .. } => wrong("classic_percent", "from 1 to 99"),
        }
    }
}
