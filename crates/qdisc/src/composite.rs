//! Disciplines that contain other queues, and the large ones: DualPI2, CAKE, ACK filter. They share one variant of
//! [`AnyQueue`], and their methods are never inlined. Otherwise the plain queues would become slower; as a trait
//! object it made CoDel a quarter slower (`cargo bench -p gamelane-qdisc`).

use alloc::boxed::Box;
use alloc::format;
use gamelane_core::{Bitrate, Instant, IpLen, Outlet, Packet, Seed};

use crate::any::AnyQueue;
use crate::aqm::Unmanaged;
use crate::cake::Cake;
use crate::catalogue::DisciplineConfig;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::drr::{Drr, DrrClass};
use crate::dualpi2::DualPi2;
use crate::fq::FlowQueues;
use crate::htb::Htb;
use crate::priority::Priority;

/// Any discipline of [`DisciplineConfig`] except [`DisciplineConfig::Leaf`].
#[derive(Debug)]
pub enum Composite<B> {
    /// A FIFO that drops redundant ACKs.
    AckFilter(FlowQueues<Unmanaged, B>),
    /// Strict priority.
    Priority(Priority<AnyQueue<B>>),
    /// Deficit round robin.
    Drr(Drr<AnyQueue<B>>),
    /// Classes with rates and borrowing.
    Htb(Htb<AnyQueue<B>>),
    /// DualPI2.
    DualPi2(DualPi2<B>),
    /// CAKE.
    Cake(Cake<B>),
}

/// Builds the queue of a checked `config`. The names of random streams begin with `path`, those of inner queues with
/// `path` and their index.
pub(crate) fn build<B>(config: &DisciplineConfig, mtu: IpLen, seed: Seed, path: &str) -> AnyQueue<B> {
    let inner = |part: &DisciplineConfig, index: usize| build(part, mtu, seed, &format!("{path}/{index}"));
    let composite = match config {
        DisciplineConfig::Leaf(config) => return AnyQueue::new(config, mtu, seed, path),
        DisciplineConfig::AckFilter(config) => Composite::AckFilter(config.build()),
        DisciplineConfig::Priority(config) => {
            let bands = config.bands.iter().enumerate().map(|(index, band)| inner(band, index));
            Composite::Priority(Priority::new(bands.collect(), config.classes.clone()))
        }
        DisciplineConfig::Drr(config) => {
            let share = |(index, share): (usize, &DrrClass)| (share.quantum, inner(&share.queue, index));
            Composite::Drr(Drr::new(config.shares.iter().enumerate().map(share), config.classes.clone()))
        }
        DisciplineConfig::Htb(config) => {
            let queues = config.tree.iter().filter_map(|class| class.queue.as_deref());
            let queues = queues.enumerate().map(|(index, queue)| inner(queue, index)).collect();
            Composite::Htb(Htb::new(config, queues, mtu))
        }
        DisciplineConfig::DualPi2(config) => Composite::DualPi2(DualPi2::new(*config, mtu)),
        DisciplineConfig::Cake(config) => Composite::Cake(Cake::new(config, seed, path)),
    };
    AnyQueue::Composite(Box::new(composite))
}

macro_rules! each {
    ($self:ident, $queue:ident => $call:expr) => {
        match $self {
            Composite::AckFilter($queue) => $call,
            Composite::Priority($queue) => $call,
            Composite::Drr($queue) => $call,
            Composite::Htb($queue) => $call,
            Composite::DualPi2($queue) => $call,
            Composite::Cake($queue) => $call,
        }
    };
}

impl<B> QueueDiscipline<B> for Composite<B> {
    #[inline(never)]
    fn enqueue(&mut self, packet: Packet<B>, now: Instant, out: &mut dyn Outlet<B>) {
        each!(self, queue => queue.enqueue(packet, now, out));
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Instant, out: &mut dyn Outlet<B>) -> Option<Packet<B>> {
        each!(self, queue => queue.dequeue(now, out))
    }

    #[inline(never)]
    fn backlog(&self) -> Backlog {
        each!(self, queue => QueueDiscipline::<B>::backlog(queue))
    }

    #[inline(never)]
    fn ready_at(&self) -> Option<Instant> {
        each!(self, queue => QueueDiscipline::<B>::ready_at(queue))
    }

    #[inline(never)]
    fn poll_timeout(&self) -> Option<Instant> {
        each!(self, queue => QueueDiscipline::<B>::poll_timeout(queue))
    }

    #[inline(never)]
    fn handle_timeout(&mut self, now: Instant) {
        each!(self, queue => QueueDiscipline::<B>::handle_timeout(queue, now));
    }

    #[inline(never)]
    fn set_rate(&mut self, rate: Bitrate) {
        each!(self, queue => QueueDiscipline::<B>::set_rate(queue, rate));
    }
}
