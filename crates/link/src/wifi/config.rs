//! Configuration of an 802.11g channel. The values of the standard are those of IEEE 802.11-2007 clauses 9.2 and 19.

use alloc::vec::Vec;
use gamelane_core::Duration;

use super::rate::{PhyRate, Preamble};
use crate::link::PortId;

/// Configuration of a channel: its timing, its stations, and the ports that send on it.
#[derive(Clone, Debug, PartialEq)]
pub struct WifiConfig {
    /// Slot time.
    pub slot: Slot,
    /// Rate of the CTS-to-self frame before each OFDM frame; `None` for no protection.
    pub protection: Option<PhyRate>,
    /// Preamble of DSSS frames.
    pub preamble: Preamble,
    /// Number of attempts after which a frame is dropped.
    pub retry_limit: u32,
    /// CWmax, the largest contention window in slots.
    pub window_max: u32,
    /// The senders.
    pub ports: Vec<WifiPort>,
    /// Radio between each station and its node, for both directions.
    pub stations: Vec<Radio>,
    /// Radio between the nodes of a mesh.
    pub backbone: Radio,
    /// Station of each flow, indexed by [`gamelane_core::FlowId::index`].
    pub station_of: Vec<usize>,
}

impl WifiConfig {
    /// Radio with which `port` sends a frame from or to `station`.
    pub fn radio(&self, port: PortId, station: usize) -> Radio {
        if self.ports[port.index()].backbone { self.backbone } else { self.stations[station] }
    }
}

/// Configuration of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WifiPort {
    /// CWmin, the first contention window in slots.
    pub window_min: u32,
    /// Whether it sends to another node of the mesh, and not from or to a station.
    pub backbone: bool,
}

impl WifiPort {
    /// CWmin of a sender with this `rate`: 15 for OFDM, 31 for DSSS.
    pub const fn window_of(rate: PhyRate) -> u32 {
        if rate.is_dsss() { 31 } else { 15 }
    }
}

/// Quality of the radio between two nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Radio {
    /// Rate of data frames.
    pub rate: PhyRate,
    /// Probability that a frame with 1500 B of IP is damaged. Shorter frames have the same probability per byte.
    pub error: f64,
}

/// Slot time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slot {
    /// 9 µs, allowed if all stations support 802.11g.
    #[default]
    Short,
    /// 20 µs, needed if 802.11b stations are present.
    Long,
}

impl Slot {
    /// Length of the slot.
    pub const fn duration(self) -> Duration {
        match self {
            Self::Short => Duration::from_micros(9),
            Self::Long => Duration::from_micros(20),
        }
    }
}
