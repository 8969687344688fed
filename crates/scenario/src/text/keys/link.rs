//! `[link]`: the access link of the household and the path beyond it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::each_way::EachWay;
use crate::text::text_or_table::TextOrTable;
use crate::text::units::{Percent, Rate, Time};
use crate::text::words::words;

use super::medium::{Docsis, Wifi};

/// The access link, and the path every flow takes beyond it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What carries the packets.
    #[serde(default)]
    pub kind: LinkKind,
    /// Rate from the internet to the home. Required unless `trace` says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Rate>,
    /// Rate from the home to the internet. Required unless `trace` says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Rate>,
    /// Base round trip of the path beyond the link, half of it in each direction. A flow may have its own.
    #[serde(default)]
    pub rtt: Time,
    /// Propagation delay of the link itself, in each direction.
    #[serde(default)]
    pub delay: Time,
    /// Extra delay on the link, uniform from zero to this; packets stay in order.
    #[serde(default)]
    pub jitter: EachWay<Time>,
    /// Packets the link loses, at random or in bursts.
    #[serde(default)]
    pub loss: EachWay<Loss>,
    /// What the link layer adds to each IP packet.
    #[serde(default)]
    pub overhead: EachWay<Overhead>,
    /// Largest IP packet in bytes, 576 to 65535.
    #[serde(default = "ethernet_mtu")]
    pub mtu: u32,
    /// The upstream channel of kind `docsis`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docsis: Option<Docsis>,
    /// The network of kind `wifi-g`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Wifi>,
    /// For kind `trace`: files of delivery opportunities (mahimahi) or of rates, which repeat. A direction without one has a
    /// fixed rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<EachWay<String>>,
}

fn ethernet_mtu() -> u32 {
    1500
}

words! {
    /// What carries the packets.
    LinkKind "link" {
        /// Each direction serialises one packet at a time at a fixed rate.
        Wired = "wired",
        /// A cable modem: upstream the channel is asked for and granted.
        Docsis = "docsis",
        /// A wired link to an access point, and 802.11g from there to the stations.
        WifiG = "wifi-g",
        /// The rate follows a trace.
        Trace = "trace",
    }
}

#[expect(clippy::derivable_impls, reason = "`words!` takes no attribute on a variant")]
impl Default for LinkKind {
    fn default() -> Self {
        Self::Wired
    }
}

/// Lost packets: a share (`"1%"`), or the Gilbert-Elliott model, which loses them in bursts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Loss(pub TextOrTable<Percent, GilbertElliott>);

/// Loss in bursts (Gilbert 1960, Elliott 1963).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Chance per packet to enter the bad state.
    pub good_to_bad: Percent,
    /// Chance per packet to leave it; the mean burst is one over this.
    pub bad_to_good: Percent,
    /// Loss in the good state.
    #[serde(default)]
    pub loss_good: Percent,
    /// Loss in the bad state.
    #[serde(default = "everything")]
    pub loss_bad: Percent,
}

fn everything() -> Percent {
    Percent::ALL
}

impl Default for Loss {
    fn default() -> Self {
        Self(TextOrTable::Text(Percent::default()))
    }
}

words! {
    /// Framing of a link.
    Framing "framing" {
        /// The rate counts IP bytes.
        None = "none",
        /// Ethernet on the wire: 38 B a packet, at least 84 B.
        Ethernet = "ethernet",
        /// DOCSIS: 18 B a packet, at least 64 B.
        Docsis = "docsis",
        /// ATM cells: 53 B for each 48 B of packet and encapsulation.
        Atm = "atm",
        /// VDSL's packet transfer mode: 65 B for each 64 B of packet and encapsulation.
        Ptm = "ptm",
    }
}

/// What the link layer adds: a framing by name, or with the encapsulation of `atm` and `ptm` in bytes.
///
/// By name alone, `atm` has 40 B of encapsulation and `ptm` 30 B, which is PPPoE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Overhead(pub TextOrTable<Framing, Encapsulation>);

/// A framing and the bytes of encapsulation under it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Encapsulation {
    /// `atm` or `ptm`.
    pub kind: Framing,
    /// Bytes added to each packet before it is cut into cells or encoded, at most 256.
    pub bytes: u32,
}

impl Default for Overhead {
    fn default() -> Self {
        Self(TextOrTable::Text(Framing::None))
    }
}
