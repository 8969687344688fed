//! `[[flow]]`: one application between a host at home and one on the internet.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use gamelane_tcp::Stack;
use gamelane_traffic::App;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::link::Loss;
use super::selective::selective;
use super::tcp::{Tcp, maybe_stack_or_keys};
use crate::text::dscp::Dscp;
use crate::text::each_way::EachWay;
use crate::text::error::Fault;
use crate::text::from_text::in_text;
use crate::text::source::Label;
use crate::text::text_or_table::TextOrTable;
use crate::text::units::{Rate, Size, Span, Time};
use crate::text::words::{Word, words};

/// One application between a host at home and one on the internet. A key that its `app` does not read is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique name, of a-z, 0-9, `_` and `-`.
    #[schemars(regex(pattern = r"^[a-z0-9_-]+$"))]
    pub name: String,
    /// Application.
    pub app: Word<App>,
    /// `false` excludes the flow from the run. Its keys are still checked.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(extend("x-default" = "true"))]
    pub enabled: bool,
    /// Name for tables and reports. Default: a label from the other keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where the numbers of this flow come from. Tables and reports show it, unless it is measured or published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Label>,
    /// Host at home that runs the application. If the top-level `hosts` is given, it must list this host. Default: a
    /// host of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Time of the first activity, from the start of the run.
    #[serde(default)]
    pub start: Time,
    /// Time of the last activity. Default: the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// DSCP of the packets: 0 to 63, or a name such as `"EF"`.
    #[serde(default)]
    pub dscp: Dscp,
    /// Base round trip time of the path beyond the link. Default: `link.rtt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Time>,
    /// Packet loss on the path beyond the link, in addition to `link.loss`.
    #[serde(default)]
    pub loss: EachWay<Loss>,
    /// Extra delay on the path beyond the link, uniform from 0 to this value. Packets stay in order.
    #[serde(default)]
    pub path_jitter: EachWay<Time>,
    /// Name of a shipped model. `game` and `mmo` also take a model file (`.toml`), relative to the scenario file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Capture file, relative to the scenario file. `game` and `trace` replay its first UDP flow; `mmo` replays the
    /// writes of its TCP connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Place of the game server: on the internet (`player`) or at home (`host`). With `host`, the updates go up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "player"))]
    pub role: Option<Role>,
    /// With `role = "host"`: remote players that this flow serves, 1 to 31. They share one pair of ports. For a queue
    /// per peer, write one flow with `peers = 1` for each. Default: all other players of the match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peers: Option<u32>,
    /// Players in the match. Default: the number in the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub players: Option<u32>,
    /// Sender of the upstream packets. With a model: `game` sends as the model says; `pktgen` sends 60 B every 10 ms
    /// like TEACUP's generator, and the server then sends every 50 ms. With a trace: the player's IP address in the
    /// capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// Direction of the data. Required for `udp` and `bulk`. Default: `down` for `web`, both directions for `mmo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Way>,
    /// Rate of the IP packets. Required for `udp`. For `cloud` it is the rate of the video, by default the model's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// `udp`: UDP payload of a packet, required. `bulk`: bytes to send, by default without end. `web`: bytes of one
    /// download, one size or `{ min, max }`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Amount<Size>>,
    /// Video frames per second, 1 to 240. Default: the number in the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fps: Option<u32>,
    /// Voice codec.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "g711"))]
    pub codec: Option<Codec>,
    /// Time between the starts of two downloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "10s"))]
    pub every: Option<Span>,
    /// Duration of one download: the mean of an exponential distribution, or `{ min, max }` of a uniform one. Required
    /// unless `size` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lasting: Option<Amount<Span>>,
    /// Playing time of one video chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "5s"))]
    pub chunk: Option<Span>,
    /// Rates of the video versions, ascending.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "500kbit, 1mbit, 5mbit"))]
    pub rates: Option<Vec<Rate>>,
    /// Rule by which the player requests chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "cycle"))]
    pub requests: Option<Requests>,
    /// With `requests = "cycle"`: time between the requests of one cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "2s"))]
    pub gap: Option<Time>,
    /// With `requests = "cycle"`: time between the starts of two cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "10s"))]
    pub period: Option<Span>,
    /// With `requests = "adaptive"`: playing time that the player keeps buffered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "30s"))]
    pub buffer: Option<Span>,
    /// TCP connections that open at the start. `mmo`: number of players, 1 to 200000, by default the number in the
    /// model, or all connections of the capture. `bulk`: 1 to 64 (1), each with its share of `size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// How the messages reach the players.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "direct"))]
    pub carriage: Option<Carriage>,
    /// Connections that all players share with `carriage = "mux"` or `"streams"`, 1 to 16 and at most one per player.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "1"))]
    pub carriers: Option<u32>,
    /// Network paths to the players.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "link"))]
    pub paths: Option<Paths>,
    /// TCP settings of both ends: a table, or the word of a stack. Each key overrides the same key of the top-level
    /// `[tcp]`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_stack_or_keys")]
    #[schemars(with = "Option<TextOrTable<Word<Stack>, Tcp>>")]
    pub tcp: Option<Tcp>,
}

