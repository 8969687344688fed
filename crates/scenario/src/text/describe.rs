//! Flows in a reader's words, for tables and plots, with the caveats of results that depend on them.

use gamelane_core::{Catalogued, Direction, Duration};
use gamelane_traffic::App;
use gamelane_traffic::config::{EstimatedMatch, UpdateSize};

use super::build;
use super::games::Game;
use super::keys::Flow;
use super::keys::flow::{Carriage, Client, Codec, Requests, Role, Way};
use super::mmos::Mmo;
use super::model_file::About;
use super::scenario::Scenario;
use super::source::Label;
use super::text_or_table::TextOrTable;

/// A flow in a reader's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowDescription {
    /// Its name in the scenario.
    pub name: String,
    /// Its application, as the scenario writes it.
    pub app: &'static str,
    /// Label such as "Quake III Arena, 4 players".
    pub label: String,
    /// Strength of the sources of its numbers; `None` if they are those of the scenario itself.
    pub provenance: Option<Label>,
    /// Time of its first activity.
    pub start: Duration,
    /// Code point of its packets, as a number.
    pub dscp: u8,
    /// Caveats of a result: models that are our construction, open-loop replay.
    pub caveats: Vec<String>,
}

impl Scenario {
    /// All flows of the run, in the order of the file.
    pub fn describe_flows(&self) -> Vec<FlowDescription> {
        self.flow.iter().filter(|flow| flow.enabled).map(|flow| self.describe(flow)).collect()
    }
}

impl Scenario {
    fn describe(&self, flow: &Flow) -> FlowDescription {
        let game = build::game_of(self, flow);
        let mut described = describe(flow, game.as_ref(), build::about_model(self, flow).as_ref());
        described.caveats.extend(collapse(self, flow));
        described
    }
}

/// A warning if the network cannot carry what the players of a game over TCP ask for. Thin streams do not back off, and
/// losses limit shared connections.
fn collapse(scenario: &Scenario, flow: &Flow) -> Option<String> {
    if flow.direction == Some(Way::Up) {
        return None;
    }
    match flow.carriage.unwrap_or(Carriage::Direct) {
        Carriage::Direct | Carriage::Datagrams => link_too_small(scenario, flow),
        Carriage::Mux | Carriage::Streams => too_few_carriers(scenario, flow),
    }
}

/// Warns if shared connections are too slow. TCP carries at most one full segment per round trip times sqrt(3/4 / loss)
/// (Mathis et al., CCR 1997, with delayed ACKs).
fn too_few_carriers(scenario: &Scenario, flow: &Flow) -> Option<String> {
    let mmo = Mmo::shipped(flow.model.as_deref().filter(|_| flow.app.0 == App::Mmo)?).ok()?;
    let players = flow.connections.unwrap_or(mmo.connections);
    let asked = mmo.streams.payload_bps(Direction::Down) * f64::from(players);
    let loss = match flow.loss.towards(Direction::Down).map(|loss| &loss.0)? {
        TextOrTable::Text(share) => share.probability(),
        TextOrTable::Table(_) => return None,
    };
    let round_trip = flow.rtt.unwrap_or(scenario.link.rtt).0.as_secs_f64();
    let carriers = f64::from(flow.carriers.unwrap_or(1));
    let carried = carriers * FULL_SEGMENT_BITS / round_trip * libm::sqrt(0.75 / loss);
    (asked > NEARLY_ALL * carried).then(|| {
        format!(
            "{}: {players} players offer {:.0} kbit/s. At this loss and round trip time, TCP carries about {:.0} kbit/s over {carriers} \
             shared connections, so messages wait for the window. Use more `carriers`",
            flow.name,
            asked / 1e3,
            carried / 1e3
        )
    })
}

/// Payload of a full segment with timestamps on Ethernet.
const FULL_SEGMENT_BITS: f64 = 1448.0 * 8.0;

/// Warns if the link is too slow for thin streams, which do not back off.
fn link_too_small(scenario: &Scenario, flow: &Flow) -> Option<String> {
    let mmo = Mmo::shipped(flow.model.as_deref().filter(|_| flow.app.0 == App::Mmo)?).ok()?;
    let players = flow.connections.unwrap_or(mmo.connections);
    let offered = mmo.streams.offered_bps(Direction::Down) * f64::from(players);
    let link = scenario.link.down?;
    (offered > NEARLY_ALL * link.0.bps() as f64).then(|| {
        format!(
            "{}: {players} players offer {:.0} kbit/s to a link of {}. Thin streams do not back off, so its queue \
             stays full and retransmissions add to the load. Use a faster link, or shared connections (`carriage`)",
            flow.name,
            offered / 1e3,
            link
        )
    })
}

