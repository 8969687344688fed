//! Games over UDP, found by how they behave: small messages, both ways, at a steady pace. One direction's pace is its tick, the
//! median time between messages; what comes half a tick late or more is late. Voice calls behave much alike; messages of
//! one size every 20 or 30 ms are taken for voice.

use super::direction::Direction;
use super::numbering::{Numbered, Numbering};

/// What a UDP conversation seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Small regular messages both ways.
    Game,
    /// The same, all of one size.
    Voice,
    /// Neither.
    Other,
}

/// One direction's messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Updates {
    /// Median time between messages.
    pub tick_ns: f64,
    /// Share of the gaps within a quarter of the tick.
    pub regular: f64,
    /// RFC 3550's jitter, with a perfect tick for the sender's clock: its last value and its mean.
    pub jitter_ns: f64,
    /// Mean over the conversation.
    pub mean_jitter_ns: f64,
    /// Messages that came more than half a tick late.
    pub late: u64,
    /// The longest time without a message.
    pub longest_gap_ns: u64,
    /// What the messages' own counter says; `None` if they have none.
    pub numbered: Option<Numbered>,
    /// Messages missing by the pace alone: gaps of several ticks that nothing caught up with.
    pub missing_by_pace: u64,
}

/// Follows one direction's pace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    last_ns: Option<u64>,
    /// Median of the first gaps, taken for the tick from then on.
    tick_ns: Option<u64>,
    early: Vec<u64>,
    jitter: f64,
    jitter_sum: f64,
    jitters: u64,
    late: u64,
    missing: u64,
    /// Ticks a gap was too long, that messages in quick succession may yet make up for.
    owed: u64,
    pub(crate) numbering: Numbering,
}

impl Pace {
    /// A message passed.
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

    /// What came of it.
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

/// What a conversation of these directions, over so long a time, behaves like.
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

/// Gaps from which the tick is learned.
const LEARNED: usize = 41;
const MIN_RATE: f64 = 4.0;
const MAX_RATE: f64 = 250.0;
/// Bytes of payload: reference/game-traffic.md's games stay below.
const MAX_MEAN_SIZE: f64 = 600.0;
/// Share of gaps near the tick that makes a pace.
const REGULAR: f64 = 0.6;
const MIN_LASTED_NS: u64 = 3_000_000_000;
