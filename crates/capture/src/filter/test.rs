//! One test of a packet: its addresses, ports, protocol, or length.

use std::net::{IpAddr, SocketAddr};

use gamelane_core::Protocol;

use crate::packet::CapturedPacket;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// A host is a network of one address.
    Network {
        direction: Direction,
        network: Network,
    },
    /// Ports from `low` to `high`, of TCP and UDP or of one of them.
    Port {
        direction: Direction,
        protocol: Option<Protocol>,
        low: u16,
        high: u16,
    },
    Protocol {
        version: Option<Version>,
        /// Number in IANA's registry; `None` for any.
        number: Option<u8>,
    },
    Length {
        comparison: Comparison,
        bytes: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Source,
    Destination,
    Either,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    Four,
    Six,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    Four { address: u32, mask: u32 },
    Six { address: u128, mask: u128 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Less,
    AtMost,
    Equal,
    Different,
    AtLeast,
    Greater,
}

impl Test {
    pub(super) fn holds(&self, packet: &CapturedPacket, frame_len: u32) -> bool {
        let key = &packet.key;
        match *self {
            Self::Network { direction, network } => {
                direction.holds([key.source, key.destination], |end| network.has(end.ip()))
            }
            Self::Port { direction, protocol, low, high } => {
                protocol.is_none_or(|protocol| protocol == key.protocol)
                    && direction
                        .holds([key.source, key.destination], |end| (low..=high).contains(&end.port()))
            }
            Self::Protocol { version, number } => {
                version.is_none_or(|version| version == Version::of(key.source.ip()))
                    && number.is_none_or(|number| number == key.protocol.number())
            }
            Self::Length { comparison, bytes } => comparison.holds(frame_len, bytes),
        }
    }

    /// True if all packets of a flow have the same result, in both directions.
    pub(super) const fn keeps_whole_flows(&self) -> bool {
        match self {
            Self::Network { direction, .. } | Self::Port { direction, .. } => {
                matches!(direction, Direction::Either | Direction::Both)
            }
            Self::Protocol { .. } => true,
            Self::Length { .. } => false,
        }
    }
}

impl Direction {
    fn holds(self, ends: [SocketAddr; 2], test: impl Fn(SocketAddr) -> bool) -> bool {
        match self {
            Self::Source => test(ends[0]),
            Self::Destination => test(ends[1]),
            Self::Either => test(ends[0]) || test(ends[1]),
            Self::Both => test(ends[0]) && test(ends[1]),
        }
    }
}

impl Version {
    pub(super) const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::Four,
            IpAddr::V6(_) => Self::Six,
        }
    }
}

impl Network {
    pub(super) const fn host(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::Four { address: address.to_bits(), mask: u32::MAX },
            IpAddr::V6(address) => Self::Six { address: address.to_bits(), mask: u128::MAX },
        }
    }

    fn has(self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::Four { address, mask }, IpAddr::V4(of)) => of.to_bits() & mask == address,
            (Self::Six { address, mask }, IpAddr::V6(of)) => of.to_bits() & mask == address,
            _ => false,
        }
    }
}

impl Comparison {
    const fn holds(self, left: u32, right: u32) -> bool {
        match self {
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::Equal => left == right,
            Self::Different => left != right,
            Self::AtLeast => left >= right,
            Self::Greater => left > right,
        }
    }

    /// The comparison with both sides exchanged.
    pub(super) const fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::AtMost => Self::AtLeast,
            Self::AtLeast => Self::AtMost,
            Self::Greater => Self::Less,
            Self::Equal | Self::Different => self,
        }
    }
}
