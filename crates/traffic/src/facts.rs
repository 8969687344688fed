//! What the catalogue says of an application, in addition to what it says of everything.

use gamelane_core::Descriptor;
use serde::Serialize;

use crate::app::Transport;

/// Descriptor of an application.
pub type AppDescriptor = Descriptor<AppFacts>;

/// Facts of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AppFacts {
    /// Group that reports and plots treat alike.
    pub group: Group,
    /// Transport.
    pub transport: Transport,
    /// Port of its server.
    pub server_port: u16,
}

/// Group of applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Games. Delay and loss spoil them.
    Game,
    /// Calls. Delay and loss spoil them too.
    Call,
    /// Long transfers.
    Transfer,
    /// Web pages.
    Web,
    /// Video.
    Video,
    /// Other traffic.
    Other,
    /// Packets of the gateway itself.
    Gateway,
}
