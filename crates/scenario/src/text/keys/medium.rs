//! `[link.docsis]`, `[link.wifi]`, `link.trace`: what only one kind of link has.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::units::{Percent, Rate, Size, Span, Time};
use crate::text::words::words;

/// A DOCSIS upstream (reference/links.md section 1). `link.up` is the maximum sustained rate over Ethernet frames and
/// `link.delay` the way to the CMTS; the downstream is wired.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Docsis {
    /// Rate of the upstream channel.
    #[schemars(extend("x-default" = "10240kbit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<Rate>,
    /// Unit in which the channel is given out; a request takes one.
    #[schemars(extend("x-default" = "25us"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minislot: Option<Span>,
    /// Time between MAPs.
    #[schemars(extend("x-default" = "2ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_interval: Option<Span>,
    /// How long before an interval its MAP is settled.
    #[schemars(extend("x-default" = "857us"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_lead: Option<Time>,
    /// Request opportunities in each interval.
    #[schemars(extend("x-default" = "8"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contention: Option<u32>,
    /// First backoff window, as a power of two.
    #[schemars(extend("x-default" = "2"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_start: Option<u32>,
    /// Last backoff window, as a power of two, at most 15.
    #[schemars(extend("x-default" = "8"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_end: Option<u32>,
    /// Requests that may collide before a packet is given up.
    #[schemars(extend("x-default" = "16"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tries: Option<u32>,
    /// Whether several packets may share a grant. `false` is a DOCSIS 1.0 modem, which asks for each by itself.
    #[schemars(extend("x-default" = "true"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concatenation: Option<bool>,
    /// Bytes the modem may send at once. Left out: `3044B`, or 10 ms at the sustained rate if that is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Size>,
    /// Peak rate. Left out: the channel's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Rate>,
    /// Other modems on the channel, up to 1000.
    pub modems: u32,
    /// What they offer together, as a share of the channel's data capacity.
    pub load: Percent,
    /// Rate of the Ethernet link between gateway and modem.
    #[schemars(extend("x-default" = "100mbit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ethernet: Option<Rate>,
}

/// An 802.11g network (reference/links.md section 3). `link.up` and `link.down` are the rates of the wired link to the
/// access point. Every host of a flow is a station.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wifi {
    /// Rate of data frames: 6, 9, 12, 18, 24, 36, 48 or 54 Mbit/s, or 802.11b's 1, 2, 5.5 and 11.
    #[schemars(extend("x-default" = "54mbit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Share of frames with 1500 B that are damaged; shorter ones fare better.
    pub error: Percent,
    /// Stations that differ, by host. A list must not be empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stations: Option<Vec<Station>>,
    /// Slot time. Left out: `short`, or `long` if a station has a rate of 802.11b.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<SlotTime>,
    /// What protects frames from 802.11b stations. Left out: `cts-to-self` if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
    /// Rate of the CTS.
    #[schemars(extend("x-default" = "11mbit"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cts_rate: Option<Rate>,
    /// Preamble of 802.11b frames.
    #[schemars(extend("x-default" = "long"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preamble: Option<PreambleLength>,
    /// Attempts before a frame is given up.
    #[schemars(extend("x-default" = "7"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Nodes of a mesh between the access point and the stations, all on one channel, up to 8.
    pub relays: u32,
    /// Rate between nodes. Left out: `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relay_rate: Option<Rate>,
}

/// One station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// The host it is.
    pub host: String,
    /// Rate of its data frames, both ways. Left out: that of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Share of its frames that are damaged. Left out: that of the network.
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
    /// Protection from 802.11b stations.
    Protection "protection" {
        /// None.
        None = "none",
        /// A CTS to oneself before each OFDM frame.
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
