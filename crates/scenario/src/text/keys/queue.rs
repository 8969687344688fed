//! A queue of `[gateway]`: its discipline, and what the discipline can be told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::link::Overhead;
use crate::text::range::Range;
use crate::text::switch::Switch;
use crate::text::units::{Percent, QueueLimit, Rate, Size, Span, Time};
use crate::text::words::words;

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
    /// Time between PIE's or DualPI2's updates of the drop probability.
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
    /// What becomes of pure ACKs. Left out: `plain`. With classes of your own, a rule of `ack = true` says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acks: Option<Acks>,
    /// Rate of the queue's own shaper. Left out or `false`: CAKE has none; HTB has the rate of `shape` or of the link, where
    /// that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Switch<Rate>>,
    /// How CAKE sorts packets by DSCP. Left out: `diffserv3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tins: Option<Tins>,
    /// Whom CAKE is fair among. Left out: `triple-isolate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Round trip CAKE's law is made for. Left out: `100ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Span>,
    /// What CAKE and HTB count on top of each IP packet. Left out: what the link below adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Overhead>,
    /// DualPI2's factor from the base probability to that of marks for L4S (k). Left out: 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coupling: Option<f64>,
    /// DualPI2's gain on the distance from the target, in 1/s. Left out: 0.16.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// DualPI2's gain on the trend, in 1/s. Left out: 3.2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Delay of the L4S queue from which everything is marked, or from which to which ever more is. Left out: `1ms`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Range<Time>>,
    /// Share of the bytes DualPI2 keeps for the Classic queue, in whole per cent. Left out: `10%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classic_share: Option<Percent>,
    /// Instead of `classic_share`: the packet that has waited longer goes first, where one of the L4S queue counts as
    /// having waited so much longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_shift: Option<Time>,
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
            bandwidth: None,
            tins: None,
            isolation: None,
            rtt: None,
            overhead: None,
            coupling: None,
            alpha: None,
            beta: None,
            step: None,
            classic_share: None,
            time_shift: None,
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
        /// Strict priority: one class before the next, each a FIFO of 50 packets unless `limit` says otherwise (ALTQ PRIQ).
        /// Classes are the flows of `gateway.priority` and everything else, or those of `gateway.class`.
        Priority = "priority",
        /// Bandwidth based: the same classes take turns by their quanta (deficit round robin).
        Drr = "drr",
        /// Class based: the same classes have rates, and borrow up to their ceilings (HTB). Those of `gateway.priority` and
        /// the rest have equal rates, and the former borrow first.
        Htb = "htb",
        /// CAKE: tins by DSCP, fairness among hosts and flows, Cobalt, and a shaper if `bandwidth` says so.
        Cake = "cake",
        /// DualPI2 (RFC 9332): L4S beside Classic.
        DualPi2 = "dualpi2",
    }
}

words! {
    /// What becomes of pure ACKs.
    Acks "treatment of ACKs" {
        /// They are packets like others.
        Plain = "plain",
        /// They have a class of their own, after the flows that go first and before everything else.
        Prioritise = "prioritise",
        /// Of those that wait, redundant ones are dropped; where there are classes they also have one of their own.
        Filter = "filter",
        /// The same, and one that waits is dropped as soon as the next makes it redundant.
        FilterAggressive = "filter-aggressive",
    }
}

words! {
    /// How CAKE sorts packets.
    Tins "set of tins" {
        /// Not at all.
        BestEffort = "besteffort",
        /// Bulk, best effort, voice.
        Diffserv3 = "diffserv3",
        /// Bulk, best effort, video, voice.
        Diffserv4 = "diffserv4",
    }
}

words! {
    /// Whom CAKE is fair among.
    Isolation "kind of isolation" {
        /// Flows.
        Flows = "flows",
        /// Sources, then flows: for the way up.
        DualSource = "dual-srchost",
        /// Destinations, then flows: for the way down.
        DualDestination = "dual-dsthost",
        /// Sources and destinations, then flows.
        Triple = "triple-isolate",
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

impl Discipline {
    /// Whether it tells the classes of `[gateway]` apart.
    pub(crate) const fn has_classes(self) -> bool {
        matches!(self, Self::Priority | Self::Drr | Self::Htb)
    }
}

impl Queue {
    pub(crate) fn is_plain(&self) -> bool {
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
            self.acks.is_some_and(|acks| acks != Acks::Plain),
            self.bandwidth.is_some_and(|rate| rate.on().is_some()),
            self.tins.is_some(),
            self.isolation.is_some(),
            self.rtt.is_some(),
            self.overhead.is_some(),
            self.coupling.is_some(),
            self.alpha.is_some(),
            self.beta.is_some(),
            self.step.is_some(),
            self.classic_share.is_some(),
            self.time_shift.is_some(),
        ];
        SELECTIVE.into_iter().zip(given).filter_map(|(row, given)| given.then_some(row))
    }
}

/// Keys that only some disciplines read.
pub(crate) const SELECTIVE: [(&str, &[Discipline]); 19] = {
    use Discipline::{Cake, Codel, Drr, DualPi2, FqCodel, FqPie, Htb, Pie, Priority};
    [
        ("target", &[Codel, Pie, FqCodel, FqPie, DualPi2]),
        ("interval", &[Codel, FqCodel]),
        ("update", &[Pie, FqPie, DualPi2]),
        ("max_burst", &[Pie, FqPie]),
        ("ecn", &[Codel, Pie, FqCodel, FqPie]),
        ("quantum", &[FqCodel, FqPie]),
        ("flows", &[FqCodel, FqPie]),
        ("acks", &[Priority, Drr, Htb, Cake]),
        ("bandwidth", &[Htb, Cake]),
        ("tins", &[Cake]),
        ("isolation", &[Cake]),
        ("rtt", &[Cake]),
        ("overhead", &[Htb, Cake]),
        ("coupling", &[DualPi2]),
        ("alpha", &[DualPi2]),
        ("beta", &[DualPi2]),
        ("step", &[DualPi2]),
        ("classic_share", &[DualPi2]),
        ("time_shift", &[DualPi2]),
    ]
};
