//! A queue of `[gateway]`: its discipline and the parameters of that discipline.

use gamelane_core::Catalogued;
use gamelane_qdisc::{Discipline, Isolates};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::link::Overhead;
use super::selective::selective;
use crate::text::range::Range;
use crate::text::switch::Switch;
use crate::text::units::{Percent, QueueLimit, Rate, Size, Span, Time};
use crate::text::words::{Word, words};

/// One queue. A parameter that is not given takes its value from the set that `parameters` names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Queue {
    /// Queue discipline.
    pub queue: Word<Discipline>,
    /// Implementation whose default parameters and details apply.
    pub parameters: Parameters,
    /// Largest queue, in packets or bytes. `cake` takes bytes only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<QueueLimit>,
    /// Target delay of the AQM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Span>,
    /// CoDel: time that the delay may stay above `target` before the first drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Span>,
    /// PIE and DualPI2: time between updates of the drop probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<Span>,
    /// PIE: length of a burst that passes without drops after a quiet time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_burst: Option<Time>,
    /// Marks packets that support ECN instead of dropping them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Bytes that a flow may send per turn, at most `1MiB`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<Size>,
    /// Number of flow queues, 1 to 65536.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// Treatment of pure ACKs. With your own classes, write a rule with `ack = true` instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "plain"))]
    pub acks: Option<Acks>,
    /// Rate of the queue's own shaper. CAKE's default is the rate of `shape`. `false` gives CAKE no rate. HTB's default is
    /// the rate of `shape`, or else that of the link if it is fixed. `false` gives HTB its default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Switch<Rate>>,
    /// CAKE: tins, which sort packets by DSCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "diffserv3"))]
    pub tins: Option<Tins>,
    /// CAKE: hosts and flows that get fair shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "triple-isolate"))]
    pub isolation: Option<Isolation>,
    /// CAKE: round trip time for which its AQM is tuned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "100ms"))]
    pub rtt: Option<Span>,
    /// CAKE: time from the first packet of a flow that waited too long to the first drop or mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "linux"))]
    pub grace: Option<Grace>,
    /// CAKE and HTB: framing that the shaper counts in addition to IP packets. Default: the framing of the link behind
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Overhead>,
    /// CAKE: counts dropped packets as sent. Use it downstream, where dropped packets have already crossed the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub ingress: Option<bool>,
    /// CAKE: sets the DSCP of every packet to 0 once it has chosen the tin.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "false"))]
    pub wash: Option<bool>,
    /// DualPI2: coupling factor k, from the base probability to the marking probability of L4S. Above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "2"))]
    pub coupling: Option<f64>,
    /// DualPI2: gain on the distance from `target`, in 1/s. 0 or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "0.16"))]
    pub alpha: Option<f64>,
    /// DualPI2: gain on the trend of the delay, in 1/s. 0 or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "3.2"))]
    pub beta: Option<f64>,
    /// DualPI2: marking threshold of the L4S queue. One time: packets that waited longer are all marked. A range: the
    /// marking probability rises from 0 to 1 between the two.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "1ms"))]
    pub step: Option<Range<Time>>,
    /// DualPI2: share of the bytes reserved for the Classic queue, in whole per cent, 1% to 99%.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "10%"))]
    pub classic_share: Option<Percent>,
    /// DualPI2: schedules by waiting time instead of `classic_share`. This much is added to the waiting time of L4S
    /// packets, so they usually go first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_shift: Option<Time>,
}

