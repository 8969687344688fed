//! The parameter sets `rfc`, `linux`, `dummynet` and `ns3`. `docs/models/{codel,pie,fq}.md` list them side by side.
//!
//! | set | source |
//! |---|---|
//! | `rfc` | RFC 8289 sections 4 and 5, RFC 8033 sections 4 and 5, RFC 8290 sections 4 and 5 |
//! | `linux` | Linux 6.1 `net/sched/sch_{codel,fq_codel}.c`, Linux 6.12 `net/sched/sch_{pie,fq_pie}.c` |
//! | `dummynet` | FreeBSD `sys/netpfil/ipfw/dn_aqm_{codel,pie}.[ch]`, `dn_sched_fq_{codel,pie}.c` |
//! | `ns3` | ns-3.37 `src/traffic-control` |
//!
//! Lengths count IP bytes. Where an implementation also counts the Ethernet header, `charged_header` adds it.

use gamelane_core::headers::ETHERNET_HEADER;
use gamelane_core::{ByteCount, Duration};

use crate::ack_filter::AckFilterMode;
use crate::aqm::codel::{CodelParameters, Guard, InverseRoot, Reentry};
use crate::aqm::pie::{BurstClock, Derandomise, LowDelay, OVERFLOW, PieParameters, Unmeasured};
use crate::config::{Limit, ParameterSet, QueueConfig, QueueKind};
use crate::fq::{FqParameters, Overload, Requeue};

/// CoDel's parameters for a link with IP packets of up to `mtu` bytes.
pub const fn codel(set: ParameterSet, mtu: u64) -> CodelParameters {
    CodelParameters {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        guard: match set {
            ParameterSet::Dummynet => Guard::Learned(500),
            ParameterSet::Ns3 => Guard::Fixed(1500),
            ParameterSet::Rfc | ParameterSet::Linux => Guard::Fixed(mtu),
        },
        ecn: false,
        strict: matches!(set, ParameterSet::Linux),
        memory_intervals: if matches!(set, ParameterSet::Dummynet) { 8 } else { 16 },
        reentry: if matches!(set, ParameterSet::Dummynet) { Reentry::MinusTwo } else { Reentry::SinceLast },
        root: if matches!(set, ParameterSet::Linux) { InverseRoot::Newton } else { InverseRoot::Exact },
    }
}

/// PIE's parameters for a link with IP packets of up to `mtu` bytes.
pub const fn pie(set: ParameterSet, mtu: u64) -> PieParameters {
    PieParameters {
        target: Duration::from_millis(15),
        update: Duration::from_millis(15),
        alpha: 0.125,
        beta: 1.25,
        max_burst: Duration::from_millis(150),
        guard: match set {
            ParameterSet::Rfc => 2 * 1024,
            // `backlog < 2 * psched_mtu` passes, where both count the Ethernet header.
            ParameterSet::Linux => 2 * (mtu + ETHERNET_HEADER as u64) - 1,
            ParameterSet::Dummynet => 2 * 800,
            ParameterSet::Ns3 => 2 * 1000,
        },
        guard_header: if matches!(set, ParameterSet::Linux) { ETHERNET_HEADER } else { 0 },
        low_delay: if matches!(set, ParameterSet::Linux) { LowDelay::AtDequeue } else { LowDelay::AtUpdate },
        ecn: false,
        ecn_threshold: 0.1,
        cap_growth: true,
        kick_above_250ms: matches!(set, ParameterSet::Linux),
        derandomise: match set {
            ParameterSet::Rfc | ParameterSet::Dummynet => Derandomise::ClearedByEachSignal,
            ParameterSet::Linux => Derandomise::KeptByForcedMark,
            ParameterSet::Ns3 => Derandomise::Off,
        },
        idle_decay: if matches!(set, ParameterSet::Linux) { 1.0 - 1.0 / 64.0 } else { 0.98 },
        unmeasured: match set {
            ParameterSet::Rfc | ParameterSet::Ns3 => Unmeasured::Updates,
            ParameterSet::Linux => Unmeasured::SkipsDecay,
            ParameterSet::Dummynet => Unmeasured::SkipsUpdate,
        },
        ceiling: if matches!(set, ParameterSet::Linux) { OVERFLOW } else { 1.0 },
        burst_spent_by: if matches!(set, ParameterSet::Linux) {
            BurstClock::Dequeues
        } else {
            BurstClock::Updates
        },
        first_update: if matches!(set, ParameterSet::Linux) {
            Duration::from_millis(500)
        } else {
            Duration::from_millis(15)
        },
        reset_on_reactivation: matches!(set, ParameterSet::Dummynet),
    }
}

