//! The rates of 802.11g and the time of a frame at each (IEEE 802.11-2007 clauses 15.3, 18.3.4 and 19.8.3). The rates
//! are OFDM (ERP-OFDM) and, for 802.11b stations, DSSS and CCK.

use gamelane_core::{Bitrate, Duration};

/// A rate of the physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhyRate {
    /// OFDM with this number of data bits per symbol of 4 µs.
    Ofdm(u32),
    /// DSSS or CCK with this number of bits per second.
    Dsss(u32),
}

/// The preamble of DSSS frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preamble {
    /// 192 µs with the PLCP header.
    #[default]
    Long,
    /// 96 µs with the PLCP header. Frames at 1 Mbit/s still use the long one.
    Short,
}

impl PhyRate {
    /// All rates: DSSS and CCK, then OFDM, each from slow to fast.
    pub const ALL: [Self; 12] = [
        Self::Dsss(1_000_000),
        Self::Dsss(2_000_000),
        Self::Dsss(5_500_000),
        Self::Dsss(11_000_000),
        Self::Ofdm(24),
        Self::Ofdm(36),
        Self::Ofdm(48),
        Self::Ofdm(72),
        Self::Ofdm(96),
        Self::Ofdm(144),
        Self::Ofdm(192),
        Self::Ofdm(216),
    ];

    /// Finds the rate with this many bits per second; `None` if 802.11g does not have it.
    pub fn of(rate: Bitrate) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.bitrate() == rate)
    }

    /// The rate in bits per second.
    pub const fn bitrate(self) -> Bitrate {
        match self {
            Self::Ofdm(bits) => Bitrate::from_bps(bits as u64 * 250_000),
            Self::Dsss(rate) => Bitrate::from_bps(rate as u64),
        }
    }

    /// Returns whether this is a rate of 802.11b.
    pub const fn is_dsss(self) -> bool {
        matches!(self, Self::Dsss(_))
    }

    /// Time on the air of a frame of `bytes`, with MAC header and FCS.
    pub const fn ppdu(self, bytes: u32, preamble: Preamble) -> Duration {
        Duration::from_micros(match self {
            // In µs: preamble 16, SIGNAL 4, symbols of 4, signal extension 6. The symbols also carry 22 bits: service
            // 16 and tail 6.
            Self::Ofdm(bits) => 16 + 4 + 4 * (22 + 8 * bytes as u64).div_ceil(bits as u64) + 6,
            Self::Dsss(rate) => {
                let header = match preamble {
                    Preamble::Short if rate > 1_000_000 => 96,
                    _ => 192,
                };
                header + (8_000_000 * bytes as u64).div_ceil(rate as u64)
            }
        })
    }

    /// Rate of the ACK. For OFDM it is the highest mandatory rate (6, 12 or 24 Mbit/s) that is not above this one. For
    /// DSSS it is 1 Mbit/s, as if that were the only basic rate.
    pub const fn ack_rate(self) -> Self {
        match self {
            Self::Ofdm(bits) if bits >= 96 => Self::Ofdm(96),
            Self::Ofdm(bits) if bits >= 48 => Self::Ofdm(48),
            Self::Ofdm(_) => Self::Ofdm(24),
            Self::Dsss(_) => Self::Dsss(1_000_000),
        }
    }
}
