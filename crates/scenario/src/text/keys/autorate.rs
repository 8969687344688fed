//! `[gateway] autorate`: a shaper that follows its link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::units::{Percent, Rate, Span};
use crate::text::words::words;

/// Autorate: the gateway's shaper follows a link whose rate varies. It lowers its rate when it hears of delay below it and
/// raises it under load without delay (docs/models/rate.md). The law and its numbers are our construction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Autorate {
    /// The rate is never set below this. Left out: a tenth of `gateway.shape`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lowest: Option<Rate>,
    /// Never above this. Left out: four times `gateway.shape`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highest: Option<Rate>,
    /// Delay, above the least heard lately, that counts as a queue below the shaper. Longer than a packet takes.
    #[schemars(extend("x-default" = "15ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Span>,
    /// Time between decisions.
    #[schemars(extend("x-default" = "200ms"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Span>,
    /// After a queue the rate is this share of what the link let through, 10% to 99%.
    #[schemars(extend("x-default" = "90%"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back_off: Option<Percent>,
    /// By how much it rises in a window with load and without a queue, 0.1% to 50%.
    #[schemars(extend("x-default" = "2%"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rise: Option<Percent>,
    /// What it listens to. Left out: `tcp` and `game`, and `probe` where a flow has the app `probe`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signals: Option<Vec<SignalKind>>,
}

words! {
    /// What autorate listens to.
    SignalKind "signal" {
        /// Round trips between the gateway and the internet of TCP that passes, by its timestamps.
        Tcp = "tcp",
        /// Lateness of games, calls and `udp` flows that the internet sends at even times; on a real gateway of those that number their packets.
        Game = "game",
        /// What waits in the modem, upstream. Few modems tell; none tells a real gateway.
        Backlog = "backlog",
        /// Round trips of packets of its own, through a flow of app `probe`, while the others are silent. A real gateway sends none.
        Probe = "probe",
    }
}
