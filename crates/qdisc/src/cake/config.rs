//! CAKE as a scenario says it.

use gamelane_core::{Bitrate, ByteCount, Duration, Overhead, WireLen};

use super::diffserv::Diffserv;
use crate::ack_filter::AckFilterMode;
use crate::config_error::ConfigError;

/// Whom flow queues are fair among.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Flows alone (`flows`).
    Flows,
    /// Sources, then flows (`dual-srchost`): for the way up.
    DualSource,
    /// Destinations, then flows (`dual-dsthost`): for the way down.
    DualDestination,
    /// Sources and destinations, then flows (`triple-isolate`).
    #[default]
    Triple,
}

impl Isolation {
    /// Are sources and destinations told apart?
    pub(super) const fn ends(self) -> [bool; 2] {
        [
            matches!(self, Self::DualSource | Self::Triple),
            matches!(self, Self::DualDestination | Self::Triple),
        ]
    }
}

/// A CAKE queue; the defaults are those of `tc-cake(8)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CakeConfig {
    /// Rate of the shaper; `None` is unlimited.
    pub bandwidth: Option<Bitrate>,
    /// Tins.
    pub diffserv: Diffserv,
    /// Fairness.
    pub isolation: Isolation,
    /// Round trip the law is tuned for (100 ms).
    pub rtt: Duration,
    /// What the link below adds: keywords of `tc-cake` are `docsis` and `ethernet`; `pppoe-llcsnap` and the other ATM ones
    /// are [`Overhead::Atm`], `pppoe-ptm` is [`Overhead::Ptm`] with their numbers (reference/aqm.md section 5).
    pub overhead: Overhead,
    /// Which ACKs are dropped.
    pub ack_filter: AckFilterMode,
    /// Bytes of IP packets held; `None` is what four intervals send, at least 4 MiB.
    pub memory: Option<ByteCount>,
}

impl Default for CakeConfig {
    fn default() -> Self {
        Self {
            bandwidth: None,
            diffserv: Diffserv::Three,
            isolation: Isolation::Triple,
            rtt: Duration::from_millis(100),
            overhead: Overhead::None,
            ack_filter: AckFilterMode::Off,
            memory: None,
        }
    }
}

/// What a full Ethernet frame counts.
const FRAME: WireLen = WireLen(1514);

impl CakeConfig {
    /// Finds what no queue can be built from.
    ///
    /// # Errors
    /// A bandwidth, round trip or memory of nothing.
    pub fn check(&self) -> Result<(), ConfigError> {
        // A tin gets down to a sixteenth, and a rate of zero has no time per frame.
        if self.bandwidth.is_some_and(|rate| rate.bps() < 16) {
            return Err(ConfigError::ZeroRate { name: "bandwidth".into() });
        }
        if self.rtt.is_zero() {
            return Err(ConfigError::OutOfRange { name: "rtt", allowed: "above zero" });
        }
        if self.memory.is_some_and(|memory| memory.bytes() < FRAME.bytes()) {
            return Err(ConfigError::OutOfRange { name: "memory", allowed: "one full packet or more" });
        }
        Ok(())
    }

    pub(super) fn resolved_limit(&self) -> ByteCount {
        let four_intervals =
            self.bandwidth.map_or(u64::MAX, |rate| rate.bytes_in(self.rtt.saturating_mul(4)).bytes());
        self.memory.unwrap_or(ByteCount(four_intervals.max(4 << 20)))
    }

    /// Time a full frame takes at the rate of a tin; zero without a shaper.
    pub(super) fn frame_time(rate: Option<Bitrate>) -> Duration {
        rate.map_or(Duration::ZERO, |rate| rate.time_to_send(FRAME))
    }

    /// Bytes a flow may send a round: about a quarter of a millisecond's worth, between 300 and 1514.
    pub(super) fn flow_quantum(rate: Option<Bitrate>) -> u32 {
        rate.map_or(FRAME.0, |rate| (rate.bps() / 8 / 4096).clamp(300, FRAME.bytes()) as u32)
    }
}
