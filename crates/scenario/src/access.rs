//! What carries packets between the gateway and the provider, and the queues there beside the gateway's own two.

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
    /// What carries the packets.
    pub medium: Medium,
    /// The gateway's shapers, indexed by [`gamelane_core::Direction::index`]: links without delay that its queues feed
    /// instead of the medium.
    pub shape: [Option<LinkConfig>; 2],
    /// In front of the medium upstream, where the gateway's queue is not.
    pub modem: DisciplineConfig,
    /// In front of the medium downstream, where the gateway's queue is not.
    pub isp: DisciplineConfig,
}

/// What carries the packets. The links of [`crate::HopModel`] hold what is common: rates, delay, jitter, loss.
#[derive(Clone, Debug, PartialEq)]
pub enum Medium {
    /// A wired link each way.
    Wired,
    /// A DOCSIS modem, behind an Ethernet link of this rate; wired downstream.
    Docsis {
        /// Upstream.
        upstream: DocsisConfig,
        /// Between gateway and modem.
        ethernet: Bitrate,
    },
    /// A wired link to an access point, whose radio the gateway's downstream queue feeds.
    WifiG(WifiModel),
    /// Links that follow a trace, where there is one, by direction.
    Trace([Option<RateTrace>; 2]),
}

/// An 802.11g network.
#[derive(Clone, Debug, PartialEq)]
pub struct WifiModel {
    /// Slot time.
    pub slot: Slot,
    /// Rate of the CTS-to-self before OFDM frames.
    pub protection: Option<PhyRate>,
    /// Preamble of DSSS frames.
    pub preamble: Preamble,
    /// Attempts before a frame is given up.
    pub retry_limit: u32,
    /// Who is on the air besides the access point.
    pub stations: Vec<Station>,
    /// The station of each flow of the model.
    pub station_of: Vec<usize>,
    /// Nodes of the mesh between the access point and the stations.
    pub relays: u32,
    /// Radio between nodes.
    pub backbone: Radio,
    /// Queue of each station and relay.
    pub queue: DisciplineConfig,
}

/// A host at home on the air.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Its name, for records.
    pub name: String,
    /// How well it is heard.
    pub radio: Radio,
}
