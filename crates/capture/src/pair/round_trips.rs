//! Synthetic packet pairs (SPP; Zander, Armitage et al., CAIA): a packet one way and the next one back make a round
//! trip of any protocol. The times of each point come from its own clock only. Time inside the end hosts is left out.

use super::matching::Matched;
use super::sightings::Sightings;

/// Returns the round trips from the point close to the client to the other point and back. Each has the time when the
/// answer passed that point, since its first packet of the flow, and the length.
pub(super) fn synthetic_pairs(
    flow: &Sightings,
    other: &Sightings,
    matched: &[Matched; 2],
    client_first: bool,
) -> Vec<(u64, u64)> {
    let [up, down] = [matched[0].oriented(client_first), matched[1].oriented(!client_first)];
    // Up: time at the client, time at the server. Down: time at the server, time at the client.
    let mut forward: Vec<(u64, u64)> = up.pairs.iter().map(|pair| (pair.second_ns, pair.first_ns)).collect();
    let mut back: Vec<(u64, u64)> = down.pairs.iter().map(|pair| (pair.first_ns, pair.second_ns)).collect();
    forward.sort_unstable();
    back.sort_unstable();
    let near = if client_first { flow } else { other };
    let start = near.directions.iter().flatten().map(|packet| packet.at_ns).min().unwrap_or(0);
    let mut trips = Vec::with_capacity(back.len());
    let mut used = 0;
    for (left_server, reached_client) in back {
        // The latest packet seen at the server's point, if it is not used yet.
        let seen = forward.partition_point(|&(reached_server, _)| reached_server <= left_server);
        if seen <= used {
            continue;
        }
        used = seen;
        let (reached_server, left_client) = forward[seen - 1];
        let dwell = left_server - reached_server;
        let around = reached_client.saturating_sub(left_client);
        if dwell <= MAX_DWELL_NS && around >= dwell {
            trips.push((reached_client.saturating_sub(start), around - dwell));
        }
    }
    trips
}

/// Compares the times between a packet up and the next one down. Returns true if their median is longer at the first
/// point than at the second. `None` without pairs, or if the points are at the same place.
pub(super) fn longer_at_first(up: &Matched, down: &Matched) -> Option<bool> {
    let mut down: Vec<(u64, u64)> = down.pairs.iter().map(|pair| (pair.first_ns, pair.second_ns)).collect();
    down.sort_unstable();
    let mut longer: Vec<i64> = Vec::new();
    for pair in &up.pairs {
        let next =
            down.partition_point(|&(first, second)| first <= pair.first_ns || second <= pair.second_ns);
        if let Some(&(first, second)) = down.get(next) {
            longer.push((first - pair.first_ns) as i64 - (second - pair.second_ns) as i64);
        }
    }
    if longer.is_empty() {
        return None;
    }
    let middle = longer.len() / 2;
    match *longer.select_nth_unstable(middle).1 {
        0 => None,
        more => Some(more > 0),
    }
}

/// Maximum time between a packet and its answer. A longer time means no answer, or a content that occurred twice.
const MAX_DWELL_NS: u64 = 1_000_000_000;
