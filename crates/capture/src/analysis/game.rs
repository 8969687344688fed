//! Detection of games over UDP by their behaviour: small messages in both directions at a steady pace. Voice calls are
//! similar, so messages of one size every 20 or 30 ms count as voice. Ports are not used.

use super::direction::Direction;
use super::numbering::Numbered;

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
    /// Median time between messages; the mean if they are not regular.
    pub tick_ns: f64,
    /// Share of the gaps within a quarter of their median.
    pub regular: f64,
    /// True if the sender has a steady pace: most gaps are regular, or the rate is constant although the network made the
    /// gaps uneven. Without it, late messages and gaps mean nothing.
    pub is_steady: bool,
    /// Last value of the jitter of RFC 3550. The sender's clock is assumed to have a perfect tick.
    pub jitter_ns: f64,
    /// Mean of that jitter over the conversation.
    pub mean_jitter_ns: f64,
    /// Number of messages that came more than half a tick late.
    pub late: u64,
    /// Number of gaps for which no later messages made up. One capture cannot tell whether messages of the gap were lost
    /// or not sent. A message that its counter shows as lost makes no gap.
    pub gaps: u64,
    /// Number of messages that those gaps would have held.
    pub missing_by_pace: u64,
    /// Longest time without a new message.
    pub longest_gap_ns: u64,
    /// Results of the messages' own counter; `None` if they have none.
    pub numbered: Option<Numbered>,
    /// True if that counter has the form of the Quake family: 32 bits, the lowest byte first.
    pub is_quake_numbered: bool,
}

impl Updates {
    /// Adds duplicates that were set aside before they could be read.
    pub(super) const fn duplicated_by_network(&mut self, duplicates: u64) {
        if let Some(numbered) = &mut self.numbered {
            numbered.duplicated += duplicates;
        }
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

const MIN_RATE: f64 = 4.0;
const MAX_RATE: f64 = 250.0;
/// Maximum mean payload of a game in bytes. The games measured in the literature (TEACUP, D-ITG, NGMN) are below.
pub(super) const MAX_MEAN_SIZE: f64 = 600.0;
/// Minimum share of gaps near the tick for a steady pace.
pub(super) const REGULAR: f64 = 0.6;
const MIN_LASTED_NS: u64 = 3_000_000_000;
