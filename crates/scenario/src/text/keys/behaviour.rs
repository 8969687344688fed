//! `[gateway] detector`: what counts as a game or a call by behaviour.

use gamelane_core::{ByteCount, Protocol};
use gamelane_qdisc::classify::{BehaviourParameters, FlowTableParameters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::range::Deviation;
use crate::text::units::{Rate, Size, Span};
use crate::text::words::words;

/// What counts as real time, both ways and window after window. The bounds are our construction (docs/models/classify.md).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Detector {
    /// Fewest packets a second, each way.
    pub slowest: u32,
    /// Most packets a second, each way.
    pub fastest: u32,
    /// Largest mean size of its IP packets.
    pub largest: Size,
    /// Highest rate, each way.
    pub rate: Rate,
    /// How uneven the gaps between packets may be: their standard deviation by their mean.
    pub gap_deviation: Deviation,
    /// Over which transport. `"any"` judges games over TCP as well.
    pub protocol: Judged,
    /// Length of a window.
    pub window: Span,
    /// Windows in a row that make a flow real-time, 1 to 250.
    pub promote_after: u8,
    /// Windows in a row that unmake it, 1 to 250.
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
    /// Transports whose flows are judged.
    Judged "transport" {
        /// UDP.
        Udp = "udp",
        /// TCP.
        Tcp = "tcp",
        /// Either.
        Any = "any",
    }
}
