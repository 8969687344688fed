//! CAKE's tins: which differentiated services code points belong to which tin, and the threshold and weight of each
//! tin. The tables are those of `tc-cake(8)` and of `cake_config_precedence`, `cake_config_diffserv3`,
//! `cake_config_diffserv4` and `cake_config_diffserv8` in `sch_cake.c`.

use gamelane_core::Bitrate;

/// How packets are sorted into tins by code point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Diffserv {
    /// One tin for all packets.
    BestEffort,
    /// Bulk (CS1, LE), best effort, voice (CS7, CS6, EF, VA, TOS 4).
    #[default]
    Three,
    /// Bulk (CS1, LE), best effort, video (AF4x, AF3x, AF2x, CS3, CS2, TOS 4), voice (CS7, CS6, CS5, CS4, EF, VA).
    Four,
    /// Eight, from the lowest precedence to the highest (LE; CS1, AF1x; best effort; AF3x and AF4x; AF2x; CS2; CS4,
    /// CS5, EF, VA; CS6, CS7).
    Eight,
    /// The upper three bits of the code point (`precedence`).
    Precedence,
}

/// Threshold and weight of a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The threshold of the tin is the shaper's rate divided by 2^`halvings`, and so many times 7/8 of it. Above it the
    /// tin loses its precedence.
    halvings: u32,
    eighths: u32,
    /// Weight of the tin without a shaper: bytes per round.
    pub quantum: i64,
}

const fn share(halvings: u32) -> Share {
    Share { halvings, eighths: 0, quantum: 1024 >> halvings }
}

/// Each tin has 7/8 of the share of the one before.
const fn falling() -> [Share; 8] {
    let mut shares = [Share { halvings: 0, eighths: 0, quantum: 256 }; 8];
    let mut index = 1;
    while index < shares.len() {
        let quantum = shares[index - 1].quantum * 7 / 8;
        shares[index] = Share { halvings: 0, eighths: index as u32, quantum };
        index += 1;
    }
    shares
}

impl Share {
    /// Threshold at a rate of the shaper.
    pub(super) fn threshold(self, rate: Bitrate) -> Bitrate {
        Bitrate::from_bps((0..self.eighths).fold(rate.bps() >> self.halvings, |bps, _| bps * 7 / 8))
    }
}

impl Diffserv {
    /// The tins, lowest precedence first: best effort, bulk, video, voice. Bulk precedes best effort while it is within
    /// its threshold, which is a sixteenth of the rate.
    pub const fn shares(self) -> &'static [Share] {
        const SHARES: [Share; 4] = [share(0), share(4), share(1), share(2)];
        const THREE: [Share; 3] = [share(0), share(4), share(2)];
        const EIGHT: [Share; 8] = falling();
        match self {
            Self::BestEffort => SHARES.split_at(1).0,
            Self::Three => &THREE,
            Self::Four => &SHARES,
            Self::Eight | Self::Precedence => &EIGHT,
        }
    }

    /// Tin of a code point, as an index into [`Diffserv::shares`].
    pub const fn tin(self, dscp: u8) -> usize {
        match self {
            Self::BestEffort => 0,
            Self::Three => match dscp {
                1 | 8 => 1,
                4 | 44 | 46 | 48 | 56 => 2,
                _ => 0,
            },
            Self::Four => match dscp {
                1 | 8 => 1,
                4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
                32 | 40 | 44 | 46 | 48 | 56 => 3,
                _ => 0,
            },
            Self::Eight => match dscp {
                1 => 0,
                2 | 8 | 10 | 12 | 14 => 1,
                24 | 26 | 28 | 30 | 34 | 36 | 38 => 3,
                4 | 18 | 20 | 22 => 4,
                16 => 5,
                32 | 40 | 44 | 46 => 6,
                48 | 56 => 7,
                _ => 2,
            },
            Self::Precedence => (dscp as usize & 0x3f) >> 3,
        }
    }
}
