//! Any queue as a scenario says it: a plain one, or one made of others.

use crate::ack_filter::AckFilterConfig;
use crate::cake::CakeConfig;
use crate::config::QueueConfig;
use crate::config_error::ConfigError;
use crate::drr::DrrConfig;
use crate::dualpi2::DualPi2Config;
use crate::htb::HtbConfig;
use crate::priority::PriorityConfig;
use crate::shaper::ShaperConfig;

/// What [`crate::AnyQueue::build`] makes a queue from.
#[derive(Clone, Debug, PartialEq)]
pub enum DisciplineConfig {
    /// FIFO, CoDel, PIE, FQ-CoDel, FQ-PIE.
    Leaf(QueueConfig),
    /// A FIFO that drops redundant ACKs.
    AckFilter(AckFilterConfig),
    /// Strict priority.
    Priority(PriorityConfig),
    /// Deficit round robin.
    Drr(DrrConfig),
    /// Classes with rates and borrowing.
    Htb(HtbConfig),
    /// A rate in front of a queue.
    Shaped(ShaperConfig),
    /// DualPI2.
    DualPi2(DualPi2Config),
    /// CAKE.
    Cake(CakeConfig),
}

impl From<QueueConfig> for DisciplineConfig {
    fn from(config: QueueConfig) -> Self {
        Self::Leaf(config)
    }
}

impl DisciplineConfig {
    /// Finds what no queue can be built from, given how many classes a classifier puts packets in (1 without one).
    ///
    /// # Errors
    /// The first thing wrong.
    pub fn check(&self, classes: usize) -> Result<(), ConfigError> {
        match self {
            Self::Leaf(_) => Ok(()),
            Self::AckFilter(config) => config.check(),
            Self::Priority(config) => config.check(classes),
            Self::Drr(config) => config.check(classes),
            Self::Htb(config) => config.check(classes),
            Self::Shaped(config) => config.check(classes),
            Self::DualPi2(config) => config.check(),
            Self::Cake(config) => config.check(),
        }
    }

    /// True if a packet waits only while the medium is busy; false for what shapes.
    pub fn is_work_conserving(&self) -> bool {
        match self {
            Self::Leaf(_) | Self::AckFilter(_) | Self::DualPi2(_) => true,
            Self::Priority(config) => config.bands.iter().all(Self::is_work_conserving),
            Self::Drr(config) => config.shares.iter().all(|share| share.queue.is_work_conserving()),
            Self::Htb(_) | Self::Shaped(_) => false,
            Self::Cake(config) => config.bandwidth.is_none(),
        }
    }
}
