//! The status of a gateway whose queues are Linux's.

use std::collections::BTreeMap;

use gamelane_core::{Direction, Instant};
use gamelane_policy::Policy;
use gamelane_qdisc::Isolates;
use gamelane_service::histogram::Fine;

use super::verdict::{QueueScene, Scene};
use super::{
    IoStatus, QueueStatus, SCHEMA, ShaperStatus, Spread, State, Status, Verdict, WatchStatus, judge, listed,
};
use crate::gateway::Account;
use crate::netlink::Counters;
use crate::watched::Watched;

/// What is known of such a gateway.
#[derive(Debug)]
pub struct KernelView<'a> {
    /// The policy in force; `None` if somebody else set the queues up.
    pub policy: Option<&'a Policy>,
    /// Queues, indexed by [`Direction::index`]; `None` where there is none to watch.
    pub queues: [Option<KernelQueue<'a>>; 2],
    /// Number of times the policy changed.
    pub reloads: u64,
    /// Why Linux was chosen.
    pub why: &'static str,
    /// What is known of flows; `None` if they are not seen.
    pub watched: Option<&'a Watched>,
    /// How they are seen.
    pub watch: WatchStatus,
}

/// A queue of Linux.
#[derive(Debug)]
pub struct KernelQueue<'a> {
    /// Its discipline.
    pub kind: &'a str,
    /// What it keeps apart; `None` if that is not known.
    pub isolates: Option<Isolates>,
    /// Its counters.
    pub counters: &'a Counters,
    /// Most packets that waited at a look.
    pub most: u32,
    /// What the last second showed.
    pub shaper: ShaperStatus,
    /// Number of drops for each reason, by the kernel's name.
    pub reasons: BTreeMap<String, u64>,
}

impl Status {
    /// Describes such a gateway at `now`. Its interfaces are left empty.
    pub fn of_kernel(view: &KernelView<'_>, now: Instant) -> Self {
        let each = |direction: Direction| {
            let queue = view.queues[direction.index()].as_ref()?;
            Some((direction.name().to_owned(), queue, view.account(direction)))
        };
        let queues = || Direction::BOTH.into_iter().filter_map(each);
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            policy: view.policy.map(|policy| policy.name.clone()),
            policy_hash: view.policy.map(|policy| policy.hash.clone()),
            policy_refused: None,
            reloads: view.reloads,
            uptime_s: now.as_secs_f64(),
            interfaces: Default::default(),
            links: Default::default(),
            io: IoStatus { kind: "kernel".into(), zero_copy: false, why: view.why.into() },
            queues: queues().map(|(name, queue, account)| (name, queue.status(account))).collect(),
            voap: None,
            verdict: view.verdict(now),
            flows: view.watched.map(|watched| listed(watched.truth(), now)).unwrap_or_default(),
            flows_forgotten: view.watched.map_or(0, |watched| watched.truth().forgotten()),
            pool: None,
            engine: None,
            watch: Some(view.watch.clone()),
            shaper: queues().map(|(name, queue, _)| (name, queue.shaper)).collect(),
            autorate: Default::default(),
            tap: None,
        }
    }
}

impl KernelView<'_> {
    fn account(&self, direction: Direction) -> Option<&Account> {
        Some(self.watched?.account(direction))
    }

    fn verdict(&self, now: Instant) -> Verdict {
        let Some(watched) = self.watched else { return Verdict { state: State::Unknown, why: Vec::new() } };
        let queues = self.queues.each_ref().map(|queue| QueueScene {
            packets: queue.as_ref().map_or(0, |queue| queue.counters.qlen),
            isolates: queue.as_ref().and_then(|queue| queue.isolates),
            is_shaped: queue.as_ref().is_some_and(|queue| queue.shaper.rate_bps.is_some()),
        });
        judge(&Scene { truth: watched.truth(), queues }, now)
    }
}

impl KernelQueue<'_> {
    fn status(&self, account: Option<&Account>) -> QueueStatus {
        let own = self.counters;
        QueueStatus {
            kind: self.kind.into(),
            bytes: own.bytes,
            packets: own.packets,
            drops: own.drops,
            overlimits: own.overlimits,
            requeues: own.requeues,
            backlog: own.backlog,
            qlen: own.qlen,
            ecn_mark: own.marks,
            drop_reasons: own.reasons.iter().map(|(reason, count)| (reason.name().into(), *count)).collect(),
            kernel_reasons: self.reasons.clone(),
            arrived: own.packets + u64::from(own.qlen) + own.drops,
            peak_qlen: self.most.max(account.map_or(0, |account| account.most)),
            sojourn_ms: account.map(|account| Spread::from(&account.sojourn)),
            sojourn: account.map_or(Fine::default(), |account| account.sojourn),
            not_ip: account.map_or(0, |account| account.not_ip),
            no_room: 0,
            not_sent: 0,
        }
    }
}
