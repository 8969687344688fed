//! Trouble of a game by the side of the capture point where it arose, and the standard below which there is none.
//!
//! The standard comes from studies of players. In Unreal Tournament 2003, 3 % loss is not noticed and 100 ms harms shooting
//! (Beigbeder et al., NetGames 2004). In Quake III, 1 to 10 % loss is not noticed and 50 to 150 ms are (collom2016, section
//! II). The share of waits, one in a hundred seconds up to 250 ms, is ours.

use super::evidence::{Flow, Way};
use crate::analysis::under_load::{LONG_NS, Load};

/// Trouble of one game on one side of a capture point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Trouble {
    /// Lost packets, of data from the home and to the home.
    pub(super) lost: [u64; 2],
    /// Packets of which these were lost.
    pub(super) sent: [u64; 2],
    /// Moments with a wait of more than 100 ms. One capture shows messages that came late to it.
    pub(super) waits: [u32; 2],
    pub(super) longest_ns: u64,
    /// Delay above the smallest round trip that one in ten moments exceeds, if it is much.
    pub(super) delay_ns: u64,
}

impl Trouble {
    /// Trouble on the home's side (0) or on the other (1) of one capture point.
    pub(super) fn of(game: &Flow, side: usize) -> Self {
        let mut found = Self::default();
        for (direction, way) in game.ways.iter().enumerate() {
            let is_before = side == direction;
            found.lost[direction] = way.lost_on(usize::from(!is_before));
            found.sent[direction] = way.sent;
            // Waits of TCP follow losses; those of updates arise before the capture point.
            let tcp_side = way.lost.is_some_and(|[before, after]| (before > after) == is_before);
            let waited_here = if game.is_tcp { tcp_side && found.lost[direction] > 0 } else { is_before };
            if waited_here {
                found.waits[direction] = way.long_waits();
                found.longest_ns = found.longest_ns.max(way.load.longest_wait_ns);
            }
        }
        // Data to the other side is acknowledged from there.
        let receiver = &game.ways[1 - side];
        if !receiver.delays_acks {
            found.delay_ns = slow(receiver);
        }
        found
    }

    /// True if a player would notice nothing.
    pub(super) fn is_none(&self, game: &Flow) -> bool {
        self.waits.iter().all(|&waits| waits <= allowed(game))
            && self.longest_ns <= ONE_WAIT_NS
            && (0..2).all(|way| !is_much(self.lost[way], self.sent[way]))
            && self.delay_ns <= LONG_NS
    }

    /// Size, to compare sides and games: roughly the seconds in which the game could not be played well.
    pub(super) fn size(&self) -> f64 {
        let lost: f64 = self.lost.iter().sum::<u64>() as f64;
        let waits: f64 = f64::from(self.waits.iter().sum::<u32>());
        let delay = if self.delay_ns > LONG_NS { self.delay_ns as f64 / 1e7 } else { 0.0 };
        lost * 0.05 + waits * 0.25 + self.longest_ns as f64 / 1e9 + delay
    }

    pub(super) const fn lost_all(&self) -> u64 {
        self.lost[0] + self.lost[1]
    }

    pub(super) const fn waits_all(&self) -> u32 {
        self.waits[0] + self.waits[1]
    }
}

/// Long waits that nobody would notice.
fn allowed(game: &Flow) -> u32 {
    (game.lasted_ns / 100_000_000_000).max(1) as u32
}

/// True if more than 1 % was lost, and more than a few packets: a sender that waited long may send a few again although
/// nothing was lost.
pub(super) const fn is_much(lost: u64, sent: u64) -> bool {
    lost > A_FEW && lost * 100 > sent
}

/// Delay that one in ten moments exceeds, if these are many moments.
fn slow(way: &Way) -> u64 {
    let of = way.load.delay.iter().filter(|delay| delay.moments >= 8);
    of.map(|delay| delay.high_ns).max().unwrap_or(0)
}

/// Number of troubles in the steps without load.
pub(super) const fn quiet(counts: &[u32; 4]) -> u32 {
    counts[Load::Idle as usize]
}

const A_FEW: u64 = 3;
/// Longest single wait that nobody would notice.
pub(super) const ONE_WAIT_NS: u64 = 250_000_000;
