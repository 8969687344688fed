//! An address prefix (RFC 4632, RFC 4291 section 2.3).

use core::fmt;
use core::net::IpAddr;

/// A prefix: all addresses whose first `len` bits equal those of `address`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// Any address in the prefix.
    pub address: IpAddr,
    /// Length in bits, up to 32 for IPv4 and 128 for IPv6. A larger length counts as the largest.
    pub len: u8,
}

impl Prefix {
    /// Makes the prefix of a single host.
    pub const fn host(address: IpAddr) -> Self {
        Self { address, len: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// Returns whether `address` is in the prefix.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differing = (own.to_bits() ^ other.to_bits()).leading_zeros();
                differing >= u32::from(self.len).min(32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differing = (own.to_bits() ^ other.to_bits()).leading_zeros();
                differing >= u32::from(self.len).min(128)
            }
            _ => false,
        }
    }

    /// Returns whether all addresses of `other` are in the prefix.
    pub fn covers(&self, other: &Self) -> bool {
        self.len <= other.len && self.contains(other.address)
    }

    /// Returns whether the two prefixes have an address in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.covers(other) || other.covers(self)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}
