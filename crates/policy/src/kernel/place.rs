//! Where a plan is carried out.

use gamelane_core::Duration;

use super::operation::Family;

/// The interfaces of a gateway, and how Linux forwards between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Interface towards the home.
    pub lan: String,
    /// Interface towards the internet.
    pub wan: String,
    /// IFB interface where packets from the internet can queue.
    pub ifb: String,
    /// Whether frames at `lan` and at `wan` have an Ethernet header. Those of PPP have none.
    pub is_ethernet: [bool; 2],
    /// How Linux forwards.
    pub forwards: Forwards,
    /// Whether Linux tracks connections, as it must to translate addresses.
    pub tracks: bool,
    /// Where packets to the home queue; `None`: where it fits the policy.
    pub queue_down: Option<QueueDown>,
    /// Burst of HTB, as a time at its rate. It makes up for late timers.
    pub burst: Duration,
}

/// Name of the IFB interface for packets that arrive at `wan`. An interface's name has at most 15 bytes.
pub fn ifb_name(wan: &str) -> String {
    let mut name = format!("gl-{wan}");
    while name.len() > 15 {
        name.pop();
    }
    name
}

/// How Linux forwards between two interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwards {
    /// Both are ports of one bridge.
    Bridge,
    /// It routes.
    Router,
}

impl Forwards {
    pub(super) const fn family(self) -> Family {
        match self {
            Self::Bridge => Family::Bridge,
            Self::Router => Family::Inet,
        }
    }
}

/// Where packets to the home queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum QueueDown {
    /// Where they arrive: at the WAN interface, by an IFB interface.
    Wan,
    /// Where they leave: at the LAN interface.
    Lan,
}
