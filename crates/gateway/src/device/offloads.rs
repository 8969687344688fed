//! Offloads that make several frames of one or one of several: queues must see what goes over the wire. Switched off while
//! the gateway runs and put back after; ethtool's commands for them (linux/ethtool.h).

use std::io::Result;

use super::interface::Asked;

/// An offload that can be switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// As `ethtool -K` calls it.
    pub name: &'static str,
    query: u32,
    set: u32,
    /// Of the number that is read and written.
    bit: u32,
}

/// Those that matter.
pub const OFFLOADS: [Offload; 4] = [
    Offload { name: "gro", query: 0x2b, set: 0x2c, bit: 1 },
    Offload { name: "gso", query: 0x23, set: 0x24, bit: 1 },
    Offload { name: "tso", query: 0x1e, set: 0x1f, bit: 1 },
    // Among the flags of ETHTOOL_GFLAGS.
    Offload { name: "lro", query: 0x25, set: 0x26, bit: 1 << 15 },
];

/// The interface takes VLAN tags out of frames and says beside them what they were; AF_XDP does not hear that.
pub const VLAN_STRIPPING: Offload = Offload { name: "rxvlan", query: 0x25, set: 0x26, bit: 1 << 8 };

/// Leaving checksums of frames that go out to the hardware.
pub const CHECKSUMS: Offload = Offload { name: "tx", query: 0x16, set: 0x17, bit: 1 };

/// The offloads of one interface.
#[derive(Debug)]
pub struct Offloads(Asked);

impl Offload {
    /// One of this name.
    pub fn named(name: &str) -> Option<Self> {
        OFFLOADS.into_iter().chain([VLAN_STRIPPING]).find(|offload| offload.name == name)
    }
}

impl Offloads {
    /// Of the interface of this name.
    pub fn of(name: &str) -> Result<Self> {
        Asked::new(name).map(Self)
    }

    /// Whether an offload is on. One that the interface does not know is off.
    pub fn is_on(&self, offload: &Offload) -> bool {
        self.0.ethtool(offload.query, 0).is_ok_and(|value| value & offload.bit != 0)
    }

    /// Switches an offload. Needs `CAP_NET_ADMIN`.
    pub fn switch(&self, offload: &Offload, on: bool) -> Result<()> {
        // Flags share a number: the others stay.
        let others = if offload.bit == 1 { 0 } else { self.0.ethtool(offload.query, 0)? & !offload.bit };
        let own = if on { offload.bit } else { 0 };
        self.0.ethtool(offload.set, others | own).map(|_| ())
    }
}
