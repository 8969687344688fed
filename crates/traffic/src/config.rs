//! Applications as a scenario names them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use gamelane_core::dist::{Dist, Mixture};
use gamelane_core::{Bitrate, ByteCount, Direction, Duration};

/// When an application runs, from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// First activity.
    pub start: Duration,
    /// Last activity; `None` means the end of the run.
    pub stop: Option<Duration>,
}

/// An application: both of its sides, the transport follows from it.
#[derive(Clone, Debug, PartialEq)]
pub enum AppConfig {
    /// A game over UDP, from a model.
    Game(GameConfig),
    /// A game whose server runs at home, for peers elsewhere.
    Hosted(HostedConfig),
    /// A game that runs elsewhere and comes as video.
    Cloud(CloudConfig),
    /// A recorded UDP flow, sizes and times as captured.
    Trace(TraceConfig),
    /// UDP at a fixed rate.
    Cbr(CbrConfig),
    /// A voice call, both ways.
    Voip(VoipConfig),
    /// One long TCP transfer.
    Bulk(BulkConfig),
    /// A TCP download of random length at regular times.
    Web(WebConfig),
    /// Video in chunks over TCP.
    Dash(DashConfig),
    /// An online game over TCP: thin streams.
    Mmo(MmoConfig),
    /// Datagrams that a gateway sends when it wants to know a round trip, and their answers: no application by itself.
    Probe,
}

impl AppConfig {
    /// The word a scenario uses for it; a replayed game is a game.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Game(_) | Self::Hosted(_) | Self::Trace(_) => "game",
            Self::Cloud(_) => "cloud",
            Self::Cbr(_) => "udp",
            Self::Voip(_) => "voip",
            Self::Bulk(_) => "bulk",
            Self::Web(_) => "web",
            Self::Dash(_) => "dash",
            Self::Mmo(_) => "mmo",
            Self::Probe => "probe",
        }
    }
}

/// A client-server game (reference/game-traffic.md sections 2 and 4).
#[derive(Clone, Debug, PartialEq)]
pub struct GameConfig {
    /// Players in the match, 2 to 32: sets the size of the server's updates.
    pub players: u32,
    /// Server to client.
    pub server: ServerStream,
    /// Client to server.
    pub client: ClientStream,
}

/// A game whose server a player runs at home.
#[derive(Clone, Debug, PartialEq)]
pub struct HostedConfig {
    /// The game; its server's stream goes up and its client's comes down.
    pub game: GameConfig,
    /// How many peers the home's upstream serves, from 1.
    pub peers: u32,
}

/// Cloud gaming: video down, input up (palazzi-voap Table I).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CloudConfig {
    /// Mean rate of the video's IP packets.
    pub rate: Bitrate,
    /// Frames a second, from 1.
    pub frames_per_second: u32,
    /// UDP payload of a full packet; the last one of a frame holds the rest.
    pub payload: u32,
    /// Coefficient of variation of frame sizes.
    pub variation: f64,
    /// Every so many frames one is a key frame; `None` for none.
    pub key_frame_every: Option<u32>,
    /// Size of a key frame, in ordinary frames.
    pub key_frame_size: f64,
    /// Rate of the input's IP packets.
    pub input_rate: Bitrate,
    /// UDP payload of an input packet.
    pub input_payload: u32,
}

/// Server updates: one packet per tick and client.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerStream {
    /// Time between updates.
    pub tick: Dist,
    /// How far each update leaves from its place on the tick's grid, in seconds; `None` keeps to the grid.
    pub jitter: Option<Dist>,
    /// UDP payload size.
    pub size: UpdateSize,
}

/// Size of server updates, UDP payload bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum UpdateSize {
    /// ARMA(1,1) around `fixed + players * per_player` (reference/game-traffic.md section 4).
    Arma {
        /// Bytes that do not depend on the number of players.
        fixed: f64,
        /// Bytes each player adds.
        per_player: f64,
        /// Standard deviation each player adds; variances add up.
        sd_per_player: f64,
        /// Autoregressive coefficient.
        phi: f64,
        /// Moving-average coefficient.
        theta: f64,
        /// Smallest payload.
        min: u32,
        /// Largest payload.
        max: u32,
    },
    /// Independent draws, whatever the number of players.
    Independent {
        /// Payload bytes.
        size: Dist,
        /// Smallest payload.
        min: u32,
        /// Largest payload.
        max: u32,
    },
    /// As captured, number of players by number of players; others are added up from those (docs/models/traffic-fit.md).
    Measured {
        /// What was captured, each number of players once.
        matches: Vec<MeasuredMatch>,
        /// Bytes that do not depend on the number of players: counted once where matches are added up.
        fixed: f64,
        /// Smallest payload.
        min: u32,
        /// Largest payload.
        max: u32,
    },
}

