//! Every discipline behind one type, built from a [`QueueConfig`] or a [`DisciplineConfig`]. The set is closed, so a match
//! replaces a virtual call.

use alloc::boxed::Box;
use alloc::format;
use gamelane_core::{Instant, IpLen, Outlet, Packet, Seed};

use crate::aqm::{Codel, Pie, Unmanaged};
use crate::aqm_queue::AqmQueue;
use crate::cake::Cake;
use crate::config::{QueueConfig, QueueKind};
use crate::config_error::ConfigError;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::drr::Drr;
use crate::dualpi2::DualPi2;
use crate::fifo::Fifo;
use crate::fq::FlowQueues;
use crate::htb::Htb;
use crate::priority::Priority;
use crate::shaper::Shaper;
use crate::tree::DisciplineConfig;

/// A discipline chosen at run time.
#[derive(Debug)]
pub enum AnyQueue<B> {
    /// Drop-tail.
    Fifo(Fifo<B>),
    /// CoDel.
    Codel(AqmQueue<Codel, B>),
    /// PIE.
    Pie(AqmQueue<Pie, B>),
    /// FQ-CoDel.
    FqCodel(FlowQueues<Codel, B>),
    /// FQ-PIE.
    FqPie(FlowQueues<Pie, B>),
    /// A FIFO that drops redundant ACKs.
    AckFilter(Box<FlowQueues<Unmanaged, B>>),
    /// Strict priority.
    Priority(Priority<Self>),
    /// Deficit round robin.
    Drr(Drr<Self>),
    /// Classes with rates and borrowing.
    Htb(Box<Htb<Self>>),
    /// A rate in front of a queue.
    Shaped(Box<Shaper<Self>>),
    /// DualPI2.
    DualPi2(Box<DualPi2<B>>),
    /// CAKE.
    Cake(Box<Cake<B>>),
}

impl<B> AnyQueue<B> {
    /// Builds the queue `config` describes. `mtu` is the largest IP packet of the link below; random streams are named
    /// under `path`.
    pub fn new(config: &QueueConfig, mtu: IpLen, seed: Seed, path: &str) -> Self {
        let mtu = mtu.bytes();
        let salt = || seed.stream(&format!("{path}/salt")).bits();
        match config.kind {
            QueueKind::Fifo => Self::Fifo(Fifo::new(config.resolved_limit())),
            QueueKind::Codel => {
                Self::Codel(AqmQueue::new(Codel::new(config.resolved_codel(mtu)), config.resolved_limit()))
            }
            QueueKind::Pie => Self::Pie(AqmQueue::new(
                Pie::new(config.resolved_pie(mtu), seed.stream(&format!("{path}/pie"))),
                config.resolved_limit(),
            )),
            QueueKind::FqCodel => {
                let law = Codel::new(config.resolved_codel(mtu));
                Self::FqCodel(FlowQueues::new(config.resolved_fq(), salt(), |_| law.clone()))
            }
            QueueKind::FqPie => {
                let parameters = config.resolved_pie(mtu);
                Self::FqPie(FlowQueues::new(config.resolved_fq(), salt(), |index| {
                    Pie::new(parameters, seed.stream(&format!("{path}/pie/{index}")))
                }))
            }
        }
    }

    /// Builds the queue `config` describes, with all queues inside it. A packet's class should be below `classes`, which is
    /// 1 where nothing classifies. `mtu`, `seed` and `path` as in [`AnyQueue::new`]; queues inside are named below `path`.
    ///
    /// # Errors
    /// Those of [`DisciplineConfig::check`].
    pub fn build(
        config: &DisciplineConfig,
        classes: usize,
        mtu: IpLen,
        seed: Seed,
        path: &str,
    ) -> Result<Self, ConfigError> {
        config.check(classes)?;
        Ok(Self::from_checked(config, mtu, seed, path))
    }

    fn from_checked(config: &DisciplineConfig, mtu: IpLen, seed: Seed, path: &str) -> Self {
        let inner = |part: &DisciplineConfig, index: usize| {
            Self::from_checked(part, mtu, seed, &format!("{path}/{index}"))
        };
        match config {
            DisciplineConfig::Leaf(config) => Self::new(config, mtu, seed, path),
            DisciplineConfig::AckFilter(config) => Self::AckFilter(Box::new(config.build())),
            DisciplineConfig::Priority(config) => {
                let bands = config.bands.iter().enumerate().map(|(index, band)| inner(band, index));
                Self::Priority(Priority::new(bands.collect(), config.classes.clone()))
            }
            DisciplineConfig::Drr(config) => {
                let share = |(index, share): (usize, &crate::drr::DrrClass)| {
                    (share.quantum, inner(&share.queue, index))
                };
                Self::Drr(Drr::new(config.shares.iter().enumerate().map(share), config.classes.clone()))
            }
            DisciplineConfig::Htb(config) => {
                let queues = config.tree.iter().filter_map(|class| class.queue.as_deref());
                let queues = queues.enumerate().map(|(index, queue)| inner(queue, index)).collect();
                Self::Htb(Box::new(Htb::new(config, queues, mtu)))
            }
            DisciplineConfig::Shaped(config) => {
                Self::Shaped(Box::new(Shaper::new(config.rate, config.overhead, inner(&config.queue, 0))))
            }
            DisciplineConfig::DualPi2(config) => Self::DualPi2(Box::new(DualPi2::new(*config, mtu))),
            DisciplineConfig::Cake(config) => Self::Cake(Box::new(Cake::new(config, seed, path))),
        }
    }
}

macro_rules! each {
    ($self:ident, $queue:ident => $call:expr) => {
        match $self {
            AnyQueue::Fifo($queue) => $call,
            AnyQueue::Codel($queue) => $call,
            AnyQueue::Pie($queue) => $call,
            AnyQueue::FqCodel($queue) => $call,
            AnyQueue::FqPie($queue) => $call,
            AnyQueue::AckFilter($queue) => $call,
            AnyQueue::Priority($queue) => $call,
            AnyQueue::Drr($queue) => $call,
            AnyQueue::Htb($queue) => $call,
            AnyQueue::Shaped($queue) => $call,
            AnyQueue::DualPi2($queue) => $call,
            AnyQueue::Cake($queue) => $call,
        }
    };
}

impl<B> QueueDiscipline<B> for AnyQueue<B> {
    fn enqueue(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        each!(self, queue => queue.enqueue(packet, now, out));
    }

    fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        each!(self, queue => queue.dequeue(now, out))
    }

    fn backlog(&self) -> Backlog {
        each!(self, queue => QueueDiscipline::<B>::backlog(queue))
    }

    fn ready_at(&self) -> Option<Instant> {
        each!(self, queue => QueueDiscipline::<B>::ready_at(queue))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        each!(self, queue => QueueDiscipline::<B>::poll_timeout(queue))
    }

    fn handle_timeout(&mut self, now: Instant) {
        each!(self, queue => QueueDiscipline::<B>::handle_timeout(queue, now));
    }
}
