//! A game over TCP: its model or capture, its players, their connections and their paths.

use gamelane_traffic::App;
use std::sync::Arc;

use gamelane_link::PathConfig;
use gamelane_traffic::config::{MmoConfig, MmoStreams};

use super::app::way;
use super::{Place, files, link};
use crate::Carriage;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::flow::{self, Paths};
use crate::text::keys::{Flow, Link};
use crate::text::mmos::Mmo;

/// Most shared connections, as in the proxy.
const MOST_CARRIERS: u32 = 16;
/// Most players of a model.
const MOST_PLAYERS: u32 = 200_000;

/// The writes of the game.
pub(super) fn app(flow: &Flow, place: &Place<'_>) -> Result<MmoConfig, ScenarioError> {
    let streams = match (&flow.model, &flow.trace) {
        (Some(model), None) => MmoStreams::Model(files::mmo(model, &place.key("model"))?.streams),
        (None, Some(_)) => MmoStreams::Trace(traced(flow, place)?),
        (Some(_), Some(_)) => {
            let fault = Fault::new("`model` and `trace` exclude each other");
            return Err(place.key("trace").refuse(fault.hint("remove one of them")));
        }
        (None, None) => {
            let names: Vec<&str> = Mmo::all().iter().map(|mmo| mmo.about.name.as_str()).collect();
            let fault = Fault::new("an mmo needs a `model` or a `trace`").allowed(names.join(", "));
            return Err(place.key("model").refuse(fault));
        }
    };
    Ok(MmoConfig { streams, direction: flow.direction.map(way) })
}

/// The players, the way to them, and their paths if these differ.
pub(super) struct Players {
    pub(super) count: u32,
    pub(super) carriage: Carriage,
    pub(super) paths: Vec<(f64, [PathConfig; 2])>,
}

impl Default for Players {
    /// The value of all other applications.
    fn default() -> Self {
        Self { count: 1, carriage: Carriage::Direct, paths: Vec::new() }
    }
}

/// The players of a flow.
pub(super) fn players(
    flow: &Flow,
    config: &MmoConfig,
    link: &Link,
    place: &Place<'_>,
) -> Result<Players, ScenarioError> {
    debug_assert!(flow.app.0 == App::Mmo);
    let model = flow.model.as_deref().map(|name| files::mmo(name, &place.key("model"))).transpose()?;
    let recorded = match &config.streams {
        MmoStreams::Trace(streams) => Some(streams.len() as u32),
        MmoStreams::Model(_) => None,
    };
    let count = flow.connections.or(recorded).or(model.as_ref().map(|model| model.connections)).unwrap_or(1);
    let most = recorded.unwrap_or(MOST_PLAYERS);
    if !(1..=most).contains(&count) {
        let fault = match (count, recorded) {
            (0, _) => Fault::new("there must be at least one player"),
            (_, Some(_)) => Fault::new("the capture has fewer TCP connections"),
            (_, None) => Fault::new("these are too many players"),
        };
        return Err(place.key("connections").refuse(fault.allowed(format!("1 to {most}"))));
    }
    let paths = match flow.paths.unwrap_or(Paths::Link) {
        Paths::Link => Vec::new(),
        Paths::Model => match model {
            Some(model) => link::player_paths(link, flow, &model.paths),
            None => {
                let fault = Fault::new("only a model has paths of its own").allowed("link");
                return Err(place.key("paths").refuse(fault));
            }
        },
    };
    Ok(Players { count, carriage: carriage(flow, count, !paths.is_empty(), place)?, paths })
}

fn carriage(
    flow: &Flow,
    players: u32,
    own_paths: bool,
    place: &Place<'_>,
) -> Result<Carriage, ScenarioError> {
    let kind = flow.carriage.unwrap_or(flow::Carriage::Direct);
    let shared = matches!(kind, flow::Carriage::Mux | flow::Carriage::Streams);
    if let Some(carriers) = flow.carriers {
        if !shared {
            let fault = Fault::new(format!("with carriage = \"{kind}\" players share no connections"));
            return Err(place.key("carriers").refuse(fault.hint("set carriage = \"mux\" or \"streams\"")));
        }
        let most = players.min(MOST_CARRIERS);
        if !(1..=most).contains(&carriers) {
            let fault = Fault::new("this number of shared connections is out of range");
            let allowed = format!("1 to {most} (at most one per player, and at most {MOST_CARRIERS})");
            return Err(place.key("carriers").refuse(fault.allowed(allowed)));
        }
    }
    if shared && own_paths {
        let fault = Fault::new("players that share a connection also share its path");
        return Err(place.key("paths").refuse(fault.hint("remove `paths`; set the path with `rtt`")));
    }
    let carriers = flow.carriers.unwrap_or(1);
    Ok(match kind {
        flow::Carriage::Direct => Carriage::Direct,
        flow::Carriage::Mux => Carriage::Mux { carriers },
        flow::Carriage::Streams => Carriage::Streams { carriers },
        flow::Carriage::Datagrams => Carriage::Datagrams,
    })
}

fn traced(
    flow: &Flow,
    place: &Place<'_>,
) -> Result<Arc<[gamelane_traffic::config::StreamTrace]>, ScenarioError> {
    files::streams(flow.trace.as_deref().unwrap_or_default(), &place.key("trace"))
}
