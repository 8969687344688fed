//! `[link.docsis]` and `[link.wifi]`: keys that only one type of link reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::units::{Percent, Rate, Size, Span, Time};
use crate::text::words::words;

/// A DOCSIS upstream: request and grant, after CableLabs' docsis-ns3, and the token bucket of RFC 8034
/// (docs/models/docsis.md). `link.up` is the maximum sustained rate over Ethernet frames and `link.delay` the
/// propagation delay to the CMTS. The downstream is wired.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Docsis {
    /// Rate of the upstream channel, which all modems share; at least `link.up`. Default: the lowest of `10240kbit`,
    /// `30720kbit`, `122880kbit` and `245760kbit` that is at least twice `link.up`. If none is, twice `link.up`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<Rate>,
    /// Length of a minislot, the unit of grants. A request takes one minislot.
    #[schemars(extend("x-default" = "25us"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minislot: Option<Span>,
    /// Time between MAPs, at most `1s`.
    #[schemars(extend("x-default" = "2ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_interval: Option<Span>,
    /// Time between the decision on a MAP and the start of its interval.
    #[schemars(extend("x-default" = "857us"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_lead: Option<Time>,
    /// Request opportunities in each MAP interval, at least 1.
    #[schemars(extend("x-default" = "8"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contention: Option<u32>,
    /// First backoff window, as a power of two, 0 to `backoff_end`.
    #[schemars(extend("x-default" = "2"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_start: Option<u32>,
    /// Last backoff window, as a power of two, at most 15.
    #[schemars(extend("x-default" = "8"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_end: Option<u32>,
    /// Requests that may collide before the modem drops the packet.
    #[schemars(extend("x-default" = "16"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tries: Option<u32>,
    /// Allows several packets in one grant. `false` models a DOCSIS 1.0 modem, which requests each packet separately.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concatenation: Option<bool>,
    /// Bytes that the modem may send at once, at least `1522B`. Default: `3044B`, or 10 ms at the sustained rate if
    /// that is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Size>,
    /// Peak rate. Default: `channel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Rate>,
    /// Other modems on the channel, up to 1000.
    pub modems: u32,
    /// Load from all other modems together, as a share of the channel's data capacity.
    pub load: Percent,
    /// Rate of the Ethernet link between gateway and modem.
    #[schemars(extend("x-default" = "100mbit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ethernet: Option<Rate>,
}

/// An 802.11g network (IEEE 802.11-2007; docs/models/wifi-g.md). `link.up` and `link.down` are the rates of the wired
/// link between the provider and the access point. Every host of a flow is a station.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wifi {
    /// Rate of data frames: 6, 9, 12, 18, 24, 36, 48 or 54 mbit for 802.11g; 1, 2, 5.5 or 11 mbit for 802.11b.
    #[schemars(extend("x-default" = "54mbit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Probability that a frame with 1500 B is damaged. Shorter frames have the same probability per byte.
    pub error: Percent,
    /// Stations with a rate or error of their own, by host. An empty list is an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stations: Option<Vec<Station>>,
    /// Slot time. Default: `short`, or `long` if a station has an 802.11b rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<SlotTime>,
    /// Protection of OFDM frames from 802.11b stations. Default: `cts-to-self` if a station has an 802.11b rate, else
    /// `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
    /// Rate of CTS frames.
    #[schemars(extend("x-default" = "11mbit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cts_rate: Option<Rate>,
    /// Preamble of 802.11b frames.
    #[schemars(extend("x-default" = "long"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preamble: Option<PreambleLength>,
    /// Transmissions of a frame before it is dropped, at least 1.
    #[schemars(extend("x-default" = "7"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Mesh relays between the access point and the stations, all on one channel, up to 8.
    pub relays: u32,
    /// Rate between mesh nodes. Default: `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relay_rate: Option<Rate>,
}

/// A station with settings of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// Name of the host.
    pub host: String,
    /// Rate of its data frames in both directions. Default: `link.wifi.rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Probability that one of its frames with 1500 B is damaged. Default: `link.wifi.error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Percent>,
}

words! {
    /// Slot time.
    SlotTime "slot time" {
        /// 9 us.
        Short = "short",
        /// 20 us.
        Long = "long",
    }
}

words! {
    /// Protection of OFDM frames from 802.11b stations.
    Protection "protection" {
        /// No protection.
        None = "none",
        /// A CTS-to-self before each OFDM frame.
        CtsToSelf = "cts-to-self",
    }
}

words! {
    /// Preamble of 802.11b frames.
    PreambleLength "preamble" {
        /// 192 us.
        Long = "long",
        /// 96 us.
        Short = "short",
    }
}
