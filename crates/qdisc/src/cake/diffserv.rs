//! CAKE's tins: which differentiated services code points belong to which tin, and the threshold and weight of each
//! tin. The tables are those of `tc-cake(8)` and of `cake_config_diffserv3` and `cake_config_diffserv4` in
//! `sch_cake.c`.

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
}

/// Threshold and weight of a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The threshold of the tin is the shaper's rate divided by 2^`rate_shift`. Above it the tin loses its precedence.
    pub rate_shift: u32,
    /// Weight of the tin without a shaper: bytes per round.
    pub quantum: i64,
}

const fn share(rate_shift: u32) -> Share {
    Share { rate_shift, quantum: 1024 >> rate_shift }
}

impl Diffserv {
    /// The tins, lowest precedence first: best effort, bulk, video, voice. Bulk precedes best effort while it is within
    /// its threshold, which is a sixteenth of the rate.
    pub const fn shares(self) -> &'static [Share] {
        const SHARES: [Share; 4] = [share(0), share(4), share(1), share(2)];
        const THREE: [Share; 3] = [share(0), share(4), share(2)];
        match self {
            Self::BestEffort => SHARES.split_at(1).0,
            Self::Three => &THREE,
            Self::Four => &SHARES,
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
        }
    }
}
