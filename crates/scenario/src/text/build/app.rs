//! The application of a flow: required keys, defaults, and values that must fit each other.

use gamelane_core::dist::Dist;
use gamelane_core::headers::{IPV4_HEADER, UDP_HEADER};
use gamelane_core::{Bitrate, Direction, Duration};
use gamelane_traffic::App;
use gamelane_traffic::config::{
    self, AppConfig, BulkConfig, CbrConfig, ClientStream, CloudConfig, DashConfig, DashRequests, GameConfig,
    HostedConfig, ServerStream, VoipConfig, WebBurst, WebConfig,
};

use super::address::PORTS;
use super::{Place, files, mmo};
use crate::text::cloud::CloudGame;
use crate::text::error::{Fault, ScenarioError};
use crate::text::games::Game;
use crate::text::keys::Flow;
use crate::text::keys::flow::{Amount, Client, Codec, Range, Requests, Role, Way};
use crate::text::text_or_table::TextOrTable;
use crate::text::units::{Size, Span};

/// The configuration of the flow's application.
pub(super) fn app(flow: &Flow, mtu: u32, place: &Place<'_>) -> Result<AppConfig, ScenarioError> {
    match flow.app.0 {
        App::Game | App::Trace if flow.trace.is_some() => trace(flow, place),
        App::Trace => Err(missing("trace", "a capture file, such as \"captures/match.pcapng\"", place)),
        App::Game => hosted(game(flow, place)?, flow, place),
        App::Cloud => cloud(flow, place).map(AppConfig::Cloud),
        App::Udp => udp(flow, mtu, place).map(AppConfig::Cbr),
        App::Voip => Ok(AppConfig::Voip(VoipConfig { codec: codec(flow.codec.unwrap_or(Codec::G711)) })),
        App::Bulk => bulk(flow, place).map(AppConfig::Bulk),
        App::Web => web(flow, place).map(AppConfig::Web),
        App::Dash => dash(flow, place).map(AppConfig::Dash),
        App::Mmo => mmo::app(flow, place).map(AppConfig::Mmo),
        App::Probe => Ok(AppConfig::Probe),
    }
}

fn trace(flow: &Flow, place: &Place<'_>) -> Result<AppConfig, ScenarioError> {
    if flow.model.is_some() {
        let fault = Fault::new("`model` and `trace` exclude each other").hint("remove one of them");
        return Err(place.key("trace").refuse(fault));
    }
    if flow.players.is_some() {
        let fault = Fault::new("a trace fixes the number of players").hint("remove this key");
        return Err(place.key("players").refuse(fault));
    }
    if flow.role == Some(Role::Host) {
        let fault = Fault::new("a trace cannot change its role").hint("remove this key");
        return Err(place.key("role").refuse(fault));
    }
    let client = match flow.client {
        None => None,
        Some(Client::Address(address)) => Some(address),
        Some(Client::Game | Client::Pktgen) => {
            let fault = Fault::new("with a trace, the client is an IP address")
                .allowed("an IP address in the capture");
            return Err(place.key("client").refuse(fault));
        }
    };
    let name = flow.trace.as_deref().unwrap_or_default();
    files::trace(name, client, place).map(AppConfig::Trace)
}

fn game(flow: &Flow, place: &Place<'_>) -> Result<GameConfig, ScenarioError> {
    let Some(name) = &flow.model else {
        let names: Vec<&str> = Game::all().iter().map(|game| game.about.name.as_str()).collect();
        let fault = Fault::new("a game needs a `model` or a `trace`").allowed(names.join(", "));
        return Err(place.key("model").refuse(fault));
    };
    let game = files::game(name, &place.key("model"))?;
    let players = flow.players.unwrap_or(game.players);
    if !(game.least_players..=game.most_players).contains(&players) {
        let fault = Fault::new(format!("{} has no match of this size", game.about.title));
        let allowed = format!("{} to {}", game.least_players, game.most_players);
        return Err(place.key("players").refuse(fault.allowed(allowed)));
    }
    let has = |players: &u32| game.server.size.mean_payload(*players).is_some();
    if !has(&players) {
        let fault = Fault::new("this model has no match of this number of players");
        let allowed = (game.least_players..=game.most_players).filter(has).map(|players| players.to_string());
        let allowed = allowed.collect::<Vec<_>>().join(", ");
        return Err(place.key("players").refuse(fault.allowed(allowed)));
    }
    match flow.client {
        None | Some(Client::Game) => Ok(GameConfig { players, server: game.server, client: game.client }),
        Some(Client::Pktgen) => {
            let server = ServerStream { tick: Dist::Constant(PKTGEN_TICK.as_secs_f64()), ..game.server };
            Ok(GameConfig { players, server, client: ClientStream::pktgen() })
        }
        Some(Client::Address(_)) => {
            let fault = Fault::new("an IP address needs a `trace`; here the game comes from a model")
                .allowed("game, pktgen");
            Err(place.key("client").refuse(fault))
        }
    }
}

