//! Configuration of a DOCSIS upstream. Defaults marked docsis-ns3 are CableLabs' simulator's; `docs/models/docsis.md`
//! says which of the others are our choice.

use gamelane_core::loss::LossModel;
use gamelane_core::{Bitrate, ByteCount, Duration, IpLen};

/// Configuration of a modem's upstream. Defaults are in brackets.
#[derive(Clone, Debug, PartialEq)]
pub struct DocsisConfig {
    /// Rate of the channel that all modems share (the slowest of [`CHANNELS`] that has at least twice the sustained rate).
    pub channel: Bitrate,
    /// Unit of time in which the channel is granted; a request takes one (25 µs, our choice).
    pub minislot: Duration,
    /// Time between two MAPs (2 ms, docsis-ns3).
    pub map_interval: Duration,
    /// Time from when a MAP is fixed to the start of its interval (857 µs). It is the downstream delay of 100 µs and
    /// 757 µs of processing in the modem (docsis-ns3). Add the delay of a downstream interleaver here.
    pub map_lead: Duration,
    /// Time that the CMTS takes to read a request (200 µs, docsis-ns3).
    pub processing: Duration,
    /// Propagation delay from modem to CMTS (100 µs, our choice).
    pub delay: Duration,
    /// Number of request opportunities at the start of each interval (8, our choice).
    pub contention: u32,
    /// Exponent of the first backoff window: 2^n request opportunities (n = 2, our choice).
    pub backoff_start: u32,
    /// Exponent of the largest backoff window (n = 8, our choice).
    pub backoff_end: u32,
    /// Number of collisions after which the modem drops the packet (16, as in DOCSIS).
    pub tries: u32,
    /// Whether several packets may share a grant (yes). In DOCSIS 1.0 each packet needs its own request.
    pub concatenation: bool,
    /// Maximum sustained traffic rate of the modem, counted over Ethernet frames.
    pub sustained: Bitrate,
    /// Maximum traffic burst: bytes of Ethernet frames that may be sent at once (3044, or 10 ms at the sustained rate).
    pub burst: ByteCount,
    /// Peak traffic rate; `None` is the rate of the channel.
    pub peak: Option<Bitrate>,
    /// Packet loss on the channel.
    pub loss: LossModel,
    /// Other modems on the channel.
    pub neighbours: Neighbours,
}

impl DocsisConfig {
    /// Makes the default configuration for this sustained rate. The burst is DOCSIS's 3044 B, two full frames, or the
    /// bytes of 10 ms if that is more. With two frames per request a fast modem could not reach its rate.
    pub fn new(sustained: Bitrate) -> Self {
        let burst = sustained.bytes_in(Duration::from_millis(10));
        Self {
            channel: channel_for(sustained),
            minislot: Duration::from_micros(25),
            map_interval: Duration::from_millis(2),
            map_lead: Duration::from_micros(857),
            processing: Duration::from_micros(200),
            delay: Duration::from_micros(100),
            contention: 8,
            backoff_start: 2,
            backoff_end: 8,
            tries: 16,
            concatenation: true,
            sustained,
            burst: burst.max(ByteCount(3044)),
            peak: None,
            loss: LossModel::None,
            neighbours: Neighbours { modems: 0, load: 0.0, packet: IpLen(500) },
        }
    }
}

/// Rates of upstream channels in bit/s: the fastest of DOCSIS 1.x, that of 2.0, and four and eight of the latter bonded
/// as in 3.0.
const CHANNELS: [u64; 4] = [10_240_000, 30_720_000, 122_880_000, 245_760_000];

/// Requests and rounding to minislots take part of the channel. A modem that is alone on a channel of twice its rate reaches its rate.
fn channel_for(sustained: Bitrate) -> Bitrate {
    let twice = sustained.bps().saturating_mul(2);
    Bitrate::from_bps(CHANNELS.into_iter().find(|rate| *rate >= twice).unwrap_or(twice))
}

/// The other modems on the channel. Packets arrive as a Poisson process, each at a random modem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbours {
    /// Number of other modems.
    pub modems: u32,
    /// Load of all of them together, as a share of the channel's data capacity (1.0 is all of it).
    pub load: f64,
    /// IP length of their packets.
    pub packet: IpLen,
}
