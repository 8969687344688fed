//! A game over TCP: its model or capture, its players, how they are reached and over which paths.

use std::sync::Arc;

use gamelane_link::PathConfig;
use gamelane_traffic::config::{MmoConfig, MmoStreams};

use super::app::way;
use super::{Place, files, link};
use crate::Carriage;
use crate::text::error::{Fault, ScenarioError};
use crate::text::keys::flow::{self, Paths};
use crate::text::keys::{App, Flow, Link};
use crate::text::mmos::mmos;

/// Most connections to share: as many as a pair of proxies has.
const MOST_CARRIERS: u32 = 16;
/// Most players.
const MOST_PLAYERS: u32 = 200_000;

/// What it writes.
pub(super) fn app(flow: &Flow, place: &Place<'_>) -> Result<MmoConfig, ScenarioError> {
    let streams = match (&flow.model, &flow.trace) {
        (Some(model), None) => MmoStreams::Model(files::mmo(model, &place.key("model"))?.streams),
        (None, Some(_)) => MmoStreams::Trace(traced(flow, place)?),
        (Some(_), Some(_)) => {
            let fault = Fault::new("a game comes from a model or from a trace, not from both");
            return Err(place.key("trace").refuse(fault.hint("leave out one of them")));
        }
        (None, None) => {
            let names: Vec<&str> = mmos().iter().map(|mmo| mmo.name.as_str()).collect();
            let fault =
                Fault::new("an mmo needs a `model`, or a `trace` to repeat").allowed(names.join(", "));
            return Err(place.key("model").refuse(fault));
        }
    };
    Ok(MmoConfig { streams, direction: flow.direction.map(way) })
}

/// Its players, how they are reached, and their paths where they differ.
pub(super) struct Players {
    pub(super) count: u32,
    pub(super) carriage: Carriage,
    pub(super) paths: Vec<(f64, [PathConfig; 2])>,
}

impl Default for Players {
    /// Everything that is no game over TCP.
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
    debug_assert!(flow.app == App::Mmo);
    let model = flow.model.as_deref().map(|name| files::mmo(name, &place.key("model"))).transpose()?;
    let recorded = match &config.streams {
        MmoStreams::Trace(streams) => Some(streams.len() as u32),
        MmoStreams::Model(_) => None,
    };
    let count = flow.connections.or(recorded).or(model.as_ref().map(|model| model.connections)).unwrap_or(1);
    let most = recorded.unwrap_or(MOST_PLAYERS);
    if !(1..=most).contains(&count) {
        let fault = match (count, recorded) {
            (0, _) => Fault::new("without players there is nothing to carry"),
            (_, Some(_)) => Fault::new("the capture has not so many TCP connections"),
            (_, None) => Fault::new("so many players are out of reach"),
        };
        return Err(place.key("connections").refuse(fault.allowed(format!("1 to {most}"))));
    }
    let paths = match flow.paths.unwrap_or(Paths::Link) {
        Paths::Link => Vec::new(),
        Paths::Model => match model {
            Some(model) => link::player_paths(link, flow, &model.paths),
            None => {
                let fault = Fault::new("a capture has no paths of its own").allowed("link");
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
            let fault =
                Fault::new(format!("with carriage \"{kind}\" every player has a connection of its own"));
            return Err(place.key("carriers").refuse(fault.hint("set carriage = \"mux\" or \"streams\"")));
        }
        let most = players.min(MOST_CARRIERS);
        if !(1..=most).contains(&carriers) {
            let fault = Fault::new("this is no number of connections to share");
            let allowed = format!("1 to {most}: no more than players, nor than {MOST_CARRIERS}");
            return Err(place.key("carriers").refuse(fault.allowed(allowed)));
        }
    }
    if shared && own_paths {
        let fault = Fault::new("players who share a connection share its path");
        return Err(place.key("paths").refuse(fault.hint("leave `paths` out; set the path with `rtt`")));
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
