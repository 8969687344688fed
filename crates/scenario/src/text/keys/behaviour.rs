//! `[gateway] detector`: the bounds by which a flow counts as a game or a call.

use gamelane_core::{ByteCount, Protocol};
use gamelane_qdisc::classify::{BehaviourParameters, FlowTableParameters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::range::Deviation;
use crate::text::units::{Rate, Size, Span};
use crate::text::words::words;

/// Detects real-time flows (games and calls) by their behaviour. A flow must meet every bound in both directions for
/// several windows in a row. The bounds are our construction (docs/models/classify.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Detector {
    /// Lowest packet rate in each direction, in packets per second.
    pub slowest: u32,
    /// Highest packet rate in each direction, in packets per second.
    pub fastest: u32,
    /// Largest mean size of the IP packets in each direction.
    pub largest: Size,
    /// Highest rate in each direction.
    pub rate: Rate,
    /// Largest variation of the gaps between packets: their standard deviation divided by their mean.
    pub gap_deviation: Deviation,
    /// Transport protocol of the flows to examine. `any` includes games over TCP.
    pub protocol: Judged,
    /// Length of a window.
    pub window: Span,
    /// Windows in a row within the bounds before a flow counts as real-time, 1 to 250.
    pub promote_after: u8,
    /// Windows in a row outside the bounds before a flow no longer counts as real-time, 1 to 250.
    pub demote_after: u8,
}

impl Default for Detector {
    fn default() -> Self {
        let table = FlowTableParameters::default();
        let BehaviourParameters {
            protocol,
            slowest_packets_per_second,
            fastest_packets_per_second,
            largest_mean_len,
            highest_rate,
            widest_gap_deviation_percent,
            promote_after,
            demote_after,
        } = table.behaviour;
        Self {
            slowest: slowest_packets_per_second,
            fastest: fastest_packets_per_second,
            largest: Size(ByteCount(largest_mean_len.bytes())),
            rate: Rate(highest_rate),
            gap_deviation: Deviation(widest_gap_deviation_percent),
            protocol: match protocol {
                Some(Protocol::Tcp) => Judged::Tcp,
                Some(_) => Judged::Udp,
                None => Judged::Any,
            },
            window: Span(table.window),
            promote_after,
            demote_after,
        }
    }
}

words! {
    /// Transport protocol of the examined flows.
    Judged "transport protocol" {
        /// UDP.
        Udp = "udp",
        /// TCP.
        Tcp = "tcp",
        /// UDP and TCP.
        Any = "any",
    }
}
