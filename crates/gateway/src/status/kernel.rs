//! The status of a gateway whose queues are Linux's.

use gamelane_core::{Direction, Instant};
use gamelane_service::histogram::Fine;

use super::{IoStatus, QueueStatus, SCHEMA, ShaperStatus, State, Status, Verdict};
use crate::kernel::netlink::Counters;
use crate::policy::Policy;

/// What is known of such a gateway. Pairs are indexed by [`Direction::index`].
#[derive(Clone, Copy, Debug)]
pub struct KernelView<'a> {
    /// The policy in force.
    pub policy: &'a Policy,
    /// Counters of the queues.
    pub counters: &'a [Counters; 2],
    /// Most packets that waited at a look.
    pub most: [u32; 2],
    /// What the last second showed.
    pub shaper: &'a [ShaperStatus; 2],
    /// Number of times the policy changed.
    pub reloads: u64,
    /// Why Linux was chosen.
    pub why: &'static str,
}

impl Status {
    /// Describes such a gateway at `now`. Its interfaces are left empty.
    pub fn of_kernel(view: &KernelView<'_>, now: Instant) -> Self {
        let each = |direction: Direction| (direction.name().to_owned(), direction.index());
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            policy: view.policy.name.clone(),
            policy_hash: view.policy.hash.clone(),
            policy_refused: None,
            reloads: view.reloads,
            uptime_s: now.as_secs_f64(),
            interfaces: Default::default(),
            links: Default::default(),
            io: IoStatus { kind: "kernel".into(), zero_copy: false, why: view.why.into() },
            queues: Direction::BOTH.map(each).map(|(name, index)| (name, view.queue(index))).into(),
            voap: None,
            verdict: Verdict { state: State::Unknown, why: Vec::new() },
            flows: Vec::new(),
            flows_forgotten: 0,
            pool: None,
            engine: None,
            shaper: Direction::BOTH.map(each).map(|(name, index)| (name, view.shaper[index])).into(),
            autorate: Default::default(),
            tap: None,
        }
    }
}

impl KernelView<'_> {
    fn queue(&self, index: usize) -> QueueStatus {
        let own = &self.counters[index];
        QueueStatus {
            kind: self.policy.lanes[index].discipline().word.into(),
            bytes: own.bytes,
            packets: own.packets,
            drops: own.drops,
            overlimits: own.overlimits,
            requeues: own.requeues,
            backlog: own.backlog,
            qlen: own.qlen,
            ecn_mark: own.marks,
            drop_reasons: own.reasons.iter().map(|(reason, count)| (reason.name().into(), *count)).collect(),
            arrived: own.packets + u64::from(own.qlen) + own.drops,
            peak_qlen: self.most[index],
            sojourn_ms: None,
            sojourn: Fine::default(),
            not_ip: 0,
            no_room: 0,
            not_sent: 0,
        }
    }
}
