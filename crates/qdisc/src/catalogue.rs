//! The queue disciplines of a scenario. Each is described beside its code; this is the list of them.

use gamelane_core::{Catalogued, catalogue};

use crate::aqm::{codel, pie};
use crate::config::QueueKind;
use crate::facts::QueueFacts;
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
    pub fn discipline(self) -> Discipline {
        let of_kind = |one: &&Discipline| one.descriptor().facts.plain == Some(self);
        Discipline::ALL.iter().find(of_kind).copied().unwrap_or(Discipline::Fifo)
    }

    /// Every kind of plain queue.
    pub fn all() -> impl Iterator<Item = Self> {
        Discipline::ALL.iter().filter_map(|one| one.descriptor().facts.plain)
    }
}
