//! The time an exchange holds the medium: optional CTS-to-self, data frame, SIFS, ACK (reference/links.md section 3).

use gamelane_core::{Duration, IpLen};

use super::config::WifiConfig;
use super::rate::PhyRate;

/// Short interframe space.
pub const SIFS: Duration = Duration::from_micros(10);
/// ACK and CTS frames, bytes.
const CONTROL: u32 = 14;

/// Bytes of the MAC frame that carries an IP packet: LLC/SNAP 8, header 24, FCS 4.
pub const fn mac_len(len: IpLen) -> u32 {
    len.0 + 36
}

/// The parts of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// CTS-to-self and the SIFS behind it.
    pub protection: Duration,
    /// The data frame.
    pub data: Duration,
    /// SIFS and ACK; a sender that hears no ACK waits as long.
    pub ack: Duration,
}

impl Exchange {
    /// For an IP packet sent at `rate`.
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

    /// From the first bit until the medium is idle.
    pub fn whole(&self) -> Duration {
        self.protection + self.data + self.ack
    }

    /// From the first bit until the packet is there.
    pub fn until_received(&self) -> Duration {
        self.protection + self.data
    }
}
