//! One type for every discipline, built from a [`QueueConfig`] or a [`DisciplineConfig`]. The set of disciplines is
//! closed, so a `match` replaces a virtual call.

use alloc::boxed::Box;
use alloc::format;
use gamelane_core::{Bitrate, Instant, IpLen, Outlet, Packet, Seed};

use crate::aqm::{Codel, Pie};
use crate::aqm_queue::AqmQueue;
use crate::catalogue::DisciplineConfig;
use crate::composite::{self, Composite};
use crate::config::{QueueConfig, QueueKind};
use crate::config_error::ConfigError;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::fifo::Fifo;
use crate::fq::FlowQueues;

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
    /// Any other discipline; boxed, because these are large.
    Composite(Box<Composite<B>>),
}

impl<B> AnyQueue<B> {
    /// Builds the queue that `config` describes. `mtu` is the largest IP packet of the link below. The names of random
    /// streams begin with `path`.
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

    /// Builds the queue that `config` describes, with all queues inside it. `classes` is the number of classes that the
    /// classifier assigns, 1 without a classifier. `mtu`, `seed` and `path` are as in [`AnyQueue::new`].
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
        Ok(composite::build(config, mtu, seed, path))
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
            AnyQueue::Composite($queue) => $call,
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

    fn set_rate(&mut self, rate: Bitrate) {
        each!(self, queue => QueueDiscipline::<B>::set_rate(queue, rate));
    }
}
