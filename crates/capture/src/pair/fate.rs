//! Decides which packets were lost between the points. It cannot decide for a packet that may have passed the other
//! point before its capture began or after it ended.

use super::Way;
use super::matching::Pair;
use super::sightings::{Sighting, Span};

/// What is known about a packet at one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is at both points.
    Both,
    /// It is at this point only, and the other capture ran when it should have been there.
    Missing,
    /// It is at this point only. It may have been at the other when that capture did not run.
    Undecided,
    /// The other capture did not run when the packet was there.
    Outside,
}

/// Smallest and largest delay of a direction, without the clocks' drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delays {
    pub(super) least: i64,
    pub(super) most: i64,
}

impl Delays {
    /// Widens the range so that it includes `delay`.
    pub(super) fn widen(this: &mut Option<Self>, delay: i64) {
        let delays = this.get_or_insert(Self { least: delay, most: delay });
        delays.least = delays.least.min(delay);
        delays.most = delays.most.max(delay);
    }
}

/// Fates of the sent packets. `recorded` is when the receiver's capture ran; `delays` are those of all flows in the
/// same direction.
pub(super) fn of_sent(way: &Way<'_>, delays: Delays, recorded: Span) -> Vec<Fate> {
    let pairs = way.pairs.iter().map(|pair| (pair.first, pair.second));
    let earliest = |packet: &Sighting| way.clocks.arrival(packet.at_ns, delays.least, way.sender_is_first);
    let latest = |packet: &Sighting| way.clocks.arrival(packet.at_ns, delays.most, way.sender_is_first);
    fates(way.sent, way.received, pairs, recorded, |packet| (earliest(packet), latest(packet)))
}

/// Fates of the received packets. `recorded` is when the sender's capture ran.
pub(super) fn of_received(way: &Way<'_>, delays: Delays, recorded: Span) -> Vec<Fate> {
    let mut pairs: Vec<Pair> =
        way.pairs.iter().map(|pair| Pair { first: pair.second, second: pair.first }).collect();
    pairs.sort_unstable();
    let pairs = pairs.iter().map(|pair| (pair.first, pair.second));
    let earliest = |packet: &Sighting| way.clocks.departure(packet.at_ns, delays.most, way.sender_is_first);
    let latest = |packet: &Sighting| way.clocks.departure(packet.at_ns, delays.least, way.sender_is_first);
    fates(way.received, way.sent, pairs, recorded, |packet| (earliest(packet), latest(packet)))
}

/// Fates of the packets `here`. `pairs` are in the order of this point. `bounds` gives the earliest and the latest time
/// at the other point from the delays of all flows. The packets of the same kind before and after a packet narrow these
/// bounds, because packets of one kind pass in order. Each bound allows for the largest reordering seen in the kind.
fn fates(
    here: &[Sighting],
    there: &[Sighting],
    pairs: impl DoubleEndedIterator<Item = (u32, u32)> + Clone,
    recorded: Span,
    bounds: impl Fn(&Sighting) -> (i64, i64),
) -> Vec<Fate> {
    let mut fates = vec![Fate::Outside; here.len()];
    let mut other = vec![u32::MAX; here.len()];
    for (place, partner) in pairs.clone() {
        fates[place as usize] = Fate::Both;
        other[place as usize] = partner;
    }
    let passed = |place: usize| there.get(other[place] as usize).map(|packet| packet.at_ns as i64);
    // There are two kinds: packets without payload, and packets with payload.
    let kind = |packet: &Sighting| usize::from(packet.payload > 0);
    let (mut highest, mut reordered_ns) = ([i64::MIN; 2], [0; 2]);
    for (place, packet) in here.iter().enumerate() {
        let Some(at) = passed(place) else { continue };
        let kind = kind(packet);
        reordered_ns[kind] = reordered_ns[kind].max(highest[kind].saturating_sub(at));
        highest[kind] = highest[kind].max(at);
    }
    // Earliest time at the other point by the packets before; the loop below finds the latest by the packets after.
    let mut after = vec![i64::MIN; here.len()];
    let mut before = [i64::MIN; 2];
    for (place, packet) in here.iter().enumerate() {
        let kind = kind(packet);
        before[kind] = before[kind].max(passed(place).unwrap_or(i64::MIN));
        after[place] = before[kind].saturating_sub(reordered_ns[kind]);
    }
    let mut next = [i64::MAX; 2];
    let (from, to) = (recorded.from_ns as i64, recorded.to_ns as i64);
    for (place, packet) in here.iter().enumerate().rev() {
        let kind = kind(packet);
        if let Some(at) = passed(place) {
            next[kind] = next[kind].min(at);
            continue;
        }
        let (earliest, latest) = bounds(packet);
        let latest = latest.min(next[kind].saturating_add(reordered_ns[kind]));
        let earliest = earliest.max(after[place]).min(latest);
        fates[place] = if earliest >= from && latest <= to {
            Fate::Missing
        } else if latest < from || earliest > to {
            Fate::Outside
        } else {
            Fate::Undecided
        };
    }
    fates
}
