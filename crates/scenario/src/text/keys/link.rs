//! `[link]`: the access link of the household and the path beyond it.

use gamelane_link::LinkKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::each_way::EachWay;
use crate::text::error::Fault;
use crate::text::source::Label;
use crate::text::text_or_table::TextOrTable;
use crate::text::units::{Percent, Rate, Time};
use crate::text::words::{Word, words};

use super::medium::{Docsis, Wifi};

/// The access link, and the path beyond it that all flows take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Name for tables and reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where the numbers of the link come from. Tables and reports show it if it is an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Label>,
    /// Type of link.
    #[serde(default)]
    pub kind: Word<LinkKind>,
    /// Rate from the internet to the home. Required unless `trace` sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Rate>,
    /// Rate from the home to the internet. Required unless `trace` sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Rate>,
    /// Base round trip time of the path beyond the link, half of it in each direction. A flow can set its own.
    #[serde(default)]
    pub rtt: Time,
    /// Propagation delay of the link in each direction. With kind `docsis`, `0s` stands for 100 us upstream.
    #[serde(default)]
    pub delay: Time,
    /// Extra delay on the link, uniform from 0 to this value. Packets stay in order.
    #[serde(default)]
    pub jitter: EachWay<Time>,
    /// Packet loss on the link, at random or in bursts.
    #[serde(default)]
    pub loss: EachWay<Loss>,
    /// Bytes that the link layer adds to each IP packet.
    #[serde(default)]
    pub overhead: EachWay<Overhead>,
    /// Largest IP packet in bytes, 576 to 65535.
    #[serde(default = "ethernet_mtu")]
    pub mtu: u32,
    /// Upstream channel of kind `docsis`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docsis: Option<Docsis>,
    /// Wi-Fi network of kind `wifi-g`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Wifi>,
    /// Traces of kind `trace`: the name of a shipped one, such as `lte-like`, or a file with delivery opportunities
    /// (mahimahi format) or rates. A trace repeats when it ends. A direction without a trace has a fixed rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<EachWay<String>>,
}

fn ethernet_mtu() -> u32 {
    1500
}

/// Packet loss: a probability (`"1%"`), or the Gilbert-Elliott model for loss in bursts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Loss(pub TextOrTable<Percent, GilbertElliott>);

/// Loss in bursts (Gilbert 1960, Elliott 1963). The path alternates between a good and a bad state, each with a loss of
/// its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability, at each packet, of changing to the bad state.
    pub good_to_bad: Percent,
    /// Probability, at each packet, of changing back to the good state. The mean length of the bad state is 1 / this
    /// value, in packets.
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
    /// Link-layer framing.
    Framing "framing" {
        /// No framing: the rate counts IP bytes.
        None = "none",
        /// Ethernet on the wire: adds 38 B to a packet, at least 84 B in total.
        Ethernet = "ethernet",
        /// DOCSIS: adds 18 B to a packet, at least 64 B in total.
        Docsis = "docsis",
        /// The same bytes for each packet, in a table.
        Fixed = "fixed",
        /// ATM cells: 53 B for each 48 B of packet and encapsulation.
        Atm = "atm",
        /// VDSL packet transfer mode: 65 B for each 64 B of packet and encapsulation.
        Ptm = "ptm",
    }
}

/// Framing of the link layer: a name, or a table with the bytes of `fixed`, `atm` or `ptm`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Overhead(pub TextOrTable<Framing, Encapsulation>);

/// A framing with its encapsulation. Without a table, `atm` has 40 B of encapsulation and `ptm` 30 B (PPPoE).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Encapsulation {
    /// `fixed`, `atm` or `ptm`.
    pub kind: Framing,
    /// Bytes added to each packet, 0 to 256: with `atm` and `ptm` before it is cut into cells or encoded.
    pub bytes: u32,
}

impl Overhead {
    /// The framing.
    ///
    /// # Errors
    /// `fixed` has no `bytes`, or `none`, `ethernet` or `docsis` has some, or there are more than 256.
    pub fn framing(&self) -> Result<gamelane_link::Overhead, Fault> {
        use gamelane_link::Overhead as Own;
        let (kind, bytes) = match self.0 {
            TextOrTable::Text(kind) => (kind, None),
            TextOrTable::Table(Encapsulation { kind, bytes }) => (kind, Some(bytes)),
        };
        if bytes.is_some_and(|bytes| bytes > 256) {
            return Err(Fault::new("this encapsulation is too long").allowed("0 to 256 (bytes)"));
        }
        match (kind, bytes) {
            (Framing::Atm, bytes) => Ok(Own::Atm { overhead: bytes.unwrap_or(40) }),
            (Framing::Ptm, bytes) => Ok(Own::Ptm { overhead: bytes.unwrap_or(30) }),
            (Framing::Fixed, Some(overhead)) => Ok(Own::Fixed { overhead }),
            (Framing::Fixed, None) => {
                Err(Fault::new("`fixed` needs `bytes`")
                    .hint("write overhead = { kind = \"fixed\", bytes = 44 }"))
            }
            (Framing::None, None) => Ok(Own::None),
            (Framing::Ethernet, None) => Ok(Own::Ethernet),
            (Framing::Docsis, None) => Ok(Own::Docsis),
            (kind, Some(_)) => {
                let fault = Fault::new(format!(
                    "the overhead of `{kind}` is known; only `fixed`, `atm` and `ptm` read `bytes`"
                ));
                Err(fault.hint(format!("write overhead = \"{kind}\"")))
            }
        }
    }
}

impl Default for Overhead {
    fn default() -> Self {
        Self(TextOrTable::Text(Framing::None))
    }
}
