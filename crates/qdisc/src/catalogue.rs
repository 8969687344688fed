//! List of the queue disciplines of a scenario, and the configuration of any discipline. The descriptor of each is beside its
//! code.

use gamelane_core::{Catalogued, catalogue};

use crate::ack_filter::AckFilterConfig;
use crate::aqm::{codel, pie};
use crate::cake::CakeConfig;
use crate::config::{QueueConfig, QueueKind};
use crate::config_error::ConfigError;
use crate::drr::DrrConfig;
use crate::dualpi2::DualPi2Config;
use crate::facts::QueueFacts;
use crate::htb::HtbConfig;
use crate::priority::PriorityConfig;
use crate::{cake, drr, dualpi2, fifo, fq, htb, priority};

catalogue! {
    /// Queue discipline of a scenario.
    Discipline as "Discipline", "queue discipline", QueueFacts {
        Fifo: fifo::FIFO,
        Codel: codel::CODEL,
        Pie: pie::PIE,
        FqCodel: fq::FQ_CODEL,
        FqPie: fq::FQ_PIE,
        Priority: priority::PRIORITY,
        Drr: drr::DRR,
        Htb: htb::HTB,
        Cake: cake::CAKE,
        DualPi2: dualpi2::DUALPI2,
    }
}

impl QueueKind {
    /// The discipline of this kind.
    pub const fn discipline(self) -> Discipline {
        match self {
            Self::Fifo => Discipline::Fifo,
            Self::Codel => Discipline::Codel,
            Self::Pie => Discipline::Pie,
            Self::FqCodel => Discipline::FqCodel,
            Self::FqPie => Discipline::FqPie,
        }
    }

    /// Every kind of plain queue.
    pub fn all() -> impl Iterator<Item = Self> {
        Discipline::ALL.iter().filter_map(|one| one.descriptor().facts.plain)
    }
}

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
            Self::DualPi2(config) => config.check(),
            Self::Cake(config) => config.check(),
        }
    }

    /// The discipline in the catalogue. A FIFO that drops ACKs is a FIFO.
    pub fn discipline(&self) -> Discipline {
        match self {
            Self::Leaf(config) => config.kind.discipline(),
            Self::AckFilter(_) => Discipline::Fifo,
            Self::Priority(_) => Discipline::Priority,
            Self::Drr(_) => Discipline::Drr,
            Self::Htb(_) => Discipline::Htb,
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
            Self::Htb(_) => false,
            Self::Cake(config) => config.bandwidth.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_queue_and_its_kind_name_each_other() {
        for one in Discipline::ALL {
            if let Some(kind) = one.descriptor().facts.plain {
                assert_eq!(kind.discipline(), *one);
            }
        }
    }
}
