//! Files that a scenario names: game models, captures and traces. Paths are relative to the scenario file.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gamelane_capture::{Capture, CaptureError, ConnectionWrites, Input, Write};
use gamelane_core::Duration;
use gamelane_link::trace::RateTrace;
use gamelane_traffic::config::{StreamTrace, TraceConfig, TracePacket};

use super::Place;
use crate::text::error::{Fault, ScenarioError};
use crate::text::games::Game;
use crate::text::mmos::Mmo;
use crate::text::shipped;

/// The model of a game, shipped or from a file.
pub(super) fn game(name: &str, place: &Place<'_>) -> Result<Game, ScenarioError> {
    if !name.ends_with(".toml") {
        return Game::shipped(name).cloned().map_err(|fault| place.refuse(fault));
    }
    let path = beside(place, name);
    let text = place.origin.files.text(&path).map_err(|error| {
        place.refuse(
            Fault::new(format!("the model file cannot be read: {error}"))
                .hint(place.origin.files.hint(&path)),
        )
    })?;
    Game::parse(&text)
        .map_err(|why| place.refuse(Fault::new(format!("{} is not a game model: {why}", path.display()))))
}

/// The model of a game over TCP, shipped or from a file.
pub(super) fn mmo(name: &str, place: &Place<'_>) -> Result<Mmo, ScenarioError> {
    if !name.ends_with(".toml") {
        return Mmo::shipped(name).cloned().map_err(|fault| place.refuse(fault));
    }
    let path = beside(place, name);
    let text = place.origin.files.text(&path).map_err(|error| {
        place.refuse(
            Fault::new(format!("the model file cannot be read: {error}"))
                .hint(place.origin.files.hint(&path)),
        )
    })?;
    Mmo::parse(&text).map_err(|why| {
        place.refuse(Fault::new(format!("{} is not a model of a game over TCP: {why}", path.display())))
    })
}

/// The recorded flow of a capture; `place` is the place of the scenario's flow.
pub(super) fn trace(
    name: &str,
    client: Option<IpAddr>,
    place: &Place<'_>,
) -> Result<TraceConfig, ScenarioError> {
    let path = beside(place, name);
    let read = capture(&path, place).and_then(|mut capture| gamelane_capture::udp_flow(&mut capture, client));
    let flow = read.map_err(|error| {
        let key = if matches!(error, CaptureError::UnknownClient { .. }) { "client" } else { "trace" };
        place.key(key).refuse(unreadable(&error, &path, place))
    })?;
    let packets = |packets: Vec<(gamelane_core::Duration, u32)>| {
        packets.into_iter().map(|(at, payload)| TracePacket { at, payload }).collect()
    };
    Ok(TraceConfig { up: packets(flow.up), down: packets(flow.down) })
}

/// The writes of every TCP connection of a capture, without retransmissions.
pub(super) fn streams(name: &str, place: &Place<'_>) -> Result<Arc<[StreamTrace]>, ScenarioError> {
    let path = beside(place, name);
    let read = capture(&path, place).and_then(|mut capture| gamelane_capture::tcp_writes(&mut capture));
    let connections = read.map_err(|error| place.refuse(unreadable(&error, &path, place)))?;
    let first = connections.iter().map(|connection| connection.start_ns).min().unwrap_or(0);
    let stream = |one: ConnectionWrites| {
        let opened = Duration::from_nanos(one.start_ns - first);
        let writes = |writes: Vec<Write>| {
            writes.iter().map(|write| TracePacket { at: opened + write.at, payload: write.bytes }).collect()
        };
        StreamTrace { opened, up: writes(one.up), down: writes(one.down) }
    };
    if connections.is_empty() {
        let fault = Fault::new(format!("{} contains no TCP connection", path.display()));
        return Err(place.refuse(fault.hint("app = \"trace\" replays a UDP flow")));
    }
    Ok(connections.into_iter().map(stream).collect())
}

/// The rates of a link: a shipped trace by its name, or a file.
pub(super) fn rate_trace(name: &str, place: &Place<'_>) -> Result<RateTrace, ScenarioError> {
    if !name.contains(['.', '/']) {
        let traces = shipped::texts(&shipped::MODELS, "traces", "rate");
        let found = traces.iter().find(|(known, _)| *known == name).ok_or_else(|| {
            let fault = Fault::new("no such rate trace").one_of(name, traces.iter().map(|(known, _)| *known));
            place.refuse(fault.or_hint("a trace of your own is a file with an ending: \"NAME.rate\""))
        })?;
        return parse_rates(found.1.as_bytes(), name, place);
    }
    let path = beside(place, name);
    let text = place.origin.files.read(&path, LONGEST_TRACE).map_err(|error| {
        place.refuse(
            Fault::new(format!("the trace cannot be read: {error}")).hint(place.origin.files.hint(&path)),
        )
    })?;
    parse_rates(&text, &path.display().to_string(), place)
}

fn parse_rates(text: &[u8], name: &str, place: &Place<'_>) -> Result<RateTrace, ScenarioError> {
    RateTrace::parse(text).map_err(|error| {
        place.refuse(Fault::new(format!("{name}, {error}")).allowed(
            "mahimahi's format, a time in ms on each line; or a time in ms and a rate in kbit/s on each line, and `MS end` on the last",
        ))
    })
}

fn capture(path: &Path, place: &Place<'_>) -> Result<Capture<Input>, CaptureError> {
    let io = |source| CaptureError::Io { path: path.to_owned(), source };
    let input = place.origin.files.open(path).and_then(Input::unpacked);
    Capture::from_reader(input.map_err(io)?, path)
}

/// The path of a file that the scenario names, relative to the scenario file.
fn beside(place: &Place<'_>, name: &str) -> PathBuf {
    Path::new(&place.origin.file).parent().unwrap_or(Path::new("")).join(name)
}

fn unreadable(error: &CaptureError, path: &Path, place: &Place<'_>) -> Fault {
    if let CaptureError::Io { source, .. } = error {
        return Fault::new(format!("the capture cannot be read: {source}"))
            .hint(place.origin.files.hint(path));
    }
    let text = error.to_string();
    let (text, hint) =
        text.split_once("\nhint: ").map_or((&text[..], None), |(text, hint)| (text, Some(hint)));
    let (message, allowed) =
        text.split_once("\n  allowed: ").map_or((text, None), |(message, allowed)| (message, Some(allowed)));
    Fault { message: message.into(), allowed: allowed.map(Into::into), hint: hint.map(Into::into) }
}

/// Most bytes of a trace of rates: days of a mobile link, a line for each packet.
const LONGEST_TRACE: u64 = 1 << 28;
