//! Parses the values of a filter: addresses, networks, ports, protocols, lengths.

use std::net::{IpAddr, Ipv4Addr};

use super::super::error::{FilterError, NAMES};
use super::super::test::{Comparison, Network, Test, Version};
use super::{Family, Head, Kind, Parser, Result};

impl Parser<'_> {
    /// Parses a value of the kind that `head` names: an address, a network, a port.
    pub(super) fn value(&mut self, head: Head) -> Result<Test> {
        match head.kind {
            Kind::Host => self.host(head),
            Kind::Net => self.net(head),
            Kind::Port => {
                let port = self.port(self.text(), "a port is a number from 0 to 65535", "`port 27960`")?;
                self.next += 1;
                Ok(ports(head, port, port))
            }
            Kind::PortRange => {
                let text = self.text();
                let (first, second) = text.split_once('-').unwrap_or((text, text));
                let problem = "a range of ports is two numbers from 0 to 65535, as in 6000-6008";
                let [first, second] =
                    [first, second].map(|port| self.port(port, problem, "`portrange 6000-6008`"));
                let (first, second) = (first?, second?);
                self.next += 1;
                Ok(ports(head, first.min(second), first.max(second)))
            }
            Kind::Protocol => {
                let number = match self.text().trim_start_matches('\\') {
                    "tcp" => Some(6),
                    "udp" => Some(17),
                    text => number(text).and_then(|number| u8::try_from(number).ok()),
                };
                let Some(number) = number else {
                    return Err(
                        self.refuse("a protocol is a number from 0 to 255, tcp or udp", "write `proto 17`")
                    );
                };
                self.next += 1;
                let version = match head.family {
                    Some(Family::Ip(version)) => Some(version),
                    _ => None,
                };
                Ok(Test::Protocol { version, number: Some(number) })
            }
        }
    }

    /// Returns a port. `example` is a right test.
    fn port(&self, text: &str, problem: &str, example: &str) -> Result<u16> {
        if let Some(port) = number(text).and_then(|number| u16::try_from(number).ok()) {
            return Ok(port);
        }
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        Err(if is_digits(text) {
            self.refuse("ports end at 65535", format!("write for example {example}"))
        } else if text.parse::<IpAddr>().is_ok() {
            self.refuse(problem, "write `host` before an address")
        } else if text.split_once('-').is_some_and(|(first, second)| is_digits(first) && is_digits(second)) {
            self.refuse(problem, format!("write `portrange {text}`"))
        } else if text.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.refuse(problem, "names of ports are not looked up: `getent services NAME` prints the number")
        } else {
            self.refuse(problem, format!("write for example {example}"))
        })
    }

    fn host(&mut self, head: Head) -> Result<Test> {
        let text = self.text();
        let Ok(address) = text.parse::<IpAddr>() else {
            return Err(if text.is_empty() || text.contains(|c: char| !c.is_ascii_digit() && c != '.') {
                self.refuse("a host is an IPv4 or IPv6 address", NAMES)
            } else {
                self.wrong_numbers().unwrap_or_else(|| {
                    self.refuse(
                        "a host is a whole address",
                        "write `net` for a part of an address, `port` for a port",
                    )
                })
            });
        };
        self.fits(head, Version::of(address))?;
        self.next += 1;
        if self.text() == "/" {
            return Err(self.refuse("a host has no mask", "write `net` instead of `host`"));
        }
        Ok(Test::Network { direction: head.direction, network: Network::host(address) })
    }

    /// The refusal of numbers with dots that are too large or too many for an IPv4 address.
    fn wrong_numbers(&self) -> Option<FilterError> {
        let numbers: Vec<&str> = self.text().split('.').collect();
        let is_large = |text: &&&str| text.parse::<u8>().is_err() && number(text).is_some_and(|n| n > 255);
        if numbers.len() < 2 {
            return None;
        }
        if let Some(large) = numbers.iter().find(is_large) {
            let problem = format!("{large} is above 255");
            return Some(self.refuse(problem, "each number of an IPv4 address is from 0 to 255"));
        }
        (numbers.len() > 4)
            .then(|| self.refuse("an IPv4 address has four numbers", "write an address like 10.0.0.2"))
    }

    fn net(&mut self, head: Head) -> Result<Test> {
        let start = self.peek();
        let text = self.text();
        let network = if let Ok(IpAddr::V6(address)) = text.parse::<IpAddr>() {
            self.fits(head, Version::Six)?;
            self.next += 1;
            let mask = self.bits(128)?.map_or(u128::MAX, |bits| ones(bits, 128));
            Network::Six { address: address.to_bits(), mask }
        } else {
            let Some((address, bytes)) = some_bytes(text) else {
                return Err(self.wrong_numbers().unwrap_or_else(|| {
                    self.refuse(
                        "a net is an address, or the first bytes of one",
                        "write `net 192.168.1.0/24`",
                    )
                }));
            };
            self.fits(head, Version::Four)?;
            self.next += 1;
            let mask = match self.bits(32)? {
                Some(bits) => ones(bits, 32) as u32,
                None if self.take(&["mask"]) => {
                    let Some((mask, 4)) = some_bytes(self.text()) else {
                        return Err(self.refuse("a mask is four numbers", "write `mask 255.255.255.0`"));
                    };
                    self.next += 1;
                    mask
                }
                None => ones(8 * bytes, 32) as u32,
            };
            Network::Four { address, mask }
        };
        let outside = match network {
            Network::Four { address, mask } => address & !mask != 0,
            Network::Six { address, mask } => address & !mask != 0,
        };
        if outside {
            return Err(FilterError::new(
                self.expression,
                start,
                "the address has bits outside of the mask",
                "write zeros there, as in 10.0.0.0/8, or `host` for one address",
            ));
        }
        Ok(Test::Network { direction: head.direction, network })
    }

    /// Parses the length of a mask after `/`; `None` if there is no `/`.
    fn bits(&mut self, most: u32) -> Result<Option<u32>> {
        if !self.take(&["/"]) {
            return Ok(None);
        }
        match number(self.text()) {
            Some(bits) if bits <= most => {
                self.next += 1;
                Ok(Some(bits))
            }
            _ => Err(self.refuse(
                format!("the length of a mask is a number from 0 to {most}"),
                "write `net 192.168.1.0/24`",
            )),
        }
    }

    /// Refuses an address of the other version than `ip` or `ip6` before it says.
    fn fits(&self, head: Head, version: Version) -> Result<()> {
        match head.family {
            Some(Family::Ip(stated)) if stated != version => {
                Err(self.refuse("this address is of the other version of IP", "omit `ip` or `ip6` before it"))
            }
            _ => Ok(()),
        }
    }

    /// Parses `100 < len`.
    pub(super) fn number_before_len(&mut self, comparison: Comparison) -> Result<Test> {
        let bytes = self.number("bytes")?;
        self.next += 1;
        match self.take(&["len"]) {
            true => Ok(Test::Length { comparison: comparison.mirrored(), bytes }),
            false => Err(self.refuse("only `len` can be compared", "write `len > 100`")),
        }
    }

    pub(super) fn number(&mut self, of: &str) -> Result<u32> {
        let Some(number) = number(self.text()) else {
            return Err(
                self.refuse(format!("a number of {of} belongs here"), "write for example `len > 100`")
            );
        };
        self.next += 1;
        Ok(number)
    }
}

fn ports(head: Head, low: u16, high: u16) -> Test {
    let protocol = match head.family {
        Some(Family::Transport(protocol)) => Some(protocol),
        _ => None,
    };
    Test::Port { direction: head.direction, protocol, low, high }
}

/// A decimal number, or a hexadecimal one after `0x`.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
            u32::from_str_radix(digits, 16).ok()
        }
        None if text.bytes().all(|digit| digit.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

/// The first one to four bytes of an IPv4 address, and their number.
fn some_bytes(text: &str) -> Option<(u32, u32)> {
    let bytes: Vec<u8> = text.split('.').map(|byte| byte.parse().ok()).collect::<Option<_>>()?;
    let mut address = [0; 4];
    address.get_mut(..bytes.len())?.copy_from_slice(&bytes);
    Some((Ipv4Addr::from(address).to_bits(), bytes.len() as u32))
}

/// A mask of `count` ones at the start of `of` bits.
const fn ones(count: u32, of: u32) -> u128 {
    match count {
        0 => 0,
        _ => (u128::MAX >> (128 - count)) << (of - count),
    }
}
