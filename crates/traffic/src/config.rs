//! Configuration of the applications, as a scenario describes them. Addresses and paths are left out.

use alloc::sync::Arc;
use alloc::vec::Vec;
use gamelane_core::dist::{Dist, Mixture};
use gamelane_core::{Bitrate, ByteCount, Direction, Duration, Instant};

/// Running time of an application, from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Time of the first activity.
    pub start: Duration,
    /// Time of the last activity; `None` is the end of the run.
    pub stop: Option<Duration>,
}

impl Schedule {
    /// Returns start and stop. Without a stop time, stop is [`Instant::MAX`].
    pub(crate) fn bounds(self) -> (Instant, Instant) {
        (Instant::ZERO + self.start, self.stop.map_or(Instant::MAX, |stop| Instant::ZERO + stop))
    }
}

/// An application with both sides. Its kind determines the transport.
#[derive(Clone, Debug, PartialEq)]
pub enum AppConfig {
    /// A game over UDP, from a model.
    Game(GameConfig),
    /// A game whose server runs at home, for peers on the internet.
    Hosted(HostedConfig),
    /// A game that runs on the internet and is streamed as video.
    Cloud(CloudConfig),
    /// A recorded UDP flow with its sizes and times.
    Trace(TraceConfig),
    /// UDP at a constant rate.
    Cbr(CbrConfig),
    /// A voice call in both directions.
    Voip(VoipConfig),
    /// One long TCP transfer, over one or several connections.
    Bulk(BulkConfig),
    /// TCP downloads of random length at regular times.
    Web(WebConfig),
    /// Video in chunks over TCP (DASH).
    Dash(DashConfig),
    /// An online game over TCP, with thin streams.
    Mmo(MmoConfig),
    /// Probe datagrams of a gateway that measures a round trip, and their answers. Not an application by itself.
    Probe,
}

/// A client-server game over UDP.
#[derive(Clone, Debug, PartialEq)]
pub struct GameConfig {
    /// Number of players in the match, 2 to 32. It sets the size of the server's updates.
    pub players: u32,
    /// Stream from server to client.
    pub server: ServerStream,
    /// Stream from client to server.
    pub client: ClientStream,
}

/// A game whose server a player runs at home.
#[derive(Clone, Debug, PartialEq)]
pub struct HostedConfig {
    /// The game. Its server's stream uses the upstream, its client's stream the downstream.
    pub game: GameConfig,
    /// Number of peers that the home serves, at least 1.
    pub peers: u32,
}

/// Cloud gaming: video downstream, input upstream (palazzi-voap Table I).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CloudConfig {
    /// Mean rate of the video, counted in IP packets.
    pub rate: Bitrate,
    /// Frames per second, at least 1.
    pub frames_per_second: u32,
    /// UDP payload of a full packet in bytes. The last packet of a frame has the rest.
    pub payload: u32,
    /// Coefficient of variation of the frame sizes.
    pub variation: f64,
    /// Distance between key frames in frames; `None` for no key frames.
    pub key_frame_every: Option<u32>,
    /// Mean size of a key frame as a multiple of an ordinary frame.
    pub key_frame_size: f64,
    /// Rate of the input, counted in IP packets.
    pub input_rate: Bitrate,
    /// UDP payload of an input packet in bytes.
    pub input_payload: u32,
}

/// Server updates: one packet per tick to each client.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerStream {
    /// Time between updates in seconds.
    pub tick: Dist,
    /// Offset of each update from the grid of ticks in seconds; `None` for no jitter.
    pub jitter: Option<Dist>,
    /// UDP payload in bytes.
    pub size: UpdateSize,
}

/// Size of server updates: UDP payload in bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum UpdateSize {
    /// ARMA(1,1) process with mean `fixed + players * per_player` (Branch and Armitage, NetGames 2006).
    Arma {
        /// Bytes that are independent of the number of players.
        fixed: f64,
        /// Bytes per player.
        per_player: f64,
        /// Standard deviation per player; the variances add up.
        sd_per_player: f64,
        /// Autoregressive coefficient.
        phi: f64,
        /// Moving-average coefficient.
        theta: f64,
        /// Minimum payload in bytes.
        min: u32,
        /// Maximum payload in bytes.
        max: u32,
    },
    /// Independent sizes, the same for any number of players.
    Independent {
        /// Payload in bytes.
        size: Dist,
        /// Minimum payload in bytes.
        min: u32,
        /// Maximum payload in bytes.
        max: u32,
    },
    /// Sizes of captured matches, and estimates for other numbers of players (docs/models/traffic-fit.md).
    Measured {
        /// The captured matches, one for each number of players.
        matches: Vec<MeasuredMatch>,
        /// Matches that nobody captured.
        estimated: Vec<EstimatedMatch>,
        /// Minimum payload in bytes.
        min: u32,
        /// Maximum payload in bytes.
        max: u32,
    },
}

/// Updates to one client of a captured match.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredMatch {
    /// Number of players in the match.
    pub players: u32,
    /// Distribution and correlation of the payload in bytes.
    pub series: SizeSeries,
}

