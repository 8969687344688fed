//! `[[gateway.rule]]`: conditions that assign packets to classes.

use gamelane_core::{Direction, Protocol};
use gamelane_qdisc::classify;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::dscp::Dscp;
use crate::text::keys::flow::Way;
use crate::text::prefix::Prefix;
use crate::text::range::{Deviation, Port, Range};
use crate::text::units::{Rate, Size};
use crate::text::words::words;

/// A rule that assigns packets to a class. A packet matches if it meets all conditions that are given. A rule without a
/// condition is an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Name of the rule in error messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Class for the packets that match. It must have no child classes.
    pub class: String,
    /// Condition: the packet belongs to one of these flows of the scenario, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
    /// Condition: direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Way>,
    /// Condition: transport protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Transport>,
    /// Condition: source address or prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Prefix>,
    /// Condition: destination address or prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<Prefix>,
    /// Condition: source or destination address or prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Prefix>,
    /// Condition: source port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_port: Option<Range<Port>>,
    /// Condition: destination port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_port: Option<Range<Port>>,
    /// Condition: source or destination port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<Range<Port>>,
    /// Condition: DSCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Range<Dscp>>,
    /// Condition: size of the IP packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Range<Size>>,
    /// Condition: the packet is a pure TCP ACK (`true`), or is not (`false`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<bool>,
    /// Condition: rate of the packet's flow in the last second, in the packet's direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Range<Rate>>,
    /// Condition: variation of the gaps between the packets of the flow in the last second, in the packet's direction.
    /// It is the standard deviation divided by the mean: `0%` for constant gaps, about `100%` for a Poisson process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_deviation: Option<Range<Deviation>>,
    /// Condition: behaviour of the packet's flow. Our construction (docs/models/classify.md).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behaviour: Option<Behaviour>,
}

words! {
    /// Transport protocol.
    Transport "transport protocol" {
        /// UDP.
        Udp = "udp",
        /// TCP.
        Tcp = "tcp",
    }
}

words! {
    /// Behaviour of a flow.
    Behaviour "behaviour" {
        /// Within the bounds of `gateway.detector`: a game or a call.
        RealTime = "real-time",
        /// Outside the bounds.
        Other = "other",
        /// Not observed for long enough.
        Unknown = "unknown",
    }
}

impl Rule {
    /// Conditions on a packet, except for flows by name.
    pub(crate) fn conditions(&self) -> classify::Conditions {
        let bytes = |size: Size| gamelane_core::IpLen(u32::try_from(size.0.bytes()).unwrap_or(u32::MAX));
        let ports = |range: Option<Range<Port>>| range.map(|range| range.span(|port| port.0, [0, u16::MAX]));
        let any_len = [gamelane_core::IpLen(0), gamelane_core::IpLen(u32::MAX)];
        let any_rate = [0, u64::MAX].map(gamelane_core::Bitrate::from_bps);
        classify::Conditions {
            direction: self.direction.map(|way| match way {
                Way::Up => Direction::Up,
                Way::Down => Direction::Down,
            }),
            protocol: self.protocol.map(|protocol| match protocol {
                Transport::Udp => Protocol::Udp,
                Transport::Tcp => Protocol::Tcp,
            }),
            source: self.source.map(|prefix| prefix.0),
            destination: self.destination.map(|prefix| prefix.0),
            address: self.address.map(|prefix| prefix.0),
            source_port: ports(self.source_port),
            destination_port: ports(self.destination_port),
            port: ports(self.port),
            dscp: self.dscp.map(|range| range.span(|dscp| dscp.0, [0, 63])),
            len: self.size.map(|range| range.span(bytes, any_len)),
            pure_ack: self.ack,
            rate: self.rate.map(|range| range.span(|rate| rate.0, any_rate)),
            // The largest number stands for a flow with fewer than two gaps, which matches no range.
            gap_deviation_percent: self
                .gap_deviation
                .map(|range| range.span(|percent| percent.0, [0, u32::MAX - 1])),
            behaviour: self.behaviour.map(|behaviour| match behaviour {
                Behaviour::RealTime => classify::Behaviour::RealTime,
                Behaviour::Other => classify::Behaviour::Other,
                Behaviour::Unknown => classify::Behaviour::Unknown,
            }),
        }
    }
}