/// The game as played on a server on the internet, or on one at home.
fn hosted(game: GameConfig, flow: &Flow, place: &Place<'_>) -> Result<AppConfig, ScenarioError> {
    if flow.role.unwrap_or(Role::Player) == Role::Player {
        if flow.peers.is_some() {
            let fault =
                Fault::new("`peers` needs role = \"host\"").hint("add role = \"host\", or remove this key");
            return Err(place.key("peers").refuse(fault));
        }
        return Ok(AppConfig::Game(game));
    }
    let others = game.players.saturating_sub(1).max(1);
    let peers = flow.peers.unwrap_or(others);
    if !(1..=others).contains(&peers) {
        let fault = Fault::new(format!("a match of {} players has {others} peers", game.players));
        return Err(place.key("peers").refuse(fault.allowed(format!("1 to {others}"))));
    }
    Ok(AppConfig::Hosted(HostedConfig { game, peers }))
}

fn cloud(flow: &Flow, place: &Place<'_>) -> Result<CloudConfig, ScenarioError> {
    let Some(name) = &flow.model else {
        let names: Vec<&str> = CloudGame::all().iter().map(|game| game.about.name.as_str()).collect();
        let fault = Fault::new("a cloud game needs a `model`").allowed(names.join(", "));
        return Err(place.key("model").refuse(fault));
    };
    let model = CloudGame::shipped(name).map_err(|fault| place.key("model").refuse(fault))?;
    let rate = flow.rate.map_or(model.config.rate, |rate| rate.0);
    if !(100_000..=1_000_000_000).contains(&rate.bps()) {
        let fault = Fault::new("this video rate is out of range").allowed("\"100kbit\" to \"1gbit\"");
        return Err(place.key("rate").refuse(fault));
    }
    let frames_per_second = flow.fps.unwrap_or(model.config.frames_per_second);
    if !(1..=240).contains(&frames_per_second) {
        let fault = Fault::new("this frame rate is out of range").allowed("1 to 240");
        return Err(place.key("fps").refuse(fault));
    }
    Ok(CloudConfig { rate, frames_per_second, ..model.config })
}

fn udp(flow: &Flow, mtu: u32, place: &Place<'_>) -> Result<CbrConfig, ScenarioError> {
    let rate = flow.rate.ok_or_else(|| missing("rate", "a rate, such as \"500kbit\"", place))?;
    let size =
        flow.size.ok_or_else(|| missing("size", "the UDP payload of a packet, such as \"160B\"", place))?;
    let largest = mtu.saturating_sub(HEADERS);
    let payload = exactly(size, place)?.0.bytes();
    match u32::try_from(payload).ok().filter(|payload| *payload <= largest) {
        Some(payload) => Ok(CbrConfig { direction: direction(flow, place)?, rate: rate.0, payload }),
        None => {
            let fault =
                Fault::new(format!("this payload and {HEADERS} B of headers exceed `link.mtu`, {mtu} B"));
            Err(place.key("size").refuse(fault.allowed(format!("up to \"{largest}B\""))))
        }
    }
}

fn bulk(flow: &Flow, place: &Place<'_>) -> Result<BulkConfig, ScenarioError> {
    let size = flow.size.map(|size| exactly(size, place)).transpose()?.map(|size| size.0);
    let connections = flow.connections.unwrap_or(1);
    let most = u32::from(PORTS);
    if !(1..=most).contains(&connections) {
        let fault = Fault::new("a transfer cannot have this number of connections");
        return Err(place.key("connections").refuse(fault.allowed(format!("1 to {most}"))));
    }
    if size.is_some_and(|size| size.bytes() < u64::from(connections)) {
        let fault = Fault::new(format!("each of the {connections} connections carries at least 1 B"));
        return Err(place.key("size").refuse(fault.allowed(format!("at least \"{connections}B\""))));
    }
    Ok(BulkConfig { direction: direction(flow, place)?, size, connections })
}

fn web(flow: &Flow, place: &Place<'_>) -> Result<WebConfig, ScenarioError> {
    let burst = match (flow.lasting, flow.size) {
        (Some(lasting), None) => WebBurst::Lasting(lasting_dist(lasting, &place.key("lasting"))?),
        (None, Some(size)) => WebBurst::Sized(size_dist(size, &place.key("size"))?),
        (Some(_), Some(_)) => {
            let fault = Fault::new("`lasting` and `size` exclude each other").hint("remove one of them");
            return Err(place.key("lasting").refuse(fault));
        }
        (None, None) => {
            let allowed =
                "a time such as \"3s\" or { min = \"1s\", max = \"5s\" }; or `size`, such as \"2MiB\"";
            return Err(missing("lasting", allowed, place));
        }
    };
    let direction = flow.direction.map_or(Direction::Down, way);
    Ok(WebConfig { direction, period: flow.every.map_or(EVERY, |every| every.0), burst })
}