/// Share of the link's rate above which its queue hardly ever empties.
const NEARLY_ALL: f64 = 0.95;

fn describe(flow: &Flow, game: Option<&Game>, about: Option<&About>) -> FlowDescription {
    FlowDescription {
        name: flow.name.clone(),
        app: flow.app.0.word(),
        label: flow.title.clone().unwrap_or_else(|| label(flow, game, about)),
        provenance: flow.provenance.or(about.and_then(|about| about.sources.weakest())),
        start: flow.start.0,
        dscp: flow.dscp.0,
        caveats: caveats(flow, game, about),
    }
}

fn label(flow: &Flow, game: Option<&Game>, about: Option<&About>) -> String {
    let direction = flow.direction.unwrap_or(Way::Down);
    match flow.app.0 {
        App::Game | App::Trace if flow.trace.is_some() => {
            format!("replay of {}", file_name(flow.trace.as_deref().unwrap_or_default()))
        }
        App::Game | App::Trace => {
            let title = game.map_or(flow.model.as_deref().unwrap_or("a game"), |game| &game.about.title);
            match flow.players.or(game.map(|game| game.players)) {
                Some(players) if flow.role == Some(Role::Host) => {
                    format!("{title} hosted at home, {players} players")
                }
                Some(players) => format!("{title}, {players} players"),
                None => title.into(),
            }
        }
        App::Cloud => about.map_or(App::Cloud.descriptor().label, |about| &about.title).into(),
        App::Udp => match flow.rate {
            Some(rate) => format!("UDP at {rate}, {direction}"),
            None => format!("UDP, {direction}"),
        },
        App::Probe => App::Probe.descriptor().label.into(),
        App::Voip => format!("{}, {}", App::Voip.descriptor().label, flow.codec.unwrap_or(Codec::G711)),
        App::Bulk => {
            let what = if direction == Way::Up { "upload" } else { "download" };
            match flow.connections {
                None | Some(1) => what.into(),
                Some(connections) => format!("{what}, {connections} connections"),
            }
        }
        App::Web if direction == Way::Up => "short uploads".into(),
        App::Web => "web pages".into(),
        App::Mmo => {
            let mmo = flow.model.as_deref().and_then(|name| Mmo::shipped(name).ok());
            let what = match (about, &flow.trace) {
                (Some(about), _) => about.title.clone(),
                (None, Some(trace)) => format!("replay of {}", file_name(trace)),
                (None, None) => "an online game".into(),
            };
            let players = flow.connections.or(mmo.map(|mmo| mmo.connections));
            players.map_or(what.clone(), |players| format!("{what}, {players} connections"))
        }
        App::Dash => match flow.requests {
            Some(Requests::Adaptive) => "video, adaptive".into(),
            _ => "video, every rate in turn".into(),
        },
    }
}

fn caveats(flow: &Flow, game: Option<&Game>, about: Option<&About>) -> Vec<String> {
    let mut caveats = Vec::new();
    if flow.trace.is_some() {
        caveats.push(format!(
            "{}: a replayed capture is open loop: it does not react to the network",
            flow.name
        ));
    }
    caveats.extend(about.and_then(estimates));
    if let Some(sum) = game.and_then(|game| not_captured(game, flow.players.unwrap_or(game.players))) {
        caveats.push(format!("{}: {sum}", flow.name));
    }
    if flow.client == Some(Client::Pktgen) {
        caveats.push(format!(
            "{}: its client is TEACUP's generator (60 B every 10 ms), not the game's",
            flow.name
        ));
    }
    caveats
}

/// A note on a number of players that nobody captured.
fn not_captured(game: &Game, players: u32) -> Option<String> {
    let UpdateSize::Measured { estimated, .. } = &game.server.size else { return None };
    let EstimatedMatch { mean, mean_95, sd, sd_95, .. } =
        estimated.iter().find(|estimate| estimate.players == players)?;
    Some(format!(
        "no match of {players} players was captured; its updates are estimated: mean {mean:.0} B \
         (95 % interval {:.0} to {:.0} B), standard deviation {sd:.0} B ({:.0} to {:.0} B)",
        mean_95.0, mean_95.1, sd_95.0, sd_95.1
    ))
}

/// A note on the numbers of a model that nobody measured or published.
fn estimates(model: &About) -> Option<String> {
    let about_traffic = |key: &&str| !["host", "ports", "quality"].iter().any(|word| key.starts_with(word));
    let keys: Vec<&str> = model.sources.keys_of(Label::Estimate).filter(about_traffic).collect();
    (!keys.is_empty()).then(|| format!("the model of {} has estimates: {}", model.title, keys.join(", ")))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
