//! Parameters of a DOCSIS upstream, with the defaults of reference/links.md section 1.1.

use gamelane_core::loss::LossModel;
use gamelane_core::{Bitrate, ByteCount, Duration, IpLen};

/// A modem's upstream.
#[derive(Clone, Debug, PartialEq)]
pub struct DocsisConfig {
    /// Rate of the channel all modems share.
    pub channel: Bitrate,
    /// Unit of time the channel is given out in; a request takes one.
    pub minislot: Duration,
    /// Time between MAPs.
    pub map_interval: Duration,
    /// How long before an interval its MAP is settled: the way down (`delay`) and 757 µs of processing in the modem
    /// (docsis-ns3); a downstream interleaver would come on top.
    pub map_lead: Duration,
    /// Time the CMTS takes to read a request.
    pub processing: Duration,
    /// Propagation from modem to CMTS.
    pub delay: Duration,
    /// Request opportunities at the start of each interval.
    pub contention: u32,
    /// First backoff window: 2 to this.
    pub backoff_start: u32,
    /// Last backoff window: 2 to this.
    pub backoff_end: u32,
    /// Requests that may collide before the modem gives the packet up.
    pub tries: u32,
    /// Several packets may share a grant. Without, as in DOCSIS 1.0, each is asked for by itself.
    pub concatenation: bool,
    /// Maximum sustained traffic rate of the modem, over Ethernet frames.
    pub sustained: Bitrate,
    /// Bytes of Ethernet frames it may send at once.
    pub burst: ByteCount,
    /// Peak traffic rate; `None` is the channel's.
    pub peak: Option<Bitrate>,
    /// Packets lost on the channel.
    pub loss: LossModel,
    /// Who else is there.
    pub neighbours: Neighbours,
}

impl DocsisConfig {
    /// The reference's defaults for a modem of this sustained rate. The burst is DOCSIS' 3044 B, or 10 ms at faster rates,
    /// which two frames a round trip would hold back.
    pub fn new(sustained: Bitrate) -> Self {
        let burst = sustained.bytes_in(Duration::from_millis(10));
        Self {
            channel: Bitrate::from_bps(10_240_000),
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

/// The other modems of the channel: packets at random times (Poisson), each at a random modem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbours {
    /// How many.
    pub modems: u32,
    /// What they offer together, as a share of the channel's data capacity.
    pub load: f64,
    /// Size of their packets.
    pub packet: IpLen,
}
