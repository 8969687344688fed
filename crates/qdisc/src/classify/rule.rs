//! A classifier rule: conditions on a packet, and the class of packets that meet all of them. Also the checks for rules
//! that can never match.

use alloc::string::String;
use core::net::IpAddr;
use gamelane_core::headers::{IPV4_HEADER_MAX, TCP_HEADER_MAX};
use gamelane_core::{Bitrate, ClassId, Direction, FlowKey, IpLen, PacketMeta, Protocol};

use super::behaviour::Behaviour;
use super::flow_table::FlowView;
use super::prefix::Prefix;
use super::span::Span;

/// A rule of a classifier.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Name in error messages.
    pub name: String,
    /// Class of the packets that match.
    pub class: ClassId,
    /// Conditions of the rule.
    pub when: Conditions,
}

/// Conditions on a packet. `None` accepts any value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Direction through the gateway.
    pub direction: Option<Direction>,
    /// Transport protocol.
    pub protocol: Option<Protocol>,
    /// Source address.
    pub source: Option<Prefix>,
    /// Destination address.
    pub destination: Option<Prefix>,
    /// Source or destination address.
    pub address: Option<Prefix>,
    /// Source port.
    pub source_port: Option<Span<u16>>,
    /// Destination port.
    pub destination_port: Option<Span<u16>>,
    /// Source or destination port.
    pub port: Option<Span<u16>>,
    /// Differentiated services code point.
    pub dscp: Option<Span<u8>>,
    /// IP length of the packet.
    pub len: Option<Span<IpLen>>,
    /// Whether the packet is a pure ACK ([`gamelane_core::AckKind`]).
    pub pure_ack: Option<bool>,
    /// Rate of the flow in the packet's direction over the last finished window. During the first window no rate
    /// matches.
    pub rate: Option<Span<Bitrate>>,
    /// Regularity of the flow in the packet's direction over the last finished window: standard deviation of the gaps
    /// between packets, in per cent of their mean. Equal gaps have 0, a Poisson process has about 100. During the first
    /// window no value matches.
    pub gap_deviation_percent: Option<Span<u32>>,
    /// Behaviour of the flow.
    pub behaviour: Option<Behaviour>,
}

/// IPv4 and TCP headers with all options. No pure ACK is longer.
const LONGEST_ACK: IpLen = IpLen(IPV4_HEADER_MAX + TCP_HEADER_MAX);

impl Conditions {
    /// Returns whether these conditions need the flow table.
    pub const fn needs_flows(&self) -> bool {
        self.rate.is_some() || self.gap_deviation_percent.is_some() || self.behaviour.is_some()
    }

    pub(crate) fn matches(
        &self,
        meta: &PacketMeta,
        key: &FlowKey,
        direction: Direction,
        flow: Option<&FlowView>,
    ) -> bool {
        let (source, destination) = (key.source, key.destination);
        let within = |prefix: Option<Prefix>, address: IpAddr| prefix.is_none_or(|p| p.contains(address));
        let rhythm = flow.and_then(|flow| flow.rhythm);
        is(self.direction, direction)
            && is(self.protocol, meta.protocol)
            && is(self.pure_ack, meta.is_pure_ack())
            && lies_in(self.len, meta.len)
            && lies_in(self.dscp, meta.dscp)
            && lies_in(self.source_port, source.port())
            && lies_in(self.destination_port, destination.port())
            && (lies_in(self.port, source.port()) || lies_in(self.port, destination.port()))
            && within(self.source, source.ip())
            && within(self.destination, destination.ip())
            && (within(self.address, source.ip()) || within(self.address, destination.ip()))
            && self.rate.is_none_or(|span| rhythm.is_some_and(|rhythm| span.contains(rhythm.rate)))
            && self
                .gap_deviation_percent
                .is_none_or(|span| rhythm.is_some_and(|rhythm| span.contains(rhythm.gap_deviation_percent)))
            && self.behaviour.is_none_or(|wanted| flow.is_some_and(|flow| flow.behaviour == wanted))
    }

