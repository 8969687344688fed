//! Configuration of a plain queue: FIFO, CoDel, PIE, FQ-CoDel or FQ-PIE. Parameters that a scenario does not give come
//! from one of four sets: the RFCs, Linux 6.1, FreeBSD's dummynet, ns-3.37. The values are in [`crate::parameters`].

use gamelane_core::headers::ETHERNET_HEADER;
use gamelane_core::{ByteCount, Duration};

/// Limit of a queue, in packets or in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes of IP packets.
    Bytes(ByteCount),
}

/// Parameter set that a discipline uses for parameters the scenario does not give.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParameterSet {
    /// RFC 8289 (CoDel), RFC 8033 (PIE), RFC 8290 (FQ-CoDel).
    Rfc,
    /// Linux 6.1, `net/sched`.
    #[default]
    Linux,
    /// FreeBSD dummynet, `sys/netpfil/ipfw/dn_aqm_*` and `dn_sched_fq_*`.
    Dummynet,
    /// ns-3.37, its traffic-control module.
    Ns3,
}

/// Kind of a plain queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// First in, first out; drops arriving packets when full.
    Fifo,
    /// One queue with CoDel.
    Codel,
    /// One queue with PIE.
    Pie,
    /// Flow queues, each with CoDel.
    FqCodel,
    /// Flow queues, each with PIE.
    FqPie,
}

/// Configuration of a plain queue: a kind, a parameter set, and overrides. `None` takes the value of the set.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// Kind of queue.
    pub kind: QueueKind,
    /// Parameter set for everything that is `None` below.
    pub parameters: ParameterSet,
    /// Limit over all packets of the queue.
    pub limit: Option<Limit>,
    /// Delay target of CoDel and PIE.
    pub target: Option<Duration>,
    /// CoDel interval.
    pub interval: Option<Duration>,
    /// PIE update period.
    pub update: Option<Duration>,
    /// PIE burst allowance.
    pub max_burst: Option<Duration>,
    /// Whether to mark ECN-capable packets instead of dropping them.
    pub ecn: Option<bool>,
    /// FQ quantum: bytes that a flow may send per round.
    pub quantum: Option<ByteCount>,
    /// Number of FQ flow queues.
    pub flows: Option<u32>,
    /// Bytes that the set `linux` counts for each packet beside its IP bytes. They are the Ethernet header, or what the
    /// size table of a shaper has in its place (`qdisc_calculate_pkt_len`).
    pub header: u32,
}

impl QueueConfig {
    /// Makes the configuration of a queue whose parameters all come from the set `parameters`.
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
            header: ETHERNET_HEADER,
        }
    }
}
