//! Matches packets by the order of their contents. It helps where most contents repeat, for example datagrams of a game
//! with equal payloads and without IP identification. Then few packets show the delay, and a queue changes it between them.
//!
//! If no packet overtakes another and the network repeats none, then one point has the packets of the other in the same
//! order, with gaps. So each packet has an earliest and a latest possible partner. If both are the same packet, the partner
//! is *certain*. The path through the certain ones selects among the possible partners of the others.

use super::matching::{Pair, by_content, times};
use super::path::Path;
use super::sightings::Sighting;

/// Matches every packet of the point that has fewer. `None` if the order does not allow that, or if at most half of the
/// partners are certain.
pub(super) fn by_order(first: &[Sighting], second: &[Sighting]) -> Option<Vec<Pair>> {
    if first.len() < second.len() {
        let turned = |pair: Pair| Pair { first: pair.second, second: pair.first };
        return Some(by_order(second, first)?.into_iter().map(turned).collect());
    }
    let earliest = partners(second.iter(), (0..).zip(first))?;
    let mut latest = partners(second.iter().rev(), (0..).zip(first).collect::<Vec<_>>().into_iter().rev())?;
    latest.reverse();
    let both = (0..).zip(earliest.iter().zip(&latest));
    let certain = both.filter(|(_, (earliest, latest))| earliest == latest);
    let certain: Vec<Pair> = certain.map(|(second, (&first, _))| Pair { first, second }).collect();
    if certain.len() * 2 <= second.len() {
        return None;
    }
    let path = Path::new(certain.iter().map(|&pair| times(first, second, pair)))?;
    let groups = by_content(first);
    let mut pairs = Vec::with_capacity(second.len());
    let mut next = 0;
    for (place, (packet, &latest)) in (0..).zip(second.iter().zip(&latest)) {
        let from = groups.partition_point(|&other| other < (packet.content, next));
        let to = groups.partition_point(|&other| other <= (packet.content, latest));
        let expected = path.expected(packet.at_ns).0;
        let sent = |other: &(u64, u32)| first[other.1 as usize].at_ns as i64;
        let after = from + groups[from..to].partition_point(|other| sent(other) < expected);
        let nearest = groups[after.saturating_sub(1).max(from)..to].iter().take(2);
        let nearest = nearest.min_by_key(|other| sent(other).abs_diff(expected))?.1;
        pairs.push(Pair { first: nearest, second: place });
        next = nearest + 1;
    }
    Some(pairs)
}

/// The first possible partner of each packet.
fn partners<'a>(
    packets: impl Iterator<Item = &'a Sighting>,
    mut others: impl Iterator<Item = (u32, &'a Sighting)>,
) -> Option<Vec<u32>> {
    let mut partner = |content: u64| others.find(|(_, other)| other.content == content);
    packets.map(|packet| partner(packet.content).map(|(place, _)| place)).collect()
}
