//! Synthetic packet pairs (SPP; Zander, Armitage et al., CAIA): a packet one way and the next one back make a round
//! trip of any protocol. The times of each point come from its own clock only. Time inside the end hosts is left out.

use super::Way;
use crate::samples::Samples;

/// Returns the round trips from the point close to the client to the other point and back, in nanoseconds.
pub(super) fn synthetic_pairs(up: &Way<'_>, down: &Way<'_>) -> Samples {
    // Time at the server's point, time at the client's point, and delay of each packet.
    let mut forward: Vec<(u64, u64, i64)> = up
        .times()
        .zip(up.delays())
        .map(|((client_ns, server_ns), delay)| (server_ns, client_ns, delay))
        .collect();
    let mut back: Vec<(u64, u64, i64)> = down
        .times()
        .zip(down.delays())
        .map(|((server_ns, client_ns), delay)| (server_ns, client_ns, delay))
        .collect();
    forward.sort_unstable();
    back.sort_unstable();
    let mut trips = Samples::default();
    let mut used = 0;
    for (left_server, _, back) in back {
        // The latest packet seen at the server's point, if it is not used yet.
        let seen = forward.partition_point(|&(reached_server, ..)| reached_server <= left_server);
        if seen <= used {
            continue;
        }
        used = seen;
        let (reached_server, _, forth) = forward[seen - 1];
        let dwell = left_server - reached_server;
        if let Ok(trip) = u64::try_from(forth.saturating_add(back))
            && dwell <= MAX_DWELL_NS
        {
            trips.push(trip);
        }
    }
    trips
}

/// Returns the median of D(packet) - D(next packet of `others`) over the packets of `these`, where D is the time at the
/// second point minus the time at the first. If `these` go from the first point to the second and `others` go back, it
/// is the round trip between the points: the clocks' offset cancels out. Each packet is given by its times at the first
/// and at the second point; `others` are sorted.
pub(super) fn median_excess(these: &[(u64, u64)], others: &[(u64, u64)]) -> Option<i64> {
    let difference = |&(first_ns, second_ns): &(u64, u64)| second_ns.wrapping_sub(first_ns) as i64;
    let last = others.last()?;
    let mut excess: Vec<i64> = these
        .iter()
        .map(|this| {
            let next = others.partition_point(|other| other.0 < this.0);
            difference(this).saturating_sub(difference(others.get(next).unwrap_or(last)))
        })
        .collect();
    let middle = excess.len() / 2;
    (!excess.is_empty()).then(|| *excess.select_nth_unstable(middle).1)
}

/// Maximum time at the server's point between the packet and the answer. The clocks' drift changes the round trip by up
/// to 0.05 % of this time.
const MAX_DWELL_NS: u64 = 60_000_000_000;
