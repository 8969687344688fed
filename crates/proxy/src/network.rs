//! A network of addresses as text: `203.0.113.0/24`, `2001:db8::/32`, or one address.

use serde::de::{Deserialize, Deserializer, Error};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// All addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    first: IpAddr,
    bits: u32,
}

impl Network {
    /// True if the address is part of it.
    pub fn contains(self, address: IpAddr) -> bool {
        first(address.to_canonical(), self.bits) == Some(self.first)
    }
}

/// The first address of the network of `bits` around `address`. `None` if it does not have as many bits.
fn first(address: IpAddr, bits: u32) -> Option<IpAddr> {
    Some(match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.checked_sub(bits)?).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.checked_sub(bits)?).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    })
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORMS: &str = "\n  allowed: an address with the length of its prefix, such as \"203.0.113.0/24\" or \"2001:db8::/32\", or one address";
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let wrong = || format!("`{text}` is not a network{FORMS}");
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        if address.to_canonical() != address {
            return Err(format!("`{text}` stands for an IPv4 network{FORMS}\n  hint:    write it as IPv4"));
        }
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
        match first(address, bits) {
            Some(first) if first == address => Ok(Self { first, bits }),
            Some(first) => Err(format!(
                "`{text}` has an address inside of the network, not its first{FORMS}\n  hint:    write \"{first}/{bits}\" or \"{address}\""
            )),
            None => Err(wrong()),
        }
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_the_addresses_with_its_prefix() {
        for (network, inside, outside) in [
            ("203.0.113.0/24", "203.0.113.255", "203.0.114.0"),
            ("203.0.113.7", "203.0.113.7", "203.0.113.6"),
            ("203.0.113.7/32", "::ffff:203.0.113.7", "203.0.113.8"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("::1", "::1", "::2"),
            ("0.0.0.0/0", "198.51.100.1", "::1"),
            ("::/0", "2001:db8::1", "198.51.100.1"),
        ] {
            let read: Network = network.parse().unwrap();
            assert!(read.contains(inside.parse().unwrap()), "{network} {inside}");
            assert!(!read.contains(outside.parse().unwrap()), "{network} {outside}");
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in ["", "example.org", "203.0.113.0/33", "203.0.113.0/-1", "203.0.113.0/", "2001:db8::/129"]
        {
            assert!(text.parse::<Network>().unwrap_err().contains("is not a network"), "{text}");
        }
        for mapped in ["::ffff:203.0.113.7", "::ffff:203.0.113.0/120"] {
            assert!(mapped.parse::<Network>().unwrap_err().contains("write it as IPv4"), "{mapped}");
        }
        let error = "203.0.113.5/24".parse::<Network>().unwrap_err();
        assert!(error.ends_with("hint:    write \"203.0.113.0/24\" or \"203.0.113.5\""), "{error}");
    }
}
