//! `[[flow]]`: one application between a host at home and one on the internet.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::link::Loss;
use super::tcp::Tcp;
use crate::text::dscp::Dscp;
use crate::text::each_way::EachWay;
use crate::text::error::Fault;
use crate::text::from_text::in_text;
use crate::text::text_or_table::TextOrTable;
use crate::text::units::{Rate, Size, Span, Time};
use crate::text::words::words;

/// One application. Keys that its `app` does not read are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique name, of a-z, 0-9, `_` and `-`.
    #[schemars(regex(pattern = r"^[a-z0-9_-]+$"))]
    pub name: String,
    /// What runs.
    pub app: App,
    /// `false` leaves the flow out of the run; it is still checked.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(extend("x-default" = "true"))]
    pub enabled: bool,
    /// Host at home that runs it, one of `hosts` if that is given. Left out: a host of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// First activity, from the start of the run.
    #[serde(default)]
    pub start: Time,
    /// Last activity. Left out: the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Time>,
    /// Differentiated services code point of its packets: 0 to 63, or a name such as `"EF"`.
    #[serde(default)]
    pub dscp: Dscp,
    /// Base round trip of its path, in place of the link's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Time>,
    /// Packets its path loses, beyond the link.
    #[serde(default)]
    pub loss: EachWay<Loss>,
    /// Extra delay of its path, uniform from zero to this; packets stay in order.
    #[serde(default)]
    pub path_jitter: EachWay<Time>,
    /// A shipped game model by name (for `cloud` one of its own), or a file (`.toml`) beside the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A capture beside the scenario. Its first UDP flow is repeated as it was recorded; of an `mmo`, the writes of its
    /// TCP connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// `"player"` joins a server on the internet; with `"host"` the server runs at home and its updates go up.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "player"))]
    pub role: Option<Role>,
    /// With `role = "host"`: players elsewhere that this flow serves, 1 to 31. Left out: all others of the match. They share
    /// one pair of ports; for a queue per peer write a flow for each, with `peers = 1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peers: Option<u32>,
    /// Players in the match. Left out: as the model says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub players: Option<u32>,
    /// With a model: `"game"` sends as the model says, `"pktgen"` as TEACUP's generator does, 60 B every 10 ms and
    /// the server every 50 ms. With a trace: the address of the player in the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<Client>,
    /// Which way the bytes go. Required but for `web`, which goes down, and `mmo`, which goes both ways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Way>,
    /// Rate of the IP packets; of a cloud game's video, in place of the model's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// UDP payload of a packet (`udp`); all there is to send (`bulk`, left out: no end); one download (`web`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Amount<Size>>,
    /// Frames a second, 1 to 240, in place of the model's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fps: Option<u32>,
    /// Voice codec.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "g711"))]
    pub codec: Option<Codec>,
    /// Time between downloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "10s"))]
    pub every: Option<Span>,
    /// How long each download goes on: the mean of an exponential distribution, or `{ min, max }` of a uniform one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lasting: Option<Amount<Span>>,
    /// Playing time of one chunk of video.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "5s"))]
    pub chunk: Option<Span>,
    /// Rates the video comes in, ascending.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "500kbit, 1mbit, 5mbit"))]
    pub rates: Option<Vec<Rate>>,
    /// When the next chunk is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "cycle"))]
    pub requests: Option<Requests>,
    /// Between the requests of a cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "2s"))]
    pub gap: Option<Time>,
    /// Between the starts of two cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "10s"))]
    pub period: Option<Span>,
    /// Playing time an adaptive player keeps in hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "30s"))]
    pub buffer: Option<Span>,
    /// Players of an `mmo`, 1 to 200000. Left out: as the model says, or all that the capture has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// How the messages of an `mmo` reach its players.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "direct"))]
    pub carriage: Option<Carriage>,
    /// Connections that `carriage` shares among the players.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "1"))]
    pub carriers: Option<u32>,
    /// The paths to the players of an `mmo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "link"))]
    pub paths: Option<Paths>,
    /// TCP of both ends, key by key over the top-level `[tcp]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<Tcp>,
}

fn yes() -> bool {
    true
}

fn is_yes(enabled: &bool) -> bool {
    *enabled
}

words! {
    /// Application.
    App "app" {
        /// A game over UDP, from a model or a trace.
        Game = "game",
        /// A game that runs elsewhere and comes as video over UDP.
        Cloud = "cloud",
        /// A recorded UDP flow.
        Trace = "trace",
        /// UDP packets at a fixed rate.
        Udp = "udp",
        /// A voice call, both ways.
        Voip = "voip",
        /// One long TCP transfer.
        Bulk = "bulk",
        /// A TCP download at regular times.
        Web = "web",
        /// Video in chunks over TCP.
        Dash = "dash",
        /// An online game over TCP, a thin connection for each player.
        Mmo = "mmo",
        /// Probes that `gateway.autorate` sends through the link, and their answers.
        Probe = "probe",
    }
}