/// Updates to one client of a match that nobody captured. Mean and standard deviation come from their growth with the
/// number of players, the shape from a sum of captured matches.
#[derive(Clone, Debug, PartialEq)]
pub struct EstimatedMatch {
    /// Number of players in the match.
    pub players: u32,
    /// Player counts of the captured matches whose sum has the shape of this match. At least one.
    pub sum: Vec<u32>,
    /// Mean payload in bytes.
    pub mean: f64,
    /// 95 % prediction interval of the mean.
    pub mean_95: (f64, f64),
    /// Standard deviation of the payload in bytes.
    pub sd: f64,
    /// 95 % prediction interval of the standard deviation.
    pub sd_95: (f64, f64),
}

/// A series of sizes: its distribution and its correlation in time.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeSeries {
    /// Autoregressive coefficient of the underlying normal process.
    pub phi: f64,
    /// Moving-average coefficient of the underlying normal process.
    pub theta: f64,
    /// Quantiles as (share, size): this share of the sizes is at most `size`. Both ascend, the share from 0 to 1; at
    /// least two.
    pub quantiles: Vec<(f64, f64)>,
}

/// Client commands.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientStream {
    /// Intervals in seconds with their weights; each packet draws one.
    pub interval: Vec<(f64, Dist)>,
    /// UDP payload in bytes.
    pub size: CommandSize,
}

/// Size of client commands: UDP payload in bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandSize {
    /// Distributions with their weights; each packet draws one.
    Mixture(Vec<(f64, Dist)>),
    /// A series with correlation in time.
    Series(SizeSeries),
}

/// One packet of a recorded flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracePacket {
    /// Time since the first packet of the flow in either direction.
    pub at: Duration,
    /// UDP payload in bytes.
    pub payload: u32,
}

/// A recorded flow. Each direction is in order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceConfig {
    /// Packets from home to the internet.
    pub up: Vec<TracePacket>,
    /// Packets from the internet to home.
    pub down: Vec<TracePacket>,
}

/// UDP at a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CbrConfig {
    /// Direction of the packets.
    pub direction: Direction,
    /// Rate, counted in IP packets.
    pub rate: Bitrate,
    /// UDP payload of each packet in bytes.
    pub payload: u32,
}

/// Voice codec, with packets of 20 ms (RFC 3551 section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// G.711: 160 B of speech every 20 ms.
    G711,
    /// G.729: 20 B of speech every 20 ms.
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
    /// Direction of the data.
    pub direction: Direction,
    /// Bytes to transfer over all connections, at least one for each; `None` for a transfer without end.
    pub size: Option<ByteCount>,
    /// Number of TCP connections that carry it, at least 1. All of them open at the start.
    pub connections: u32,
}

/// TCP downloads at regular times, each on a new connection (collom2016 section III.B: iperf for a random time).
#[derive(Clone, Debug, PartialEq)]
pub struct WebConfig {
    /// Direction of the data.
    pub direction: Direction,
    /// Time between two starts.
    pub period: Duration,
    /// Length of each download.
    pub burst: WebBurst,
}

/// Length of a web burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WebBurst {
    /// At full speed for a random time in seconds.
    Lasting(Dist),
    /// A random number of bytes.
    Sized(Dist),
}

/// Video in chunks (DASH).
#[derive(Clone, Debug, PartialEq)]
pub struct DashConfig {
    /// Playing time of one chunk.
    pub chunk: Duration,
    /// Rates of the representations, ascending.
    pub rates: Vec<Bitrate>,
    /// Time and rate of the requests.
    pub requests: DashRequests,
}

/// Rule for the next request of a DASH client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DashRequests {
    /// All rates in a cycle, `gap` apart (collom2016 section III.B). A request waits until the chunk before it has
    /// arrived.
    Cycle {
        /// Time between two rates of a cycle.
        gap: Duration,
        /// Length of a cycle.
        period: Duration,
    },
    /// A request when the last chunk has arrived and less than `buffer` is left to play. It asks for the highest rate
    /// that does not exceed the measured throughput.
    Adaptive {
        /// Playing time to keep in the buffer.
        buffer: Duration,
    },
}

/// An online game over TCP, with one connection per player.
#[derive(Clone, Debug, PartialEq)]
pub struct MmoConfig {
    /// Source of the writes.
    pub streams: MmoStreams,
    /// The only direction with writes; `None` for both.
    pub direction: Option<Direction>,
}

/// Source of the writes.
#[derive(Clone, Debug, PartialEq)]
pub enum MmoStreams {
    /// Random writes from a model.
    Model(MmoModel),
    /// Recorded writes, one recording per connection.
    Trace(Arc<[StreamTrace]>),
}

/// Model of the writes of both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct MmoModel {
    /// Writes of the server to a player.
    pub server: WriteModel,
    /// Writes of a player.
    pub client: WriteModel,
}

/// Model of the writes of one side.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteModel {
    /// Mean writes per second of a connection. Each connection draws it once.
    pub rate_per_s: Dist,
    /// Maximum of the mean writes per second of a connection.
    pub most_per_s: f64,
    /// Distribution of the time between writes. Only its shape matters; the drawn rate sets the mean.
    pub gap: Mixture,
    /// Size of a write in bytes.
    pub size: Mixture,
    /// Minimum size of a write in bytes.
    pub min: u32,
    /// Maximum size of a write in bytes.
    pub max: u32,
}

/// One recorded connection.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamTrace {
    /// Time when the connection was opened.
    pub opened: Duration,
    /// Writes of the client, in order of time.
    pub up: Arc<[TracePacket]>,
    /// Writes of the server, in order of time.
    pub down: Arc<[TracePacket]>,
}
