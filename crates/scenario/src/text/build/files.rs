//! Files a scenario names: game models and captures, looked for beside the scenario itself.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use gamelane_capture::CaptureError;
use gamelane_traffic::config::{TraceConfig, TracePacket};

use super::Place;
use crate::text::error::{Fault, ScenarioError};
use crate::text::games::Game;

/// The model of a game: shipped, or a file.
pub(super) fn game(name: &str, place: &Place<'_>) -> Result<Game, ScenarioError> {
    if !name.ends_with(".toml") {
        return Game::shipped(name).cloned().map_err(|fault| {
            let fault = if fault.hint.is_none() {
                fault.hint("a model of your own is a file: model = \"NAME.toml\"")
            } else {
                fault
            };
            place.refuse(fault)
        });
    }
    let path = beside(place, name);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        place.refuse(Fault::new(format!("the model file cannot be read: {error}")).hint(looked_for(&path)))
    })?;
    Game::parse(&text)
        .map_err(|why| place.refuse(Fault::new(format!("{} is not a game model: {why}", path.display()))))
}

/// The recorded flow of a capture; `place` is that of the scenario's flow.
pub(super) fn trace(
    name: &str,
    client: Option<IpAddr>,
    place: &Place<'_>,
) -> Result<TraceConfig, ScenarioError> {
    let path = beside(place, name);
    let flow = gamelane_capture::read_udp_flow(&path, client).map_err(|error| {
        let key = if matches!(error, CaptureError::UnknownClient { .. }) { "client" } else { "trace" };
        place.key(key).refuse(unreadable(&error, &path))
    })?;
    let packets = |packets: Vec<(gamelane_core::Duration, u32)>| {
        packets.into_iter().map(|(at, payload)| TracePacket { at, payload }).collect()
    };
    Ok(TraceConfig { up: packets(flow.up), down: packets(flow.down) })
}

/// Paths are relative to the scenario file.
fn beside(place: &Place<'_>, name: &str) -> PathBuf {
    Path::new(&place.origin.file).parent().unwrap_or(Path::new("")).join(name)
}

fn unreadable(error: &CaptureError, path: &Path) -> Fault {
    if let CaptureError::Io { source, .. } = error {
        return Fault::new(format!("the capture cannot be read: {source}")).hint(looked_for(path));
    }
    let text = error.to_string();
    let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
    let fault = Fault::new(message);
    if hint.is_empty() { fault } else { fault.hint(hint) }
}

fn looked_for(path: &Path) -> String {
    format!("looked for {}; paths are relative to the scenario file", path.display())
}