words! {
    /// Which way bytes go.
    Way "direction" {
        /// From the home to the internet.
        Up = "up",
        /// From the internet to the home.
        Down = "down",
    }
}

words! {
    /// Where a game's server runs.
    Role "role" {
        /// On the internet.
        Player = "player",
        /// At home.
        Host = "host",
    }
}

words! {
    /// Voice codec, a packet each 20 ms.
    Codec "codec" {
        /// 160 B of voice.
        G711 = "g711",
        /// 20 B of voice.
        G729 = "g729",
    }
}

words! {
    /// How messages reach players.
    Carriage "carriage" {
        /// Over a TCP connection for each player.
        Direct = "direct",
        /// Over `carriers` TCP connections to a proxy near the players.
        Mux = "mux",
        /// The same, but a loss holds up its own player's messages only, as over QUIC.
        Streams = "streams",
        /// In datagrams that repeat what is not yet acknowledged.
        Datagrams = "datagrams",
    }
}

words! {
    /// Paths to players.
    Paths "choice of paths" {
        /// Every player has the link's.
        Link = "link",
        /// Those of the model, near and far players.
        Model = "model",
    }
}

words! {
    /// When video chunks are asked for.
    Requests "rule for requests" {
        /// Each rate once a cycle, `gap` apart, whatever the network does.
        Cycle = "cycle",
        /// As playing time runs out, at the highest rate the throughput bears.
        Adaptive = "adaptive",
    }
}

/// Who sends a game's upstream packets.
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

/// Uniform between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range<T> {
    /// Smallest.
    pub min: T,
    /// Largest.
    pub max: T,
}

impl Flow {
    /// The keys given here that only some applications read, each with those applications.
    pub(crate) fn selective(&self) -> impl Iterator<Item = (&'static str, &'static [App])> {
        let given = [
            self.model.is_some(),
            self.trace.is_some(),
            self.role.is_some(),
            self.peers.is_some(),
            self.players.is_some(),
            self.client.is_some(),
            self.direction.is_some(),
            self.rate.is_some(),
            self.size.is_some(),
            self.fps.is_some(),
            self.codec.is_some(),
            self.every.is_some(),
            self.lasting.is_some(),
            self.chunk.is_some(),
            self.rates.is_some(),
            self.requests.is_some(),
            self.gap.is_some(),
            self.period.is_some(),
            self.buffer.is_some(),
            self.connections.is_some(),
            self.carriage.is_some(),
            self.carriers.is_some(),
            self.paths.is_some(),
            self.tcp.is_some(),
        ];
        SELECTIVE.into_iter().zip(given).filter_map(|(row, given)| given.then_some(row))
    }
}

/// Keys that only some applications read.
pub(crate) const SELECTIVE: [(&str, &[App]); 24] = [
    ("model", &[App::Game, App::Cloud, App::Mmo]),
    ("trace", &[App::Game, App::Trace, App::Mmo]),
    ("role", &[App::Game]),
    ("peers", &[App::Game]),
    ("players", &[App::Game]),
    ("client", &[App::Game, App::Trace]),
    ("direction", &[App::Udp, App::Bulk, App::Web, App::Mmo]),
    ("rate", &[App::Udp, App::Cloud]),
    ("size", &[App::Udp, App::Bulk, App::Web]),
    ("fps", &[App::Cloud]),
    ("codec", &[App::Voip]),
    ("every", &[App::Web]),
    ("lasting", &[App::Web]),
    ("chunk", &[App::Dash]),
    ("rates", &[App::Dash]),
    ("requests", &[App::Dash]),
    ("gap", &[App::Dash]),
    ("period", &[App::Dash]),
    ("buffer", &[App::Dash]),
    ("connections", &[App::Mmo]),
    ("carriage", &[App::Mmo]),
    ("carriers", &[App::Mmo]),
    ("paths", &[App::Mmo]),
    ("tcp", &[App::Bulk, App::Web, App::Dash, App::Mmo]),
];

impl FromStr for Client {
    type Err = Fault;
    fn from_str(text: &str) -> Result<Self, Fault> {
        match text {
            "game" => Ok(Self::Game),
            "pktgen" => Ok(Self::Pktgen),
            _ => text.parse().map(Self::Address).map_err(|_| {
                let fault = Fault::new("this is neither a kind of client nor an address")
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