/// Updates to one client of a captured match.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredMatch {
    /// Players in it.
    pub players: u32,
    /// Payload bytes.
    pub series: SizeSeries,
}

/// Sizes by their distribution and the memory between them.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeSeries {
    /// Autoregressive coefficient of the normal series behind the sizes.
    pub phi: f64,
    /// Moving-average coefficient of it.
    pub theta: f64,
    /// Share of sizes and the size it does not exceed, from share 0 to share 1, both ascending; at least two.
    pub quantiles: Vec<(f64, f64)>,
}

/// Client commands. Interval in seconds, size in UDP payload bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientStream {
    /// Each packet draws its interval from one of these, by weight.
    pub interval: Vec<(f64, Dist)>,
    /// Sizes.
    pub size: CommandSize,
}

/// Size of client commands, UDP payload bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandSize {
    /// Each packet draws its size from one of these, by weight.
    Mixture(Vec<(f64, Dist)>),
    /// A series with memory.
    Series(SizeSeries),
}

/// One packet of a recorded flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracePacket {
    /// From the first packet of the flow, either direction.
    pub at: Duration,
    /// UDP payload bytes.
    pub payload: u32,
}

/// A recorded flow, split by direction, each in order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceConfig {
    /// Home to internet.
    pub up: Vec<TracePacket>,
    /// Internet to home.
    pub down: Vec<TracePacket>,
}

/// UDP at a fixed rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CbrConfig {
    /// Which way.
    pub direction: Direction,
    /// Rate of the IP packets.
    pub rate: Bitrate,
    /// UDP payload of each packet.
    pub payload: u32,
}

/// Voice codecs (reference/game-traffic.md section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// 160 B every 20 ms.
    G711,
    /// 20 B every 20 ms.
    G729,
}

/// A voice call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoipConfig {
    /// Codec of both directions.
    pub codec: Codec,
}

/// One long TCP transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkConfig {
    /// Which way.
    pub direction: Direction,
    /// Bytes to move; `None` goes on to the end.
    pub size: Option<ByteCount>,
}

/// TCP downloads at regular times, each a new connection (collom2016 section III.B: iperf for a random time).
#[derive(Clone, Debug, PartialEq)]
pub struct WebConfig {
    /// Which way the pages go.
    pub direction: Direction,
    /// Time between starts.
    pub period: Duration,
    /// How long or how much each one loads.
    pub burst: WebBurst,
}

/// Length of a web burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WebBurst {
    /// As fast as it goes for a random time, in seconds.
    Lasting(Dist),
    /// A random number of bytes.
    Sized(Dist),
}

/// Video in chunks.
#[derive(Clone, Debug, PartialEq)]
pub struct DashConfig {
    /// Playing time of one chunk.
    pub chunk: Duration,
    /// Representation rates, ascending.
    pub rates: Vec<Bitrate>,
    /// When chunks are requested.
    pub requests: DashRequests,
}

/// When a DASH client asks for the next chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DashRequests {
    /// Each rate once a cycle, `gap` apart (collom2016 section III.B); a request waits for the one before it.
    Cycle {
        /// Between rates within a cycle.
        gap: Duration,
        /// Length of a cycle.
        period: Duration,
    },
    /// When the one before has arrived and less than `buffer` is waiting to be played; the rate is the highest below
    /// the measured throughput.
    Adaptive {
        /// Playing time to keep in hand.
        buffer: Duration,
    },
}

/// An online game over TCP, a connection for each player.
#[derive(Clone, Debug, PartialEq)]
pub struct MmoConfig {
    /// What is written.
    pub streams: MmoStreams,
    /// Only this direction; `None` means both.
    pub direction: Option<Direction>,
}

/// Where writes come from.
#[derive(Clone, Debug, PartialEq)]
pub enum MmoStreams {
    /// Drawn.
    Model(MmoModel),
    /// Recorded, a connection each.
    Trace(Arc<[StreamTrace]>),
}

/// Writes of both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct MmoModel {
    /// What the server writes to a player.
    pub server: WriteModel,
    /// What a player writes.
    pub client: WriteModel,
}

/// How one side writes.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteModel {
    /// Writes per second of a connection, drawn once for each.
    pub rate_per_s: Dist,
    /// No connection writes more often than this in the mean.
    pub most_per_s: f64,
    /// Time between writes; only its shape counts, the mean follows from the rate.
    pub gap: Mixture,
    /// Bytes of a write.
    pub size: Mixture,
    /// Smallest write.
    pub min: u32,
    /// Largest write.
    pub max: u32,
}

/// One recorded connection.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamTrace {
    /// When it opened.
    pub opened: Duration,
    /// The client's writes, in order of time.
    pub up: Arc<[TracePacket]>,
    /// The server's writes, in order of time.
    pub down: Arc<[TracePacket]>,
}