impl Default for Queue {
    /// The queue of a gateway without queue management.
    fn default() -> Self {
        Self {
            queue: Word(Discipline::Fifo),
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
            grace: None,
            overhead: None,
            ingress: None,
            wash: None,
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
    /// Treatment of pure ACKs.
    Acks "treatment of ACKs" {
        /// Same as other packets.
        Plain = "plain",
        /// A class of their own, after the flows of `gateway.priority` and before all others.
        Prioritise = "prioritise",
        /// Drops the oldest queued ACK if at least two queued ones are redundant. `priority`, `drr` and `htb` also give
        /// ACKs a class of their own.
        Filter = "filter",
        /// Like `filter`, but one redundant ACK is enough.
        FilterAggressive = "filter-aggressive",
    }
}

words! {
    /// Tins of CAKE, which sort packets by DSCP.
    Tins "set of tins" {
        /// One tin for all packets.
        BestEffort = "besteffort",
        /// Three tins: bulk, best effort, voice.
        Diffserv3 = "diffserv3",
        /// Four tins: bulk, best effort, video, voice.
        Diffserv4 = "diffserv4",
        /// Eight tins, one for each kind of code points.
        Diffserv8 = "diffserv8",
        /// Eight tins, by the upper three bits of the DSCP.
        Precedence = "precedence",
    }
}

words! {
    /// Hosts and flows among which CAKE is fair.
    Isolation "isolation" {
        /// All packets are one flow.
        Blind = "flowblind",
        /// Fair among source hosts.
        Sources = "srchost",
        /// Fair among destination hosts.
        Destinations = "dsthost",
        /// Fair among pairs of hosts.
        Hosts = "hosts",
        /// Fair among flows.
        Flows = "flows",
        /// Fair among source hosts, then among their flows. For the upstream.
        DualSource = "dual-srchost",
        /// Fair among destination hosts, then among their flows. For the downstream.
        DualDestination = "dual-dsthost",
        /// Fair among source and destination hosts, then among their flows.
        Triple = "triple-isolate",
    }
}

words! {
    /// Time from the first packet of a flow that waited too long to CAKE's first drop or mark.
    Grace "grace" {
        /// As in Linux 6.12: none in a queue without earlier drops or marks, or without packets for an interval. Else an
        /// interval.
        Linux = "linux",
        /// Always an interval: `rtt`, and more on slow links.
        Interval = "interval",
    }
}

words! {
    /// Implementation whose parameters apply.
    Parameters "parameter set" {
        /// RFC 8289, RFC 8033 and RFC 8290.
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
    /// Whether it tells the classes of `[gateway]` apart.
    pub fn has_classes(&self) -> bool {
        self.queue.0.descriptor().facts.isolates == Isolates::Classes
    }

    pub(crate) fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// What to write instead of an option of tc-cake(8) that is no key of a queue.
pub(crate) fn instead_of(option: &str) -> Option<String> {
    let option = option.to_lowercase().replace('_', "-");
    if option.parse::<Tins>().is_ok() {
        return Some(format!("write tins = \"{option}\""));
    }
    if option.parse::<Isolation>().is_ok() && option != "flows" {
        return Some(format!("write isolation = \"{option}\""));
    }
    let hint = match option.strip_prefix("no-").or_else(|| option.strip_prefix("no")).unwrap_or(&option) {
        "nat" => "leave it out: on a router, gamelane switches CAKE's `nat` on where it is needed",
        "fwmark" => {
            "write queue = \"htb\" with [[gateway.class]] and [[gateway.rule]]: CAKE sorts by DSCP only"
        }
        "autorate-ingress" => "write autorate = true and a shape in [gateway]: it sets CAKE's rate",
        "split-gso" => "leave it out: large packets are always split",
        "egress" => "write ingress = false",
        "wash" => "write wash = false",
        "ack-filter" => "write acks = \"filter\"",
        "ack-filter-aggressive" => "write acks = \"filter-aggressive\"",
        "memlimit" => "write limit, such as limit = \"4MiB\"",
        "unlimited" => "write bandwidth = false",
        "mpu" | "atm" | "ptm" | "ethernet" | "docsis" => {
            "write overhead, such as overhead = \"docsis\" or { kind = \"ptm\", bytes = 22 }"
        }
        _ => return None,
    };
    Some(hint.into())
}

selective! {
    Queue;
    everywhere: queue, parameters, limit;
    selective:
        target,
        interval,
        update,
        max_burst,
        ecn,
        quantum,
        flows,
        acks if acks.is_some_and(|acks| acks != Acks::Plain),
        bandwidth if bandwidth.is_some_and(|rate| rate.on().is_some()),
        tins,
        isolation,
        rtt,
        grace,
        overhead,
        ingress,
        wash,
        coupling,
        alpha,
        beta,
        step,
        classic_share,
        time_shift;
}