    /// Returns the names of two conditions that no packet can meet at once. If no packet can meet one condition by
    /// itself, returns its name twice.
    pub(crate) fn contradiction(&self) -> Option<(&'static str, &'static str)> {
        let itself = |name| Some((name, name));
        if self.source_port.is_some_and(|span| span.is_empty()) {
            return itself("source_port");
        }
        if self.destination_port.is_some_and(|span| span.is_empty()) {
            return itself("destination_port");
        }
        if self.port.is_some_and(|span| span.is_empty()) {
            return itself("port");
        }
        if self.dscp.is_some_and(|span| span.is_empty() || span.low > 63) {
            return itself("dscp");
        }
        if self.len.is_some_and(|span| span.is_empty()) {
            return itself("len");
        }
        if self.rate.is_some_and(|span| span.is_empty()) {
            return itself("rate");
        }
        if self.gap_deviation_percent.is_some_and(|span| span.is_empty()) {
            return itself("gap_deviation_percent");
        }
        if let Some(protocol) = self.protocol {
            if matches!(protocol, Protocol::Other(_)) {
                let ports = [
                    (self.port, "port"),
                    (self.source_port, "source_port"),
                    (self.destination_port, "destination_port"),
                ];
                if let Some((_, name)) = ports.into_iter().find(|(span, _)| span.is_some()) {
                    return Some((name, "protocol"));
                }
            }
            if self.pure_ack == Some(true) && protocol != Protocol::Tcp {
                return Some(("pure_ack", "protocol"));
            }
        }
        if self.pure_ack == Some(true) && self.len.is_some_and(|span| span.low > LONGEST_ACK) {
            return Some(("pure_ack", "len"));
        }
        let families = |a: Option<Prefix>, b: Option<Prefix>| matches!((a, b), (Some(a), Some(b)) if a.address.is_ipv4() != b.address.is_ipv4());
        if families(self.source, self.destination) {
            return Some(("source", "destination"));
        }
        if families(self.address, self.source) {
            return Some(("address", "source"));
        }
        if families(self.address, self.destination) {
            return Some(("address", "destination"));
        }
        // `port` must hold at one of the two ends, so it must overlap one of the conditions on these.
        if let (Some(either), Some(source), Some(destination)) =
            (self.port, self.source_port, self.destination_port)
            && !either.overlaps(&source)
            && !either.overlaps(&destination)
        {
            return Some(("port", "source_port"));
        }
        if let (Some(either), Some(source), Some(destination)) = (self.address, self.source, self.destination)
            && !either.overlaps(&source)
            && !either.overlaps(&destination)
        {
            return Some(("address", "source"));
        }
        None
    }

    /// Returns whether every packet that meets `other` also meets these conditions. It compares two rules at a time, so
    /// it does not find a rule that only several earlier rules together shadow.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let protocol = other.protocol.or((other.pure_ack == Some(true)).then_some(Protocol::Tcp));
        let pure_ack = other.pure_ack.or(protocol.filter(|own| *own != Protocol::Tcp).map(|_| false));
        implied(self.direction, other.direction)
            && implied(self.protocol, protocol)
            && implied(self.pure_ack, pure_ack)
            && implied(self.behaviour, other.behaviour)
            && spans(self.len, &[other.len])
            && spans(self.dscp, &[other.dscp])
            && spans(self.rate, &[other.rate])
            && spans(self.gap_deviation_percent, &[other.gap_deviation_percent])
            && spans(self.source_port, &[other.source_port])
            && spans(self.destination_port, &[other.destination_port])
            && spans(self.port, &[other.port, other.source_port, other.destination_port])
            && prefixes(self.source, &[other.source])
            && prefixes(self.destination, &[other.destination])
            && prefixes(self.address, &[other.address, other.source, other.destination])
    }
}

fn is<T: PartialEq>(wanted: Option<T>, value: T) -> bool {
    wanted.is_none_or(|wanted| wanted == value)
}

fn lies_in<T: PartialOrd + Copy>(wanted: Option<Span<T>>, value: T) -> bool {
    wanted.is_none_or(|span| span.contains(value))
}

fn implied<T: PartialEq>(wanted: Option<T>, given: Option<T>) -> bool {
    wanted.is_none() || wanted == given
}

fn spans<T: PartialOrd + Copy>(wanted: Option<Span<T>>, given: &[Option<Span<T>>]) -> bool {
    wanted.is_none_or(|wanted| given.iter().flatten().any(|given| wanted.covers(given)))
}

fn prefixes(wanted: Option<Prefix>, given: &[Option<Prefix>]) -> bool {
    wanted.is_none_or(|wanted| given.iter().flatten().any(|given| wanted.covers(given)))
}
