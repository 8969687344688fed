//! List of the applications of a scenario. The descriptor of each is beside its code.

use gamelane_core::{Catalogued, catalogue};

use crate::app::Transport;
use crate::config::AppConfig;
use crate::facts::{AppDescriptor, AppFacts, Group};
use crate::{bulk, cbr, cloud, dash, game, mmo, trace, voip, web};

catalogue! {
    /// Application of a scenario.
    App as "App", "app", AppFacts {
        Game: game::GAME,
        Cloud: cloud::CLOUD,
        Trace: trace::TRACE,
        Udp: cbr::UDP,
        Voip: voip::VOIP,
        Bulk: bulk::BULK,
        Web: web::WEB,
        Dash: dash::DASH,
        Mmo: mmo::MMO,
        Probe: PROBE,
    }
}

/// Probes in the catalogue. The gateway sends them, so there is no application to run.
pub const PROBE: AppDescriptor = AppDescriptor {
    word: "probe",
    label: "probes of autorate",
    about: "Probes that `gateway.autorate` sends through the link, and their answers.",
    keys: &[],
    page: "rate",
    facts: AppFacts { group: Group::Gateway, transport: Transport::Udp, server_port: 2112 },
};

impl AppConfig {
    /// The application in the catalogue. A recorded flow counts as a game.
    pub const fn app(&self) -> App {
        match self {
            Self::Game(_) | Self::Hosted(_) | Self::Trace(_) => App::Game,
            Self::Cloud(_) => App::Cloud,
            Self::Cbr(_) => App::Udp,
            Self::Voip(_) => App::Voip,
            Self::Bulk(_) => App::Bulk,
            Self::Web(_) => App::Web,
            Self::Dash(_) => App::Dash,
            Self::Mmo(_) => App::Mmo,
            Self::Probe => App::Probe,
        }
    }

    /// Transport of the application.
    pub fn transport(&self) -> Transport {
        self.app().descriptor().facts.transport
    }
}
