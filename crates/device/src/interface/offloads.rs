//! Offloads that split one frame into several or merge several into one. Queues must see frames as they are on the wire, so these
//! are switched off while frames are forwarded. Commands are ethtool's (linux/ethtool.h).

use std::io::Result;

use super::Request;

/// An offload that can be switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    /// Name in `ethtool -K`.
    pub name: &'static str,
    query: u32,
    set: u32,
    /// Bit of the number that is read and written.
    bit: u32,
}

/// Offloads that split or merge frames.
pub const OFFLOADS: [Offload; 4] = [
    Offload { name: "gro", query: 0x2b, set: 0x2c, bit: 1 },
    Offload { name: "gso", query: 0x23, set: 0x24, bit: 1 },
    Offload { name: "tso", query: 0x1e, set: 0x1f, bit: 1 },
    // A flag of ETHTOOL_GFLAGS.
    Offload { name: "lro", query: 0x25, set: 0x26, bit: 1 << 15 },
];

/// The interface takes VLAN tags out of frames and reports them beside the frame. AF_XDP does not see that report.
pub const VLAN_STRIPPING: Offload = Offload { name: "rxvlan", query: 0x25, set: 0x26, bit: 1 << 8 };

/// Checksums of outgoing frames are left to the hardware.
pub const CHECKSUMS: Offload = Offload { name: "tx", query: 0x16, set: 0x17, bit: 1 };

/// The offloads of one interface.
#[derive(Debug)]
pub struct Offloads(Request);

impl Offload {
    /// Returns the offload with this name.
    pub fn named(name: &str) -> Option<Self> {
        OFFLOADS.into_iter().chain([VLAN_STRIPPING]).find(|offload| offload.name == name)
    }
}

impl Offloads {
    /// Opens the offloads of an interface.
    pub fn of(name: &str) -> Result<Self> {
        Request::new(name).map(Self)
    }

    /// Whether an offload is on. An offload that the interface does not have is off.
    pub fn is_on(&self, offload: &Offload) -> bool {
        self.0.ethtool(offload.query, 0).is_ok_and(|value| value & offload.bit != 0)
    }

    /// Switches an offload on or off. Needs `CAP_NET_ADMIN`.
    pub fn switch(&self, offload: &Offload, on: bool) -> Result<()> {
        // Flags share one number; the others must stay.
        let others = if offload.bit == 1 { 0 } else { self.0.ethtool(offload.query, 0)? & !offload.bit };
        let own = if on { offload.bit } else { 0 };
        self.0.ethtool(offload.set, others | own).map(|_| ())
    }
}
