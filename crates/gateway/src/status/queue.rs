//! A queue, with the key names of `tc -s -j qdisc show`, and window control.

use std::collections::BTreeMap;

use gamelane_core::{Direction, DropCounts, DropReason, Duration};
use gamelane_policy::Policy;
use gamelane_service::histogram::{Counter, Fine, Histogram};
use gamelane_stage::voap::VoapCounters;
use serde::{Deserialize, Serialize};

use crate::gateway::Gateway;

/// A queue. Keys up to `ecn_mark` are named as `tc` names them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueStatus {
    /// Discipline, as in a scenario.
    pub kind: String,
    /// IP bytes that left; those of Linux's queues include what the shaper counts for the link.
    pub bytes: u64,
    /// Packets that left.
    pub packets: u64,
    /// Packets dropped by the queue.
    pub drops: u64,
    /// Times the shaper held back a waiting packet.
    pub overlimits: u64,
    /// Packets that Linux put back; always 0 in user space.
    pub requeues: u64,
    /// Bytes that wait.
    pub backlog: u64,
    /// Packets that wait.
    pub qlen: u32,
    /// Packets marked.
    pub ecn_mark: u64,
    /// Drops by reason.
    pub drop_reasons: BTreeMap<String, u64>,
    /// Packets on the wire that were dropped while Linux's queues are watched, by the kernel's name of the reason, such as
    /// `QDISC_OVERLIMIT`.
    #[serde(default)]
    pub kernel_reasons: BTreeMap<String, u64>,
    /// Packets that arrived.
    pub arrived: u64,
    /// Most packets that waited at once.
    pub peak_qlen: u32,
    /// Queueing delay of packets that left; `null` if it is not measured.
    pub sojourn_ms: Option<Spread>,
    /// The same, for the histogram of the metrics.
    #[serde(skip)]
    pub sojourn: Fine<u64>,
    /// Frames without a whole IP packet.
    pub not_ip: u64,
    /// Frames lost because the pool was full.
    pub no_room: u64,
    /// Frames that the interface refused.
    pub not_sent: u64,
}

/// Mean and quantiles in milliseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

impl<C: Counter, const N: usize> From<&Histogram<C, N>> for Spread {
    fn from(histogram: &Histogram<C, N>) -> Self {
        let ms = |delay: Duration| delay.as_millis_f64();
        let quantile = |quantile| histogram.quantile(quantile).map_or(0.0, ms);
        Self {
            mean: ms(histogram.mean()),
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            max: ms(histogram.max()),
        }
    }
}

/// Window control.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct VoapStatus {
    /// TCP segments inspected.
    pub segments: u64,
    /// Windows lowered.
    pub lowered: u64,
    /// Segments of connections that started before the gateway, or that found no room in its table.
    pub unknown: u64,
    /// Connections whose start was seen.
    pub opened: u64,
    /// Bytes of QUIC in steered directions. QUIC encrypts its windows.
    pub quic_bytes: u64,
}

impl From<&VoapCounters> for VoapStatus {
    fn from(counters: &VoapCounters) -> Self {
        Self {
            segments: counters.segments,
            lowered: counters.lowered,
            unknown: counters.unknown,
            opened: counters.opened,
            quic_bytes: counters.quic.iter().map(|bytes| bytes.bytes()).sum(),
        }
    }
}

impl QueueStatus {
    pub(super) fn of(gateway: &Gateway, policy: &Policy, direction: Direction) -> Self {
        let (account, backlog) = (gateway.account(direction), gateway.backlog(direction));
        let counters = &account.counters;
        Self {
            kind: policy.lanes[direction.index()].discipline().word.into(),
            bytes: account.bytes,
            packets: counters.delivered,
            drops: counters.dropped.total(),
            overlimits: gateway.held(direction),
            requeues: 0,
            backlog: backlog.bytes,
            qlen: backlog.packets,
            ecn_mark: counters.marked,
            drop_reasons: reasons(&counters.dropped),
            kernel_reasons: BTreeMap::new(),
            arrived: counters.arrived,
            peak_qlen: account.most,
            sojourn_ms: Some(Spread::from(&account.sojourn)),
            sojourn: account.sojourn,
            not_ip: account.not_ip,
            no_room: account.no_room,
            not_sent: account.not_sent,
        }
    }
}

/// Drops by reason; only reasons that occurred.
pub(super) fn reasons(drops: &DropCounts) -> BTreeMap<String, u64> {
    let counted = DropReason::ALL.into_iter().filter(|reason| drops.of(*reason) > 0);
    counted.map(|reason| (reason.name().into(), drops.of(reason))).collect()
}
