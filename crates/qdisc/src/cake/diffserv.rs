//! Tins by differentiated services code point (the tables of `tc-cake(8)`), and what share of the rate each may use
//! before it loses its precedence.

/// How packets are sorted into tins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Diffserv {
    /// One tin.
    BestEffort,
    /// Bulk (CS1, LE), best effort, voice (CS7, CS6, EF, VA, TOS 4).
    #[default]
    Three,
    /// Bulk (CS1, LE), best effort, video (AF4x, AF3x, AF2x, CS3, CS2, TOS 4), voice (CS7, CS6, CS5, CS4, EF, VA).
    Four,
}

/// What a tin may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its threshold is the rate divided by 2 to this.
    pub rate_shift: u32,
    /// Its weight without a shaper: bytes a round.
    pub quantum: i64,
}

const fn share(rate_shift: u32) -> Share {
    Share { rate_shift, quantum: 1024 >> rate_shift }
}

impl Diffserv {
    /// The tins, from the one that yields to the one that precedes: best effort, bulk (small as its guarantee is, it comes
    /// first while within it), then the urgent ones.
    pub const fn shares(self) -> &'static [Share] {
        const SHARES: [Share; 4] = [share(0), share(4), share(1), share(2)];
        const THREE: [Share; 3] = [share(0), share(4), share(2)];
        match self {
            Self::BestEffort => SHARES.split_at(1).0,
            Self::Three => &THREE,
            Self::Four => &SHARES,
        }
    }

    /// The tin of a code point, by its position in [`Diffserv::shares`].
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
