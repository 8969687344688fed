//! Configuration of any discipline: a plain queue, or a discipline that contains others.

use crate::ack_filter::AckFilterConfig;
use crate::cake::CakeConfig;
use crate::catalogue::Discipline;
use crate::config::QueueConfig;
use crate::config_error::ConfigError;
use crate::drr::DrrConfig;
use crate::dualpi2::DualPi2Config;
use crate::htb::HtbConfig;
use crate::priority::PriorityConfig;
use crate::shaper::ShaperConfig;

/// Configuration of any discipline. [`crate::AnyQueue::build`] makes the queue.
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
    /// A queue behind a shaper.
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
    /// Checks the configuration for packets of this many `classes` (1 without a classifier).
    ///
    /// # Errors
    /// The first error found.
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

    /// The discipline in the catalogue. A FIFO that drops ACKs is a FIFO; a queue behind a shaper is that queue.
    pub fn discipline(&self) -> Discipline {
        match self {
            Self::Leaf(config) => config.kind.discipline(),
            Self::AckFilter(_) => Discipline::Fifo,
            Self::Priority(_) => Discipline::Priority,
            Self::Drr(_) => Discipline::Drr,
            Self::Htb(_) => Discipline::Htb,
            Self::Shaped(config) => config.queue.discipline(),
            Self::DualPi2(_) => Discipline::DualPi2,
            Self::Cake(_) => Discipline::Cake,
        }
    }

    /// Returns whether the discipline is work conserving: packets wait only while the medium is busy. A shaper is not.
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
