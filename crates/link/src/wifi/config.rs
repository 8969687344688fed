//! What an 802.11g channel is made of.

use alloc::vec::Vec;
use gamelane_core::Duration;

use super::rate::{PhyRate, Preamble};
use crate::link::PortId;

/// A channel, its stations, and the ports that send on it.
#[derive(Clone, Debug, PartialEq)]
pub struct WifiConfig {
    /// Slot time.
    pub slot: Slot,
    /// Rate of the CTS-to-self before each OFDM frame; `None` sends none.
    pub protection: Option<PhyRate>,
    /// Preamble of DSSS frames.
    pub preamble: Preamble,
    /// Attempts before a frame is given up.
    pub retry_limit: u32,
    /// CWmax.
    pub window_max: u32,
    /// Who sends.
    pub ports: Vec<WifiPort>,
    /// Radio between each station and the node it is joined to, both ways.
    pub stations: Vec<Radio>,
    /// Radio between the nodes of a mesh.
    pub backbone: Radio,
    /// The station of each flow, by [`gamelane_core::FlowId::index`].
    pub station_of: Vec<usize>,
}

impl WifiConfig {
    /// The radio of a frame of `station`'s that `port` sends.
    pub fn radio(&self, port: PortId, station: usize) -> Radio {
        if self.ports[port.index()].backbone { self.backbone } else { self.stations[station] }
    }
}

/// A sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WifiPort {
    /// CWmin.
    pub window_min: u32,
    /// It sends to another node of the mesh rather than from or to a station.
    pub backbone: bool,
}

impl WifiPort {
    /// CWmin of a sender at `rate`: 15, or 31 for DSSS.
    pub const fn window_of(rate: PhyRate) -> u32 {
        if rate.is_dsss() { 31 } else { 15 }
    }
}

/// How well two hear each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Radio {
    /// Rate of data frames.
    pub rate: PhyRate,
    /// Chance that a frame with 1500 B of IP is damaged; shorter frames have the same chance per byte.
    pub error: f64,
}

/// Slot time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slot {
    /// 9 µs, where no 802.11b station is near.
    #[default]
    Short,
    /// 20 µs.
    Long,
}

impl Slot {
    /// Its length.
    pub const fn duration(self) -> Duration {
        match self {
            Self::Short => Duration::from_micros(9),
            Self::Long => Duration::from_micros(20),
        }
    }
}
