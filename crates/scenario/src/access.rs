//! The medium between gateway and provider, and the queues there that are not the gateway's.

use alloc::string::String;
use alloc::vec::Vec;

use gamelane_core::Bitrate;
use gamelane_link::trace::RateTrace;
use gamelane_link::wifi::{PhyRate, Preamble, Radio, Slot};
use gamelane_link::{DocsisConfig, LinkConfig};
use gamelane_qdisc::DisciplineConfig;

/// The access of a household.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Medium between gateway and provider.
    pub medium: Medium,
    /// Shapers of the gateway, indexed by [`gamelane_core::Direction::index`]. A shaper is a link without delay that
    /// the gateway's queue feeds instead of the medium.
    pub shape: [Option<LinkConfig>; 2],
    /// Queue in front of the medium upstream, if the gateway's queue is not there.
    pub modem: DisciplineConfig,
    /// Queue in front of the medium downstream, if the gateway's queue is not there.
    pub isp: DisciplineConfig,
}

/// Medium between gateway and provider. The links of [`crate::HopModel`] hold what all media share: rates, delay,
/// jitter, loss.
#[derive(Clone, Debug, PartialEq)]
pub enum Medium {
    /// A wired link in each direction.
    Wired,
    /// A DOCSIS modem behind an Ethernet link; wired downstream.
    Docsis {
        /// Upstream channel.
        upstream: DocsisConfig,
        /// Rate of the link between gateway and modem.
        ethernet: Bitrate,
    },
    /// A wired link to an access point. The gateway's downstream queue feeds its radio.
    WifiG(WifiModel),
    /// Links that follow a trace, by direction. `None` for a fixed rate.
    Trace([Option<RateTrace>; 2]),
}

/// An 802.11g network.
#[derive(Clone, Debug, PartialEq)]
pub struct WifiModel {
    /// Slot time.
    pub slot: Slot,
    /// Rate of the CTS-to-self before OFDM frames, if they are protected.
    pub protection: Option<PhyRate>,
    /// Preamble of DSSS frames.
    pub preamble: Preamble,
    /// Transmissions of a frame before it is dropped.
    pub retry_limit: u32,
    /// Stations of the network, without the access point.
    pub stations: Vec<Station>,
    /// The station of each flow of the model.
    pub station_of: Vec<usize>,
    /// Mesh nodes between the access point and the stations.
    pub relays: u32,
    /// Radio between mesh nodes.
    pub backbone: Radio,
    /// Queue of each station and relay.
    pub queue: DisciplineConfig,
}

/// A host at home that is a Wi-Fi station.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Its name, for records.
    pub name: String,
    /// Rate and error probability of its radio.
    pub radio: Radio,
}
