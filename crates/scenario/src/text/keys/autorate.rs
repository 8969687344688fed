//! `[gateway] autorate`: a shaper whose rate follows the link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::units::{Percent, Rate, Span};
use crate::text::words::words;

/// Autorate adapts the gateway's shaper to a link whose rate varies (docs/models/rate.md). It lowers the rate when
/// delay shows a queue behind the shaper. It raises the rate when traffic fills it without such delay. The law and its
/// numbers are our construction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Autorate {
    /// Lowest rate that autorate sets. Default: a tenth of `gateway.shape`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest: Option<Rate>,
    /// Highest rate that autorate sets. Default: four times `gateway.shape`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highest: Option<Rate>,
    /// Extra delay that counts as a queue, above the lowest delay of the last minute. Choose more than the sending time
    /// of one packet.
    #[schemars(extend("x-default" = "15ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Span>,
    /// Time between decisions.
    #[schemars(extend("x-default" = "200ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Span>,
    /// Share of the delivered rate that autorate sets when it finds a queue, 10% to 99%.
    #[schemars(extend("x-default" = "90%"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back_off: Option<Percent>,
    /// Increase of the rate after a window with load and without a queue, 0.1% to 50%.
    #[schemars(extend("x-default" = "2%"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rise: Option<Percent>,
    /// Signals that autorate listens to. Default: `tcp`, downstream also `game`, and `probe` if a flow has the app
    /// `probe`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signals: Option<Vec<SignalKind>>,
}

words! {
    /// Signal that autorate listens to.
    SignalKind "signal" {
        /// Round trips between the gateway and internet hosts, from the timestamps of passing TCP segments.
        Tcp = "tcp",
        /// Lateness of game, call and `udp` packets that the internet sends at regular intervals. Downstream only. A
        /// real gateway needs flows with numbered packets.
        Game = "game",
        /// Backlog of the modem. Upstream only. Few modems report it, and a real gateway does not read it.
        Backlog = "backlog",
        /// Round trips of probes, sent through a flow of app `probe` while the other signals are silent. A real gateway
        /// sends none.
        Probe = "probe",
    }
}
