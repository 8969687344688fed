//! `[[gateway.rule]]`: which packets go to which class.

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

/// A rule. A packet must be all that is said here; at least one thing must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What errors call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where its packets go: a class without children.
    pub class: String,
    /// Of one of these flows of the scenario, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<String>>,
    /// On the way up or down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Way>,
    /// Of this transport.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Transport>,
    /// From this address or prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Prefix>,
    /// To this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<Prefix>,
    /// From or to this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Prefix>,
    /// From this port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_port: Option<Range<Port>>,
    /// To this port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_port: Option<Range<Port>>,
    /// From or to this port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<Range<Port>>,
    /// With this differentiated services code point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<Range<Dscp>>,
    /// Of this size, as an IP packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Range<Size>>,
    /// A pure ACK of TCP (`true`) or not one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack: Option<bool>,
    /// Of a flow that went at this rate, this way, in the last second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Range<Rate>>,
    /// Of a flow this regular, this way, in the last second: the standard deviation of the gaps between packets by their
    /// mean. A metronome has `0%`, a Poisson process about `100%`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_deviation: Option<Range<Deviation>>,
    /// Of a flow that behaves like this. Our construction: see docs/models/classify.md.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behaviour: Option<Behaviour>,
}

words! {
    /// A transport.
    Transport "transport" {
        /// UDP.
        Udp = "udp",
        /// TCP.
        Tcp = "tcp",
    }
}

words! {
    /// What a flow behaves like.
    Behaviour "behaviour" {
        /// Small and regular both ways, over UDP: a game, a call.
        RealTime = "real-time",
        /// Anything else.
        Other = "other",
        /// Not seen for long enough to tell.
        Unknown = "unknown",
    }
}

impl Rule {
    /// What a packet must be, but for the flows by name.
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
            // A flow of fewer than two gaps is of no regularity: it has the largest number there is.
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
