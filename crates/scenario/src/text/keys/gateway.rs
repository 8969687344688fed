//! `[gateway]`: the queues at both ends of the link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::voap::Voap;
use crate::text::each_way::EachWay;
use crate::text::units::{QueueLimit, Rate, Size, Span, Time};
use crate::text::words::words;

/// The queues of the link; a direction left out is a FIFO of 1000 packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// In front of the uplink, in the home gateway.
    #[serde(default)]
    pub up: Queue,
    /// In front of the downlink, at the provider's end; behind a shaper, or with kind `wifi-g`, in the home gateway.
    #[serde(default)]
    pub down: Queue,
    /// Rate the gateway shapes to, so that its queues are the ones that fill. Left out: not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<EachWay<Rate>>,
    /// In the modem, where that is not the gateway: below `shape.up` or with kind `docsis`, there a FIFO of one second.
    #[serde(default, skip_serializing_if = "Queue::is_plain")]
    pub modem: Queue,
    /// At the provider's end, where `down` is not: above `shape.down` or with kind `wifi-g`.
    #[serde(default, skip_serializing_if = "Queue::is_plain")]
    pub isp: Queue,
    /// In each station and relay of kind `wifi-g`.
    #[serde(default, skip_serializing_if = "Queue::is_plain")]
    pub station: Queue,
    /// Flows that go first, by name, where a queue is `priority`; other queues do not read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Vec<String>>,
    /// Lowers TCP windows to keep the queue short. Left out: no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voap: Option<Voap>,
}

/// One queue. A parameter left out takes the value of the set named by `parameters`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Queue {
    /// Discipline.
    pub queue: Discipline,
    /// Whose parameters and details hold where this table says nothing.
    pub parameters: Parameters,
    /// Most it may hold, in packets or bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueLimit>,
    /// Delay the law aims for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Span>,
    /// Time the delay may stay above `target` before CoDel drops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
    /// Time between PIE's updates of its drop probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<Span>,
    /// Burst PIE lets through after a quiet time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_burst: Option<Time>,
    /// Mark packets that support ECN instead of dropping them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Bytes a flow may send in its turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Size>,
    /// Number of flow queues, 1 to 65536.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// What becomes of pure ACKs. Left out: they are packets like others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acks: Option<Acks>,
}

impl Default for Queue {
    /// What a gateway without queue management has.
    fn default() -> Self {
        Self {
            queue: Discipline::Fifo,
            parameters: Parameters::Linux,
            limit: None,
            target: None,
            interval: None,
            update: None,
            max_burst: None,
            ecn: None,
            quantum: None,
            flows: None,
            acks: None,
        }
    }
}

words! {
    /// Queue discipline.
    Discipline "queue" {
        /// One queue, tail drop.
        Fifo = "fifo",
        /// One queue under CoDel (RFC 8289).
        Codel = "codel",
        /// One queue under PIE (RFC 8033).
        Pie = "pie",
        /// A queue for each flow, each under CoDel (RFC 8290).
        FqCodel = "fq_codel",
        /// A queue for each flow, each under PIE.
        FqPie = "fq_pie",
        /// Strict priority: the flows of `gateway.priority`, then everything else, each a FIFO of 50 packets unless `limit`
        /// says otherwise (ALTQ PRIQ). In `up` and `down`.
        Priority = "priority",
        /// CAKE without a shaper of its own: tins by DSCP, fairness among hosts and flows, Cobalt. In `up` and `down`.
        Cake = "cake",
        /// DualPI2 (RFC 9332): L4S beside Classic. In `up` and `down`.
        DualPi2 = "dualpi2",
    }
}

words! {
    /// What becomes of pure ACKs.
    Acks "treatment of ACKs" {
        /// They go after the flows that go first and before everything else.
        Prioritise = "prioritise",
        /// Of those that wait, redundant ones are dropped; with `priority` they are also prioritised.
        Filter = "filter",
    }
}

words! {
    /// Parameter set.
    Parameters "parameter set" {
        /// RFC 8289, 8033 and 8290.
        Rfc = "rfc",
        /// Linux 6.1.
        Linux = "linux",
        /// FreeBSD's dummynet AQM.
        Dummynet = "dummynet",
        /// ns-3.37.
        Ns3 = "ns3",
    }
}

impl Queue {
    fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// The keys given here that only some disciplines read, each with those disciplines.
    pub(crate) fn selective(&self) -> impl Iterator<Item = (&'static str, &'static [Discipline])> {
        let given = [
            self.target.is_some(),
            self.interval.is_some(),
            self.update.is_some(),
            self.max_burst.is_some(),
            self.ecn.is_some(),
            self.quantum.is_some(),
            self.flows.is_some(),
            self.acks.is_some(),
        ];
        SELECTIVE.into_iter().zip(given).filter_map(|(row, given)| given.then_some(row))
    }
}

/// Keys that only some disciplines read.
pub(crate) const SELECTIVE: [(&str, &[Discipline]); 8] = [
    ("target", &[Discipline::Codel, Discipline::Pie, Discipline::FqCodel, Discipline::FqPie]),
    ("interval", &[Discipline::Codel, Discipline::FqCodel]),
    ("update", &[Discipline::Pie, Discipline::FqPie]),
    ("max_burst", &[Discipline::Pie, Discipline::FqPie]),
    ("ecn", &[Discipline::Codel, Discipline::Pie, Discipline::FqCodel, Discipline::FqPie]),
    ("quantum", &[Discipline::FqCodel, Discipline::FqPie]),
    ("flows", &[Discipline::FqCodel, Discipline::FqPie]),
    ("acks", &[Discipline::Priority, Discipline::Cake]),
];
