//! The rates of 802.11g: OFDM (ERP) and, for 802.11b stations, DSSS; and how long a frame takes at each
//! (reference/links.md section 3; IEEE 802.11-2007 clauses 15.3, 18.3.4, 19.8.3).

use gamelane_core::{Bitrate, Duration};

/// A rate of the physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhyRate {
    /// OFDM, with this many data bits in a symbol of 4 µs.
    Ofdm(u32),
    /// DSSS or CCK, bits per second.
    Dsss(u32),
}

/// The preamble of DSSS frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preamble {
    /// 192 µs with its header.
    #[default]
    Long,
    /// 96 µs; 1 Mbit/s frames keep the long one.
    Short,
}

impl PhyRate {
    /// Every rate, slowest first within its kind.
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

    /// The rate of these bits per second, if 802.11g has it.
    pub fn of(rate: Bitrate) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.bitrate() == rate)
    }

    /// Bits per second.
    pub const fn bitrate(self) -> Bitrate {
        match self {
            Self::Ofdm(bits) => Bitrate::from_bps(bits as u64 * 250_000),
            Self::Dsss(rate) => Bitrate::from_bps(rate as u64),
        }
    }

    /// True for the rates of 802.11b.
    pub const fn is_dsss(self) -> bool {
        matches!(self, Self::Dsss(_))
    }

    /// Time of a frame of `bytes` (MAC header and FCS included) on the air.
    pub const fn ppdu(self, bytes: u32, preamble: Preamble) -> Duration {
        Duration::from_micros(match self {
            // Preamble 16, SIGNAL 4; 16 service and 6 tail bits; 6 of signal extension.
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

    /// The rate of the ACK: the highest mandatory OFDM rate (6, 12, 24 Mbit/s) that is not above this one; 1 Mbit/s for
    /// DSSS, as the reference computes.
    pub const fn ack_rate(self) -> Self {
        match self {
            Self::Ofdm(bits) if bits >= 96 => Self::Ofdm(96),
            Self::Ofdm(bits) if bits >= 48 => Self::Ofdm(48),
            Self::Ofdm(_) => Self::Ofdm(24),
            Self::Dsss(_) => Self::Dsss(1_000_000),
        }
    }
}
