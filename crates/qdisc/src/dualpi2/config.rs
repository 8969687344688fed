//! Configuration of DualPI2. The defaults are those of Linux `sch_dualpi2`.

use gamelane_core::Duration;

use crate::aqm::pi2::Pi2Parameters;
use crate::config::Limit;
use crate::config_error::ConfigError;

/// Scheduler between the L4S and the Classic queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// The L4S queue is served first, but the Classic queue gets this share of the bytes (Linux `c_protection`: 10 %).
    Weighted {
        /// Share of the Classic queue in per cent, 1 to 99.
        classic_percent: u8,
    },
    /// The packet that has waited longer is served first; `shift` is added to the waiting time of L4S packets.
    TimeShifted {
        /// Time added to the waiting time of L4S packets.
        shift: Duration,
    },
}

/// Marking of the L4S queue by its own delay (RFC 9332 appendix A.1, `laqm`). The marking probability rises linearly
/// from 0 at `from` to 1 at `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L4sMarking {
    /// Waiting time up to which no packet is marked.
    pub from: Duration,
    /// Waiting time from which every packet is marked. If it equals `from`, the ramp is a step.
    pub to: Duration,
    /// No packet is marked while at most this many packets are left in the L4S queue.
    pub packets: u32,
}

impl L4sMarking {
    /// A step at 1 ms (Linux, DOCSIS).
    pub const STEP: Self = Self { from: Duration::from_millis(1), to: Duration::from_millis(1), packets: 1 };
    /// A ramp from 800 to 1200 µs (RFC 9332 appendix A.1).
    pub const RAMP: Self =
        Self { from: Duration::from_micros(800), to: Duration::from_micros(1200), packets: 1 };

    /// Marking probability of a packet that waited `sojourn`, with `left` packets still in the queue.
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

/// Configuration of a DualPI2 queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Config {
    /// Limit of both queues together (Linux: 10,000 packets).
    pub limit: Limit,
    /// Parameters of the PI2 controller.
    pub pi2: Pi2Parameters,
    /// Marking of the L4S queue by its own delay.
    pub marking: L4sMarking,
    /// Scheduler between the two queues.
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
    /// Checks the configuration.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] with the first value that is not allowed.
    pub fn check(&self) -> Result<(), ConfigError> {
        let wrong = |name, allowed| Err(ConfigError::OutOfRange { name, allowed });
        if self.limit == Limit::Packets(0) {
            return wrong("limit", "at least 1p");
        }
        if self.pi2.update.is_zero() {
            return wrong("update", "above 0ms, for example 16ms");
        }
        if !self.pi2.coupling.is_finite() || self.pi2.coupling <= 0.0 {
            return wrong("coupling", "above 0, for example 2");
        }
        if ![self.pi2.alpha, self.pi2.beta].iter().all(|gain| gain.is_finite() && *gain >= 0.0) {
            return wrong("alpha and beta", "at least 0");
        }
        if self.marking.to < self.marking.from {
            return wrong(
                "marking",
                "a range whose end is not before its beginning, for example 800us..1200us",
            );
        }
        match self.scheduler {
            Scheduler::Weighted { classic_percent: 1..=99 } | Scheduler::TimeShifted { .. } => Ok(()),
            Scheduler::Weighted { .. } => wrong("classic_percent", "1 to 99"),
        }
    }
}