fn yes() -> bool {
    true
}

fn is_yes(enabled: &bool) -> bool {
    *enabled
}

words! {
    /// Direction.
    Way "direction" {
        /// From the home to the internet.
        Up = "up",
        /// From the internet to the home.
        Down = "down",
    }
}

words! {
    /// Place of the game server.
    Role "role" {
        /// On the internet; the player at home joins it.
        Player = "player",
        /// At home; players on the internet join it.
        Host = "host",
    }
}

words! {
    /// Voice codec. It sends a packet every 20 ms.
    Codec "codec" {
        /// 160 B of voice every 20 ms.
        G711 = "g711",
        /// 20 B of voice every 20 ms.
        G729 = "g729",
    }
}

words! {
    /// How the messages reach the players.
    Carriage "value of `carriage`" {
        /// One TCP connection per player.
        Direct = "direct",
        /// `carriers` shared TCP connections to a proxy near the players.
        Mux = "mux",
        /// Like `mux`, but a loss delays only the messages of its own player, as over QUIC.
        Streams = "streams",
        /// UDP datagrams that repeat unacknowledged messages.
        Datagrams = "datagrams",
    }
}

words! {
    /// Network paths to the players.
    Paths "value of `paths`" {
        /// Every player has the path of the link.
        Link = "link",
        /// The players have the paths of the model, some near and some far.
        Model = "model",
    }
}

words! {
    /// Rule by which the player requests chunks.
    Requests "value of `requests`" {
        /// Requests each rate once per cycle, `gap` apart, whatever the throughput is.
        Cycle = "cycle",
        /// Requests the next chunk as the buffer runs down, at the highest rate that the throughput allows.
        Adaptive = "adaptive",
    }
}

/// Sender of a game's upstream packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// The client of the model.
    Game,
    /// TEACUP's generator.
    Pktgen,
    /// The host with this address in a capture.
    Address(IpAddr),
}

/// One value, or a range.
pub type Amount<T> = TextOrTable<T, Range<T>>;

/// A uniform distribution between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range<T> {
    /// Smallest value.
    pub min: T,
    /// Largest value.
    pub max: T,
}

selective! {
    Flow;
    everywhere: name, title, provenance, app, enabled, host, start, stop, dscp, rtt, loss, path_jitter;
    selective:
        model,
        trace,
        role,
        peers,
        players,
        client,
        direction,
        rate,
        size,
        fps,
        codec,
        every,
        lasting,
        chunk,
        rates,
        requests,
        gap,
        period,
        buffer,
        connections,
        carriage,
        carriers,
        paths,
        tcp;
}

impl FromStr for Client {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        match text {
            "game" => Ok(Self::Game),
            "pktgen" => Ok(Self::Pktgen),
            _ => text.parse().map(Self::Address).map_err(|_| {
                let fault = Fault::new("this is neither a client type nor an IP address")
                    .one_of(text, ["game", "pktgen"]);
                fault.allowed("game, pktgen, or an IP address of a capture")
            }),
        }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Game => f.write_str("game"),
            Self::Pktgen => f.write_str("pktgen"),
            Self::Address(address) => address.fmt(f),
        }
    }
}

in_text!(Client, "game, pktgen, or an IP address of a capture");

impl JsonSchema for Client {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Client".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "x-type": "`game`, `pktgen` or an IP address" })
    }
}