fn dash(flow: &Flow, place: &Place<'_>) -> Result<DashConfig, ScenarioError> {
    let rates: Vec<Bitrate> = match &flow.rates {
        Some(rates) => rates.iter().map(|rate| rate.0).collect(),
        None => RATES.map(Bitrate::from_bps).to_vec(),
    };
    if rates.is_empty() || !rates.is_sorted_by(|a, b| a < b) {
        let fault = Fault::new("the rates must ascend, and there must be at least one");
        return Err(place.key("rates").refuse(fault.allowed("[\"500kbit\", \"1mbit\", \"5mbit\"]")));
    }
    let requests = flow.requests.unwrap_or(Requests::Cycle);
    let foreign = match requests {
        Requests::Cycle => [("buffer", flow.buffer.is_some()), ("buffer", false)],
        Requests::Adaptive => [("gap", flow.gap.is_some()), ("period", flow.period.is_some())],
    };
    if let Some((key, _)) = foreign.into_iter().find(|(_, given)| *given) {
        let reader = if key == "buffer" { "adaptive" } else { "cycle" };
        let fault = Fault::new(format!("requests = \"{requests}\" does not read `{key}`; \"{reader}\" does"));
        return Err(place.key(key).refuse(fault));
    }
    let requests = match requests {
        Requests::Cycle => DashRequests::Cycle {
            gap: flow.gap.map_or(GAP, |gap| gap.0),
            period: flow.period.map_or(PERIOD, |period| period.0),
        },
        Requests::Adaptive => {
            DashRequests::Adaptive { buffer: flow.buffer.map_or(BUFFER, |buffer| buffer.0) }
        }
    };
    Ok(DashConfig { chunk: flow.chunk.map_or(CHUNK, |chunk| chunk.0), rates, requests })
}

fn direction(flow: &Flow, place: &Place<'_>) -> Result<Direction, ScenarioError> {
    flow.direction.map(way).ok_or_else(|| missing("direction", "up, down", place))
}

pub(super) fn way(way: Way) -> Direction {
    match way {
        Way::Up => Direction::Up,
        Way::Down => Direction::Down,
    }
}

fn codec(codec: Codec) -> config::Codec {
    match codec {
        Codec::G711 => config::Codec::G711,
        Codec::G729 => config::Codec::G729,
    }
}

fn exactly(size: Amount<Size>, place: &Place<'_>) -> Result<Size, ScenarioError> {
    match size {
        TextOrTable::Text(size) => Ok(size),
        TextOrTable::Table(_) => {
            let fault = Fault::new("this app takes one size; only `web` takes a range")
                .allowed("one size, such as \"160B\"");
            Err(place.key("size").refuse(fault))
        }
    }
}

fn lasting_dist(lasting: Amount<Span>, place: &Place<'_>) -> Result<Dist, ScenarioError> {
    match lasting {
        TextOrTable::Text(mean) => Ok(Dist::Exponential { mean: mean.0.as_secs_f64() }),
        TextOrTable::Table(Range { min, max }) => uniform(min.0.as_secs_f64(), max.0.as_secs_f64(), place),
    }
}

fn size_dist(size: Amount<Size>, place: &Place<'_>) -> Result<Dist, ScenarioError> {
    match size {
        TextOrTable::Text(size) => Ok(Dist::Constant(size.0.bytes() as f64)),
        TextOrTable::Table(Range { min, max }) => uniform(min.0.bytes() as f64, max.0.bytes() as f64, place),
    }
}

fn uniform(lo: f64, hi: f64, place: &Place<'_>) -> Result<Dist, ScenarioError> {
    if lo <= hi {
        return Ok(Dist::Uniform { lo, hi });
    }
    Err(place.key("max").refuse(Fault::new("`max` is below `min`")))
}

fn missing(key: &str, allowed: &str, place: &Place<'_>) -> ScenarioError {
    place.key(key).refuse(Fault::new("this app requires this key").allowed(allowed))
}

/// Update interval of TEACUP's server for every game (TEACUP 0.9.3, pktgen option `-iat`).
const PKTGEN_TICK: Duration = Duration::from_millis(50);
/// Bytes of headers around a UDP payload.
const HEADERS: u32 = IPV4_HEADER + UDP_HEADER;

// From the households of collom2016 section III.B, except for `BUFFER`, which is our choice.
const EVERY: Duration = Duration::from_secs(10);
const CHUNK: Duration = Duration::from_secs(5);
const RATES: [u64; 3] = [500_000, 1_000_000, 5_000_000];
const GAP: Duration = Duration::from_secs(2);
const PERIOD: Duration = Duration::from_secs(10);
const BUFFER: Duration = Duration::from_secs(30);
