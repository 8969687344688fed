//! Prints a filter in full words, such that it parses to the same filter.

use std::fmt::{Display, Formatter, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gamelane_core::Protocol;

use super::test::{Comparison, Direction, Network, Test, Version};
use super::{Chain, Joint, Term, What};

impl Display for Chain {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.first.fmt(f)?;
        for (joint, term) in &self.rest {
            let joint = match joint {
                Joint::And => "and",
                Joint::Or => "or",
            };
            write!(f, " {joint} {term}")?;
        }
        Ok(())
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if self.negated {
            f.write_str("not ")?;
        }
        match &self.what {
            What::Test(test) => test.fmt(f),
            What::Group(chain) => write!(f, "({chain})"),
        }
    }
}

impl Display for Test {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match *self {
            Self::Network { direction, network } => write!(f, "{direction}{network}"),
            Self::Port { direction, protocol, low, high } => {
                match protocol {
                    None => {}
                    Some(Protocol::Tcp) => f.write_str("tcp ")?,
                    Some(_) => f.write_str("udp ")?,
                }
                match low == high {
                    true => write!(f, "{direction}port {low}"),
                    false => write!(f, "{direction}portrange {low}-{high}"),
                }
            }
            Self::Protocol { version, number } => {
                let ip = match version {
                    None => "",
                    Some(Version::Four) => "ip",
                    Some(Version::Six) => "ip6",
                };
                match (number, version) {
                    (None, _) => f.write_str(ip),
                    (Some(6), None) => f.write_str("tcp"),
                    (Some(17), None) => f.write_str("udp"),
                    (Some(number), None) => write!(f, "proto {number}"),
                    (Some(number), _) => write!(f, "{ip} proto {number}"),
                }
            }
            Self::Length { comparison, bytes } => write!(f, "len {comparison} {bytes}"),
        }
    }
}

impl Display for Direction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Source => "src ",
            Self::Destination => "dst ",
            Self::Either => "",
            Self::Both => "src and dst ",
        })
    }
}

impl Display for Network {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (address, bits, all, mask) = match *self {
            Self::Four { address, mask } => {
                let contiguous = mask.leading_ones() == mask.count_ones();
                let mask_text = (!contiguous).then(|| Ipv4Addr::from_bits(mask));
                (IpAddr::V4(Ipv4Addr::from_bits(address)), mask.count_ones(), 32, mask_text)
            }
            Self::Six { address, mask } => {
                (IpAddr::V6(Ipv6Addr::from_bits(address)), mask.count_ones(), 128, None)
            }
        };
        match mask {
            Some(mask) => write!(f, "net {address} mask {mask}"),
            None if bits == all => write!(f, "host {address}"),
            None => write!(f, "net {address}/{bits}"),
        }
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Equal => "==",
            Self::Different => "!=",
            Self::AtLeast => ">=",
            Self::Greater => ">",
        })
    }
}
