//! Configuration of CAKE. Names and defaults are those of `tc-cake(8)`; [`super`] lists the options left out.

use gamelane_core::headers::ETHERNET_HEADER;
use gamelane_core::{Bitrate, ByteCount, Duration, Overhead, WireLen};

use super::diffserv::Diffserv;
use crate::ack_filter::AckFilterMode;
use crate::aqm::cobalt::{CobaltParameters, Grace};
use crate::config_error::ConfigError;

/// Which senders or receivers CAKE shares the rate between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// All packets are one flow (`flowblind`).
    Blind,
    /// Between source hosts only (`srchost`).
    Sources,
    /// Between destination hosts only (`dsthost`).
    Destinations,
    /// Between pairs of hosts only (`hosts`).
    Hosts,
    /// Between flows only (`flows`).
    Flows,
    /// Between source hosts, then between the flows of each (`dual-srchost`). Meant for the upstream.
    DualSource,
    /// Between destination hosts, then between the flows of each (`dual-dsthost`). Meant for the downstream.
    DualDestination,
    /// Between source and destination hosts, then between flows (`triple-isolate`).
    #[default]
    Triple,
}

impl Isolation {
    /// Returns whether hosts are told apart at the source and at the destination, in this order.
    pub(super) const fn ends(self) -> [bool; 2] {
        [
            matches!(self, Self::DualSource | Self::Triple),
            matches!(self, Self::DualDestination | Self::Triple),
        ]
    }
}

/// Configuration of a CAKE queue. The defaults are those of `tc-cake(8)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CakeConfig {
    /// Rate of the shaper; `None` is unlimited.
    pub bandwidth: Option<Bitrate>,
    /// How packets are sorted into tins.
    pub diffserv: Diffserv,
    /// Hosts between which the rate is shared.
    pub isolation: Isolation,
    /// Round-trip time that Cobalt is tuned for (100 ms).
    pub rtt: Duration,
    /// Time from the first packet above target to the first signal of a flow queue.
    pub grace: Grace,
    /// Link-layer overhead. The `tc-cake` keywords `docsis` and `ethernet` are [`Overhead::Docsis`] and
    /// [`Overhead::Ethernet`]. `pppoe-llcsnap` is [`Overhead::Atm`] with 40 bytes, `pppoe-ptm` is [`Overhead::Ptm`]
    /// with 30; `tc-cake(8)` has the numbers of the other keywords.
    pub overhead: Overhead,
    /// Which redundant ACKs are dropped.
    pub ack_filter: AckFilterMode,
    /// Whether dropped packets count as sent (`ingress`). For the downstream, where a dropped packet has already crossed
    /// the link.
    pub ingress: bool,
    /// Whether the code point of each packet becomes 0 once its tin is known (`wash`).
    pub wash: bool,
    /// Limit of the queue in bytes of IP packets. `None` is four `rtt` at `bandwidth`, at least 4 MiB and at most 10,240
    /// full frames, 15.5 MB (`cake_reconfigure`).
    pub memory: Option<ByteCount>,
}

impl Default for CakeConfig {
    fn default() -> Self {
        Self {
            bandwidth: None,
            diffserv: Diffserv::Three,
            isolation: Isolation::Triple,
            rtt: Duration::from_millis(100),
            grace: Grace::Linux,
            overhead: Overhead::None,
            ack_filter: AckFilterMode::Off,
            ingress: false,
            wash: false,
            memory: None,
        }
    }
}

/// Length of a full Ethernet frame: 1500 B of IP and the header.
const FRAME: WireLen = WireLen(1500 + ETHERNET_HEADER);

impl CakeConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A bandwidth below 16 bit/s, a round trip of zero, or memory below one full frame.
    pub fn check(&self) -> Result<(), ConfigError> {
        // The Bulk tin gets a sixteenth of the rate, and the time per frame needs a rate above zero.
        if self.bandwidth.is_some_and(|rate| rate.bps() < 16) {
            return Err(ConfigError::ZeroRate { name: "bandwidth".into() });
        }
        if self.rtt.is_zero() {
            return Err(ConfigError::OutOfRange { name: "rtt", allowed: "above 0ms" });
        }
        if self.memory.is_some_and(|memory| memory.bytes() < FRAME.bytes()) {
            return Err(ConfigError::OutOfRange {
                name: "memory",
                allowed: "at least 1514 bytes, one full frame",
            });
        }
        Ok(())
    }

    pub(super) fn resolved_limit(&self) -> ByteCount {
        let four_intervals =
            self.bandwidth.map_or(u64::MAX, |rate| rate.bytes_in(self.rtt.saturating_mul(4)).bytes());
        self.memory.unwrap_or(ByteCount(four_intervals.max(4 << 20).min(10_240 * FRAME.bytes())))
    }

    /// Parameters of the law of a tin with this threshold; `None` without a shaper.
    pub(super) fn law(&self, threshold: Option<Bitrate>) -> CobaltParameters {
        let frame_time = threshold.map_or(Duration::ZERO, |rate| rate.time_to_send(FRAME));
        CobaltParameters::for_rate(self.rtt, frame_time, self.grace)
    }

    /// Bytes that a flow may send per round: the rate in bytes per second / 4096, from 300 to 1514 (`cake_set_rate`).
    pub(super) fn flow_quantum(rate: Option<Bitrate>) -> u32 {
        rate.map_or(FRAME.0, |rate| (rate.bps() / 8 / 4096).clamp(300, FRAME.bytes()) as u32)
    }
}
