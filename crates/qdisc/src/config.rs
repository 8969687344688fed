//! What a queue is made of, as a scenario says it, with the parameter sets of the four implementations people compare
//! (reference/aqm.md): the RFCs, Linux 6.1, FreeBSD's dummynet and ns-3.

use gamelane_core::{ByteCount, Duration};

/// A queue limit: the unit is part of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes of IP packets.
    Bytes(ByteCount),
}

/// Whose parameters a discipline takes where the scenario does not give its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParameterSet {
    /// RFC 8289, 8033, 8290.
    Rfc,
    /// Linux 6.1 `net/sched`.
    #[default]
    Linux,
    /// FreeBSD dummynet AQM.
    Dummynet,
    /// ns-3.37.
    Ns3,
}

/// The disciplines by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// Drop-tail.
    Fifo,
    /// One queue under CoDel.
    Codel,
    /// One queue under PIE.
    Pie,
    /// Flow queues, each under CoDel.
    FqCodel,
    /// Flow queues, each under PIE.
    FqPie,
}

/// A queue as a scenario describes it: a kind, a parameter set, and overrides (`None` takes the set's value).
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// Discipline.
    pub kind: QueueKind,
    /// Where parameters not given here come from.
    pub parameters: ParameterSet,
    /// Total limit.
    pub limit: Option<Limit>,
    /// CoDel and PIE delay target.
    pub target: Option<Duration>,
    /// CoDel interval.
    pub interval: Option<Duration>,
    /// PIE update period.
    pub update: Option<Duration>,
    /// PIE burst allowance.
    pub max_burst: Option<Duration>,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: Option<bool>,
    /// FQ quantum in bytes.
    pub quantum: Option<ByteCount>,
    /// FQ bucket count.
    pub flows: Option<u32>,
}

impl QueueConfig {
    /// A queue of this kind with every parameter from `parameters`.
    pub const fn new(kind: QueueKind, parameters: ParameterSet) -> Self {
        Self {
            kind,
            parameters,
            limit: None,
            target: None,
            interval: None,
            update: None,
            max_burst: None,
            ecn: None,
            quantum: None,
            flows: None,
        }
    }
}
