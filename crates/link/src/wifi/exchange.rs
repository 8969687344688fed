//! Time for which a frame exchange occupies the medium: optional CTS-to-self, data frame, SIFS, ACK (IEEE 802.11-2007
//! clause 9.2). DIFS and backoff are not part of it.

use gamelane_core::{Duration, IpLen};

use super::config::WifiConfig;
use super::rate::PhyRate;

/// Short interframe space of 802.11g (IEEE 802.11-2007 clause 19.8).
pub const SIFS: Duration = Duration::from_micros(10);
/// Length of an ACK or CTS frame in bytes.
const CONTROL: u32 = 14;
/// Bytes around an IP packet in a MAC frame: LLC/SNAP 8, MAC header 24, FCS 4.
const MAC_OVERHEAD: u32 = 8 + 24 + 4;

/// Length in bytes of the MAC frame that carries an IP packet.
pub const fn mac_len(len: IpLen) -> u32 {
    len.0 + MAC_OVERHEAD
}

/// The parts of a frame exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// CTS-to-self and the SIFS after it.
    pub protection: Duration,
    /// Data frame.
    pub data: Duration,
    /// SIFS and ACK. A sender that gets no ACK waits for the same time.
    pub ack: Duration,
}

impl Exchange {
    /// Computes the exchange for an IP packet sent at `rate`.
    pub fn of(rate: PhyRate, len: IpLen, config: &WifiConfig) -> Self {
        let protection = match config.protection {
            Some(cts) if !rate.is_dsss() => cts.ppdu(CONTROL, config.preamble) + SIFS,
            _ => Duration::ZERO,
        };
        Self {
            protection,
            data: rate.ppdu(mac_len(len), config.preamble),
            ack: SIFS + rate.ack_rate().ppdu(CONTROL, config.preamble),
        }
    }

    /// Time from the first bit until the medium is idle.
    pub fn whole(&self) -> Duration {
        self.protection + self.data + self.ack
    }

    /// Time from the first bit until the packet is received.
    pub fn until_received(&self) -> Duration {
        self.protection + self.data
    }
}