/// Parameters of the scheduler of FQ-CoDel and FQ-PIE.
pub const fn fq(kind: QueueKind, set: ParameterSet) -> FqParameters {
    let dummynet = matches!(set, ParameterSet::Dummynet);
    FqParameters {
        flows: 1024,
        limit: Limit::Packets(10_240),
        quantum: 1514,
        charged_header: if dummynet { 0 } else { ETHERNET_HEADER },
        overload: match (kind, set) {
            (_, ParameterSet::Dummynet) => Overload::LongestByPackets,
            (QueueKind::FqPie, _) => Overload::TailDrop,
            (_, ParameterSet::Rfc) => Overload::FattestByBytes { batch: 1 },
            _ => Overload::FattestByBytes { batch: 64 },
        },
        requeue_empty_new: if matches!(set, ParameterSet::Linux) {
            Requeue::IfOthersWait
        } else {
            Requeue::Always
        },
        zero_deficit_waits: !dummynet,
        reset_on_reactivation: dummynet,
        law_sees_total: matches!((kind, set), (QueueKind::FqCodel, ParameterSet::Linux)),
        ack_filter: AckFilterMode::Off,
    }
}

/// Limit of a discipline when the scenario gives none. `rfc` uses Linux's limits for single queues.
pub const fn default_limit(kind: QueueKind, set: ParameterSet) -> Limit {
    match (kind, set) {
        (QueueKind::FqCodel | QueueKind::FqPie, _) => Limit::Packets(10_240),
        (_, ParameterSet::Dummynet) => Limit::Packets(50),
        (QueueKind::Codel, ParameterSet::Ns3) => Limit::Bytes(ByteCount(1500 * 1000)),
        (QueueKind::Pie, ParameterSet::Ns3) => Limit::Packets(25),
        _ => Limit::Packets(1000),
    }
}

/// Whether ECN marking is on when the scenario does not say.
pub const fn default_ecn(kind: QueueKind, set: ParameterSet) -> bool {
    matches!(
        (kind, set),
        (QueueKind::FqCodel, ParameterSet::Rfc | ParameterSet::Linux | ParameterSet::Ns3)
            | (QueueKind::FqPie, ParameterSet::Ns3)
    )
}

impl QueueConfig {
    /// The limit: the scenario's, or else that of the set.
    pub fn resolved_limit(&self) -> Limit {
        self.limit.unwrap_or(default_limit(self.kind, self.parameters))
    }

    /// CoDel's parameters: those of the set with the scenario's overrides.
    pub fn resolved_codel(&self, mtu: u64) -> CodelParameters {
        let base = codel(self.parameters, mtu);
        CodelParameters {
            target: self.target.unwrap_or(base.target),
            interval: self.interval.unwrap_or(base.interval),
            ecn: self.ecn.unwrap_or(default_ecn(self.kind, self.parameters)),
            ..base
        }
    }

    /// PIE's parameters: those of the set with the scenario's overrides.
    pub fn resolved_pie(&self, mtu: u64) -> PieParameters {
        let base = pie(self.parameters, mtu);
        PieParameters {
            target: self.target.unwrap_or(base.target),
            update: self.update.unwrap_or(base.update),
            max_burst: self.max_burst.unwrap_or(base.max_burst),
            ecn: self.ecn.unwrap_or(default_ecn(self.kind, self.parameters)),
            guard_header: self.header_or(base.guard_header),
            ..base
        }
    }

    /// The scheduler's parameters: those of the set with the scenario's overrides.
    pub fn resolved_fq(&self) -> FqParameters {
        let base = fq(self.kind, self.parameters);
        FqParameters {
            flows: self.flows.unwrap_or(base.flows),
            limit: self.resolved_limit(),
            quantum: self.quantum.map_or(base.quantum, |quantum| quantum.bytes() as u32),
            charged_header: self.header_or(base.charged_header),
            ..base
        }
    }

    fn header_or(&self, base: u32) -> u32 {
        if self.parameters == ParameterSet::Linux { self.header } else { base }
    }
}
