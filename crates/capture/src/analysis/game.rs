//! Detection of games over UDP by their behaviour: small messages in both directions at a steady pace. The tick of a
//! direction is the median time between its messages; a message is late if it comes more than half a tick after its
//! time. Voice calls are similar, so messages of one size every 20 or 30 ms count as voice. Ports are not used.

use super::direction::Direction;
use super::numbering::{Numbered, Numbering};

/// Kind of a UDP conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// A game: small, regular messages in both directions.
    Game,
    /// A voice call: like a game, but all messages have the same size.
    Voice,
    /// Anything else.
    Other,
}

/// Statistics of the messages of one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Updates {
    /// Median time between messages.
    pub tick_ns: f64,
    /// Share of the gaps within a quarter of the tick.
    pub regular: f64,
    /// Last value of the jitter of RFC 3550. The sender's clock is assumed to have a perfect tick.
    pub jitter_ns: f64,
    /// Mean of that jitter over the conversation.
    pub mean_jitter_ns: f64,
    /// Number of messages that came more than half a tick late.
    pub late: u64,
    /// Longest time without a message.
    pub longest_gap_ns: u64,
    /// Results of the messages' own counter; `None` if they have none.
    pub numbered: Option<Numbered>,
    /// Missing messages estimated from the pace: gaps of several ticks without a later burst.
    pub missing_by_pace: u64,
}

/// Follows the pace of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    last_ns: Option<u64>,
    /// Tick: the median of the first gaps.
    tick_ns: Option<u64>,
    early: Vec<u64>,
    jitter: f64,
    jitter_sum: f64,
    jitters: u64,
    late: u64,
    missing: u64,
    /// Number of missing ticks that a following burst may still explain.
    owed: u64,
    pub(crate) numbering: Numbering,
}

impl Pace {
    /// Adds a message that passed at `at_ns`; `start` has its first bytes.
    pub(crate) fn saw(&mut self, at_ns: u64, start: Option<[u8; 4]>) {
        if let Some(start) = start {
            self.numbering.saw(start);
        }
        let Some(last) = self.last_ns.replace(at_ns) else { return };
        let gap = at_ns.saturating_sub(last);
        let Some(tick) = self.tick_ns else {
            self.early.push(gap);
            if self.early.len() == LEARNED {
                self.early.sort_unstable();
                self.tick_ns = Some(self.early[LEARNED / 2].max(1));
                self.early = Vec::new();
            }
            return;
        };
        let off = gap.abs_diff(tick) as f64;
        self.jitter += (off - self.jitter) / 16.0;
        self.jitter_sum += self.jitter;
        self.jitters += 1;
        if gap > tick + tick / 2 {
            self.late += 1;
            self.missing += self.owed;
            self.owed = ((gap + tick / 2) / tick).saturating_sub(1);
        } else if gap < tick / 2 {
            self.owed = self.owed.saturating_sub(1);
        } else {
            self.missing += std::mem::take(&mut self.owed);
        }
    }

    /// Returns the statistics at the end of the flow.
    pub(crate) fn updates(&self, direction: &Direction) -> Option<Updates> {
        let tick_ns = direction.gaps.median()?;
        Some(Updates {
            tick_ns,
            regular: direction.gaps.share_within(tick_ns * 0.75, tick_ns * 1.25),
            jitter_ns: self.jitter,
            mean_jitter_ns: if self.jitters == 0 { 0.0 } else { self.jitter_sum / self.jitters as f64 },
            late: self.late,
            longest_gap_ns: direction.gaps.max().unwrap_or(0),
            numbered: self.numbering.numbered(),
            missing_by_pace: self.missing + self.owed,
        })
    }
}

/// Kind of a conversation with these directions that lasted `lasted_ns`.
pub(crate) fn behaviour(
    directions: &[Direction; 2],
    updates: &[Option<Updates>; 2],
    lasted_ns: u64,
) -> Behaviour {
    let small_and_paced = |direction: &Direction| {
        let per_second = direction.sizes.count() as f64 * 1e9 / lasted_ns.max(1) as f64;
        let size = direction.sizes.mean().unwrap_or(f64::INFINITY);
        (MIN_RATE..MAX_RATE).contains(&per_second) && size <= MAX_MEAN_SIZE
    };
    let regular = |updates: &Option<Updates>| updates.is_some_and(|updates| updates.regular >= REGULAR);
    if lasted_ns < MIN_LASTED_NS || !directions.iter().all(small_and_paced) || !updates.iter().any(regular) {
        return Behaviour::Other;
    }
    let one_size = |direction: &Direction| direction.sizes.standard_deviation().is_some_and(|sd| sd < 2.0);
    let voice_pace = |updates: &Option<Updates>| {
        updates.is_some_and(|u| (18e6..22e6).contains(&u.tick_ns) || (28e6..32e6).contains(&u.tick_ns))
    };
    if directions.iter().all(one_size) && updates.iter().all(voice_pace) {
        return Behaviour::Voice;
    }
    Behaviour::Game
}

/// Number of gaps from which the tick is learned.
const LEARNED: usize = 41;
const MIN_RATE: f64 = 4.0;
const MAX_RATE: f64 = 250.0;
/// Maximum mean payload of a game in bytes. The games measured in the literature (TEACUP, D-ITG, NGMN) are below.
const MAX_MEAN_SIZE: f64 = 600.0;
/// Minimum share of gaps near the tick for a steady pace.
const REGULAR: f64 = 0.6;
const MIN_LASTED_NS: u64 = 3_000_000_000;
